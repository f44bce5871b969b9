//! The order rules, one line per case.

use super::*;
use crate::agui::{decode_event, encode_event};
use crate::json::{Value, parse};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Plays events written as `TYPE id`, with `~subagent` and `=delta` behind, and
/// gives back what comes out, or the violation.
fn play(events: &str) -> String {
    let mut order = Order::new();
    let mut out = Vec::new();
    for event in events.split(", ") {
        match order.accept(read(event)) {
            Ok(events) => out.extend(events.iter().map(shown)),
            Err(violation) => return violation.message,
        }
    }
    assert_eq!(order.is_ended(), events.contains("RUN_FINISHED") || events.contains("RUN_ERROR"));
    out.join(", ")
}

fn read(event: &str) -> Event {
    let (event, owner) = event.split_once('~').unwrap_or((event, ""));
    let (event, delta) = event.split_once('=').unwrap_or((event, ""));
    let (kind, id) = event.split_once(' ').unwrap_or((event, ""));
    let mut o = crate::object! { "type": kind };
    for (key, value) in [("subagentRunId", owner), ("delta", delta)] {
        o.insert_some(key, (!value.is_empty()).then_some(value));
    }
    let chunk = kind.contains("CHUNK");
    for key in ["messageId", "toolCallId", "stepName", "threadId", "runId", "message", "name"] {
        let named = kind == "SUBAGENT_STARTED" && key == "name";
        o.insert_some(key, ((!chunk || !id.is_empty()) && (key != "name" || named)).then_some(id));
    }
    if kind.starts_with("SUBAGENT") {
        o.insert("subagentRunId", id);
    }
    if kind == "TOOL_CALL_START" || kind == "TOOL_CALL_CHUNK" && id != "nameless" {
        o.insert("toolCallName", "tool");
    }
    if kind == "TOOL_CALL_RESULT" {
        o.insert("content", "");
    }
    if delta.is_empty() && (kind.ends_with("CONTENT") || kind.ends_with("ARGS")) {
        o.insert("delta", "");
    }
    decode_event(&Value::Object(o)).unwrap().0
}

fn shown(event: &Event) -> String {
    let o = encode_event(event);
    let text = |key| o.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let Value::Object(object) = &o else { unreachable!() };
    let reading = Reading::known(event.body.type_name(), object.clone());
    let id = if reading.place().1 == b'_' { "" } else { reading.str(reading.id_key()) };
    let mut out = [event.body.type_name(), " ", id].concat().trim_end().to_owned();
    for (mark, key) in [("=", "delta"), ("~", "subagentRunId")] {
        if !text(key).is_empty() && text(key) != id {
            out = [out.as_str(), mark, &text(key)].concat();
        }
    }
    out
}

#[test]
fn accepted_as_they_are() {
    for events in [
        "RUN_STARTED, RUN_FINISHED",
        "RUN_ERROR",
        "RUN_STARTED, TEXT_MESSAGE_START a, TEXT_MESSAGE_CONTENT a, TEXT_MESSAGE_END a, RUN_FINISHED",
        "RUN_STARTED, TEXT_MESSAGE_START a, TOOL_CALL_START b, TEXT_MESSAGE_START c, TOOL_CALL_ARGS b, \
         TEXT_MESSAGE_END a, TEXT_MESSAGE_END c, TOOL_CALL_END b, TOOL_CALL_RESULT, RUN_FINISHED",
        "RUN_STARTED, TEXT_MESSAGE_START a, TOOL_CALL_START a, STEP_STARTED a, SUBAGENT_STARTED a, RUN_ERROR",
        "RUN_STARTED, STEP_STARTED a, STEP_STARTED a~s, STEP_FINISHED a~s, STEP_FINISHED a, RUN_FINISHED",
        "RUN_STARTED, TEXT_MESSAGE_START a, TEXT_MESSAGE_END a, TEXT_MESSAGE_START a, TEXT_MESSAGE_END a",
        "RUN_STARTED, SUBAGENT_STARTED s, TEXT_MESSAGE_START a~s, TEXT_MESSAGE_END a~s, SUBAGENT_ERROR s",
    ] {
        assert_eq!(play(events), events);
    }
}

#[test]
fn refused_with_the_rule() {
    for (events, rule) in [
        ("TEXT_MESSAGE_START a", "First event must be RUN_STARTED, not TEXT_MESSAGE_START"),
        ("RUN_STARTED, RUN_STARTED", "RUN_STARTED while a run is still active"),
        ("RUN_STARTED, RUN_FINISHED, RUN_STARTED", "RUN_STARTED after the end of the run"),
        ("RUN_STARTED, RUN_ERROR, RUN_FINISHED", "RUN_FINISHED after the end of the run"),
        (
            "RUN_STARTED, TEXT_MESSAGE_CONTENT a",
            "TEXT_MESSAGE_CONTENT: No active text message found with ID 'a'",
        ),
        ("RUN_STARTED, TOOL_CALL_END a", "TOOL_CALL_END: No active tool call found with ID 'a'"),
        (
            "RUN_STARTED, REASONING_MESSAGE_CONTENT a",
            "REASONING_MESSAGE_CONTENT: No active reasoning message found with ID 'a'",
        ),
        (
            "RUN_STARTED, TOOL_CALL_START a, TOOL_CALL_START a",
            "TOOL_CALL_START: A tool call with ID 'a' is already in progress",
        ),
        ("RUN_STARTED, STEP_FINISHED a", "STEP_FINISHED for step 'a' that was not started"),
        ("RUN_STARTED, STEP_STARTED a~s, STEP_FINISHED a", "STEP_FINISHED for step 'a' that was not started"),
        ("RUN_STARTED, SUBAGENT_ERROR s", "SUBAGENT_ERROR for subagent 's' that was not started"),
        (
            "RUN_STARTED, TEXT_MESSAGE_START a, RUN_FINISHED",
            "RUN_FINISHED while text message 'a' is still active",
        ),
        ("RUN_STARTED, STEP_STARTED a, RUN_FINISHED", "RUN_FINISHED while step 'a' is still active"),
        ("RUN_STARTED, TEXT_MESSAGE_CHUNK", "First TEXT_MESSAGE_CHUNK must have a messageId"),
        ("RUN_STARTED, TOOL_CALL_CHUNK", "First TOOL_CALL_CHUNK must have a toolCallId"),
        ("RUN_STARTED, TOOL_CALL_CHUNK nameless", "First TOOL_CALL_CHUNK must have a toolCallName"),
        (
            "RUN_STARTED, TEXT_MESSAGE_CHUNK a~s, TEXT_MESSAGE_CHUNK b~t, TEXT_MESSAGE_CHUNK",
            "First TEXT_MESSAGE_CHUNK must have a messageId",
        ),
        (
            "RUN_STARTED, TEXT_MESSAGE_CHUNK a, TEXT_MESSAGE_CHUNK~t",
            "First TEXT_MESSAGE_CHUNK must have a messageId",
        ),
    ] {
        assert_eq!(play(events), rule, "{events}");
    }
}

