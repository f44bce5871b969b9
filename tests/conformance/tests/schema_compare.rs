//! Our JSON Schema validator against the crate jsonschema, over generated schemas and
//! values. `MINDSET_SOAK=1` makes it long; `MINDSET_SEED` chooses where it begins.
//!
//! Deliberate differences are kept out: numbers that no double holds, and schemas
//! that refer to themselves for the same value, which we refuse.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod schema_engine;

use std::time::{Duration, Instant};

use mindset_conformance::Random;
use mindset_core::json::{Value, parse};
use mindset_core::schema::{MAX_VIOLATIONS, Schema};
use schema_engine::Engine;

const NAMES: &[&str] = &["a", "b", "c", "ab", "é"];
const SCALARS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0.0",
    "1",
    "1.0",
    "1e0",
    "2",
    "2.5",
    "-3",
    "10",
    "25e-1",
    "\"\"",
    "\"a\"",
    "\"ab\"",
    "\"é\"",
    "\"🙂🙂\"",
    "\"abc\"",
    "\"1\"",
];
const PATTERNS: &[&str] = &["^a", "b$", "^.$", "[0-9]", "c|é", "^\\\\p{L}+$", "^$"];
const KINDS: &[&str] = &["null", "boolean", "number", "integer", "string", "array", "object"];
const SOME: &[&str] = &["0", "1", "2", "3", "2.0", "1e0"];
const LIMITS: &[&str] = &["0", "1", "2", "2.5", "-3", "10", "1.0"];
/// Only such as a double divides by exactly.
const DIVISORS: &[&str] = &["1", "2", "0.5", "2.5", "3", "1e1"];

fn list(random: &mut Random, least: usize, mut item: impl FnMut(&mut Random) -> String) -> String {
    let count = least + random.below(3);
    let items: Vec<String> = (0..count).map(|_| item(random)).collect();
    format!("[{}]", items.join(","))
}

/// Different names, each with something.
fn map(random: &mut Random, names: &[&str], mut item: impl FnMut(&mut Random) -> String) -> String {
    let mut members = Vec::new();
    for name in names {
        if random.below(3) == 0 {
            members.push(format!("\"{name}\":{}", item(random)));
        }
    }
    format!("{{{}}}", members.join(","))
}

fn value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 2 } else { 6 }) {
        0 | 1 => random.pick(SCALARS).to_owned(),
        2 | 3 => list(random, 0, |random| value(random, depth - 1)),
        _ => map(random, NAMES, |random| value(random, depth - 1)),
    }
}

fn names(random: &mut Random) -> String {
    let chosen: Vec<String> =
        NAMES.iter().filter(|_| random.below(4) == 0).map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", chosen.join(","))
}

fn keyword(random: &mut Random, depth: usize) -> String {
    let below = depth.saturating_sub(1);
    let schema = |random: &mut Random| schema(random, below);
    match random.below(if depth == 0 { 14 } else { 36 }) {
        0 | 1 => format!("\"type\":\"{}\"", random.pick(KINDS)),
        2 => format!("\"type\":[\"{}\",\"object\"]", random.pick(&KINDS[..6])),
        3 => format!("\"const\":{}", value(random, 1)),
        4 => format!("\"enum\":{}", list(random, 1, |random| value(random, 1))),
        5 => format!("\"{}\":{}", random.pick(&["minimum", "exclusiveMinimum"]), random.pick(LIMITS)),
        6 => format!("\"{}\":{}", random.pick(&["maximum", "exclusiveMaximum"]), random.pick(LIMITS)),
        7 => format!("\"multipleOf\":{}", random.pick(DIVISORS)),
        8 => format!("\"{}\":{}", random.pick(&["minLength", "maxLength"]), random.pick(SOME)),
        9 => format!("\"{}\":{}", random.pick(&["minItems", "maxItems"]), random.pick(SOME)),
        10 => format!("\"{}\":{}", random.pick(&["minProperties", "maxProperties"]), random.pick(SOME)),
        11 => format!("\"pattern\":\"{}\"", random.pick(PATTERNS)),
        12 => format!("\"required\":{}", names(random)),
        13 => format!("\"uniqueItems\":{}", random.pick(&["true", "false"])),
        14 => format!("\"dependentRequired\":{}", map(random, NAMES, names)),
        15 | 16 => {
            format!(
                "\"$ref\":\"{}\"",
                random.pick(&["root#/$defs/x", "root#/$defs/y", "/root#z", "in", "./in#q", "#"])
            )
        }
        17 => format!("\"allOf\":{}", list(random, 1, schema)),
        18 | 19 => format!("\"anyOf\":{}", list(random, 1, schema)),
        20 => format!("\"oneOf\":{}", list(random, 1, schema)),
        21 => format!("\"not\":{}", schema(random)),
        22 | 23 => {
            format!("\"if\":{},\"then\":{},\"else\":{}", schema(random), schema(random), schema(random))
        }
        24 => format!("\"dependentSchemas\":{}", map(random, NAMES, schema)),
        25 | 26 => format!("\"properties\":{}", map(random, NAMES, schema)),
        27 => format!("\"patternProperties\":{}", map(random, PATTERNS, schema)),
        28 => format!("\"additionalProperties\":{}", schema(random)),
        29 => format!("\"propertyNames\":{}", schema(random)),
        30 => format!("\"prefixItems\":{}", list(random, 1, schema)),
        31 => format!("\"items\":{}", schema(random)),
        32 => format!("\"contains\":{},\"minContains\":{}", schema(random), random.pick(SOME)),
        33 => format!("\"contains\":{},\"maxContains\":{}", schema(random), random.pick(SOME)),
        34 => format!("\"unevaluatedItems\":{}", schema(random)),
        _ => format!("\"unevaluatedProperties\":{}", schema(random)),
    }
}

