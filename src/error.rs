//! Errors as JavaScript gets them: real `Error` objects of the class that the
//! loader defines, with a stable `code`.

use mindset_core::error::{ErrorCode, ErrorInfo};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/convert.js")]
extern "C" {
    /// Sets the class of the errors.
    #[wasm_bindgen(js_name = setErrorClass)]
    pub(crate) fn set_class(class: &JsValue);

    #[wasm_bindgen(js_name = toError)]
    fn to_error(text: &str) -> JsValue;
}

/// The error as something to throw.
pub(crate) fn mindset_error(info: &ErrorInfo) -> JsValue {
    to_error(&info.to_json().text())
}

/// An `invalid-config` error.
pub(crate) fn invalid_config(message: impl Into<String>) -> ErrorInfo {
    ErrorInfo::new(ErrorCode::InvalidConfig, message)
}
