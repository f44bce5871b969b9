//! Requests. Each ends in exactly one `Input::End`, unless it was aborted: then
//! nothing of it comes back. `browser.js` makes them: the same steps from Rust weigh
//! four times as much on the wire.

use std::rc::Rc;

use js_sys::Uint8Array;
use mindset_core::json::{Object, concat};
use mindset_core::session::{FetchFailure, FetchId, FetchPurpose, FetchRequest, Input};
use wasm_bindgen::prelude::*;

use crate::convert;
use crate::driver::Driver;

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    /// Requests under way, with what ends them.
    pub(crate) type Fetches;

    #[wasm_bindgen(constructor)]
    pub(crate) fn new() -> Fetches;

    #[wasm_bindgen(method)]
    fn start(
        this: &Fetches,
        tell: &JsValue,
        id: u32,
        method: &str,
        url: &str,
        headers: &str,
        body: Option<&str>,
        waits: bool,
    );

    #[wasm_bindgen(method, js_name = abort)]
    fn drop(this: &Fetches, id: Option<u32>);
}

impl Fetches {
    /// Drops a request, or without an id every one.
    pub(crate) fn abort(&self, id: Option<FetchId>) {
        self.drop(id.map(|id| id.0));
    }
}

/// Starts a request.
pub(crate) fn start(driver: &Rc<Driver>, request: &FetchRequest) {
    let mut headers = Object::new();
    for (name, value) in &request.headers {
        // What browsers say of such a value repeats it, and it may be a secret.
        if !value.bytes().all(|b| (b' '..=b'~').contains(&b)) {
            let message =
                concat(&["the value for the header ", name, " has characters that no header carries"]);
            driver.feed(Input::End { fetch: request.id, result: Err(FetchFailure { message }) });
            return;
        }
        headers.insert(name, value.as_str());
    }
    driver.fetches.start(
        driver.tell(),
        request.id.0,
        request.method,
        &request.url,
        &headers.text(),
        request.body.as_deref(),
        request.purpose != FetchPurpose::SignIn,
    );
}

/// What came of a request: its head, a piece of its body or, with anything else, its end.
/// True.
pub(crate) fn told(driver: &Rc<Driver>, name: &str, value: &JsValue) -> bool {
    let number = |name: &str| convert::member(value, name).as_f64().unwrap_or_default();
    let fetch = FetchId(number("id") as u32);
    match name {
        "head" => {
            let content_type = convert::text(value, "type").unwrap_or_default();
            driver.feed(Input::Head { fetch, status: number("status") as u16, content_type: &content_type })
        }
        "bytes" => {
            let bytes = convert::member(value, "bytes").unchecked_into::<Uint8Array>().to_vec();
            driver.feed(Input::Bytes { fetch, bytes: &bytes })
        }
        _ => {
            let result =
                convert::text(value, "message").map_or(Ok(()), |message| Err(FetchFailure { message }));
            driver.feed(Input::End { fetch, result })
        }
    }
}
