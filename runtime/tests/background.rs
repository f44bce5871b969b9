//! Work that goes on in the background of the run that has handed it over, over HTTP: its slot, its
//! questions by its own id, its note for the conversation above, over crashes, stops and deletion.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "../src/mcp/tests/peer.rs"]
mod peer;
mod people;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use mindset_core::json::Value;
use peer::{Peer, Reply, Seen};
use people::Case;
use scripted::{MINDSET, decided, posted};
use support::{events, kind, last, text};

fn config(model: &Peer, hr: &Peer, more: &str) -> String {
    format!(
        r#"
[models.scripted]
provider = "openai"
model = "m"
base_url = "http://{}"
[[apps]]
uid = "demo"
api_keys = ["first-key"]
origins = ["loopback"]
allow_no_origin = true
{more}
[[apps.mcp_servers]]
uid = "hr"
url = "{}"
allow_private = true
read_only = ["read"]
[[apps.agents]]
uid = "demo"
model = "scripted"
anonymous = true
delegates = ["clerk"]
[[apps.agents]]
uid = "clerk"
name = "The clerk"
model = "scripted"
mcp_servers = ["hr"]
approve_writes = true
delegates = ["cook"]
[[apps.agents]]
uid = "cook"
model = "scripted"
"#,
        model.address,
        hr.url()
    )
}

