//! Arguments of a call, as models write them and as they are stored.

use crate::json::Object;
pub(super) use crate::passthrough::normalise;
use crate::passthrough::read;

/// Why the arguments are no JSON object, for the model.
pub(super) fn fault(text: &str) -> Option<String> {
    read(text).err()
}

/// The text as history may carry it: providers refuse what is no object.
pub(super) fn for_history(text: &str) -> &str {
    if fault(text).is_some() { "{}" } else { normalise(text) }
}

/// The same for two texts that mean the same call.
pub(super) fn canonical(text: &str) -> String {
    read(text).map_or_else(|_| text.to_owned(), |object| object.text())
}

/// The text without members of these names: a model may make up a value for a
/// parameter it was never told of.
pub(super) fn without(text: &str, names: &[String]) -> String {
    let Ok(mut object) = read(text) else { return text.to_owned() };
    let removed = names.iter().filter(|name| object.remove(name).is_some()).count();
    if removed == 0 { normalise(text).to_owned() } else { Object::text(&object) }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn nothing_is_an_empty_object_and_garbage_is_not() {
        for text in ["", "  ", "null", " [] ", "[ ]", "[\n]", "{}"] {
            assert_eq!((normalise(text), fault(text)), ("{}", None), "{text:?}");
        }
        for text in ["{\"q\": ", "3", "[1]", "\"x\"", "{\"a\":1}{\"b\":2}"] {
            assert_eq!(normalise(text), text);
            assert!(fault(text).is_some(), "{text:?}");
            assert_eq!(for_history(text), "{}");
        }
        assert_eq!(canonical("{ \"a\": 1 }"), canonical("{\"a\":1}"));
    }

    #[test]
    fn made_up_values_are_not_kept() {
        let names = ["key".to_owned()];
        for (text, kept) in [
            ("{ \"a\": 1 }", "{ \"a\": 1 }"),
            ("{ \"a\": 1, \"key\": 2 }", "{\"a\":1}"),
            ("{\"key\": ", "{\"key\": "),
            ("", "{}"),
        ] {
            assert_eq!(without(text, &names), kept);
        }
    }
}
