//! JSON to events and inputs.

use super::fields::{Field, Fields, Notes, Record};
use super::message::read_parts;
use super::{Body, Event, RunAgentInput, patch};
use crate::json::{Object, Value};

/// Why a value is no event or input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// An event type nobody knows: skip it, with a warning.
    UnknownType(String),
    /// Malformed: fatal. The text names the place and what was expected there.
    Malformed(String),
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DecodeError::UnknownType(kind) => write!(f, "unknown event type {kind}"),
            DecodeError::Malformed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Events from before 1.0 and what they are called now. They carry no
/// `messageId`; [`Order`](super::Order) gives them one.
const RETIRED: &[(&str, &str)] = &[
    ("THINKING_START", "REASONING_START"),
    ("THINKING_TEXT_MESSAGE_START", "REASONING_MESSAGE_START"),
    ("THINKING_TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"),
    ("THINKING_TEXT_MESSAGE_END", "REASONING_MESSAGE_END"),
    ("THINKING_END", "REASONING_END"),
];

/// Reads one event. The second part lists what was ignored on the way (an unknown
/// outcome, an unknown content part), for the log.
///
/// Retired `THINKING_*` events come out as reasoning with an empty `message_id`.
///
/// # Errors
/// [`DecodeError`]; only `Malformed` ends a run.
pub fn decode_event(value: &Value) -> Result<(Event, Vec<String>), DecodeError> {
    let mut notes = Notes::default();
    let object = object(value, "an event")?;
    let Some(kind) = object.str("type") else {
        return Err(DecodeError::Malformed("/type: expected the event type as a string".to_owned()));
    };
    let Some(&(_, now)) = RETIRED.iter().find(|(retired, _)| *retired == kind) else {
        return read_event(kind, object, notes);
    };
    notes.warnings.push([kind, " is retired, read as ", now].concat());
    let mut object = object.clone();
    object.insert("messageId", "");
    read_event(now, &object, notes)
}

fn read_event(kind: &str, object: &Object, mut notes: Notes) -> Result<(Event, Vec<String>), DecodeError> {
    let mut f = Fields { object, path: String::new(), notes: &mut notes };
    let Some(mut body) = Body::read(kind, &mut f) else {
        return Err(DecodeError::UnknownType(kind.to_owned()));
    };
    check(&mut body, &mut f);
    // These describe the run or name a subagent themselves, so the member, if any,
    // is not an attribution.
    let attributable = !["RUN_", "SUBAGENT_", "MESSAGES_"].iter().any(|p| kind.starts_with(p));
    let event = Event {
        body,
        timestamp: Field::read(&mut f, "timestamp"),
        metadata: Field::read(&mut f, "metadata"),
        subagent_run_id: if attributable { Field::read(&mut f, "subagentRunId") } else { None },
    };
    match notes.error {
        Some(error) => Err(DecodeError::Malformed([kind, " ", &error].concat())),
        None => Ok((event, notes.warnings)),
    }
}

/// What the types of the fields do not say.
fn check(body: &mut Body, f: &mut Fields<'_>) {
    match body {
        Body::ToolCallResult { content, .. } if content.as_str().is_none() => {
            *content = Value::Array(read_parts(f, "content"));
        }
        Body::StateDelta { delta } => patch::check(f, "delta", delta),
        Body::ActivityDelta { patch, .. } => patch::check(f, "patch", patch),
        Body::MessagesSnapshot { .. } => f.require_list("messages"),
        Body::ReasoningEncryptedValue { subtype, .. }
            if !matches!(subtype.as_str(), "tool-call" | "message") =>
        {
            f.fail("subtype", "tool-call or message");
        }
        _ => {}
    }
}

/// Reads what a client posts.
///
/// # Errors
/// `Malformed` with the path of the first wrong field.
pub fn decode_input(value: &Value) -> Result<RunAgentInput, DecodeError> {
    let mut notes = Notes::default();
    let object = object(value, "a RunAgentInput")?;
    let mut f = Fields { object, path: String::new(), notes: &mut notes };
    let input = RunAgentInput::read(&mut f);
    f.require_list("messages");
    for (i, entry) in input.resume.iter().enumerate() {
        if !matches!(entry.status.as_str(), "resolved" | "cancelled") {
            let at = ["/resume/", &i.to_string(), "/status"].concat();
            f.notes.fail(&at, "resolved or cancelled", &entry.status);
        }
    }
    match notes.error {
        Some(error) => Err(DecodeError::Malformed(error)),
        None => Ok(input),
    }
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Object, DecodeError> {
    value.as_object().ok_or_else(|| {
        DecodeError::Malformed(["expected ", what, " as an object, found ", value.kind()].concat())
    })
}
