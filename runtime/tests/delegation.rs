//! Work that a run hands to another agent, over HTTP: in a conversation of its own, with its questions
//! in the run that has handed it over, over crashes, stops and deletion.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "../src/mcp/tests/peer.rs"]
mod peer;
mod people;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use std::time::Duration;

use mindset_core::json::Value;
use peer::Peer;
use people::Case;
use scripted::{MINDSET, asked, decided, posted};
use support::{kind, last};

fn config(model: &Peer, hr: &Peer) -> String {
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
[[apps.mcp_servers]]
uid = "hr"
url = "{}"
allow_private = true
read_only = ["read"]
[[apps.agents]]
uid = "demo"
model = "scripted"
anonymous = true
delegates = ["clerk", "lead"]
[[apps.agents]]
uid = "lead"
name = "The lead"
model = "scripted"
delegates = ["clerk", "demo"]
[[apps.agents]]
uid = "clerk"
name = "The clerk"
model = "scripted"
mcp_servers = ["hr"]
approve_writes = true
ask_user = true
delegates = ["demo", "lead"]
"#,
        model.address,
        hr.url()
    )
}

/// A call that hands these calls to an agent.
fn hand(agent: &str, calls: &str) -> String {
    let arguments = Value::from(calls).text();
    format!(r#"[["delegate",{{"agent":"{agent}","task":{arguments}}}]]"#)
}

const READ: &str = r#"[["hr__read",{"note":"two"}]]"#;
const UPDATE: &str = r#"[["hr__update",{"note":"one"}]]"#;

fn of<'a>(events: &'a [Value], wanted: &str) -> &'a Value {
    events.iter().find(|e| kind(e) == wanted).unwrap_or_else(|| panic!("no {wanted} in {events:?}"))
}

fn session(events: &[Value]) -> String {
    of(events, "SUBAGENT_STARTED").str("subagentRunId").unwrap().to_owned()
}

/// What the run says itself, not by what it has handed over.
fn own(events: &[Value]) -> Vec<Value> {
    events.iter().filter(|event| event.get("subagentRunId").is_none()).cloned().collect()
}

/// The run's own text.
fn said(events: &[Value]) -> String {
    support::text(&own(events))
}

/// The result of the run's call.
fn result(events: &[Value]) -> String {
    of(&own(events), "TOOL_CALL_RESULT").str("content").unwrap().to_owned()
}

