//! Drawing the items of inline content.

use super::super::Node;
use super::super::draw::Draw;
use super::item::{Item, Shape};
use super::{Inline, item};

impl Inline {
    /// Draws what is new or has changed.
    pub(in super::super) fn draw(&mut self, draw: &mut Draw) {
        self.go_back(draw);
        if self.opened.is_none() && !self.items.is_empty() {
            self.open(draw);
        }
        self.go_on(draw);
        let mut items = std::mem::take(&mut self.items);
        for item in items.iter_mut().skip(self.drawn) {
            item.parts = true;
            item.mark = draw.mark();
            item.flat = self.flat;
            self.draw_item(item, draw);
        }
        self.drawn = items.len();
        self.items = items;
    }

    /// Draws everything into the node that is open, where nothing is drawn yet.
    pub(in super::super) fn draw_in_open(&mut self, draw: &mut Draw) {
        self.opened = Some(draw.mark());
        self.draw(draw);
    }

    /// Opens the block, if it is not open.
    pub(in super::super) fn open(&mut self, draw: &mut Draw) {
        if self.opened.is_none() {
            self.opened = Some(draw.mark());
            draw.open(self.node.clone());
        }
    }

    /// Whether anything of the block is drawn.
    pub(in super::super) fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// The block becomes another one, with the same content.
    pub(in super::super) fn turn_into(&mut self, node: Node, draw: &mut Draw) {
        self.vanish(draw);
        self.node = node;
    }

    /// Nothing of the block is drawn any more.
    pub(in super::super) fn vanish(&mut self, draw: &mut Draw) {
        if let Some(mark) = self.opened.take() {
            draw.cut(mark);
        }
        self.drawn = 0;
        self.part = 0;
        self.flat = 0;
        self.touched = None;
    }

    /// Drops what is drawn from the first touched item on.
    fn go_back(&mut self, draw: &mut Draw) {
        let Some(mut first) = self.touched.take() else { return };
        while let Some(item) = self.items.get(first) {
            if first == 0 || (item.parts && draw.is_open(item.mark)) {
                draw.cut(item.mark);
                self.flat = item.flat;
                self.drawn = first;
                // The item before is whole: it was not the last.
                self.part = usize::MAX;
                return;
            }
            first -= 1;
        }
    }

    /// The last drawn item may have grown.
    fn go_on(&mut self, draw: &mut Draw) {
        let Some(item) = self.drawn.checked_sub(1).and_then(|last| self.items.get(last)) else { return };
        match item.shape {
            Shape::Text { end, .. } => {
                draw.text(self.plain.get(self.part..end).unwrap_or_default());
                self.part = end;
            }
            Shape::Code { start, end, closed } => {
                let end = self.sure_code(start, end, closed);
                draw.text(self.plain.get(self.part..end).unwrap_or_default());
                self.part = self.part.max(end);
                if closed && self.part != usize::MAX {
                    self.part = usize::MAX;
                    self.leave(draw);
                }
            }
            _ => {}
        }
    }

    fn draw_item(&mut self, item: &mut Item, draw: &mut Draw) {
        let inside = draw.in_text();
        match &item.shape {
            Shape::Text { start, end } => {
                item.parts = !inside;
                draw.text(self.plain.get(*start..*end).unwrap_or_default());
                self.part = *end;
            }
            Shape::Literal(text) => {
                item.parts = !inside;
                draw.text(text);
            }
            Shape::Bracket => draw.part(),
            Shape::Nothing => item.parts = !inside,
            Shape::Run(run) => {
                item.parts = !inside || run.closes > 0 || run.left == 0 || !run.guess().is_empty();
                self.draw_run(run, draw);
            }
            Shape::Open(node) => self.enter(node, draw),
            Shape::Close => self.leave(draw),
            Shape::Leaf { node: Node::Break, .. } if self.flat > 0 => {
                item.parts = !inside;
                draw.text("\n");
            }
            Shape::Leaf { node, start, end } => {
                let text = self.plain.get(*start..*end).unwrap_or_default().to_owned();
                item.parts = self.flat == 0 || !inside;
                self.enter(node, draw);
                draw.text(&text);
                self.leave(draw);
            }
            Shape::Code { start, end, closed } => {
                item.parts = self.flat == 0 || !inside;
                self.enter(&Node::CodeSpan, draw);
                let end = self.sure_code(*start, *end, *closed);
                let start = if *closed { *start } else { self.code_start(*start) };
                draw.text(self.plain.get(start..end).unwrap_or_default());
                self.part = start.max(end);
                if *closed {
                    self.part = usize::MAX;
                    self.leave(draw);
                }
            }
        }
    }

    fn draw_run(&mut self, run: &item::Run, draw: &mut Draw) {
        for _ in 0..run.closes {
            self.leave(draw);
        }
        let guess = run.guess();
        if guess.is_empty() {
            for _ in 0..run.left {
                draw.text(char::from(run.byte).encode_utf8(&mut [0; 4]));
            }
        }
        for mood in guess.iter().chain(run.opens.iter().rev()) {
            self.enter(&mood.node(), draw);
        }
    }

    /// Opens a node; in a picture there are only texts.
    fn enter(&mut self, node: &Node, draw: &mut Draw) {
        if self.flat > 0 {
            self.flat += 1;
            return;
        }
        draw.open(node.clone());
        self.flat = u32::from(matches!(node, Node::Image { .. }));
    }

    fn leave(&mut self, draw: &mut Draw) {
        self.flat = self.flat.saturating_sub(1);
        if self.flat == 0 {
            draw.close();
        }
    }

    /// Up to where the text of a code span is certain: a space at its end may be its padding.
    fn sure_code(&self, start: usize, end: usize, closed: bool) -> usize {
        match self.plain.get(start..end) {
            Some(text) if !closed && text.ends_with(' ') => end - 1,
            _ => end,
        }
    }

    fn code_start(&self, start: usize) -> usize {
        let text = self.plain.get(start..).unwrap_or_default();
        start + usize::from(text.starts_with(' '))
    }
}
