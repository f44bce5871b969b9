//! Values between Rust and JavaScript. Everything a page gets to see crosses as
//! JSON text and is read there by the browser itself, so it is plain objects and
//! arrays, never a `Map`.

use mindset_core::json::Value;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/convert.js")]
extern "C" {
    #[wasm_bindgen(js_name = toValue)]
    fn to_value(text: &str, frozen: bool) -> JsValue;

    /// What kind of value this is, as a message names it; never the value itself.
    pub(crate) fn shape(value: &JsValue) -> String;

    /// What a thrown value says, for people.
    pub(crate) fn thrown(value: &JsValue) -> String;

    /// The member `key` of any value; `undefined` where there is none.
    pub(crate) fn member(value: &JsValue, key: &str) -> JsValue;
}

/// A plain value.
pub(crate) fn plain(value: &Value) -> JsValue {
    to_value(&value.text(), false)
}

/// A plain value, frozen all the way down.
pub(crate) fn frozen(value: &Value) -> JsValue {
    to_value(&value.text(), true)
}

/// The member `key` if it is a string.
pub(crate) fn text(value: &JsValue, key: &str) -> Option<String> {
    member(value, key).as_string()
}

#[cfg(test)]
#[cfg(target_arch = "wasm32")]
mod tests {
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn plain_json_with_every_member() {
        let text = r#"{"a":{"b":[1,null,{}]},"__proto__":{"x":1},"constructor":"c","none":null}"#;
        let value = mindset_core::json::parse(text).unwrap();
        let object = plain(&value);
        let back = js_sys::JSON::stringify(&object).unwrap().as_string().unwrap();
        assert_eq!(back, text);
    }

    #[test]
    fn shapes_are_named_without_their_values() {
        for (script, wanted) in [
            ("undefined", "undefined"),
            ("null", "null"),
            ("''", "an empty string"),
            ("'<!doctype html>'", "a text that begins like HTML"),
            ("'{\"token\":1}'", "a text that begins like JSON"),
            ("7", "a number, boolean or symbol"),
            ("({})", "an object without members"),
            ("({ jwt: 'secret', user: 1 })", "an object with jwt, user"),
            ("new Response('secret')", "a value of type Response"),
            ("['secret']", "a value of type Array"),
        ] {
            assert_eq!(shape(&js_sys::eval(script).unwrap()), wanted);
        }
    }
}
