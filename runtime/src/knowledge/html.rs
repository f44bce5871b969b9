//! HTML to pieces: the text of a page, with its headings, without what its tags say is hidden. No page
//! is drawn and no style sheet read, so a small scanner is enough: it knows tags, comments, entities, and
//! what is not text.

use super::entities::decoded;
use super::open::OpenElements;
use super::outline::{Outline, Piece};

/// Elements whose content is code until their end tag.
const RAW: &[&str] = &["script", "style", "title", "textarea", "iframe", "noscript"];

/// Elements whose content is no text of the document.
const SKIPPED: &[&str] = &["template", "svg", "nav"];

/// Elements that begin a new line.
const LINES: &[&str] = &["br", "tr", "dt", "dd", "option", "figcaption"];

/// Elements that stand for themselves.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "aside",
    "ul",
    "ol",
    "dl",
    "table",
    "pre",
    "blockquote",
    "hr",
    "figure",
    "form",
    "details",
    "summary",
    "body",
];

/// The pieces of a document called `name`.
pub(super) fn read(name: &str, text: &str) -> Vec<Piece> {
    let mut reader =
        Reader { outline: Outline::new(name), heading: None, elements: OpenElements::default(), pre: 0 };
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        reader.text(before);
        rest = reader.markup(after);
    }
    reader.text(rest);
    reader.end_heading();
    reader.outline.finish()
}

struct Reader {
    outline: Outline,
    /// The open heading: its level, its id, its text.
    heading: Option<(u8, Option<String>, String)>,
    elements: OpenElements,
    /// How many `pre` are open.
    pre: usize,
}

impl Reader {
    fn text(&mut self, text: &str) {
        if self.elements.hidden() || text.is_empty() {
            return;
        }
        let text = decoded(text);
        if self.pre > 0 && self.heading.is_none() {
            return self.outline.push(&text);
        }
        let mut words = text.split_whitespace();
        if text.starts_with(char::is_whitespace) {
            self.push(" ");
        }
        if let Some(first) = words.next() {
            self.push(first);
        }
        for word in words {
            self.push(" ");
            self.push(word);
        }
        if text.ends_with(char::is_whitespace) && !text.trim().is_empty() {
            self.push(" ");
        }
    }

    fn push(&mut self, text: &str) {
        match &mut self.heading {
            Some((_, _, heading)) => heading.push_str(text),
            None if text == " " && self.outline.section().ends_with([' ', '\n']) => {}
            None => self.outline.push(text),
        }
    }

    /// Ends the line; `blank`: and leaves one free.
    fn line(&mut self, blank: bool) {
        if self.heading.is_some() {
            return self.push(" ");
        }
        let section = self.outline.section();
        let end = if blank { "\n\n" } else { "\n" };
        if !section.is_empty() && !section.ends_with(end) {
            self.outline.push(if section.ends_with('\n') { "\n" } else { end });
        }
    }

    /// Reads what follows a `<`; gives what follows that.
    fn markup<'t>(&mut self, after: &'t str) -> &'t str {
        if let Some(comment) = after.strip_prefix("!--") {
            return comment.split_once("-->").map_or("", |(_, rest)| rest);
        }
        let (closes, named) = match after.strip_prefix('/') {
            Some(named) => (true, named),
            None => (false, after),
        };
        let length = named.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'-').count();
        let (name, attributes) = named.split_at_checked(length).unwrap_or((named, ""));
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            if closes || after.starts_with(['!', '?']) {
                return after.split_once('>').map_or("", |(_, rest)| rest);
            }
            // A `<` that begins nothing is text.
            self.text("&lt;");
            return after;
        }
        let (attributes, rest) = tag_end(attributes);
        let name = name.to_ascii_lowercase();
        if closes {
            self.close(&name);
            return rest;
        }
        match RAW.contains(&name.as_str()) {
            true => self.raw(&name, rest),
            false => {
                self.open(&name, attributes);
                rest
            }
        }
    }

    fn raw<'t>(&mut self, name: &str, rest: &'t str) -> &'t str {
        let (content, rest) = raw_end(name, rest);
        if name == "title" && !self.elements.hidden() {
            self.outline.title(&decoded(content));
        }
        rest
    }

    fn open(&mut self, name: &str, attributes: &str) {
        // `<svg/>` is one that ends at once.
        let skipped = SKIPPED.contains(&name) && !attributes.ends_with('/');
        self.elements.open(name, skipped || is_hidden(attributes));
        if self.elements.hidden() {
            return;
        }
        if let Some(level) = level(name) {
            self.end_heading();
            self.heading = Some((level, attribute(attributes, "id"), String::new()));
            return;
        }
        match name {
            "li" => {
                self.line(false);
                self.push("- ");
            }
            "td" | "th" => self.push(" "),
            name if LINES.contains(&name) => self.line(false),
            name if BLOCKS.contains(&name) => self.line(true),
            _ => {}
        }
        if name == "pre" {
            self.pre += 1;
        }
    }

    fn close(&mut self, name: &str) {
        self.elements.close(name);
        if self.elements.hidden() {
            return;
        }
        if level(name).is_some() {
            return self.end_heading();
        }
        if BLOCKS.contains(&name) {
            self.line(true);
        }
        if name == "pre" {
            self.pre = self.pre.saturating_sub(1);
        }
    }

    fn end_heading(&mut self) {
        if let Some((level, id, text)) = self.heading.take() {
            self.outline.heading(level, &text, id.as_deref().filter(|id| !id.is_empty()));
        }
    }
}

