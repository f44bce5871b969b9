//! What happens around a session: the network comes and goes, the page wakes up, other
//! pages of the browser change its conversation.

use std::cell::OnceCell;

use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    type Watch;

    #[wasm_bindgen(constructor)]
    fn new(tell: &JsValue) -> Watch;
    #[wasm_bindgen(method)]
    fn follow(this: &Watch, channel: &str);
    #[wasm_bindgen(method)]
    fn post(this: &Watch, channel: &str);
    #[wasm_bindgen(method)]
    fn end(this: &Watch);
}

/// The watch of one session: stands from its start to its end.
#[derive(Default)]
pub(crate) struct Surroundings(OnceCell<Watch>);

impl Surroundings {
    /// Begins to watch: `tell` hears `online` with whether there is a network, `wake` and
    /// `changed`.
    pub(crate) fn begin(&self, tell: &JsValue) {
        self.0.get_or_init(|| Watch::new(tell));
    }

    /// Hears from now on what is said on this channel and on no other one.
    pub(crate) fn follow(&self, channel: &str) {
        if let Some(watch) = self.0.get() {
            watch.follow(channel);
        }
    }

    /// Tells others on the channel that something has changed.
    pub(crate) fn tell(&self, channel: &str) {
        if let Some(watch) = self.0.get() {
            watch.post(channel);
        }
    }

    /// The session is over.
    pub(crate) fn end(&self) {
        if let Some(watch) = self.0.get() {
            watch.end();
        }
    }
}
