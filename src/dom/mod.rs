//! The chat panel: patches of the session become nodes in the element's shadow
//! root. Nodes are made with `createElement` and `textContent` only, styles are a
//! constructed sheet, so that strict content policies and Trusted Types hold.

mod composer;
mod node;
mod panel;
mod row;
mod transcript;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};

use mindset_core::view::{Activity, Notice, Patch};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;

use crate::driver::Driver;
use panel::Panel;

/// A page in the background draws no frames; text is written this often there.
const HIDDEN_FRAME_MS: i32 = 100;

/// A callback that the browser holds.
#[derive(Clone, Copy)]
enum Due {
    Frame(i32),
    Timeout(i32),
}

/// What an element shows: a panel, or nothing when it is headless.
pub(crate) struct View {
    driver: Weak<Driver>,
    panel: RefCell<Option<Rc<Panel>>>,
    activity: Cell<Activity>,
    notice: RefCell<Option<Notice>>,
    disclosure: RefCell<Option<String>>,
    frame: OnceCell<Closure<dyn FnMut()>>,
    due: Cell<Option<Due>>,
}

impl View {
    /// A view without a panel.
    pub(crate) fn new(driver: Weak<Driver>) -> View {
        View {
            driver,
            panel: RefCell::new(None),
            activity: Cell::new(Activity::Starting),
            notice: RefCell::new(None),
            disclosure: RefCell::new(None),
            frame: OnceCell::new(),
            due: Cell::new(None),
        }
    }

    /// Draws the panel, or takes it away, and sets its texts.
    pub(crate) fn show(&self, headless: bool, heading: Option<&str>, placeholder: Option<&str>) {
        match (self.panel(), headless) {
            (Some(panel), false) => panel.set_texts(heading, placeholder),
            (None, false) => self.draw(heading, placeholder),
            (Some(_), true) => self.remove(),
            (None, true) => {}
        }
    }

    /// Takes the panel away.
    pub(crate) fn remove(&self) {
        if let Some(panel) = self.panel.take() {
            panel.remove();
        }
        // A callback that outlives its view would be called in vain, and complain.
        if let (Some(due), Some(window)) = (self.due.take(), web_sys::window()) {
            match due {
                Due::Frame(id) => drop(window.cancel_animation_frame(id)),
                Due::Timeout(id) => window.clear_timeout_with_handle(id),
            }
        }
    }

    /// The element was moved.
    pub(crate) fn reattached(&self) {
        if let Some(panel) = self.panel() {
            panel.reattached();
        }
    }

    /// Carries out one change. Text waits for the next frame; everything else takes
    /// the waiting text with it.
    pub(crate) fn apply(&self, patch: Patch) {
        match &patch {
            Patch::SetActivity(activity) => self.activity.set(*activity),
            Patch::SetNotice(notice) => {
                self.notice.replace(notice.clone());
            }
            Patch::SetDisclosure(text) => {
                self.disclosure.replace(text.clone());
            }
            _ => {}
        }
        let Some(panel) = self.panel() else { return };
        if let Patch::AppendText { id, text } = patch {
            panel.transcript.append(id, &text);
            self.want_frame();
        } else {
            panel.transcript.flush();
            panel.apply(patch);
        }
    }

    /// Writes the text that waits for a frame.
    pub(crate) fn flush(&self) {
        if let Some(panel) = self.panel() {
            panel.transcript.flush();
        }
    }

    /// What the agent is doing.
    pub(super) fn activity(&self) -> Activity {
        self.activity.get()
    }

    fn panel(&self) -> Option<Rc<Panel>> {
        self.panel.borrow().clone()
    }

    fn draw(&self, heading: Option<&str>, placeholder: Option<&str>) {
        let Some(driver) = self.driver.upgrade() else { return };
        let panel = match Panel::new(&driver) {
            Ok(panel) => Rc::new(panel),
            Err(thrown) => return web_sys::console::error_1(&thrown),
        };
        panel.set_texts(heading, placeholder);
        self.panel.replace(Some(panel.clone()));
        for message in driver.session(|session| session.messages().to_vec()) {
            let (id, status) = (message.id.clone(), message.status);
            panel.apply(Patch::AddMessage { id: message.id, role: message.role, text: message.content });
            panel.apply(Patch::SetStatus { id, status });
        }
        panel.apply(Patch::SetActivity(self.activity.get()));
        panel.apply(Patch::SetNotice(self.notice.borrow().clone()));
        panel.apply(Patch::SetDisclosure(self.disclosure.borrow().clone()));
    }

    fn want_frame(&self) {
        let Some(window) = web_sys::window().filter(|_| self.due.get().is_none()) else { return };
        let frame = self.frame.get_or_init(|| {
            let driver = self.driver.clone();
            Closure::new(move || {
                if let Some(driver) = driver.upgrade() {
                    driver.view.due.set(None);
                    driver.view.flush();
                }
            })
        });
        let callback = frame.as_ref().unchecked_ref();
        let hidden = window.document().is_some_and(|document| document.hidden());
        let due = if hidden {
            window
                .set_timeout_with_callback_and_timeout_and_arguments_0(callback, HIDDEN_FRAME_MS)
                .map(Due::Timeout)
        } else {
            window.request_animation_frame(callback).map(Due::Frame)
        };
        self.due.set(due.ok());
    }
}
