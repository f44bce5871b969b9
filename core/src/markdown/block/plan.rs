//! What the beginning of a line says, without doing anything about it yet: while the
//! line is not whole the answer may be that it depends on what follows.

use super::super::Align;
use super::super::scan::{Ahead, byte, is_blank, rest, run, skip_blank, unescape};
use super::cursor::Cursor;
use super::list::{ItemStart, item};
use super::table::delimiters;
use super::{Container, Fence, Leaf, Page};

/// Containers nest no deeper than this, lists and their items both counted; what would
/// be deeper is text.
const MAX_DEPTH: usize = 64;

/// A container that begins in a line.
#[derive(Debug)]
pub(in super::super) enum Start {
    Quote,
    Item(ItemStart),
}

/// What the text of a line is.
#[derive(Debug)]
pub(in super::super) enum To {
    Blank,
    /// Goes on in the open paragraph.
    Continue,
    Paragraph,
    Heading(u8),
    /// Makes a heading of the open paragraph.
    Underline(u8),
    Rule,
    Lines(Fence, Option<String>),
    /// A line of the open block of lines.
    Line,
    /// Ends the open block of lines.
    EndLines,
    Table(Vec<Align>),
    Row,
}

#[derive(Debug)]
pub(in super::super) struct Plan {
    /// How many open containers go on.
    pub(in super::super) matched: usize,
    pub(in super::super) starts: Vec<Start>,
    pub(in super::super) to: To,
    /// Where the text begins, and spaces that belong before it.
    pub(in super::super) at: usize,
    pub(in super::super) pad: usize,
}

/// Plans a line of which this is the beginning, or the `whole`; `None` while it is not
/// certain.
pub(in super::super) fn plan(
    line: &str,
    whole: bool,
    containers: &[Container],
    leaf: &mut Leaf,
    page: &mut Page,
) -> Option<Plan> {
    let mut cursor = Cursor::new(line);
    let matched = match_containers(&mut cursor, whole, containers)?;
    let all = matched == containers.len();
    let mut plan = Plan { matched, starts: Vec::new(), to: To::Blank, at: 0, pad: 0 };
    if all
        && let Leaf::Lines(lines) = leaf
        && let Some(to) = in_lines(&mut cursor, whole, &lines.fence)?
    {
        plan.to = to;
    } else {
        let mut reader = Reader { cursor, whole, all, depth: matched, leaf, page, starts: Vec::new() };
        plan.to = reader.read()?;
        cursor = reader.cursor;
        plan.starts = reader.starts;
    }
    (plan.at, plan.pad) = (cursor.at, cursor.pad);
    Some(plan)
}

fn match_containers(cursor: &mut Cursor<'_>, whole: bool, containers: &[Container]) -> Option<usize> {
    let mut matched = 0;
    for container in containers {
        if cursor.is_blank() && !whole {
            return None;
        }
        let goes_on = match container {
            Container::List { .. } => true,
            Container::Quote => quote(cursor),
            Container::Item { empty, .. } if cursor.is_blank() => !empty,
            Container::Item { indent, .. } => {
                let goes_on = cursor.indent() >= *indent;
                if goes_on {
                    cursor.skip(*indent);
                }
                goes_on
            }
        };
        if !goes_on {
            break;
        }
        matched += 1;
    }
    if cursor.is_blank() && !whole { None } else { Some(matched) }
}

fn quote(cursor: &mut Cursor<'_>) -> bool {
    let quote = cursor.indent() < 4 && cursor.next() == Some(b'>');
    if quote {
        cursor.skip_all();
        cursor.pass(1);
        cursor.skip(1);
    }
    quote
}

