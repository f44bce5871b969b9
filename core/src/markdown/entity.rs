//! Entities: all names of HTML, in 16 KB that compress to half of it.

use super::scan::{Ahead, between, byte};

/// Names in order, each after the first as a digit for what it shares with the one
/// before (`'0'` is nothing), its other letters, and what it stands for: one character,
/// and more if they are not ASCII. Made from the table of the HTML standard.
const TABLE: &str = include_str!("entities.txt");

/// The longest name of all has 31 letters.
const MAX_NAME: usize = 32;

/// The entity that begins with the `&` at the start of the text: its length and what it
/// stands for.
pub(super) fn read(text: &str, last: bool) -> Ahead<(usize, String)> {
    let (start, radix, most) = match (byte(text, 1), byte(text, 2)) {
        (Some(b'#'), Some(b'x' | b'X')) => (3, 16, 6),
        (Some(b'#'), _) => (2, 10, 7),
        _ => (1, 36, MAX_NAME),
    };
    let digit = |byte: &u8| char::from(*byte).is_digit(radix);
    let length = text.bytes().skip(start).take_while(digit).count();
    let end = start + length;
    match byte(text, end) {
        _ if length > most => Ahead::No,
        None => Ahead::end(last),
        Some(b';') if length > 0 => {
            let name = between(text, start, end);
            let found = if start == 1 { named(name) } else { numbered(name, radix) };
            found.map_or(Ahead::No, |found| Ahead::Yes((end + 1, found)))
        }
        Some(_) => Ahead::No,
    }
}

fn numbered(digits: &str, radix: u32) -> Option<String> {
    let code = u32::from_str_radix(digits, radix).ok()?;
    Some(char::from_u32(code).filter(|&char| char != '\0').unwrap_or('\u{fffd}').to_string())
}

/// What a name stands for.
fn named(name: &str) -> Option<String> {
    let known = match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "nbsp" => "\u{a0}",
        "fjlig" => "fj",
        _ => return search(name).map(str::to_owned),
    };
    Some(known.to_owned())
}

fn search(name: &str) -> Option<&'static str> {
    let mut same = 0;
    let mut rest = TABLE;
    while let Some(digit) = byte(rest, 0) {
        let shared = usize::from(digit.wrapping_sub(b'0'));
        if shared < same {
            return None;
        }
        let letters = rest.bytes().skip(1).take_while(u8::is_ascii_alphanumeric).count();
        let value = rest.get(1 + letters..)?;
        let first = value.chars().next()?.len_utf8();
        let more = value.bytes().skip(first).take_while(|byte| !byte.is_ascii()).count();
        if shared == same {
            let own = between(rest, 1, 1 + letters);
            let wanted = name.get(same..)?;
            same += own.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
            if own == wanted {
                return value.get(..first + more);
            }
        }
        rest = value.get(first + more..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn names_stand_for_characters() {
        let known = [
            ("AElig", "Æ"),
            ("Aacute", "Á"),
            ("ClockwiseContourIntegral", "∲"),
            ("CounterClockwiseContourIntegral", "∳"),
            ("HilbertSpace", "ℋ"),
            ("NewLine", "\n"),
            ("Tab", "\t"),
            ("amp", "&"),
            ("bne", "=\u{20e5}"),
            ("fjlig", "fj"),
            ("hearts", "♥"),
            ("in", "∈"),
            ("int", "∫"),
            ("ngE", "≧\u{338}"),
            ("num", "#"),
            ("zwj", "\u{200d}"),
            ("zwnj", "\u{200c}"),
        ];
        for (name, stands_for) in known {
            assert_eq!(named(name).as_deref(), Some(stands_for), "{name}");
        }
        for unknown in ["", "A", "Zz", "ampx", "am", "zwnjj", "0", "ZZZ"] {
            assert_eq!(named(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_name_of_the_table_is_found() {
        let (mut rest, mut name, mut count) = (TABLE, String::new(), 0);
        while let Some(digit) = byte(rest, 0) {
            let letters = rest.bytes().skip(1).take_while(u8::is_ascii_alphanumeric).count();
            name.truncate(usize::from(digit - b'0'));
            name.push_str(&rest[1..=letters]);
            let found = search(&name).unwrap();
            assert!(rest[1 + letters..].starts_with(found), "{name}");
            rest = &rest[1 + letters + found.len()..];
            count += 1;
        }
        assert_eq!(count, 2124, "all names but one, which stands for two letters");
    }

    #[test]
    fn half_an_entity_waits() {
        for half in ["&", "&a", "&#", "&#x", "&#12", "&#x1f", "&amp"] {
            assert_eq!(read(half, false), Ahead::Hold, "{half}");
            assert_eq!(read(half, true), Ahead::No, "{half}");
        }
        for none in ["& ", "&;", "&#;", "&#x;", "&#12345678;", "&#x1234567;", "&nope;", "&a-b;"] {
            assert_eq!(read(none, false), Ahead::No, "{none}");
        }
        assert_eq!(read("&#0;", false), Ahead::Yes((4, "\u{fffd}".to_owned())));
        assert_eq!(read("&#xD800;", false), Ahead::Yes((8, "\u{fffd}".to_owned())));
        assert_eq!(read("&#x1F642;x", false), Ahead::Yes((9, "🙂".to_owned())));
    }
}