#[test]
fn chunks_stand_for_start_content_and_end() {
    for (events, expanded) in [
        (
            "TEXT_MESSAGE_CHUNK a=x, STATE_SNAPSHOT, TEXT_MESSAGE_CHUNK=y, TEXT_MESSAGE_CHUNK b, RUN_FINISHED",
            "TEXT_MESSAGE_START a, TEXT_MESSAGE_CONTENT a=x, STATE_SNAPSHOT, TEXT_MESSAGE_CONTENT a=y, \
             TEXT_MESSAGE_END a, TEXT_MESSAGE_START b, TEXT_MESSAGE_END b, RUN_FINISHED",
        ),
        (
            "REASONING_MESSAGE_CHUNK r=x, TOOL_CALL_CHUNK c={, TOOL_CALL_RESULT c, RUN_ERROR",
            "REASONING_MESSAGE_START r, REASONING_MESSAGE_CONTENT r=x, REASONING_MESSAGE_END r, \
             TOOL_CALL_START c, TOOL_CALL_ARGS c={, TOOL_CALL_END c, TOOL_CALL_RESULT, RUN_ERROR",
        ),
        (
            "TEXT_MESSAGE_CHUNK a=x~s, TEXT_MESSAGE_CHUNK b=y, TEXT_MESSAGE_CHUNK=z~s, TEXT_MESSAGE_END a~s, \
             TEXT_MESSAGE_CHUNK=w, TEXT_MESSAGE_START c, RUN_ERROR",
            "TEXT_MESSAGE_START a~s, TEXT_MESSAGE_CONTENT a=x~s, TEXT_MESSAGE_START b, \
             TEXT_MESSAGE_CONTENT b=y, TEXT_MESSAGE_CONTENT a=z~s, TEXT_MESSAGE_END a~s, \
             TEXT_MESSAGE_CONTENT b=w, TEXT_MESSAGE_END b, TEXT_MESSAGE_START c, RUN_ERROR",
        ),
        (
            "TOOL_CALL_CHUNK c~s, TOOL_CALL_RESULT c, REASONING_MESSAGE_CHUNK r, REASONING_END r, RUN_ERROR",
            "TOOL_CALL_START c~s, TOOL_CALL_END c~s, TOOL_CALL_RESULT, REASONING_MESSAGE_START r, \
             REASONING_MESSAGE_END r, REASONING_END, RUN_ERROR",
        ),
        (
            "TEXT_MESSAGE_CHUNK a~s, TEXT_MESSAGE_CHUNK=x, RUN_ERROR",
            "TEXT_MESSAGE_START a~s, TEXT_MESSAGE_CONTENT a=x~s, TEXT_MESSAGE_END a~s, RUN_ERROR",
        ),
    ] {
        assert_eq!(
            play(&["RUN_STARTED, ", events].concat()),
            ["RUN_STARTED, ", expanded].concat(),
            "{events}"
        );
    }
}

#[test]
fn metadata_of_a_chunk_without_text_is_kept() {
    let mut order = Order::new();
    let mut accept = |text: &str| order.accept(decode_event(&parse(text).unwrap()).unwrap().0).unwrap();
    accept(r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#);
    accept(r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"a"}"#);
    let out = accept(r#"{"type":"TEXT_MESSAGE_CHUNK","metadata":{"k":1}}"#);
    assert_eq!(out.len(), 1);
    assert_eq!(
        encode_event(&out[0]).to_string(),
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"","metadata":{"k":1}}"#
    );
}

#[test]
fn reasoning_of_older_peers_gets_ids() {
    let mut order = Order::new();
    let mut ids = Vec::new();
    for kind in [
        "RUN_STARTED",
        "START",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_END",
    ] {
        let kind = if kind == "RUN_STARTED" { kind.to_owned() } else { ["THINKING_", kind].concat() };
        let o = crate::object! { "type": kind, "threadId": "t", "runId": "r", "delta": "x" };
        for event in order.accept(decode_event(&Value::Object(o)).unwrap().0).unwrap() {
            ids.extend(encode_event(&event).get("messageId").and_then(Value::as_str).map(str::to_owned));
        }
    }
    let first = "r:thinking:1";
    assert_eq!(ids, [first, first, first, first, first, "r:thinking:2", "r:thinking:2"]);
}
