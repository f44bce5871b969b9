//! Addresses that are links by themselves: in angle brackets, or as GFM finds them in text.

use super::scan::{Ahead, between, byte, rest};

/// A link that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// What its address begins with beside its label.
    pub(super) prefix: &'static str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Where text goes on.
    pub(super) after: usize,
}

/// Whether an address may begin behind this text.
pub(super) fn may_begin(before: &str) -> bool {
    before.chars().next_back().is_none_or(|char| matches!(char, ' ' | '\t' | '\n' | '*' | '_' | '~' | '('))
}

/// `<scheme:…>` or `<name@host>`.
pub(super) fn angle(text: &str, at: usize, last: bool) -> Ahead<Found> {
    let start = at + 1;
    let mut colon = None;
    for (read, next) in rest(text, start).bytes().enumerate() {
        match next {
            b'>' => {
                let end = start + read;
                let inside = between(text, start, end);
                let prefix = match colon {
                    Some(2..=32) => "",
                    _ if is_mail(inside) => "mailto:",
                    _ => return Ahead::No,
                };
                return Ahead::Yes(Found { prefix, start, end, after: end + 1 });
            }
            0..=b' ' | b'<' | 0x7f => return Ahead::No,
            b':' if colon.is_none() => colon = Some(read),
            _ if colon.is_some() => {}
            _ if read == 0 && !(next.is_ascii_alphanumeric() || is_local(next)) => return Ahead::No,
            _ => {
                let scheme = next.is_ascii_alphanumeric() || matches!(next, b'+' | b'.' | b'-');
                if !scheme && !is_local(next) && next != b'@' {
                    return Ahead::No;
                }
            }
        }
        let scheme = matches!(colon, Some(length) if !is_scheme(between(text, start, start + length)));
        if scheme || (colon.is_none() && read > 320) {
            return Ahead::No;
        }
    }
    Ahead::end(last)
}

fn is_scheme(text: &str) -> bool {
    let mut bytes = text.bytes();
    (2..=32).contains(&text.len())
        && bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'))
}

fn is_mail(text: &str) -> bool {
    let Some((local, host)) = text.split_once('@') else { return false };
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    !local.is_empty()
        && local.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_local(byte))
        && host.split('.').all(label)
}

/// What else the part before `@` may hold in angle brackets.
fn is_local(byte: u8) -> bool {
    b".!#$%&'*+/=?^_`{|}~-".contains(&byte)
}

/// `http://…`, `https://…` or `www.…` that begins at `at`.
pub(super) fn address(text: &str, at: usize, last: bool) -> Ahead<Found> {
    let (prefix, length) = match ["www.", "http://", "https://"].map(|known| begins(rest(text, at), known)) {
        [Begins::Whole, ..] => ("http://", 0),
        [_, Begins::Whole, _] => ("", 7),
        [.., Begins::Whole] => ("", 8),
        [Begins::Part, ..] | [_, Begins::Part, _] | [.., Begins::Part] => return Ahead::end(last),
        _ => return Ahead::No,
    };
    // Where no spaces are written, punctuation ends an address.
    let wide = |char: char| matches!(char, '\u{3000}'..='\u{303f}' | '\u{ff01}'..='\u{ff65}');
    let whole = rest(text, at).find(|char: char| matches!(char, ' ' | '\t' | '\n' | '<') || wide(char));
    if whole.is_none() && !last {
        return Ahead::Hold;
    }
    let end = at + trim(between(text, at, whole.map_or(text.len(), |length| at + length)));
    let domain = between(text, at + length, end).split(['/', '?', '#', ':']).next().unwrap_or_default();
    if !is_domain(domain, length > 0) {
        return Ahead::No;
    }
    Ahead::Yes(Found { prefix, start: at, end, after: end })
}

enum Begins {
    Whole,
    Part,
    No,
}

fn begins(text: &str, known: &str) -> Begins {
    let length = text.len().min(known.len());
    if !text
        .as_bytes()
        .get(..length)
        .unwrap_or_default()
        .eq_ignore_ascii_case(between(known, 0, length).as_bytes())
    {
        return Begins::No;
    }
    if length == known.len() { Begins::Whole } else { Begins::Part }
}

/// Letters, digits, hyphens and low lines with points between; the last two parts
/// without low lines.
fn is_domain(domain: &str, short: bool) -> bool {
    let parts = || domain.split('.');
    let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_') || !char.is_ascii();
    parts().all(|part| !part.is_empty() && part.chars().all(allowed))
        && parts().rev().take(2).all(|part| !part.contains('_'))
        && (short || parts().count() > 1)
}

/// How much of an address is one: not the punctuation behind it, nor a round bracket
/// that was opened before it, nor an entity.
fn trim(text: &str) -> usize {
    let (mut opened, mut closed) = (0_usize, 0_usize);
    for byte in text.bytes() {
        opened += usize::from(byte == b'(');
        closed += usize::from(byte == b')');
    }
    let mut end = text.len();
    while let Some(last) = end.checked_sub(1).and_then(|at| byte(text, at)) {
        match last {
            b'?' | b'!' | b'.' | b',' | b':' | b'*' | b'_' | b'~' | b'\'' | b'"' => end -= 1,
            b')' if closed > opened => {
                closed -= 1;
                end -= 1;
            }
            b';' => {
                let name = between(text, 0, end - 1);
                let letters = name.bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
                let start = name.len() - letters;
                let entity = letters > 0 && name.get(..start).is_some_and(|before| before.ends_with('&'));
                end = if entity { start - 1 } else { end - 1 };
            }
            _ => break,
        }
    }
    end
}

/// How much at the end of this text may be the part of a mail address before `@`.
pub(super) fn local_part(text: &str) -> usize {
    let local = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
    text.bytes().rev().take_while(local).count()
}

/// Where the host behind `@` ends.
pub(super) fn mail_domain(text: &str, at: usize, last: bool) -> Ahead<usize> {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let length = rest(text, at).bytes().take_while(inside).count();
    let mut end = at + length;
    if end == text.len() && !last {
        return Ahead::Hold;
    }
    while end > at && byte(text, end - 1) == Some(b'.') {
        end -= 1;
    }
    let host = between(text, at, end);
    let wrong = host.ends_with(['-', '_']) || !host.contains('.') || host.split('.').any(str::is_empty);
    if wrong || byte(text, end) == Some(b'@') { Ahead::No } else { Ahead::Yes(end) }
}
