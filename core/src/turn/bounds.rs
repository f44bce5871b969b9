//! The limits of a turn, counted over what it stored in all its runs.

use std::collections::BTreeMap;

use crate::Millis;
use crate::event::{Bound, BoundReason, MessageStatus, Unit};

use super::{StoredMessage, arguments};

/// Limits of a turn; an agent's configuration sets its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Model calls in one turn. The bound comes before call N + 1.
    pub steps: u64,
    /// Milliseconds, not counting the wait for people and pages.
    pub deadline: Millis,
    /// How often the same call with the same arguments and result may run.
    pub repetition: u64,
    /// What its model calls may cost. The bound comes before the first call that would
    /// begin with all of it spent.
    pub spend: Option<Spend>,
}

/// What the model calls of a turn may cost together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spend {
    /// Tokens read and written.
    Tokens(u64),
    /// Money, everything in millionths of the currency.
    Money {
        /// The limit.
        amount: u64,
        /// The currency's code, such as `EUR`.
        currency: [u8; 3],
        /// The price of a million tokens read.
        input_per_million: u64,
        /// The price of a million tokens written.
        output_per_million: u64,
    },
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { steps: 25, deadline: 600_000, repetition: 3, spend: None }
    }
}

impl Spend {
    /// The bound, if the calls behind these messages have used it up. Calls whose
    /// provider did not say what they cost count as nothing.
    fn reached(self, turn: &[StoredMessage]) -> Option<Bound> {
        let sum = |of: fn(&StoredMessage) -> u64| turn.iter().map(|m| u128::from(of(m))).sum::<u128>();
        let input = sum(|m| m.usage.map_or(0, |usage| usage.input));
        let output = sum(|m| m.usage.map_or(0, |usage| usage.output));
        let (spent, limit, unit) = match self {
            Spend::Tokens(limit) => (input.saturating_add(output), limit, Unit::Tokens),
            Spend::Money { amount, currency, input_per_million, output_per_million } => {
                let cost = |tokens: u128, price: u64| tokens.saturating_mul(u128::from(price));
                let cost = cost(input, input_per_million).saturating_add(cost(output, output_per_million));
                (cost / 1_000_000, amount, Unit::Money(currency))
            }
        };
        let bound = Bound { reason: BoundReason::SpendLimit, limit, unit: Some(unit) };
        (spent >= u128::from(limit)).then_some(bound)
    }
}

/// The bound that forbids the next model call. `turn` is what was stored since
/// the turn's user message.
pub(super) fn before_call(bounds: &Bounds, turn: &[StoredMessage]) -> Option<Bound> {
    if repetitions(turn) >= bounds.repetition.max(1) {
        return Some(Bound::new(BoundReason::Repetition, bounds.repetition));
    }
    let steps = turn.iter().filter(|m| m.is_answer()).count() as u64;
    if steps >= bounds.steps {
        return Some(Bound::new(BoundReason::StepLimit, bounds.steps));
    }
    bounds.spend.and_then(|spend| spend.reached(turn))
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
