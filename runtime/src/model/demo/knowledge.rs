//! The demo model and the search in the knowledge: when it asks, and what it says of
//! the passages it gets. It quotes; it understands nothing.

use mindset_core::object;
use mindset_core::turn::ModelTool;

use super::words::{contains_phrase, cut, telling, words};

/// The search, as the model knows it.
pub(super) use crate::knowledge::TOOL;

/// How many passages are quoted.
const QUOTES: usize = 2;

/// Characters of a quote.
const QUOTE: usize = 280;

/// The call that looks a question up, if the text is one and there is a search.
pub(super) fn search(tools: &[ModelTool], text: &str) -> Option<(String, String)> {
    let can = tools.iter().any(|tool| tool.name == TOOL);
    if !can || !is_question(text) || asks_the_time(text) || telling(text).is_empty() {
        return None;
    }
    Some((TOOL.to_owned(), object! { "query": cut(text, 500) }.to_string()))
}

fn is_question(text: &str) -> bool {
    let begins = [
        "how", "what", "when", "where", "who", "why", "which", "can", "may", "do", "does", "is", "are",
        "wie", "was", "wann", "wo", "wer", "warum", "welche", "welcher", "kann", "darf", "gibt",
    ];
    let asks = ["search", "look up", "find", "tell me about", "explain"];
    text.trim_end().ends_with(['?', '？'])
        || words(text).first().is_some_and(|first| begins.contains(&first.as_str()))
        || asks.iter().any(|phrase| contains_phrase(text, phrase))
}

fn asks_the_time(text: &str) -> bool {
    ["what time", "which day is it", "what day is it", "what date"].iter().any(|q| contains_phrase(text, q))
}

/// The first passages, each with its marker.
pub(super) fn answer(result: &str) -> String {
    let quotes: Vec<String> = passages(result).into_iter().take(QUOTES).map(quote).collect();
    if quotes.is_empty() {
        return "I have looked it up, and found nothing about it.".to_owned();
    }
    quotes.join("\n\n")
}

/// A passage: its marker, its title, its text.
type Passage<'a> = (&'a str, &'a str, String);

/// Reads `[1] title`, perhaps an address, and the text, again and again.
fn passages(result: &str) -> Vec<Passage<'_>> {
    let mut found: Vec<Passage<'_>> = Vec::new();
    let mut before_blank = true;
    for line in result.lines() {
        let head = line.split_once("] ").filter(|(number, _)| {
            before_blank
                && number
                    .strip_prefix('[')
                    .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        });
        match (head, found.last_mut()) {
            (Some((number, title)), _) => {
                let marker = line.get(..=number.len()).unwrap_or(number);
                found.push((marker, title, String::new()));
            }
            (None, Some((_, _, text))) if text.is_empty() && is_address(line) => {}
            (None, Some((_, _, text))) => {
                text.push_str(line);
                text.push(' ');
            }
            (None, None) => {}
        }
        before_blank = line.trim().is_empty();
    }
    found
}

fn is_address(line: &str) -> bool {
    line.starts_with("https://") || line.starts_with("http://")
}

fn quote((marker, title, text): Passage<'_>) -> String {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{title}: “{}” {marker}", cut(&plain, QUOTE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_quoted_with_their_markers() {
        let result = "[1] Holidays › Days\nhttps://x.example/h#days\n30 days a year.\n\nMore in part [2] of it.\n\n\
                      [4] Sick leave\nCall in.\n\n[5] Third\nx";
        assert_eq!(
            answer(result),
            "Holidays › Days: “30 days a year. More in part [2] of it.” [1]\n\nSick leave: “Call in.” [4]"
        );
        for nothing in ["", "Nothing was found in Handbook.", "[x] a", "[] b"] {
            assert!(answer(nothing).contains("found nothing"), "{nothing}");
        }
    }
}
