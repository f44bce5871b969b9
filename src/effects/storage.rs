//! What outlives a page load in this tab's sessionStorage: the anonymous key and the
//! conversation's id, nothing else. A page whose storage is closed works too, as
//! somebody new after each reload.

use std::cell::RefCell;

use mindset_core::json::{concat, digits};
use mindset_core::session::Config;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    /// A value of an earlier page load of this tab.
    #[wasm_bindgen(js_name = readStorage)]
    pub(crate) fn read(key: &str) -> Option<String>;

    /// Keeps a value for the next page load of this tab, or forgets it.
    #[wasm_bindgen(js_name = writeStorage)]
    pub(crate) fn write(key: &str, value: Option<&str>);
}

thread_local! {
    /// Places that elements have now.
    static TAKEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Where one element's values are kept: by server, application and agent, and the
/// conversation by the element's place among those of the same agent too, so that two
/// elements never open the same one.
#[derive(Default)]
pub(crate) struct Place {
    /// Of the anonymous key.
    pub(crate) key: String,
    /// Of the conversation's id.
    pub(crate) conversation: String,
}

impl Place {
    /// The first place that is free.
    pub(crate) fn take(config: &Config) -> Place {
        let agent = concat(&[&config.server, "|", &config.app_uid, "|", &config.agent_uid]);
        let conversation = TAKEN.with(|taken| {
            let mut taken = taken.borrow_mut();
            let mut at = 0;
            loop {
                let name = concat(&["mindset:conversation:", &agent, "|", &digits(at)]);
                if !taken.contains(&name) {
                    taken.push(name.clone());
                    return name;
                }
                at += 1;
            }
        });
        Place { key: concat(&["mindset:anonymous:", &agent]), conversation }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        TAKEN.with(|taken| taken.borrow_mut().retain(|name| *name != self.conversation));
    }
}
