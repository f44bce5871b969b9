//! Answers as Markdown: what the deltas of one frame brought goes into a message's
//! document together, and its changes go to the drawer in JavaScript as one text.

use std::cell::{Cell, RefCell};

use mindset_core::json::digits;
use mindset_core::markdown::{Align, Change, Document, Node, Options};

/// The answers whose text is not all drawn.
#[derive(Default)]
pub(super) struct Answers {
    open: RefCell<Vec<Answer>>,
    drawer: Cell<Drawer>,
}

/// What draws answers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Drawer {
    /// It is being loaded: text waits.
    #[default]
    Coming,
    /// It is there.
    There,
    /// It could not be loaded: answers are plain paragraphs.
    Missing,
}

struct Answer {
    id: String,
    /// What no document has taken yet.
    text: String,
    ended: bool,
    /// From the first drawing on: `Some(None)` for plain paragraphs.
    document: Option<Option<Document>>,
}

/// What is to be drawn of one message.
pub(super) struct Drawing {
    pub(super) id: String,
    /// A program of the drawer, or with `plain` text.
    pub(super) program: String,
    pub(super) plain: bool,
    /// Nothing more comes.
    pub(super) ended: bool,
}

impl Answers {
    /// A message begins, or more of its text comes.
    pub(super) fn append(&self, id: &str, text: &str) {
        let mut open = self.open.borrow_mut();
        if let Some(answer) = open.iter_mut().rfind(|answer| answer.id == id) {
            return answer.text.push_str(text);
        }
        open.push(Answer { id: id.to_owned(), text: text.to_owned(), ended: false, document: None });
    }

    /// A message is whole.
    pub(super) fn end(&self, id: &str) {
        if let Some(answer) = self.open.borrow_mut().iter_mut().rfind(|answer| answer.id == id) {
            answer.ended = true;
        }
    }

    /// A message is gone.
    pub(super) fn remove(&self, id: &str) {
        self.open.borrow_mut().retain(|answer| answer.id != id);
    }

    /// All messages are gone.
    pub(super) fn clear(&self) {
        self.open.borrow_mut().clear();
    }

    /// What draws from now on.
    pub(super) fn set_drawer(&self, drawer: Drawer) {
        self.drawer.set(drawer);
    }

    /// Whether text waits for its drawer.
    pub(super) fn waits(&self) -> bool {
        self.drawer.get() == Drawer::Coming
    }

    /// Whether messages that begin now are plain paragraphs.
    pub(super) fn is_plain(&self) -> bool {
        self.drawer.get() == Drawer::Missing
    }

    /// Whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.open.borrow().is_empty()
    }

    /// What came since the last call. With `all`, nothing more comes of any message.
    // Not where it is called: that is in the first part of the module, and this in the later.
    #[inline(never)]
    pub(super) fn take(&self, all: bool) -> Vec<Drawing> {
        let mut drawings = Vec::new();
        let mut open = self.open.borrow_mut();
        if all {
            open.iter_mut().for_each(|answer| answer.ended = true);
        }
        if !self.waits() {
            let plain = self.is_plain();
            for answer in open.iter_mut().filter(|answer| answer.ended || !answer.text.is_empty()) {
                drawings.push(answer.draw(plain));
            }
            open.retain(|answer| !answer.ended);
        }
        drawings
    }
}

impl Answer {
    fn draw(&mut self, plain: bool) -> Drawing {
        let text = std::mem::take(&mut self.text);
        let new = || (!plain).then(|| Document::new(Options::default()));
        let document = self.document.get_or_insert_with(new);
        let (id, ended, plain) = (self.id.clone(), self.ended, document.is_none());
        let program = match document {
            Some(document) => program(document, &text, ended),
            None => text,
        };
        Drawing { id, program, plain, ended }
    }
}

/// The program that draws a whole message.
pub(super) fn whole(text: &str) -> String {
    program(&mut Document::new(Options::default()), text, true)
}

fn program(document: &mut Document, text: &str, ended: bool) -> String {
    document.push(text);
    if ended {
        document.finish();
    }
    let mut out = String::new();
    for change in document.take_changes() {
        write(&mut out, &change);
    }
    out
}

/// Each step is a letter and its values, and ends with U+0000, which is in no text.
fn write(out: &mut String, change: &Change) {
    match change {
        Change::Cut { depth, keep } => {
            step(out, "x", &digits(*depth as u64));
            step(out, "", &digits(*keep as u64));
        }
        Change::Open(node) => open(out, node),
        Change::Text(text) => step(out, "t", text),
        Change::Close => step(out, ".", ""),
        Change::Loose { depth } => step(out, "o", &digits(*depth as u64)),
        Change::Mark(number) => step(out, "m", &digits(u64::from(*number))),
        Change::Return(number) => step(out, "r", &digits(u64::from(*number))),
    }
}