/// The level of a heading element.
fn level(name: &str) -> Option<u8> {
    let level = name.strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&level).then_some(level)
}

/// The attributes of a tag, and what follows its `>`; quotes may hold one.
fn tag_end(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '>') => return (text.get(..at).unwrap_or(""), text.get(at + 1..).unwrap_or("")),
            _ => {}
        }
    }
    (text, "")
}

/// The content of a raw element, and what follows its end tag.
fn raw_end<'t>(name: &str, text: &'t str) -> (&'t str, &'t str) {
    let ends = |at: &usize| {
        let tag = text.get(at + 2..at + 2 + name.len());
        tag.is_some_and(|tag| tag.eq_ignore_ascii_case(name))
    };
    match text.match_indices("</").map(|(at, _)| at).find(ends) {
        Some(at) => (text.get(..at).unwrap_or(""), tag_end(text.get(at..).unwrap_or("")).1),
        None => (text, ""),
    }
}

/// Whether attributes say that nobody sees the element.
fn is_hidden(attributes: &str) -> bool {
    if attributes.is_empty() {
        return false;
    }
    let is = |value: &str, word: &str| value.trim().eq_ignore_ascii_case(word);
    attribute(attributes, "hidden").is_some()
        || attribute(attributes, "aria-hidden").is_some_and(|value| is(&value, "true"))
        || attribute(attributes, "style").is_some_and(|style| {
            // Of two declarations the last one counts.
            let last = |property: &str, word: &str| {
                let mut declared = style.split(';').filter_map(|declaration| declaration.split_once(':'));
                let value = declared.rfind(|(name, _)| is(name, property));
                value.is_some_and(|(_, value)| is(value.split('!').next().unwrap_or(""), word))
            };
            last("display", "none") || last("visibility", "hidden")
        })
}

/// The value of an attribute, empty if it has none.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let between = |c: char| c.is_whitespace() || c == '/';
    let mut rest = attributes.trim_start_matches(between);
    while !rest.is_empty() {
        // A `=` in front is part of the name.
        let end = rest.char_indices().skip(1).find(|(_, c)| between(*c) || *c == '=');
        let (key, after) = rest.split_at_checked(end.map_or(rest.len(), |(at, _)| at))?;
        let (value, left) = match after.trim_start().strip_prefix('=') {
            Some(value) => value_of(value.trim_start()),
            None => ("", after),
        };
        if key.eq_ignore_ascii_case(name) {
            return Some(decoded(value));
        }
        rest = left.trim_start_matches(between);
    }
    None
}

