//! How an agent's conversations begin in the chat.

use super::reader::{Node, Reader};

/// Characters of `icebreaker`.
const ICEBREAKER: usize = 2_000;
/// Entries of `starters`, and characters of one: the chat shows no more.
const STARTERS: usize = 6;
const STARTER: usize = 200;

impl Reader<'_> {
    pub(super) fn icebreaker(&mut self, node: &Node<'_>) -> Option<String> {
        let text = self.text(node, "icebreaker")?.trim().to_owned();
        if text.chars().count() > ICEBREAKER {
            let problem = format!("longer than {ICEBREAKER} characters");
            self.fault(&node.path("icebreaker"), &problem, "put what is always true into `instructions`");
        }
        Some(text).filter(|text| !text.is_empty())
    }

    pub(super) fn starters(&mut self, node: &Node<'_>) -> Vec<String> {
        let path = node.path("starters");
        let starters: Vec<String> =
            self.list(node, "starters").iter().map(|text| text.trim().to_owned()).collect();
        if starters.len() > STARTERS {
            self.fault(&path, &format!("{} entries", starters.len()), &format!("keep at most {STARTERS}"));
        }
        if starters.iter().any(|text| text.is_empty() || text.chars().count() > STARTER) {
            let remedy = format!("write each with 1 to {STARTER} characters");
            self.fault(&path, "an entry is empty or too long", &remedy);
        }
        starters
    }
}
