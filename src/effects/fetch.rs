//! Requests. Each ends in exactly one `Input::End`, unless it was aborted: then
//! nothing of it comes back.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use gloo_net::http::{Method, RequestBuilder};
use js_sys::{Promise, Uint8Array};
use mindset_core::json::concat;
use mindset_core::session::{FetchFailure, FetchId, FetchRequest, Input};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{AbortController, ReadableStreamDefaultReader, Request, RequestCredentials, Response};

use crate::convert;
use crate::driver::Driver;

#[wasm_bindgen]
extern "C" {
    // A page's and a worker's alike.
    fn fetch(request: &Request) -> Promise;
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
            spawn_local(run(Rc::downgrade(driver), id, request));
        }
        Err(message) => {
            driver.feed(Input::End { fetch: id, result: Err(FetchFailure { message }) });
        }
    }
}

fn build(request: &FetchRequest) -> Result<(Request, AbortController), String> {
    let controller = AbortController::new().map_err(|e| convert::thrown(&e))?;
    let method = match request.method {
        "POST" => Method::POST,
        "PUT" => Method::PUT,
        "PATCH" => Method::PATCH,
        "DELETE" => Method::DELETE,
        _ => Method::GET,
    };
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

// Through web-sys: gloo-net's own `send` panics where a request is rejected with
// something that is no `Error`.
async fn run(driver: Weak<Driver>, id: FetchId, request: Request) {
    let result = stream(&driver, id, &request).await;
    if let Some(driver) = driver.upgrade()
        && driver.fetches.take(id).is_some()
    {
        let result = result.map_err(|e| FetchFailure { message: convert::thrown(&e) });
        driver.feed(Input::End { fetch: id, result });
    }
}

async fn stream(driver: &Weak<Driver>, id: FetchId, request: &Request) -> Result<(), JsValue> {
    let response: Response = JsFuture::from(fetch(request)).await?.unchecked_into();
    let content_type = response.headers().get("content-type").ok().flatten().unwrap_or_default();
    let head = Input::Head { fetch: id, status: response.status(), content_type: &content_type };
    if !deliver(driver, id, head) {
        return Ok(());
    }
    let Some(body) = response.body() else { return Ok(()) };
    let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    loop {
        let chunk = JsFuture::from(reader.read()).await?;
        if convert::member(&chunk, "done").is_truthy() {
            return Ok(());
        }
        let bytes = convert::member(&chunk, "value").unchecked_into::<Uint8Array>().to_vec();
        if !deliver(driver, id, Input::Bytes { fetch: id, bytes: &bytes }) {
            return Ok(());
        }
    }
}

// False when nobody waits for the request any more.
fn deliver(driver: &Weak<Driver>, id: FetchId, input: Input<'_>) -> bool {
    let Some(driver) = driver.upgrade().filter(|driver| driver.fetches.is_open(id)) else { return false };
    driver.feed(input);
    driver.fetches.is_open(id)
}
