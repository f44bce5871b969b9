//! A place in a line that knows its column: tabs reach to the next multiple of four.

use super::super::scan::{byte, is_blank, rest};

#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    column: usize,
    /// Columns left of a tab that is only in part behind this place.
    pub(super) pad: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, column: 0, pad: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        rest(self.text, self.at)
    }

    pub(super) fn is_blank(&self) -> bool {
        is_blank(self.rest())
    }

    /// Columns of white space from here on.
    pub(super) fn indent(&self) -> usize {
        let mut column = self.column + self.pad;
        for next in self.rest().bytes() {
            match next {
                b' ' => column += 1,
                b'\t' => column += 4 - column % 4,
                _ => break,
            }
        }
        column - self.column
    }

    /// The first byte that is no white space.
    pub(super) fn next(&self) -> Option<u8> {
        self.rest().bytes().find(|byte| !matches!(byte, b' ' | b'\t'))
    }

    /// Passes so many columns of white space, at most as many as there are.
    pub(super) fn skip(&mut self, mut columns: usize) {
        while columns > 0 {
            if self.pad > 0 {
                self.pad -= 1;
                self.column += 1;
                columns -= 1;
                continue;
            }
            match byte(self.text, self.at) {
                Some(b' ') => self.pad = 1,
                Some(b'\t') => self.pad = 4 - self.column % 4,
                _ => return,
            }
            self.at += 1;
        }
    }

    pub(super) fn skip_all(&mut self) {
        self.skip(self.indent());
    }

    /// Passes so many bytes that are no white space.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.at += bytes;
        self.column += bytes;
    }
}
