//! One timer per session. A deadline that moves back, as the heartbeat's does with
//! every byte, does not touch the armed timer: it fires early, the session finds
//! nothing due, and it is armed again for the rest.

use std::cell::Cell;

use mindset_core::Millis;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(tell: &JsValue, millis: f64, name: &str) -> f64;

    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(id: f64);
}

/// The browser's timers hold 31 bits of milliseconds.
const LONGEST: Millis = 2_000_000_000;

/// The timer of one session.
#[derive(Default)]
pub(crate) struct Timer(Cell<Option<(f64, Millis)>>);

impl Timer {
    /// Sees to it that `tell` hears `tick` at `due`, or soon before.
    pub(crate) fn arm(&self, tell: &JsValue, due: Option<Millis>, now: Millis) {
        let Some(due) = due else { return self.disarm() };
        if self.0.get().is_some_and(|(_, at)| at <= due) {
            return;
        }
        self.disarm();
        let wait = due.saturating_sub(now).min(LONGEST);
        self.0.set(Some((set_timeout(tell, wait as f64, "tick"), due)));
    }

    /// The timer fired.
    pub(crate) fn fired(&self) {
        self.0.set(None);
    }

    /// Nothing is due any more.
    pub(crate) fn disarm(&self) {
        if let Some((id, _)) = self.0.take() {
            clear_timeout(id);
        }
    }
}
