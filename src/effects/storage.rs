//! The anonymous key in sessionStorage: the only thing the SDK stores. A page
//! whose storage is closed works too, as somebody new after each reload.

use mindset_core::session::Config;
use web_sys::Storage;

/// Where the key of this server, application and agent is kept.
pub(crate) fn key(config: &Config) -> String {
    ["mindset:anonymous:", &config.server, "|", &config.app_uid, "|", &config.agent_uid].concat()
}

/// The key of an earlier page load of this tab.
pub(crate) fn read(key: &str) -> Option<String> {
    storage()?.get_item(key).ok()?
}

/// Keeps the key for the next page load of this tab.
pub(crate) fn write(key: &str, value: &str) {
    if let Some(storage) = storage() {
        let _ = storage.set_item(key, value);
    }
}

fn storage() -> Option<Storage> {
    web_sys::window()?.session_storage().ok()?
}
