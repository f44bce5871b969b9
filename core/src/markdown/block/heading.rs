//! A heading in one line. The number signs that may close it are no content.

use super::super::Node;
use super::super::inline::Inline;
use super::Page;

#[derive(Debug)]
pub(in super::super) struct Heading {
    inline: Inline,
    /// What may belong to the end of the line.
    tail: String,
    /// How long the tail must be to be looked at again.
    again: usize,
}

impl Heading {
    pub(in super::super) fn new(level: u8) -> Self {
        Self { inline: Inline::new(Node::Heading(level)), tail: String::new(), again: 0 }
    }

    pub(in super::super) fn feed(&mut self, text: &str) {
        self.tail.push_str(text);
        if self.tail.len() < self.again {
            return;
        }
        self.release();
        self.again = self.tail.len() + self.tail.len() / 8;
    }

    pub(in super::super) fn show(&mut self, page: &mut Page) {
        page.show(&mut self.inline);
    }

    pub(in super::super) fn close(mut self, page: &mut Page) {
        self.release();
        self.inline.open(&mut page.draw);
        page.close(self.inline);
    }

    /// Content is all but white space at the end, and before it number signs that stand alone.
    fn release(&mut self) {
        let blanks = [' ', '\t'];
        let text = self.tail.trim_end_matches(blanks);
        let signs = text.trim_end_matches('#');
        let alone = signs.ends_with(blanks) || signs.is_empty() && self.inline.source.is_empty();
        let content = if alone { signs.trim_end_matches(blanks) } else { text }.len();
        let tail = self.tail.split_off(content);
        let content = std::mem::replace(&mut self.tail, tail);
        let content =
            if self.inline.source.is_empty() { content.trim_start_matches(blanks) } else { &content };
        self.inline.source.push_str(content);
    }
}
