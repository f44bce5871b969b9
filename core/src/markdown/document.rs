//! The document: text in, changes out.

use super::{Change, Node};

/// What is understood beside CommonMark and GFM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Formulas: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`.
    pub math: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { math: true }
    }
}

/// One message of Markdown, growing.
#[derive(Debug)]
pub struct Document {
    changes: Vec<Change>,
    /// Line breaks that wait for what follows them.
    breaks: usize,
    open: bool,
}

impl Document {
    /// An empty message.
    pub fn new(_options: Options) -> Self {
        Self { changes: Vec::new(), breaks: 0, open: false }
    }

    /// More of its text, cut anywhere between characters.
    pub fn push(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            let words = line.trim_end_matches('\n');
            if !words.is_empty() {
                self.words(words);
            }
            if line.ends_with('\n') {
                self.breaks += 1;
            }
        }
    }

    /// The text is at its end: everything that waited is settled.
    pub fn finish(&mut self) {
        if self.open {
            self.changes.push(Change::Close);
            self.open = false;
        }
    }

    /// What to draw since the last call.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    fn words(&mut self, words: &str) {
        if self.open && self.breaks > 1 {
            self.finish();
        }
        if !self.open {
            self.changes.push(Change::Open(Node::Paragraph));
            self.open = true;
        } else if self.breaks == 1 {
            self.changes.push(Change::Text("\n".to_owned()));
        }
        self.breaks = 0;
        self.changes.push(Change::Text(words.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn blank_lines_part_paragraphs() {
        let mut document = Document::new(Options::default());
        document.push("a\nb\n\nc");
        document.finish();
        let text = |text: &str| Change::Text(text.to_owned());
        let open = || Change::Open(Node::Paragraph);
        let whole =
            [open(), text("a"), text("\n"), text("b"), Change::Close, open(), text("c"), Change::Close];
        assert_eq!(document.take_changes(), whole);
    }
}
