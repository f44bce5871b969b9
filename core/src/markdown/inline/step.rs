//! One step through the source: what begins here?

use super::super::scan::{Ahead, between, byte, is_punctuation, is_wide, is_wide_space, rest, run};
use super::super::{Node, autolink, entity, math};
use super::item::{Run, Shape};
use super::{Inline, With};

/// Bytes that may begin something; everything else is text.
const SPECIAL: &[u8] = b"\\`*_~[]!<&\n \t$@(";

impl Inline {
    /// Makes an item of what begins here; `false` where that is not certain yet.
    pub(super) fn step(&mut self, text: &str, with: With<'_>) -> bool {
        if self.code > 0 {
            return self.step_code(text, with.last);
        }
        let Some(next) = byte(text, self.at) else { return false };
        match next {
            b'\\' => self.step_escape(text, with),
            b'`' => self.step_ticks(text, with.last),
            b'*' | b'_' | b'~' => self.step_run(text, next, with.last),
            b'[' => {
                self.at += 1;
                self.push_bracket(self.at, false);
                true
            }
            b']' => self.step_bracket(text, with),
            b'!' => self.step_image(text, with.last),
            b'<' => self.step_angle(text, with.last),
            b'&' => self.step_entity(text, with.last),
            b' ' | b'\t' | b'\n' => self.step_space(text, with.last),
            b'$' if with.math => self.step_math(text, with.last),
            b'@' => self.step_mail(text, with.last),
            b'h' | b'H' | b'w' | b'W' if autolink::may_begin(between(text, self.begin, self.at)) => {
                self.step_autolink(text, with.last)
            }
            _ => self.step_text(text),
        }
    }

    /// Takes so many bytes as text.
    pub(super) fn take(&mut self, text: &str, length: usize) -> bool {
        self.push_text(between(text, self.at, self.at + length));
        self.at += length;
        true
    }

    fn step_text(&mut self, text: &str) -> bool {
        let mut bytes = rest(text, self.at).bytes();
        if bytes.next().is_some_and(|first| SPECIAL.contains(&first)) {
            return self.take(text, 1);
        }
        let more = bytes.take_while(|byte| !SPECIAL.contains(byte)).count();
        self.take(text, 1 + more)
    }

    fn step_escape(&mut self, text: &str, with: With<'_>) -> bool {
        match byte(text, self.at + 1) {
            None if with.last => self.take(text, 1),
            None => false,
            Some(b'\n') => {
                self.at = skip_indent(text, self.at + 2);
                self.push_leaf(Node::Break, "");
                true
            }
            Some(b'(' | b'[') if with.math => match math::bracketed(text, self.at, with.last) {
                Ahead::Hold => false,
                Ahead::Yes(found) => self.push_math(text, found),
                Ahead::No => {
                    self.at += 1;
                    self.take(text, 1)
                }
            },
            Some(next) if next.is_ascii_punctuation() => {
                self.at += 1;
                self.take(text, 1)
            }
            Some(_) => self.take(text, 1),
        }
    }

    fn step_run(&mut self, text: &str, one: u8, last: bool) -> bool {
        let length = run(text, self.at, one);
        let end = self.at + length;
        let after = match rest(text, end).chars().next() {
            None if !last => return false,
            after => after.unwrap_or('\n'),
        };
        let before = between(text, self.begin, self.at).chars().next_back().unwrap_or('\n');
        let space = (is_wide_space(before), is_wide_space(after));
        // Wide characters end a word as spaces do, or else `**so：**` would be none.
        let inside = one == b'_';
        let wide = (!inside && is_wide(before), !inside && is_wide(after));
        let mark = (!wide.0 && is_punctuation(before), !wide.1 && is_punctuation(after));
        let left = !space.1 && (!mark.1 || space.0 || mark.0 || wide.0);
        let right = !space.0 && (!mark.0 || space.1 || mark.1 || wide.1);
        self.at = end;
        self.push_run(Run {
            byte: one,
            length,
            left: length,
            can_open: left && (!inside || !right || mark.0),
            can_close: right && (!inside || !left || mark.1),
            waits: true,
            closes: 0,
            opens: Vec::new(),
        });
        true
    }

    fn step_image(&mut self, text: &str, last: bool) -> bool {
        match byte(text, self.at + 1) {
            None if !last => false,
            Some(b'[') => {
                self.at += 2;
                self.push_bracket(self.at, true);
                true
            }
            _ => self.take(text, 1),
        }
    }

