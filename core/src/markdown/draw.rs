//! The writer of changes: knows how many children every open node has, so that any
//! place can be marked and gone back to.

use super::{Change, Node};

/// A place in what was drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    /// How many nodes were open.
    depth: usize,
    /// How many children the innermost had.
    keep: usize,
    /// Which node the innermost was.
    serial: u32,
}

#[derive(Debug)]
struct Level {
    children: usize,
    serial: u32,
}

/// The changes that nobody has taken yet, and the stack of open nodes.
#[derive(Debug)]
pub(super) struct Draw {
    changes: Vec<Change>,
    /// The message, and the open nodes in it.
    levels: Vec<Level>,
    serial: u32,
    /// Whether the last step was a text: the next one goes on in it.
    in_text: bool,
}

impl Draw {
    pub(super) fn new() -> Self {
        let message = Level { children: 0, serial: 0 };
        Self { changes: Vec::new(), levels: vec![message], serial: 0, in_text: false }
    }

    pub(super) fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    pub(super) fn open(&mut self, node: Node) {
        self.count();
        self.step(Change::Open(node));
        self.serial += 1;
        self.levels.push(Level { children: 0, serial: self.serial });
    }

    pub(super) fn close(&mut self) {
        self.step(Change::Close);
        if self.levels.len() > 1 {
            self.levels.pop();
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.in_text {
            if let Some(Change::Text(last)) = self.changes.last_mut() {
                last.push_str(text);
                return;
            }
        } else {
            self.count();
        }
        self.changes.push(Change::Text(text.to_owned()));
        self.in_text = true;
    }

    /// Ends the text, so that this place can be gone back to.
    pub(super) fn part(&mut self) {
        if self.in_text {
            let here = self.mark();
            self.cut(here);
        }
    }

    /// Whether a text would go on in the text before it: then this place is inside of it.
    pub(super) fn in_text(&self) -> bool {
        self.in_text
    }

    pub(super) fn mark(&self) -> Mark {
        let (keep, serial) = self.levels.last().map_or((0, 0), |level| (level.children, level.serial));
        Mark { depth: self.levels.len(), keep, serial }
    }

    /// Whether the node of this place is still open.
    pub(super) fn is_open(&self, mark: Mark) -> bool {
        let level = mark.depth.checked_sub(1).and_then(|at| self.levels.get(at));
        level.is_some_and(|level| level.serial == mark.serial)
    }

    /// Drops everything behind a place whose node is still open.
    pub(super) fn cut(&mut self, mark: Mark) {
        self.levels.truncate(mark.depth);
        if let Some(level) = self.levels.last_mut() {
            level.children = mark.keep;
        }
        self.step(Change::Cut { depth: mark.depth.saturating_sub(1), keep: mark.keep });
    }

    /// The list at this depth is loose.
    pub(super) fn loose(&mut self, depth: usize) {
        self.step(Change::Loose { depth });
    }

    pub(super) fn remember(&mut self, number: u32) {
        self.step(Change::Mark(number));
    }

    pub(super) fn go_back(&mut self, number: u32) {
        self.step(Change::Return(number));
        self.serial += 1;
        self.levels.push(Level { children: 0, serial: self.serial });
    }

    fn count(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.children += 1;
        }
    }

    fn step(&mut self, change: Change) {
        self.in_text = false;
        self.changes.push(change);
    }
}
