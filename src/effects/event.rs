//! Every event of the element. All bubble, cross shadow boundaries, cannot be
//! cancelled and carry plain JSON, frozen.

use mindset_core::error::ErrorInfo;
use mindset_core::json::Object;
use mindset_core::session::DomEvent;
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use crate::{convert, page};

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    #[wasm_bindgen(js_name = dispatch)]
    fn send_value(host: &HtmlElement, name: &str, detail: &JsValue);

    /// Calls a listener of the page.
    pub(crate) fn call(listener: &JsValue, detail: &JsValue);
}

/// Dispatches what the session says.
pub(crate) fn dispatch(host: &HtmlElement, event: &DomEvent) {
    match event {
        DomEvent::Initializing => send(host, "mindset:agent-initializing", &Object::new()),
        DomEvent::Idle { conversation_id } => {
            let mut detail = Object::new();
            detail.insert_some("conversationId", conversation_id.as_deref());
            send(host, "mindset:agent-idle", &detail);
        }
        DomEvent::Busy { run_id } => {
            send(host, "mindset:agent-busy", &mindset_core::object! { "runId": run_id });
        }
        DomEvent::Runtime(event) => {
            let detail = convert::frozen(&event.dom_detail());
            send_value(host, "mindset:runtime-event", &detail);
            if let Some(name) = event.dom_name() {
                send_value(host, name, &detail);
            }
        }
        DomEvent::Conversation { detail } => {
            send(host, "mindset:conversation", detail);
            let mut older = Object::new();
            older.insert_some("threadUid", detail.str("conversationId"));
            send(host, "mindset:thread-changed", &older);
        }
        DomEvent::Error(error) => report(host, error),
        // For readers that may see everything.
        DomEvent::History { .. } | DomEvent::Connection(_) => {}
    }
}

/// `mindset:agent-registered`.
pub(crate) fn registered(host: &HtmlElement, headless: bool) {
    send(host, "mindset:agent-registered", &mindset_core::object! { "headless": headless });
}

/// `mindset:error`, and the page's `onError`.
pub(crate) fn report(host: &HtmlElement, error: &ErrorInfo) {
    let detail = error.to_json().as_object().map(convert::frozen).unwrap_or_default();
    send_value(host, "mindset:error", &detail);
    page::on_error(&detail);
}

fn send(host: &HtmlElement, name: &str, detail: &Object) {
    send_value(host, name, &convert::frozen(detail));
}
