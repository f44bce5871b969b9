//! Markdown as it streams: what is seen in between, and that it costs what it brings.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod drawn;

use drawn::{Drawer, draw, hard, html, plain, tree};
use mindset_core::markdown::Options;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// What is drawn after each piece, and in the end.
fn stages(pieces: &[&str]) -> (Vec<String>, String) {
    let mut seen = Vec::new();
    let drawn = draw(Options::default(), pieces.iter().copied(), |drawer| seen.push(html(&drawer.tree())));
    (seen, html(&drawn.tree()))
}

/// What is drawn after each character.
fn by_character(text: &str) -> Vec<String> {
    let pieces: Vec<&str> = text.split_inclusive(|_| true).collect();
    let (mut seen, end) = stages(&pieces);
    assert_eq!(end, html(&tree(text)), "{text:?} by character");
    seen.push(end);
    seen
}

#[test]
fn blocks_that_are_finished_are_not_touched() {
    let text = "One *two* three.\n\nFour\nfive.\n\n- six\n- seven\n\n  eight\n\n> nine\n\n| a |\n|---|\n| b |\n\nTen.";
    // The drawer itself refuses to drop a finished block.
    by_character(text);
}

#[test]
fn a_blank_line_in_a_fence_is_code() {
    let (seen, end) = stages(&["```js\na\n", "\nb\n", "```\n"]);
    assert_eq!(end, "<pre><code class=\"language-js\">a\n\nb\n</code></pre>");
    assert!(seen.iter().all(|seen| seen.matches("<pre>").count() == 1), "{seen:?}");
}

#[test]
fn half_a_closing_marker_is_no_other_construct() {
    for (open, close, wrong) in
        [("**", "**", "<em>"), ("~~", "~~", "<em>"), ("__", "__", "<em>"), ("`", "`", "<em>")]
    {
        let text = format!("{open}bold{close}");
        for seen in by_character(&text) {
            assert!(!seen.contains(wrong), "{seen}");
        }
    }
    let (seen, end) = stages(&["**bo", "ld", "*", "*"]);
    assert!(seen.iter().all(|seen| !seen.contains("<em>") && !seen.contains('*')), "{seen:?}");
    assert_eq!(end, "<p><strong>bold</strong></p>");
    let (seen, end) = stages(&["~~x", "~"]);
    assert_eq!((seen[1].as_str(), end.as_str()), ("<p><del>x</del></p>", "<p>~~x~</p>"));
}

#[test]
fn an_open_link_shows_its_label() {
    let (seen, end) = stages(&["[docs](htt", "ps://e.com/a", "_b)"]);
    assert_eq!(seen[..2], ["<p>docs</p>", "<p>docs</p>"]);
    assert_eq!(end, "<p><a href=\"https://e.com/a_b\">docs</a></p>");
    for seen in
        by_character("see [the *docs*](https://e.com/a_b \"title\") and ![a picture](https://e.com/p.png)")
    {
        let text = plain_of(&seen);
        assert!(!text.contains("http") && !text.contains(['(', '[', '"', '!']), "{seen}");
    }
}

/// The text of our HTML.
fn plain_of(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        text.push_str(part.split_once('>').map_or(part, |part| part.1));
    }
    text
}

#[test]
fn the_innermost_open_construct_is_the_first_to_close() {
    let text = "- **[a](file:///x";
    let mut seen = by_character(text);
    let end = seen.pop().unwrap();
    for seen in &seen {
        assert!(
            !seen.contains("<em>") && !seen.contains("<a") && !seen.contains("file") && !seen.contains('['),
            "{seen}"
        );
    }
    assert_eq!(seen.last().unwrap(), "<ul><li>\n<strong>a</strong>\n</li></ul>");
    assert_eq!(end, "<ul><li>\n**[a](file:///x\n</li></ul>");
    let done = by_character("- **[a](https://x.y/z)**").pop().unwrap();
    assert_eq!(done, "<ul><li>\n<strong><a href=\"https://x.y/z\">a</a></strong>\n</li></ul>");
}

