//! What the page configures once, for every element on it: `window.mindset.init`
//! and the token that the page hands out. `page.js` checks what was given.

mod token;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mindset_core::json::concat;
use mindset_core::session::{Protocol, Timing};
use wasm_bindgen::prelude::*;

pub(crate) use token::need_token;

use crate::convert;
use crate::error::{self, invalid_config};

#[wasm_bindgen(module = "/src/page.js")]
extern "C" {
    /// A random UUID.
    #[wasm_bindgen(js_name = randomId)]
    pub(crate) fn random_id() -> String;

    fn origin(url: &str) -> Option<String>;

    #[wasm_bindgen(js_name = absolute)]
    fn absolute_url(url: &str, is_run_url: bool) -> Option<String>;

}

thread_local! {
    static PAGE: RefCell<Page> = const {
        RefCell::new(Page { default_server: None, init: None })
    };
    static CLIENT_ID: Cell<Option<String>> = const { Cell::new(None) };
}

/// The page's configuration.
struct Page {
    default_server: Option<String>,
    init: Option<Rc<Init>>,
}

/// A checked configuration: the page's, or a client's own.
pub(crate) struct Init {
    /// Base URL of the runtime, or the run URL.
    pub(crate) server: String,
    /// The application; empty only with AG-UI.
    pub(crate) app_uid: String,
    /// The protocol.
    pub(crate) protocol: Protocol,
    /// Time constants.
    pub(crate) timing: Timing,
    /// `extendedSituationalAwareness`.
    pub(crate) extended_awareness: bool,
    /// `getSession`, which may name the agent, and not `fetchAuthentication`.
    pub(crate) is_session: bool,
    /// `initialQuestion`.
    pub(crate) initial_question: Option<String>,
    /// Origins that may see the page's credentials, one a line.
    trusted: String,
    /// How the page hands out tokens; `undefined` if it does not.
    ask: JsValue,
    /// The page's `onError`, or `undefined`.
    on_error: JsValue,
    /// What was learned under it.
    tokens: RefCell<token::Tokens>,
}

/// Called by the loader once per instance, before anything else: the class of the
/// errors, `{ server, later, panel }`: the default of `init`'s `server`, the later part of the
/// module, what gives panels and requests made before, and the `clientId` of an earlier instance.
/// Gives the `clientId`, the same for the whole life of the page.
#[wasm_bindgen]
pub fn install(error_class: &JsValue, parts: &JsValue, client_id: Option<String>) -> String {
    crate::guard::install();
    error::set_class(error_class);
    crate::effects::later::set(parts);
    PAGE.with(|page| page.borrow_mut().default_server = convert::text(parts, "server"));
    CLIENT_ID.with(|cell| cell.set(client_id));
    self::client_id()
}

/// `window.mindset.init`, with what `readInit` gave.
///
/// # Errors
/// A `MindsetError` with `invalid-config` if the page is configured otherwise.
#[wasm_bindgen]
pub fn init(given: &JsValue) -> Result<(), JsValue> {
    let refuse = |message: String| Err(error::mindset_error(&invalid_config(message)));
    let new = Init::of(given);
    match configuration() {
        Some(old) if old.app_uid == new.app_uid && old.server == new.server => Ok(()),
        Some(old) => refuse(concat(&[
            "mindset.init was called before, with appUid \"",
            &old.app_uid,
            "\" and server ",
            &old.server,
            ". A page has one configuration; give elements of another application \
                 their own app-uid and server attributes.",
        ])),
        None => {
            PAGE.with(|page| page.borrow_mut().init = Some(Rc::new(new)));
            Ok(())
        }
    }
}

/// The configuration of `init`, once it was called.
pub(crate) fn configuration() -> Option<Rc<Init>> {
    PAGE.with(|page| page.borrow().init.clone())
}

/// The origin of the script, if there is one.
pub(crate) fn default_server() -> Option<String> {
    PAGE.with(|page| page.borrow().default_server.clone())
}

/// Hands an error to the page's `onError`.
pub(crate) fn on_error(detail: &JsValue) {
    if let Some(init) = configuration().filter(|init| !init.on_error.is_undefined()) {
        crate::effects::event::call(&init.on_error, detail);
    }
}

impl Init {
    /// Of what `readInit` gives.
    pub(crate) fn of(given: &JsValue) -> Init {
        let text = |name: &str| convert::text(given, name).unwrap_or_default();
        let is = |name: &str| convert::member(given, name).is_truthy();
        let mut timing = Timing::default();
        let times = convert::member(given, "timing");
        for (name, value) in [
            ("heartbeat", &mut timing.heartbeat),
            ("request", &mut timing.request),
            ("stop", &mut timing.stop),
            ("backoff", &mut timing.backoff),
            ("backoffMax", &mut timing.backoff_max),
            ("history", &mut timing.history),
            ("giveUp", &mut timing.give_up),
            ("renew", &mut timing.renew),
        ] {
            if let Some(millis) = convert::member(&times, name).as_f64() {
                *value = millis as u64;
            }
        }
        Init {
            server: text("server"),
            app_uid: text("appUid"),
            protocol: if is("isAgUi") { Protocol::AgUi } else { Protocol::Mindset },
            timing,
            extended_awareness: is("extended"),
            is_session: is("isSession"),
            initial_question: convert::text(given, "initialQuestion"),
            trusted: text("trusted"),
            ask: convert::member(given, "ask"),
            on_error: convert::member(given, "onError"),
            tokens: RefCell::default(),
        }
    }

    /// Whether there are credentials at all.
    pub(crate) fn hands_out(&self) -> bool {
        !self.ask.is_undefined()
    }

    /// Whether the page's credentials may go to this server.
    pub(crate) fn trusts(&self, server: &str) -> bool {
        self.hands_out()
            && origin(server).is_some_and(|origin| self.trusted.split('\n').any(|one| one == origin))
    }
}

/// The same for the whole life of this page.
pub(crate) fn client_id() -> String {
    CLIENT_ID.with(|cell| {
        let id = cell.take().unwrap_or_else(random_id);
        cell.set(Some(id.clone()));
        id
    })
}

/// An absolute HTTP URL without fragment, read relative to the page. A run URL stays
/// as it is otherwise; the base URL of a runtime loses its trailing slash.
pub(crate) fn absolute(url: &str, protocol: Protocol) -> Option<String> {
    absolute_url(url, protocol == Protocol::AgUi)
}
