//! The decoder against a recorded stream and the ways in which gateways break the
//! protocol (calls without index or id, errors inside a 200, streams that end), each cut at
//! every position, and the body that goes out.

use std::sync::Arc;

use super::*;
use mindset_core::event::Reason;
use mindset_core::json;
use mindset_core::passthrough::VisibleSchema;
use mindset_core::turn::{ModelCall, ModelEvent, ModelTool};

use super::super::http::{MAX_EVENT, Reading};
use crate::config::{Provider, Secret};

/// An answer in short: text, thinking, calls as `id name(arguments)`, and the end.
#[derive(Debug, PartialEq, Default)]
struct Seen {
    text: String,
    thinking: String,
    calls: Vec<String>,
    end: String,
    state: Option<String>,
}

fn collect(events: Vec<ModelEvent>) -> Seen {
    let mut seen = Seen::default();
    let mut calls: Vec<(String, String, String)> = Vec::new();
    for event in events {
        assert_eq!(seen.end, "", "something follows the end");
        match event {
            ModelEvent::Text(text) => seen.text.push_str(&text),
            ModelEvent::Thinking(text) => seen.thinking.push_str(&text),
            ModelEvent::CallStart { key, id, name } => {
                assert_eq!(key as usize, calls.len());
                calls.push((id.unwrap_or("-".into()), name, String::new()));
            }
            ModelEvent::CallArguments { key, delta } => {
                assert!(!delta.is_empty());
                calls[key as usize].2.push_str(&delta);
            }
            ModelEvent::ProviderState(state) => seen.state = Some(state.to_string()),
            ModelEvent::End { usage } => {
                seen.end = usage.map_or("end".into(), |u| format!("end {}/{}", u.input, u.output));
            }
            ModelEvent::Failed(f) => seen.end = format!("{:?} {} {}", f.reason, f.retryable, f.message),
        }
    }
    seen.calls = calls.into_iter().map(|(id, name, arguments)| format!("{id} {name}({arguments})")).collect();
    seen
}

fn play(pieces: &[&[u8]]) -> Seen {
    let failures = Arc::default();
    let mut decoder = Reading::new(Decoder::new("api.example", &failures), &failures);
    let mut events: Vec<ModelEvent> = pieces.iter().flat_map(|p| decoder.push(p)).collect();
    events.extend(decoder.finish());
    collect(events)
}

