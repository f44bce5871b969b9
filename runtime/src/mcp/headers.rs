//! Who a session is, as headers, and the same values taken out of what comes back.

use base64::Engine;
use mindset_core::json;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::Caller;
use crate::config::{McpServer, Secret};

/// Values shorter than this may be part of any word.
const SHORTEST_MASKED: usize = 7;

/// What stands where a value was taken out.
const MASK: &str = "•••";

/// The headers of every request for `caller`.
///
/// # Errors
/// A value that no header can hold.
pub(super) fn headers(caller: &Caller, server: &McpServer) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, text: &str| {
        let mut value = HeaderValue::from_str(text)
            .map_err(|_| format!("the value of `{name}` cannot be sent in a header"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok::<(), String>(())
    };
    put(HeaderName::from_static("x-user-id"), &caller.user)?;
    put(HeaderName::from_static("x-app-uid"), &caller.app)?;
    put(HeaderName::from_static("x-session-tags"), &ascii_list(&caller.tags))?;
    put(HeaderName::from_static("x-human-uid"), &caller.human)?;
    if let Some(authorization) = &server.authorization {
        put(AUTHORIZATION, authorization.expose())?;
    }
    for (name, value) in &server.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{name}` is no header"))?;
        put(name, value.expose())?;
    }
    Ok(headers)
}

/// A JSON list in ASCII, so that any text can be sent in a header.
fn ascii_list(texts: &[String]) -> String {
    let mut json = String::from("[");
    for (i, text) in texts.iter().enumerate() {
        if i > 0 {
            json.push(',');
        }
        json::write_string(&mut json, text);
    }
    json.push(']');
    ascii(&json)
}

/// JSON text with escapes for all that is not ASCII.
fn ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c == ' ' || c.is_ascii_graphic() {
            ascii.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

/// A text as it stands within a JSON string.
fn escaped(text: &str) -> String {
    let mut quoted = String::new();
    json::write_string(&mut quoted, text);
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// A text as it stands within a URL.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Takes what was sent in headers out of a server's words: it may echo them, and
/// the model must not see them.
pub(crate) struct Mask {
    /// Taken out wherever they stand.
    long: Vec<String>,
    /// Taken out where they stand by themselves.
    short: Vec<String>,
}

/// The values are secret.
impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mask({} values)", self.long.len() + self.short.len())
    }
}

impl Mask {
    /// The values of `caller` and `server`. The app's uid is no secret.
    pub(super) fn new(caller: &Caller, server: &McpServer) -> Mask {
        let mut texts = vec![caller.user.clone(), caller.human.clone(), ascii_list(&caller.tags)];
        if let Some(authorization) = server.authorization.as_ref().map(Secret::expose) {
            texts.push(authorization.to_owned());
            texts.extend(credentials(authorization));
        }
        for (_, value) in &server.headers {
            texts.push(value.expose().to_owned());
            texts.extend(credentials(value.expose()));
        }
        if let Ok(url) = reqwest::Url::parse(&server.url) {
            texts.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        }
        // What is short here is a word of anybody's, such as the list of no tags.
        Mask { short: Vec::new(), ..Mask::of(texts) }
    }

    /// These values, also the short ones.
    pub(crate) fn of(texts: Vec<String>) -> Mask {
        let mut all = Vec::new();
        for text in texts.into_iter().filter(|text| !text.trim().is_empty()) {
            let once = escaped(&text);
            all.extend([escaped(&once), ascii(&once), percent_encoded(&text), once, text]);
        }
        // The longest first, so that a part does not spoil the whole.
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        let short = all.split_off(all.partition_point(|text| text.len() >= SHORTEST_MASKED));
        Mask { long: all, short }
    }

    /// `text` without the values.
    pub(crate) fn apply(&self, mut text: String) -> String {
        for value in &self.long {
            if text.contains(value) {
                text = text.replace(value, MASK);
            }
        }
        for value in &self.short {
            if text.contains(value) {
                text = without_word(&text, value);
            }
        }
        text
    }

    /// Whether one of the values is in it.
    pub(super) fn hits(&self, text: &str) -> bool {
        self.long.iter().any(|value| text.contains(value))
    }
}

/// `text` without `value` where no letter or digit is right before or after it.
fn without_word(text: &str, value: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in text.match_indices(value) {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + value.len()..).and_then(|t| t.chars().next());
        if [before, after].into_iter().flatten().any(char::is_alphanumeric) {
            continue;
        }
        out.push_str(text.get(done..at).unwrap_or_default());
        out.push_str(MASK);
        done = at + value.len();
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// The secret parts of an `Authorization` value: what follows the scheme, and of
/// `Basic` the decoded pair and its password.
fn credentials(authorization: &str) -> Vec<String> {
    let Some((scheme, rest)) = authorization.split_once(' ') else { return Vec::new() };
    let rest = rest.trim();
    let mut parts = vec![rest.to_owned()];
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(rest)
        && let Ok(pair) = String::from_utf8(bytes)
    {
        parts.extend(pair.split_once(':').map(|(_, password)| password.to_owned()));
        parts.push(pair);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::tests::{caller, server};
    use super::*;

    #[test]
    fn tags_are_ascii_whatever_they_say() {
        for (tags, sent) in [
            (&[][..], "[]"),
            (&["vip"], r#"["vip"]"#),
            (
                &["a\"b", "c\\d", "é", "😀", "x\r\ny", "\u{7f}\0\u{2028}"],
                r#"["a\"b","c\\d","\u00e9","\ud83d\ude00","x\r\ny","\u007f\u0000\u2028"]"#,
            ),
        ] {
            let tags: Vec<String> = tags.iter().map(|t| (*t).to_owned()).collect();
            let text = ascii_list(&tags);
            assert_eq!(text, sent);
            assert!(HeaderValue::from_str(&text).is_ok());
            let back = json::parse(&text).unwrap();
            let back: Vec<&str> = back.as_array().unwrap().iter().filter_map(|v| v.as_str()).collect();
            assert_eq!(back, tags);
        }
    }

    #[test]
    fn short_values_are_taken_out_where_they_stand_alone() {
        let mask =
            Mask::of(["7", "Ada", "a b", "é\"", " ", "", "-1", "canary-1"].map(str::to_owned).to_vec());
        for (text, expected) in [
            ("Ada, Adam, 7 of 17, x_7", "•••, Adam, ••• of 17, x_•••"),
            ("7", "•••"),
            (r#"{"n":7,"t":"Ada"}"#, r#"{"n":•••,"t":"•••"}"#),
            (r#"a b, xa b, a%20b, é\" and \u00e9\" and é\\\""#, "•••, xa b, •••, ••• and ••• and •••"),
            ("ÄAda Ada7 7Ada 7 7 -1", "ÄAda Ada7 7Ada ••• ••• •••"),
            ("xcanary-12", "x•••2"),
        ] {
            assert_eq!(mask.apply(text.into()), expected, "{text}");
        }
        assert!(!mask.hits("Ada 7"));
    }

    #[test]
    fn a_value_that_would_split_the_header_is_refused() {
        let bad = Caller { user: "u\r\nx-evil: 1".into(), ..caller("a") };
        assert!(headers(&bad, &server("http://x.example")).is_err());
        let all = headers(&caller("a"), &server("http://x.example")).unwrap();
        assert_eq!(all.get("x-session-tags").unwrap(), "[]");
        assert!(all.values().all(HeaderValue::is_sensitive));
    }

    #[test]
    fn what_was_sent_is_taken_out() {
        let mut server = server("http://x.example/?key=querysecret");
        server.authorization = Some(Secret::new("Basic dXNlcjpodW50ZXIyMjI="));
        let caller = Caller { tags: vec!["gold \"x\"".into()], ..caller("canary") };
        let mask = Mask::new(&caller, &server);
        for text in [
            "user-canary",
            "Basic dXNlcjpodW50ZXIyMjI=",
            "dXNlcjpodW50ZXIyMjI=",
            "hunter222",
            "querysecret",
            r#"["gold \"x\""]"#,
            r#"[\"gold \\\"x\\\"\"]"#,
            r#"[\\\"gold \\\\\\\"x\\\\\\\"\\\"]"#,
            "%5B%22gold%20%5C%22x%5C%22%22%5D",
        ] {
            assert_eq!(mask.apply(format!("<{text}>")), format!("<{MASK}>"), "{text}");
            assert!(mask.hits(text));
        }
        assert_eq!(mask.apply("app and [] stay".into()), "app and [] stay");
        assert_eq!(format!("{mask:?}").matches("hunter").count(), 0);
    }
}
