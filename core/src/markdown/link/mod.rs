//! Where links and pictures may lead, judged as the browser will read the address:
//! after its entities are decoded, without the tabs and line breaks that the URL
//! standard drops anywhere in it, and without control characters around it.

#[cfg(test)]
mod tests;

/// An address that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The address without what the browser would drop; one that begins with `//` leads
    /// to `https`.
    pub url: String,
    /// The host it leads to, in small letters, with its port if it is not the usual one.
    /// `None` for mail and for addresses relative to the page.
    pub host: Option<String>,
}

impl Judged {
    /// Whether it writes a mail.
    pub fn is_mail(&self) -> bool {
        self.url.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:"))
    }
}

/// Whether an address may be followed: `http`, `https`, `mailto`, and addresses relative
/// to the page that no browser could read otherwise. `None` for everything else.
pub fn judge(url: &str) -> Option<Judged> {
    let ends = |char: char| char <= ' ';
    let mut kept: String = url.trim_matches(ends).to_owned();
    kept.retain(|char| !matches!(char, '\t' | '\n' | '\r'));
    if kept.contains(|char: char| char < ' ' || char == '\u{7f}') {
        return None;
    }
    let Some((scheme, rest)) = scheme(&kept) else { return relative(kept) };
    if scheme.eq_ignore_ascii_case("mailto") {
        return Some(Judged { url: kept, host: None });
    }
    let secure = scheme.eq_ignore_ascii_case("https");
    if !secure && !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    // With one slash or none it would depend on the page where it leads.
    let host = host(after_slashes(rest)?, if secure { "443" } else { "80" })?;
    Some(Judged { host: Some(host), url: kept })
}

/// Whether a label names another host than the one its address leads to: then the real
/// one must be shown.
pub fn is_misleading(label: &str, url: &str) -> bool {
    let Some(Judged { host: Some(real), .. }) = judge(url) else {
        // A label with an address of its own on something that leads elsewhere.
        return named_host(label).is_some();
    };
    named_host(label).is_some_and(|named| bare(&named) != bare(&real))
}

/// Whether a picture may be loaded without being asked for: its origin is in the list.
/// An entry is an origin like `https://example.com`, or `self` for the page's own, which
/// is given as `page_origin` and is what relative addresses belong to.
pub fn may_load(url: &str, page_origin: &str, origins: &[String]) -> bool {
    let Some(judged) = judge(url) else { return false };
    if judged.is_mail() {
        return false;
    }
    let own = origin(page_origin);
    let of = if judged.host.is_some() { origin(&judged.url) } else { own.clone() };
    let Some(of) = of else { return false };
    origins.iter().any(|entry| match entry.as_str() {
        "self" => own.as_ref() == Some(&of),
        entry => origin(entry).as_ref() == Some(&of),
    })
}

/// Scheme and host, as they are compared.
fn origin(url: &str) -> Option<(bool, String)> {
    let judged = judge(url)?;
    Some((is_secure(&judged.url), judged.host?))
}

fn is_secure(url: &str) -> bool {
    url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
}

/// An address without a scheme.
fn relative(url: String) -> Option<Judged> {
    if let Some(rest) = after_slashes(&url) {
        let host = host(rest, "443")?;
        let mut whole = "https://".to_owned();
        whole.push_str(rest);
        return Some(Judged { url: whole, host: Some(host) });
    }
    // A colon in its first part looks like a scheme to somebody.
    let first = url.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    (!first.contains(':')).then_some(Judged { url, host: None })
}

/// What is before the first colon, if it can be a scheme.
fn scheme(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let mut bytes = scheme.bytes();
    let whole = bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    whole.then_some((scheme, rest))
}

/// What is behind two slashes; browsers take backslashes for slashes.
fn after_slashes(text: &str) -> Option<&str> {
    text.strip_prefix(['/', '\\'])?.strip_prefix(['/', '\\'])
}

/// The host at the beginning of this text.
fn host(text: &str, usual_port: &str) -> Option<String> {
    let authority = text.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let (name, port) = match place.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (place, ""),
    };
    let ip6 = name.starts_with('[') && name.ends_with(']');
    let forbidden = |char: char| char <= ' ' || "<>^|%".contains(char) || (!ip6 && ":[]".contains(char));
    if name.is_empty() || name.contains(forbidden) || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut host = name.to_ascii_lowercase();
    if !port.is_empty() && port != usual_port {
        host.push(':');
        host.push_str(port);
    }
    Some(host)
}

/// The host that a label names, if it is nothing but an address or a host.
fn named_host(label: &str) -> Option<String> {
    let label = label.trim();
    if label.contains(char::is_whitespace) {
        return None;
    }
    if let Some(Judged { host: Some(host), .. }) = judge(label) {
        return Some(host);
    }
    let name = label.split(['/', '?', '#']).next().unwrap_or_default();
    let (name, _) = name.split_once(':').unwrap_or((name, ""));
    let last = name.rsplit('.').next().unwrap_or_default();
    let known = name.contains('.')
        && name.split('.').all(|part| !part.is_empty())
        && last.len() > 1
        && last.chars().all(|char| char.is_ascii_alphabetic() || !char.is_ascii())
        && !name.contains('@');
    if known { host(label, "443") } else { None }
}

fn bare(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}
