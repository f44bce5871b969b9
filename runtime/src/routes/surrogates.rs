//! Halves of surrogate pairs (`"\ud800"`) in a body: JSON has them, texts do not, so what holds
//! one cannot be passed on as it came.

use mindset_core::json;

use super::body;
use crate::error::ApiResult;

/// The longest name that is repeated to the caller.
const MAX_NAME: usize = 100;

/// Refuses pass-through values that would not arrive as they were sent. `text` is a JSON text,
/// `path` the names of the members on the way to the values.
///
/// # Errors
/// `invalid-request` with the name of the first parameter that holds half a pair.
pub(super) fn refuse_halves(text: &str, path: &[&str]) -> ApiResult<()> {
    match first_half(text, path) {
        None => Ok(()),
        Some(name) => {
            let name: String = name.chars().take(MAX_NAME).collect();
            Err(body::field(&format!(
                "The pass-through parameter `{name}` holds half of a surrogate pair, such as \\ud800, which would not \
                 arrive unchanged. Send whole characters."
            ))
            .with("parameter", name))
        }
    }
}

/// The name of the first member of the object at `path` that holds half a pair, in its name or
/// anywhere below.
fn first_half(text: &str, path: &[&str]) -> Option<String> {
    // Most bodies end here, and none of them is read twice.
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return None;
    }
    // The name of the member that is being read, for each open object; lists have none.
    let mut open: Vec<Option<String>> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '{', '[', '}', ']']) {
        let (token, after) = split_token(rest.get(at..)?)?;
        rest = after;
        match token {
            "{" | "[" => open.push(None),
            "}" | "]" => drop(open.pop()),
            string => {
                if rest.trim_start().starts_with(':') {
                    let name = json::parse(string).ok().and_then(|v| v.as_str().map(str::to_owned));
                    *open.last_mut()? = name;
                }
                let on_the_way = || path.iter().zip(&open).all(|(name, open)| open.as_deref() == Some(*name));
                if has_half(string) && open.len() > path.len() && on_the_way() {
                    return Some(open.get(path.len())?.clone().unwrap_or_default());
                }
            }
        }
    }
    None
}

/// The bracket or the string, with its quotes, that a text begins with, and what follows it.
fn split_token(text: &str) -> Option<(&str, &str)> {
    if !text.starts_with('"') {
        return text.split_at_checked(1);
    }
    let mut escape = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escape => escape = false,
            b'\\' => escape = true,
            b'"' => return text.split_at_checked(at + 1),
            _ => {}
        }
    }
    None
}

/// Whether an escape of a JSON string is half a pair.
fn has_half(string: &str) -> bool {
    let mut rest = string;
    while let Some((_, after)) = rest.split_once('\\') {
        rest = match escaped_unit(after) {
            Some(0xd800..=0xdbff) => {
                let low = after.get(5..).and_then(|next| next.strip_prefix('\\'));
                let Some(low) = low.filter(|low| matches!(escaped_unit(low), Some(0xdc00..=0xdfff))) else {
                    return true;
                };
                low
            }
            Some(0xdc00..=0xdfff) => return true,
            _ => after,
        };
        // The escaped character may be a backslash.
        rest = rest.get(1..).unwrap_or("");
    }
    false
}

/// The number in what follows a backslash, if that is `u` and four digits.
fn escaped_unit(after: &str) -> Option<u32> {
    u32::from_str_radix(after.strip_prefix('u')?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs() {
        for (params, name) in [
            (r#"{"a":"\ud800"}"#, Some("a")),
            (r#"{"ok":1,"a":{"b":[1,{"c":"x\\\uDFFFy"}]}}"#, Some("a")),
            (r#"{"a":{"\udc00":1}}"#, Some("a")),
            (r#"{"x\ud83d":1}"#, Some("x\u{fffd}")),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, Some("a")),
            (r#"{"a":"\ud83dA\ude00"}"#, Some("a")),
            (r#"{"a":[["\ud83d\\ude00"]]}"#, Some("a")),
            (r#"{"a" : "\uD83D\uDE00", "b\ud83d\ude00": "\ufffd"}"#, None),
            (r#"{"a":"\\ud800 \"{[\\"}"#, None),
            (r#"{}"#, None),
            (r#"[]"#, None),
        ] {
            let other = r#""other":{"x":"\ud800"},"list":["\ud800",{"b":"\ud800"}]"#;
            let text =
                format!(r#" {{{other},"m" : {{"y":"\ud800","\u0070": {params},"z":"\ud800"}},{other}}}"#);
            assert!(json::parse(&text).is_ok(), "{text}");
            assert_eq!(first_half(&text, &["m", "p"]).as_deref(), name, "{params}");
        }
        assert_eq!(first_half(r#"{"p":"\ud800"}"#, &["p"]), None);
        assert_eq!(first_half(r#"["\ud800"#, &["p"]), None);
    }
}