fn open(out: &mut String, node: &Node) {
    let flag = |is: bool| if is { "1" } else { "" };
    match node {
        Node::Paragraph => step(out, "P", ""),
        Node::Heading(level) => step(out, "H", &digits(u64::from(*level))),
        Node::Quote => step(out, "Q", ""),
        Node::List { start: None, .. } => step(out, "L", ""),
        Node::List { start: Some(start), .. } => step(out, "L", &digits(u64::from(*start))),
        Node::Item { task } => step(out, "I", task.map_or("", |done| if done { "1" } else { "0" })),
        Node::Code { language } => step(out, "C", language.as_deref().unwrap_or_default()),
        Node::Rule => step(out, "R", ""),
        Node::Table { align } => {
            step(out, "T", "");
            out.pop();
            out.extend(align.iter().map(|align| letter(*align)));
            out.push('\0');
        }
        Node::Row { head } => step(out, "W", flag(*head)),
        Node::Cell => step(out, "D", ""),
        Node::Emphasis => step(out, "E", ""),
        Node::Strong => step(out, "S", ""),
        Node::Strike => step(out, "K", ""),
        Node::CodeSpan => step(out, "V", ""),
        Node::Link { url, title, host } => {
            step(out, "A", url);
            step(out, "", title);
            step(out, "", host.as_deref().unwrap_or_default());
        }
        Node::Image { url, title } => {
            step(out, "G", url);
            step(out, "", title);
        }
        Node::Break => step(out, "B", ""),
        Node::Math { display } => step(out, "M", flag(*display)),
    }
}

fn letter(align: Align) -> char {
    match align {
        Align::None => 'n',
        Align::Left => 'l',
        Align::Center => 'c',
        Align::Right => 'r',
    }
}

fn step(out: &mut String, name: &str, value: &str) {
    out.push_str(name);
    // No document holds U+0000; if one did, it would cost that character and no more.
    out.extend(value.split('\0'));
    out.push('\0');
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn drawn(answers: &Answers) -> Vec<(String, String)> {
        answers.take(false).into_iter().map(|drawing| (drawing.id, drawing.program)).collect()
    }

    #[test]
    fn text_waits_for_its_drawer_and_is_drawn_once() {
        let answers = Answers::default();
        answers.append("m", "a");
        answers.append("m", "b");
        assert!(drawn(&answers).is_empty());
        answers.set_drawer(Drawer::There);
        let both = [("m".to_owned(), "P\0tab\0".to_owned())];
        assert_eq!(drawn(&answers), both);
        assert!(drawn(&answers).is_empty());
        answers.end("m");
        assert_eq!(drawn(&answers), [("m".to_owned(), ".\0".to_owned())]);
        answers.append("m", "c");
        assert_eq!(drawn(&answers), [("m".to_owned(), "P\0tc\0".to_owned())]);
    }

    #[test]
    fn what_began_plain_stays_plain() {
        let answers = Answers::default();
        answers.set_drawer(Drawer::Missing);
        answers.append("m", "*a");
        answers.append("n", "");
        assert_eq!(drawn(&answers), [("m".to_owned(), "*a".to_owned())]);
        answers.set_drawer(Drawer::There);
        answers.append("m", "*");
        answers.append("n", "b");
        let plain: Vec<bool> = answers.take(true).iter().map(|drawing| drawing.plain).collect();
        assert_eq!(plain, [true, false]);
    }

    #[test]
    fn every_step_has_its_letter() {
        let mut out = String::new();
        let text = |text: &str| text.to_owned();
        for change in [
            Change::Cut { depth: 2, keep: 10 },
            Change::Open(Node::List { start: Some(3), tight: true }),
            Change::Open(Node::Item { task: Some(false) }),
            Change::Open(Node::Table { align: vec![Align::None, Align::Right] }),
            Change::Open(Node::Link { url: text("u"), title: text("t\0"), host: None }),
            Change::Text(text("a\0b")),
            Change::Close,
            Change::Loose { depth: 1 },
            Change::Mark(7),
            Change::Return(7),
        ] {
            write(&mut out, &change);
        }
        assert_eq!(out.replace('\0', "|"), "x2|10|L3|I0|Tnr|Au|t||tab|.|o1|m7|r7|");
    }
}