#[test]
fn the_end_settles_everything() {
    let (_, end) = stages(&["|a|b|\n|-|-|\n|1|2|"]);
    let table = "<table align=\"[None, None]\"><tr head=\"true\"><td>a</td><td>b</td></tr>\
                 <tr head=\"false\"><td>1</td><td>2</td></tr></table>";
    assert_eq!(end, table);
    let ends = [
        ("```\ncode", "<pre><code>code\n</code></pre>"),
        ("# head #", "<h1>head</h1>"),
        ("a\n===", "<h1>a</h1>"),
        ("a &am", "<p>a &amp;am</p>"),
        ("a <https://x", "<p>a &lt;https://x</p>"),
        ("a `b", "<p>a `b</p>"),
        ("a [b", "<p>a [b</p>"),
        ("a ![b](c", "<p>a ![b](c</p>"),
        ("a www.x.y", "<p>a <a href=\"http://www.x.y\">www.x.y</a></p>"),
        ("-", "<ul><li></li></ul>"),
        ("- [ ]", "<ul><li>\n[ ]\n</li></ul>"),
        ("> ", "<blockquote></blockquote>"),
        ("$$\nx", "<math display=\"true\">x</math>"),
        ("| a |\n|:", "<p>| a |\n|:</p>"),
        ("[a]: /b", ""),
        ("\\", "<p>\\</p>"),
    ];
    for (text, expected) in ends {
        assert_eq!(by_character(text).pop().unwrap(), expected, "{text:?}");
    }
}

#[test]
fn half_a_marker_is_kept_back() {
    let kept = [
        ("#", ""),
        ("## he", "<h2>he</h2>"),
        ("## head #", "<h2>head</h2>"),
        ("``", ""),
        ("```ru", ""),
        ("| a | b", ""),
        ("| a |\n|-", ""),
        ("a &am", "<p>a </p>"),
        ("a &amp", "<p>a </p>"),
        ("a <https://x", "<p>a </p>"),
        ("a https://x.y/z", "<p>a </p>"),
        ("a ww", "<p>a </p>"),
        ("a \\", "<p>a </p>"),
        ("a *", "<p>a</p>"),
        ("a\n", "<p>a</p>"),
        ("a\n=", "<p>a</p>"),
        ("- ", ""),
        ("- [x", ""),
        ("a $x+1", "<p>a </p>"),
        ("a `b``", "<p>a <code>b</code></p>"),
        ("[name]: /ur", ""),
    ];
    for (text, expected) in kept {
        let (seen, _) = stages(&[text]);
        let seen = seen[0].replace("<p>a </p>", "<p>a</p>");
        assert_eq!(seen, expected.replace("<p>a </p>", "<p>a</p>"), "{text:?}");
    }
}

#[test]
fn items_and_rows_are_finished_one_by_one() {
    let list: String = (0..50).map(|n| format!("- item {n}\n")).collect();
    let table: String = "| a | b |\n|---|---|\n".to_owned() + &"| *c* | d |\n".repeat(50);
    for text in [list, table] {
        let mut deepest = 0;
        let drawer = draw(Options::default(), [text.as_str()], |drawer| deepest = drawer.depth());
        assert_eq!(drawer.dropped, 0);
        assert!(
            (1..=3).contains(&deepest),
            "the list or table is open, and no more than its last part: {deepest}"
        );
    }
}

#[test]
fn a_list_becomes_loose_in_place() {
    let (seen, end) = stages(&["- a\n- b\n", "\n- c"]);
    assert_eq!(seen[0], "<ul><li>\na\n</li><li>\nb\n</li></ul>");
    assert_eq!(end, "<ul><li><p>a</p></li><li><p>b</p></li><li><p>c</p></li></ul>");
}

#[test]
fn task_lists_have_boxes() {
    let end = by_character("- [ ] a\n- [x] b\n- [X] c\n- [y] d\n1. [ ] e").pop().unwrap();
    let boxes = "<ul><li><input>\na\n</li><li><input checked=\"\">\nb\n</li><li><input checked=\"\">\nc\n</li>\
                 <li>\n[y] d\n</li></ul><ol><li><input>\ne\n</li></ol>";
    assert_eq!(end, boxes);
}