/// The same answer at every split position.
fn read(stream: &str) -> Seen {
    let bytes = stream.as_bytes();
    let whole = play(&[bytes]);
    for at in 0..=bytes.len() {
        let (a, b) = bytes.split_at(at);
        assert_eq!(play(&[a, b]), whole, "split at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(play(&single), whole, "byte by byte");
    whole
}

fn data(chunks: &[&str]) -> String {
    chunks.iter().map(|c| format!("data: {c}\n\n")).collect()
}

fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":{reason}}}]}}"#)
}

#[test]
fn recorded_stream() {
    let recorded = include_str!("../../../tests/fixtures/model/openai-chat-completions-tool.sse");
    let body = recorded.replace("\r\n", "\n");
    let body = body.split_once("\n\n").unwrap().1;
    let seen = read(body);
    assert_eq!(seen.text, "Painting now.");
    assert_eq!(seen.calls, [r#"call_1 set_color({"color":"teal"})"#]);
    assert_eq!(seen.end, "end 2/10");
}

#[test]
fn calls_that_share_an_index() {
    let seen = read(&data(&[
        &delta(
            r#"{"role":"assistant","tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"stock","arguments":"{\"sku\":\"A-1\"}"}}]}"#,
        ),
        &delta(r#"{"content":"\n"}"#),
        &delta(
            r#"{"tool_calls":[{"index":0,"id":"call_b","type":"function","function":{"name":"stock","arguments":"{\"sku\":\"B-2\"}"}}]}"#,
        ),
        &finish(r#""tool_calls""#),
        "[DONE]",
    ]));
    assert_eq!(seen.calls, [r#"call_a stock({"sku":"A-1"})"#, r#"call_b stock({"sku":"B-2"})"#]);
    assert_eq!(seen.end, "end");
}

#[test]
fn a_second_object_without_id_and_name_is_not_lost() {
    let seen = read(&data(&[
        &delta(
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"stock","arguments":"{\"sku\":1}"}}]}"#,
        ),
        &delta(r#"{"tool_calls":[{"index":0,"function":{"name":"","arguments":"{\"sku\":2}"}}]}"#),
        "[DONE]",
    ]));
    // Glued, so not JSON: the turn reports it to the model instead of running half.
    assert_eq!(seen.calls, [r#"a stock({"sku":1}{"sku":2})"#]);
}

#[test]
fn ids_repeated_in_every_piece_are_one_call() {
    let piece = |arguments: &str| {
        delta(&format!(
            r#"{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"f","arguments":{arguments:?}}}}}]}}"#
        ))
    };
    let seen = read(&data(&[&piece("{\"x\""), &piece(":1}"), "[DONE]"]));
    assert_eq!(seen.calls, [r#"a f({"x":1})"#]);
}

#[test]
fn calls_without_an_id() {
    let seen = read(&data(&[
        &delta(
            r#"{"role":"assistant","content":null,"tool_calls":[{"index":0,"type":"function","function":{"name":"open_panel","arguments":"{\"na"}}]}"#,
        ),
        &delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"me\":\"billing\"}"}}]}"#),
        &delta(r#"{"tool_calls":[{"index":1,"function":{"name":"open_panel","arguments":"{}"}}]}"#),
        &finish(r#""tool_calls""#),
        "[DONE]",
    ]));
    assert_eq!(seen.calls, [r#"- open_panel({"name":"billing"})"#, "- open_panel({})"]);
}

#[test]
fn arguments_of_every_kind() {
    for (arguments, expected) in [
        (r#","arguments":"""#, ""),
        (r#","arguments":"  ""#, "  "),
        ("", ""),
        (r#","arguments":null"#, ""),
        (r#","arguments":"null""#, "null"),
        (r#","arguments":"[]""#, "[]"),
        (r#","arguments":{"name":"billing"}"#, r#"{"name":"billing"}"#),
        (r#","arguments":"{\"q\": ""#, r#"{"q": "#),
    ] {
        let call =
            format!(r#"{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"snap"{arguments}}}}}]}}"#);
        let seen = read(&data(&[&delta(&call), &finish(r#""tool_calls""#), "[DONE]"]));
        assert_eq!(seen.calls, [format!("c snap({expected})")], "{arguments}");
        assert_eq!(seen.end, "end");
    }
}

#[test]
fn the_label_does_not_decide() {
    for reason in [r#""stop""#, r#""tool_calls""#, r#""function_call""#, "null", r#""other""#] {
        let seen = read(&data(&[
            &delta(r#"{"content":"Let me look."}"#),
            &delta(
                r#"{"tool_calls":[{"index":0,"id":"c7","function":{"name":"find","arguments":"{\"n\":\"10-4\"}"}}]}"#,
            ),
            &finish(reason),
            "[DONE]",
        ]));
        assert_eq!(seen.text, "Let me look.");
        assert_eq!(seen.calls, [r#"c7 find({"n":"10-4"})"#]);
        assert_eq!(seen.end, "end", "{reason}");
    }
}

#[test]
fn errors_inside_a_good_answer() {
    for (error, retryable, words) in [
        (r#"{"error":{"message":"capacity reached","type":"server_error","code":503}}"#, true, "(503)"),
        (r#"{"error":"plain text"}"#, true, "reported an error"),
        (r#"{"id":"x","choices":[],"error":{"code":"429","message":"slow down"}}"#, true, "(429)"),
        (r#"{"error":{"code":400,"message":"bad"}}"#, false, "(400)"),
    ] {
        let seen = read(&data(&[&delta(r#"{"content":"The reasons are"}"#), error, "[DONE]"]));
        assert_eq!(seen.text, "The reasons are");
        assert!(seen.end.contains(&format!(" {retryable} ")) && seen.end.contains(words), "{}", seen.end);
        assert!(read(&data(&[error])).end.contains(words));
    }
    let event = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    let seen = read(event);
    assert!(seen.end.contains("true") && seen.end.contains("(overloaded_error)"), "{}", seen.end);
}

#[test]
fn streams_that_just_end() {
    let half = delta(r#"{"role":"assistant","content":"Step one: open the"}"#);
    let call = delta(
        r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"delete_rows","arguments":"{\"ids\":[1,2"}}]}"#,
    );
    let cut = read(&data(&[&half, &call]));
    assert_eq!(cut.text, "Step one: open the");
    assert!(cut.end.starts_with(&format!("{:?} true", Reason::Interrupted)), "{}", cut.end);
    assert_eq!(read(&data(&[&half, "[DONE]"])).end, "end");
    assert_eq!(read(&data(&[&half, &finish(r#""stop""#)])).end, "end");
    // The last event lacks its empty line, so it never came.
    let unended = format!("{}data: {}\n", data(&[&half]), finish(r#""stop""#));
    assert!(read(&unended).end.starts_with("Interrupted"));
    assert!(read("").end.starts_with("Interrupted"));
}

#[test]
fn keep_alives() {
    let stream = format!(
        ": still working\n\n: still working\r\n\r\ndata: : alive\n\nevent: ping\ndata: {{\"type\":\"ping\"}}\n\n\
         data:\n\n:\ndata:{}\n\ndata: {}\n\ndata: [DONE]\n\n",
        delta(r#"{"content":"ok"}"#),
        finish(r#""stop""#),
    );
    let seen = read(&stream);
    assert_eq!((seen.text.as_str(), seen.end.as_str()), ("ok", "end"));
}

#[test]
fn reasoning_is_kept_apart_and_goes_back() {
    for field in ["reasoning_content", "reasoning"] {
        let seen = read(&data(&[
            &delta(&format!(r#"{{"content":null,"{field}":"They want it. "}}"#)),
            &delta(&format!(r#"{{"{field}":"I need the tool."}}"#)),
            &delta(&format!(
                r#"{{"{field}":null,"tool_calls":[{{"index":0,"id":"c","function":{{"name":"ledger","arguments":"{{}}"}}}}]}}"#
            )),
            &finish(r#""tool_calls""#),
            "[DONE]",
        ]));
        assert_eq!((seen.text.as_str(), seen.thinking.as_str()), ("", "They want it. I need the tool."));
        let state = json::parse(&seen.state.unwrap()).unwrap().as_object().unwrap().clone();
        let call = ModelCall { id: "c".into(), name: "ledger".into(), arguments: "{}".into() };
        let said =
            ModelMessage::Assistant { text: String::new(), calls: vec![call], provider_state: Some(state) };
        let sent = message(&said, "api.example");
        assert_eq!(sent.str(field), Some("They want it. I need the tool."));
        assert_eq!(message(&said, "other.example").get(field), None);
    }
}

#[test]
fn not_json_is_a_failure_and_too_large_too() {
    assert!(read("data: <html>\n\n").end.contains("cannot be read"));
    let failures = Arc::default();
    let mut decoder = Reading::new(Decoder::new("h", &failures), &failures);
    let seen = collect(decoder.push(&vec![b'x'; MAX_EVENT + 10]));
    assert!(seen.end.contains("too large"), "{}", seen.end);
}

#[test]
fn the_body() {
    let config = ModelConfig {
        name: "m".into(),
        title: None,
        provider: Provider::OpenAi,
        model: "small".into(),
        base_url: "http://127.0.0.1:1/v1".into(),
        api_key: Some(Secret::new("key")),
        max_tokens: Some(9),
        idle_timeout: std::time::Duration::from_secs(1),
        delay: std::time::Duration::ZERO,
    };
    let tool = ModelTool {
        name: "t".into(),
        description: "d".into(),
        parameters: VisibleSchema::strip(&object! { "type": "object" }, |_| false),
    };
    let call = ModelCall { id: "c".into(), name: "t".into(), arguments: "{}".into() };
    let request = ModelRequest {
        model: "small".into(),
        system: "Be kind.".into(),
        messages: vec![
            ModelMessage::User("hi".into()),
            ModelMessage::Assistant { text: String::new(), calls: vec![call], provider_state: None },
            ModelMessage::Tool { call_id: "c".into(), name: "t".into(), content: "no".into(), failed: true },
        ],
        tools: vec![tool],
    };
    assert_eq!(
        OpenAi::new(config).body(&request).to_string(),
        concat!(
            r#"{"model":"small","messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"hi"},"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":"{}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"c","content":"The tool failed: no"}],"stream":true,"#,
            r#""stream_options":{"include_usage":true},"max_tokens":9,"#,
            r#""tools":[{"type":"function","function":{"name":"t","description":"d","parameters":{"type":"object","properties":{}}}}]}"#
        )
    );
}

/// A piece of a call: `index`, `id` and `name` as JSON, left out where empty; arguments as text.
fn piece(index: &str, id: &str, name: &str, arguments: &str) -> String {
    let member = |key: &str, value: &str| match value {
        "" => String::new(),
        value => format!("\"{key}\":{value},"),
    };
    let arguments = Value::from(arguments).to_string();
    delta(&format!(
        "{{\"tool_calls\":[{{{}{}\"function\":{{{}\"arguments\":{arguments}}}}}]}}",
        member("index", index),
        member("id", id),
        member("name", name),
    ))
}

/// The calls of these pieces, `index id name arguments` each.
fn calls_of(pieces: &[[&str; 4]]) -> Vec<String> {
    let chunks: Vec<_> = pieces.iter().map(|[i, id, name, a]| piece(i, id, name, a)).collect();
    let mut chunks: Vec<_> = chunks.iter().map(String::as_str).collect();
    chunks.push("[DONE]");
    let seen = read(&data(&chunks));
    assert_eq!(seen.end, "end");
    seen.calls
}

const TWO: &[&str] = &["a f({\"n\":1})", "b f({\"n\":2})"];
const FIRST: &str = r#"{"n":"#;

/// A case in words, the pieces of calls, and the calls they are.
type Apart = (&'static str, &'static [[&'static str; 4]], &'static [&'static str]);

const APART: &[Apart] = &[
    (
        "interleaved by index",
        &[
            ["0", r#""a""#, r#""f""#, FIRST],
            ["1", r#""b""#, r#""f""#, FIRST],
            ["0", "", "", "1}"],
            ["1", "", "", "2}"],
        ],
        TWO,
    ),
    (
        "interleaved by id, one index",
        &[
            ["0", r#""a""#, r#""f""#, FIRST],
            ["0", r#""b""#, r#""f""#, FIRST],
            ["0", r#""a""#, "", "1}"],
            ["0", r#""b""#, "", "2}"],
        ],
        TWO,
    ),
    (
        "no index",
        &[
            ["", r#""a""#, r#""f""#, FIRST],
            ["", "", "", "1}"],
            ["", r#""b""#, r#""f""#, FIRST],
            ["", "", "", "2}"],
        ],
        TWO,
    ),
    (
        "index null, then another in every piece",
        &[["null", r#""a""#, r#""f""#, FIRST], ["7", "", "", "1"], ["9", "", "", "}"]],
        &["a f({\"n\":1})"],
    ),
    (
        "one id for all, right indexes",
        &[["0", r#""a""#, r#""f""#, "{\"n\":1}"], ["1", r#""a""#, r#""f""#, "{\"n\":2}"]],
        &["a f({\"n\":1})", "a f({\"n\":2})"],
    ),
    (
        "one id and one index for all",
        &[["0", r#""a""#, r#""f""#, "{\"n\":1}"], ["0", r#""a""#, r#""f""#, "{\"n\":2}"]],
        &["a f({\"n\":1})", "a f({\"n\":2})"],
    ),
    (
        "no id, one index, whole calls of one name",
        &[["0", "", r#""f""#, "{\"n\":1}"], ["0", r#""""#, r#""f""#, "{\"n\":2}"]],
        &["- f({\"n\":1})", "- f({\"n\":2})"],
    ),
    (
        "another id with every piece",
        &[["0", r#""a""#, r#""f""#, FIRST], ["0", r#""x""#, "", "1"], ["0", r#""y""#, r#""""#, "}"]],
        &["a f({\"n\":1})"],
    ),
    (
        "an id that comes late",
        &[["0", "", r#""f""#, ""], ["0", r#""a""#, "", FIRST], ["0", r#""a""#, "", "1}"]],
        &["- f({\"n\":1})"],
    ),
    (
        "the name in every piece, and no id and index",
        &[["", "", r#""f""#, FIRST], ["", "", r#""f""#, "1}"], ["", "", r#""g""#, "{}"]],
        &["- f({\"n\":1})", "- g({})"],
    ),
    ("the name last", &[["0", r#""a""#, "", FIRST], ["0", r#""a""#, r#""f""#, "1}"]], &["a f({\"n\":1})"]),
    ("never a name", &[["0", r#""a""#, "", "{}"]], &["a ({})"]),
    (
        "ids that are no text",
        &[["0", "7", r#""f""#, "{}"], ["1", "null", r#""g""#, "{}"]],
        &["- f({})", "- g({})"],
    ),
    (
        "two tools, one index, no id",
        &[["0", "", r#""f""#, ""], ["0", "", r#""g""#, "{}"]],
        &["- f()", "- g({})"],
    ),
];

#[test]
fn calls_are_told_apart_whatever_their_indexes_and_ids_say() {
    for (what, pieces, expected) in APART {
        assert_eq!(calls_of(pieces), *expected, "{what}");
    }
}

#[test]
fn the_older_protocols_call_is_one_too() {
    let seen = read(&data(&[
        &delta(r#"{"content":null,"function_call":{"name":"find","arguments":"{\"n\""}}"#),
        &delta(r#"{"function_call":{"arguments":":1}"}}"#),
        &finish(r#""function_call""#),
    ]));
    assert_eq!((seen.calls, seen.end.as_str()), (vec![r#"- find({"n":1})"#.to_owned()], "end"));
}

#[test]
fn a_whole_message_instead_of_pieces() {
    let message = r#"{"choices":[{"message":{"role":"assistant","content":"Hi","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    let seen = read(&data(&[message]));
    assert_eq!((seen.text.as_str(), seen.calls.len(), seen.end.as_str()), ("Hi", 1, "end"));
    // Behind its pieces it says nothing new.
    let seen = read(&data(&[&delta(r#"{"content":"Hi"}"#), message]));
    assert_eq!((seen.text.as_str(), seen.calls.len()), ("Hi", 0));
    let refused = read(&data(&[&delta(r#"{"content":null,"refusal":"I will not."}"#), "[DONE]"]));
    assert_eq!(refused.text, "I will not.");
}

#[test]
fn a_call_that_the_limit_cut_off_runs_with_nothing_never() {
    for (arguments, reason, expected) in [
        ("", "length", "c f({)"),
        ("{\"a\":", "length", "c f({\"a\":)"),
        ("{}", "length", "c f({})"),
        ("", "stop", "c f()"),
    ] {
        let call = piece("0", r#""c""#, r#""f""#, arguments);
        let seen = read(&data(&[&call, &finish(&format!("\"{reason}\"")), "[DONE]"]));
        assert_eq!((seen.calls, seen.end.as_str()), (vec![expected.to_owned()], "end"));
    }
    let text = read(&data(&[&delta(r#"{"content":"So"}"#), &finish(r#""length""#)]));
    assert_eq!((text.text.as_str(), text.end.as_str()), ("So", "end"));
}

#[test]
fn errors_in_every_shape() {
    for (error, retryable, words) in [
        (r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#, false, "(400)"),
        (r#"{"detail":"Internal error"}"#, true, "reported an error"),
        (r#"{"message":"Service is down"}"#, true, "reported an error"),
        (r#"{"errors":[{"message":"slow","code":429}]}"#, true, "(429)"),
        (r#"[{"error":{"code":503,"status":"UNAVAILABLE"}}]"#, true, "(503)"),
        (r#"{"choices":[{"delta":{},"error":{"code":502,"message":"upstream"}}]}"#, true, "(502)"),
        (r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#, true, "reported an error"),
        (r#"{"error":{"status":429}}"#, true, "(429)"),
        (r#"{"error":true}"#, true, "reported an error"),
        (r#"{"type":"error","message":"no"}"#, true, "reported an error"),
        (r#"{"error":{"message":"Input is too long for requested model."}}"#, false, "no longer fits"),
        (r#"{"error":{"type":"exceed_context_size_error","code":400}}"#, false, "no longer fits"),
    ] {
        let call = piece("0", r#""c""#, r#""delete_rows""#, "{\"ids\":[1,2");
        let seen = read(&data(&[&delta(r#"{"content":"So"}"#), &call, error, "[DONE]"]));
        assert_eq!(seen.text, "So");
        assert!(
            seen.end.contains(&format!(" {retryable} ")) && seen.end.contains(words),
            "{error}: {}",
            seen.end
        );
    }
    for event in ["event: error\ndata: {\"message\":\"no\"}\n\n", "event: error\ndata: plain\n\n"] {
        assert!(read(event).end.contains("true"), "{event}");
    }
    // These are none.
    for none in [
        r#"{"error":null,"choices":[]}"#,
        r#"{"error":"","choices":[]}"#,
        r#"{"error":{},"choices":[]}"#,
        r#"{"error":false}"#,
        "null",
        "[]",
        "{}",
        "3",
    ] {
        let seen = read(&data(&[none, &delta(r#"{"content":"ok"}"#), "[DONE]"]));
        assert_eq!((seen.text.as_str(), seen.end.as_str()), ("ok", "end"), "{none}");
    }
}

#[test]
fn keep_alives_of_every_kind() {
    for alive in [
        "data: ping",
        "data: [PING]",
        "data: keep-alive",
        "event: x\ndata: what",
        "data:  \t",
        "event: ping",
        ":",
    ] {
        let stream = format!(
            "{alive}\n\n{}{alive}\r\n\r\n{}",
            data(&[&delta(r#"{"content":"ok"}"#)]),
            data(&["[DONE]"])
        );
        let seen = read(&stream);
        assert_eq!((seen.text.as_str(), seen.end.as_str()), ("ok", "end"), "{alive}");
    }
}

#[test]
fn what_providers_want_back_with_calls_goes_back() {
    let seen = read(&data(&[
        &delta(
            r#"{"reasoning":"Hm. ","reasoning_details":[{"type":"reasoning.text","text":"Hm. ","index":0}]}"#,
        ),
        &delta(
            r#"{"reasoning_details":[{"type":"reasoning.text","text":"So.","signature":"s1","index":0}]}"#,
        ),
        &delta(r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"e1","index":1}]}"#),
        &delta(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#),
        &delta(
            r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"t1"}}}]}"#,
        ),
        &finish(r#""tool_calls""#),
    ]));
    // As it comes from the store.
    let state = json::parse(&seen.state.unwrap()).unwrap().as_object().unwrap().clone();
    let call = |id: &str| ModelCall { id: id.into(), name: "f".into(), arguments: "{}".into() };
    let said = ModelMessage::Assistant {
        text: "t".into(),
        calls: vec![call("a"), call("b")],
        provider_state: Some(state.clone()),
    };
    let sent = message(&said, "api.example").text();
    for part in [
        r#""reasoning":"Hm. ""#,
        r#""reasoning_details":[{"type":"reasoning.text","text":"Hm. So.","index":0,"signature":"s1"},{"type":"reasoning.encrypted","data":"e1","index":1}]"#,
        r#"{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#,
        r#"{"id":"b","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"t1"}}}"#,
    ] {
        assert!(sent.contains(part), "{part} is not in {sent}");
    }
    let elsewhere = message(&said, "other.example").text();
    assert!(!elsewhere.contains("Hm.") && !elsewhere.contains("t1"), "{elsewhere}");
    // Without calls nobody wants it.
    let plain = ModelMessage::Assistant { text: "t".into(), calls: vec![], provider_state: Some(state) };
    assert_eq!(message(&plain, "api.example").text(), r#"{"role":"assistant","content":"t"}"#);
}
