//! Every event and input we can write: it reads back as itself, validates against
//! the public JSON Schema, and reads by the protocol's rules when it is damaged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod samples;

use mindset_conformance::SCHEMA;
use mindset_core::agui::{
    DecodeError, RunAgentInput, decode_event, decode_input, encode_event, encode_input,
};
use mindset_core::json::{Object, Value, parse};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn definition(name: &str) -> Value {
    let schema = parse(SCHEMA).unwrap();
    schema.get("$defs").unwrap().get(name).unwrap().clone()
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).unwrap_or_default();
    items.iter().map(|s| s.as_str().unwrap().to_owned()).collect()
}

#[test]
fn there_is_a_sample_of_every_type() {
    let mut types: Vec<_> = samples::events().iter().map(|e| e.body.type_name().to_owned()).collect();
    types.dedup();
    assert_eq!(types, strings(definition("EventType").get("enum")));
}

#[test]
fn events_come_back() {
    for event in samples::events() {
        let text = encode_event(&event).to_string();
        let (back, warnings) = decode_event(&parse(&text).unwrap()).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(back, event, "{text}");
        assert_eq!(warnings, Vec::<String>::new(), "{text}");
        assert!(text.starts_with(&format!("{{\"type\":\"{}\"", event.body.type_name())));
    }
}

#[test]
fn inputs_come_back() {
    let input = samples::input();
    assert_eq!(decode_input(&parse(&encode_input(&input).to_string()).unwrap()), Ok(input));
    let empty = encode_input(&RunAgentInput::default()).to_string();
    let expected = concat!(
        r#"{"threadId":"","runId":"","messages":[],"tools":[],"context":[],"#,
        r#""state":{},"forwardedProps":{}}"#
    );
    assert_eq!(empty, expected);
}

/// Other implementations judge what we write.
#[cfg(not(target_arch = "wasm32"))]
#[test]
fn what_we_write_validates() {
    let validator = |definition: &str| {
        let mut schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        schema["$ref"] = format!("#/$defs/{definition}").into();
        jsonschema::validator_for(&schema).unwrap()
    };
    let check = |validator: &jsonschema::Validator, value: &Value| {
        let text = value.to_string();
        if let Err(error) = validator.validate(&serde_json::from_str(&text).unwrap()) {
            panic!("{text}: {error} at {}", error.instance_path());
        }
    };
    let events = validator("Event");
    for event in samples::events() {
        check(&events, &encode_event(&event));
    }
    assert!(!events.is_valid(&serde_json::json!({ "type": "RUN_STARTED", "runId": "r" })));
    let inputs = validator("RunAgentInput");
    check(&inputs, &encode_input(&samples::input()));
    check(&inputs, &encode_input(&RunAgentInput::default()));
}

/// The schema's members of an event, by their name.
fn members(kind: &str) -> (Object, Vec<String>) {
    let words = kind.split('_').map(|word| [&word[..1], &word[1..].to_lowercase()].concat());
    let definition = definition(&[&words.collect::<String>(), "Event"].concat());
    let members = definition.get("properties").unwrap().as_object().unwrap().clone();
    (members, strings(definition.get("required")))
}

/// Members that may hold anything, and those we have no use for.
const ANY: &[&str] = &["type", "snapshot", "event", "value", "result", "input"];

#[test]
fn a_known_member_of_the_wrong_type_is_fatal() {
    let wrong_list = parse("[[]]").unwrap();
    for event in samples::events() {
        let good = encode_event(&event).as_object().unwrap().clone();
        let kind = event.body.type_name();
        let (members, required) = members(kind);
        // A fixed role says nothing and is not read; what a subagent's outcome holds
        // is not ours to understand.
        let read = |key: &str| {
            !(ANY.contains(&key)
                || key == "role" && !kind.starts_with("TEXT")
                || key == "outcome" && kind.starts_with("SUBAGENT"))
        };
        let attribution = event.subagent_run_id.as_ref().map(|_| "subagentRunId");
        let base = ["timestamp", "metadata"].into_iter().chain(attribution);
        for key in members.iter().map(|(key, _)| key).filter(|key| read(key)).chain(base) {
            let mut bad = good.clone();
            bad.insert(key, if key == "content" { 7_u64.into() } else { wrong_list.clone() });
            let result = decode_event(&bad.clone().into());
            let Err(DecodeError::Malformed(message)) = result else { panic!("{bad}: {result:?}") };
            assert!(message.contains(&["/", key].concat()), "{bad}: {message}");

            for absent in [None, Some(Value::Null)] {
                let mut less = good.clone();
                less.remove(key);
                if let Some(null) = absent {
                    less.insert(key, null);
                }
                let result = decode_event(&less.clone().into());
                assert_eq!(result.is_err(), required.iter().any(|r| r == key), "{less}: {result:?}");
            }
        }
    }
}

