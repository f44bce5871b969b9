//! One entry: a model request as the model got it, or a tool call.

use mindset_core::json::{Object, Value};
use mindset_core::object;
use mindset_core::time::iso_8601;
use mindset_core::turn::{ModelMessage, ModelRequest, ToolOutcome, ToolRequest};

use crate::{clock, ids};

/// Characters of a hash that are shown: enough to compare, too few to guess from.
const HASH: usize = 12;

/// What a model was sent.
pub(crate) fn model_entry(run_id: &str, request: &ModelRequest) -> Object {
    let tools = request.tools.iter().map(|tool| {
        Value::from(object! {
            "name": &tool.name, "description": &tool.description,
            "parameters": tool.parameters.as_object().clone(),
        })
    });
    object! {
        "kind": "model", "at": iso_8601(clock::now()), "runId": run_id, "model": &request.model,
        "system": &request.system,
        "messages": request.messages.iter().map(message).collect::<Vec<_>>(),
        "tools": tools.collect::<Vec<_>>(),
    }
}

fn message(message: &ModelMessage) -> Value {
    let message = match message {
        ModelMessage::User(text) => object! { "role": "user", "content": text },
        ModelMessage::Assistant { text, calls, .. } => {
            let call = |c: &mindset_core::turn::ModelCall| {
                Value::from(object! { "id": &c.id, "name": &c.name, "arguments": &c.arguments })
            };
            let calls: Vec<Value> = calls.iter().map(call).collect();
            object! { "role": "assistant", "content": text, "calls": calls }
        }
        ModelMessage::Tool { call_id, name, content, failed } => object! {
            "role": "tool", "callId": call_id, "name": name, "content": content, "failed": *failed,
        },
    };
    message.into()
}

/// What a tool was called with, and what came of it.
pub(crate) fn tool_entry(
    run_id: &str,
    request: &ToolRequest,
    outcome: &ToolOutcome,
    duration: u64,
    headers: Vec<Value>,
) -> Object {
    let mut arguments = request.arguments.expose().clone();
    let supplied: Vec<Value> =
        request.arguments.supplied().map(|(name, value)| masked(name, &plain(value))).collect();
    for (name, _) in request.arguments.supplied() {
        arguments.remove(name);
    }
    let (word, size) = match outcome {
        ToolOutcome::Done { content, sources, .. } => {
            ("done", content.len() + sources.iter().map(|s| s.text.len()).sum::<usize>())
        }
        ToolOutcome::Failed(text) => ("failed", text.len()),
        ToolOutcome::Unknown(text) => ("unknown", text.len()),
        ToolOutcome::Worked { content, .. } => ("done", content.len()),
        ToolOutcome::Asks(_) | ToolOutcome::Waits(_) => ("asks", 0),
    };
    let mut entry = object! {
        "kind": "tool", "at": iso_8601(clock::now()), "runId": run_id, "toolCallId": &request.call_id,
        "toolName": &request.name, "source": request.source.as_str(),
    };
    entry.insert_some("server", request.server.as_deref());
    entry.insert("arguments", arguments);
    entry.insert("supplied", supplied);
    if !headers.is_empty() {
        entry.insert("headers", headers);
    }
    entry.insert("outcome", word);
    entry.insert("resultBytes", size as u64);
    entry.insert("durationMs", duration);
    entry
}

/// A text as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What may be known of a value: its name, its length in bytes and the start of its
/// hash.
pub(crate) fn masked(name: &str, value: &str) -> Value {
    let hash: String = ids::hash_hex(value.as_bytes()).chars().take(HASH).collect();
    object! { "name": name, "length": value.len() as u64, "sha256": hash }.into()
}
