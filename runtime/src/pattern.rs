//! Regular expressions for tools' schemas: ECMA-262 with the flag `u`.
//!
//! The crate `regress` reads them, and what it refuses is no pattern. It matches by trying
//! again, though, which a server's pattern and a model's text can make last for ever, and
//! nothing could stop it. So what can be said without looking back or ahead goes to the
//! crate `regex`, whose time grows with the text only, and the rest is tried where it cannot
//! take long; else the text counts as fitting, and the tool itself still checks it.

// The conformance tests take this file in from elsewhere.
#[path = "pattern/linear.rs"]
mod linear;

use mindset_core::schema::{Matcher, Pattern};

/// Steps that trying again may take.
const MAX_STEPS: f64 = 1e7;

/// Bytes of a compiled pattern.
const MAX_SIZE: usize = 1024 * 1024;

/// Compiles the patterns of a schema.
#[derive(Debug)]
pub(crate) struct Patterns;

enum Expression {
    Linear(regex::Regex),
    Trying { regex: regress::Regex, effort: Effort },
}

/// How the time to try a pattern grows.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Effort {
    /// With this power of the text's length.
    Power(i32),
    /// Beyond any text.
    Unbounded,
}

impl Pattern for Patterns {
    fn compile(&self, source: &str) -> Result<Box<dyn Matcher>, String> {
        let regex = regress::Regex::with_flags(source, "u").map_err(|e| e.to_string())?;
        let linear = linear::translated(source)
            .and_then(|source| regex::RegexBuilder::new(&source).size_limit(MAX_SIZE).build().ok());
        Ok(Box::new(match linear {
            Some(regex) => Expression::Linear(regex),
            None => Expression::Trying { regex, effort: Effort::of(source) },
        }))
    }
}

impl Matcher for Expression {
    fn is_match(&self, text: &str) -> bool {
        match self {
            Expression::Linear(regex) => regex.is_match(text),
            Expression::Trying { regex, effort } => !effort.affordable(text) || regex.find(text).is_some(),
        }
    }
}

impl Effort {
    /// Of a pattern, whatever it means: each repetition may begin and end anywhere, and one
    /// within another in more ways than can be counted.
    fn of(source: &str) -> Effort {
        let (mut power, mut in_class) = (1, false);
        // Of every open group, and of all: whether something in it can go several ways.
        let mut open = vec![false];
        let mut closed = false;
        let mut chars = source.chars().peekable();
        while let Some(c) = chars.next() {
            let repeated = !in_class && matches!(c, '*' | '+' | '{' | '?');
            match c {
                '\\' => {
                    // A number refers back to text of any length.
                    let refers_back = chars.next().is_some_and(|c| c.is_ascii_digit() || c == 'k');
                    power += i32::from(refers_back);
                }
                '[' => in_class = true,
                ']' => in_class = false,
                '(' if !in_class => {
                    open.push(false);
                    // What kind of group it is.
                    chars.next_if_eq(&'?');
                }
                ')' if !in_class => {
                    let ways = open.pop().unwrap_or(true);
                    if let Some(outer) = open.last_mut() {
                        *outer |= ways;
                    }
                    closed = ways;
                    continue;
                }
                '|' if !in_class => {
                    power += 1;
                    open.iter_mut().for_each(|ways| *ways = true);
                }
                _ if repeated => {
                    if closed && c != '?' {
                        return Effort::Unbounded;
                    }
                    power += 1;
                    open.iter_mut().for_each(|ways| *ways = true);
                }
                _ => {}
            }
            closed = false;
        }
        Effort::Power(power)
    }

