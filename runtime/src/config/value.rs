//! Values with rules of their own: secrets, origins, durations.

use std::fmt;
use std::time::Duration;

/// A value that must never be seen: printing it prints its length.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the text out of sight.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself; only for signing, comparing and request headers.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} characters)", self.0.chars().count())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.0.len())
    }
}

/// Whose pages may use an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Exactly this one, such as `https://shop.example`.
    Exact(String),
    /// Every page of this computer: `http` or `https`, any port.
    Loopback,
}

impl Origin {
    /// Reads an entry of `origins`.
    ///
    /// # Errors
    /// What is wrong with it and how to write it.
    pub fn parse(text: &str) -> Result<Origin, String> {
        if text == "loopback" {
            return Ok(Origin::Loopback);
        }
        if text == "*" || text == "null" {
            return Err(format!(
                "`{text}` would let every page in; list the origins, or \"loopback\" for this computer"
            ));
        }
        let lower = text.to_ascii_lowercase();
        let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
        let host = rest.ok_or_else(|| {
            format!("`{text}` is not an origin; write it as \"https://shop.example\", or \"loopback\"")
        })?;
        if host.is_empty() || host.contains(['/', '?', '#', '@', '*', ' ']) {
            return Err(format!(
                "`{text}` is not an origin; write scheme, host and port only, such as \"https://shop.example\""
            ));
        }
        // As browsers write it: lower case, non-ASCII hosts in punycode, no default port.
        let url = reqwest::Url::parse(text)
            .map_err(|e| format!("`{text}` is not an origin ({e}); write it as \"https://shop.example\""))?;
        Ok(Origin::Exact(url.origin().ascii_serialization()))
    }

    /// Whether a page that calls itself `origin` is meant. `null` never is.
    pub fn matches(&self, origin: &str) -> bool {
        match self {
            Origin::Exact(exact) => exact.eq_ignore_ascii_case(origin),
            Origin::Loopback => is_loopback(origin),
        }
    }

    /// The entry, as it is compared.
    pub fn as_str(&self) -> &str {
        match self {
            Origin::Exact(text) => text,
            Origin::Loopback => "loopback",
        }
    }
}

fn is_loopback(origin: &str) -> bool {
    let Some(rest) = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://")) else {
        return false;
    };
    ["localhost", "127.0.0.1", "[::1]"].iter().filter_map(|host| rest.strip_prefix(host)).any(|port| {
        port.is_empty()
            || port
                .strip_prefix(':')
                .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Reads `250ms`, `15s`, `10m` or `1h`.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at_checked(at)?;
    let factor = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor).map(Duration::from_millis)
}

/// Writes what [`parse_duration`] reads.
pub(super) fn print_duration(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    match ms {
        0 => "0s".to_owned(),
        ms if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        ms if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        ms if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_print_their_length() {
        let secret = Secret::new("hunter22");
        assert_eq!(format!("{secret} {secret:?}"), "(8 characters) Secret(8)");
    }

    #[test]
    fn origins() {
        let loopback = Origin::Loopback;
        for good in ["http://localhost", "https://127.0.0.1:8443", "http://[::1]:3000", "http://localhost:1"]
        {
            assert!(loopback.matches(good), "{good}");
        }
        for bad in [
            "null",
            "http://localhost.evil.example",
            "http://127.0.0.1:",
            "http://evil:80",
            "file://",
            "localhost",
        ] {
            assert!(!loopback.matches(bad), "{bad}");
        }
        let exact = Origin::parse("https://shop.example");
        assert!(exact.as_ref().is_ok_and(|o| o.matches("https://SHOP.example")));
        assert!(
            exact.is_ok_and(|o| !o.matches("https://shop.example:444") && !o.matches("http://shop.example"))
        );
        for (entry, sent) in [
            ("https://ok.example:443", "https://ok.example"),
            ("http://ok.example:80", "http://ok.example"),
            ("http://ok.example:443", "http://ok.example:443"),
            ("HTTPS://Ok.Example", "https://ok.example"),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert!(Origin::parse(entry).is_ok_and(|o| o.matches(sent)), "{entry}");
        }
        for bad in [
            "https://ok.example:99999",
            "https://a:b",
            "*",
            "null",
            "shop.example",
            "https://",
            "https://a/b",
            "https://*.a",
        ] {
            assert!(Origin::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations() {
        for (text, ms) in [("250ms", 250), ("15s", 15_000), ("10m", 600_000), ("1h", 3_600_000), ("0s", 0)] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(ms)));
            assert_eq!(print_duration(Duration::from_millis(ms)), text);
        }
        for bad in ["", "15", "s", "1.5s", "-1s", "1 s", "99999999999999999999s"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }
}
