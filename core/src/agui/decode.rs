//! JSON to events and inputs.

use super::{Body, Event, RunAgentInput};
use crate::json::Value;

/// Why a value is no event or input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// An event type nobody knows: skip it, with a warning.
    UnknownType(String),
    /// Malformed: fatal. The text names the place and what was expected there.
    Malformed(String),
}

/// Reads one event. The second part lists what was ignored on the way (an unknown
/// outcome, an unknown content part), for the log.
///
/// # Errors
/// [`DecodeError`]; only `Malformed` ends a run.
pub fn decode_event(value: &Value) -> Result<(Event, Vec<String>), DecodeError> {
    let _ = (value, Event::new(Body::StepStarted { step_name: String::new() }));
    Err(DecodeError::UnknownType(String::new()))
}

/// Reads what a client posts.
///
/// # Errors
/// `Malformed` with the path of the first wrong field.
pub fn decode_input(value: &Value) -> Result<RunAgentInput, DecodeError> {
    let _ = value;
    Ok(RunAgentInput::default())
}
