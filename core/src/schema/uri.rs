//! References as RFC 3986 resolves them, as far as identifiers in one document
//! need it. Nothing here opens one.

use crate::json::concat;

/// `reference` as seen from `base`, without its fragment.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    let reference = split_fragment(reference).0;
    if reference.is_empty() {
        return base.to_owned();
    }
    if scheme(reference) > 0 {
        return reference.to_owned();
    }
    let (scheme, rest) = cut(base, scheme(base));
    let mut out = scheme.to_owned();
    if reference.starts_with("//") {
        out.push_str(reference);
        return out;
    }
    let authority = match rest.strip_prefix("//") {
        Some(after) => 2 + find(after, b"/?").unwrap_or(after.len()),
        None => 0,
    };
    let (host, path) = cut(rest, authority);
    out.push_str(host);
    let path = cut(path, find(path, b"?").unwrap_or(path.len())).0;
    if reference.starts_with("?") {
        out.push_str(path);
        out.push_str(reference);
        return out;
    }
    let (to, query) = cut(reference, find(reference, b"?").unwrap_or(reference.len()));
    let folder = match path.bytes().rposition(|b| b == b'/') {
        _ if to.starts_with("/") => "",
        Some(slash) => cut(path, slash + 1).0,
        None if authority > 0 => "/",
        None => "",
    };
    push_path(&mut out, &concat(&[folder, to]));
    out.push_str(query);
    out
}

/// The part before `#`, and the fragment after it.
pub(crate) fn split_fragment(reference: &str) -> (&str, &str) {
    match find(reference, b"#") {
        Some(at) => (cut(reference, at).0, cut(reference, at + 1).1),
        None => (reference, ""),
    }
}

/// `%41` to `A`. What is no such escape stays; `None` for what is no UTF-8.
pub(crate) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let mut digit = || ahead.next().and_then(|b| (b as char).to_digit(16));
        match (byte, digit(), digit()) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Parts between slashes.
pub(super) fn segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    let mut rest = path;
    while let Some(slash) = find(rest, b"/") {
        segments.push(cut(rest, slash).0);
        rest = cut(rest, slash + 1).1;
    }
    segments.push(rest);
    segments
}

/// Where the first of these bytes stands. Bytes, because searching for characters
/// costs a page kilobytes.
pub(super) fn find(text: &str, any: &[u8]) -> Option<usize> {
    text.bytes().position(|b| any.contains(&b))
}

/// Both sides of `at`, which is at a character's edge.
pub(super) fn cut(text: &str, at: usize) -> (&str, &str) {
    (text.get(..at).unwrap_or(""), text.get(at..).unwrap_or(""))
}

/// Length of `scheme:` in front, 0 if there is none.
fn scheme(uri: &str) -> usize {
    match find(uri, b":/?") {
        Some(end) if uri.as_bytes().get(end) == Some(&b':') => end + 1,
        _ => 0,
    }
}

/// Appends `path` without its `.` and `..`.
fn push_path(out: &mut String, path: &str) {
    let mut kept: Vec<&str> = Vec::new();
    for segment in segments(path) {
        match segment {
            "." => {}
            // Not above the first slash.
            ".." if kept.len() > 1 || kept.first().is_some_and(|first| !first.is_empty()) => {
                kept.pop();
            }
            ".." => {}
            _ => kept.push(segment),
        }
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        kept.push("");
    }
    for (i, segment) in kept.into_iter().enumerate() {
        out.push_str(if i > 0 { "/" } else { "" });
        out.push_str(segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn resolved() {
        for (base, reference, expected) in [
            ("", "", ""),
            ("", "#/a", ""),
            ("", "item", "item"),
            ("list", "item#x", "item"),
            ("http://h/b/c", "d", "http://h/b/d"),
            ("http://h/b/c", "./d", "http://h/b/d"),
            ("http://h/b/c", "../d", "http://h/d"),
            ("http://h/b/c", "../../../d", "http://h/d"),
            ("http://h/b/c", "/d/./e", "http://h/d/e"),
            ("http://h/b/c", "..", "http://h/"),
            ("http://h/b/c?q", "?r", "http://h/b/c?r"),
            ("http://h/b/c?q", "d?r/..", "http://h/b/d?r/.."),
            ("http://h/b/c", "//i/d", "http://i/d"),
            ("http://h/b/c", "urn:x", "urn:x"),
            ("http://h", "d", "http://h/d"),
            ("http://h/b/", "", "http://h/b/"),
            ("urn:uuid:1", "#a", "urn:uuid:1"),
            ("file:///a/b", "c", "file:///a/c"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference} from {base}");
        }
    }

    #[test]
    fn percent() {
        for (text, expected) in [
            ("a%25b", "a%b"),
            ("%22", "\""),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz", "%zz"),
            ("%c3%a9", "é"),
            ("é", "é"),
        ] {
            assert_eq!(percent_decode(text).as_deref(), Some(expected));
        }
        assert_eq!(percent_decode("%ff"), None);
    }
}
