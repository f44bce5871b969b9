//! When two JSON values are the same: numbers by value, members in any order. What
//! that costs is counted, for values may be made to cost a lot.

use super::MAX_DEPTH;
use super::names::Names;
use super::number::{Decimal, is_plain};
use crate::json::{Object, Value, digits};

/// What is left of the work one check may do.
pub(super) struct Work {
    left: usize,
    /// Why it was given up.
    pub(super) over: Option<&'static str>,
}

impl Work {
    pub(super) fn new(steps: usize) -> Work {
        Work { left: steps, over: None }
    }

    /// Counts `steps`; false when there are no more, now and ever after.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        if self.left < steps {
            self.give_up("is too large to check against this schema: send less");
        }
        self.left = self.left.saturating_sub(steps);
        self.over.is_none()
    }

    /// Counts a level of depth; false if it is one too many.
    pub(super) fn enter(&mut self, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            self.give_up("nests too deep to be checked: make it flatter");
        }
        self.over.is_none()
    }

    fn give_up(&mut self, why: &'static str) {
        self.over.get_or_insert(why);
    }
}

/// Whether `a` and `b` are the same. False if the work runs out.
pub(super) fn equal(a: &Value, b: &Value, depth: usize, work: &mut Work) -> bool {
    if !work.enter(depth) || !work.spend(1) {
        return false;
    }
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => equal_numbers(a.as_str(), b.as_str(), work),
        (Value::String(a), Value::String(b)) => a.len() == b.len() && work.spend(a.len() / 32) && a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b, depth + 1, work))
        }
        (Value::Object(a), Value::Object(b)) => equal_members(a, b, depth + 1, work),
        _ => false,
    }
}

fn equal_numbers(a: &str, b: &str, work: &mut Work) -> bool {
    if !work.spend((a.len() + b.len()) / 32) {
        return false;
    }
    if a == b || (is_plain(a) && is_plain(b)) {
        return a == b;
    }
    work.spend(8) && Decimal::read(a) == Decimal::read(b)
}

fn equal_members(a: &Object, b: &Object, depth: usize, work: &mut Work) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut same_place = b.iter();
    a.iter().all(|(key, a)| {
        let b = match same_place.next() {
            Some((name, b)) if name == key => Some(b),
            // Looking a name up walks the list.
            _ if work.spend(b.len() / 4) => b.get(key),
            _ => None,
        };
        b.is_some_and(|b| equal(a, b, depth, work))
    })
}

/// The first two items that are the same. `None` too if the work runs out.
pub(super) fn first_repeated(items: &[Value], work: &mut Work) -> Option<(usize, usize)> {
    let mut seen = Names::default();
    for (i, item) in items.iter().enumerate() {
        let mut sum = hash(item, 0, work);
        // The sums of different items may meet: the next free one then.
        while work.spend(8 + seen.entries().len() / 512) {
            let other = seen.add(&digits(sum), i);
            if other == i {
                break;
            }
            if items.get(other).is_some_and(|other| equal(other, item, 0, work)) {
                return Some((other, i));
            }
            sum = sum.wrapping_add(1);
        }
    }
    None
}

/// A checksum that is the same for values that are the same.
fn hash(value: &Value, depth: usize, work: &mut Work) -> u64 {
    if !work.enter(depth) || !work.spend(1) {
        return 0;
    }
    match value {
        Value::Null => 1,
        Value::Bool(b) => 2 + u64::from(*b),
        Value::Number(n) => {
            work.spend(n.as_str().len() / 16);
            let decimal = Decimal::read(n.as_str());
            let (negative, digits, exponent) = decimal.parts();
            add(add(4 + u64::from(negative), digits), &exponent.to_le_bytes())
        }
        Value::String(s) => {
            work.spend(s.len() / 16);
            add(6, s.as_bytes())
        }
        Value::Array(items) => items.iter().fold(7, |sum, item| mix(sum, hash(item, depth + 1, work))),
        // A sum, so that the order does not matter.
        Value::Object(members) => members.iter().fold(8, |sum, (key, member)| {
            work.spend(key.len() / 16);
            mix(add(9, key.as_bytes()), hash(member, depth + 1, work)).wrapping_add(sum)
        }),
    }
}

fn mix(sum: u64, other: u64) -> u64 {
    add(sum, &other.to_le_bytes())
}

fn add(sum: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(sum ^ 0xcbf2_9ce4_8422_2325, |sum, &b| (sum ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn the_same_and_not() {
        let same = [
            (r#"[1,"a",null]"#, r#"[1.0,"a",null]"#),
            (r#"{"a":1,"b":{"c":2,"d":[]}}"#, r#"{"b":{"d":[],"c":2e0},"a":10e-1}"#),
            ("-0", "0"),
        ];
        let other =
            [("0", "false"), ("1", "true"), ("\"1\"", "1"), ("[]", "{}"), ("null", "0"), ("[1,2]", "[2,1]")];
        let read = |text: &str| parse(text).unwrap();
        for (pairs, expected) in [(&same[..], true), (&other[..], false)] {
            for (a, b) in pairs {
                let mut work = Work::new(1000);
                assert_eq!(equal(&read(a), &read(b), 0, &mut work), expected, "{a} {b}");
                assert_eq!(hash(&read(a), 0, &mut work) == hash(&read(b), 0, &mut work), expected, "{a} {b}");
            }
        }
    }

    #[test]
    fn repeated_items() {
        let find = |text: &str| {
            let value = parse(text).unwrap();
            first_repeated(value.as_array().unwrap(), &mut Work::new(1000))
        };
        assert_eq!(find(r#"[1,true,"1",[1],{"a":1},null,0,false,""]"#), None);
        assert_eq!(find(r#"[{"a":1,"b":2},1,{"b":2,"a":1}]"#), Some((0, 2)));
        assert_eq!(find("[]"), None);
    }
}
