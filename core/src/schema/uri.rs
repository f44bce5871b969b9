//! References as RFC 3986 resolves them, as far as identifiers in one document
//! need it. Nothing here opens one.

/// `reference` as seen from `base`, without its fragment.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    let reference = split_fragment(reference).0;
    if reference.is_empty() {
        return base.to_owned();
    }
    if scheme(reference) > 0 {
        return reference.to_owned();
    }
    let scheme = scheme(base);
    let rest = base.get(scheme..).unwrap_or("");
    let mut out = base.get(..scheme).unwrap_or("").to_owned();
    if reference.starts_with("//") {
        out.push_str(reference);
        return out;
    }
    let authority = match rest.strip_prefix("//") {
        Some(after) => 2 + after.find(['/', '?']).unwrap_or(after.len()),
        None => 0,
    };
    out.push_str(rest.get(..authority).unwrap_or(""));
    let path = rest.get(authority..).unwrap_or("");
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    if reference.starts_with('?') {
        out.push_str(path);
        out.push_str(reference);
        return out;
    }
    let (to, query) = reference.split_at(reference.find('?').unwrap_or(reference.len()));
    let folder = match path.rfind('/') {
        _ if to.starts_with('/') => "",
        Some(slash) => path.get(..=slash).unwrap_or(""),
        None if authority > 0 => "/",
        None => "",
    };
    push_path(&mut out, &[folder, to].concat());
    out.push_str(query);
    out
}

/// The part before `#`, and the fragment after it.
pub(super) fn split_fragment(reference: &str) -> (&str, &str) {
    reference.split_once('#').unwrap_or((reference, ""))
}

/// `%41` to `A`. What is no such escape stays, and what is no UTF-8 becomes U+FFFD.
pub(super) fn percent_decode(text: &str) -> String {
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
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Length of `scheme:` in front, 0 if there is none.
fn scheme(uri: &str) -> usize {
    match uri.find([':', '/', '?']) {
        Some(end) if uri.as_bytes().get(end) == Some(&b':') => end + 1,
        _ => 0,
    }
}

/// Appends `path` without its `.` and `..`.
fn push_path(out: &mut String, path: &str) {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
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
    out.push_str(&kept.join("/"));
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
            assert_eq!(percent_decode(text), expected);
        }
    }
}
