//! The module comes in two parts, and the later one when the page has come to rest.
//! Nothing that needs it may come in before: what the browser tells goes through a gate.

use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    /// Says which the later part is, and where panels and requests made before come from.
    #[wasm_bindgen(js_name = setParts)]
    pub(crate) fn set(parts: &JsValue);

    /// Has the later part loaded, and `tell` hear `name` in a task after it.
    pub(crate) fn prepare(tell: &JsValue, name: &str);

    /// The function as others may call it at any time.
    pub(crate) fn gate(tell: &JsValue) -> JsValue;
}