fn schema(random: &mut Random, depth: usize) -> String {
    match random.below(8) {
        0 => random.pick(&["true", "false", "{}"]).to_owned(),
        _ => format!("{{{}}}", keywords(random, depth).join(",")),
    }
}

/// Members of a schema, none twice.
fn keywords(random: &mut Random, depth: usize) -> Vec<String> {
    let mut keywords: Vec<String> = Vec::new();
    for _ in 0..=random.below(4) {
        let new = keyword(random, depth);
        let name = |member: &str| member.split(':').next().unwrap().to_owned();
        if keywords.iter().all(|old| name(old) != name(&new)) {
            keywords.push(new);
        }
    }
    keywords
}

fn document(random: &mut Random) -> String {
    let mut members = keywords(random, 3);
    let part = |random: &mut Random, head: &str| {
        let members = keywords(random, 2);
        format!("{{{head},{}}}", members.join(","))
    };
    members.push("\"$dynamicAnchor\":\"d\"".to_owned());
    members.push(format!(
        "\"$defs\":{{\"x\":{},\"y\":{},\"i\":{{\"$id\":\"in\",\"type\":[\"object\",\"array\"],\"$dynamicAnchor\":\"d\",\
         \"properties\":{{\"a\":{{\"$dynamicRef\":\"#d\"}}}},\"items\":{{\"$dynamicRef\":\"#d\"}},\
         \"$defs\":{{\"q\":{}}}}}}}",
        part(random, "\"title\":\"x\""),
        part(random, "\"$anchor\":\"z\""),
        part(random, "\"$anchor\":\"q\""),
    ));
    format!("{{\"$id\":\"http://h/root\",{}}}", members.join(","))
}

fn validator(text: &str) -> Result<jsonschema::Validator, String> {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&value).map_err(|e| e.to_string())
}

#[test]
fn agrees_with_jsonschema() {
    let soak = std::env::var_os("MINDSET_SOAK").is_some();
    let (rounds, values) = if soak { (20_000, 20) } else { (1_000, 10) };
    let mut random = Random::seeded();
    let (mut checked, mut valid, mut refused) = (0, 0, 0);
    for _ in 0..rounds {
        let text = document(&mut random);
        let ours = match Schema::parse(&parse(&text).unwrap(), &Engine) {
            Ok(schema) => schema,
            Err(error) => {
                assert!(error.reason.starts_with("a `$ref` leads back here"), "{text}: {error}");
                refused += 1;
                continue;
            }
        };
        assert_eq!(ours.warnings(), [""; 0], "{text}");
        let theirs = validator(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        for _ in 0..values {
            let value = value(&mut random, 3);
            let found = ours.check(&parse(&value).unwrap());
            // Only a dynamic reference can go round for the same value unnoticed.
            if found.last().is_some_and(|v| v.keyword.is_empty()) {
                continue;
            }
            let expected = theirs.is_valid(&serde_json::from_str(&value).unwrap());
            assert_eq!(found.is_empty(), expected, "schema {text}\nvalue {value}\n{found:?}");
            assert!(found.len() <= MAX_VIOLATIONS);
            checked += 1;
            valid += usize::from(expected);
        }
    }
    println!("{checked} checked, {valid} valid, {refused} schemas refused");
    assert!(refused < rounds / 2, "{refused} of {rounds} schemas refused");
    assert!((checked / 20..checked * 19 / 20).contains(&valid), "{valid} of {checked} are valid");
}

/// Any JSON as a schema: an error or a schema, and never long.
#[test]
fn nonsense_ends() {
    let mut random = Random::seeded();
    let (start, mut schemas, mut refused) = (Instant::now(), 0, 0);
    for _ in 0..3_000 {
        let text = document(&mut random);
        // Some value of one place in the place of another.
        let mut parts: Vec<&str> = text.split(',').collect();
        let (count, piece) = (parts.len(), random.pick(SCALARS));
        let (at, to) = (random.below(count), random.below(count));
        let member =
            parts[at].rsplit_once(':').map_or(piece.to_owned(), |(name, _)| format!("{name}:{piece}"));
        parts[at] = &member;
        parts.swap(at, to);
        let Ok(schema) = parse(&parts.join(",")) else { continue };
        match Schema::parse(&schema, &Engine) {
            Ok(schema) => {
                schemas += 1;
                schema.check(&parse(&value(&mut random, 3)).unwrap());
            }
            Err(error) => {
                refused += 1;
                let place = error.place.split('/').skip(1).try_fold(&schema, |at, token| match at {
                    Value::Array(items) => items.get(token.parse::<usize>().unwrap()),
                    _ => at.get(&token.replace("~1", "/").replace("~0", "~")),
                });
                assert!(place.is_some(), "{error} is no place in {schema}");
            }
        }
    }
    assert!(schemas > 50 && refused > 50, "{schemas} schemas, {refused} refused");
    assert!(start.elapsed() < Duration::from_secs(120));
}
