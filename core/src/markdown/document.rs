//! The document: text in, changes out. Here lines are cut and their plans carried out.

use super::block::{Container, Heading, Leaf, Lines, Page, Paragraph, Plan, Start, To, plan};
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
    page: Page,
    containers: Vec<Container>,
    leaf: Leaf,
    /// The beginning of the current line, as long as it is not certain what it is.
    line: String,
    /// How long it must be to be looked at again.
    again: usize,
    /// Whether that is certain: then what comes goes to the leaf.
    sure: bool,
    after_return: bool,
    /// Whether the line before was blank and counts between items.
    blank: bool,
    finished: bool,
}

impl Document {
    /// An empty message.
    pub fn new(options: Options) -> Self {
        Self {
            page: Page::new(options.math),
            containers: Vec::new(),
            leaf: Leaf::None,
            line: String::new(),
            again: 0,
            sure: false,
            after_return: false,
            blank: false,
            finished: false,
        }
    }

    /// More of its text, cut anywhere between characters. Nothing after [`Self::finish`].
    pub fn push(&mut self, text: &str) {
        if self.finished {
            return;
        }
        let mut rest = text;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        }
        while let Some(end) = rest.find(['\n', '\r']) {
            let (line, more) = rest.split_at(end);
            self.more(line);
            self.end_line();
            rest = match more.strip_prefix("\r\n") {
                Some(more) => more,
                None => {
                    self.after_return = more == "\r";
                    more.get(1..).unwrap_or_default()
                }
            };
        }
        self.more(rest);
    }

    /// The text is at its end: everything that waited is settled.
    pub fn finish(&mut self) {
        if self.finished {
            return;
        }
        self.finished = true;
        if self.sure || !self.line.is_empty() {
            self.end_line();
        }
        self.leaf.close(&mut self.page);
        self.close_containers(0);
        self.page.redraw();
    }

    /// What to draw since the last call.
    pub fn take_changes(&mut self) -> Vec<Change> {
        self.leaf.show(&mut self.page);
        self.page.draw.take()
    }

    /// More of the current line.
    fn more(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let clean = text.contains('\0').then(|| text.replace('\0', "\u{fffd}"));
        let text = clean.as_deref().unwrap_or(text);
        if self.sure {
            return self.leaf.feed(text, &mut self.page);
        }
        self.line.push_str(text);
        if self.line.len() >= self.again {
            self.again = self.line.len() + self.line.len() / 8;
            self.begin_line(false);
        }
    }

    fn end_line(&mut self) {
        if !self.sure {
            self.begin_line(true);
        }
        if !self.leaf.end_line(&mut self.page) {
            self.leaf.close(&mut self.page);
        }
        self.sure = false;
        self.again = 0;
    }

    /// Does what the beginning of the line says, if that is certain.
    fn begin_line(&mut self, whole: bool) {
        let planned = plan(&self.line, whole, &self.containers, &mut self.leaf, &mut self.page);
        let Some(plan) = planned else { return };
        let line = std::mem::take(&mut self.line);
        self.sure = true;
        let text = line.get(plan.at..).unwrap_or_default();
        self.carry_out(plan, text);
    }

    fn carry_out(&mut self, plan: Plan, text: &str) {
        let Plan { matched, starts, to, pad, .. } = plan;
        match to {
            To::Continue => {
                if let Leaf::Paragraph(paragraph) = &mut self.leaf {
                    paragraph.next_line();
                    paragraph.feed(text);
                }
                self.blank = false;
            }
            To::Line => {
                let is_indent =
                    matches!(&self.leaf, Leaf::Lines(Lines { fence: super::block::Fence::Indent, .. }));
                let blank = text.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
                if let Leaf::Lines(lines) = &mut self.leaf {
                    lines.line(pad, blank.then_some(text), &mut self.page.draw);
                }
                self.blank = blank && is_indent;
                if !blank {
                    self.leaf.feed(text, &mut self.page);
                }
            }
            To::EndLines => {
                self.leaf.close(&mut self.page);
                self.blank = false;
            }
            To::Underline(level) => {
                if let Leaf::Paragraph(paragraph) = std::mem::replace(&mut self.leaf, Leaf::None) {
                    paragraph.close_as_heading(level, &mut self.page);
                }
            }
            To::Table(align) => {
                if let Leaf::Paragraph(paragraph) = std::mem::replace(&mut self.leaf, Leaf::None) {
                    self.leaf = Leaf::Table(paragraph.into_table(align, &mut self.page));
                }
            }
            To::Row => {
                if let Leaf::Table(table) = &mut self.leaf {
                    table.begin_row(false, &mut self.page);
                }
                self.leaf.feed(text, &mut self.page);
            }
            to => {
                self.leaf.close(&mut self.page);
                self.begin(matched, starts, to);
                if let Leaf::Lines(lines) = &mut self.leaf {
                    lines.line(pad, None, &mut self.page.draw);
                }
                self.leaf.feed(text, &mut self.page);
            }
        }
    }

    /// Closes what does not go on, and opens what begins.
    fn begin(&mut self, matched: usize, starts: Vec<Start>, to: To) {
        if matches!(to, To::Blank) && starts.is_empty() {
            self.close_containers(matched);
            self.blank = !matches!(self.containers.last(), Some(Container::Quote));
            return;
        }
        let between_items = matched.checked_sub(1).and_then(|last| self.containers.get(last));
        let goes_on = match (between_items, starts.first()) {
            (Some(Container::List { marker, .. }), Some(Start::Item(item))) => {
                marker.is_same_list(item.marker)
            }
            (Some(Container::List { .. }), _) => false,
            _ => true,
        };
        self.close_containers(if goes_on { matched } else { matched - 1 });
        for start in starts {
            self.start(start);
            self.blank = false;
        }
        if !matches!(to, To::Blank) {
            self.add_child();
        }
        self.blank = false;
        self.open_leaf(to);
    }

    fn start(&mut self, start: Start) {
        let item = match start {
            Start::Quote => {
                self.add_child();
                self.page.draw.open(Node::Quote);
                return self.containers.push(Container::Quote);
            }
            Start::Item(item) => item,
        };
        let last = self.containers.len().checked_sub(1);
        match last.and_then(|last| self.containers.get(last)) {
            Some(Container::List { marker, .. }) if marker.is_same_list(item.marker) => {
                if self.blank {
                    self.loosen(last.unwrap_or(0));
                }
            }
            _ => {
                self.add_child();
                self.page.draw.open(Node::List { start: item.marker.number, tight: true });
                self.containers.push(Container::List { marker: item.marker, loose: false });
            }
        }
        self.page.draw.open(Node::Item { task: item.task });
        self.containers.push(Container::Item { indent: item.indent, empty: true });
    }

    /// A block begins in the innermost container: behind a blank line it makes its list loose.
    fn add_child(&mut self) {
        let Some(last) = self.containers.len().checked_sub(1) else { return };
        if let Some(Container::Item { empty, .. }) = self.containers.get_mut(last) {
            let first = std::mem::replace(empty, false);
            if !first && self.blank {
                self.loosen(last - 1);
            }
        }
    }

    /// Containers are nodes: the one at `place` lies one deeper than that in the message.
    fn loosen(&mut self, place: usize) {
        if let Some(Container::List { loose, .. }) = self.containers.get_mut(place)
            && !std::mem::replace(loose, true)
        {
            self.page.draw.loose(place + 1);
        }
    }

    fn open_leaf(&mut self, to: To) {
        let draw = &mut self.page.draw;
        self.leaf = match to {
            To::Paragraph => Leaf::Paragraph(Paragraph::new()),
            To::Heading(level) => Leaf::Heading(Heading::new(level)),
            To::Lines(fence, language) => Leaf::Lines(Lines::open(fence, language, draw)),
            To::Rule => {
                draw.open(Node::Rule);
                draw.close();
                Leaf::None
            }
            _ => Leaf::None,
        };
    }

    fn close_containers(&mut self, keep: usize) {
        while self.containers.len() > keep {
            self.containers.pop();
            self.page.draw.close();
        }
    }
}
