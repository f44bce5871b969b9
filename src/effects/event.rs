//! Every event, to whoever has the session. Those of an element bubble, cross shadow
//! boundaries and cannot be cancelled; all carry plain JSON, frozen.

use mindset_core::error::ErrorInfo;
use mindset_core::event::RuntimeEvent;
use mindset_core::json::{Object, Value};
use mindset_core::session::DomEvent;
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use crate::host::{Chat, Host};
use crate::{convert, page};

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    #[wasm_bindgen(js_name = dispatch)]
    fn send_value(host: &HtmlElement, name: &str, detail: &JsValue);

    #[wasm_bindgen(js_name = tellOfRun)]
    fn tell_of_run(host: &HtmlElement, name: Option<&str>, detail: &str);

    #[wasm_bindgen(js_name = tellOfText)]
    fn tell_of_text(host: &HtmlElement, name: Option<&str>, kind: &str, message_id: &str, pieces: &str);

    /// Calls a listener of the page.
    pub(crate) fn call(listener: &JsValue, detail: &JsValue);
}

/// Pieces of one message that come together: they cross to JavaScript as one text, and each is an
/// event there. Nothing that a listener does takes back what has come: a turn is stopped at its
/// end, and an element that is removed or changed goes on until the task is over.
#[derive(Default)]
pub(crate) struct Pieces {
    /// The first of them.
    first: Option<RuntimeEvent>,
    /// All, parted by U+0000.
    text: String,
}

impl Pieces {
    /// Takes an event that may wait for others; false if it may not.
    pub(crate) fn take(&mut self, host: &Host, event: &DomEvent) -> bool {
        let DomEvent::Runtime(event @ RuntimeEvent::TextDelta { message_id: id, content }) = event else {
            return false;
        };
        match &self.first {
            _ if host.element().is_none() || content.contains('\0') => return false,
            Some(RuntimeEvent::TextDelta { message_id, .. }) if message_id != id => return false,
            Some(_) => self.text.push('\0'),
            None => self.first = Some(event.clone()),
        }
        self.text.push_str(content);
        true
    }

    /// Tells what was taken; false for nothing.
    pub(crate) fn tell(&mut self, host: &Host) -> bool {
        let text = std::mem::take(&mut self.text);
        let Some(event) = self.first.take() else { return false };
        if let (Some(element), RuntimeEvent::TextDelta { message_id, .. }) = (host.element(), &event) {
            tell_of_text(element, event.dom_name(), event.type_name(), message_id, &text);
        }
        true
    }
}

/// Tells what the session says.
pub(crate) fn dispatch(host: &Host, event: &DomEvent) {
    match host {
        Host::Element(element) => on_dom(element, event),
        Host::Chat(chat) => {
            if let Some(event) = on_chat(event, chat.call.is_some()) {
                hear(chat, event);
            }
        }
    }
}

/// Tells of an error.
pub(crate) fn report(host: &Host, error: &ErrorInfo) {
    match host {
        Host::Element(element) => report_dom(element, error),
        Host::Chat(chat) => hear(chat, failure(error)),
    }
}

fn on_dom(host: &HtmlElement, event: &DomEvent) {
    match event {
        DomEvent::Initializing => send(host, "mindset:agent-initializing", Object::new()),
        DomEvent::Idle { conversation_id } => {
            let mut detail = Object::new();
            detail.insert_some("conversationId", conversation_id.as_deref());
            send(host, "mindset:agent-idle", detail);
        }
        DomEvent::Busy { run_id } => {
            send(host, "mindset:agent-busy", mindset_core::object! { "runId": run_id });
        }
        DomEvent::Runtime(event) => {
            tell_of_run(host, event.dom_name(), &event.dom_detail().text());
        }
        DomEvent::Conversation { detail } => {
            send(host, "mindset:conversation", detail.clone());
            let mut older = Object::new();
            older.insert_some("threadUid", detail.str("conversationId"));
            send(host, "mindset:thread-changed", older);
        }
        DomEvent::Feedback { detail } => send(host, "mindset:feedback", detail.clone()),
        DomEvent::Error(error) => report_dom(host, error),
        // For readers that may see everything: every script of the page reads the DOM.
        DomEvent::History { .. } | DomEvent::Connection(_) => {}
    }
}

/// The event of `on()`; nothing of what a client can ask itself. A call of the agent API hears its
/// run's id as soon as there is one.
fn on_chat(event: &DomEvent, is_call: bool) -> Option<Object> {
    Some(match event {
        DomEvent::Busy { run_id } if is_call => mindset_core::object! { "type": "busy", "runId": run_id },
        DomEvent::Initializing | DomEvent::Idle { .. } | DomEvent::Busy { .. } => return None,
        // A panel's alone.
        DomEvent::Feedback { .. } => return None,
        DomEvent::Runtime(event) => event.to_json(),
        DomEvent::Conversation { detail } => detail.clone(),
        DomEvent::Error(error) => failure(error),
        DomEvent::History { messages } => {
            let mut list = Vec::new();
            for message in messages {
                list.push(message.to_json());
            }
            mindset_core::object! { "type": "history_settled", "messages": Value::Array(list) }
        }
        DomEvent::Connection(state) => {
            mindset_core::object! { "type": "connection", "state": state.as_str() }
        }
    })
}

/// `error`, or `session_error` for a session of another shape.
fn failure(error: &ErrorInfo) -> Object {
    let is_session = error.context.as_ref().is_some_and(|context| context.get("received").is_some());
    let mut event = mindset_core::object! { "type": if is_session { "session_error" } else { "error" } };
    if let Value::Object(detail) = error.to_json() {
        for (name, value) in detail.iter() {
            event.insert(name, value.clone());
        }
    }
    event
}

fn hear(chat: &Chat, event: Object) {
    let _ = chat.listener.call1(&JsValue::UNDEFINED, &convert::frozen(&Value::Object(event)));
}

/// `mindset:agent-registered`.
pub(crate) fn registered(host: &HtmlElement, headless: bool) {
    send(host, "mindset:agent-registered", mindset_core::object! { "headless": headless });
}

/// `mindset:error`, and the page's `onError`.
fn report_dom(host: &HtmlElement, error: &ErrorInfo) {
    let detail = convert::frozen(&error.to_json());
    send_value(host, "mindset:error", &detail);
    page::on_error(&detail);
}

fn send(host: &HtmlElement, name: &str, detail: Object) {
    send_value(host, name, &convert::frozen(&Value::Object(detail)));
}
