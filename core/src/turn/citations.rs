//! Sources of answers. What a search finds is numbered over the conversation, so that
//! `[2]` means one thing from its first answer to the last.

use crate::agui::Body;
use crate::event::Citation;
use crate::json::Value;
use crate::object;

use super::{Source, StoredMessage, StoredRole};

/// Numbers the sources and puts them behind `content`: what the model is told, and
/// what is stored with it. The same title and address keep their number.
pub(super) fn number(
    stored: &[StoredMessage],
    content: String,
    sources: &[Source],
) -> (String, Vec<Citation>) {
    let mut known: Vec<Citation> = found(stored).cloned().collect();
    let mut cited: Vec<Citation> = Vec::new();
    let mut text = content;
    for source in sources {
        let same = |c: &&Citation| c.title == source.title && c.url == source.url;
        let citation =
            known.iter().find(same).cloned().unwrap_or_else(|| source.cited_as(next_marker(&known)));
        if !known.contains(&citation) {
            known.push(citation.clone());
        }
        text.push_str(&format!("\n\n{} {}", citation.marker, citation.title));
        if let Some(url) = &citation.url {
            text.push_str(&format!("\n{url}"));
        }
        text.push_str(&format!("\n{}", source.text));
        if !cited.contains(&citation) {
            cited.push(citation);
        }
    }
    (text, cited)
}

/// The sources that `answer` names, in the order of their numbers.
pub(super) fn cited(stored: &[StoredMessage], answer: &str) -> Vec<Citation> {
    let mut cited: Vec<Citation> = Vec::new();
    for citation in found(stored) {
        if answer.contains(&citation.marker) && !cited.contains(citation) {
            cited.push(citation.clone());
        }
    }
    cited.sort_by_key(|citation| number_of(&citation.marker));
    cited
}

/// Tells readers what the answer `message_id` names.
pub(super) fn event(message_id: &str, items: &[Citation]) -> Body {
    let items: Vec<Value> = items.iter().map(Citation::to_json).collect();
    let value = Value::Object(object! { "messageId": message_id, "items": items });
    Body::Custom { name: "mindset.citations".to_owned(), value }
}

/// What tools have found, oldest first.
fn found(stored: &[StoredMessage]) -> impl Iterator<Item = &Citation> {
    stored.iter().filter(|m| m.role == StoredRole::Tool).flat_map(|m| &m.citations)
}

fn next_marker(known: &[Citation]) -> String {
    let last = known.iter().filter_map(|c| number_of(&c.marker)).max().unwrap_or(0);
    format!("[{}]", last.saturating_add(1))
}

fn number_of(marker: &str) -> Option<u64> {
    marker.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn source(title: &str, url: Option<&str>) -> Source {
        Source { title: title.into(), url: url.map(str::to_owned), text: format!("about {title}") }
    }

    fn tool_message(citations: Vec<Citation>) -> StoredMessage {
        let mut message = StoredMessage::new("m", "r", StoredRole::Tool, "", 0);
        message.citations = citations;
        message
    }

    #[test]
    fn sources_keep_their_number_over_the_conversation() {
        let (a, b) = (source("Leave", Some("https://x/leave")), source("Pay", None));
        let (text, first) = number(&[], "Found 2.".into(), &[a.clone(), b.clone(), a.clone()]);
        assert_eq!(
            text,
            "Found 2.\n\n[1] Leave\nhttps://x/leave\nabout Leave\n\n[2] Pay\nabout Pay\n\n[1] Leave\nhttps://x/leave\nabout Leave"
        );
        assert_eq!(first.iter().map(|c| c.marker.as_str()).collect::<Vec<_>>(), ["[1]", "[2]"]);
        let stored = [tool_message(first)];
        let (_, second) = number(&stored, String::new(), &[b, source("Leave", None)]);
        assert_eq!(second.iter().map(|c| c.marker.as_str()).collect::<Vec<_>>(), ["[2]", "[3]"]);
    }

    #[test]
    fn only_what_the_answer_names_is_cited() {
        let (_, all) =
            number(&[], String::new(), &(1..12).map(|n| source(&format!("t{n}"), None)).collect::<Vec<_>>());
        let stored = [tool_message(all)];
        let marks = |answer| cited(&stored, answer).into_iter().map(|c| c.marker).collect::<Vec<_>>();
        assert_eq!(marks("See [11] and [2], not [99], and [2] again."), ["[2]", "[11]"]);
        assert!(marks("1 [x]").is_empty());
    }
}
