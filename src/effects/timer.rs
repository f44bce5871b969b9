//! One timer per session. A deadline that moves back, as the heartbeat's does with
//! every byte, does not touch the armed timer: it fires early, the session finds
//! nothing due, and it is armed again for the rest.

use std::cell::{Cell, OnceCell};
use std::rc::Weak;

use mindset_core::Millis;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;

use crate::driver::Driver;

/// The browser's timers hold 31 bits of milliseconds.
const LONGEST: Millis = 2_000_000_000;

/// The timer of one session.
pub(crate) struct Timer {
    driver: Weak<Driver>,
    callback: OnceCell<Closure<dyn FnMut()>>,
    armed: Cell<Option<(i32, Millis)>>,
}

impl Timer {
    /// A timer that is not armed.
    pub(crate) fn new(driver: Weak<Driver>) -> Timer {
        Timer { driver, callback: OnceCell::new(), armed: Cell::new(None) }
    }

    /// Sees to it that the session is woken at `due`, or soon before.
    pub(crate) fn arm(&self, due: Option<Millis>, now: Millis) {
        let Some(due) = due else { return self.disarm() };
        if self.armed.get().is_some_and(|(_, at)| at <= due) {
            return;
        }
        self.disarm();
        let callback = self.callback.get_or_init(|| {
            let driver = self.driver.clone();
            Closure::new(move || {
                if let Some(driver) = driver.upgrade() {
                    driver.tick();
                }
            })
        });
        let wait = i32::try_from(due.saturating_sub(now).min(LONGEST)).unwrap_or(i32::MAX);
        let id = web_sys::window().and_then(|window| {
            window
                .set_timeout_with_callback_and_timeout_and_arguments_0(
                    callback.as_ref().unchecked_ref(),
                    wait,
                )
                .ok()
        });
        self.armed.set(id.map(|id| (id, due)));
    }

    /// The timer fired.
    pub(crate) fn fired(&self) {
        self.armed.set(None);
    }

    /// Nothing is due any more.
    pub(crate) fn disarm(&self) {
        if let (Some((id, _)), Some(window)) = (self.armed.take(), web_sys::window()) {
            window.clear_timeout_with_handle(id);
        }
    }
}