/// A line while a block of lines is open; `Some(None)` if it is none of the block's.
fn in_lines(cursor: &mut Cursor<'_>, whole: bool, fence: &Fence) -> Option<Option<To>> {
    let indent = cursor.indent();
    match fence {
        Fence::Indent if cursor.is_blank() || indent >= 4 => cursor.skip(4),
        Fence::Indent => return Some(None),
        Fence::Run { byte, length, indent: own } => {
            let text = rest(cursor.text, skip_blank(cursor.text, cursor.at));
            let signs = run(text, 0, *byte);
            if indent < 4 && signs > 0 && is_blank(rest(text, signs)) {
                if !whole {
                    return None;
                }
                if signs >= *length {
                    return Some(Some(To::EndLines));
                }
            }
            cursor.skip(*own);
        }
        Fence::Formula(close) => {
            let text = cursor.rest().trim_matches([' ', '\t']);
            if !whole && close.starts_with(text) {
                return None;
            }
            if text == *close {
                return Some(Some(To::EndLines));
            }
        }
    }
    Some(Some(To::Line))
}

struct Reader<'a, 'b> {
    cursor: Cursor<'a>,
    whole: bool,
    /// Whether all open containers go on.
    all: bool,
    depth: usize,
    leaf: &'b mut Leaf,
    page: &'b mut Page,
    starts: Vec<Start>,
}

impl Reader<'_, '_> {
    /// Reads containers that begin, and then what their text is.
    fn read(&mut self) -> Option<To> {
        loop {
            if self.cursor.is_blank() {
                self.cursor.skip_all();
                return self.whole.then_some(To::Blank);
            }
            let paragraph = self.leaf.is_paragraph() && self.starts.is_empty();
            if self.cursor.indent() >= 4 {
                if paragraph {
                    self.cursor.skip_all();
                    return Some(To::Continue);
                }
                self.cursor.skip(4);
                return Some(To::Lines(Fence::Indent, None));
            }
            if self.depth < MAX_DEPTH && quote(&mut self.cursor) {
                self.depth += 1;
                self.starts.push(Start::Quote);
                continue;
            }
            if let Some(to) = self.leaf_start(paragraph && self.all)? {
                return Some(to);
            }
            if self.depth < MAX_DEPTH {
                match item(&mut self.cursor, self.whole, paragraph && self.all) {
                    Ahead::Hold => return None,
                    Ahead::Yes(start) => {
                        self.depth += 2;
                        self.starts.push(Start::Item(start));
                        continue;
                    }
                    Ahead::No => {}
                }
            }
            return self.text(paragraph);
        }
    }

    /// What is text of a paragraph or table, if it is nothing else.
    fn text(&mut self, paragraph: bool) -> Option<To> {
        if paragraph
            && self.all
            && let Some(align) = self.delimiter_row()?
        {
            return Some(To::Table(align));
        }
        self.cursor.skip_all();
        let row = matches!(self.leaf, Leaf::Table(_)) && self.all && self.starts.is_empty();
        // A lone `|` ends the table.
        let lone = row && self.cursor.rest().trim_end_matches([' ', '\t']) == "|";
        match (row && !lone, paragraph) {
            _ if lone && !self.whole => None,
            (true, _) => Some(To::Row),
            (false, true) => Some(To::Continue),
            (false, false) => Some(To::Paragraph),
        }
    }

    /// Leaves that begin with their first characters. `under` is whether the line is
    /// right under a paragraph's.
    fn leaf_start(&mut self, under: bool) -> Option<Option<To>> {
        let start = skip_blank(self.cursor.text, self.cursor.at);
        let text = rest(self.cursor.text, start);
        let first = byte(text, 0)?;
        match first {
            b'#' => self.heading(text),
            b'`' | b'~' => self.fence(text, first),
            b'=' | b'-' | b'*' | b'_' => {
                if under && matches!(first, b'=' | b'-') && is_blank(rest(text, run(text, 0, first))) {
                    if !self.whole {
                        return None;
                    }
                    if let Leaf::Paragraph(paragraph) = &mut *self.leaf
                        && paragraph.has_content(self.page)
                    {
                        return Some(Some(To::Underline(if first == b'=' { 1 } else { 2 })));
                    }
                }
                self.rule(text, first)
            }
            b'$' | b'\\' if self.page.math => self.formula(text),
            _ => Some(None),
        }
    }

