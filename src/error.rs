//! Errors as JavaScript gets them: real `Error` objects of the class that the
//! shell defines, with a stable `code`.

use std::cell::RefCell;

use js_sys::{Array, Function, Reflect};
use mindset_core::error::{ErrorCode, ErrorInfo};
use wasm_bindgen::JsValue;

thread_local! {
    static CLASS: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Sets the class of the errors.
pub(crate) fn set_class(class: Function) {
    CLASS.with(|cell| cell.replace(Some(class)));
}

/// The error as something to throw.
pub(crate) fn mindset_error(info: &ErrorInfo) -> JsValue {
    let class = CLASS.with(|cell| cell.borrow().clone());
    let detail = info.to_json().as_object().map(crate::convert::plain).unwrap_or_default();
    class
        .and_then(|class| Reflect::construct(&class, &Array::of1(&detail)).ok())
        .map_or_else(|| js_sys::Error::new(&info.message).into(), JsValue::from)
}

/// An `invalid-config` error.
pub(crate) fn invalid_config(message: impl Into<String>) -> ErrorInfo {
    ErrorInfo::new(ErrorCode::InvalidConfig, message)
}
