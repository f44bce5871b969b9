//! What the page configures once, for every element on it: `window.mindset.init`
//! and the token that the page hands out.

mod token;

use std::cell::{Cell, RefCell};

use js_sys::{Array, Function};
use mindset_core::error::ErrorInfo;
use mindset_core::session::{Protocol, Timing};
use wasm_bindgen::prelude::*;

pub(crate) use token::need_token;

use crate::convert;
use crate::error::{self, invalid_config};

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
    static CLIENT_ID: Cell<Option<String>> = const { Cell::new(None) };
}

/// The page's configuration, and what was learned under it.
#[derive(Default)]
struct Page {
    default_server: Option<String>,
    init: Option<Init>,
    tokens: token::Tokens,
}

/// A checked `init` configuration.
#[derive(Clone)]
pub(crate) struct Init {
    /// Base URL of the runtime, or the run URL.
    pub(crate) server: String,
    /// The application; empty only with AG-UI.
    pub(crate) app_uid: String,
    /// The protocol.
    pub(crate) protocol: Protocol,
    /// Time constants.
    pub(crate) timing: Timing,
    /// Origins that may see the page's credentials.
    trusted: Vec<String>,
    auth: Option<Auth>,
    on_error: Option<Function>,
}

/// How the page hands out tokens.
#[derive(Clone)]
struct Auth {
    /// The option it was given as, for messages.
    name: &'static str,
    ask: Function,
}

/// Called by the shell once per instance, before anything else: the class of the
/// errors, the reviver that freezes, and the default of `init`'s `server`.
#[wasm_bindgen]
pub fn install(error_class: Function, freeze: Function, default_server: Option<String>) {
    crate::guard::install();
    error::set_class(error_class);
    convert::set_freeze(freeze);
    PAGE.with(|page| page.borrow_mut().default_server = default_server);
}

/// `window.mindset.init`.
///
/// # Errors
/// A `MindsetError` with `invalid-config` that names the option.
#[wasm_bindgen]
pub fn init(config: &JsValue) -> Result<(), JsValue> {
    let default_server = PAGE.with(|page| page.borrow().default_server.clone());
    let new = read(config, default_server).map_err(|e| error::mindset_error(&e))?;
    PAGE.with(|page| {
        let mut page = page.borrow_mut();
        match &page.init {
            Some(old) if old.app_uid == new.app_uid && old.server == new.server => Ok(()),
            Some(old) => {
                let message = [
                    "mindset.init was called before, with appUid \"",
                    &old.app_uid,
                    "\" and server ",
                    &old.server,
                    ". A page has one configuration; give elements of another application \
                     their own app-uid and server attributes.",
                ]
                .concat();
                Err(error::mindset_error(&invalid_config(message)))
            }
            None => {
                page.init = Some(new);
                Ok(())
            }
        }
    })
}

/// The configuration of `init`, once it was called.
pub(crate) fn configuration() -> Option<Init> {
    PAGE.with(|page| page.borrow().init.clone())
}

/// The origin of the script, if there is one.
pub(crate) fn default_server() -> Option<String> {
    PAGE.with(|page| page.borrow().default_server.clone())
}

/// Hands an error to the page's `onError`.
pub(crate) fn on_error(detail: &JsValue) {
    let handler = PAGE.with(|page| page.borrow().init.as_ref().and_then(|init| init.on_error.clone()));
    if let Some(Err(thrown)) = handler.map(|handler| handler.call1(&JsValue::UNDEFINED, detail)) {
        web_sys::console::error_1(&thrown);
    }
}

