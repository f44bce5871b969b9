//! Formulas in a line. Dollars are money more often than not, so they begin a formula
//! only where it looks like one.

use super::scan::{Ahead, between, byte, rest, run};

/// A formula between single dollars is no longer than this, in bytes.
const MAX_INLINE: usize = 500;

/// Nor is one between other delimiters.
const MAX_DISPLAY: usize = 8000;

/// Where a formula lies.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) display: bool,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Behind its delimiter.
    pub(super) after: usize,
}

/// `$…$` or `$$…$$` that begins at `at`.
pub(super) fn dollars(text: &str, begin: usize, at: usize, last: bool) -> Ahead<Found> {
    match run(text, at, b'$') {
        length if at + length == text.len() && !last => Ahead::Hold,
        1 => single(text, begin, at, last),
        2 => double(text, at, last),
        _ => Ahead::No,
    }
}

fn double(text: &str, at: usize, last: bool) -> Ahead<Found> {
    let start = at + 2;
    let body = rest(text, start);
    match body.find("$$") {
        Some(length) if length <= MAX_DISPLAY && !between(body, 0, length).trim().is_empty() => {
            Ahead::Yes(Found { display: true, start, end: start + length, after: start + length + 2 })
        }
        None if body.len() <= MAX_DISPLAY => Ahead::end(last),
        _ => Ahead::No,
    }
}

/// Neither money nor prose: it begins and ends with no white space, holds no words
/// outside of braces, lies in one line, and no letter or digit touches it.
fn single(text: &str, begin: usize, at: usize, last: bool) -> Ahead<Found> {
    let start = at + 1;
    let before = between(text, begin, at).chars().next_back();
    if before.is_some_and(|char| char.is_ascii_alphanumeric() || char == '\\') {
        return Ahead::No;
    }
    let mut reader = Reader::default();
    for (read, next) in rest(text, start).bytes().enumerate().take(MAX_INLINE) {
        if read == 0 && matches!(next, b' ' | b'\t') {
            return Ahead::No;
        }
        match reader.take(next) {
            Some(true) => return closed(text, start, start + read, last),
            Some(false) => return Ahead::No,
            None => {}
        }
    }
    if text.len() - start >= MAX_INLINE { Ahead::No } else { Ahead::end(last) }
}

fn closed(text: &str, start: usize, end: usize, last: bool) -> Ahead<Found> {
    if matches!(byte(text, end - 1), Some(b' ' | b'\t')) {
        return Ahead::No;
    }
    match byte(text, end + 1) {
        None if !last => Ahead::Hold,
        Some(next) if next.is_ascii_alphanumeric() || next == b'$' => Ahead::No,
        _ => Ahead::Yes(Found { display: false, start, end, after: end + 1 }),
    }
}

#[derive(Default)]
struct Reader {
    escaped: bool,
    braces: usize,
    /// How many letters the word has that began after white space.
    word: Option<usize>,
}

impl Reader {
    /// `true` at the closing dollar, `false` where it is no formula.
    fn take(&mut self, next: u8) -> Option<bool> {
        if std::mem::take(&mut self.escaped) {
            return None;
        }
        let word = self.word.take();
        match next {
            b'\\' => self.escaped = true,
            b'\n' => return Some(false),
            b'$' => return Some(true),
            b'{' => self.braces += 1,
            b'}' => self.braces = self.braces.saturating_sub(1),
            _ if self.braces > 0 => {}
            b' ' => self.word = Some(0),
            // Chinese, Japanese, Korean.
            0xe3..=0xef => return Some(false),
            _ if next.is_ascii_alphabetic() => match word {
                Some(1..) => return Some(false),
                Some(0) => self.word = Some(1),
                None => {}
            },
            _ => {}
        }
        None
    }
}

/// `\(…\)` or `\[…\]` that begins at `at`.
pub(super) fn bracketed(text: &str, at: usize, last: bool) -> Ahead<Found> {
    let display = byte(text, at + 1) == Some(b'[');
    let close = if display { "\\]" } else { "\\)" };
    let limit = if display { MAX_DISPLAY } else { MAX_INLINE };
    let start = at + 2;
    let body = rest(text, start);
    match body.find(close) {
        Some(length) if length <= limit && !between(body, 0, length).trim().is_empty() => {
            Ahead::Yes(Found { display, start, end: start + length, after: start + length + 2 })
        }
        None if body.len() <= limit => Ahead::end(last),
        _ => Ahead::No,
    }
}
