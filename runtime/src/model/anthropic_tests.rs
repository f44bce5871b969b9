//! The decoder against a recorded stream and its broken relatives, each cut at
//! every position, and the messages that go out.

use std::sync::Arc;

use super::*;
use mindset_core::event::Reason;
use mindset_core::turn::{ModelCall, ModelEvent, ModelUsage};

use super::super::http::Reading;

fn play(pieces: &[&[u8]]) -> Vec<ModelEvent> {
    let failures = Arc::default();
    let mut decoder = Reading::new(Decoder::new("api.example", &failures), &failures);
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
    assert_eq!(read(&stream), [ModelEvent::Text("ok".into()), ModelEvent::End { usage: None }]);
}

#[test]
fn half_an_event_is_no_sign_of_life() {
    let stream = "event: ping\ndata: {\"type\": \"pi\n\n";
    assert!(matches!(read(stream).as_slice(), [ModelEvent::Failed(_)]));
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
    let all = [
        ModelMessage::User("hi".into()),
        said,
        tool("c", false),
        tool("d", true),
        ModelMessage::User("and".into()),
    ];
    let sent = messages(&all, "api.example");
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

/// The calls as `id name(arguments)`, and the end.
fn calls_of(list: &[&str]) -> Vec<String> {
    let mut calls: Vec<(String, String)> = Vec::new();
    let mut end = String::new();
    for event in read(&frames(list)) {
        match event {
            ModelEvent::CallStart { key, id, name } => {
                assert_eq!(key as usize, calls.len());
                calls.push((format!("{} {name}", id.unwrap_or("-".into())), String::new()));
            }
            ModelEvent::CallArguments { key, delta } => calls[key as usize].1.push_str(&delta),
            ModelEvent::End { .. } => end = "end".into(),
            ModelEvent::Failed(failed) => end = format!("{:?}", failed.reason),
            _ => {}
        }
    }
    let mut all: Vec<_> = calls.into_iter().map(|(call, arguments)| format!("{call}({arguments})")).collect();
    all.push(end);
    all
}

fn start(index: &str, id: &str, input: &str) -> String {
    format!(
        r#"{{"type":"content_block_start"{index},"content_block":{{"type":"tool_use"{id},"name":"f"{input}}}}}"#
    )
}

fn more(index: &str, piece: &str) -> String {
    let piece = Value::from(piece).to_string();
    format!(
        r#"{{"type":"content_block_delta"{index},"delta":{{"type":"input_json_delta","partial_json":{piece}}}}}"#
    )
}

const STOP: &str = r#"{"type":"message_stop"}"#;

#[test]
fn calls_are_told_apart_whatever_their_indexes_and_ids_say() {
    let (zero, one, id, input) = (r#","index":0"#, r#","index":1"#, r#","id":"a""#, r#","input":{}"#);
    let two = ["a f({\"n\":1})", "b f({\"n\":2})", "end"];
    let b = r#","id":"b""#;
    for (what, list, expected) in [
        (
            "interleaved",
            vec![
                start(zero, id, input),
                start(one, b, input),
                more(zero, "{\"n\":"),
                more(one, "{\"n\":"),
                more(zero, "1}"),
                more(one, "2}"),
            ],
            two.to_vec(),
        ),
        (
            "one index for all",
            vec![
                start(zero, id, input),
                more(zero, "{\"n\":1}"),
                start(zero, b, input),
                more(zero, "{\"n\":2}"),
            ],
            two.to_vec(),
        ),
        (
            "no index",
            vec![start("", id, input), more("", "{\"n\":1}"), start("", b, input), more("", "{\"n\":2}")],
            two.to_vec(),
        ),
        (
            "pieces with an index of nobody",
            vec![start(zero, id, input), more(r#","index":7"#, "{\"n\":1}")],
            vec!["a f({\"n\":1})", "end"],
        ),
        (
            "no id",
            vec![start(zero, "", input), start(one, r#","id":null"#, input)],
            vec!["- f()", "- f()", "end"],
        ),
        ("whole", vec![start(zero, id, r#","input":{"n":1}"#)], vec!["a f({\"n\":1})", "end"]),
        (
            "whole, and in pieces besides",
            vec![start(zero, id, r#","input":{"n":1}"#), more(zero, "{\"n\":"), more(zero, "1}")],
            vec!["a f({\"n\":1})", "end"],
        ),
        ("as text", vec![start(zero, id, r#","input":"{\"n\":1}""#)], vec!["a f({\"n\":1})", "end"]),
        ("half as text", vec![start(zero, id, r#","input":"{\"n\": ""#)], vec!["a f({\"n\": )", "end"]),
        ("a list", vec![start(zero, id, r#","input":[1]"#)], vec!["a f([1])", "end"]),
        ("empty text", vec![start(zero, id, r#","input":"""#)], vec!["a f()", "end"]),
        ("null", vec![start(zero, id, r#","input":null"#)], vec!["a f()", "end"]),
        ("nothing", vec![start(zero, id, "")], vec!["a f()", "end"]),
    ] {
        let mut list: Vec<_> = list.iter().map(String::as_str).collect();
        list.push(STOP);
        assert_eq!(calls_of(&list), expected, "{what}");
    }
}

#[test]
fn the_label_does_not_decide() {
    let call = start(r#","index":0"#, r#","id":"a""#, r#","input":{"n":1}"#);
    for reason in ["\"end_turn\"", "\"tool_use\"", "\"stop_sequence\"", "null", "\"other\""] {
        let label = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":{reason}}}}}"#);
        assert_eq!(calls_of(&[&call, &label, STOP]), ["a f({\"n\":1})", "end"], "{reason}");
    }
    assert_eq!(calls_of(&[&call, STOP]), ["a f({\"n\":1})", "end"]);
    // Cut off by the limit before its arguments came: not to be run with nothing.
    let bare = start(r#","index":0"#, r#","id":"a""#, r#","input":{}"#);
    let cut = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#;
    assert_eq!(calls_of(&[&bare, cut, STOP]), ["a f({)", "end"]);
    assert_eq!(calls_of(&[&call, cut, STOP]), ["a f({\"n\":1})", "end"]);
}

#[test]
fn streams_that_just_end() {
    let call = start(r#","index":0"#, r#","id":"a""#, r#","input":{}"#);
    let half = more(r#","index":0"#, "{\"ids\":[1,2");
    assert_eq!(calls_of(&[&call, &half]).last().map(String::as_str), Some("Interrupted"));
    assert_eq!(calls_of(&[&call, "[DONE]"]).last().map(String::as_str), Some("Interrupted"));
    let label = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    assert_eq!(calls_of(&[label, "[DONE]"]), ["end"], "both ends of it were said");
    // The last event lacks its empty line, so it never came.
    assert_eq!(failure(&read(&format!("data: {STOP}\n"))), (Reason::Interrupted, true));
}

#[test]
fn errors_in_every_shape() {
    let half = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"So"}}"#;
    for (error, reason, retryable) in [
        (r#"data: {"error":{"type":"overloaded_error","message":"busy"}}"#, Reason::ModelError, true),
        (r#"data: {"error":"plain text"}"#, Reason::ModelError, true),
        (r#"data: {"type":"error","error":"plain text"}"#, Reason::ModelError, true),
        (r#"data: {"type":"error","error":{"type":"rate_limit_error"}}"#, Reason::RateLimited, true),
        (r#"data: {"type":"error","message":"no"}"#, Reason::ModelError, true),
        (
            "event: error\ndata: {\"type\":\"overloaded_error\",\"message\":\"busy\"}",
            Reason::ModelError,
            true,
        ),
        ("event: error\ndata: {\"code\":400,\"message\":\"bad\"}", Reason::ModelError, false),
        ("event: error\ndata: upstream died", Reason::ModelError, true),
        (r#"data: {"detail":"Internal error"}"#, Reason::ModelError, true),
        (r#"data: {"error":{"code":"429","message":"slow down"},"choices":[]}"#, Reason::RateLimited, true),
        (
            r#"data: {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            Reason::ContextTooLong,
            false,
        ),
        (r#"data: {"type":"error","error":{"type":"request_too_large"}}"#, Reason::ContextTooLong, false),
    ] {
        for before in [String::new(), frames(&[half])] {
            let events = read(&format!("{before}{error}\n\n{}", frames(&[STOP])));
            assert_eq!(failure(&events), (reason, retryable), "{error}");
            assert_eq!(events.len(), 1 + usize::from(!before.is_empty()));
        }
    }
}

#[test]
fn ids_of_an_earlier_model_are_made_legal_and_signatures_of_another_host_stay_behind() {
    let call = |id: &str| ModelCall { id: id.into(), name: "t".into(), arguments: "{}".into() };
    let tool = |id: &str| ModelMessage::Tool {
        call_id: id.into(),
        name: "t".into(),
        content: "x".into(),
        failed: false,
    };
    let state = object! { "host": "other.example", "anthropic": vec![object! { "type": "thinking" }] };
    let ids = ["functions.t:0", "functions t:0", "plain_1-a"];
    let mut all = vec![ModelMessage::Assistant {
        text: String::new(),
        calls: ids.map(call).to_vec(),
        provider_state: Some(state),
    }];
    all.extend(ids.map(tool));
    let sent = Value::from(messages(&all, "api.example")).to_string();
    assert!(!sent.contains("thinking"), "{sent}");
    for id in ["functions_t_0_0", "functions_t_0_1", "plain_1-a"] {
        assert!(sent.contains(&format!(r#""type":"tool_use","id":"{id}""#)), "{sent}");
        assert!(sent.contains(&format!(r#""tool_use_id":"{id}""#)), "{sent}");
    }
    assert!(Value::from(messages(&all, "other.example")).to_string().contains("thinking"));
}
