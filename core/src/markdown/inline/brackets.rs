//! Code spans, and what a closing bracket makes of what is before it.

use super::super::reference::{self, tail};
use super::super::scan::{Ahead, between, byte, rest, run};
use super::item::{Shape, target};
use super::{Inline, With};

/// A block with more names that are not defined takes every definition for its own.
const MAX_WANTED: usize = 64;

impl Inline {
    /// A run of backticks: a code span begins, until it turns out that nothing ends it.
    pub(super) fn step_ticks(&mut self, text: &str, last: bool) -> bool {
        let length = run(text, self.at, b'`');
        let end = self.at + length;
        if end == text.len() && !last {
            return false;
        }
        if let Some(ticks) = &self.ticks
            && ticks.get(length).is_none_or(|&at| at < end)
        {
            return self.take(text, length);
        }
        self.code = length;
        self.at = end;
        let start = self.plain.len();
        self.push(Shape::Code { start, end: start, closed: false });
        true
    }

    pub(super) fn step_code(&mut self, text: &str, last: bool) -> bool {
        let until = rest(text, self.at).find(['`', '\n']).unwrap_or(text.len() - self.at);
        self.grow_code(between(text, self.at, self.at + until));
        self.at += until;
        match byte(text, self.at) {
            Some(b'\n') => {
                self.grow_code(" ");
                self.at += 1;
            }
            Some(_) => {
                let length = run(text, self.at, b'`');
                if self.at + length == text.len() && !last {
                    return false;
                }
                if length == self.code {
                    self.code = 0;
                    self.close_code();
                } else {
                    self.grow_code(between(text, self.at, self.at + length));
                }
                self.at += length;
            }
            None => {}
        }
        true
    }

    fn grow_code(&mut self, text: &str) {
        self.plain.push_str(text);
        let whole = self.plain.len();
        if let Some(Shape::Code { end, .. }) = self.items.last_mut().map(|item| &mut item.shape) {
            *end = whole;
        }
    }

    fn close_code(&mut self) {
        let number = self.items.len().saturating_sub(1);
        let plain = &self.plain;
        let Some(Shape::Code { start, end, closed }) = self.items.last_mut().map(|item| &mut item.shape)
        else {
            return;
        };
        *closed = true;
        let text = between(plain, *start, *end);
        if text.len() > 1
            && text.starts_with(' ')
            && text.ends_with(' ')
            && text.bytes().any(|byte| byte != b' ')
        {
            *start += 1;
            *end -= 1;
        } else if text.starts_with(' ') {
            self.touch(number);
        }
    }

    /// Nothing ends the code span: its backticks are text, and what follows them is read
    /// anew.
    pub(super) fn give_up_code(&mut self, text: &str) {
        let length = std::mem::take(&mut self.code);
        let number = self.items.len().saturating_sub(1);
        let Some(Shape::Code { start, end, .. }) = self.items.last().map(|item| &item.shape) else { return };
        let (start, read) = (*start, end - start);
        self.at = self.at.saturating_sub(read);
        self.plain.truncate(start);
        self.plain.push_str(between(text, self.at.saturating_sub(length), self.at));
        self.set_shape(number, Shape::Text { start, end: self.plain.len() });
        if self.ticks.is_none() {
            self.ticks = Some(last_ticks(text, self.at));
        }
    }

    pub(super) fn step_bracket(&mut self, text: &str, with: With<'_>) -> bool {
        let Some(bracket) = self.brackets.last() else { return self.take(text, 1) };
        let (label, image, nested) = (bracket.label, bracket.image, bracket.nested);
        if !bracket.active {
            self.pop_bracket();
            return self.take(text, 1);
        }
        let after = self.at + 1;
        if after == text.len() && !with.last {
            return false;
        }
        if byte(text, after) == Some(b'(') {
            match tail(text, after, with.last) {
                Ahead::Hold => return false,
                Ahead::No => {}
                Ahead::Yes(tail) => {
                    self.at = tail.after;
                    self.link_bracket(target(image, &tail.url, tail.title));
                    return true;
                }
            }
        }
        let own = between(text, label, self.at);
        let (name, end) = match reference::label(text, after, with.last) {
            Ahead::Hold => return false,
            Ahead::Yes(end) => (between(text, after + 1, end - 1), end),
            Ahead::No if byte(text, after) == Some(b'[') && byte(text, after + 1) == Some(b']') => {
                (own, after + 2)
            }
            Ahead::No => (own, after),
        };
        if (end == after || end == after + 2 && name == own) && nested {
            return self.no_link(text);
        }
        let name = reference::fold(name);
        match with.references.get(&name) {
            Some(found) => {
                self.at = end;
                self.link_bracket(target(image, &found.url, found.title.clone()));
                true
            }
            None => {
                self.want(name);
                self.no_link(text)
            }
        }
    }

    fn want(&mut self, name: String) {
        if self.wanted.len() == MAX_WANTED {
            self.wanted.push(String::new());
        } else if self.wanted.len() < MAX_WANTED && !name.is_empty() && !self.wanted.contains(&name) {
            self.wanted.push(name);
        }
    }

    fn no_link(&mut self, text: &str) -> bool {
        self.pop_bracket();
        self.take(text, 1)
    }
}

/// Where the last run of each length begins, from `at` on.
fn last_ticks(text: &str, at: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = at;
    while let Some(next) = rest(text, at).find('`') {
        at += next;
        let length = run(text, at, b'`');
        if found.len() <= length {
            found.resize(length + 1, 0);
        }
        if let Some(last) = found.get_mut(length) {
            *last = at;
        }
        at += length;
    }
    found
}
