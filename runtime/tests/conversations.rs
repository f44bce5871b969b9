//! Conversations as their user handles them: lists by page, older messages, titles, deletion, and
//! those that a backend begins.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use mindset_core::json::Value;
use support::{Answer, Server, input, kind, last};

fn list<'v>(answer: &'v Answer, key: &str) -> &'v [Value] {
    answer.body.get(key).and_then(Value::as_array).unwrap_or_else(|| panic!("{}", answer.text))
}

fn texts(items: &[Value], key: &str) -> Vec<String> {
    items.iter().map(|item| item.str(key).unwrap_or("").to_owned()).collect()
}

async fn get(server: &Server, token: &str, path: &str) -> Answer {
    server.request("GET", path).bearer(token).send().await
}

async fn patch(server: &Server, token: &str, id: &str, body: &str) -> Answer {
    let request = server.request("PATCH", &format!("/v1/conversations/{id}"));
    request.header("content-type", "application/json").body(body).bearer(token).send().await
}

async fn delete(server: &Server, token: &str, id: &str) -> Answer {
    server.request("DELETE", &format!("/v1/conversations/{id}")).bearer(token).send().await
}

#[tokio::test]
async fn lists_come_by_page() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let mut made = Vec::new();
    for n in 0..7 {
        let body = format!(r#"{{"agentUid":"demo","id":"c{n}"}}"#);
        assert_eq!(server.post("/v1/conversations", &body).bearer(&token).send().await.status, 201);
        made.insert(0, format!("c{n}"));
    }
    let (mut seen, mut path) = (Vec::new(), "/v1/conversations?limit=3".to_owned());
    loop {
        let page = get(&server, &token, &path).await;
        assert!(list(&page, "conversations").len() <= 3);
        seen.extend(texts(list(&page, "conversations"), "id"));
        let Some(next) = page.body.str("next") else { break };
        path = format!("/v1/conversations?limit=3&cursor={next}");
    }
    assert_eq!(seen, made);
    let all = get(&server, &token, "/v1/conversations").await;
    assert_eq!(list(&all, "conversations").len(), 7);
    assert!(all.body.get("next").is_none());
    for bad in ["limit=0", "limit=201", "limit=x", "limit=-1", "cursor=", "cursor=1", "cursor=a-b"] {
        let answer = get(&server, &token, &format!("/v1/conversations?{bad}")).await;
        assert_eq!(answer.error(), (422, "invalid-request".into()), "{bad}");
    }
}

#[tokio::test]
async fn older_messages_are_read_page_by_page() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    for n in 0..105 {
        server.finish(&token, &format!("r{n}"), "long", &format!("message {n}")).await;
    }
    let newest = get(&server, &token, "/v1/conversations/long").await;
    let messages = list(&newest, "messages");
    assert_eq!(messages.len(), 200);
    assert_eq!(newest.body.str("before"), messages[0].str("id"));
    assert_eq!(messages[0].str("content"), Some("message 5"));
    let path = format!("/v1/conversations/long?before={}", newest.string("before"));
    let older = get(&server, &token, &path).await;
    assert_eq!(list(&older, "messages").len(), 10);
    assert_eq!(list(&older, "messages")[0].str("content"), Some("message 0"));
    assert!(older.body.get("before").is_none());
    let unknown = get(&server, &token, "/v1/conversations/long?before=nothing").await;
    assert_eq!(unknown.error(), (422, "invalid-request".into()));
}