    fn affordable(self, text: &str) -> bool {
        match self {
            // Texts are far shorter than a double is exact.
            #[allow(clippy::cast_precision_loss)]
            Effort::Power(power) => (text.len().max(2) as f64).powi(power) <= MAX_STEPS,
            Effort::Unbounded => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn matches(source: &str, text: &str) -> bool {
        Patterns.compile(source).unwrap().is_match(text)
    }

    #[rustfmt::skip]
    const TEXTS: &[&str] = &[
        "", "a", "b", "ab", "aab", "abc-1", "a\nb", "\u{2028}", "é", "\u{feff}", "\u{85}", " ", "٣", "_", "0", "+", ",",
        "ada@example.org", "2026-11-30T08:00:00Z", "]", "-", "^", "&&", "a&&b", "[", "/", "\u{8}", "😀", "\\", "}",
        "K", "\u{212a}", "ſ", "\t", "x.y", "aa aa",
    ];

    #[rustfmt::skip]
    const PATTERNS: &[&str] = &[
        "", "^$", "a", "^a", "a$", "^a+b$", "^(a+)+$", ".", "^.$", r"\d", r"^\w$", r"\W", r"\s", r"\S", r"\D",
        r"^[\w-]+$", r"^[\d.-]+$", "[^a]", "[^-a]", "[a-]", "[-a]", "[a-c-e]", "[+--]", r"[\]]", r"[\^]", "[&&]",
        "[a&&b]", "[~~]", "[[]", r"[\b]", r"\ba\b", r"\Ba", r"\/", r"\x61", r"\u0061", r"\u{1F600}", r"\ud83d\ude00",
        r"\u{61}", "a|b", "(?:a|b)c?", "(?<year>[0-9]{4})-", "^a{2}", "a{1,}", "a{0,2}b", "a+?b", "a??b", r"\p{L}",
        r"\p{Letter}", r"\p{Script=Greek}", r"^\P{L}$", r"[\p{Lu}_]", r"\}", r"\t", r"\v", r"\0", r"[\x00-\x1f]",
        r"[\u{1F600}-\u{1F64F}]", "[😀]", "(?=a)a", "(?!a)b", r"(a)\1", "(?<=a)b", "[]", "[^]", r"[^\d]", r"[^\D]",
        r"[\s\S]", "k", r"\cJ", "(?i:a)", r"x\.y", r"\$", "[$.]", r"\-?", r"[\-a]",
        r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3}))$",
    ];

    #[test]
    fn the_same_as_by_trying() {
        for source in PATTERNS {
            let Ok(trying) = regress::Regex::with_flags(source, "u") else {
                assert!(Patterns.compile(source).is_err(), "{source}");
                continue;
            };
            for text in TEXTS {
                let expected = trying.find(text).is_some();
                assert_eq!(matches(source, text), expected, "/{source}/u on {text:?}");
            }
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        let long = format!("{}!", "a".repeat(100_000));
        let begin = Instant::now();
        for source in [
            "^(a+)+$",
            "^(a|a)*$",
            "^(a|aa)+$",
            "a*a*a*a*a*a*b",
            "(?=)^(a+)+$",
            "(?=)^(a|a)*$",
            "(?=)a*a*a*a*a*a*b",
            r"^(a+)+\1$",
            r"(?=)((a+)b?)+$",
            r"(?=)(a?){50}a{50}$",
            r"(?=)(?:a?){60}$x",
            r"(a*)*\1b",
            r"(?=)(?:[^(]+)+$",
            r"(?=)(\(|a+)+$",
            &format!("(?=){}b", "(a|a)".repeat(60)),
            &format!("(?=){}b", "a?".repeat(60)),
            "(?=)(?<x>a+)+$",
            "(?=)(?:(?:a{0,9}){0,9}){0,9}b",
        ] {
            for text in [long.as_str(), &long[99_900..], &long[99_970..]] {
                matches(source, text);
            }
        }
        // Takes less than a second; by trying, more than a lifetime. No stall of the machine is as long.
        assert!(begin.elapsed() < Duration::from_secs(600), "{:?}", begin.elapsed());
    }

    #[test]
    fn what_looks_ahead_is_still_checked() {
        let strong = "^(?=.*[A-Z])(?=.*[0-9]).{8,}$";
        assert!(matches(strong, "Abcdefg1"));
        assert!(!matches(strong, "abcdefg1"));
    }
}
