//! Tables: rows are lines, each cell holds inline content.

use super::super::inline::Inline;
use super::super::scan::{between, is_blank, rest};
use super::super::{Align, Node};
use super::Page;

#[derive(Debug)]
pub(in super::super) struct Table {
    columns: usize,
    /// Whether a row is open, and how many of its cells are finished.
    row: Option<usize>,
    /// The open cell, once something is in it.
    cell: Option<Inline>,
    /// The row has begun with something else than its first `|`.
    begun: bool,
    escaped: bool,
}

/// Opens a table with its head.
pub(in super::super) fn open(align: Vec<Align>, head: &str, page: &mut Page) -> Table {
    let columns = align.len();
    page.draw.open(Node::Table { align });
    let mut table = Table { columns, row: None, cell: None, begun: false, escaped: false };
    table.begin_row(true, page);
    table.feed(head, page);
    table.end_row(page);
    table
}

impl Table {
    pub(in super::super) fn begin_row(&mut self, head: bool, page: &mut Page) {
        page.draw.open(Node::Row { head });
        self.row = Some(0);
        self.begun = false;
        self.escaped = false;
    }

    pub(in super::super) fn feed(&mut self, text: &str, page: &mut Page) {
        let mut at = 0;
        while at < text.len() && self.row.is_some_and(|cells| cells < self.columns) {
            let more = rest(text, at);
            if std::mem::take(&mut self.escaped) {
                if more.starts_with('|') {
                    self.write("|");
                    at += 1;
                    continue;
                }
                self.write("\\");
            }
            let plain = more.find(['|', '\\']).unwrap_or(more.len());
            self.write(between(more, 0, plain));
            at += plain + 1;
            match more.as_bytes().get(plain) {
                Some(b'|') => self.end_cell(page),
                Some(_) => self.escaped = true,
                None => {}
            }
        }
    }

    pub(in super::super) fn end_row(&mut self, page: &mut Page) {
        let Some(cells) = self.row else { return };
        if std::mem::take(&mut self.escaped) && cells < self.columns {
            self.write("\\");
        }
        self.begun = true;
        while self.row.is_some_and(|cells| cells < self.columns) {
            self.end_cell(page);
        }
        self.row = None;
        page.draw.close();
    }

    pub(in super::super) fn show(&mut self, page: &mut Page) {
        if let Some(cell) = &mut self.cell {
            page.show(cell);
        }
    }

    fn write(&mut self, text: &str) {
        let text = if self.cell.is_some() { text } else { text.trim_start_matches([' ', '\t']) };
        if !text.is_empty() {
            self.begun = true;
            self.cell.get_or_insert_with(|| Inline::new(Node::Cell)).source.push_str(text);
        }
    }

    fn end_cell(&mut self, page: &mut Page) {
        // The first `|` only begins the row.
        if std::mem::replace(&mut self.begun, true) {
            let mut cell = self.cell.take().unwrap_or_else(|| Inline::new(Node::Cell));
            cell.open(&mut page.draw);
            page.close(cell);
            self.row = self.row.map(|cells| cells + 1);
        }
    }
}

/// The row under a table's head.
pub(super) fn delimiters(line: &str) -> Option<Vec<Align>> {
    let line = line.trim_matches([' ', '\t']);
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(delimiter).collect()
}

fn delimiter(cell: &str) -> Option<Align> {
    let cell = cell.trim_matches([' ', '\t']);
    let (left, cell) = cell.strip_prefix(':').map_or((false, cell), |cell| (true, cell));
    let (right, cell) = cell.strip_suffix(':').map_or((false, cell), |cell| (true, cell));
    if cell.is_empty() || cell.bytes().any(|byte| byte != b'-') {
        return None;
    }
    Some(match (left, right) {
        (false, false) => Align::None,
        (true, false) => Align::Left,
        (true, true) => Align::Center,
        (false, true) => Align::Right,
    })
}

/// How many cells a row has.
pub(super) fn count_cells(line: &str) -> usize {
    let mut cells = 0;
    let mut start = 0;
    for (at, _) in line.match_indices('|') {
        if !between(line, start, at).ends_with('\\') {
            // The first one may only begin the row.
            cells += usize::from(start > 0 || !is_blank(between(line, start, at)));
            start = at + 1;
        }
    }
    cells + usize::from(!is_blank(rest(line, start)))
}