    /// Spaces before a line break are part of it; at the end they are nothing.
    fn step_space(&mut self, text: &str, last: bool) -> bool {
        let blank = rest(text, self.at).bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let end = self.at + blank;
        match byte(text, end) {
            None if last => self.at = end,
            None => return false,
            Some(b'\n') => {
                let hard = between(text, self.at, end).ends_with("  ");
                self.at = skip_indent(text, end + 1);
                if hard {
                    self.push_leaf(Node::Break, "");
                } else {
                    self.push_text("\n");
                }
            }
            Some(_) => return self.take(text, blank),
        }
        true
    }

    fn step_entity(&mut self, text: &str, last: bool) -> bool {
        match entity::read(rest(text, self.at), last) {
            Ahead::Hold => false,
            Ahead::No => self.take(text, 1),
            Ahead::Yes((length, decoded)) => {
                self.push_text(&decoded);
                self.at += length;
                true
            }
        }
    }

    fn step_math(&mut self, text: &str, last: bool) -> bool {
        match math::dollars(text, self.begin, self.at, last) {
            Ahead::Hold => false,
            Ahead::Yes(found) => self.push_math(text, found),
            Ahead::No => {
                let length = run(text, self.at, b'$');
                self.take(text, length)
            }
        }
    }

    fn push_math(&mut self, text: &str, found: math::Found) -> bool {
        self.push_leaf(Node::Math { display: found.display }, between(text, found.start, found.end));
        self.at = found.after;
        true
    }

    fn step_angle(&mut self, text: &str, last: bool) -> bool {
        match autolink::angle(text, self.at, last) {
            Ahead::Hold => false,
            Ahead::No => self.take(text, 1),
            Ahead::Yes(found) => self.push_autolink(text, &found),
        }
    }

    fn step_autolink(&mut self, text: &str, last: bool) -> bool {
        // As everywhere, no links in what may be a link's label.
        let found = if self.active().is_some() { Ahead::No } else { autolink::address(text, self.at, last) };
        match found {
            Ahead::Hold => false,
            Ahead::No => self.step_text(text),
            Ahead::Yes(found) => self.push_autolink(text, &found),
        }
    }

    fn step_mail(&mut self, text: &str, last: bool) -> bool {
        if self.active().is_some() {
            return self.take(text, 1);
        }
        let local = match self.items.last().map(|item| &item.shape) {
            Some(Shape::Text { start, end }) => autolink::local_part(between(&self.plain, *start, *end)),
            _ => 0,
        };
        let domain = if local == 0 { Ahead::No } else { autolink::mail_domain(text, self.at + 1, last) };
        match domain {
            Ahead::Hold => false,
            Ahead::No => self.take(text, 1),
            Ahead::Yes(end) => {
                let start = self.at.saturating_sub(local);
                let same = between(text, start, self.at);
                if same.len() != local || !self.plain.ends_with(same) || !self.shorten(local) {
                    return self.take(text, 1);
                }
                let address = between(text, start, end);
                self.push_link("mailto:", address, address);
                self.at = end;
                true
            }
        }
    }

    fn push_autolink(&mut self, text: &str, found: &autolink::Found) -> bool {
        let label = between(text, found.start, found.end);
        self.push_link(found.prefix, label, label);
        self.at = found.after;
        true
    }

    fn push_link(&mut self, prefix: &str, url: &str, label: &str) {
        let mut whole = prefix.to_owned();
        whole.push_str(url);
        match super::item::target(false, &whole, String::new()) {
            Some(node) => {
                self.push(Shape::Open(node));
                self.push_text(label);
                self.push(Shape::Close);
            }
            None => self.push_text(label),
        }
    }

    /// Takes so many bytes from the end of the last item, a text.
    fn shorten(&mut self, length: usize) -> bool {
        let Some(number) = self.items.len().checked_sub(1) else { return false };
        let Some(Shape::Text { end, .. }) = self.items.last_mut().map(|item| &mut item.shape) else {
            return false;
        };
        *end = end.saturating_sub(length);
        let end = *end;
        if self.drawn > number && self.part > end {
            self.touch(number);
        }
        true
    }
}

fn skip_indent(text: &str, at: usize) -> usize {
    super::super::scan::skip_blank(text, at)
}
