//! One message of the transcript. Its text is split at blank lines into one
//! element per paragraph: only the last one changes while the answer streams in,
//! so the cost of a delta does not grow with the answer, and a selection in a
//! finished paragraph survives.

use std::cell::{Cell, RefCell};

use mindset_core::event::{Author, MessageStatus};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{HtmlElement, Text};

use super::node::{add, document, make, set};

/// A message and its nodes.
pub(super) struct Row {
    /// The message.
    pub(super) id: String,
    /// Who wrote it.
    pub(super) role: Author,
    /// Its outermost node.
    pub(super) element: HtmlElement,
    body: HtmlElement,
    status: RefCell<Option<HtmlElement>>,
    tail: RefCell<Option<Text>>,
    /// Line ends seen and not written: they may become a blank line.
    breaks: Cell<u32>,
}

impl Row {
    /// A message without text.
    pub(super) fn new(id: String, role: Author) -> Result<Row, JsValue> {
        let element = make(match role {
            Author::User => "article|part=message message--user|class=row|aria-label=You",
            Author::Assistant => "article|part=message message--assistant|class=row|aria-label=Assistant",
        })?;
        set(&element, "data-role", role.as_str());
        set(&element, "data-message-id", &id);
        let body = add(&element, "div|part=message__body|class=body|dir=auto")?;
        Ok(Row {
            id,
            role,
            element,
            body,
            status: RefCell::new(None),
            tail: RefCell::new(None),
            breaks: Cell::new(0),
        })
    }

    /// Adds text at the end.
    pub(super) fn write(&self, text: &str) {
        let mut piece = String::new();
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.breaks.set(self.breaks.get() + 1);
            }
            let line = line.trim_matches('\r');
            if line.is_empty() {
                continue;
            }
            match self.breaks.replace(0) {
                breaks if breaks > 1 || (self.tail.borrow().is_none() && piece.is_empty()) => {
                    self.put(&piece);
                    piece.clear();
                    self.open_paragraph();
                }
                1 => piece.push('\n'),
                _ => {}
            }
            piece.push_str(line);
        }
        self.put(&piece);
    }

    /// Shows how the message ended.
    pub(super) fn set_status(&self, status: Option<MessageStatus>) {
        if let Some(old) = self.status.take() {
            old.remove();
        }
        let Some(status) = status else { return };
        if let Ok(line) = add(&self.element, "p|part=message__status|class=status") {
            set(&line, "data-status", status.as_str());
            line.set_text_content(Some(match (status, self.role) {
                (MessageStatus::Stopped, _) => "Stopped",
                (MessageStatus::Interrupted, _) => "Interrupted",
                (MessageStatus::Error, Author::User) => "Not answered",
                (MessageStatus::Error, Author::Assistant) => "Incomplete",
            }));
            self.status.replace(Some(line));
        }
    }

    /// The text as it stands.
    pub(super) fn text(&self) -> String {
        self.body.text_content().unwrap_or_default()
    }

    fn put(&self, piece: &str) {
        if let Some(tail) = self.tail.borrow().as_ref()
            && !piece.is_empty()
        {
            let _ = tail.append_data(piece);
        }
    }

    fn open_paragraph(&self) {
        let made = add(&self.body, "p").and_then(|paragraph| {
            let text = document()?.create_text_node("");
            paragraph.append_child(&text)?;
            Ok(text.unchecked_into())
        });
        self.tail.replace(made.ok());
    }
}

#[cfg(test)]
#[cfg(target_arch = "wasm32")]
mod tests {
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn paragraphs(row: &Row) -> Vec<String> {
        let list = row.body.children();
        (0..list.length()).filter_map(|at| list.item(at)?.text_content()).collect()
    }

    #[test]
    fn blank_lines_part_paragraphs_at_every_split() {
        let text = "\nfirst\n  indented \u{1F642}\n\n\nsecond\r\n\r\nthird\n";
        let wanted = ["first\n  indented \u{1F642}", "second", "third"];
        for (at, _) in text.char_indices() {
            let row = Row::new("m".into(), Author::Assistant).unwrap();
            row.write(&text[..at]);
            row.write(&text[at..]);
            assert_eq!(paragraphs(&row), wanted, "split at {at}");
        }
    }

    #[test]
    fn a_finished_paragraph_keeps_its_node() {
        let row = Row::new("m".into(), Author::Assistant).unwrap();
        row.write("one\n\ntwo");
        let first = row.body.first_element_child().unwrap();
        row.write(" more\n\nthree");
        assert_eq!(row.body.first_element_child(), Some(first));
        assert_eq!(paragraphs(&row), ["one", "two more", "three"]);
    }

    #[test]
    fn markup_is_text() {
        let row = Row::new("m".into(), Author::User).unwrap();
        row.write("<img src=x onerror=alert(1)>");
        assert_eq!(row.text(), "<img src=x onerror=alert(1)>");
        assert_eq!(row.element.query_selector("img").unwrap(), None);
    }
}
