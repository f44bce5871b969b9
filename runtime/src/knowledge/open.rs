//! The elements of an HTML page that are open, and whether one of them hides what is in it.
//!
//! Pages leave end tags out, and not only where HTML lets them. What is hidden has to end where
//! it ends in a browser, or a page would lose all that follows; so the end of an element ends
//! those inside it, and a few elements end others before them.

use std::collections::BTreeMap;

/// Elements that have no end.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Elements that an end tag of the text inside them does not end.
const BOUNDS: &[&str] = &[
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "aside",
    "nav",
    "ul",
    "ol",
    "menu",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "thead",
    "tbody",
    "tfoot",
    "tr",
    "td",
    "th",
    "pre",
    "blockquote",
    "figure",
    "form",
    "details",
    "select",
    "template",
    "body",
    HEADING,
];

/// What all levels of headings count as: the end of one ends the other.
const HEADING: &str = "h";

/// How many open elements are looked at for one tag, so that no page takes quadratic time.
const MAX_LOOK: usize = 64;

/// The open elements, from the outside in.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    names: Vec<String>,
    /// How often each name is open.
    counts: BTreeMap<String, usize>,
    /// How many elements are around the outermost that hides what is in it.
    hidden_at: Option<usize>,
}

impl OpenElements {
    /// Whether what comes next is hidden.
    pub(super) fn hidden(&self) -> bool {
        self.hidden_at.is_some()
    }

    /// A start tag; `hides` what is in the element.
    pub(super) fn open(&mut self, name: &str, hides: bool) {
        let name = kind(name);
        self.end_before(name);
        if VOID.contains(&name) {
            return;
        }
        if hides && self.hidden_at.is_none() {
            self.hidden_at = Some(self.names.len());
        }
        self.names.push(name.to_owned());
        *self.counts.entry(name.to_owned()).or_default() += 1;
    }

    /// An end tag. Of an element that is not open it means nothing.
    pub(super) fn close(&mut self, name: &str) {
        let name = kind(name);
        if self.counts.get(name).is_none_or(|count| *count == 0) {
            return;
        }
        if !BOUNDS.contains(&name) {
            let mut inside = self.names.iter().rev().take(MAX_LOOK).take_while(|open| *open != name);
            if inside.any(|open| BOUNDS.contains(&open.as_str())) {
                return;
            }
        }
        let at = self.names.iter().rposition(|open| open == name).unwrap_or(self.names.len());
        self.end(at);
    }

    /// Ends what the start of `name` ends without an end tag.
    fn end_before(&mut self, name: &str) {
        let ended: &[&str] = match name {
            "li" => &["li", "p"],
            "dt" | "dd" => &["dt", "dd", "p"],
            "td" | "th" => &["td", "th", "p"],
            "tr" => &["tr", "td", "th", "p"],
            "thead" | "tbody" | "tfoot" => &["thead", "tbody", "tfoot", "tr", "td", "th", "p"],
            "option" | "optgroup" => &["option"],
            HEADING => &[HEADING, "p"],
            "hr" => &["p"],
            name if BOUNDS.contains(&name) => &["p"],
            _ => return,
        };
        let mut until = None;
        for (at, open) in self.names.iter().enumerate().rev().take(MAX_LOOK) {
            match open.as_str() {
                open if ended.contains(&open) => until = Some(at),
                open if BOUNDS.contains(&open) => break,
                _ => {}
            }
        }
        if let Some(until) = until {
            self.end(until);
        }
    }

    /// Ends all but the first `rest` elements.
    fn end(&mut self, rest: usize) {
        for name in self.names.drain(rest.min(self.names.len())..) {
            if let Some(count) = self.counts.get_mut(&name) {
                *count = count.saturating_sub(1);
            }
        }
        self.hidden_at = self.hidden_at.filter(|at| *at < rest);
    }
}

fn kind(name: &str) -> &str {
    match name.as_bytes() {
        [b'h', b'1'..=b'6'] => HEADING,
        _ => name,
    }
}
