//! Our Markdown against the examples of CommonMark 0.31.2 and GFM: the same tree, however
//! the text is cut. `MINDSET_SOAK=1` cuts every example at every pair of places.
//!
//! The examples come with the package `pulldown-cmark`, which carries both
//! specifications' as tests; see `build.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../../core/tests/drawn/mod.rs"]
mod drawn;
mod markup;

use drawn::{Drawn, draw, html, plain};
use markup::normal;
use mindset_conformance::{COMMONMARK, GFM};
use mindset_core::markdown::Options;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const HTML: &str = "raw HTML is text, and what is in it is Markdown";
const SCHEME: &str = "only http, https, mailto and addresses relative to the page are links";
const FOUND: &str = "GFM makes links of addresses in text";
const COLON: &str = "a colon before the first slash looks like a scheme";

/// Where we differ on purpose, by the numbers of the examples.
const INTENDED: &[(std::ops::RangeInclusive<usize>, &str)] = &[
    (21..=21, HTML),
    (31..=31, HTML),
    (148..=167, HTML),
    (169..=174, HTML),
    (176..=186, HTML),
    (188..=191, HTML),
    (308..=309, HTML),
    (344..=344, HTML),
    (475..=477, HTML),
    (500..=500, COLON),
    (524..=524, HTML),
    (536..=536, HTML),
    (596..=596, SCHEME),
    (598..=599, SCHEME),
    (601..=601, SCHEME),
    (608..=608, FOUND),
    (611..=612, FOUND),
    (614..=617, HTML),
    (623..=623, HTML),
    (630..=631, HTML),
    (642..=643, HTML),
];

const PURE: Options = Options { math: false };

fn number(name: &str) -> usize {
    name.rsplit('_').next().unwrap().parse().unwrap()
}

fn is_intended(name: &str) -> bool {
    INTENDED.iter().any(|(numbers, _)| numbers.contains(&number(name)))
}

fn whole(options: Options, source: &str) -> String {
    html(&draw(options, [source], |_| {}).tree())
}

#[test]
fn commonmark_examples_draw_the_same_tree() {
    assert_eq!(COMMONMARK.len(), 652);
    for (name, source, expected) in COMMONMARK {
        let (ours, theirs) = (normal(&whole(PURE, source)), normal(expected));
        if is_intended(name) {
            assert_ne!(ours, theirs, "{name} is listed as different");
        } else {
            assert_eq!(ours, theirs, "{name}: {source}");
        }
    }
}

#[test]
fn gfm_examples_draw_the_same_tree() {
    assert!(GFM.len() >= 13);
    for (name, source, expected) in GFM {
        assert_eq!(normal(&whole(PURE, source)), normal(expected), "{name}: {source}");
    }
}

/// One example is read otherwise with formulas: its escapes look like one.
#[test]
fn formulas_change_no_other_example() {
    for (name, source, _) in COMMONMARK.iter().chain(GFM) {
        let same = whole(PURE, source) == whole(Options::default(), source);
        assert_eq!(same, *name != "spec_test_12", "{name}: {source}");
    }
}

#[test]
fn any_cutting_ends_in_the_same_tree() {
    for (name, source, _) in COMMONMARK.iter().chain(GFM) {
        let expected = whole(Options::default(), source);
        let ends: Vec<usize> = source.char_indices().map(|(at, _)| at).collect();
        for &at in &ends {
            let (first, second) = source.split_at(at);
            let drawn = draw(Options::default(), [first, second], |_| {});
            assert_eq!(html(&drawn.tree()), expected, "{name} cut at {at}: {first:?} {second:?}");
        }
    }
}

/// A look after every character: only what is in the source, and in its order.
#[test]
fn nothing_is_shown_that_is_not_in_the_source() {
    for (name, source, _) in COMMONMARK.iter().chain(GFM) {
        let expected = whole(Options::default(), source);
        let pieces = source.char_indices().map(|(at, char)| &source[at..at + char.len_utf8()]);
        let mut read = 0;
        let drawn = draw(Options::default(), pieces, |drawer| {
            read += source[read..].chars().next().unwrap().len_utf8();
            if !source.contains(['&', '\0']) {
                assert_is_within(&drawer.tree(), &source[..read], name);
            }
        });
        assert_eq!(html(&drawn.tree()), expected, "{name} by character");
    }
}

