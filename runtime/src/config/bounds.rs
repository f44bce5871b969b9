//! Limits of an agent's turns.

use std::time::Duration;

use mindset_core::json::decimal;
use mindset_core::turn::{Bounds, Spend};
use toml::{Table, Value};

use super::print::{integer, put};
use super::reader::{Node, Reader};
use super::value::print_duration;

/// The largest amount and price, in whole units of the currency.
const MAX_AMOUNT: f64 = 1e9;

impl<'a> Reader<'a> {
    pub(super) fn bounds(&mut self, node: &Node<'a>) -> Bounds {
        self.known(node, &["steps", "deadline", "repetition", "spend"]);
        let default = Bounds::default();
        let deadline = self.duration(node, "deadline", Duration::from_millis(default.deadline));
        let bounds = Bounds {
            steps: self.number(node, "steps").unwrap_or(default.steps),
            deadline: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX),
            repetition: self.number(node, "repetition").unwrap_or(default.repetition),
            spend: node
                .table
                .contains_key("spend")
                .then(|| self.table(node, "spend"))
                .and_then(|n| self.spend(&n)),
        };
        for (key, value) in
            [("steps", bounds.steps), ("deadline", bounds.deadline), ("repetition", bounds.repetition)]
        {
            if value == 0 {
                self.fault(&node.path(key), "a limit of nothing lets no turn run", "take at least 1");
            }
        }
        bounds
    }

    fn spend(&mut self, node: &Node<'_>) -> Option<Spend> {
        const MONEY: [&str; 4] = ["amount", "currency", "input_per_million", "output_per_million"];
        self.known(node, &["tokens", "amount", "currency", "input_per_million", "output_per_million"]);
        let money = MONEY.iter().any(|key| node.table.contains_key(*key));
        match (node.table.contains_key("tokens"), money) {
            (true, false) => {
                let tokens = self.number(node, "tokens")?;
                self.something(node, "tokens", tokens);
                Some(Spend::Tokens(tokens))
            }
            (false, true) => self.money(node),
            (true, true) => {
                let remedy = "keep `tokens`, or `amount` with `currency` and the two prices";
                self.fault(&node.path, "a limit in tokens and one in money", remedy);
                None
            }
            (false, false) => {
                let remedy = "write { tokens = 200000 }, or { amount = 0.50, currency = \"EUR\", \
                              input_per_million = 2.5, output_per_million = 10 }";
                self.fault(&node.path, "no limit", remedy);
                None
            }
        }
    }

    fn money(&mut self, node: &Node<'_>) -> Option<Spend> {
        let amount = self.amount(node, "amount");
        let currency = self.currency(node);
        let input = self.amount(node, "input_per_million");
        let output = self.amount(node, "output_per_million");
        let (amount, input_per_million, output_per_million) = (amount?, input?, output?);
        self.something(node, "amount", amount);
        if input_per_million == 0 && output_per_million == 0 {
            self.fault(&node.path, "both prices are 0, so nothing is ever spent", "write the model's prices");
        }
        Some(Spend::Money { amount, currency: currency?, input_per_million, output_per_million })
    }

    fn something(&mut self, node: &Node<'_>, key: &str, value: u64) {
        if value == 0 {
            self.fault(&node.path(key), "a limit of nothing lets no turn run", "take more than 0");
        }
    }

    fn currency(&mut self, node: &Node<'_>) -> Option<[u8; 3]> {
        let remedy = "write its code of three capital letters, such as \"EUR\"";
        if !node.table.contains_key("currency") {
            self.fault(&node.path("currency"), "missing", remedy);
            return None;
        }
        let text = self.text(node, "currency")?;
        match text.as_bytes() {
            &[a, b, c] if text.bytes().all(|byte| byte.is_ascii_uppercase()) => Some([a, b, c]),
            _ => {
                self.fault(&node.path("currency"), "no currency", remedy);
                None
            }
        }
    }

    /// Money in millionths.
    fn amount(&mut self, node: &Node<'_>, key: &str) -> Option<u64> {
        let path = node.path(key);
        let Some(value) = node.table.get(key) else {
            self.fault(&path, "missing", &format!("write it as {key} = 2.5, in whole units of the currency"));
            return None;
        };
        let number = match (value, self.environment_text(&path, value)) {
            (Value::Float(number), _) => Some(*number),
            (Value::Integer(number), _) => u32::try_from(*number).ok().map(f64::from),
            (_, Some(text)) => text.trim().parse().ok(),
            _ => None,
        };
        let Some(number) = number.filter(|n| (0.0..=MAX_AMOUNT).contains(n)) else {
            self.fault(&path, "no amount of money", &format!("write it as {key} = 2.5"));
            return None;
        };
        // In range, and what is left of the point is whole after rounding.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some((number * 1e6).round() as u64)
    }
}

/// The limits as a table that reads back.
pub(super) fn print(bounds: &Bounds) -> Table {
    let mut table = Table::new();
    table.insert("steps".into(), integer(bounds.steps));
    put(&mut table, "deadline", print_duration(Duration::from_millis(bounds.deadline)));
    table.insert("repetition".into(), integer(bounds.repetition));
    let mut spend = Table::new();
    match bounds.spend {
        None => return table,
        Some(Spend::Tokens(tokens)) => drop(spend.insert("tokens".into(), integer(tokens))),
        Some(Spend::Money { amount, currency, input_per_million, output_per_million }) => {
            let money = |millionths: u64| Value::Float(decimal(millionths).parse().unwrap_or_default());
            spend.insert("amount".into(), money(amount));
            put(&mut spend, "currency", String::from_utf8_lossy(&currency));
            spend.insert("input_per_million".into(), money(input_per_million));
            spend.insert("output_per_million".into(), money(output_per_million));
        }
    }
    table.insert("spend".into(), Value::Table(spend));
    table
}
