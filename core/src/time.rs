//! Moments as text. The clock itself is the adapter's.

use crate::Millis;
use crate::json;

/// A moment in UTC with milliseconds, such as `2026-11-30T04:06:08.000Z`.
pub fn iso_8601(at: Millis) -> String {
    let (days, in_day) = (at / 86_400_000, at % 86_400_000);
    let (year, month, day) = civil(days);
    let mut out = String::with_capacity(24);
    digits(&mut out, year, 4);
    for (mark, value, width) in [
        ('-', month, 2),
        ('-', day, 2),
        ('T', in_day / 3_600_000, 2),
        (':', in_day / 60_000 % 60, 2),
        (':', in_day / 1_000 % 60, 2),
        ('.', in_day % 1_000, 3),
    ] {
        out.push(mark);
        digits(&mut out, value, width);
    }
    out.push('Z');
    out
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian
/// calendar. Years begin in March here, so that the leap day is the last one.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// Reads what [`iso_8601`] writes, with or without the fraction.
pub fn moment(text: &str) -> Option<Millis> {
    let field = |at: usize, width: usize| json::number(text.get(at..at + width)?);
    let (year, month, day) = (field(0, 4)?, field(5, 2)?, field(8, 2)?);
    if !text.ends_with('Z') || !(1970..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    // The year begins in March, so that the leap day is its last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let days = days.checked_sub(719_469)?;
    let seconds = days * 86_400 + field(11, 2)? * 3_600 + field(14, 2)? * 60 + field(17, 2)?;
    Some(seconds * 1_000)
}

fn digits(out: &mut String, value: u64, width: usize) {
    let text = json::digits(value);
    for _ in text.len()..width {
        out.push('0');
    }
    out.push_str(&text);
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn no_moments() {
        assert_eq!(moment("2026-11-30T04:06:08Z"), Some(1_796_011_568_000));
        for text in [
            "",
            "x",
            "Z",
            "soon",
            "2026-11-30",
            "2026-11-30T04:06:08",
            "2026-11-30T04:06:08+02:00",
            "0000-00-00T00:00:00Z",
            "2026-99-30T04:06:08Z",
            "1970-01-00T00:00:00Z",
            "20é6-11-30T04:06:08Z",
            "-026-11-30T04:06:08Z",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn moments() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (1_796_011_569_120, "2026-11-30T04:06:09.120Z"),
            (1_796_011_568_000, "2026-11-30T04:06:08.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso_8601(at), text);
            assert_eq!(moment(text), Some(at - at % 1000));
        }
        assert!(iso_8601(Millis::MAX).ends_with('Z'));
    }
}
