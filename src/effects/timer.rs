//! One timer per session. A deadline that moves back, as the heartbeat's does with
//! every byte, does not touch the armed timer: it fires early, the session finds
//! nothing due, and it is armed again for the rest.

use std::cell::Cell;

use mindset_core::Millis;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    #[wasm_bindgen(js_name = startTimer)]
    fn start_timer(tell: &JsValue, millis: f64, is_needed: bool) -> f64;
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(id: f64);
}

/// The browser's timers hold 31 bits of milliseconds.
const LONGEST: Millis = 2_000_000_000;

/// A timer that fires so much later has slept: the machine was asleep, or the page.
const SLEPT: Millis = 5_000;

/// The timer of one session.
#[derive(Default)]
pub(crate) struct Timer(Cell<Option<Armed>>);

#[derive(Clone, Copy)]
struct Armed {
    id: f64,
    /// When it is due, and when the session is.
    fires: Millis,
    due: Millis,
    is_needed: bool,
}

impl Timer {
    /// Sees to it that `tell` hears `tick` at `due`, or soon before. Where that could
    /// matter, the program goes on for it only if it is needed.
    pub(crate) fn arm(&self, tell: &JsValue, due: Option<Millis>, now: Millis, is_needed: bool) {
        let Some(due) = due else { return self.disarm() };
        if self.0.get().is_some_and(|armed| armed.due <= due && armed.is_needed == is_needed) {
            return;
        }
        self.disarm();
        let wait = due.saturating_sub(now).min(LONGEST);
        let id = start_timer(tell, wait as f64, is_needed);
        self.0.set(Some(Armed { id, fires: now.saturating_add(wait), due, is_needed }));
    }

    /// The timer fired; whether so late that much may have happened meanwhile.
    pub(crate) fn fired(&self, now: Millis) -> bool {
        self.0.take().is_some_and(|armed| armed.fires.saturating_add(SLEPT) < now)
    }

    /// Nothing is due any more.
    pub(crate) fn disarm(&self) {
        if let Some(armed) = self.0.take() {
            clear_timeout(armed.id);
        }
    }
}