/// The value that a text begins with, and what follows it.
fn value_of(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(quoted) = text.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or((quoted, ""));
        }
    }
    text.split_at_checked(text.find(char::is_whitespace).unwrap_or(text.len())).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, Option<String>, String)> {
        read("file", text).into_iter().map(|p| (p.title, p.anchor, p.text)).collect()
    }

    #[test]
    fn what_a_reader_sees() {
        let page = r#"<!doctype html><html><head><title>Help &amp; more</title><style>p{color:red}</style>
            <script>if (a < b) document.write("<h1>not this</h1>")</script></head>
            <body><nav><ul><li>Menu</li></ul></nav><p>Hello <b>big</b>
            world.</p><h2 class="x" id='ship-ping'>Ship<i>ping</i></h2><ul><li>one<li>two</ul>
            <!-- <p>hidden</p> --><table><tr><td>a</td><td>b</td></tr></table>
            <pre>x
  y</pre><p title="a > b">1 &lt; 2 &#8364; &#x20ac; &nope; Gr&ouml;&szlig;e 3 < 4</p></body></html>"#;
        assert_eq!(
            found(page),
            [
                ("Help & more".into(), None, "Hello big world.".into()),
                (
                    "Help & more › Shipping".into(),
                    Some("ship-ping".into()),
                    "- one\n- two\n\na b\n\nx\n  y\n\n1 < 2 € € &nope; Größe 3 < 4".into()
                ),
            ]
        );
    }

    #[test]
    fn what_is_hidden_is_no_text() {
        for hidden in [
            "<p hidden>no</p>",
            "<div class=x HIDDEN=''>no<div>no</div>no</div>",
            "<span title=\"a > b\" hidden=until-found>no</span>",
            "<span aria-hidden=\"TRUE\"><b>no</b></span>",
            "<div style='color:red; Display : none !important'>no<p>no</div>",
            "<i style=visibility:hidden>no</i>",
            "<div style=\"display:&#110;one\">no</div>",
            "<h2 hidden id=a>no</h3>",
            "<ul><li hidden>no<li>",
            "<ul><li hidden>no<b>no</ul>",
            "<p hidden>no<div>",
            "<table><tr hidden><td>no<td>no<tr><td>",
            "<section><div hidden>no</section>",
            "<div hidden>no</b></span></section>no</div>",
            "<b><div hidden>no</b>no</div></b>",
            "<div hidden>no<br><img><input>no</div>",
            "<template><p>no</template>",
            "<svg><g><title>no</title><text>no</svg>",
        ] {
            let text = found(&format!("<main>yes {hidden} seen</main>")).remove(0).2;
            assert!(
                !text.contains("no") && text.contains("yes") && text.contains("seen"),
                "{hidden}: {text}"
            );
        }
        for shown in [
            "<p data-hidden=1 title=' hidden '>seen</p>",
            "<p title=\"x\" id=hidden>seen</p>",
            "<p aria-hidden=false style='display:block;visibility:visible'>seen</p>",
            "<p style='display:none;display:block'>seen</p>",
            "<br hidden>seen",
            "<img style='display:none'/>seen",
            "<hidden>seen</hidden>",
            "<a href=x/hidden>seen</a>",
        ] {
            assert_eq!(found(shown).remove(0).2, "seen", "{shown}");
        }
    }

    #[test]
    fn many_tags_take_no_quadratic_time() {
        for (open, close) in [("<b>", "</i>"), ("<div>", "</b>"), ("<b>", "<p>"), ("<li hidden>", "<li>")] {
            let time = |count: usize| {
                let text = format!("<i><b><div>{}{}", open.repeat(count), close.repeat(count));
                let begin = std::time::Instant::now();
                found(&text);
                begin.elapsed()
            };
            // The best of so many: a busy machine only ever makes it look slower.
            let small = (0..3).map(|_| time(3_000)).min().unwrap_or_default();
            // 16 times the tags: quadratic would be 256 times the time.
            let quick = (0..10).any(|_| time(48_000) < small * 100);
            assert!(quick, "{open}{close}: {small:?} for the few");
        }
    }

    #[test]
    fn hostile_input() {
        for text in [
            "",
            "<",
            "</",
            "<>",
            "<a",
            "<a href=\"",
            "<script>",
            "<script></scrip",
            "<!--",
            "<!",
            "&",
            "&#x110000;",
            "&#99999999999;",
            "<svg><svg></svg>",
            "<h1>",
            "</h1></pre></nav>",
            "<h9>x</h9>",
            "é<é>&é;",
            "<nav/>x",
        ] {
            found(text);
        }
        let deep = "<div>".repeat(100_000);
        assert!(found(&deep).is_empty());
        assert_eq!(found("<h1>A</h1>x<h1>B")[0].2, "x");
    }
}
