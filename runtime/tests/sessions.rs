//! Agent sessions: what a backend can settle, who may use it, and when it ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use mindset_core::json::Value;
use support::{Answer, CONFIG, Folder, Server, input, kind, last};

/// `closed` may search two contexts of three.
fn config(folder: &Folder) -> String {
    std::fs::write(folder.path("a.md"), "# A\n\nWords.").unwrap();
    let file = folder.path("a.md").display().to_string();
    let contexts =
        ["a", "b", "c"].map(|uid| format!("[[apps.contexts]]\nuid = '{uid}'\nfiles = ['{file}']\n"));
    let with = format!("allow_no_origin = true\n{}", contexts.concat());
    CONFIG
        .replacen("allow_no_origin = true\n", &with, 1)
        .replace("uid = \"closed\"\n", "uid = \"closed\"\ncontexts = [\"a\", \"b\"]\n")
}

async fn server() -> Server {
    let folder = Folder::new();
    let mut server = Server::at(&folder.path("test.db"), &config(&folder), &[]).await;
    server.folder = Some(folder);
    server
}

async fn create(server: &Server, body: &str) -> Answer {
    server.backend("POST", "agentsessions", body).await
}

async fn session(server: &Server, user: &str) -> String {
    let body = format!(r#"{{"agentUid":"closed","externalUserId":"{user}","tags":["t"]}}"#);
    create(server, &body).await.string("agentSessionUid")
}

async fn refusal(server: &Server, token: &str, agent: &str, run: (&str, &str)) -> (u16, String) {
    let request = server.post(&format!("/v1/agents/{agent}/runs"), &input(run.0, run.1, "hello"));
    request.bearer(token).send().await.error()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let items = value.get(key).and_then(Value::as_array).unwrap();
    items.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn made_listed_read_and_deleted() {
    let server = server().await;
    let made = create(
        &server,
        r#"{"agentUid":"closed","externalUserId":"ada","tags":["Größe: „L“","b"],"contextUids":["b"],"mcpserverUids":[]}"#,
    )
    .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let uid = made.string("uid");
    assert_eq!(made.string("agentSessionUid"), format!("closed::{uid}"));
    assert_eq!((made.string("agentUid"), made.string("externalUserId")), ("closed".into(), "ada".into()));
    assert_eq!(texts(&made.body, "tags"), ["Größe: „L“", "b"]);
    assert_eq!(texts(&made.body, "contextUids"), ["b"]);
    assert!(texts(&made.body, "mcpserverUids").is_empty());
    assert!(made.string("createdAt").ends_with('Z'));
    let plain = create(&server, r#"{"agentUid":"closed","externalUserId":"bob"}"#).await;
    assert_eq!(texts(&plain.body, "contextUids"), ["a", "b"], "the agent's own");

    let read = server.backend("GET", &format!("agentsessions/{uid}"), "").await;
    assert_eq!((read.status, &read.body), (200, &made.body));
    let list = async |query: &str| {
        let answer = server.backend("GET", &format!("agentsessions{query}"), "").await.body;
        let sessions = answer.get("agentSessions").and_then(Value::as_array).unwrap();
        sessions.iter().map(|s| s.str("uid").unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list("").await, [plain.string("uid"), uid.clone()]);
    assert_eq!(list("?externalUserId=ada").await, std::slice::from_ref(&uid));
    assert!(list("?externalUserId=nobody").await.is_empty());

    let deleted = server.backend("DELETE", &format!("agentsessions/{uid}"), "").await;
    assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    for method in ["GET", "DELETE"] {
        let gone = server.backend(method, &format!("agentsessions/{uid}"), "").await;
        assert_eq!(gone.error(), (404, "not-found".into()));
    }
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let server = server().await;
    for _ in 0..105 {
        session(&server, "ada").await;
    }
    let first = server.backend("GET", "agentsessions?externalUserId=ada", "").await;
    let next = first.string("next");
    let second = server.backend("GET", &format!("agentsessions?externalUserId=ada&next={next}"), "").await;
    let uids = |answer: &Answer| {
        let list = answer.body.get("agentSessions").and_then(Value::as_array).unwrap();
        list.iter().map(|s| s.str("uid").unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (mut all, rest) = (uids(&first), uids(&second));
    assert_eq!((all.len(), rest.len(), second.string("next")), (100, 5, String::new()));
    all.extend(rest);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 105);
    let wrong = server.backend("GET", "agentsessions?next=x", "").await;
    assert_eq!(wrong.error(), (422, "invalid-request".into()));
}

#[tokio::test]
async fn limits_name_the_place() {
    let server = server().await;
    let list = |n: usize| format!("[{}]", vec!["\"x\""; n].join(","));
    let long = format!(r#"["ok","{}"]"#, "ä".repeat(61));
    for (field, place) in [
        (format!(r#""tags":{}"#, list(11)), "`tags` has 11 entries, the limit is 10"),
        (format!(r#""tags":{long}"#), "`tags[1]` must have 1 to 60"),
        (r#""tags":[""]"#.into(), "`tags[0]` must have 1 to 60"),
        (r#""tags":"x""#.into(), "`tags` must be a list"),
        (r#""tags":[7]"#.into(), "`tags[0]` must be a text"),
        (format!(r#""contextUids":{}"#, list(31)), "`contextUids` has 31 entries, the limit is 30"),
        (r#""contextUids":["a","c"]"#.into(), "`contextUids[1]` is not one of the agent's"),
        (r#""contextUids":["a","a"]"#.into(), "`contextUids[1]` is there twice"),
        (format!(r#""mcpserverUids":{}"#, list(6)), "`mcpserverUids` has 6 entries, the limit is 5"),
        (r#""mcpserverUids":["zz"]"#.into(), "`mcpserverUids[0]` is not one of the agent's"),
    ] {
        let body = format!(r#"{{"agentUid":"closed","externalUserId":"ada",{field}}}"#);
        let answer = create(&server, &body).await;
        assert_eq!(answer.error(), (422, "invalid-request".into()), "{body}");
        assert!(answer.text.contains(place), "{place} not in {}", answer.text);
    }
    let most = format!(r#"["{}"]"#, "ä".repeat(60));
    let body = format!(r#"{{"agentUid":"closed","externalUserId":"ada","tags":{most}}}"#);
    assert_eq!(create(&server, &body).await.status, 201);
    for (body, expected) in [
        (r#"{"externalUserId":"ada"}"#, (422, "invalid-request")),
        (r#"{"agentUid":"closed"}"#, (422, "invalid-request")),
        (r#"{"agentUid":"closed","externalUserId":"a b"}"#, (422, "invalid-request")),
        (r#"{"agentUid":"nobody","externalUserId":"ada"}"#, (404, "agent-not-found")),
        (r#"{"agentUid":"closed::x","externalUserId":"ada"}"#, (404, "agent-not-found")),
    ] {
        assert_eq!(create(&server, body).await.error(), (expected.0, expected.1.into()), "{body}");
    }
    let path = "/api/v1/appuid/demo/agentsessions";
    let body = r#"{"agentUid":"closed","externalUserId":"ada"}"#;
    let keyless = server.post(path, body).send().await;
    assert_eq!(keyless.error(), (401, "invalid-auth".into()));
    assert_eq!(server.request("GET", path).send().await.error(), (401, "invalid-auth".into()));
}

#[tokio::test]
async fn only_its_user_can_use_it() {
    let server = server().await;
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    let (anonymous, _) = server.anonymous().await;
    let mine = session(&server, "ada").await;
    let response = server.run(&ada, &mine, ("r1", "t1"), "hello").await;
    assert_eq!(kind(last(&support::events(response).await)), "RUN_FINISHED");
    let conversation = server.conversation(&ada, "t1").await.body;
    assert_eq!(conversation.str("agentUid"), Some(mine.as_str()));

    // Another user's session answers exactly like one that is not there.
    let unknown = format!("closed::{}", "0".repeat(36));
    let body = |agent: &str| {
        let answer = server.post(&format!("/v1/agents/{agent}/runs"), &input("r2", "t2", "hi")).bearer(&bob);
        async { answer.send().await }
    };
    let (theirs, none) = (body(&mine).await, body(&unknown).await);
    assert_eq!(theirs.error(), (404, "agent-not-found".into()));
    assert_eq!(
        theirs.text.replace(mine.split_once("::").unwrap().1, ""),
        none.text.replace(&"0".repeat(36), "")
    );
    let other_agent = mine.replace("closed::", "slow::");
    assert_eq!(refusal(&server, &ada, &other_agent, ("r3", "t3")).await, (404, "agent-not-found".into()));
    assert_eq!(refusal(&server, &anonymous, &mine, ("r4", "t4")).await, (403, "anonymous-denied".into()));
    let token = server.post("/v1/anonymous", &format!(r#"{{"appUid":"demo","agentUid":"{}"}}"#, "demo::x"));
    assert_eq!(token.send().await.error(), (403, "anonymous-denied".into()));

    let made = server.post("/v1/conversations", &format!(r#"{{"agentUid":"{mine}","id":"t9"}}"#));
    let made = made.bearer(&ada).send().await;
    assert_eq!((made.status, made.string("agentUid")), (201, mine.clone()));
    let made = server.post("/v1/conversations", &format!(r#"{{"agentUid":"{mine}"}}"#)).bearer(&bob);
    assert_eq!(made.send().await.error(), (404, "agent-not-found".into()));
}

#[tokio::test]
async fn conversations_stay_in_their_session_and_end_with_it() {
    let server = server().await;
    let ada = server.user("ada").await;
    let (first, second) = (session(&server, "ada").await, session(&server, "ada").await);
    support::events(server.run(&ada, &first, ("r1", "t1"), "hello").await).await;
    for other in [second.as_str(), "closed"] {
        assert_eq!(refusal(&server, &ada, other, ("r2", "t1")).await, (409, "conflict".into()), "{other}");
    }
    let response = server.run(&ada, &first, ("r3", "t1"), "thanks").await;
    assert_eq!(kind(last(&support::events(response).await)), "RUN_FINISHED");
    let uid = first.split_once("::").unwrap().1;
    assert_eq!(server.backend("DELETE", &format!("agentsessions/{uid}"), "").await.status, 204);
    assert_eq!(refusal(&server, &ada, &first, ("r4", "t1")).await, (404, "agent-not-found".into()));
    assert_eq!(server.conversation(&ada, "t1").await.status, 200, "what was said can still be read");
}
