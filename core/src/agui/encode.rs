//! Events and inputs to JSON.

use super::fields::{Field, Record};
use super::{Body, Event, Interrupt, RunAgentInput};
use crate::json::{Object, Value};

/// The event as the wire wants it: `type` first, absent fields left out.
pub fn encode_event(event: &Event) -> Value {
    let mut o = crate::object! { "type": event.body.type_name() };
    event.body.write(&mut o);
    match &event.body {
        Body::ReasoningMessageStart { .. } => o.insert("role", "reasoning"),
        Body::StateDelta { .. } => require_list(&mut o, "delta"),
        Body::ActivityDelta { .. } => require_list(&mut o, "patch"),
        Body::MessagesSnapshot { .. } => require_list(&mut o, "messages"),
        _ => {}
    }
    event.timestamp.write(&mut o, "timestamp");
    event.metadata.write(&mut o, "metadata");
    event.subagent_run_id.write(&mut o, "subagentRunId");
    Value::Object(o)
}

/// An interrupt as it stands in the end of a run.
pub fn encode_interrupt(interrupt: &Interrupt) -> Value {
    let mut o = Object::new();
    interrupt.write(&mut o);
    Value::Object(o)
}

/// The input as the wire wants it: lists, `state` and `forwardedProps` present
/// even when empty, because servers older than 1.0 demand them.
pub fn encode_input(input: &RunAgentInput) -> Value {
    let mut o = Object::new();
    input.write(&mut o);
    for key in ["messages", "tools", "context"] {
        require_list(&mut o, key);
    }
    for key in ["state", "forwardedProps"] {
        if o.get(key).is_none() {
            o.insert(key, Object::new());
        }
    }
    Value::Object(o)
}

fn require_list(o: &mut Object, key: &str) {
    if o.get(key).is_none() {
        o.insert(key, Value::Array(Vec::new()));
    }
}
