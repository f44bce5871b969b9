//! Text from pieces and numbers. What the standard library has for it is made for
//! every type and every way of formatting, and each of those is paid by every
//! visitor.

/// The pieces one after the other.
pub fn concat(pieces: &[&str]) -> String {
    let mut out = String::new();
    for piece in pieces {
        out.push_str(piece);
    }
    out
}

/// What stands before and behind the first `mark`, which is ASCII; everything and
/// nothing if there is none.
pub(crate) fn cut(text: &str, mark: u8) -> (&str, &str) {
    let at = text.bytes().position(|b| b == mark).unwrap_or(text.len());
    (text.get(..at).unwrap_or(text), text.get(at + 1..).unwrap_or(""))
}

/// Bytes as text, each longest piece that is no UTF-8 replaced by one U+FFFD, as
/// browsers do it.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut rest = bytes;
    while let Some((&first, mut behind)) = rest.split_first() {
        // How many bytes follow, and what the first of them may be.
        let (more, low, high) = match first {
            0..=0x7f => (0, 0, 0),
            0xc2..=0xdf => (1, 0x80, 0xbf),
            0xe0 => (2, 0xa0, 0xbf),
            0xed => (2, 0x80, 0x9f),
            0xe1..=0xef => (2, 0x80, 0xbf),
            0xf0 => (3, 0x90, 0xbf),
            0xf4 => (3, 0x80, 0x8f),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            _ => (4, 1, 0),
        };
        let (mut low, mut high, mut left) = (low, high, more);
        let mut scalar = if more == 0 { u32::from(first) } else { u32::from(first) & (0x3f >> more) };
        while left > 0
            && let Some((&next, after)) = behind.split_first()
            && (low..=high).contains(&next)
        {
            scalar = scalar << 6 | u32::from(next & 0x3f);
            (low, high, left, behind) = (0x80, 0xbf, left - 1, after);
        }
        out.push(if left > 0 { '\u{fffd}' } else { char::from_u32(scalar).unwrap_or('\u{fffd}') });
        rest = behind;
    }
    out
}

/// A number in decimal digits.
pub fn digits(number: u64) -> String {
    let mut out = String::new();
    push_digits(&mut out, number);
    out
}

fn push_digits(out: &mut String, number: u64) {
    if number > 9 {
        push_digits(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// A number of millionths as decimal text: `0.5`, `12`.
pub fn decimal(millionths: u64) -> String {
    let mut out = digits(millionths / 1_000_000);
    let mut rest = millionths % 1_000_000;
    if rest > 0 {
        out.push('.');
    }
    while rest > 0 {
        rest *= 10;
        out.push(char::from(b'0' + (rest / 1_000_000) as u8));
        rest %= 1_000_000;
    }
    out
}

/// The millionths of decimal text that has no sign and no exponent; digits behind the
/// sixth do not count.
pub fn millionths(text: &str) -> Option<u64> {
    let (whole, fraction) = cut(text, b'.');
    let mut out = number(whole)?;
    let mut fraction = fraction.bytes();
    for _ in 0..6 {
        let digit = fraction.next().unwrap_or(b'0').wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        out = out.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(out)
}

/// The number written in decimal digits, if it fits.
pub(crate) fn number(text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut number = 0_u64;
    for byte in text.bytes() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn numbers_there_and_back() {
        for n in [0, 7, 10, 1_000_000, u64::MAX] {
            assert_eq!(digits(n), n.to_string());
            assert_eq!(number(&digits(n)), Some(n));
        }
        for text in ["", "-1", "1.0", "1e3", " 1", "18446744073709551616", "٣"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn decimals_there_and_back() {
        for (text, n) in
            [("0", 0), ("0.5", 500_000), ("12", 12_000_000), ("0.000001", 1), ("3.141592", 3_141_592)]
        {
            assert_eq!((decimal(n).as_str(), millionths(text)), (text, Some(n)));
        }
        assert_eq!(millionths("0.50"), Some(500_000));
        assert_eq!(millionths("1.23456789"), Some(1_234_567));
        for text in ["", "-1", ".5", "1e3", "0.5e1", "18446744073709551616", "18446744073709551615"] {
            assert_eq!(millionths(text), None, "{text}");
        }
    }

    #[test]
    fn pieces() {
        assert_eq!(concat(&["a", "", "bc"]), "abc");
        for (text, before, behind) in [("a:b:c", "a", "b:c"), ("é", "é", ""), (":", "", ""), ("", "", "")] {
            assert_eq!(cut(text, b':'), (before, behind));
        }
    }

    #[test]
    fn broken_text_is_read_as_everybody_does() {
        let edges = [0, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1];
        let more = [0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff];
        let all = || edges.into_iter().chain(more);
        for (a, b) in all().flat_map(|a| all().map(move |b| (a, b))) {
            for (c, d) in all().flat_map(|c| all().map(move |d| (c, d))) {
                for bytes in [&[a, b, c, d, 0x80][..], &[a, b, c, d], &[a, b, c], &[a, b]] {
                    assert_eq!(lossy(bytes), String::from_utf8_lossy(bytes), "{bytes:x?}");
                }
            }
        }
        let text = "aé€🙂\u{10ffff}\u{d7ff}\u{e000}";
        assert_eq!(lossy(text.as_bytes()), text);
    }
}
