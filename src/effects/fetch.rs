//! Requests. Each ends in exactly one `Input::End`, unless it was aborted: then
//! nothing of it comes back.

use std::cell::RefCell;
use std::rc::Rc;

use gloo_net::http::{Method, RequestBuilder};
use js_sys::Uint8Array;
use mindset_core::json::concat;
use mindset_core::session::{FetchFailure, FetchId, FetchRequest, Input};
use wasm_bindgen::prelude::*;
use web_sys::{AbortController, Request, RequestCredentials};

use crate::convert;
use crate::driver::Driver;

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    fn run(request: &Request, id: u32, tell: &JsValue);
}

/// Requests under way, with what ends them.
#[derive(Default)]
pub(crate) struct Fetches(RefCell<Vec<(FetchId, AbortController)>>);

impl Fetches {
    /// Drops a request.
    pub(crate) fn abort(&self, id: FetchId) {
        if let Some(controller) = self.take(id) {
            controller.abort();
        }
    }

    /// Drops every request.
    pub(crate) fn abort_all(&self) {
        for (_, controller) in self.0.take() {
            controller.abort();
        }
    }

    fn take(&self, id: FetchId) -> Option<AbortController> {
        let mut open = self.0.borrow_mut();
        let at = open.iter().position(|(open, _)| *open == id)?;
        Some(open.swap_remove(at).1)
    }

    fn is_open(&self, id: FetchId) -> bool {
        self.0.borrow().iter().any(|(open, _)| *open == id)
    }
}

/// Starts a request.
pub(crate) fn start(driver: &Rc<Driver>, request: &FetchRequest) {
    let id = request.id;
    match build(request) {
        Ok((request, controller)) => {
            driver.fetches.0.borrow_mut().push((id, controller));
            run(&request, id.0, driver.tell());
        }
        Err(message) => driver.feed(Input::End { fetch: id, result: Err(FetchFailure { message }) }),
    }
}

fn build(request: &FetchRequest) -> Result<(Request, AbortController), String> {
    let controller = AbortController::new().map_err(|e| convert::thrown(&e))?;
    let method = if request.method == "POST" { Method::POST } else { Method::GET };
    // Tokens go in a header; cookies of the runtime's origin are none of our business.
    let mut builder = RequestBuilder::new(&request.url)
        .method(method)
        .credentials(RequestCredentials::Omit)
        .abort_signal(Some(&controller.signal()));
    for (name, value) in &request.headers {
        // The builder panics on these.
        if !is_header_value(value) {
            return Err(concat(&[
                "the value for the header ",
                name,
                " has characters that no header carries",
            ]));
        }
        builder = builder.header(name, value);
    }
    let built = match &request.body {
        Some(body) => builder.body(body.as_str()),
        None => builder.build(),
    };
    built.map(|request| (request.into(), controller)).map_err(|e| match e {
        gloo_net::Error::JsError(e) => e.message,
        _ => "the request could not be built".to_owned(),
    })
}

/// Whether `fetch` takes this as the value of a header.
fn is_header_value(value: &str) -> bool {
    value.bytes().all(|b| (b' '..=b'~').contains(&b))
}

/// What `run` tells of a request; false when nobody waits for it any more.
pub(crate) fn told(driver: &Rc<Driver>, name: &str, id: u32, value: &JsValue) -> bool {
    let fetch = FetchId(id);
    if !driver.fetches.is_open(fetch) {
        return false;
    }
    match name {
        "head" => {
            let content_type = convert::text(value, "type").unwrap_or_default();
            let status = convert::member(value, "status").as_f64().unwrap_or_default() as u16;
            driver.feed(Input::Head { fetch, status, content_type: &content_type });
        }
        "bytes" => {
            let bytes = value.unchecked_ref::<Uint8Array>().to_vec();
            driver.feed(Input::Bytes { fetch, bytes: &bytes });
        }
        _ => {
            driver.fetches.take(fetch);
            let result = value.as_string().map_or(Ok(()), |message| Err(FetchFailure { message }));
            driver.feed(Input::End { fetch, result });
        }
    }
    driver.fetches.is_open(fetch)
}
