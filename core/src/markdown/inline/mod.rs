//! Inline content of one block, growing at its end.
//!
//! Text becomes items as soon as nothing that may follow can change what it is; what is
//! not certain waits in the source. Items are drawn in order. When one turns out to be
//! something else, drawing begins anew there: each marker can do that once or twice, so
//! the cost stays in proportion to the text.

mod brackets;
mod draw;
mod item;
mod runs;
mod step;

use super::Node;
use super::draw::{Draw, Mark};
use super::reference::References;
use item::{Item, Shape};
use runs::Bracket;

/// What inline content is read with.
#[derive(Debug, Clone, Copy)]
pub(super) struct With<'a> {
    pub(super) references: &'a References,
    pub(super) math: bool,
    /// Whether nothing will follow.
    pub(super) last: bool,
}

#[derive(Debug)]
pub(super) struct Inline {
    /// The block it is in.
    pub(super) node: Node,
    /// What has come, without the indentation of its lines.
    pub(super) source: String,
    /// Where in the source its content begins: behind definitions.
    pub(super) begin: usize,
    /// What lies behind may still be a table's head.
    pub(super) limit: Option<usize>,
    /// Names of references in it that are not defined; an empty one stands for all others.
    pub(super) wanted: Vec<String>,
    /// How much of the source has become items.
    at: usize,
    /// What waits is looked at again when the source is this long: growing steps keep
    /// the cost of waiting in proportion to the text.
    again: usize,
    /// Length of the run that began the open code span.
    code: usize,
    /// Where the last run of backticks of each length begins, once there is need to know.
    ticks: Option<Vec<usize>>,
    /// Text of items, decoded.
    plain: String,
    items: Vec<Item>,
    /// Items that are runs and may still open or close something.
    runs: Vec<usize>,
    brackets: Vec<Bracket>,
    /// How many items are drawn, and how far in `plain` the last one is.
    drawn: usize,
    part: usize,
    /// The first drawn item that has become something else.
    touched: Option<usize>,
    /// How deep in a picture drawing is.
    flat: u32,
    /// Where its node was opened.
    opened: Option<Mark>,
}

impl Inline {
    pub(super) fn new(node: Node) -> Self {
        Self {
            node,
            source: String::new(),
            begin: 0,
            limit: None,
            wanted: Vec::new(),
            at: 0,
            again: 0,
            code: 0,
            ticks: None,
            plain: String::new(),
            items: Vec::new(),
            runs: Vec::new(),
            brackets: Vec::new(),
            drawn: 0,
            part: 0,
            touched: None,
            flat: 0,
            opened: None,
        }
    }

    /// Its content begins behind this many bytes of the source.
    pub(super) fn skip_to(&mut self, begin: usize) {
        self.begin = begin;
        self.at = begin;
    }

    /// Whether what has become items lies before this place in the source.
    pub(super) fn is_before(&self, end: usize) -> bool {
        self.at <= end
    }

    /// Forgets what became of the source: it is read anew.
    pub(super) fn reset(&mut self, draw: &mut Draw) {
        self.vanish(draw);
        let mut fresh = Self::new(self.node.clone());
        fresh.source = std::mem::take(&mut self.source);
        fresh.skip_to(self.begin);
        *self = fresh;
    }

    /// Makes items of what is certain by now.
    pub(super) fn read(&mut self, with: With<'_>) {
        let end = if with.last { None } else { self.limit };
        let end = end.unwrap_or(self.source.len()).min(self.source.len());
        if !with.last && end < self.again {
            return;
        }
        let source = std::mem::take(&mut self.source);
        let text = source.get(..end).unwrap_or_default();
        let mut sure = true;
        while sure && self.at < end {
            sure = self.step(text, with);
        }
        if with.last {
            while self.code > 0 {
                self.give_up_code(text);
                while self.at < end {
                    self.step(text, with);
                }
            }
            self.settle_runs();
        }
        self.source = source;
        let waits = end - self.at;
        self.again = if sure { 0 } else { end + waits / 8 + 1 };
    }

    fn push(&mut self, shape: Shape) {
        self.items.push(Item { shape, mark: Mark::default(), parts: false, flat: 0 });
    }

    /// Text without a meaning of its own.
    fn push_text(&mut self, text: &str) {
        let start = self.plain.len();
        self.plain.push_str(text);
        let end = self.plain.len();
        match self.items.last_mut().map(|item| &mut item.shape) {
            Some(Shape::Text { end: last, .. }) if *last == start => *last = end,
            _ => self.push(Shape::Text { start, end }),
        }
    }

    /// A node with one text.
    fn push_leaf(&mut self, node: Node, text: &str) {
        let start = self.plain.len();
        self.plain.push_str(text);
        self.push(Shape::Leaf { node, start, end: self.plain.len() });
    }

    fn set_shape(&mut self, item: usize, shape: Shape) {
        if let Some(item) = self.items.get_mut(item) {
            item.shape = shape;
        }
        self.touch(item);
    }

    /// An item looks different from now on.
    fn touch(&mut self, item: usize) {
        if item < self.drawn {
            self.touched = Some(self.touched.map_or(item, |first| first.min(item)));
        }
    }
}
