//! HTML as the specifications write it, in one form that can be compared.

/// Blocks: white space around and directly inside of them means nothing.
const BLOCKS: &[&str] = &[
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "ul",
    "ol",
    "li",
    "pre",
    "hr",
    "table",
    "thead",
    "tbody",
    "tr",
    "td",
    "th",
];

#[derive(Debug, PartialEq)]
enum Part<'a> {
    Text(String),
    /// A tag: whether it closes, its name, its attributes.
    Tag(bool, &'a str, Vec<(String, String)>),
}

/// The same text for the same tree.
#[allow(unreachable_pub)]
pub fn normal(html: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    for part in parts(html) {
        match part {
            Part::Text(text) if code => out.push_str(&text),
            Part::Text(text) => {
                let mut text = text.as_str();
                if out.ends_with("\u{1}\n") || out.ends_with("<br>") {
                    text = text.trim_start_matches([' ', '\n']);
                }
                out.push_str(text);
            }
            Part::Tag(close, name, attributes) => {
                let name = match name {
                    "th" => "td",
                    name => name,
                };
                if matches!(name, "thead" | "tbody") {
                    continue;
                }
                if name == "pre" {
                    code = !close;
                }
                let block = BLOCKS.contains(&name);
                if block && (!close || name != "pre") {
                    out.truncate(out.trim_end_matches([' ', '\n']).len());
                }
                if block && !out.ends_with("\u{1}\n") {
                    out.push_str("\u{1}\n");
                }
                out.push_str(if close { "</" } else { "<" });
                out.push_str(name);
                for (key, value) in attributes {
                    let value = if key == "href" || key == "src" { address(&value) } else { value };
                    out.push_str(&format!(" {key}={value:?}"));
                }
                out.push('>');
                if block {
                    out.push_str("\u{1}\n");
                }
            }
        }
    }
    out.replace('\u{1}', "").trim().to_owned()
}

fn parts(html: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = html;
    while !rest.is_empty() {
        let tag = rest.strip_prefix('<').and_then(|inside| inside.split_once('>'));
        match tag {
            Some((inside, more))
                if inside.starts_with(|char: char| char == '/' || char.is_ascii_alphabetic()) =>
            {
                parts.push(tag_of(inside));
                rest = more;
            }
            _ => {
                let end =
                    rest.char_indices().skip(1).find(|next| next.1 == '<').map_or(rest.len(), |next| next.0);
                parts.push(Part::Text(unescape(&rest[..end])));
                rest = &rest[end..];
            }
        }
    }
    parts
}

fn tag_of(inside: &str) -> Part<'_> {
    let inside = inside.trim_end_matches([' ', '/']);
    if let Some(name) = inside.strip_prefix('/') {
        return Part::Tag(true, name, Vec::new());
    }
    let (name, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
    let mut attributes = Vec::new();
    while let Some((key, more)) = rest.split_once("=\"") {
        let (value, more) = more.split_once('"').expect("a quote");
        let key = key.trim();
        if !matches!(key, "style" | "align" | "head" | "type" | "disabled") {
            attributes.push((key.to_owned(), unescape(value)));
        }
        rest = more;
    }
    attributes.sort();
    Part::Tag(false, name, attributes)
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// An address with everything encoded that the specification's programs encode.
fn address(url: &str) -> String {
    let mut out = String::new();
    for byte in url.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.+!*'(),%#@?=;:/&$~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
