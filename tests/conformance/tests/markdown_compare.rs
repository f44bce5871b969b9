//! Our Markdown and that of `pulldown-cmark` on random markers: the same tree.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../../core/tests/drawn/mod.rs"]
mod drawn;
mod markup;

use drawn::{draw, html};
use markup::normal;
use mindset_conformance::Random;
use mindset_core::markdown::Options;
use pulldown_cmark::{Options as Theirs, Parser};

/// Without what both may write as they like: white space in lines that code spans join, line
/// breaks in alternative texts, code that is one empty line.
fn same(html: &str) -> String {
    normal(html).replace(' ', "").replace("\\n", "").replace(">\n</code>", "></code>")
}

fn ours(source: &str) -> String {
    same(&html(&draw(Options { math: false }, [source], |_| {}).tree()))
}

fn theirs(source: &str) -> String {
    let options = Theirs::ENABLE_TABLES | Theirs::ENABLE_STRIKETHROUGH | Theirs::ENABLE_TASKLISTS;
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, Parser::new_ext(source, options));
    same(&out)
}

#[test]
fn random_markers_draw_the_same_tree() {
    let soak = std::env::var_os("MINDSET_SOAK").is_some();
    let mut random = Random::seeded();
    for _ in 0..if soak { 200_000 } else { 4000 } {
        let length = 1 + random.below(14);
        let mut source: String = (0..length).map(|_| random.pick(SOUP)).collect();
        source.push('\n');
        // There they lose a text.
        if !source.contains("]\\[") {
            assert_eq!(ours(&source), theirs(&source), "{source:?}");
        }
    }
}

/// Without what we mean otherwise: raw HTML, and strikethrough beside punctuation.
const SOUP: &[&str] = &[
    "*",
    "**",
    "***",
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
    "](/a)",
    "](</b>",
    " \"t\")",
    "a",
    "b c",
    "d",
    " ",
    "  ",
    "\n",
    "\n\n",
    "    ",
    "> ",
    "- ",
    "1. ",
    "# ",
    "```",
    " ~~c~~ ",
    "\\",
    "&amp;",
    "[y]: /u\n",
    "[y]",
    "---",
    "===",
    "!",
    "+ ",
    "2) ",
    "\n- ",
    "\n> ",
    "\n    ",
    "\n  ",
];
