//! The public AG-UI 1.0 conformance streams and recorded runs of a foreign agent,
//! played through decoding and the order rules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod played;

use mindset_conformance::{INVALID, RECORDED, STREAMS};
use mindset_core::agui::{Body, DecodeError, Outcome, decode_event};
use mindset_core::json::{Value, parse};
use mindset_core::sse::Decoder;
use played::Played;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Expectations that wait until core keeps agent state. Everything else of these
/// streams is checked.
const WAITING: &[(&str, &str)] = &[
    ("open-object-patch-op-extras", "state"),
    ("state-delta-unappliable-warns-and-keeps", "state"),
    ("state-delta-unappliable-warns-and-keeps", "warnings"),
    ("state-delta-unknown-op-dropped", "state"),
];

fn waits(name: &str, expectation: &str) -> bool {
    WAITING.contains(&(name, expectation))
}

#[test]
fn conformance_streams_end_as_expected() {
    assert!(STREAMS.len() >= 14);
    for (name, text) in STREAMS {
        let stream = parse(text).unwrap();
        let played = Played::new(stream.get("stream").unwrap().as_array().unwrap());
        let expect = stream.get("expect").unwrap().as_object().unwrap();
        for (key, expected) in expect.iter() {
            if waits(name, key) {
                continue;
            }
            check(name, &played, key, expected);
        }
    }
}

/// So that nothing waits for ever, nor silently.
#[test]
fn what_waits_is_there_and_needs_state() {
    for (name, key) in WAITING {
        let (_, text) = STREAMS.iter().find(|(stream, _)| stream == name).expect(name);
        assert!(text.contains("STATE_DELTA"), "{name}");
        assert!(parse(text).unwrap().get("expect").unwrap().get(key).is_some(), "{name} {key}");
    }
}

fn check(name: &str, played: &Played, key: &str, expected: &Value) {
    let texts = || expected.as_array().unwrap().iter().map(|t| t.as_str().unwrap());
    match key {
        "outcome" => {
            let outcome = if played.error.is_none() && played.ended { "completed" } else { "failed" };
            assert_eq!(Some(outcome), expected.as_str(), "{name}: {:?}", played.error);
        }
        "errorContains" => {
            let error = played.error.as_deref().unwrap_or_default();
            assert!(error.contains(expected.as_str().unwrap()), "{name}: {error}");
        }
        "eventTypes" => assert_eq!(played.types(), texts().collect::<Vec<_>>(), "{name}"),
        "eventTypesAbsent" => assert!(texts().all(|t| !played.types().contains(&t)), "{name}"),
        "noWarnings" => assert!(played.warnings.is_empty(), "{name}: {:?}", played.warnings),
        "warnings" => {
            for text in texts() {
                assert!(played.warnings.iter().any(|w| w.contains(text)), "{name}: {:?}", played.warnings);
            }
        }
        "messageCount" => assert_eq!(Some(played.messages.len() as u64), expected.as_u64(), "{name}"),
        "messages" => {
            let expected = expected.as_array().unwrap();
            assert_eq!(played.messages.len(), expected.len(), "{name}: {:?}", played.messages);
            for (message, expected) in played.messages.iter().zip(expected) {
                for (key, value) in expected.as_object().unwrap().iter() {
                    assert_eq!(message.get(key), Some(value), "{name} {key}");
                }
            }
        }
        "eventPaths" => {
            for (path, value) in expected.as_object().unwrap().iter() {
                assert_eq!(played.event_at(path), Some(value), "{name} {path}");
            }
        }
        "eventAbsentPaths" => assert!(texts().all(|path| played.event_at(path).is_none()), "{name}"),
        other => panic!("{name} expects {other:?}, which this test does not know"),
    }
}

#[test]
fn invalid_documents_are_malformed() {
    for (name, text) in INVALID {
        let result = decode_event(&parse(text).unwrap());
        assert!(matches!(result, Err(DecodeError::Malformed(_))), "{name}: {result:?}");
    }
}

/// How each recording ends: its text, then its outcome.
const ENDS: &[(&str, &str, &str)] = &[
    ("pyd-approve-interrupt", "", "interrupt int-call_del_1 tool_call call_del_1"),
    ("pyd-approve-resume-bad", "", "error"),
    ("pyd-approve-resume", "done: row 7 deleted", "success"),
    ("pyd-fn-frontend-tool", "", "success call_fn_1"),
    ("pyd-fn-pre1.0-client", "", "success"),
    ("pyd-fn-text", "Hello, wörld 🌍!", "success"),
    ("pyd-fn-tool-result", "Tool returned: {\"ok\": true}", "success"),
    ("pyd-state", "counted", "success"),
    ("pyd-test-frontend-tool", "", "success pyd_ai_tool_call_id__set_color"),
];

#[test]
fn recorded_runs_end_as_they_should() {
    assert_eq!(
        RECORDED.iter().map(|r| r.0).collect::<Vec<_>>(),
        ENDS.iter().map(|e| e.0).collect::<Vec<_>>()
    );
    for ((name, http), (_, text, end)) in RECORDED.iter().zip(ENDS) {
        for size in [1, 10, 100_000] {
            let played = Played::new(&read(http, size));
            assert_eq!(played.error, None, "{name}");
            assert_eq!(played.warnings, Vec::<String>::new(), "{name}");
            assert!(played.ended, "{name}");
            let messages = played.messages.iter().filter(|m| m.str("role") == Some("assistant"));
            let said: String = messages.filter_map(|m| m.str("content")).collect();
            assert_eq!(said, *text, "{name}");
            assert_eq!(ending(&played), *end, "{name}");
        }
    }
}

/// A run that is cut before its last event has not ended.
#[test]
fn a_recorded_run_without_its_end_is_not_ended() {
    for (name, http) in RECORDED {
        let mut events = read(http, 100_000);
        events.pop();
        let played = Played::new(&events);
        assert_eq!((played.error, played.ended), (None, false), "{name}");
    }
}

fn read(http: &str, size: usize) -> Vec<Value> {
    let mut decoder = Decoder::new(1 << 20);
    let mut events = Vec::new();
    for piece in http.as_bytes().chunks(size) {
        decoder.push(piece);
        while let Some(frame) = decoder.next_frame().unwrap() {
            events.push(parse(&frame.data).unwrap());
        }
    }
    events
}

fn ending(played: &Played) -> String {
    match &played.events.last().unwrap().body {
        Body::RunError { .. } => "error".to_owned(),
        Body::RunFinished { outcome: Some(Outcome::Success { pending_tool_call_ids }), .. } => {
            [&["success".to_owned()], pending_tool_call_ids.as_slice()].concat().join(" ")
        }
        Body::RunFinished { outcome: Some(Outcome::Interrupt { interrupts }), .. } => {
            let i = &interrupts[0];
            format!("interrupt {} {} {}", i.id, i.reason, i.tool_call_id.as_deref().unwrap_or_default())
        }
        other => panic!("ends with {}", other.type_name()),
    }
}
