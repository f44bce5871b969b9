//! Rules that need nothing but the value itself, and what is said when one is
//! broken.

use std::cmp::Ordering;

use super::check::Checker;
use super::equal::{equal, first_repeated};
use super::names::Names;
use super::number::{Decimal, digits};
use super::rule::{Bound, Count, Counted, INTEGER, KINDS, Kinds, NUMBER, Rule, kinds_of};
use super::spot::Spot;
use crate::json::{Object, Value, concat};

/// Values of the schema in messages end after this many bytes.
const MAX_QUOTED: usize = 300;

impl Checker<'_> {
    pub(super) fn assert(&mut self, rule: &Rule, value: &Value, spot: &Spot<'_>) -> bool {
        match (rule, value) {
            (Rule::Never, _) => self.fail(spot, "false", &|| "is not allowed here: leave it out".to_owned()),
            (Rule::Kinds(kinds), _) => {
                kinds & kinds_of(value) != 0 || self.fail(spot, "type", &|| expected(*kinds, value))
            }
            (Rule::Values(keyword, values), _) => self.values(keyword, values, value, spot),
            (Rule::Bound(bound), Value::Number(n)) => self.bound(bound, n.as_str(), spot),
            (Rule::MultipleOf(divisor, text), Value::Number(n)) => {
                let number = Decimal::read(n.as_str());
                self.work.spend(n.as_str().len() / 32 + number.division_cost(divisor) / 32)
                    && (number.is_multiple_of(divisor)
                        || self.fail(spot, "multipleOf", &|| concat(&["must be a multiple of ", text])))
            }
            (Rule::Count(count), _) => self.count(count, value, spot),
            (Rule::Pattern(source, matcher), Value::String(text)) => {
                self.work.spend(text.len() / 32)
                    && (matcher.is_match(text)
                        || self.fail(spot, "pattern", &|| {
                            concat(&["must match the regular expression ", &cut(source)])
                        }))
            }
            (Rule::UniqueItems, Value::Array(items)) => match first_repeated(items, &mut self.work) {
                Some((a, b)) => self.fail(spot, "uniqueItems", &|| {
                    let (a, b) = (digits(a), digits(b));
                    concat(&["must not repeat an item, but items ", &a, " and ", &b, " are the same"])
                }),
                None => true,
            },
            (Rule::Required(list), Value::Object(object)) => self.required(list, object, None, spot),
            (Rule::DependentRequired(triggers, lists), Value::Object(object)) => {
                self.dependent_required(triggers, lists, object, spot)
            }
            _ => true,
        }
    }

    fn values(&mut self, keyword: &'static str, values: &[Value], value: &Value, spot: &Spot<'_>) -> bool {
        if values.iter().any(|allowed| equal(allowed, value, spot.depth, &mut self.work)) {
            return true;
        }
        self.fail(spot, keyword, &|| {
            let mut out = String::from(if values.len() == 1 { "must be " } else { "must be one of " });
            for (i, allowed) in values.iter().enumerate() {
                if out.len() > MAX_QUOTED {
                    out.push_str(", …");
                    break;
                }
                out.push_str(if i > 0 { ", " } else { "" });
                out.push_str(&cut(&allowed.text()));
            }
            out
        })
    }

    fn bound(&mut self, bound: &Bound, text: &str, spot: &Spot<'_>) -> bool {
        if !self.work.spend(text.len() / 32) {
            return false;
        }
        let order = Decimal::read(text).compare(&bound.limit);
        let order = if bound.upper { order } else { order.reverse() };
        if order == Ordering::Less || (order == Ordering::Equal && !bound.exclusive) {
            return true;
        }
        let words = match (bound.upper, bound.exclusive) {
            (true, false) => "must be at most ",
            (true, true) => "must be less than ",
            (false, false) => "must be at least ",
            (false, true) => "must be greater than ",
        };
        self.fail(spot, bound.keyword, &|| concat(&[words, &cut(&bound.text)]))
    }

    fn count(&mut self, rule: &Count, value: &Value, spot: &Spot<'_>) -> bool {
        let (count, words) = match (rule.of, value) {
            (Counted::Characters, Value::String(text)) => {
                if !self.work.spend(text.len() / 32) {
                    return false;
                }
                (characters(text), " characters, but has ")
            }
            (Counted::Items, Value::Array(items)) => (items.len(), " items, but has "),
            (Counted::Members, Value::Object(object)) => (object.len(), " properties, but has "),
            _ => return true,
        };
        if if rule.upper { count <= rule.limit } else { count >= rule.limit } {
            return true;
        }
        let most = if rule.upper { "must have at most " } else { "must have at least " };
        self.fail(spot, rule.keyword, &|| concat(&[most, &digits(rule.limit), words, &digits(count)]))
    }

    /// Requires the members of `list`, because of the member `trigger` if there is one.
    fn required(&mut self, list: &Names, object: &Object, trigger: Option<&str>, spot: &Spot<'_>) -> bool {
        if !self.work.spend(object.len() + list.entries().len() / 8) {
            return false;
        }
        let mut found = vec![false; list.entries().len()];
        for (key, _) in object.iter() {
            if let Some(found) = list.get(key).and_then(|i| found.get_mut(i)) {
                *found = true;
            }
        }
        let mut valid = true;
        for ((name, _), _) in list.entries().iter().zip(found).filter(|(_, found)| !found) {
            if !valid && self.quiet() {
                break;
            }
            valid = match trigger {
                None => {
                    self.fail(spot, "required", &|| concat(&["must have the property `", &cut(name), "`"]))
                }
                Some(trigger) => self.fail(spot, "dependentRequired", &|| {
                    let (name, trigger) = (cut(name), cut(trigger));
                    concat(&["must have the property `", &name, "` because it has `", &trigger, "`"])
                }),
            };
        }
        valid
    }

    fn dependent_required(
        &mut self,
        triggers: &Names,
        lists: &[Names],
        object: &Object,
        spot: &Spot<'_>,
    ) -> bool {
        let mut valid = true;
        for (key, _) in object.iter() {
            if !self.work.spend(1) || (!valid && self.quiet()) {
                return false;
            }
            if let Some(list) = triggers.get(key).and_then(|i| lists.get(i)) {
                valid &= self.required(list, object, Some(key), spot);
            }
        }
        valid
    }
}

/// "must be a string or null, but is a number".
pub(super) fn expected(mut kinds: Kinds, value: &Value) -> String {
    if kinds & NUMBER != 0 {
        kinds &= !INTEGER;
    }
    let mut names = KINDS.iter().filter(|(_, _, kind)| kinds & kind != 0).map(|(_, words, _)| *words);
    let mut out = String::from("must be ");
    out.push_str(names.next().unwrap_or("left out"));
    for name in names {
        out.push_str(" or ");
        out.push_str(name);
    }
    out.push_str(", but is ");
    out.push_str(match value {
        Value::Number(_) if kinds & INTEGER != 0 => "a number with a fraction",
        other => other.kind(),
    });
    out
}

/// How many characters: bytes that begin one.
fn characters(text: &str) -> usize {
    text.bytes().filter(|&b| b & 0xc0 != 0x80).count()
}

/// At most [`MAX_QUOTED`] bytes of `text`.
fn cut(text: &str) -> String {
    let mut end = MAX_QUOTED.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut out = text.get(..end).unwrap_or("").to_owned();
    if end < text.len() {
        out.push('…');
    }
    out
}