#[tokio::test]
async fn titles_can_be_changed() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let (other, _) = server.anonymous().await;
    server.finish(&token, "r1", "t1", "hello").await;
    let renamed = patch(&server, &token, "t1", r#"{"title":"Größe „L“"}"#).await;
    assert_eq!((renamed.status, renamed.string("title")), (200, "Größe „L“".to_owned()));
    server.finish(&token, "r2", "t1", "thanks").await;
    assert_eq!(get(&server, &token, "/v1/conversations/t1").await.string("title"), "Größe „L“");
    let long = format!(r#"{{"title":"{}"}}"#, "é".repeat(200));
    assert_eq!(patch(&server, &token, "t1", &long).await.status, 200);
    let longer = format!(r#"{{"title":"{}"}}"#, "é".repeat(201));
    for bad in [longer.as_str(), r#"{"title":""}"#, r#"{"title":null}"#, r#"{"title":7}"#, "{}", "[]"] {
        let answer = patch(&server, &token, "t1", bad).await;
        assert_eq!(answer.error(), (422, "invalid-request".into()), "{bad}");
    }
    let (theirs, unknown) = (
        patch(&server, &other, "t1", r#"{"title":"x"}"#).await,
        patch(&server, &other, "no", r#"{"title":"x"}"#).await,
    );
    assert_eq!((theirs.status, &theirs.text), (404, &unknown.text));
}

#[tokio::test]
async fn what_is_deleted_is_gone() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let (other, _) = server.anonymous().await;
    server.finish(&token, "r1", "t1", "hello").await;
    server.finish(&other, "r1", "t1", "mine").await;
    assert_eq!(delete(&server, &other, "t2").await.error(), (404, "not-found".into()));
    let answer = delete(&server, &token, "t1").await;
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    for request in ["GET", "DELETE", "PATCH"] {
        let answer = server.request(request, "/v1/conversations/t1").bearer(&token);
        assert_eq!(answer.body(r#"{"title":"x"}"#).send().await.error(), (404, "not-found".into()));
    }
    let cancel = server.post("/v1/runs/r1/cancel", "").bearer(&token).send().await;
    assert_eq!(cancel.error(), (404, "not-found".into()));
    let again = server.post("/v1/agents/demo/runs", &input("r1", "t1", "hello")).bearer(&token).send().await;
    assert_eq!(again.error(), (410, "gone".into()));
    assert!(list(&get(&server, &token, "/v1/conversations").await, "conversations").is_empty());
    // Nothing is said under its id again: who still has it must not lose what was said before
    // without a word. What another user has under it is untouched.
    let anew = server.post("/v1/agents/demo/runs", &input("r2", "t1", "anew")).bearer(&token).send().await;
    assert_eq!(anew.error(), (404, "not-found".into()));
    assert!(anew.text.contains(r#""context":{"conversationId":"t1"}"#), "{}", anew.text);
    let made = server.post("/v1/conversations", r#"{"agentUid":"demo","id":"t1"}"#).bearer(&token);
    assert_eq!(made.send().await.error(), (410, "gone".into()));
    assert_eq!(get(&server, &token, "/v1/conversations/t1").await.status, 404);
    let theirs = get(&server, &other, "/v1/conversations/t1").await;
    assert_eq!(texts(list(&theirs, "messages"), "content")[0], "mine");
}

#[tokio::test]
async fn a_running_run_is_cancelled_first() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let stream = server.run(&token, "slow", ("r1", "t1"), "hello").await;
    assert_eq!(delete(&server, &token, "t1").await.status, 204);
    let events = support::events(stream).await;
    assert_eq!(kind(last(&events)), "RUN_FINISHED");
    let outcome = last(&events).get("outcome").unwrap();
    assert_eq!(outcome.str("type"), Some("cancelled"));
    assert_eq!(get(&server, &token, "/v1/conversations/t1").await.status, 404);
}

#[tokio::test]
async fn a_backend_begins_a_conversation() {
    let server = Server::start().await;
    let body =
        r#"{"agentUid":"closed","externalUserId":"ada","message":"Greet Ada","messageType":"PSEUDO_HUMAN"}"#;
    let made = server.backend("POST", "threads", body).await;
    assert_eq!((made.status, made.string("state")), (201, "running".to_owned()));
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    let path = format!("/v1/conversations/{}", made.string("conversationId"));
    for _ in 0..200 {
        if get(&server, &ada, &path).await.body.get("activeRun").is_none() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let found = get(&server, &ada, &path).await;
    assert_eq!(texts(list(&found, "messages"), "role"), ["assistant"], "{}", found.text);
    assert_eq!(get(&server, &bob, &path).await.status, 404);
    let shown = server.backend("POST", "threads", &body.replace("PSEUDO_HUMAN", "HUMAN")).await;
    let path = format!("/v1/conversations/{}", shown.string("conversationId"));
    let found = get(&server, &ada, &path).await;
    assert_eq!(texts(list(&found, "messages"), "content")[0], "Greet Ada", "{}", found.text);
    for (bad, expected) in [
        (body.replace("PSEUDO_HUMAN", "ROBOT"), (422, "invalid-request")),
        (body.replace("Greet Ada", ""), (422, "invalid-request")),
        (body.replace("ada\"", "a d\""), (422, "invalid-request")),
        (body.replace("closed", "nobody"), (404, "agent-not-found")),
        (body.replace("closed", "closed::nothing"), (404, "agent-not-found")),
        ("{}".to_owned(), (422, "invalid-request")),
    ] {
        let (status, code) = server.backend("POST", "threads", &bad).await.error();
        assert_eq!((status, code.as_str()), expected, "{bad}");
    }
    let keyless = server.post("/api/v1/appuid/demo/threads", body).send().await;
    assert_eq!(keyless.error(), (401, "invalid-auth".into()));
}

async fn judge(server: &Server, token: &str, id: &str, body: &str) -> Answer {
    let request = server.request("PUT", &format!("/v1/messages/{id}/feedback"));
    request.header("content-type", "application/json").body(body).bearer(token).send().await
}

#[tokio::test]
async fn feedback_is_kept_with_its_answer() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let (other, _) = server.anonymous().await;
    server.finish(&token, "r1", "judged", "hello").await;
    let read = async || get(&server, &token, "/v1/conversations/judged").await.body;
    let before = read().await;
    let messages = before.get("messages").and_then(Value::as_array).unwrap();
    let [question, answer] = [0, 1].map(|at| messages[at].str("id").unwrap().to_owned());
    let long = format!(r#"{{"rating":"up","comment":"{}"}}"#, "x".repeat(2_001));
    for bad in ["{}", r#"{"rating":"good"}"#, r#"{"rating":1}"#, r#"{"rating":"up","comment":7}"#, &long] {
        assert_eq!(
            judge(&server, &token, &answer, bad).await.error(),
            (422, "invalid-request".into()),
            "{bad}"
        );
    }
    for (who, id) in [(&token, "nothing"), (&token, &*question), (&other, &*answer)] {
        let refused = judge(&server, who, id, r#"{"rating":"up"}"#).await;
        assert_eq!(refused.error(), (404, "not-found".into()), "{id}");
    }
    assert_eq!(read().await, before);
    let kept = async || {
        let body = read().await;
        let answer = &body.get("messages").and_then(Value::as_array).unwrap()[1];
        answer.get("feedback").map(Value::to_string)
    };
    for (body, shown) in [
        (r#"{"rating":"down","comment":"Too <b>short</b>."}"#, None),
        (r#"{"rating":"up"}"#, None),
        (r#"{"rating":null}"#, Some(None)),
    ] {
        assert_eq!(judge(&server, &token, &answer, body).await.status, 204);
        assert_eq!(kept().await, shown.unwrap_or(Some(body.to_owned())));
    }
    assert_eq!(judge(&server, &token, &answer, r#"{"rating":"up"}"#).await.status, 204);
    assert_eq!(delete(&server, &token, "judged").await.status, 204);
    assert_eq!(judge(&server, &token, &answer, r#"{"rating":"up"}"#).await.status, 404);
}
