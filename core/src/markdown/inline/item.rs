//! What inline text is made of, in the order of the source. Each item draws its own
//! part of the program; together they nest.

use super::super::draw::Mark;
use super::super::{Node, link};

#[derive(Debug)]
pub(super) struct Item {
    pub(super) shape: Shape,
    /// Where it was drawn.
    pub(super) mark: Mark,
    /// Whether drawing can begin anew at `mark`: not inside of a text.
    pub(super) parts: bool,
    /// How deep in a picture it was drawn, where only texts are.
    pub(super) flat: u32,
}

/// Ranges are of the decoded text.
#[derive(Debug)]
pub(super) enum Shape {
    Text {
        start: usize,
        end: usize,
    },
    /// Text that was held for a marker.
    Literal(&'static str),
    Run(Run),
    /// An open bracket: not shown until it is known what it begins.
    Bracket,
    Open(Node),
    Close,
    /// A node with one text.
    Leaf {
        node: Node,
        start: usize,
        end: usize,
    },
    /// A code span; until it is `closed` its text grows.
    Code {
        start: usize,
        end: usize,
        closed: bool,
    },
    Nothing,
}

/// A run of `*`, `_` or `~`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub(super) byte: u8,
    /// How long it is in the source.
    pub(super) length: usize,
    /// How many of its characters are not used up.
    pub(super) left: usize,
    pub(super) can_open: bool,
    pub(super) can_close: bool,
    /// Whether it may still open something.
    pub(super) waits: bool,
    /// How many nodes it closes.
    pub(super) closes: usize,
    /// What it opens, innermost first.
    pub(super) opens: Vec<Mood>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Emphasis,
    Strong,
    Strike,
}

impl Mood {
    pub(super) fn node(self) -> Node {
        match self {
            Self::Emphasis => Node::Emphasis,
            Self::Strong => Node::Strong,
            Self::Strike => Node::Strike,
        }
    }
}

impl Run {
    /// What is shown of a run that still waits: what it most likely opens. A single `~`
    /// is an "about" more often than anything else, and stays as it is.
    pub(super) fn guess(&self) -> &'static [Mood] {
        match (self.waits && self.can_open, self.byte, self.left) {
            (false, ..) => &[],
            (true, b'~', 2) => &[Mood::Strike],
            (true, b'~', _) => &[],
            (true, _, 1) => &[Mood::Emphasis],
            (true, _, 2) => &[Mood::Strong],
            (true, _, 3) => &[Mood::Emphasis, Mood::Strong],
            (true, ..) => &[],
        }
    }

    /// Whether both show the same.
    pub(super) fn looks_like(&self, other: &Self) -> bool {
        let opens = |run: &Self| {
            let known = run.opens.iter().rev().copied();
            run.guess().iter().copied().chain(known).collect::<Vec<_>>()
        };
        let literal = |run: &Self| if run.guess().is_empty() { run.left } else { 0 };
        self.closes == other.closes && literal(self) == literal(other) && opens(self) == opens(other)
    }

    /// Whether `self` may open what `closer` closes.
    pub(super) fn matches(&self, closer: &Self) -> bool {
        if self.byte != closer.byte || !self.can_open {
            return false;
        }
        if self.byte == b'~' {
            return self.left == closer.left;
        }
        let either = self.can_close || closer.can_open;
        let third = |length: usize| length.is_multiple_of(3);
        !(either && third(self.length + closer.length) && !(third(self.length) && third(closer.length)))
    }
}

/// A link or picture from its judged parts; `None` where only the label may be shown.
pub(super) fn target(image: bool, url: &str, title: String) -> Option<Node> {
    let judged = link::judge(url)?;
    match image {
        true if judged.is_mail() => None,
        true => Some(Node::Image { url: judged.url, title }),
        false => Some(Node::Link { url: judged.url, title, host: judged.host }),
    }
}
