//! Blocks: what the beginning of a line decides, and what stays open between lines.

mod cursor;
mod heading;
mod lines;
mod list;
mod paragraph;
mod plan;
mod table;

pub(super) use heading::Heading;
pub(super) use lines::{Fence, Lines};
pub(super) use list::Marker;
pub(super) use paragraph::Paragraph;
pub(super) use plan::{Plan, Start, To, plan};
pub(super) use table::Table;

use super::Node;
use super::draw::Draw;
use super::inline::{Inline, With};
use super::reference::References;

/// A block that holds blocks. Each is one node of the drawing.
#[derive(Debug)]
pub(super) enum Container {
    Quote,
    List {
        marker: Marker,
        loose: bool,
    },
    Item {
        /// How far its content is indented.
        indent: usize,
        /// Whether nothing is in it yet.
        empty: bool,
    },
}

/// The innermost open block, which holds text.
#[derive(Debug)]
pub(super) enum Leaf {
    None,
    Paragraph(Paragraph),
    Heading(Heading),
    /// Code or a formula in lines.
    Lines(Lines),
    Table(Table),
}

/// A finished block that names references which were not defined when it was drawn.
#[derive(Debug)]
struct Late {
    node: Node,
    source: String,
    wanted: Vec<String>,
}

/// What all blocks of a message share.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) draw: Draw,
    pub(super) references: References,
    pub(super) math: bool,
    late: Vec<Late>,
}

impl Page {
    pub(super) fn new(math: bool) -> Self {
        Self { draw: Draw::new(), references: References::default(), math, late: Vec::new() }
    }

    pub(super) fn with(&self, last: bool) -> With<'_> {
        With { references: &self.references, math: self.math, last }
    }

    /// Draws what is certain of open inline content.
    pub(super) fn show(&mut self, inline: &mut Inline) {
        inline.read(With { references: &self.references, math: self.math, last: false });
        inline.draw(&mut self.draw);
    }

    /// Draws inline content to its end.
    pub(super) fn close(&mut self, mut inline: Inline) {
        inline.read(self.with(true));
        inline.draw(&mut self.draw);
        if !inline.is_open() {
            return;
        }
        if !inline.wanted.is_empty() {
            self.draw.remember(u32::try_from(self.late.len()).unwrap_or(u32::MAX));
            let source = inline.source.split_off(inline.begin.min(inline.source.len()));
            self.late.push(Late { node: inline.node, source, wanted: inline.wanted });
        }
        self.draw.close();
    }

    /// Draws blocks anew whose references were defined behind them.
    pub(super) fn redraw(&mut self) {
        for (number, late) in std::mem::take(&mut self.late).into_iter().enumerate() {
            let defined = |name: &String| {
                if name.is_empty() {
                    !self.references.is_empty()
                } else {
                    self.references.get(name).is_some()
                }
            };
            if !late.wanted.iter().any(defined) {
                continue;
            }
            let mut inline = Inline::new(late.node);
            inline.source = late.source;
            inline.read(self.with(true));
            self.draw.go_back(u32::try_from(number).unwrap_or(u32::MAX));
            inline.draw_in_open(&mut self.draw);
            self.draw.close();
        }
    }
}

impl Leaf {
    pub(super) fn is_paragraph(&self) -> bool {
        matches!(self, Self::Paragraph(_))
    }

    /// More of its current line.
    pub(super) fn feed(&mut self, text: &str, page: &mut Page) {
        match self {
            Self::None => {}
            Self::Paragraph(paragraph) => paragraph.feed(text),
            Self::Heading(heading) => heading.feed(text),
            Self::Lines(_) => page.draw.text(text),
            Self::Table(table) => table.feed(text, page),
        }
    }

    /// Its current line is at its end. Gives whether it is still open.
    pub(super) fn end_line(&mut self, page: &mut Page) -> bool {
        match self {
            Self::None | Self::Paragraph(_) => true,
            Self::Heading(_) => false,
            Self::Lines(lines) => {
                lines.end_line();
                true
            }
            Self::Table(table) => {
                table.end_row(page);
                true
            }
        }
    }

    /// Draws what is certain.
    pub(super) fn show(&mut self, page: &mut Page) {
        match self {
            Self::None | Self::Lines(_) => {}
            Self::Paragraph(paragraph) => paragraph.show(page),
            Self::Heading(heading) => heading.show(page),
            Self::Table(table) => table.show(page),
        }
    }

    /// Nothing more comes.
    pub(super) fn close(&mut self, page: &mut Page) {
        match std::mem::replace(self, Self::None) {
            Self::None => {}
            Self::Paragraph(paragraph) => paragraph.close(page),
            Self::Heading(heading) => heading.close(page),
            Self::Lines(_) => page.draw.close(),
            Self::Table(mut table) => {
                table.end_row(page);
                page.draw.close();
            }
        }
    }
}
