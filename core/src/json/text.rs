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

/// Bytes as text, with U+FFFD in place of what is no UTF-8.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A number in decimal digits.
pub fn digits(mut number: u64) -> String {
    let mut out = String::new();
    loop {
        out.insert(0, char::from(b'0' + (number % 10) as u8));
        number /= 10;
        if number == 0 {
            return out;
        }
    }
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
    fn pieces() {
        assert_eq!(concat(&["a", "", "bc"]), "abc");
        for (text, before, behind) in [("a:b:c", "a", "b:c"), ("é", "é", ""), (":", "", ""), ("", "", "")] {
            assert_eq!(cut(text, b':'), (before, behind));
        }
        assert_eq!(lossy(b"a\xffb"), "a\u{fffd}b");
    }
}
