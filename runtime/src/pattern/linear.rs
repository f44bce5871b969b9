//! Patterns of ECMA-262 in the words of the crate `regex`, as far as it has words for them.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str =
    r"\x{9}-\x{d} \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";

/// The pattern, which is known to be one; `None` if it looks ahead, behind or back at what
/// it has matched, or at anything else that has no equal there.
pub(super) fn translated(source: &str) -> Option<String> {
    let mut out = String::with_capacity(source.len() * 2);
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match escape(&mut chars)? {
                Escape::Char(c) => push_char(&mut out, c),
                Escape::Class(class) => push_class(&mut out, &class),
                Escape::Boundary => out.push_str(r"(?-u:\b)"),
            },
            '.' => out.push_str(r"[^\n\r\x{2028}\x{2029}]"),
            '[' => class(&mut chars, &mut out)?,
            '(' => group(&mut chars, &mut out)?,
            ')' | '|' | '*' | '+' | '?' | '^' | '$' => out.push(c),
            '{' => {
                out.push('{');
                out.extend(std::iter::from_fn(|| chars.next_if(|c| *c != '}')));
            }
            '}' => out.push('}'),
            c => push_char(&mut out, c),
        }
    }
    Some(out)
}

enum Escape {
    Char(char),
    /// What stands between the brackets of a class.
    Class(String),
    Boundary,
}

/// What follows a backslash.
fn escape(chars: &mut Peekable<Chars<'_>>) -> Option<Escape> {
    let c = chars.next()?;
    Some(match c {
        'd' => Escape::Class(DIGIT.to_owned()),
        'w' => Escape::Class(WORD.to_owned()),
        's' => Escape::Class(SPACE.to_owned()),
        'D' => Escape::Class(format!("^{DIGIT}")),
        'W' => Escape::Class(format!("^{WORD}")),
        'S' => Escape::Class(format!("^{SPACE}")),
        'p' | 'P' => {
            let mut name = String::new();
            name.extend(std::iter::from_fn(|| chars.next_if(|c| *c != '}')));
            chars.next()?;
            Escape::Class(format!("\\{c}{name}}}"))
        }
        'b' => Escape::Boundary,
        't' => Escape::Char('\t'),
        'n' => Escape::Char('\n'),
        'v' => Escape::Char('\u{b}'),
        'f' => Escape::Char('\u{c}'),
        'r' => Escape::Char('\r'),
        '0' => Escape::Char('\0'),
        'x' => Escape::Char(hex(chars, 2)?),
        'u' => Escape::Char(unicode(chars)?),
        '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '/' | '-' => {
            Escape::Char(c)
        }
        _ => return None,
    })
}

fn unicode(chars: &mut Peekable<Chars<'_>>) -> Option<char> {
    if chars.next_if_eq(&'{').is_none() {
        // Half of a surrogate pair is no character.
        return hex(chars, 4);
    }
    let mut digits = String::new();
    digits.extend(std::iter::from_fn(|| chars.next_if(char::is_ascii_hexdigit)));
    chars.next_if_eq(&'}')?;
    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
}

fn hex(chars: &mut Peekable<Chars<'_>>, digits: usize) -> Option<char> {
    let mut code = 0;
    for _ in 0..digits {
        code = code * 16 + chars.next()?.to_digit(16)?;
    }
    char::from_u32(code)
}

/// What follows an opening parenthesis; nobody asks what a group has matched.
fn group(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<()> {
    out.push_str("(?:");
    if chars.next_if_eq(&'?').is_none() {
        return Some(());
    }
    match chars.next()? {
        ':' => Some(()),
        '<' if !matches!(chars.peek(), Some('=' | '!')) => chars.find(|c| *c == '>').map(|_| ()),
        _ => None,
    }
}

/// What follows an opening bracket.
fn class(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<()> {
    out.push('[');
    if chars.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    if chars.peek() == Some(&']') {
        return None;
    }
    loop {
        let low = match member(chars, out)? {
            Member::End => break,
            Member::Class => continue,
            Member::Char(low) => low,
        };
        push_char(out, low);
        let mut ahead = chars.clone();
        if ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']') {
            chars.next();
            let Member::Char(high) = member(chars, out)? else { return None };
            out.push('-');
            push_char(out, high);
        }
    }
    out.push(']');
    Some(())
}

enum Member {
    Char(char),
    /// A class itself, which is written.
    Class,
    /// The closing bracket.
    End,
}

fn member(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<Member> {
    Some(match chars.next()? {
        ']' => Member::End,
        '\\' => match escape(chars)? {
            Escape::Char(c) => Member::Char(c),
            Escape::Boundary => Member::Char('\u{8}'),
            Escape::Class(class) => {
                push_class(out, &class);
                Member::Class
            }
        },
        c => Member::Char(c),
    })
}

fn push_class(out: &mut String, class: &str) {
    out.push('[');
    out.push_str(class);
    out.push(']');
}

fn push_char(out: &mut String, c: char) {
    // Writing to a string does not fail.
    let _ = write!(out, r"\x{{{:x}}}", u32::from(c));
}
