//! References: definitions, their names, and the part of a link behind its label.

use std::collections::BTreeMap;

use super::scan::{Ahead, between, byte, is_space, rest, skip_blank, skip_space, unescape};

/// Names are no longer than this, in bytes.
const MAX_NAME: usize = 999;

/// Brackets in an address nest no deeper.
const MAX_NESTED: usize = 32;

/// Where a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) url: String,
    pub(super) title: String,
}

/// What was defined so far.
#[derive(Debug, Default)]
pub(super) struct References(BTreeMap<String, Target>);

impl References {
    pub(super) fn get(&self, name: &str) -> Option<&Target> {
        self.0.get(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first definition of a name counts.
    fn define(&mut self, name: String, target: Target) {
        self.0.entry(name).or_insert(target);
    }

    /// Reads a definition at the beginning of a paragraph; gives where it ends.
    pub(super) fn read(&mut self, text: &str, last: bool) -> Ahead<usize> {
        let end = match label(text, 0, last) {
            Ahead::Yes(end) => end,
            Ahead::No => return Ahead::No,
            Ahead::Hold => return Ahead::Hold,
        };
        match byte(text, end) {
            None => return Ahead::end(last),
            Some(b':') => {}
            Some(_) => return Ahead::No,
        }
        let name = fold(between(text, 1, end - 1));
        match definition(text, skip_space(text, end + 1), last) {
            Ahead::Yes((target, end)) if !name.is_empty() => {
                self.define(name, target);
                Ahead::Yes(end)
            }
            Ahead::Yes(_) | Ahead::No => Ahead::No,
            Ahead::Hold => Ahead::Hold,
        }
    }
}

/// Behind the colon: an address, and perhaps a title, alone on their lines.
fn definition(text: &str, at: usize, last: bool) -> Ahead<(Target, usize)> {
    if at == text.len() {
        return Ahead::end(last);
    }
    let (url, end) = match address(text, at, last) {
        Ahead::Yes(found) => found,
        Ahead::No => return Ahead::No,
        // An address may end with the text.
        Ahead::Hold if last => return Ahead::No,
        Ahead::Hold => return Ahead::Hold,
    };
    if end == at {
        return Ahead::No;
    }
    let bare = line_end(text, end);
    let start = skip_space(text, end);
    let plain = || Target { url: url.clone(), title: String::new() };
    if start == text.len() && !last {
        return Ahead::Hold;
    }
    if start > end {
        match title(text, start, last) {
            Ahead::Hold => return Ahead::Hold,
            Ahead::Yes((_, after)) if skip_blank(text, after) == text.len() && !last => return Ahead::Hold,
            Ahead::Yes((title, after)) => match line_end(text, after) {
                None => {}
                Some(after) => return Ahead::Yes((Target { url, title }, after)),
            },
            Ahead::No => {}
        }
    }
    bare.map_or(Ahead::No, |after| Ahead::Yes((plain(), after)))
}

/// Where the next line begins, if only blanks are before it; the end counts as one.
fn line_end(text: &str, at: usize) -> Option<usize> {
    let at = skip_blank(text, at);
    match byte(text, at) {
        None => Some(at),
        Some(b'\n') => Some(at + 1),
        Some(_) => None,
    }
}

/// The end of a name in brackets that begins at `at`.
pub(super) fn label(text: &str, at: usize, last: bool) -> Ahead<usize> {
    match byte(text, at) {
        None => return Ahead::end(last),
        Some(b'[') => {}
        Some(_) => return Ahead::No,
    }
    let mut escaped = false;
    let mut blank = true;
    for (read, next) in rest(text, at + 1).bytes().enumerate() {
        match next {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'[' => return Ahead::No,
            b']' if blank => return Ahead::No,
            b']' => return Ahead::Yes(at + read + 2),
            _ => {}
        }
        blank &= is_space(next);
        if read >= MAX_NAME {
            return Ahead::No;
        }
    }
    Ahead::end(last)
}

/// The part of a link from its round bracket on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) url: String,
    pub(super) title: String,
    /// Behind the closing bracket.
    pub(super) after: usize,
}

/// Reads `(address "title")`.
pub(super) fn tail(text: &str, at: usize, last: bool) -> Ahead<Tail> {
    let start = skip_space(text, at + 1);
    if start == text.len() {
        return Ahead::end(last);
    }
    let (url, end) = match address(text, start, last) {
        Ahead::Yes(found) => found,
        Ahead::No => return Ahead::No,
        Ahead::Hold => return Ahead::end(last),
    };
    let mut after = skip_space(text, end);
    let mut words = String::new();
    if after > end && !matches!(byte(text, after), None | Some(b')')) {
        match title(text, after, last) {
            Ahead::Yes((found, end)) => {
                words = found;
                after = skip_space(text, end);
            }
            Ahead::No => return Ahead::No,
            Ahead::Hold => return Ahead::Hold,
        }
    }
    match byte(text, after) {
        None => Ahead::end(last),
        Some(b')') => Ahead::Yes(Tail { url, title: words, after: after + 1 }),
        Some(_) => Ahead::No,
    }
}

/// An address, in angle brackets or up to white space. At the end of the text it is not
/// whole unless this is `last`.
fn address(text: &str, at: usize, last: bool) -> Ahead<(String, usize)> {
    if byte(text, at) == Some(b'<') {
        let mut escaped = false;
        for (read, next) in rest(text, at + 1).bytes().enumerate() {
            match next {
                b'\n' => return Ahead::No,
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'<' => return Ahead::No,
                b'>' => return Ahead::Yes((unescape(between(text, at + 1, at + 1 + read)), at + read + 2)),
                _ => {}
            }
        }
        return Ahead::end(last);
    }
    let mut nested = 0_usize;
    let mut escaped = false;
    for (read, next) in rest(text, at).bytes().enumerate() {
        let end = at + read;
        match next {
            b' ' | 0..=0x1f | 0x7f => return bare(text, at, end, nested),
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'(' if nested == MAX_NESTED => return Ahead::No,
            b'(' => nested += 1,
            b')' if nested == 0 => return bare(text, at, end, nested),
            b')' => nested -= 1,
            _ => {}
        }
    }
    if last { bare(text, at, text.len(), nested) } else { Ahead::Hold }
}

fn bare(text: &str, start: usize, end: usize, nested: usize) -> Ahead<(String, usize)> {
    if nested > 0 {
        return Ahead::No;
    }
    Ahead::Yes((unescape(between(text, start, end)), end))
}

/// A title in quotes or round brackets, and where it ends.
fn title(text: &str, at: usize, last: bool) -> Ahead<(String, usize)> {
    let close = match byte(text, at) {
        None => return Ahead::end(last),
        Some(b'(') => b')',
        Some(quote @ (b'"' | b'\'')) => quote,
        Some(_) => return Ahead::No,
    };
    let mut escaped = false;
    for (read, next) in rest(text, at + 1).bytes().enumerate() {
        match next {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if next == close => {
                return Ahead::Yes((unescape(between(text, at + 1, at + 1 + read)), at + read + 2));
            }
            b'(' if close == b')' => return Ahead::No,
            _ => {}
        }
    }
    Ahead::end(last)
}

/// A name as names are compared: without regard to case and to how much white space
/// parts its words. Empty when it cannot be one.
pub(super) fn fold(name: &str) -> String {
    let mut out = String::new();
    if name.len() > MAX_NAME {
        return out;
    }
    for word in name.split([' ', '\t', '\n']).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        word.chars().for_each(|char| fold_char(char, &mut out));
    }
    out
}

/// Case of Latin, Greek, Cyrillic and Armenian; the whole table of Unicode would cost
/// every visitor more than it is worth.
fn fold_char(char: char, out: &mut String) {
    let code = u32::from(char);
    let low = match code {
        0x41..=0x5a | 0xc0..=0xd6 | 0xd8..=0xde | 0x391..=0x3a9 | 0x410..=0x42f => code + 0x20,
        0xdf | 0x1e9e => return out.push_str("ss"),
        0x3c2 => 0x3c3,
        0x400..=0x40f => code + 0x50,
        0x531..=0x556 => code + 0x30,
        0x139..=0x148 | 0x179..=0x17e => code + code % 2,
        0x100..=0x12f | 0x132..=0x137 | 0x14a..=0x177 | 0x1e00..=0x1e95 | 0x1ea0..=0x1eff => code | 1,
        0x460..=0x481 | 0x48a..=0x4bf | 0x4d0..=0x52f => code | 1,
        0x386 => 0x3ac,
        0x388..=0x38a => code + 0x25,
        0x38c => 0x3cc,
        0x38e | 0x38f => code + 0x3f,
        _ => code,
    };
    out.push(char::from_u32(low).unwrap_or(char));
}