/// Code of a tab that is cut by an indentation shows spaces for it.
fn assert_is_within(tree: &[Drawn], source: &str, name: &str) {
    let shown = plain(tree);
    let mut rest = source.chars();
    for char in shown.chars().filter(|char| !char.is_whitespace()) {
        assert!(rest.any(|next| next == char), "{name}: {shown:?} of {source:?}");
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod random {
    use super::*;
    use mindset_conformance::Random;

    fn soak() -> bool {
        std::env::var_os("MINDSET_SOAK").is_some()
    }

    /// Cuts a text at random places.
    fn pieces<'a>(source: &'a str, random: &mut Random) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut rest = source;
        while !rest.is_empty() {
            let length = 1 + random.below(9);
            let end = rest.char_indices().nth(length).map_or(rest.len(), |next| next.0);
            let (piece, more) = rest.split_at(end);
            pieces.push(piece);
            rest = more;
        }
        pieces
    }

    #[test]
    fn random_cuttings_end_in_the_same_tree() {
        let mut random = Random::seeded();
        for (name, source, _) in COMMONMARK.iter().chain(GFM) {
            let expected = whole(Options::default(), source);
            for _ in 0..2 {
                let pieces = pieces(source, &mut random);
                let drawn = draw(Options::default(), pieces.iter().copied(), |_| {});
                assert_eq!(html(&drawn.tree()), expected, "{name} as {pieces:?}");
            }
        }
    }

    #[test]
    fn every_pair_of_cuts_ends_in_the_same_tree() {
        let step = if soak() { 1 } else { 97 };
        let mut count = 0;
        for (name, source, _) in COMMONMARK.iter().chain(GFM) {
            let expected = whole(Options::default(), source);
            let ends: Vec<usize> = source.char_indices().map(|(at, _)| at).collect();
            for (number, &first) in ends.iter().enumerate() {
                for &second in &ends[number..] {
                    count += 1;
                    if count % step == 0 {
                        let pieces = [&source[..first], &source[first..second], &source[second..]];
                        let drawn = draw(Options::default(), pieces, |_| {});
                        assert_eq!(html(&drawn.tree()), expected, "{name} as {pieces:?}");
                    }
                }
            }
        }
    }

    /// Markers without sense, by the thousand.
    const SOUP: &[&str] = &[
        "*",
        "**",
        "_",
        "__",
        "`",
        "``",
        "[",
        "]",
        "(",
        ")",
        "![",
        "](",
        "](a)",
        "](<b>",
        " \"t\")",
        "a",
        "b c",
        "é",
        " ",
        "  ",
        "\n",
        "\n\n",
        "    ",
        "\t",
        "> ",
        "- ",
        "1. ",
        "# ",
        "```",
        "~~",
        "~",
        "|",
        "|-|",
        "\n|-|-|\n",
        "\\",
        "&amp;",
        "&",
        "<",
        ">",
        "http://x.y",
        "www.a.bc",
        "d@e.fg",
        "[x]: /u\n",
        "[x]",
        "[ ] ",
        "$",
        "$$",
        "\\(",
        "\\)",
        "---",
        "===",
        "\r\n",
        "\r",
        "!",
        ":",
        "<https://a.b>",
        "🙂",
        "注：",
        "。",
        "\\|",
        "+ ",
        "2) ",
    ];

    #[test]
    fn soup_of_markers_ends_in_the_same_tree_too() {
        let mut random = Random::seeded();
        for _ in 0..if soak() { 100_000 } else { 1500 } {
            let length = 1 + random.below(40);
            let source: String = (0..length).map(|_| random.pick(SOUP)).collect();
            let expected = whole(Options::default(), &source);
            let pieces = pieces(&source, &mut random);
            let drawn = draw(Options::default(), pieces.iter().copied(), |_| {});
            assert_eq!(html(&drawn.tree()), expected, "{source:?} as {pieces:?}");
        }
    }
}
