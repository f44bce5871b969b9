//! Which page a conversation's open calls belong to. Each page with tools holds a Web
//! Lock of its `clientId` for its whole life, so that the next page of this browser
//! knows when it is gone.

use std::cell::Cell;

use mindset_core::json::concat;
use wasm_bindgen::prelude::*;

use crate::page;

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    #[wasm_bindgen(js_name = holdLock)]
    fn hold_lock(name: &str);

    #[wasm_bindgen(js_name = findOwner)]
    fn find_owner(name: Option<&str>, tell: &JsValue);
}

thread_local! {
    static HELD: Cell<bool> = const { Cell::new(false) };
}

/// This page has tools: shows others that it lives.
pub(crate) fn hold() {
    if !HELD.replace(true) {
        hold_lock(&name(&page::client_id()));
    }
}

/// Tells `owner` with whether the page with this id is gone. This page itself is, for
/// a conversation that it opens anew: whoever had it open here was removed.
pub(crate) fn find(client_id: &str, tell: &JsValue) {
    let other = (client_id != page::client_id()).then(|| name(client_id));
    find_owner(other.as_deref(), tell);
}

fn name(client_id: &str) -> String {
    concat(&["mindset:", client_id])
}
