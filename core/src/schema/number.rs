//! Exact decimals, read from the text of a JSON number. No floats: a page's 0.1 is
//! a tenth, and an id of 20 digits keeps them all.

use std::cmp::Ordering;

use super::uri::{cut, find};

/// Exponents beyond this many digits are all the same to us.
const MAX_EXPONENT: i64 = 100_000_000_000_000_000;

/// A number as `digits` times ten to the power of `exponent`.
#[derive(PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    /// 0 to 9, the highest first, zeros at neither end; none for zero.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads a valid JSON number.
    pub(super) fn read(text: &str) -> Decimal {
        let (mantissa, power) = split(text, b"eE");
        let (whole, fraction) = split(mantissa, b".");
        let mut digits: Vec<u8> = Vec::with_capacity(mantissa.len());
        for byte in whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit) {
            if byte != b'0' || !digits.is_empty() {
                digits.push(byte - b'0');
            }
        }
        let mut exponent = read_exponent(power) - fraction.len() as i64;
        while digits.last() == Some(&0) {
            digits.pop();
            exponent += 1;
        }
        let zero = digits.is_empty();
        Decimal {
            negative: text.starts_with("-") && !zero,
            digits,
            exponent: if zero { 0 } else { exponent },
        }
    }

    /// Whether it has no fraction, however it is written.
    pub(super) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Whether it is greater than zero.
    pub(super) fn is_positive(&self) -> bool {
        !self.negative && !self.digits.is_empty()
    }

    /// The value as a count; one too large for us is the largest there is.
    pub(super) fn as_count(&self) -> Option<usize> {
        if self.negative || self.exponent < 0 {
            return None;
        }
        let mut count = 0usize;
        for &digit in &self.digits {
            count = count.saturating_mul(10).saturating_add(usize::from(digit));
        }
        for _ in 0..self.exponent.min(20) {
            count = count.saturating_mul(10);
        }
        Some(count)
    }

    /// How this compares to `other`.
    pub(super) fn compare(&self, other: &Decimal) -> Ordering {
        match (self.sign(), other.sign()) {
            (1, 1) => self.compare_size(other),
            (-1, -1) => other.compare_size(self),
            (a, b) => a.cmp(&b),
        }
    }

    /// The cost of [`Decimal::is_multiple_of`] in steps of digits.
    pub(super) fn division_cost(&self, divisor: &Decimal) -> usize {
        let by = divisor.digits.len();
        (self.digits.len() + by * 4).saturating_mul(by)
    }

    /// Whether dividing by `divisor`, which is positive, leaves nothing.
    pub(super) fn is_multiple_of(&self, divisor: &Decimal) -> bool {
        // Neither has a zero at its end, so a power of ten in the divisor alone
        // cannot cancel.
        let Ok(shift) = usize::try_from(self.exponent - divisor.exponent) else {
            return self.digits.is_empty();
        };
        // A divisor of n digits holds fewer than 4 n factors of two, and fewer of
        // five: further zeros change nothing.
        let zeros = shift.min(divisor.digits.len() * 4);
        let mut rest: Vec<u8> = Vec::with_capacity(divisor.digits.len() + 1);
        for &digit in self.digits.iter().chain(std::iter::repeat_n(&0, zeros)) {
            if digit != 0 || !rest.is_empty() {
                rest.push(digit);
            }
            while !less(&rest, &divisor.digits) {
                subtract(&mut rest, &divisor.digits);
            }
        }
        rest.is_empty()
    }

    /// Its digits and exponent, the same for equal numbers.
    pub(super) fn parts(&self) -> (bool, &[u8], i64) {
        (self.negative, &self.digits, self.exponent)
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (_, true) => -1,
            _ => 1,
        }
    }

    fn compare_size(&self, other: &Decimal) -> Ordering {
        let length = |d: &Decimal| d.exponent + d.digits.len() as i64;
        length(self).cmp(&length(other)).then_with(|| self.digits.cmp(&other.digits))
    }
}

/// Whether a JavaScript number holds exactly what `text`, a JSON number, says; of
/// fractions no more is asked than JavaScript's own.
pub(crate) fn is_safe(text: &str) -> bool {
    let number = Decimal::read(text);
    !number.is_integer() || number.compare_size(&Decimal::read("9007199254740991")) != Ordering::Greater
}

/// Before and after the first of these bytes.
fn split<'t>(text: &'t str, any: &[u8]) -> (&'t str, &'t str) {
    match find(text, any) {
        Some(at) => (cut(text, at).0, cut(text, at + 1).1),
        None => (text, ""),
    }
}

