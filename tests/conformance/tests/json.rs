//! Our JSON reader against serde_json, over generated and damaged documents.
//!
//! Deliberate differences: a number is kept as text, so none is out of range; half
//! of a surrogate pair becomes U+FFFD. (The depth limits differ by one level;
//! documents here stay below both.)
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mindset_conformance::Random;
use mindset_core::json::{Value, parse};
use serde_json::Value as Theirs;

const STRINGS: &[&str] = &[
    "",
    "a",
    "b",
    "key",
    "é",
    "🙂",
    "\u{2028}",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\b\\f\\r\\t",
    "\\u0000",
    "\\u00e9",
    "\\ud83d\\ude42",
    "\\ud83d",
    "\\ude42",
    "\\uD83Dx",
    "__proto__",
    "\u{7f}",
    " ",
];
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "10",
    "1.5",
    "-0.25",
    "1e3",
    "1E+3",
    "2e-3",
    "9007199254740993",
    "18446744073709551615",
    "-9223372036854775808",
    "18446744073709551616",
    "1e400",
    "1.7976931348623157e308",
];
const SPACES: &[&str] = &["", "", "", "", " ", "\n", "\t\r\n "];
const DAMAGE: &[&str] = &[
    "",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "0",
    "e",
    "-",
    "\n",
    "\u{0}",
    "null",
    "é",
    "/",
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "\\u12",
    "\\x",
    "\u{a0}",
    "{\"a\":1,\"a\":2}",
];

fn document(random: &mut Random, depth: usize, out: &mut String) {
    out.push_str(random.pick(SPACES));
    match random.below(if depth > 12 { 6 } else { 10 }) {
        0 => out.push_str(random.pick(&["null", "true", "false"])),
        1 | 2 => out.push_str(random.pick(NUMBERS)),
        3..=5 => string(random, out),
        6 | 7 => list(random, out, '[', ']', |random, out| document(random, depth + 1, out)),
        _ => list(random, out, '{', '}', |random, out| {
            string(random, out);
            out.push(':');
            document(random, depth + 1, out);
        }),
    }
    out.push_str(random.pick(SPACES));
}

fn list(
    random: &mut Random,
    out: &mut String,
    open: char,
    close: char,
    mut item: impl FnMut(&mut Random, &mut String),
) {
    out.push(open);
    for i in 0..random.below(5) {
        if i > 0 {
            out.push(',');
        }
        item(random, out);
    }
    out.push(close);
}

fn string(random: &mut Random, out: &mut String) {
    out.push('"');
    for _ in 0..random.below(3) {
        out.push_str(random.pick(STRINGS));
    }
    out.push('"');
}

fn damaged(random: &mut Random, text: &str) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(3) {
        let at = random.below(text.len() + 1);
        let cut = (at + random.below(3)).min(text.len());
        let with: Vec<char> = random.pick(DAMAGE).chars().collect();
        text.splice(at..cut, with);
    }
    text.into_iter().collect()
}

fn same(ours: &Value, theirs: &Theirs) -> bool {
    match (ours, theirs) {
        (Value::Null, Theirs::Null) => true,
        (Value::Bool(a), Theirs::Bool(b)) => a == b,
        (Value::String(a), Theirs::String(b)) => a == b,
        (Value::Array(a), Theirs::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Theirs::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (Value::Number(a), Theirs::Number(b)) => match (b.as_u64(), b.as_i64()) {
            (Some(b), _) => a.as_u64() == Some(b),
            (_, Some(b)) => a.as_i64() == Some(b),
            // serde_json may be one unit in the last place off.
            _ => (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() <= b.as_f64().unwrap().abs() * 1e-15,
        },
        _ => false,
    }
}

fn compare(text: &str) -> bool {
    match (parse(text), serde_json::from_str::<Theirs>(text)) {
        (Ok(ours), Ok(theirs)) => {
            assert!(same(&ours, &theirs), "{text:?}: {ours} is not {theirs}");
            assert_eq!(parse(&ours.to_string()).as_ref(), Ok(&ours), "{text:?} does not come back");
            let back: Theirs = serde_json::from_str(&ours.to_string()).unwrap();
            assert!(same(&ours, &back), "{text:?} is written as {ours}");
            true
        }
        (Err(_), Err(_)) => false,
        (Ok(_), Err(error)) => {
            let error = error.to_string();
            let deliberate = ["number out of range", "surrogate", "unexpected end of hex escape"]
                .iter()
                .any(|d| error.contains(d));
            assert!(deliberate, "only we accept {text:?}: {error}");
            true
        }
        (Err(error), Ok(_)) => panic!("only we refuse {text:?}: {error}"),
    }
}

#[test]
fn agrees_with_serde_json() {
    let rounds = if std::env::var_os("MINDSET_SOAK").is_some() { 1_000_000 } else { 20_000 };
    let mut random = Random::seeded();
    let mut accepted = [0, 0];
    for _ in 0..rounds {
        let mut text = String::new();
        document(&mut random, 0, &mut text);
        accepted[0] += usize::from(compare(&text));
        accepted[1] += usize::from(compare(&damaged(&mut random, &text)));
    }
    assert_eq!(accepted[0], rounds, "all that is generated is JSON");
    // Neither all nor nothing, or the damage says nothing.
    assert!((rounds / 20..rounds * 19 / 20).contains(&accepted[1]), "{} of {rounds} accepted", accepted[1]);
}

#[test]
fn deliberate_differences() {
    for (text, ours) in
        [("1e400", "1e400"), ("\"\\ud83d\"", "\"\u{fffd}\""), ("\"\\ude42x\"", "\"\u{fffd}x\"")]
    {
        assert!(serde_json::from_str::<Theirs>(text).is_err(), "{text} is no difference any more");
        assert_eq!(parse(text).map(|v| v.to_string()), Ok(ours.to_owned()));
    }
}
