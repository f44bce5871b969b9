//! Arguments of a call, as models write them.

use crate::json::{ParseError, Value, parse};

/// What the text of a call's arguments stands for: nothing at all, in any of the
/// spellings models use, is `{}`; everything else stays as it is.
pub(super) fn normalise(text: &str) -> &str {
    let trimmed = text.trim();
    if matches!(trimmed, "" | "null" | "[]") { "{}" } else { text }
}

/// Why the arguments are no JSON object, for the model.
pub(super) fn fault(text: &str) -> Option<String> {
    match read(text) {
        Ok(Value::Object(_)) => None,
        Ok(other) => Some(format!(
            "The call was not run: its arguments must be one JSON object, not {}. Send it again as an object.",
            other.kind()
        )),
        Err(e) => Some(format!(
            "The call was not run: its arguments are not valid JSON, {e}. Send it again as one JSON object."
        )),
    }
}

/// The text as history may carry it: providers refuse what is no object.
pub(super) fn for_history(text: &str) -> &str {
    if fault(text).is_some() { "{}" } else { normalise(text) }
}

/// The same for two texts that mean the same call.
pub(super) fn canonical(text: &str) -> String {
    read(text).map_or_else(|_| text.to_owned(), |value| value.to_string())
}

fn read(text: &str) -> Result<Value, ParseError> {
    parse(normalise(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn nothing_is_an_empty_object_and_garbage_is_not() {
        for text in ["", "  ", "null", " [] ", "{}"] {
            assert_eq!((normalise(text), fault(text)), ("{}", None), "{text:?}");
        }
        for text in ["{\"q\": ", "3", "[1]", "\"x\"", "{\"a\":1}{\"b\":2}"] {
            assert_eq!(normalise(text), text);
            assert!(fault(text).is_some(), "{text:?}");
            assert_eq!(for_history(text), "{}");
        }
        assert_eq!(canonical("{ \"a\": 1 }"), canonical("{\"a\":1}"));
    }
}
