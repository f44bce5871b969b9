//! A paragraph: perhaps definitions first, then inline content. Its last line may turn
//! out to be the head of a table, the whole of it to be a heading.

use super::super::inline::Inline;
use super::super::scan::{Ahead, byte, rest};
use super::super::{Align, Node};
use super::table::{Table, count_cells};
use super::{Page, table};

/// A line in which a column ends later than this is not kept back for a table's sake.
const MAX_HEAD: usize = 160;

#[derive(Debug)]
pub(in super::super) struct Paragraph {
    inline: Inline,
    /// Whether definitions may still begin it.
    defines: bool,
    /// How long it must be to be looked at for definitions again.
    again: usize,
    /// Where its last line begins, and the first `|` in it.
    line: usize,
    pipe: Option<usize>,
}

impl Paragraph {
    pub(in super::super) fn new() -> Self {
        Self { inline: Inline::new(Node::Paragraph), defines: true, again: 0, line: 0, pipe: None }
    }

    /// Another line begins.
    pub(in super::super) fn next_line(&mut self) {
        if self.inline.source.len() > self.inline.begin {
            self.inline.source.push('\n');
        }
        self.line = self.inline.source.len();
        self.pipe = None;
        self.inline.limit = None;
    }

    pub(in super::super) fn feed(&mut self, text: &str) {
        let from = self.inline.source.len();
        self.inline.source.push_str(text);
        let source = &self.inline.source;
        if self.pipe.is_none() {
            let mut at = from;
            while let Some(next) = rest(source, at).find('|') {
                at += next + 1;
                if at == self.line + 1 || byte(source, at.saturating_sub(2)) != Some(b'\\') {
                    self.pipe = Some(at - 1);
                    self.inline.limit = self.pipe;
                    break;
                }
            }
        }
        if self.pipe != Some(self.line) && source.len() > self.line + MAX_HEAD {
            self.inline.limit = None;
        }
    }

    /// Whether a table may begin with its last line.
    pub(in super::super) fn may_be_head(&self) -> bool {
        self.pipe.is_some()
    }

    /// Whether it is a table's head over columns like these.
    pub(in super::super) fn is_head(&mut self, align: &[Align], page: &mut Page) -> bool {
        self.has_content(page)
            && self.line >= self.inline.begin
            && count_cells(rest(&self.inline.source, self.line)) == align.len()
    }

    /// Whether there is more in it than definitions.
    pub(in super::super) fn has_content(&mut self, page: &mut Page) -> bool {
        self.define(page, true);
        self.inline.begin < self.inline.source.len()
    }

    /// Its last line becomes the head of a table, what is before it stays a paragraph.
    pub(in super::super) fn into_table(mut self, align: Vec<Align>, page: &mut Page) -> Table {
        let head = self.inline.source.split_off(self.line);
        while self.inline.source.len() > self.inline.begin && self.inline.source.ends_with('\n') {
            self.inline.source.pop();
        }
        if !self.inline.is_before(self.inline.source.len()) {
            self.inline.reset(&mut page.draw);
        }
        page.close(self.inline);
        table::open(align, &head, page)
    }

    /// Becomes a heading.
    pub(in super::super) fn close_as_heading(mut self, level: u8, page: &mut Page) {
        self.inline.limit = None;
        self.inline.turn_into(Node::Heading(level), &mut page.draw);
        page.close(self.inline);
    }

    pub(in super::super) fn show(&mut self, page: &mut Page) {
        self.define(page, false);
        if !self.defines {
            page.show(&mut self.inline);
        }
    }

    pub(in super::super) fn close(mut self, page: &mut Page) {
        self.define(page, true);
        self.inline.limit = None;
        page.close(self.inline);
    }

    /// Takes definitions from its beginning.
    fn define(&mut self, page: &mut Page, last: bool) {
        if !last && self.inline.source.len() < self.again {
            return;
        }
        while self.defines {
            let text = rest(&self.inline.source, self.inline.begin);
            if text.is_empty() {
                return;
            }
            match page.references.read(text, last) {
                Ahead::Hold => {
                    self.again = self.inline.source.len() + text.len() / 8 + 1;
                    return;
                }
                Ahead::No => self.defines = false,
                Ahead::Yes(end) => self.inline.skip_to(self.inline.begin + end),
            }
        }
    }
}
