//! One call of the agent API: when its turn begins, and what comes of it.

use super::*;
use crate::queue::WhenBusy;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const WAITS: &str =
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","metadata":{"mindset":{"turnId":"r"}}}"#;
const QUEUED: &str = r#"{"type":"CUSTOM","name":"mindset.run_queued","value":{"position":2}}"#;
const BEGINS: &str =
    r#"{"type":"CUSTOM","name":"mindset.turn_started","value":{},"metadata":{"mindset":{"model":"m"}}}"#;
const STEERED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"},"metadata":{"mindset":{"status":"steered"}}}"#;
const WITHDRAWN: &str =
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}"#;

/// A call to a named session, which is not read.
fn call() -> Bench {
    let mut bench = Bench::new();
    let call = AgentCall { model: Some("large".into()), when_busy: Some(WhenBusy::Queue), reads: false };
    bench.start(Config { call: Some(call), conversation_id: Some("s".into()), ..config() });
    bench.answer_json(200, r#"{"authToken":"secret-1","expiresAt":"x","anonymousKey":"key-1"}"#);
    bench.out.clear();
    bench.send(1, "hi");
    bench
}

/// Events of the turn by their types, and how the call was settled.
fn told(bench: &Bench) -> Vec<String> {
    let word = |output: &Output| match output {
        Output::Event(DomEvent::Runtime(event)) => Some(event.type_name().to_owned()),
        Output::Settle { result, .. } => Some(result.status.as_str().to_owned()),
        _ => None,
    };
    bench.out.iter().filter_map(word).collect()
}

#[test]
fn says_what_it_wants() {
    let bench = call();
    let input = body(&bench.last(FetchPurpose::Run));
    assert_eq!(input.str("threadId"), Some("s"));
    let mindset = input.get("forwardedProps").and_then(|props| props.get("mindset")).unwrap();
    assert_eq!(mindset.get("agentSession"), Some(&Value::Bool(true)));
    assert_eq!((mindset.str("model"), mindset.str("whenBusy")), (Some("large"), Some("queue")));
    assert_eq!(mindset.get("answers"), None);
}

#[test]
fn the_turn_begins_when_it_has_waited() {
    let mut bench = call();
    bench.stream(&[WAITS, QUEUED, BEGINS, SAY, HEL, LO, SAID, FINISHED]);
    let story = told(&bench);
    let at = |name: &str| story.iter().position(|word| word == name).expect(name);
    assert!(at("run_queued") < at("run_started") && at("run_started") < at("text_delta"), "{story:?}");
    assert_eq!(story.iter().filter(|word| *word == "run_started").count(), 1);
    assert_eq!(story.last().map(String::as_str), Some("finished"));
}

#[test]
fn what_never_began_has_no_turn() {
    for (end, status) in [(STEERED, "steered"), (WITHDRAWN, "aborted")] {
        let mut bench = call();
        bench.stream(&[WAITS, QUEUED, end]);
        let story = told(&bench);
        assert!(!story.iter().any(|word| word == "run_started"), "{story:?}");
        assert_eq!(story.last().map(String::as_str), Some(status));
        assert_eq!(bench.result().text, None);
    }
}

#[test]
fn what_was_lost_is_known_to_be_unknown() {
    let mut bench = call();
    bench.break_down();
    let error = bench.result().error.clone().expect("an error");
    assert_eq!(error.context.as_ref().and_then(|facts| facts.str("outcome")), Some("unknown"));
    // Posted again with the same id and no other.
    let mut runs = Vec::new();
    for request in bench.requests() {
        if request.purpose == FetchPurpose::Run {
            runs.push(body(request).str("runId").map(str::to_owned));
        }
    }
    assert!(runs.len() > 1);
    runs.dedup();
    assert_eq!(runs.len(), 1);

    let mut bench = call();
    bench.answer_json(409, r#"{"error":{"code":"busy","message":"m","retryable":true}}"#);
    let error = bench.result().error.clone().expect("an error");
    assert_eq!(error.context, None, "the server has said it");
}