    fn heading(&mut self, text: &str) -> Option<Option<To>> {
        let level = run(text, 0, b'#');
        if level > 6 {
            return Some(None);
        }
        match byte(text, level) {
            None if !self.whole => return None,
            None | Some(b' ' | b'\t') => {}
            Some(_) => return Some(None),
        }
        self.cursor.skip_all();
        self.cursor.pass(level);
        self.cursor.skip_all();
        Some(Some(To::Heading(u8::try_from(level).unwrap_or(6))))
    }

    fn fence(&mut self, text: &str, first: u8) -> Option<Option<To>> {
        let length = run(text, 0, first);
        if length < 3 {
            return if length == text.len() && !self.whole { None } else { Some(None) };
        }
        let info = rest(text, length);
        if first == b'`' && info.contains('`') {
            return Some(None);
        }
        if !self.whole {
            return None;
        }
        let word = info.split([' ', '\t']).find(|word| !word.is_empty()).map(unescape);
        let fence = Fence::Run { byte: first, length, indent: self.cursor.indent() };
        self.cursor.pass(self.cursor.rest().len());
        Some(Some(To::Lines(fence, word)))
    }

    fn rule(&mut self, text: &str, first: u8) -> Option<Option<To>> {
        if first == b'=' || !text.bytes().all(|byte| byte == first || matches!(byte, b' ' | b'\t')) {
            return Some(None);
        }
        if !self.whole {
            return None;
        }
        if text.bytes().filter(|&byte| byte == first).count() < 3 {
            return Some(None);
        }
        self.cursor.pass(self.cursor.rest().len());
        Some(Some(To::Rule))
    }

    fn formula(&mut self, text: &str) -> Option<Option<To>> {
        let text = text.trim_end_matches([' ', '\t']);
        let (open, close) = if text.starts_with('$') { ("$$", "$$") } else { ("\\[", "\\]") };
        if !self.whole {
            return if open.starts_with(text) { None } else { Some(None) };
        }
        if text != open {
            return Some(None);
        }
        self.cursor.pass(self.cursor.rest().len());
        Some(Some(To::Lines(Fence::Formula(close), None)))
    }

    /// The row under the head of a table, which is the last line of the open paragraph.
    fn delimiter_row(&mut self) -> Option<Option<Vec<Align>>> {
        let Leaf::Paragraph(paragraph) = &mut *self.leaf else { return Some(None) };
        let text = self.cursor.rest();
        if !paragraph.may_be_head() || !text.bytes().all(|byte| b"|-: \t".contains(&byte)) {
            return Some(None);
        }
        if !self.whole {
            return None;
        }
        let align = delimiters(text).filter(|align| paragraph.is_head(align, self.page));
        if align.is_some() {
            self.cursor.pass(text.len());
        }
        Some(align)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn is_sure(line: &str) -> bool {
        plan(line, false, &[], &mut Leaf::None, &mut Page::new(true)).is_some()
    }

    #[test]
    fn half_a_marker_waits() {
        let waits =
            ["", " ", "#", "##", "`", "``", "```", "```rust", "~~~", "-", "- ", "1", "12", "1.", "1. "];
        let more = [
            "*", "**", "***", "* *", "_", "__", "- [", "- [x", "- [ ]", "- [ ] ", ">", "> ", "> -", "$", "$$",
        ];
        for line in waits.iter().chain(&more) {
            assert!(!is_sure(line), "{line:?}");
        }
        let sure =
            ["a", "####### ", "# ", "#a", "```a`", "``a", "-a", "- a", "1a", "1.a", "**a", "* *a", "_a"];
        for line in
            sure.iter().chain(&["- [x]a", "- [y", "- [ ] a", "> a", "$a", "$$a", "1234567890", "    a"])
        {
            assert!(is_sure(line), "{line:?}");
        }
    }
}
