//! The panel as a whole, and the one listener that serves all of it.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use js_sys::Array;
use mindset_core::error::ErrorCode;
use mindset_core::session::{Input, SendOptions};
use mindset_core::view::{Activity, Notice, Patch};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CssStyleSheet, Element, Event, HtmlElement, KeyboardEvent, ShadowRoot};

use super::composer::{self, Composer, Key, is_busy};
use super::node::{add, document, icon, set};
use super::transcript::Transcript;
use crate::driver::Driver;

/// The mark in the header and in the empty transcript.
pub(super) const SPARK: &str = "M12 3l1.9 5.6a3 3 0 0 0 1.9 1.9L21 12l-5.2 1.5a3 3 0 0 0-1.9 1.9L12 21l-1.9-5.6a3 3 0 0 0-1.9-1.9L3 12l5.2-1.5a3 3 0 0 0 1.9-1.9z";
const DEFAULT_HEADING: &str = "Assistant";
const EVENTS: &[&str] = &["click", "input", "keydown", "keypress", "keyup", "focusin", "focusout"];

thread_local! {
    static SHEET: RefCell<Option<CssStyleSheet>> = const { RefCell::new(None) };
}

/// Called again while it runs: moving the focus from inside tells it so at once.
type Listener = Closure<dyn Fn(Event)>;

/// The chat panel.
pub(super) struct Panel {
    /// The messages.
    pub(super) transcript: Transcript,
    composer: Composer,
    root: ShadowRoot,
    frame: HtmlElement,
    heading: HtmlElement,
    state: HtmlElement,
    disclosure: HtmlElement,
    driver: Weak<Driver>,
    focused: Cell<bool>,
    listener: RefCell<Option<Listener>>,
}

impl Panel {
    /// Draws an empty panel into the element's shadow root.
    pub(super) fn new(driver: &Rc<Driver>) -> Result<Panel, JsValue> {
        let root = driver
            .host
            .shadow_root()
            .ok_or_else(|| JsValue::from_str("mindset-agent: the element has no shadow root"))?;
        adopt_styles(&root)?;
        let frame = super::node::make("section|part=panel|class=panel")?;
        let header = add(&frame, "header|part=header|class=header")?;
        let mark = add(&header, "span|class=spark")?;
        icon(&mark, "icon", SPARK)?;
        let titles = add(&header, "div|class=titles")?;
        let heading = add(&titles, "h2|part=heading|class=heading|dir=auto")?;
        let state = add(&titles, "p|part=state|class=state")?;
        let transcript = Transcript::new(&frame)?;
        let composer = Composer::new(&frame)?;
        let disclosure = add(&frame, "p|part=disclosure|class=disclosure|dir=auto|hidden")?;
        let panel = Panel {
            transcript,
            composer,
            root,
            frame,
            heading,
            state,
            disclosure,
            driver: Rc::downgrade(driver),
            focused: Cell::new(false),
            listener: RefCell::new(None),
        };
        panel.listen()?;
        panel.root.append_child(&panel.frame)?;
        Ok(panel)
    }

    /// Sets heading and placeholder; `None` is the default.
    pub(super) fn set_texts(&self, heading: Option<&str>, placeholder: Option<&str>) {
        let heading = heading.unwrap_or(DEFAULT_HEADING);
        self.heading.set_text_content(Some(heading));
        set(&self.frame, "aria-label", heading);
        self.composer.set_placeholder(placeholder);
    }

    /// Carries out one change.
    pub(super) fn apply(&self, patch: Patch) {
        match patch {
            Patch::Clear => self.transcript.clear(),
            Patch::AddMessage { id, role, text } => self.transcript.add_message(id, role, &text),
            Patch::AppendText { id, text } => self.transcript.append(id, &text),
            Patch::SetStatus { id, status } => self.transcript.set_status(&id, status),
            Patch::RemoveMessage { id } => self.transcript.remove_message(&id),
            Patch::SetActivity(activity) => self.set_activity(activity),
            Patch::SetNotice(notice) => self.transcript.set_notice(notice.as_ref()),
            Patch::SetDisclosure(text) => {
                self.disclosure.set_hidden(text.is_none());
                self.disclosure.set_text_content(text.as_deref());
                self.transcript.settle();
            }
        }
    }

    /// Takes the panel out of the element.
    pub(super) fn remove(&self) {
        self.frame.remove();
        // Events that are on their way still reach nodes that are gone.
        if let Some(listener) = self.listener.take() {
            let callback = listener.as_ref().unchecked_ref();
            for name in EVENTS {
                let _ = self.frame.remove_event_listener_with_callback(name, callback);
            }
            let _ = self.frame.remove_event_listener_with_callback_and_bool("scroll", callback, true);
        }
    }

    /// The element was moved: gives back what the browser takes.
    pub(super) fn reattached(&self) {
        self.transcript.reattached();
        let elsewhere = document()
            .ok()
            .and_then(|document| document.active_element())
            .is_some_and(|active| active.tag_name() != "BODY");
        if self.focused.get() && !elsewhere {
            let _ = self.composer.input.focus();
        }
    }

