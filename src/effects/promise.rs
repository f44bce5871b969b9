//! Promises that the page waits for. Each is kept as the function that settles it, which
//! is called once: with a value, with `undefined` and an error, or with nothing when the
//! session is over; it knows itself what that means for it, and does not throw.

use std::cell::{Cell, RefCell};

use js_sys::Function;
use wasm_bindgen::JsValue;

/// The promises of one session.
#[derive(Default)]
pub(crate) struct Promises {
    next: Cell<u32>,
    open: RefCell<Vec<(u32, Function)>>,
    /// Those that wait until no turn runs.
    stops: RefCell<Vec<Function>>,
}

impl Promises {
    /// Keeps one, if anybody waits; gives the number that names it to the session.
    pub(crate) fn keep(&self, settle: Option<Function>) -> u32 {
        let id = self.next.get();
        self.next.set(id.wrapping_add(1));
        self.open.borrow_mut().extend(settle.map(|settle| (id, settle)));
        id
    }

    /// Keeps one until no turn runs.
    pub(crate) fn keep_stop(&self, settle: Option<Function>) {
        self.stops.borrow_mut().extend(settle);
    }

    /// Forgets one whose call was refused, or takes it to be settled.
    pub(crate) fn take(&self, id: u32) -> Option<Function> {
        let mut open = self.open.borrow_mut();
        let at = open.iter().position(|(kept, _)| *kept == id)?;
        Some(open.swap_remove(at).1)
    }

    /// Settles one.
    pub(crate) fn settle(&self, id: u32, value: &JsValue, error: &JsValue) {
        if let Some(settle) = self.take(id) {
            let _ = settle.call2(&JsValue::UNDEFINED, value, error);
        }
    }

    /// No turn runs any more.
    pub(crate) fn stopped(&self) {
        for settle in self.stops.take() {
            let _ = settle.call0(&JsValue::UNDEFINED);
        }
    }

    /// The session is over.
    pub(crate) fn end(&self) {
        for (_, settle) in self.open.take() {
            let _ = settle.call0(&JsValue::UNDEFINED);
        }
        self.stopped();
    }

    /// Whether anybody waits.
    pub(crate) fn any(&self) -> bool {
        !self.open.borrow().is_empty() || !self.stops.borrow().is_empty()
    }
}
