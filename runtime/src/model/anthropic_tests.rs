//! The decoder against a recorded stream and its broken relatives, each cut at
//! every position, and the messages that go out.

use super::*;
use mindset_core::event::Reason;
use mindset_core::turn::ModelCall;

use super::super::http::Reading;

fn play(pieces: &[&[u8]]) -> Vec<ModelEvent> {
    let failures = Arc::default();
    let mut decoder = Reading::new(Decoder::new(&failures), &failures);
    let mut events: Vec<ModelEvent> = pieces.iter().flat_map(|p| decoder.push(p)).collect();
    events.extend(decoder.finish());
    events
}

/// The same events at every split position.
fn read(stream: &str) -> Vec<ModelEvent> {
    let bytes = stream.as_bytes();
    let whole = play(&[bytes]);
    for at in 0..=bytes.len() {
        let (a, b) = bytes.split_at(at);
        assert_eq!(play(&[a, b]), whole, "split at {at}");
    }
    whole
}

fn frames(frames: &[&str]) -> String {
    frames.iter().map(|f| format!("data: {f}\n\n")).collect()
}

fn failure(events: &[ModelEvent]) -> (Reason, bool) {
    match events.last() {
        Some(ModelEvent::Failed(failed)) => (failed.reason, failed.retryable),
        other => panic!("{other:?}"),
    }
}

#[test]
fn recorded_stream() {
    let recorded =
        include_str!("../../../tests/fixtures/model/anthropic-messages-tool.sse").replace("\r\n", "\n");
    let events = read(recorded.split_once("\n\n").unwrap().1);
    assert_eq!(
        events,
        [
            ModelEvent::Text("Painting now.".into()),
            ModelEvent::CallStart { key: 0, id: Some("call_1".into()), name: "set_color".into() },
            ModelEvent::CallArguments { key: 0, delta: r#"{"color":"teal"}"#.into() },
            ModelEvent::End { usage: Some(ModelUsage { input: 0, output: 0 }) },
        ]
    );
}

#[test]
fn without_message_stop_it_is_interrupted() {
    let cut = frames(&[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":3}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
    ]);
    let events = read(&cut);
    assert_eq!(events.first(), Some(&ModelEvent::Text("Half".into())));
    assert_eq!(failure(&events), (Reason::Interrupted, true));
    assert_eq!(failure(&read("")), (Reason::Interrupted, true));
}

#[test]
fn errors_inside_a_good_answer() {
    for (kind, reason, retryable) in [
        ("overloaded_error", Reason::ModelError, true),
        ("rate_limit_error", Reason::RateLimited, true),
        ("invalid_request_error", Reason::ModelError, false),
        ("authentication_error", Reason::Unauthorized, false),
    ] {
        let stream = format!(
            "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":\"busy\"}}}}\n\n"
        );
        assert_eq!(failure(&read(&stream)), (reason, retryable), "{kind}");
    }
}

#[test]
fn keep_alives_and_unknown_events_are_skipped() {
    let stream = format!(
        ": x\n\nevent: ping\ndata: {{\"type\":\"ping\"}}\n\ndata: : alive\n\ndata:\n\n{}",
        frames(&[
            r#"{"type":"brand_new_event"}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"brand_new_block"}}"#,
            r#"{"type":"content_block_delta","index":9,"delta":{"type":"input_json_delta","partial_json":"{"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}"#,
            r#"{"type":"message_stop"}"#,
        ])
    );
    let usage = Some(ModelUsage::default());
    assert_eq!(read(&stream), [ModelEvent::Text("ok".into()), ModelEvent::End { usage }]);
}

#[test]
fn thinking_goes_back_as_it_came() {
    let events = read(&frames(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s1"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"t","input":{"a":1}}}"#,
        r#"{"type":"message_stop"}"#,
    ]));
    assert_eq!(events.first(), Some(&ModelEvent::Thinking("Hm.".into())));
    let state = events.iter().find_map(|e| match e {
        ModelEvent::ProviderState(state) => Some(state.clone()),
        _ => None,
    });
    let call = ModelCall { id: "c".into(), name: "t".into(), arguments: "{\"a\":1}".into() };
    let said = ModelMessage::Assistant { text: "So.".into(), calls: vec![call], provider_state: state };
    let tool = |id: &str, failed| ModelMessage::Tool {
        call_id: id.into(),
        name: "t".into(),
        content: "x".into(),
        failed,
    };
    let sent = messages(&[
        ModelMessage::User("hi".into()),
        said,
        tool("c", false),
        tool("d", true),
        ModelMessage::User("and".into()),
    ]);
    assert_eq!(
        Value::from(sent).to_string(),
        concat!(
            r#"[{"role":"user","content":[{"type":"text","text":"hi"}]},"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s1"},"#,
            r#"{"type":"text","text":"So."},{"type":"tool_use","id":"c","name":"t","input":{"a":1}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"},"#,
            r#"{"type":"tool_result","tool_use_id":"d","content":"x","is_error":true},{"type":"text","text":"and"}]}]"#
        )
    );
}
