//! Approvals and questions over HTTP: what people decide is the same after a crash, and nothing
//! that needs a word runs without one.
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
use peer::{Peer, Seen};
use people::Case;
use scripted::{ASK, MINDSET, UPDATE, asked, config, decided, posted, result_of};
use support::{events, kind, last, text};

const SHOWN: &str = r#"{"note":"one","profile":"•••"}"#;

#[tokio::test]
async fn a_waiting_approval_outlives_a_crash() {
    let case = Case::start(config).await;
    let first = case.run(&posted("r1", Some(UPDATE), "", MINDSET)).await;
    let asks = asked(&first);
    assert_eq!(asks.len(), 1);
    let mindset = asks[0].get("metadata").unwrap().get("mindset").unwrap();
    assert_eq!(mindset.get("toolInput").unwrap().text(), SHOWN);
    assert_eq!(case.called(), [r#"{"note":"two","profile":"PROFILE-canary"}"#]);
    assert_eq!(case.interrupts("t").await, asks);

    let case = case.crash().await;
    assert_eq!(case.interrupts("t").await, asks, "it is there after a crash");
    let conversation = case.server.conversation(&case.token, "t").await;
    assert_eq!(conversation.body.get("activeRun").unwrap().str("state"), Some("waiting"));
    assert_eq!(case.refused(&posted("r2", Some("and?"), "", MINDSET)).await, (409, "busy".into()));
    assert_eq!(case.refused(&posted("r2", None, "", MINDSET)).await, (409, "conflict".into()));
    let unknown = r#"{"interruptId":"made-up","status":"resolved","payload":{"approved":true}}"#;
    assert_eq!(case.refused(&posted("r2", None, unknown, MINDSET)).await, (422, "invalid-request".into()));
    assert_eq!(case.called().len(), 1, "nothing ran without a word");

    let allow = decided(&asks[0], r#"{"approved":true}"#);
    let second = case.run(&posted("r3", None, &allow, MINDSET)).await;
    assert_eq!((kind(last(&second)), text(&second).as_str()), ("RUN_FINISHED", "Done."));
    assert_eq!(case.called()[1], r#"{"note":"one","profile":"PROFILE-canary"}"#);
    let call = asks[0].str("toolCallId").unwrap();
    assert_eq!(result_of(&second, call).str("content"), Some("saved"));
    let turn = |events: &[Value]| {
        events[0].get("metadata").and_then(|m| m.get("mindset")?.str("turnId").map(str::to_owned))
    };
    assert_eq!(turn(&second), turn(&first));
    // The same order finds its run, and a second answer comes too late.
    assert_eq!(case.run(&posted("r3", None, &allow, MINDSET)).await.len(), second.len());
    let deny = decided(&asks[0], r#"{"approved":false}"#);
    assert_eq!(case.refused(&posted("r4", None, &deny, MINDSET)).await, (409, "conflict".into()));
    assert_eq!(case.called().len(), 2);
    assert!(case.interrupts("t").await.is_empty());
    assert!(case.model.seen().iter().all(|seen| !seen.text.contains("canary")));
    let log = case.running.stop();
    assert!(!log.contains("canary"), "{log}");
}

#[tokio::test]
async fn what_is_denied_or_cannot_be_allowed_does_not_run() {
    let case = Case::start(config).await;
    let asks = asked(&case.run(&posted("r1", Some(UPDATE), "", MINDSET)).await);
    let deny = decided(&asks[0], r#"{"approved":false}"#);
    let second = case.run(&posted("r2", None, &deny, MINDSET)).await;
    let declined = result_of(&second, asks[0].str("toolCallId").unwrap());
    let mindset = declined.get("metadata").unwrap().get("mindset").unwrap();
    assert_eq!(
        (mindset.get("declined"), mindset.str("toolName")),
        (Some(&Value::Bool(true)), Some("update"))
    );
    assert_eq!(text(&second), "Done.");

    // Nobody to answer: the model is told, the turn goes on.
    let alone = r#"{"mindset":{"clientId":"c"}}"#;
    let third = case.run(&posted("r3", Some(UPDATE), "", alone)).await;
    assert_eq!((kind(last(&third)), text(&third).as_str()), ("RUN_FINISHED", "Done."));
    let seen = case.model.seen();
    assert!(seen.last().unwrap().text.contains("Nobody can approve this call now"));
    assert!(case.called().iter().all(|call| call.contains("two")), "{:?}", case.called());

    // An agent whose tools are named asks for the one that reads, too.
    let named =
        posted("r4", Some(r#"[["hr__read",{"note":"two"}]]"#), "", MINDSET).replace("\"t\"", "\"t2\"");
    assert_eq!(asked(&events(case.post("careful", &named).await).await).len(), 1);
    let cancel = case.server.post("/v1/runs/r4/cancel", "").bearer(&case.token).send().await;
    assert_eq!(cancel.string("state"), "cancelled");
    assert!(case.interrupts("t2").await.is_empty());
    case.running.kill();
}

#[tokio::test]
async fn questions_outlive_a_crash_and_can_be_passed_over() {
    let case = Case::start(config).await;
    let asks = asked(&case.run(&posted("r1", Some(ASK), "", MINDSET)).await);
    let case = case.crash().await;
    assert_eq!(case.interrupts("t").await, asks);
    assert_eq!(asks[0].str("reason"), Some("input_required"));
    let wrong = decided(&asks[0], r#"{"answers":[{"stepId":"room","otherText":"Roof"}]}"#);
    assert_eq!(case.refused(&posted("r2", None, &wrong, MINDSET)).await, (422, "invalid-request".into()));
    let right = decided(&asks[0], r#"{"answers":[{"stepId":"room","selectedOptionIds":["b"]}]}"#);
    let second = case.run(&posted("r3", None, &right, MINDSET)).await;
    assert_eq!(text(&second), "Done.");
    assert!(case.model.seen().last().unwrap().text.contains("Bay"));
    let conversation = case.server.conversation(&case.token, "t").await;
    assert!(conversation.text.contains("Which room? Bay"), "the answers stay in the transcript");

    let asks = asked(&case.run(&posted("r4", Some(ASK), "", MINDSET)).await);
    assert_eq!(asks.len(), 1);
    let passed = case.run(&posted("r5", Some("Any room."), "", MINDSET)).await;
    assert_eq!(text(&passed), "Done.");
    assert!(case.model.seen().last().unwrap().text.contains("dismissed the questions"));
    let late = decided(&asks[0], r#"{"answers":[{"stepId":"room","selectedOptionIds":["b"]}]}"#);
    assert_eq!(case.refused(&posted("r6", None, &late, MINDSET)).await, (409, "conflict".into()));
    case.running.kill();
}

/// With how long an approval waits for a sign of life.
fn patient(model: &Peer, hr: &Peer) -> String {
    format!("[server]\napproval_patience = \"5s\"\n{}", config(model, hr))
}

#[tokio::test]
async fn an_approval_waits_only_while_somebody_is_heard_of() {
    let case = Case::start(patient).await;
    let told = |s: &Seen| s.text.contains("Nobody can approve this call now");
    // A client that promised nothing, because it does not know how, is waited for without an end.
    let plain = posted("p1", Some(UPDATE), "", "{}").replace("\"t\"", "\"plain\"");
    assert_eq!(asked(&case.run(&plain).await).len(), 1);
    // As long as somebody is heard of, it stays open, also by no more than a sign.
    let asks = asked(&case.run(&posted("r1", Some(UPDATE), "", MINDSET)).await);
    case.stay("r1", Duration::from_secs(8)).await;
    assert!(!case.model.seen().iter().any(told));
    assert_eq!(case.interrupts("t").await, asks);
    let none = case.server.post("/v1/runs/none/seen", "").bearer(&case.token).send().await;
    assert_eq!(none.error(), (404, "not-found".into()));
    // A restart denies nothing either: the time begins anew. Then nobody comes.
    let case = case.crash().await;
    assert_eq!(case.interrupts("t").await, asks);
    case.model.until(told).await;
    assert_eq!(case.reply("t").await, "Done.");
    assert!(case.interrupts("t").await.is_empty());
    assert_eq!(case.interrupts("plain").await.len(), 1);
    let allow = decided(&asks[0], r#"{"approved":true}"#);
    assert_eq!(case.refused(&posted("r2", None, &allow, MINDSET)).await, (409, "conflict".into()));
    assert!(case.called().iter().all(|call| call.contains("two")), "{:?}", case.called());
    case.running.kill();
}