/// `n` in digits.
pub(super) fn digits(n: usize) -> String {
    crate::json::digits(n as u64)
}

/// Whether `text` is digits alone: such numbers are the same only if written the same.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn read_exponent(text: &str) -> i64 {
    let mut exponent = 0i64;
    for digit in text.bytes().filter(u8::is_ascii_digit) {
        exponent = (exponent.saturating_mul(10) + i64::from(digit - b'0')).min(MAX_EXPONENT);
    }
    if text.starts_with("-") { -exponent } else { exponent }
}

/// Compares whole numbers without zeros in front.
fn less(a: &[u8], b: &[u8]) -> bool {
    if a.len() == b.len() { a < b } else { a.len() < b.len() }
}

/// Takes `b` from `a`, which is not less.
fn subtract(a: &mut Vec<u8>, b: &[u8]) {
    let mut borrow = 0;
    let mut low = b.iter().rev();
    for digit in a.iter_mut().rev() {
        let take = low.next().copied().unwrap_or(0) + borrow;
        borrow = u8::from(*digit < take);
        *digit = *digit + borrow * 10 - take;
    }
    let zeros = a.iter().position(|&d| d != 0).unwrap_or(a.len());
    *a = a.get(zeros..).unwrap_or(&[]).to_vec();
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn equal_however_written() {
        for group in [
            &["0", "-0", "0.0", "0e5", "-0.00E-3"][..],
            &["1", "1.0", "1e0", "10e-1", "0.1e1", "1E+0"],
            &["-120", "-1.2e2", "-120.000"],
            &["12345678901234567890", "1234567890123456789e1"],
        ] {
            for text in group {
                assert!(Decimal::read(text) == Decimal::read(group[0]), "{text}");
                assert_eq!(Decimal::read(text).compare(&Decimal::read(group[0])), Ordering::Equal);
            }
        }
    }

    #[test]
    fn ascending() {
        let texts = [
            "-1e400",
            "-101",
            "-100.5",
            "-1",
            "-0.1",
            "-1e-400",
            "0",
            "1e-400",
            "0.1",
            "0.11",
            "0.2",
            "1",
            "9.99",
            "10",
            "9007199254740992",
            "9007199254740993",
            "1e400",
            "1e401",
            "1e99999999999999999999",
        ];
        for (i, a) in texts.iter().enumerate() {
            for (j, b) in texts.iter().enumerate() {
                assert_eq!(Decimal::read(a).compare(&Decimal::read(b)), i.cmp(&j), "{a} and {b}");
            }
        }
    }

    #[test]
    fn multiples() {
        for (number, divisor, expected) in [
            ("0", "7", true),
            ("21", "7", true),
            ("-21", "7", true),
            ("22", "7", false),
            ("0.3", "0.1", true),
            ("4.35", "0.01", true),
            ("0.35", "0.1", false),
            ("1", "0.3", false),
            ("1e300", "3", false),
            ("3e300", "3", true),
            ("1e1000000000", "8", true),
            ("1e2", "8", false),
            ("1e3", "8", true),
            ("12391239123", "1e-8", true),
            ("1e308", "0.5", true),
            ("1", "1e400", false),
            ("36893488147419103232", "18446744073709551616", true),
            ("36893488147419103233", "18446744073709551616", false),
            ("1e64", "18446744073709551616", true),
            ("1e63", "18446744073709551616", false),
        ] {
            let found = Decimal::read(number).is_multiple_of(&Decimal::read(divisor));
            assert_eq!(found, expected, "{number} by {divisor}");
        }
    }

    #[test]
    fn what_a_page_can_hold() {
        for text in
            ["0", "-0", "9007199254740991", "-9007199254740991", "90071992547409910e-1", "0.1", "1e15"]
        {
            assert!(is_safe(text), "{text}");
        }
        for text in ["9007199254740992", "-9007199254740993", "9007199254740993.0", "1e400", "1e20"] {
            assert!(!is_safe(text), "{text}");
        }
    }

    #[test]
    fn integers_and_counts() {
        for (text, integer, count) in [
            ("2.0", true, Some(2)),
            ("2.5", false, None),
            ("-1", true, None),
            ("0", true, Some(0)),
            ("3e1", true, Some(30)),
            ("1e99", true, Some(usize::MAX)),
        ] {
            let number = Decimal::read(text);
            assert_eq!((number.is_integer(), number.as_count()), (integer, count), "{text}");
        }
    }
}