impl Init {
    /// Whether the page's credentials may go to this server.
    pub(crate) fn trusts(&self, server: &str) -> bool {
        self.auth.is_some() && origin(server).is_some_and(|origin| self.trusted.contains(&origin))
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

/// A random UUID. `crypto.randomUUID` is missing on plain HTTP, this is not.
pub(crate) fn random_id() -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut bytes = [0u8; 16];
    if let Some(crypto) = web_sys::window().and_then(|window| window.crypto().ok()) {
        // Fails only for arrays over 64 KiB.
        let _ = crypto.get_random_values_with_u8_array(&mut bytes);
    }
    let mut id = String::with_capacity(36);
    for (at, byte) in bytes.into_iter().enumerate() {
        let byte = match at {
            6 => byte & 0x0f | 0x40,
            8 => byte & 0x3f | 0x80,
            _ => byte,
        };
        if matches!(at, 4 | 6 | 8 | 10) {
            id.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            id.push(HEX.get(usize::from(digit)).map_or('0', |&digit| digit as char));
        }
    }
    id
}

/// An absolute HTTP URL without fragment, read relative to the page. A run URL stays
/// as it is otherwise; the base URL of a runtime loses its trailing slash.
pub(crate) fn absolute(url: &str, protocol: Protocol) -> Option<String> {
    let base = web_sys::window()?.document()?.base_uri().ok()??;
    let url = web_sys::Url::new_with_base(url, &base).ok()?;
    if !matches!(url.protocol().as_str(), "http:" | "https:") {
        return None;
    }
    url.set_hash("");
    let href = url.href();
    Some(match protocol {
        Protocol::AgUi => href,
        Protocol::Mindset => href.trim_end_matches('/').to_owned(),
    })
}

fn origin(url: &str) -> Option<String> {
    web_sys::Url::new(url).ok().map(|url| url.origin())
}

fn read(config: &JsValue, default_server: Option<String>) -> Result<Init, ErrorInfo> {
    if !config.is_object() {
        let message = ["init takes an object such as { appUid: 'acme' }; it got ", &convert::shape(config)];
        return Err(invalid_config(message.concat()));
    }
    let protocol = match text(config, "protocol")?.as_deref() {
        None | Some("mindset") => Protocol::Mindset,
        Some("ag-ui") => Protocol::AgUi,
        Some(_) => return Err(invalid_config("init's protocol is 'mindset' or 'ag-ui'")),
    };
    let app_uid = text(config, "appUid")?.unwrap_or_default();
    if app_uid.is_empty() && protocol == Protocol::Mindset {
        return Err(invalid_config(
            "init needs appUid, the id of your application: init({ appUid: 'acme' })",
        ));
    }
    let server = text(config, "server")?.or(default_server).ok_or_else(|| {
        invalid_config("init needs server, the URL of your runtime: a bundled script has no default")
    })?;
    let server =
        absolute(&server, protocol).ok_or_else(|| invalid_config("init's server is no http or https URL"))?;
    let mut trusted: Vec<String> = origin(&server).into_iter().collect();
    for entry in list(config, "trustedServers")? {
        trusted.push(
            entry
                .as_string()
                .and_then(|text| origin(&text))
                .ok_or_else(|| invalid_config("trustedServers holds something that is no URL"))?,
        );
    }
    Ok(Init {
        server,
        app_uid,
        protocol,
        timing: timing(&convert::member(config, "timing"))?,
        trusted,
        auth: auth(config)?,
        on_error: function(config, "onError")?,
    })
}

fn timing(given: &JsValue) -> Result<Timing, ErrorInfo> {
    let mut timing = Timing::default();
    for (name, value) in [
        ("heartbeat", &mut timing.heartbeat),
        ("request", &mut timing.request),
        ("stop", &mut timing.stop),
        ("backoff", &mut timing.backoff),
        ("backoffMax", &mut timing.backoff_max),
    ] {
        let member = convert::member(given, name);
        if !is_absent(&member) {
            let millis = member.as_f64().filter(|millis| *millis >= 0.0);
            *value = millis.ok_or_else(|| wrong_type("timing", "numbers of milliseconds", &member))? as u64;
        }
    }
    Ok(timing)
}

fn auth(config: &JsValue) -> Result<Option<Auth>, ErrorInfo> {
    let fetch = function(config, "fetchAuthentication")?;
    let session = function(config, "getSession")?;
    match (fetch, session) {
        (Some(_), Some(_)) => Err(invalid_config(
            "init got both fetchAuthentication and getSession: keep one, getSession is the newer",
        )),
        (Some(ask), None) => Ok(Some(Auth { name: "fetchAuthentication", ask })),
        (None, Some(ask)) => Ok(Some(Auth { name: "getSession", ask })),
        (None, None) => Ok(None),
    }
}

fn text(config: &JsValue, name: &str) -> Result<Option<String>, ErrorInfo> {
    let value = convert::member(config, name);
    if is_absent(&value) {
        return Ok(None);
    }
    value.as_string().map(Some).ok_or_else(|| wrong_type(name, "a text", &value))
}

fn list(config: &JsValue, name: &str) -> Result<Array, ErrorInfo> {
    let value = convert::member(config, name);
    if is_absent(&value) {
        return Ok(Array::new());
    }
    value.dyn_into().map_err(|other| wrong_type(name, "an array", &other))
}

fn function(config: &JsValue, name: &str) -> Result<Option<Function>, ErrorInfo> {
    let value = convert::member(config, name);
    if is_absent(&value) {
        return Ok(None);
    }
    value.dyn_into().map(Some).map_err(|other| wrong_type(name, "a function", &other))
}

fn wrong_type(name: &str, wanted: &str, got: &JsValue) -> ErrorInfo {
    invalid_config(["init's ", name, " must be ", wanted, "; it got ", &convert::shape(got)].concat())
}

fn is_absent(value: &JsValue) -> bool {
    value.is_undefined() || value.is_null()
}
