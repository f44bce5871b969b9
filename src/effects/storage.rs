//! The anonymous key in sessionStorage: the only thing the SDK stores. A page
//! whose storage is closed works too, as somebody new after each reload.

use mindset_core::json::concat;
use mindset_core::session::Config;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    /// The key of an earlier page load of this tab.
    #[wasm_bindgen(js_name = readStorage)]
    pub(crate) fn read(key: &str) -> Option<String>;

    /// Keeps the key for the next page load of this tab.
    #[wasm_bindgen(js_name = writeStorage)]
    pub(crate) fn write(key: &str, value: &str);
}

/// Where the key of this server, application and agent is kept.
pub(crate) fn key(config: &Config) -> String {
    concat(&["mindset:anonymous:", &config.server, "|", &config.app_uid, "|", &config.agent_uid])
}
