//! Events as JSON.

use super::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn message(id: &str) -> ChatMessage {
    ChatMessage {
        id: id.into(),
        role: Author::User,
        content: "c".into(),
        created_at: Some("1970-01-01T00:00:00.000Z".into()),
        status: Some(MessageStatus::Stopped),
        citations: vec![Citation { marker: "[1]".into(), title: "T".into(), url: None }],
        widget: None,
        files: None,
        feedback: None,
    }
}

#[test]
fn the_page_sees_this_turn_only() {
    for (turn_from, ids) in [(0, vec!["a", "b"]), (1, vec!["b"]), (2, vec![]), (9, vec![])] {
        let event = RuntimeEvent::Complete {
            messages: vec![message("a"), message("b")],
            turn_from,
            conversation_id: "t".into(),
            bound: Some(Bound { reason: BoundReason::Deadline, limit: 5, unit: None }),
            usage: None,
        };
        let detail = event.dom_detail();
        let seen = detail.get("messages").and_then(Value::as_array).unwrap();
        assert_eq!(seen.iter().filter_map(|m| m.get("id")?.as_str()).collect::<Vec<_>>(), ids);
        let whole = event.to_json();
        assert_eq!(whole.get("messages").and_then(Value::as_array).map(<[Value]>::len), Some(2));
        assert_eq!(detail.get("bound").and_then(Bound::from_json).map(|b| b.limit), Some(5));
    }
}

#[test]
fn a_message_reads_back() {
    let message = message("a");
    assert_eq!(ChatMessage::from_json(&message.to_json()), Some(message));
    assert_eq!(ChatMessage::from_json(&Value::Null), None);
}

#[test]
fn a_failure_says_only_what_it_knows() {
    let mut error = RunError {
        message: "m".into(),
        reason: Reason::ModelError,
        aborted: false,
        retryable: true,
        effects: Vec::new(),
    };
    let json = RuntimeEvent::RunError(error.clone()).to_json().to_string();
    let plain = r#"{"type":"run_error","message":"m","reason":"model_error","retryable":true}"#;
    assert_eq!(json, plain);
    error.aborted = true;
    assert!(RuntimeEvent::RunError(error).to_json().to_string().contains(r#""aborted":true"#));
}
