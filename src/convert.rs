//! Values between Rust and JavaScript. Everything a page gets to see crosses as
//! JSON text and is read there by the browser itself, so it is plain objects and
//! arrays, never a `Map`.

use std::cell::RefCell;

use js_sys::{Function, Reflect};
use mindset_core::json::Object;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = JSON, js_name = parse, catch)]
    fn parse_json(text: &str, reviver: &JsValue) -> Result<JsValue, JsValue>;
}

thread_local! {
    // `(key, value) => Object.freeze(value)`: as a reviver it freezes from the
    // leaves up, in the browser's own parser.
    static FREEZE: RefCell<JsValue> = const { RefCell::new(JsValue::UNDEFINED) };
}

/// Sets the reviver that freezes.
pub(crate) fn set_freeze(freeze: Function) {
    FREEZE.with(|cell| cell.replace(freeze.into()));
}

/// A plain object.
pub(crate) fn plain(object: &Object) -> JsValue {
    parse_json(&object.to_string(), &JsValue::UNDEFINED).unwrap_or_default()
}

/// A plain object, frozen all the way down.
pub(crate) fn frozen(object: &Object) -> JsValue {
    let freeze = FREEZE.with(|cell| cell.borrow().clone());
    parse_json(&object.to_string(), &freeze).unwrap_or_default()
}

/// The member `key` of any value; `undefined` where there is none.
pub(crate) fn member(value: &JsValue, key: &str) -> JsValue {
    if !value.is_object() {
        return JsValue::UNDEFINED;
    }
    Reflect::get(value, &key.into()).unwrap_or_default()
}

/// The member `key` if it is a string.
pub(crate) fn text(value: &JsValue, key: &str) -> Option<String> {
    member(value, key).as_string()
}

/// The member `key` if it is a boolean.
///
/// # Errors
/// What it is instead.
pub(crate) fn flag(value: &JsValue, key: &str) -> Result<Option<bool>, String> {
    let value = member(value, key);
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    value.as_bool().map(Some).ok_or_else(|| shape(&value))
}

/// What kind of value this is, as a message names it; never the value itself.
pub(crate) fn shape(value: &JsValue) -> String {
    if value.is_undefined() {
        return "undefined".to_owned();
    }
    if value.is_null() {
        return "null".to_owned();
    }
    if let Some(text) = value.as_string() {
        return match text.trim_start().chars().next() {
            None => "an empty string".to_owned(),
            Some('<') => "a text that begins like HTML".to_owned(),
            Some('{' | '[') => "a text that begins like JSON".to_owned(),
            Some(_) => "a text".to_owned(),
        };
    }
    if !value.is_object() && !value.is_function() {
        return "a number, boolean or symbol".to_owned();
    }
    let class = text(&member(value, "constructor"), "name").or_else(|| function_name(value));
    match class.as_deref() {
        None | Some("" | "Object") => {
            let keys = js_sys::Object::keys(value.unchecked_ref::<js_sys::Object>());
            if keys.length() == 0 {
                return "an object without members".to_owned();
            }
            ["an object with ", &String::from(keys.slice(0, 8).join(", "))].concat()
        }
        Some(class) => ["a value of type ", class].concat(),
    }
}

fn function_name(value: &JsValue) -> Option<String> {
    let class = member(value, "constructor");
    Reflect::get(&class, &"name".into()).ok()?.as_string()
}

/// What a thrown value says, for people.
pub(crate) fn thrown(value: &JsValue) -> String {
    text(value, "message").or_else(|| value.as_string()).unwrap_or_else(|| shape(value))
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
        let object = plain(value.as_object().unwrap());
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
