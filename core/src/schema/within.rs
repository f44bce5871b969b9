//! Checking what is inside a value: members and items.

use super::check::{Checker, Marks, mark};
use super::number::digits;
use super::rule::{Contains, Members};
use super::spot::{Spot, Step};
use crate::json::{Object, Value, concat};

impl Checker<'_> {
    pub(super) fn members(
        &mut self,
        rule: &Members,
        object: &Object,
        spot: &Spot<'_>,
        mut marks: Marks<'_>,
    ) -> bool {
        let mut valid = true;
        for (i, (key, member)) in object.iter().enumerate() {
            if !self.work.spend(1 + rule.patterns.len() * (1 + key.len() / 32)) {
                return false;
            }
            let place = spot.into(Step::Member(key));
            let mut seen = false;
            if let Some(node) = rule.named.get(key) {
                seen = true;
                valid &= self.node(node, member, &place, None);
            }
            for (matcher, node) in &rule.patterns {
                if matcher.is_match(key) {
                    seen = true;
                    valid &= self.node(*node, member, &place, None);
                }
            }
            if let (false, Some(rest)) = (seen, rule.rest) {
                seen = true;
                valid &= self.member_beyond(rest, &rule.known, member, &place);
            }
            if seen {
                mark(&mut marks, i);
            }
            if !valid && self.quiet() {
                return false;
            }
        }
        valid
    }

    fn member_beyond(&mut self, rest: usize, known: &str, member: &Value, place: &Spot<'_>) -> bool {
        if !self.accepts_nothing(rest) {
            return self.node(rest, member, place, None);
        }
        self.fail(place, "additionalProperties", &|| {
            if known.is_empty() {
                return "is not allowed here: leave it out".to_owned();
            }
            concat(&["is not a known property: leave it out, known are ", known])
        })
    }

    pub(super) fn member_names(&mut self, node: usize, object: &Object, spot: &Spot<'_>) -> bool {
        let mut valid = true;
        for (key, _) in object.iter() {
            if !self.work.spend(1 + key.len() / 32) || (!valid && self.quiet()) {
                return false;
            }
            let name = Value::from(key);
            let place = spot.into(Step::Member(key));
            if !self.attempt(node, &name, &place, None) {
                valid = self.fail(&place, "propertyNames", &|| "is not an allowed property name".to_owned());
            }
        }
        valid
    }

    /// `prefixItems` and `items`.
    pub(super) fn items(
        &mut self,
        (prefix, rest): (&[usize], Option<usize>),
        items: &[Value],
        spot: &Spot<'_>,
        mut marks: Marks<'_>,
    ) -> bool {
        let mut valid = true;
        for (i, item) in items.iter().enumerate() {
            if !self.work.spend(1) || (!valid && self.quiet()) {
                return false;
            }
            let Some(node) = prefix.get(i).copied().or(rest) else { break };
            mark(&mut marks, i);
            let place = spot.into(Step::Item(i));
            valid &= if i >= prefix.len() && self.accepts_nothing(node) {
                self.fail(&place, "items", &|| {
                    concat(&["is one item too many: the list ends after ", &digits(prefix.len())])
                })
            } else {
                self.node(node, item, &place, None)
            };
        }
        valid
    }

    pub(super) fn contains(
        &mut self,
        rule: &Contains,
        items: &[Value],
        spot: &Spot<'_>,
        mut marks: Marks<'_>,
    ) -> bool {
        let mut found = 0;
        for (i, item) in items.iter().enumerate() {
            if !self.work.spend(1) {
                return false;
            }
            if self.attempt(rule.node, item, &spot.into(Step::Item(i)), None) {
                found += 1;
                mark(&mut marks, i);
            }
            if marks.is_none() && found >= rule.min && rule.max.is_none() {
                return true;
            }
        }
        let (keyword, words, limit) = match rule.max {
            Some(max) if found > max => ("maxContains", "must have at most ", max),
            _ if found >= rule.min => return true,
            _ if rule.min == 1 => ("contains", "must have at least ", 1),
            _ => ("minContains", "must have at least ", rule.min),
        };
        self.fail(spot, keyword, &|| {
            let (limit, found) = (digits(limit), digits(found));
            concat(&[words, &limit, " of the items `contains` describes, but has ", &found])
        })
    }

    /// What no other rule has seen: the keyword and its schema, the members or items.
    pub(super) fn unevaluated(
        &mut self,
        (keyword, node): (&'static str, usize),
        inside: &mut dyn Iterator<Item = (Step<'_>, &Value)>,
        spot: &Spot<'_>,
        marks: &mut [bool],
    ) -> bool {
        let mut valid = true;
        for ((step, value), seen) in inside.zip(marks) {
            if *seen {
                continue;
            }
            if !self.work.spend(1) || (!valid && self.quiet()) {
                return false;
            }
            *seen = true;
            let place = spot.into(step);
            valid &= if self.accepts_nothing(node) {
                self.fail(&place, keyword, &|| "is not described by the schema: leave it out".to_owned())
            } else {
                self.node(node, value, &place, None)
            };
        }
        valid
    }

    fn accepts_nothing(&self, node: usize) -> bool {
        self.schema.nodes.get(node).is_some_and(|node| node.accepts_nothing())
    }
}
