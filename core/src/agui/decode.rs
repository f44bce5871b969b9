//! JSON to events and inputs.

use super::check::Check;
use super::fields::{Field, Record};
use super::{Body, Event, Reading, RunAgentInput, shapes};
use crate::json::{Object, Value, concat};

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

/// Reads one event and takes it apart; [`Reading`] says what is held to what. The
/// second part lists what was ignored on the way, for the log.
///
/// # Errors
/// [`DecodeError`]; only `Malformed` ends a run.
pub fn decode_event(value: &Value) -> Result<(Event, Vec<String>), DecodeError> {
    let (reading, warnings) = Reading::new(value.clone())?;
    Ok((reading.to_event(), warnings))
}

/// The event of type `kind` with the members of `object`, which are checked.
pub(super) fn event(kind: &str, object: &Object, attributable: bool) -> Event {
    Event {
        body: Body::read(kind, object),
        timestamp: Field::read(object, "timestamp"),
        metadata: Field::read(object, "metadata"),
        subagent_run_id: if attributable { Field::read(object, "subagentRunId") } else { None },
    }
}

/// Reads what a client posts.
///
/// # Errors
/// `Malformed` with the path of the first wrong field.
pub fn decode_input(value: &Value) -> Result<RunAgentInput, DecodeError> {
    let mut object = object(value.clone(), "a RunAgentInput")?;
    let mut check = Check::new(shapes::INPUT);
    check.record(b'A', "", &mut object).map_err(DecodeError::Malformed)?;
    let input = RunAgentInput::read(&object);
    for (i, entry) in input.resume.iter().enumerate() {
        if !matches!(entry.status.as_str(), "resolved" | "cancelled") {
            let text = format!("/resume/{i}/status: expected resolved or cancelled, found {}", entry.status);
            return Err(DecodeError::Malformed(text));
        }
    }
    Ok(input)
}

pub(super) fn object(value: Value, what: &str) -> Result<Object, DecodeError> {
    match value {
        Value::Object(object) => Ok(object),
        other => {
            let text = concat(&["expected ", what, " as an object, found ", other.kind()]);
            Err(DecodeError::Malformed(text))
        }
    }
}
