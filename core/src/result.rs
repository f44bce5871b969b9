//! The result of a tool call as the model gets it: the page's and the runtime's are
//! cut by the same rule.

use crate::json::{concat, digits};

/// Bytes of a result that the model gets, the note about what is missing included.
pub const MAX_BYTES: usize = 256 * 1024;

/// Room for the note.
const NOTE: usize = 128;

/// At most `limit` bytes of the text, the note included: cut between two characters,
/// with a note of the shown and the full size. A text that was cut stays as it is.
pub fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut shown = limit.saturating_sub(NOTE);
    while !text.is_char_boundary(shown) {
        shown -= 1;
    }
    concat(&[
        text.get(..shown).unwrap_or(""),
        "\n[The result is too long: the first ",
        &digits(shown as u64),
        " of ",
        &digits(text.len() as u64),
        " bytes are shown.]",
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn cut_between_characters_and_only_once() {
        for text in ["é".repeat(700_000), "🙂".repeat(70_000), "a".repeat(MAX_BYTES + 1)] {
            let once = cut(&text, MAX_BYTES);
            assert!(once.len() <= MAX_BYTES, "{}", once.len());
            assert!(once.ends_with(&format!(" of {} bytes are shown.]", text.len())));
            assert_eq!(cut(&once, MAX_BYTES), once);
            assert!(text.starts_with(once.split('\n').next().unwrap()));
        }
        let whole = "a".repeat(MAX_BYTES);
        assert_eq!(cut(&whole, MAX_BYTES), whole);
    }
}