#[tokio::test]
async fn work_is_done_in_a_conversation_of_its_own() {
    let case = Case::start(config).await;
    let events = case.run(&posted("r1", Some(&hand("clerk", READ)), "", MINDSET)).await;
    let session = session(&events);
    let started = of(&events, "SUBAGENT_STARTED");
    assert_eq!(started.str("name"), Some("The clerk"));
    assert!(started.str("parentToolCallId").is_some());
    let is_start = |e: &&Value| e.str("name") == Some("mindset.tool_start");
    let chip = events.iter().find(is_start).unwrap().get("value").unwrap();
    assert_eq!(chip.str("description"), Some("Delegated to The clerk"));
    // What it says and calls is told here, too, as the subagent's.
    let below: Vec<Value> =
        events.iter().filter(|e| e.str("subagentRunId") == Some(&*session)).cloned().collect();
    assert_eq!(support::text(&below), "Done.");
    for wanted in ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "CUSTOM", "TOOL_CALL_RESULT"] {
        assert_eq!(below.iter().filter(|e| kind(e) == wanted).count(), 1, "{wanted}");
    }
    let seen = case.server.conversation(&case.token, &session).await;
    assert_eq!(seen.string("parentId"), "t");
    assert_eq!(of(&events, "SUBAGENT_FINISHED").str("subagentRunId"), Some(session.as_str()));
    assert_eq!((result(&events).as_str(), said(&events).as_str()), ("Done.", "Done."));
    // The page's values reach its calls, its task and nothing else its model.
    assert_eq!(case.called(), [r#"{"note":"two","profile":"PROFILE-canary"}"#]);
    let users = case.hr.seen();
    assert!(users.iter().all(|s| s.header("x-user-id") == users[0].header("x-user-id")));
    let told = |s: &peer::Seen| {
        let messages = s.body.get("messages").unwrap().as_array().unwrap().to_vec();
        messages
            .iter()
            .find(|m| m.str("role") == Some("user"))
            .and_then(|m| m.str("content").map(str::to_owned))
    };
    let own: Vec<_> = case.model.seen().into_iter().filter(|s| told(s).as_deref() == Some(READ)).collect();
    assert_eq!(own.len(), 2, "its task is all that it is told");
    assert!(case.model.seen().iter().all(|s| !s.text.contains("canary")));
    // Nobody else gets at it.
    let list = case.server.request("GET", "/v1/conversations").bearer(&case.token).send().await;
    assert!(!list.text.contains(&session) && list.text.contains("\"t\""));
    let list = case.server.request("GET", "/v1/conversations?owner=child").bearer(&case.token).send().await;
    assert_eq!(list.status, 422);
    let address = format!("/v1/conversations/{session}?agentSession=true");
    assert_ne!(case.server.request("GET", &address).bearer(&case.token).send().await.status, 200);
    let intruder = posted("r2", Some("more"), "", MINDSET).replace("\"t\"", &format!("\"{session}\""));
    let answer = case.server.post("/v1/agents/clerk/runs", &intruder).bearer(&case.token).send().await;
    assert!(matches!(answer.status, 403 | 409), "{}", answer.text);
    // It goes with the conversation that has handed it over.
    let seen = case.server.conversation(&case.token, &session).await;
    assert_eq!((seen.status, seen.string("owner").as_str()), (200, "child"));
    let gone = case.server.request("DELETE", "/v1/conversations/t").bearer(&case.token).send().await;
    assert!(gone.status < 300, "{}", gone.text);
    let address = format!("/v1/conversations/{session}");
    assert_eq!(case.server.request("GET", &address).bearer(&case.token).send().await.status, 404);
    let log = case.running.stop();
    assert!(!log.contains("canary"), "{log}");
}

#[tokio::test]
async fn what_it_asks_is_asked_by_the_run_above_and_outlives_a_crash() {
    let case = Case::start(config).await;
    // Two levels down.
    let first = case.run(&posted("r1", Some(&hand("lead", &hand("clerk", UPDATE))), "", MINDSET)).await;
    let asks = asked(&first);
    assert_eq!(asks.len(), 1);
    let mindset = asks[0].get("metadata").unwrap().get("mindset").unwrap();
    assert_eq!((asks[0].str("reason"), mindset.str("toolName")), (Some("tool_call"), Some("update")));
    let suspended = of(&first, "SUBAGENT_FINISHED").get("outcome").unwrap();
    assert_eq!(suspended.str("type"), Some("suspended"));
    assert_eq!(suspended.get("interruptIds").unwrap().as_array().unwrap()[0].as_str(), asks[0].str("id"));
    let (lead, clerk) = (session(&first), mindset.str("sessionId").unwrap().to_owned());
    assert_ne!(lead, clerk);
    assert!(case.called().is_empty());

    let case = case.crash().await;
    assert_eq!(case.interrupts("t").await, asks, "it is there after a crash");
    let wrong = decided(&asks[0], r#"{"answers":[]}"#);
    assert_eq!(case.refused(&posted("r2", None, &wrong, MINDSET)).await, (422, "invalid-request".into()));
    assert_eq!(case.refused(&posted("r2", Some("And?"), "", MINDSET)).await, (409, "busy".into()));
    let allow = decided(&asks[0], r#"{"approved":true}"#);
    let second = case.run(&posted("r3", None, &allow, MINDSET)).await;
    assert_eq!(session(&second), lead, "the same work goes on");
    assert_eq!((result(&second).as_str(), said(&second).as_str()), ("Done.", "Done."));
    assert_eq!(case.called(), [r#"{"note":"one","profile":"PROFILE-canary"}"#]);
    let deny = decided(&asks[0], r#"{"approved":false}"#);
    assert_eq!(case.refused(&posted("r4", None, &deny, MINDSET)).await, (409, "conflict".into()));
    assert!(case.model.seen().iter().any(|s| s.text.contains("saved")), "its model hears the result");
    let calls = case.server.conversation(&case.token, &clerk).await;
    assert_eq!((calls.status, calls.string("state").as_str()), (200, "idle"));
    case.running.kill();
}

#[tokio::test]
async fn what_it_asks_waits_for_who_is_heard_of_above() {
    let patient =
        |model: &Peer, hr: &Peer| format!("[server]\napproval_patience = \"5s\"\n{}", config(model, hr));
    let case = Case::start(patient).await;
    let told = |s: &peer::Seen| s.text.contains("Nobody can approve this call now");
    // Whoever is heard of in the conversation that has handed it over is there for it, two levels down.
    let asks =
        asked(&case.run(&posted("r1", Some(&hand("lead", &hand("clerk", UPDATE))), "", MINDSET)).await);
    let mindset = asks[0].get("metadata").unwrap().get("mindset").unwrap();
    let clerk = mindset.str("sessionId").unwrap().to_owned();
    case.stay("r1", Duration::from_secs(8)).await;
    assert!(!case.model.seen().iter().any(told));
    assert_eq!((case.interrupts("t").await, case.interrupts(&clerk).await.len()), (asks.clone(), 1));
    // Nobody comes after a crash: it is denied there, and all of them go on.
    let case = case.crash().await;
    case.model.until(told).await;
    assert_eq!(case.reply("t").await, "Done.");
    assert_eq!(case.reply(&clerk).await, "Done.");
    assert!(case.interrupts("t").await.is_empty() && case.interrupts(&clerk).await.is_empty());
    assert_eq!(case.model.seen().iter().filter(|s| told(s)).count(), 1, "its model alone is told, once");
    let allow = decided(&asks[0], r#"{"approved":true}"#);
    assert_eq!(case.refused(&posted("r2", None, &allow, MINDSET)).await, (409, "conflict".into()));
    assert!(case.called().is_empty());
    case.running.kill();
}

#[tokio::test]
async fn nobody_to_ask_a_stop_and_a_circle() {
    let case = Case::start(config).await;
    // Nobody can answer: the clerk's model is told so.
    let alone = r#"{"mindset":{"clientId":"c"}}"#;
    let events = case.run(&posted("r1", Some(&hand("clerk", UPDATE)), "", alone)).await;
    assert_eq!((kind(last(&events)), result(&events).as_str()), ("RUN_FINISHED", "Done."));
    assert!(case.model.seen().iter().any(|s| s.text.contains("Nobody can approve this call now")));

    // A stop closes what the work asks.
    let asks = asked(&case.run(&posted("r2", Some(&hand("clerk", UPDATE)), "", MINDSET)).await);
    let session =
        asks[0].get("metadata").unwrap().get("mindset").unwrap().str("sessionId").unwrap().to_owned();
    assert_eq!(case.interrupts(&session).await.len(), 1);
    let stop = case.server.post("/v1/runs/r2/cancel", "").bearer(&case.token).send().await;
    assert_eq!(stop.string("state"), "cancelled");
    until(&case, &session, 0).await;

    // What is written instead closes its questions, too.
    let ask = r#"[["ask_user",{"steps":[{"id":"a","question":"Why?"}]}]]"#;
    let asks = asked(&case.run(&posted("r3", Some(&hand("clerk", ask)), "", MINDSET)).await);
    assert_eq!(asks[0].str("reason"), Some("input_required"));
    let session =
        asks[0].get("metadata").unwrap().get("mindset").unwrap().str("sessionId").unwrap().to_owned();
    let passed = case.run(&posted("r4", Some("Never mind."), "", MINDSET)).await;
    assert_eq!(said(&passed), "Done.");
    until(&case, &session, 0).await;

    // Who waits for the work is not asked again, and a third one hands nothing on.
    for (task, refused) in [
        (hand("clerk", &hand("demo", READ)), "agent"),
        (hand("lead", &hand("demo", READ)), "agent"),
        (hand("lead", &hand("clerk", &hand("lead", READ))), "There is no tool"),
    ] {
        let before = case.model.seen().len();
        let run = format!("c{before}");
        let events = case.run(&posted(&run, Some(&task), "", MINDSET)).await;
        assert_eq!(result(&events), "Done.", "{task}");
        let told = case.model.seen().split_off(before);
        let is_told = |s: &&peer::Seen| {
            let messages = s.body.get("messages").unwrap().as_array().unwrap();
            messages.iter().any(|m| m.str("role") == Some("tool") && m.text().contains(refused))
        };
        assert!(told.iter().any(|s| is_told(&s)), "{task}");
    }
    assert!(case.called().is_empty());
    case.running.kill();
}

/// Waits until this many questions of a conversation are open.
async fn until(case: &Case, session: &str, open: usize) {
    for _ in 0..500 {
        if case.interrupts(session).await.len() == open {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{session} still asks");
}

#[tokio::test]
async fn a_crash_while_work_is_done_leaves_it_unknown_and_never_repeats_it() {
    let hr = Peer::start(|seen: &peer::Seen| match (seen.method.as_str(), seen.body.str("method").unwrap_or("")) {
        ("POST", "server/discover") => peer::Reply::plain(400, "text/plain", "no session"),
        ("POST", "initialize") => seen
            .result(r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}"#)
            .header("mcp-session-id", "one"),
        ("POST", "tools/list") => seen.result(r#"{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}"#),
        ("POST", "tools/call") => peer::Reply::silence(),
        ("POST", _) => peer::Reply::accepted(),
        _ => peer::Reply::with(405, &[], ""),
    })
    .await;
    let model = scripted::model().await;
    let config = config(&model, &hr);
    let case = Case::with(hr, model, support::Folder::new(), config).await;
    let _open = case.post("demo", &posted("r1", Some(&hand("clerk", READ)), "", MINDSET)).await;
    case.hr.until(|s| s.is("tools/call")).await;
    let case = case.crash().await;
    let conversation = case.server.conversation(&case.token, "t").await;
    assert!(conversation.text.contains(r#""outcome":"unknown""#), "{}", conversation.text);
    let events = case.run(&posted("r2", Some("Go on."), "", MINDSET)).await;
    assert_eq!(said(&events), "Done.");
    assert_eq!(case.hr.count("tools/call"), 1);
    let told = case.model.seen().last().unwrap().text.clone();
    assert!(told.contains("Do not repeat the call by yourself"), "{told}");
    // A stop reaches work that is being done.
    let _open = case.post("demo", &posted("r3", Some(&hand("clerk", READ)), "", MINDSET)).await;
    let twice = || case.hr.count("tools/call") == 2;
    for _ in 0..500 {
        if twice() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(twice());
    let stop = case.server.post("/v1/runs/r3/cancel", "").bearer(&case.token).send().await;
    assert_eq!(stop.string("state"), "cancelled");
    case.hr.until(|s| s.is("notifications/cancelled")).await;
    case.running.kill();
}

#[test]
fn names_are_checked() {
    let at = |delegates: &str| {
        let text = format!("[[apps]]\nuid='a'\n[[apps.agents]]\nuid='x'\ndelegates={delegates}");
        mindset_runtime::config::load_text("test", &text, &Default::default())
    };
    for (delegates, problem) in [("['x']", "to itself"), ("['y']", "no agent `y`")] {
        let error = at(delegates).unwrap_err();
        let error = format!("{error:?}");
        assert!(error.contains(problem) && error.contains("delegates"), "{error}");
    }
    assert!(at("[]").is_ok());
}