/// A call that hands these calls to the clerk.
fn hand(calls: &str, background: bool) -> String {
    let arguments = Value::from(calls).text();
    format!(r#"["delegate",{{"agent":"clerk","task":{arguments},"background":{background}}}]"#)
}

const READ: &str = r#"[["hr__read",{"note":"two"}]]"#;
const UPDATE: &str = r#"[["hr__update",{"note":"one"}]]"#;

/// An MCP server whose calls never end.
async fn silent() -> Peer {
    Peer::start(|seen: &Seen| match (seen.method.as_str(), seen.body.str("method").unwrap_or("")) {
        ("POST", "server/discover") => Reply::plain(400, "text/plain", "no session"),
        ("POST", "initialize") => seen
            .result(r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}"#)
            .header("mcp-session-id", "one"),
        ("POST", "tools/list") => seen.result(r#"{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}"#),
        ("POST", "tools/call") => Reply::silence(),
        ("POST", _) => Reply::accepted(),
        _ => Reply::with(405, &[], ""),
    })
    .await
}

/// The work in the background of a conversation.
async fn children(case: &Case, thread: &str) -> Vec<Value> {
    let conversation = case.server.conversation(&case.token, thread).await;
    conversation.body.get("children").and_then(Value::as_array).unwrap_or_default().to_vec()
}

/// Waits until it stands so.
async fn stands(case: &Case, thread: &str, wanted: &[&str]) -> Vec<Value> {
    let mut states = Vec::new();
    for _ in 0..600 {
        let all = children(case, thread).await;
        states = all.iter().map(|child| child.str("state").unwrap().to_owned()).collect();
        if states == wanted {
            return all;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("it stands {states:?}, not {wanted:?}");
}

fn of(child: &Value, key: &str) -> String {
    child.str(key).unwrap().to_owned()
}

/// The notes in what the model got last.
fn notes(case: &Case) -> Vec<String> {
    let last = case.model.seen().last().unwrap().body.clone();
    let messages = last.get("messages").unwrap().as_array().unwrap().to_vec();
    let text = |m: &Value| {
        m.str("content").filter(|text| text.starts_with("(Not from the person.)")).map(str::to_owned)
    };
    messages.iter().filter_map(text).collect()
}

/// Says something until the model has heard so many notes; what came of work is noted right after its end.
async fn heard(case: &Case, run: &str, wanted: usize) -> Vec<String> {
    for at in 0..100 {
        let events = case.run(&posted(&format!("{run}-{at}"), Some("And?"), "", MINDSET)).await;
        assert_eq!(text(&events), "Done.");
        let notes = notes(case);
        if notes.len() >= wanted {
            return notes;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the model does not hear of it");
}

#[tokio::test]
async fn it_asks_by_its_own_id_over_a_crash_and_is_a_note_above() {
    let case = Case::start(|model, hr| config(model, hr, "")).await;
    let first = case.run(&posted("r1", Some(&format!("[{}]", hand(UPDATE, true))), "", MINDSET)).await;
    assert_eq!((kind(last(&first)), text(&first).as_str()), ("RUN_FINISHED", "Done."));
    assert!(!first.iter().any(|e| kind(e).starts_with("SUBAGENT")));
    let result =
        first.iter().find(|e| kind(e) == "TOOL_CALL_RESULT").unwrap().str("content").unwrap().to_owned();
    let child = stands(&case, "t", &["waiting"]).await.remove(0);
    let (session, run) = (of(&child, "sessionId"), of(&child, "runId"));
    assert!(result.contains(&session), "{result}");
    assert_eq!(case.interrupts("t").await, [], "nothing is asked above");

    let case = case.crash().await;
    let asks = case.interrupts(&session).await;
    assert_eq!(asks.len(), 1);
    let own = case.server.conversation(&case.token, &session).await;
    assert_eq!((own.string("owner").as_str(), own.string("parentId").as_str()), ("child", "t"));
    let seen = case.server.post(&format!("/v1/runs/{run}/seen"), "").bearer(&case.token).send().await;
    assert_eq!(seen.status, 204);
    let to_it = |body: String| body.replace("\"t\"", &format!("\"{session}\""));
    let message = to_it(posted("m1", Some("Hurry."), "", MINDSET));
    let refused = case.server.post("/v1/agents/clerk/runs", &message).bearer(&case.token).send().await;
    assert_eq!(refused.error(), (409, "conflict".into()), "it takes no message");
    let allow = to_it(posted("a1", None, &decided(&asks[0], r#"{"approved":true}"#), MINDSET));
    let went_on = events(case.post("clerk", &allow).await).await;
    assert_eq!(went_on[0].str("parentRunId"), Some("r1"));
    assert_eq!((kind(last(&went_on)), text(&went_on).as_str()), ("RUN_FINISHED", "Done."));
    assert_eq!(case.called(), [r#"{"note":"one","profile":"PROFILE-canary"}"#]);
    stands(&case, "t", &["finished"]).await;

    let notes = heard(&case, "n", 1).await;
    assert!(notes[0].contains(&session) && notes[0].ends_with("Its answer:\n\nDone."), "{notes:?}");
    assert_eq!(heard(&case, "again", 1).await.len(), 1, "once");
    let case = case.crash().await;
    assert_eq!(heard(&case, "later", 1).await.len(), 1, "also after a crash");
    let above = case.server.conversation(&case.token, "t").await;
    assert!(!above.text.contains("Not from the person"), "nobody reads it: {}", above.text);
    case.running.kill();
}

#[tokio::test]
async fn a_stop_above_leaves_it_its_own_ends_it_and_so_does_deletion() {
    let (hr, model) = (silent().await, scripted::model().await);
    let config = config(&model, &hr, "");
    let case = Case::with(hr, model, support::Folder::new(), config).await;
    let both = format!("[{},{}]", hand(READ, true), hand(READ, false));
    let open = case.post("demo", &posted("r1", Some(&both), "", MINDSET)).await;
    case.hr.until(|_| case.hr.count("tools/call") == 2).await;
    let child = stands(&case, "t", &["running"]).await.remove(0);
    let stop = case.server.post("/v1/runs/r1/cancel", "").bearer(&case.token).send().await;
    assert_eq!(stop.string("state"), "cancelled");
    stands(&case, "t", &["running"]).await;
    let told = events(open).await;
    let told: Vec<&Value> = told
        .iter()
        .filter(|e| e.str("name") == Some("mindset.child"))
        .map(|e| e.get("value").unwrap())
        .collect();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].str("state"), told[0].str("sessionId")), (Some("running"), child.str("sessionId")));
    assert_eq!((told[0].str("parentSessionId"), told[0].str("runId")), (Some("t"), child.str("runId")));

    let address = format!("/v1/runs/{}/cancel", of(&child, "runId"));
    let stop = case.server.post(&address, "").bearer(&case.token).send().await;
    assert_eq!(stop.string("state"), "cancelled");
    stands(&case, "t", &["cancelled"]).await;
    let notes = heard(&case, "n", 1).await;
    assert!(notes[0].ends_with("was stopped before it was done."), "{notes:?}");

    let more = format!("[{}]", hand(READ, true));
    let events = case.run(&posted("r2", Some(&more), "", MINDSET)).await;
    assert_eq!(kind(last(&events)), "RUN_FINISHED");
    let child = stands(&case, "t", &["cancelled", "running"]).await.remove(1);
    let gone = case.server.request("DELETE", "/v1/conversations/t").bearer(&case.token).send().await;
    assert!(gone.status < 300, "{}", gone.text);
    let address = format!("/v1/conversations/{}", of(&child, "sessionId"));
    assert_eq!(case.server.request("GET", &address).bearer(&case.token).send().await.status, 404);
    case.running.kill();
}

#[tokio::test]
async fn it_needs_a_slot_and_what_waits_for_one_begins_after_a_crash() {
    let (hr, model) = (silent().await, scripted::model().await);
    let config = config(&model, &hr, "agent_access = [\"session.run\"]\nagent_concurrency = 1");
    let case = Case::with(hr, model, support::Folder::new(), config).await;
    let both = format!("[{},{}]", hand(READ, true), hand(READ, true));
    let events = case.run(&posted("r1", Some(&both), "", MINDSET)).await;
    assert_eq!((kind(last(&events)), text(&events).as_str()), ("RUN_FINISHED", "Done."));
    let mut states: Vec<String> = Vec::new();
    for _ in 0..600 {
        states = children(&case, "t").await.iter().map(|child| of(child, "state")).collect();
        states.sort();
        if states == ["queued", "running"] && case.hr.count("tools/call") == 1 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(states, ["queued", "running"]);
    let case = case.crash().await;
    for _ in 0..600 {
        if case.hr.count("tools/call") == 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(
        case.hr.count("tools/call"),
        2,
        "the other one has begun by itself, the first is not repeated"
    );
    let mut states: Vec<String> = children(&case, "t").await.iter().map(|child| of(child, "state")).collect();
    states.sort();
    assert_eq!(states, ["error", "running"]);
    let notes = heard(&case, "n", 1).await;
    assert!(notes[0].contains("broken off") && notes[0].contains("do not repeat"), "{notes:?}");
    case.running.kill();
}

#[tokio::test]
async fn how_deep_work_is_handed_on_is_configured() {
    for (depth, offered) in [("delegation_depth = 0", 0), ("delegation_depth = 1", 1), ("", 2)] {
        let case = Case::start(|model, hr| config(model, hr, depth)).await;
        let below = r#"[["delegate",{"agent":"cook","task":"[]"}]]"#;
        case.run(&posted("r1", Some(&format!("[{}]", hand(below, false))), "", MINDSET)).await;
        let offers = |s: &Seen, whom: &str| {
            s.body.get("tools").is_some_and(|tools| tools.text().contains(&format!("\"{whom}\"")))
        };
        let offered_to = |whom: &str| case.model.seen().iter().any(|seen| offers(seen, whom));
        let found = (offered_to("clerk"), offered_to("cook"));
        assert_eq!(found, (offered > 0, offered > 1), "{depth}");
        case.running.kill();
    }
    let at = |depth: &str| {
        let text = format!("[[apps]]\nuid='a'\ndelegation_depth={depth}\n[[apps.agents]]\nuid='x'");
        mindset_runtime::config::load_text("test", &text, &Default::default())
    };
    assert!(format!("{:?}", at("9").unwrap_err()).contains("delegation_depth"));
    assert_eq!(at("0").unwrap().apps[0].delegation_depth, 0);
}