#[test]
fn references_may_be_defined_later() {
    let (seen, end) = stages(&["see [a] and *[b][a]*\n\n> [c]\n\n", "[a]: /x\n\n[a] [c]\n"]);
    assert_eq!(seen[0], "<p>see [a] and <em>[b][a]</em></p><blockquote><p>[c]</p></blockquote>");
    let drawn = "<p>see <a href=\"/x\">a</a> and <em><a href=\"/x\">b</a></em></p>\
                 <blockquote><p>[c]</p></blockquote><p><a href=\"/x\">a</a> [c]</p>";
    assert_eq!(end, drawn);
    let cell = by_character("| [a] |\n|-|\n| [b] |\n\n# [b]\n\n[b]: /y").pop().unwrap();
    assert!(cell.contains("<td>[a]</td>") && cell.contains("<td><a href=\"/y\">b</a></td>"), "{cell}");
    assert!(cell.ends_with("<h1><a href=\"/y\">b</a></h1>"), "{cell}");
}

#[test]
fn addresses_in_text_are_links() {
    let link = |url: &str, label: &str| format!("<p><a href=\"{url}\">{label}</a></p>");
    let cases = [
        ("www.commonmark.org", link("http://www.commonmark.org", "www.commonmark.org")),
        ("https://e.com", link("https://e.com", "https://e.com")),
        ("HTTP://e.com/a_b_c", link("HTTP://e.com/a_b_c", "HTTP://e.com/a_b_c")),
        ("foo@bar.baz", link("mailto:foo@bar.baz", "foo@bar.baz")),
        ("a.b-c_d@a.b", link("mailto:a.b-c_d@a.b", "a.b-c_d@a.b")),
        ("hello@mail+xyz.example", "<p>hello@mail+xyz.example</p>".to_owned()),
        ("a.b-c_d@a.b-", "<p>a.b-c_d@a.b-</p>".to_owned()),
        ("xhttps://e.com", "<p>xhttps://e.com</p>".to_owned()),
        ("javascript:alert(1)", "<p>javascript:alert(1)</p>".to_owned()),
    ];
    for (text, expected) in cases {
        assert_eq!(by_character(text).pop().unwrap(), expected, "{text}");
    }
    let around = [
        ("(https://e.com/a(b))", "(", "https://e.com/a(b)", ")"),
        ("see www.a.bc/d?e=f.", "see ", "www.a.bc/d?e=f", "."),
        ("**https://e.com/x**", "", "https://e.com/x", ""),
        ("a https://e.com/&copy;", "a ", "https://e.com/", "©"),
        ("mail d@e.fg, now", "mail ", "d@e.fg", ", now"),
    ];
    for (text, before, label, after) in around {
        let seen = by_character(text).pop().unwrap();
        assert_eq!(plain_of(&seen), [before, label, after].concat(), "{text}");
        assert!(seen.contains(&format!(">{label}</a>")), "{seen}");
    }
}

/// By the letter of the specification these would stay stars.
#[test]
fn scripts_without_spaces_have_emphasis_and_addresses() {
    let cases = [
        ("**注意：**请看", "<p><strong>注意：</strong>请看</p>"),
        ("请**（注意）**看", "<p>请<strong>（注意）</strong>看</p>"),
        ("**강조(note)**는", "<p><strong>강조(note)</strong>는</p>"),
        ("これは*「強調」*です", "<p>これは<em>「強調」</em>です</p>"),
        ("~~旧。~~新", "<p><del>旧。</del>新</p>"),
        ("見 https://e.com/a。次", "<p>見 <a href=\"https://e.com/a\">https://e.com/a</a>。次</p>"),
    ];
    for (text, expected) in cases {
        assert_eq!(by_character(text).pop().unwrap(), expected, "{text}");
    }
}

