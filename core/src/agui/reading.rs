//! An event as its reader sees it: checked, and still the JSON that came. A
//! browser that took each of the types apart would load 20 KB for it.

use super::check::{Check, line};
use super::{DecodeError, Event, shapes};
use crate::json::{Object, Value, concat};

/// One event that keeps the protocol's types.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    kind: &'static str,
    /// The letters of its place in a run, its members behind.
    line: &'static str,
    object: Object,
}

/// Events from before 1.0 and what they are called now. They carry no
/// `messageId`; [`Order`](super::Order) gives them one.
const RETIRED: &[(&str, &str)] = &[
    ("THINKING_START", "REASONING_START"),
    ("THINKING_TEXT_MESSAGE_START", "REASONING_MESSAGE_START"),
    ("THINKING_TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"),
    ("THINKING_TEXT_MESSAGE_END", "REASONING_MESSAGE_END"),
    ("THINKING_END", "REASONING_END"),
];

impl Reading {
    /// Checks one event. The second part lists what was left out on the way (an
    /// unknown outcome, an unknown content part), for the log.
    ///
    /// Retired `THINKING_*` events come out as reasoning with an empty
    /// `messageId`.
    ///
    /// # Errors
    /// [`DecodeError`]; only `Malformed` ends a run.
    pub fn new(value: Value) -> Result<(Reading, Vec<String>), DecodeError> {
        let mut object = super::decode::object(value, "an event")?;
        let mut check = Check::new(shapes::EVENTS);
        let Some(Value::String(mut kind)) = object.remove("type") else {
            return Err(DecodeError::Malformed("/type: expected the event type as a string".to_owned()));
        };
        if let Some(&(_, now)) = RETIRED.iter().find(|(retired, _)| *retired == kind) {
            check.warnings.push(concat(&[&kind, " is retired, read as ", now]));
            object.insert("messageId", "");
            kind = now.to_owned();
        }
        let Some((kind, line)) = line(shapes::EVENTS, b'E', &kind) else {
            return Err(DecodeError::UnknownType(kind));
        };
        let mut reading = Reading { kind, line, object };
        match reading.check(&mut check) {
            Ok(()) => Ok((reading, check.warnings)),
            Err(fault) => Err(DecodeError::Malformed(concat(&[kind, " ", &fault]))),
        }
    }

    fn check(&mut self, check: &mut Check) -> Result<(), String> {
        check.record(b'E', self.kind, &mut self.object)?;
        check.record(b'B', "", &mut self.object)?;
        if self.is_attributable() {
            check.record(b'B', "attributable", &mut self.object)?;
        }
        Ok(())
    }

    /// The event of type `kind` with the members of `object`, which are right.
    pub(super) fn known(kind: &str, object: Object) -> Reading {
        let (kind, line) = line(shapes::EVENTS, b'E', kind).unwrap_or_default();
        Reading { kind, line, object }
    }

    /// The event type.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// A member that is a string, empty if absent.
    pub fn str(&self, key: &str) -> &str {
        self.object.str(key).unwrap_or("")
    }

    /// A member; `null` counts as absent.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Takes a member out; `null` counts as absent.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.object.remove(key).filter(|value| !value.is_null())
    }

    /// The subagent invocation the event belongs to.
    pub fn subagent(&self) -> Option<&str> {
        self.object.str("subagentRunId").filter(|_| self.is_attributable())
    }

    /// The member `key` of `metadata.mindset`.
    pub fn mindset(&self, key: &str) -> Option<&Value> {
        self.object.get("metadata")?.get("mindset")?.get(key)
    }

    /// The event as it came, its type last.
    pub fn to_json(&self) -> Object {
        let mut object = self.object.clone();
        object.insert("type", self.kind);
        object
    }

    /// The event, its members taken apart.
    pub fn to_event(&self) -> Event {
        super::decode::event(self.kind, &self.object, self.is_attributable())
    }

    /// The letters of its place in a run.
    pub(super) fn place(&self) -> (u8, u8) {
        match self.line.as_bytes() {
            [what, act, ..] => (*what, *act),
            _ => (b'_', b'_'),
        }
    }

    /// The member that is the id of what the event starts, goes on with or ends.
    pub(super) fn id_key(&self) -> &'static str {
        let first = self.line.get(3..).unwrap_or("");
        let end = first.bytes().position(|b| matches!(b, b':' | b'?')).unwrap_or(0);
        first.get(..end).unwrap_or("")
    }

    pub(super) fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    /// Events that describe the run or name a subagent themselves: the member, if
    /// any, is no attribution.
    fn is_attributable(&self) -> bool {
        !matches!(self.place().0, b'!' | b'a')
    }
}
