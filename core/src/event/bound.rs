//! The limit that ended a turn before the job was done.

use crate::json::{Object, Value, decimal, millionths, parse};

words! {
    /// A limit that ends a turn before the job is done.
    BoundReason {
        /// Too many model calls.
        StepLimit = "step_limit",
        /// Too long.
        Deadline = "deadline",
        /// Too many tokens or too much money.
        SpendLimit = "spend_limit",
        /// The same call with the same result again and again.
        Repetition = "repetition",
    }
}

/// The limit that stopped a turn, and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Which limit.
    pub reason: BoundReason,
    /// Its value: calls, milliseconds, times, tokens, or millionths of a currency.
    pub limit: u64,
    /// What a spend limit counts.
    pub unit: Option<Unit>,
}

/// What a spend limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Tokens.
    Tokens,
    /// Money of the currency with this code of three letters, in millionths.
    Money([u8; 3]),
}

impl Unit {
    /// `tokens`, or a currency's code: three letters.
    pub fn parse(text: &str) -> Option<Unit> {
        match text.as_bytes() {
            b"tokens" => Some(Unit::Tokens),
            &[a, b, c] if text.is_ascii() => Some(Unit::Money([a, b, c])),
            _ => None,
        }
    }

    /// The unit as it stands on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Unit::Tokens => "tokens",
            Unit::Money(code) => std::str::from_utf8(code).unwrap_or(""),
        }
    }
}

impl Bound {
    /// A limit that is a plain number.
    pub fn new(reason: BoundReason, limit: u64) -> Bound {
        Bound { reason, limit, unit: None }
    }

    /// The limit's value in decimal digits, money in whole units: `0.5`.
    pub fn amount(self) -> String {
        match self.unit {
            Some(Unit::Money(_)) => decimal(self.limit),
            _ => crate::json::digits(self.limit),
        }
    }

    /// `{ reason, limit, unit? }`.
    pub fn to_json(self) -> Value {
        let mut o: Object = crate::object! { "reason": self.reason.as_str() };
        o.insert("limit", parse(&self.amount()).unwrap_or_default());
        o.insert_some("unit", self.unit.as_ref().map(Unit::as_str));
        Value::Object(o)
    }

    /// Reads `{ reason, limit, unit? }`.
    pub fn from_json(value: &Value) -> Option<Bound> {
        let reason = BoundReason::parse(value.str("reason")?)?;
        let unit = value.str("unit").and_then(Unit::parse);
        let limit = match (value.get("limit"), unit) {
            (Some(Value::Number(n)), Some(Unit::Money(_))) => millionths(n.as_str()),
            (limit, _) => limit.and_then(Value::as_u64),
        };
        Some(Bound { reason, limit: limit.unwrap_or(0), unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn every_unit_there_and_back() {
        for text in [
            r#"{"reason":"step_limit","limit":25}"#,
            r#"{"reason":"spend_limit","limit":200000,"unit":"tokens"}"#,
            r#"{"reason":"spend_limit","limit":0.5,"unit":"EUR"}"#,
            r#"{"reason":"spend_limit","limit":12,"unit":"USD"}"#,
            r#"{"reason":"spend_limit","limit":0.000001,"unit":"USD"}"#,
        ] {
            let bound = Bound::from_json(&parse(text).unwrap()).unwrap();
            assert_eq!(bound.to_json().text(), text);
        }
        let foreign = parse(r#"{"reason":"spend_limit","limit":"much","unit":"credits"}"#).unwrap();
        let bound = Bound::new(BoundReason::SpendLimit, 0);
        assert_eq!(Bound::from_json(&foreign), Some(bound));
        assert_eq!(Bound::from_json(&Value::Null), None);
    }
}