#[test]
fn a_known_member_of_a_message_is_held_to_its_type() {
    for message in samples::input().messages {
        let input = RunAgentInput { messages: vec![message.clone()], ..RunAgentInput::default() };
        let good = encode_input(&input).as_object().unwrap().clone();
        let name = message.role.as_str();
        let name = [&name[..1].to_uppercase(), &name[1..], "Message"].concat();
        let definition = definition(&name);
        let own = definition.get("properties").unwrap().as_object().unwrap().iter().map(|(key, _)| key);
        let required = strings(definition.get("required"));
        for key in own.chain(["id", "metadata"]) {
            for (wrong, fatal) in [("7", true), ("null", required.iter().any(|r| r == key))] {
                let mut bad = good.clone();
                let Some(Value::Array(messages)) = bad.get_mut("messages") else { panic!("{bad}") };
                let mut message = messages[0].as_object().unwrap().clone();
                message.insert(key, parse(wrong).unwrap());
                messages[0] = message.into();
                let result = decode_input(&bad.clone().into());
                assert_eq!(result.is_err(), fatal, "{bad}");
                if let Err(DecodeError::Malformed(text)) = result {
                    assert!(text.starts_with(&["/messages/0/", key, ": "].concat()), "{bad}: {text}");
                }
            }
        }
    }
}

#[test]
fn unknown_members_are_ignored() {
    for event in samples::events() {
        let mut more = encode_event(&event).as_object().unwrap().clone();
        more.insert("somethingNew", Value::Array(vec![Value::Null]));
        assert_eq!(decode_event(&more.into()), Ok((event, Vec::new())));
    }
}

/// What the types alone do not say: first the warning, or the fault.
#[test]
fn odd_events() {
    for (said, text) in [
        (
            "/timestamp: ignored, no whole number",
            r#"{"type":"STEP_STARTED","stepName":"s","timestamp":-1.5}"#,
        ),
        (
            "/outcome: ignored, an unknown outcome",
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"paused"}}"#,
        ),
        (
            "RUN_FINISHED /outcome/interrupts: expected at least one interrupt, found an array",
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[]}}"#,
        ),
        (
            "/content/0: ignored, a content part of an unknown kind",
            r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"hologram"}]}"#,
        ),
        (
            "TOOL_CALL_RESULT /content/0/source/value: expected a string, found nothing",
            r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"image","source":{}}]}"#,
        ),
        (
            "/messages/0: ignored, a message of an unknown role",
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"oracle"}]}"#,
        ),
        (
            "/delta/0: ignored, an unknown patch operation",
            r#"{"type":"STATE_DELTA","delta":[{"op":"increment"}]}"#,
        ),
        (
            "STATE_DELTA /delta/0/path: expected a JSON Pointer, found a string",
            r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a~2"}]}"#,
        ),
        (
            "ACTIVITY_DELTA /patch/1/value: expected a value, found nothing",
            r#"{"type":"ACTIVITY_DELTA","messageId":"m","activityType":"a","patch":[{"op":"remove","path":""},
                {"op":"add","path":""}]}"#,
        ),
        ("THINKING_END is retired, read as REASONING_END", r#"{"type":"THINKING_END"}"#),
        (
            "REASONING_MESSAGE_CONTENT /delta: expected a string, found nothing",
            r#"{"type":"THINKING_TEXT_MESSAGE_CONTENT"}"#,
        ),
        ("/type: expected the event type as a string", r#"{"type":7}"#),
        ("unknown event type FUTURE", r#"{"type":"FUTURE"}"#),
        ("expected an event as an object, found null", "null"),
    ] {
        let heard = match decode_event(&parse(text).unwrap()) {
            Ok((_, warnings)) => warnings.concat(),
            Err(error) => error.to_string(),
        };
        assert_eq!(heard, said, "{text}");
    }
}

#[test]
fn malformed_input_names_its_place() {
    for (path, text) in [
        ("/threadId: expected a string, found nothing", r#"{"runId":"r","messages":[]}"#),
        ("/messages: expected an array, found nothing", r#"{"threadId":"t","runId":"r"}"#),
        ("/messages/0: ", r#"{"threadId":"t","runId":"r","messages":[7]}"#),
        ("/messages/0/role: ", r#"{"threadId":"t","runId":"r","messages":[{"id":"m"}]}"#),
        ("/messages/0/content: ", r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user"}]}"#),
        (
            "/messages/0/content/1/text: expected a string, found a number",
            r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user",
                "content":[{"type":"text","text":""},{"type":"text","text":1}]}]}"#,
        ),
        (
            "/messages/0/toolCalls/0/function/arguments: expected a string, found an object",
            r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"assistant",
                "toolCalls":[{"id":"c","type":"function","function":{"name":"n","arguments":{}}}]}]}"#,
        ),
        ("/tools/0/description: ", r#"{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"t"}]}"#),
        (
            "/resume/0/status: expected resolved or cancelled, found maybe",
            r#"{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"maybe"}]}"#,
        ),
        ("expected a RunAgentInput as an object, found an array", "[]"),
    ] {
        let Err(DecodeError::Malformed(message)) = decode_input(&parse(text).unwrap()) else {
            panic!("{text}")
        };
        assert!(message.starts_with(path), "{message}");
    }
}

/// Clients older than 1.0 send `null` for what they do not use.
#[test]
fn input_of_an_older_client() {
    let text = r#"{"threadId":"t","runId":"r","state":null,"messages":[{"id":"m","role":"user","content":"hi",
        "name":null}],"tools":[],"context":[],"forwardedProps":null,"parentRunId":null}"#;
    let input = decode_input(&parse(text).unwrap()).unwrap();
    assert_eq!((input.protocol_version, input.state, input.forwarded_props), (None, None, None));
    assert_eq!(input.messages[0].plain_text(), "hi");
}
