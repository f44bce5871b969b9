//! Markdown to pieces: headings make sections, everything else stays as it is
//! written, because models read Markdown well.

use super::outline::{Outline, Piece};

/// The pieces of a document called `name`.
pub(super) fn read(name: &str, text: &str) -> Vec<Piece> {
    let mut outline = Outline::new(name);
    let mut fence: Option<String> = None;
    let mut comment = false;
    let mut lines = front_matter(&mut outline, text).lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(end) = &fence {
            let closes = line
                .trim()
                .strip_prefix(end.as_str())
                .is_some_and(|more| more.bytes().all(|b| end.as_bytes().first() == Some(&b)));
            push_line(&mut outline, line);
            if closes {
                fence = None;
            }
        } else if comment || line.trim_start().starts_with("<!--") {
            comment = !line.contains("-->");
        } else if let Some(begin) = fence_of(line) {
            fence = Some(begin);
            push_line(&mut outline, line);
        } else if let Some((level, text)) = atx(line) {
            heading(&mut outline, level, text);
        } else if let Some(level) = lines.peek().and_then(|next| setext(line, next)) {
            heading(&mut outline, level, line);
            lines.next();
        } else {
            push_line(&mut outline, line);
        }
    }
    outline.finish()
}

fn push_line(outline: &mut Outline, line: &str) {
    outline.push(line);
    outline.push("\n");
}

/// Takes the block between `---` lines off the start; a `title` in it is the
/// document's.
fn front_matter<'t>(outline: &mut Outline, text: &'t str) -> &'t str {
    let begin = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    let Some((head, rest)) = begin.and_then(|inner| inner.split_once("\n---")) else { return text };
    let title = head.lines().find_map(|line| line.strip_prefix("title:"));
    if let Some(title) = title {
        outline.title(title.trim().trim_matches(['"', '\'']));
    }
    rest.split_once('\n').map_or("", |(_, after)| after)
}

/// What closes the code block that a line opens.
fn fence_of(line: &str) -> Option<String> {
    let line = line.trim_start();
    ["`", "~"].iter().find_map(|mark| {
        let run = line.len() - line.trim_start_matches(mark).len();
        (run >= 3).then(|| mark.repeat(run))
    })
}

/// `## Heading ##`.
fn atx(line: &str) -> Option<(u8, &str)> {
    let trimmed = line.trim_start_matches(' ');
    let rest = trimmed.trim_start_matches('#');
    let level = trimmed.len() - rest.len();
    let spaced = rest.is_empty() || rest.starts_with([' ', '\t']);
    if line.len() - trimmed.len() > 3 || !(1..=6).contains(&level) || !spaced {
        return None;
    }
    let text = rest.trim();
    let open = text.trim_end_matches('#');
    let text = if open.is_empty() || open.ends_with(' ') { open.trim() } else { text };
    u8::try_from(level).ok().map(|level| (level, text))
}

/// A line that is underlined with `=` or `-`.
fn setext(line: &str, next: &str) -> Option<u8> {
    let next = next.trim_end();
    let all = |mark: u8| next.len() >= 2 && next.bytes().all(|b| b == mark);
    let begins = line.trim_start().starts_with(['-', '*', '>', '|', '#']);
    match (line.trim().is_empty() || begins, all(b'='), all(b'-')) {
        (false, true, _) => Some(1),
        (false, _, true) => Some(2),
        _ => None,
    }
}

/// Ends with `{#anchor}`, if it names its own.
fn heading(outline: &mut Outline, level: u8, text: &str) {
    let own = text.trim().strip_suffix('}').and_then(|t| t.rsplit_once("{#"));
    let (text, anchor) = own.map_or((text, None), |(text, anchor)| (text, Some(anchor)));
    outline.heading(level, &plain(text), anchor);
}

/// A heading without marks and link targets.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        out.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.retain(|c| !matches!(c, '`' | '*' | '[' | ']'));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        read("file", text).into_iter().map(|p| (p.title, p.text)).collect()
    }

    fn pair(a: &str, b: &str) -> (String, String) {
        (a.to_owned(), b.to_owned())
    }

    #[test]
    fn headings_make_sections() {
        let text = "---\ntitle: \"The handbook\"\n---\nHello\n\n## `One` *two* [three](x.md) ##\n- a\n\n\
                    ```sh\n# no heading\n```\n<!-- not\nthis -->\nTitle\n=====\nlast\n\nUnder\n---\nmore\n#no\n";
        assert_eq!(
            found(text),
            [
                pair("The handbook", "Hello"),
                pair("The handbook › One two three", "- a\n\n```sh\n# no heading\n```"),
                pair("Title", "last"),
                pair("Title › Under", "more\n#no"),
            ]
        );
    }

    #[test]
    fn hostile_input() {
        for text in ["", "---\n", "```", "#", "<!--", "](", "]()[", "====", "a\n=", "\u{feff}#", "# \n\n#\n"]
        {
            found(text);
        }
        assert_eq!(found("# A {#own-place}\nx")[0].0, "A");
        assert_eq!(read("f", "# A {#own-place}\nx")[0].anchor.as_deref(), Some("own-place"));
    }
}