    fn set_activity(&self, activity: Activity) {
        let (name, text) = match activity {
            Activity::Starting => ("starting", "Connecting\u{2026}"),
            Activity::Idle => ("idle", "Online"),
            Activity::Waiting => ("waiting", "Working\u{2026}"),
            Activity::Thinking => ("thinking", "Thinking\u{2026}"),
            Activity::Answering => ("answering", "Answering\u{2026}"),
            Activity::Stopping => ("stopping", "Stopping\u{2026}"),
        };
        set(&self.frame, "data-activity", name);
        self.state.set_text_content(Some(text));
        self.transcript.set_activity(activity);
        self.composer.set_activity(activity);
    }

    fn listen(&self) -> Result<(), JsValue> {
        let driver = self.driver.clone();
        let listener = Listener::new(move |event: Event| {
            let Some(driver) = driver.upgrade() else { return };
            if let Some(panel) = driver.view.panel() {
                panel.handle(&driver, &event);
            }
        });
        let callback = listener.as_ref().unchecked_ref();
        for name in EVENTS {
            self.frame.add_event_listener_with_callback(name, callback)?;
        }
        // Scrolling does not bubble.
        self.frame.add_event_listener_with_callback_and_bool("scroll", callback, true)?;
        self.listener.replace(Some(listener));
        Ok(())
    }

    fn handle(&self, driver: &Rc<Driver>, event: &Event) {
        match event.type_().as_str() {
            "scroll" => self.transcript.scrolled(),
            "click" => self.click(driver, event),
            "input" => {
                self.composer.resize(driver.view.activity());
                self.transcript.settle();
            }
            "keydown" => self.key(driver, event.unchecked_ref()),
            "keypress" | "keyup" => {
                let key: &KeyboardEvent = event.unchecked_ref();
                if !composer::belongs_to_page(key) {
                    event.stop_propagation();
                }
            }
            "focusin" => self.focused.set(self.is_in_input(event)),
            // A move takes the focus away too, and gives it back before this task ends.
            "focusout" => self.forget_focus_soon(driver),
            _ => {}
        }
    }

    fn click(&self, driver: &Rc<Driver>, event: &Event) {
        let action = event
            .target()
            .and_then(|target| target.dyn_into::<Element>().ok())
            .and_then(|target| target.closest("[data-do]").ok().flatten())
            .and_then(|button| button.get_attribute("data-do"));
        match action.as_deref() {
            Some("send") => {
                self.send(driver);
                let _ = self.composer.input.focus();
            }
            Some("stop") => driver.stop(None),
            Some("jump") => self.transcript.jump(),
            Some("retry") => self.refused(driver.send(None, |id| Input::Retry { id })),
            Some("reconnect") => driver.feed(Input::Reconnect),
            _ => {}
        }
    }

    fn key(&self, driver: &Rc<Driver>, event: &KeyboardEvent) {
        let mut ours = !composer::belongs_to_page(event);
        match composer::key(event, self.is_in_input(event)) {
            Key::Send => {
                event.prevent_default();
                self.send(driver);
            }
            Key::Stop if is_busy(driver.view.activity()) => {
                ours = true;
                event.prevent_default();
                driver.stop(None);
            }
            Key::Stop | Key::Other => {}
        }
        if ours {
            event.stop_propagation();
        }
    }

    fn send(&self, driver: &Rc<Driver>) {
        let text = self.composer.input.value();
        if text.trim().is_empty() {
            return;
        }
        // Cleared first: listeners run inside, and may look.
        self.composer.clear(driver.view.activity());
        let sent = driver.send(None, |id| Input::Send { id, text: &text, options: SendOptions::default() });
        if sent.is_err() {
            self.composer.input.set_value(&text);
            self.composer.resize(driver.view.activity());
        }
        self.refused(sent);
    }

    fn refused(&self, result: Result<(), mindset_core::session::Refused>) {
        // Busy needs no words: the draft stays and the button says stop.
        if let Err(error) = result
            && error.code != ErrorCode::Busy
        {
            let notice = Notice { error: true, text: error.message, action: None };
            self.transcript.set_notice(Some(&notice));
        }
    }

    fn is_in_input(&self, event: &Event) -> bool {
        event.target().is_some_and(|target| target == *self.composer.input.as_ref())
    }

    fn forget_focus_soon(&self, driver: &Rc<Driver>) {
        let driver = Rc::downgrade(driver);
        wasm_bindgen_futures::spawn_local(async move {
            let Some(panel) = driver.upgrade().and_then(|driver| driver.view.panel()) else { return };
            let input: &Element = &panel.composer.input;
            panel.focused.set(panel.root.active_element().is_some_and(|active| active == *input));
        });
    }
}

fn adopt_styles(root: &ShadowRoot) -> Result<(), JsValue> {
    let sheet = match SHEET.with(|cell| cell.borrow().clone()) {
        Some(sheet) => sheet,
        None => {
            let sheet = CssStyleSheet::new()?;
            sheet.replace_sync(include_str!("theme.css"))?;
            SHEET.with(|cell| cell.replace(Some(sheet.clone())));
            sheet
        }
    };
    // The shell's own sheet, which gives the element its place, stays first.
    let own = root.adopted_style_sheets().get(0);
    root.set_adopted_style_sheets(&Array::of2(&own, &sheet));
    Ok(())
}
