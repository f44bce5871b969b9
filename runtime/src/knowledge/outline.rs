//! A document as sections under headings, and sections as pieces that fit into an
//! answer.

use std::collections::BTreeMap;

/// Characters of a piece at most.
const PIECE: usize = 1800;

/// What stands between two headings of a title.
const UNDER: &str = " › ";

/// A part of a document that is found and cited by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The headings above it, the document's first.
    pub(crate) title: String,
    /// Where in the document it begins.
    pub(crate) anchor: Option<String>,
    /// What it says.
    pub(crate) text: String,
}

/// Gathers the sections of one document.
#[derive(Debug)]
pub(super) struct Outline {
    name: String,
    /// The headings above the next text, with their levels.
    path: Vec<(u8, String)>,
    anchor: Option<String>,
    text: String,
    slugs: BTreeMap<String, usize>,
    pieces: Vec<Piece>,
    /// Headings of the first level so far.
    firsts: usize,
}

impl Outline {
    /// An empty document; `name` is its title as long as no heading says better.
    pub(super) fn new(name: &str) -> Outline {
        Outline {
            name: name.to_owned(),
            path: Vec::new(),
            anchor: None,
            text: String::new(),
            slugs: BTreeMap::new(),
            pieces: Vec::new(),
            firsts: 0,
        }
    }

    /// The document says its own title, outside of its headings.
    pub(super) fn title(&mut self, title: &str) {
        let title = one_line(title);
        if !title.is_empty() {
            self.name = title;
        }
    }

    /// A heading of level 1 to 6. Without an anchor of its own it gets the usual one.
    pub(super) fn heading(&mut self, level: u8, text: &str, anchor: Option<&str>) {
        self.end_section();
        self.path.retain(|(above, _)| *above < level);
        let text = one_line(text);
        self.firsts += usize::from(level == 1);
        self.anchor = anchor.map(str::to_owned).or_else(|| self.slug(&text));
        if !text.is_empty() {
            self.path.push((level, text));
        }
    }

    /// More text under the last heading.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// The text since the last heading.
    pub(super) fn section(&self) -> &str {
        &self.text
    }

    /// All pieces, in their order.
    pub(super) fn finish(mut self) -> Vec<Piece> {
        self.end_section();
        // One heading of the first level is the document's title; several, as in a list
        // of changes, are parts of it.
        if self.firsts > 1 {
            let inside = [self.name.as_str(), UNDER].concat();
            for piece in &mut self.pieces {
                if piece.title != self.name && !piece.title.starts_with(&inside) {
                    piece.title.insert_str(0, &inside);
                }
            }
        }
        self.pieces
    }

    fn end_section(&mut self) {
        let text = std::mem::take(&mut self.text);
        for piece in split(&text) {
            let title = self.path_title();
            self.pieces.push(Piece { title, anchor: self.anchor.clone(), text: piece.to_owned() });
        }
    }

    fn path_title(&self) -> String {
        // A document that begins with its title as a heading needs no other name.
        let named = self.path.first().is_some_and(|(level, _)| *level == 1);
        let name = (!named).then_some(self.name.as_str());
        let parts: Vec<&str> =
            name.into_iter().chain(self.path.iter().map(|(_, text)| text.as_str())).collect();
        parts.join(UNDER)
    }

    /// Lower case, letters and digits, `-` for spaces; the second of a name ends in `-1`.
    fn slug(&mut self, heading: &str) -> Option<String> {
        let kept = heading.to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let seen = self.slugs.entry(slug.clone()).or_default();
        *seen += 1;
        match *seen {
            _ if slug.is_empty() => None,
            1 => Some(slug),
            n => Some(format!("{slug}-{}", n - 1)),
        }
    }
}

/// Cuts a text into pieces of at most [`PIECE`] characters: between paragraphs if it
/// can be, else between lines, sentences or words.
fn split(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while let Some((limit, _)) = rest.char_indices().nth(PIECE) {
        let window = rest.get(..limit).unwrap_or(rest);
        let at = cut(window).filter(|at| *at > 0).unwrap_or(limit);
        let (piece, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        pieces.push(piece.trim());
        rest = after.trim();
    }
    pieces.push(rest);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn cut(window: &str) -> Option<usize> {
    let ends = ["\n\n", "\n", ". ", "。", "! ", "? ", " "];
    let late = |end: &&str| window.rfind(*end).map(|at| at + end.len()).filter(|at| *at > window.len() / 3);
    ends.iter().find_map(late)
}

/// Without line ends and double spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_follow_the_headings() {
        let mut outline = Outline::new("file");
        outline.push("before");
        outline.heading(1, "Holidays", None);
        outline.heading(3, "Carry over", None);
        outline.push("a");
        outline.heading(2, "Sick leave", None);
        outline.push("b");
        outline.heading(2, "Carry over", Some("own"));
        outline.push("c");
        outline.heading(2, "Carry  over", None);
        outline.push("d");
        let found: Vec<_> =
            outline.finish().into_iter().map(|p| (p.title, p.anchor.unwrap_or_default())).collect();
        let expected = [
            ("file", ""),
            ("Holidays › Carry over", "carry-over"),
            ("Holidays › Sick leave", "sick-leave"),
            ("Holidays › Carry over", "own"),
            ("Holidays › Carry over", "carry-over-1"),
        ];
        assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn several_first_headings_are_parts() {
        let mut outline = Outline::new("changes");
        for version in ["2.0", "1.0"] {
            outline.heading(1, version, None);
            outline.push("x");
        }
        let titles: Vec<_> = outline.finish().into_iter().map(|p| p.title).collect();
        assert_eq!(titles, ["changes › 2.0", "changes › 1.0"]);
    }

    #[test]
    fn long_sections_are_cut_where_it_reads_well() {
        let paragraph = "One sentence of some words. ".repeat(30);
        let text = [paragraph.as_str(), &paragraph, &paragraph, &paragraph].join("\n\n");
        let pieces = split(&text);
        assert_eq!(pieces.len(), 2);
        assert!(pieces.iter().all(|p| p.ends_with('.') && p.chars().count() <= PIECE));
        for text in ["x".repeat(5000), "あ".repeat(5000), "日本語の文です。".repeat(700)] {
            let pieces = split(&text);
            assert!(pieces.iter().all(|p| p.chars().count() <= PIECE));
            assert_eq!(pieces.concat(), text);
        }
        assert!(split(" \n ").is_empty());
    }
}