#[test]
fn formulas_are_no_money() {
    let math = |display: bool, text: &str| format!("<math display=\"{display}\">{text}</math>");
    let cases = [
        ("$x^2$", format!("<p>{}</p>", math(false, "x^2"))),
        ("a $2 + 2 = 4$.", format!("<p>a {}.</p>", math(false, "2 + 2 = 4"))),
        ("$\\text{if so}$", format!("<p>{}</p>", math(false, "\\text{if so}"))),
        ("\\(a*b*c\\)", format!("<p>{}</p>", math(false, "a*b*c"))),
        ("\\[a\\]", format!("<p>{}</p>", math(true, "a"))),
        ("a $$b$$ c", format!("<p>a {} c</p>", math(true, "b"))),
        ("a:\n$$\nx = y\n\n- z\n$$\nb", format!("<p>a:</p>{}<p>b</p>", math(true, "x = y\n\n- z"))),
        ("\\[\nx\n\\]", math(true, "x")),
        ("$5 and $10", "<p>$5 and $10</p>".to_owned()),
        ("from $5-$10 it is", "<p>from $5-$10 it is</p>".to_owned()),
        ("US$5 or A$6", "<p>US$5 or A$6</p>".to_owned()),
        ("$ x$ $x $ $$", "<p>$ x$ $x $ $$</p>".to_owned()),
        ("\\$x$ `$y$`", "<p>$x$ <code>$y$</code></p>".to_owned()),
    ];
    for (text, expected) in cases {
        assert_eq!(by_character(text).pop().unwrap(), expected, "{text}");
    }
    let off = draw(Options { math: false }, ["$x$ \\(y\\)"], |_| {});
    assert_eq!(html(&off.tree()), "<p>$x$ (y)</p>");
}

#[test]
fn raw_html_is_text() {
    let cases = [
        ("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>"),
        ("<svg onload=a>\n\n<b>*x*</b>", "<p>&lt;svg onload=a&gt;</p><p>&lt;b&gt;<em>x</em>&lt;/b&gt;</p>"),
        ("<!-- a -->", "<p>&lt;!-- a --&gt;</p>"),
    ];
    for (text, expected) in cases {
        assert_eq!(by_character(text).pop().unwrap(), expected, "{text}");
    }
}

#[test]
fn links_that_lead_nowhere_good_are_their_label() {
    let bad = [
        "[x](javascript:a)",
        "[x](JaVa&#10;script:a)",
        "[x](java&Tab;script:a)",
        "[x](<java\tscript:a>)",
        "[x](&#1;javascript:a)",
        "[x](data:text/html,..)",
        "[x](vbscript:a)",
        "[x](file:///a)",
        "[x](blob:a)",
        "[x](//)",
        "[x](https:a)",
        "![x](data:image/png;base64,a)",
        "![x](javascript:a)",
        "![x](mailto:a@b.c)",
        "[x]\n\n[x]: javascript:a",
    ];
    for text in bad {
        assert_eq!(by_character(text).pop().unwrap(), "<p>x</p>", "{text}");
    }
    assert_eq!(by_character("<javascript:a>").pop().unwrap(), "<p>javascript:a</p>");
    let image = by_character("![a](https://evil/?q=1)").pop().unwrap();
    assert_eq!(image, "<p><img src=\"https://evil/?q=1\" alt=\"a\" /></p>");
    let image = by_character("![*b* `c`][a]\n\n[a]: https://evil/?q=1").pop().unwrap();
    assert_eq!(image, "<p><img src=\"https://evil/?q=1\" alt=\"b c\" /></p>");
}

/// What it takes to draw a text in pieces of four characters.
fn cost(text: &str) -> Drawer {
    let pieces: Vec<&str> =
        text.as_bytes().chunks(4).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    draw(Options::default(), pieces, |_| {})
}

/// Everything that is drawn, and drawn again, stays in proportion to the text.
#[test]
fn drawing_costs_what_the_text_brings() {
    const SIZE: usize = 4096;
    for ((name, small), (_, large)) in hard::texts(SIZE).iter().zip(hard::texts(SIZE * 4)) {
        let (few, many) = (cost(small), cost(&large));
        assert!(many.steps <= few.steps * 6 + 100, "{name}: {} steps, then {}", few.steps, many.steps);
        assert!(
            many.written <= few.written * 6 + 100,
            "{name}: {} bytes, then {}",
            few.written,
            many.written
        );
        assert!(many.written <= large.len() * 40, "{name}: {} bytes of {}", many.written, large.len());
    }
}

#[test]
fn text_of_nodes_is_what_people_read() {
    assert_eq!(plain(&tree("a *b* `c`")), "a b c");
}
