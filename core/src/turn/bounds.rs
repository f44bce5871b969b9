//! The limits that are counted over the stored messages of a turn.

use std::collections::BTreeMap;

use crate::event::{Bound, BoundReason, MessageStatus};

use super::{Bounds, StoredMessage, StoredRole, arguments};

/// The bound that forbids the next model call. `turn` is what was stored since
/// the turn's user message.
pub(super) fn before_call(bounds: &Bounds, turn: &[StoredMessage]) -> Option<Bound> {
    if repetitions(turn) >= bounds.repetition.max(1) {
        return Some(Bound { reason: BoundReason::Repetition, limit: bounds.repetition });
    }
    let steps = turn.iter().filter(|m| m.role == StoredRole::Assistant).count() as u64;
    (steps >= bounds.steps).then_some(Bound { reason: BoundReason::StepLimit, limit: bounds.steps })
}

/// How often the most frequent call came out the same.
fn repetitions(turn: &[StoredMessage]) -> u64 {
    let mut calls = BTreeMap::new();
    let mut seen: BTreeMap<(&str, String, &str, bool), u64> = BTreeMap::new();
    for message in turn {
        calls.extend(message.calls.iter().map(|c| (c.id.as_str(), c)));
        let Some(call) = message.call_id.as_deref().and_then(|id| calls.get(id)) else { continue };
        let failed = message.status == Some(MessageStatus::Error);
        let key =
            (call.name.as_str(), arguments::canonical(&call.arguments), message.content.as_str(), failed);
        *seen.entry(key).or_default() += 1;
    }
    seen.into_values().max().unwrap_or(0)
}

/// What was stored since the turn's user message, and that message.
pub(super) fn split_turn(messages: &[StoredMessage]) -> (Option<&StoredMessage>, &[StoredMessage]) {
    match messages.iter().rposition(|m| m.role == StoredRole::User) {
        Some(at) => (messages.get(at), messages.get(at + 1..).unwrap_or_default()),
        None => (None, messages),
    }
}
