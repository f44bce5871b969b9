//! Where the person writes.

use mindset_core::view::Activity;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlElement, HtmlTextAreaElement, KeyboardEvent};

use super::node::{add, icon, set};

const DEFAULT_PLACEHOLDER: &str = "Write a message";
/// What browsers report for keys that belong to an input method.
const INPUT_METHOD: u32 = 229;

/// The text box and its button.
pub(super) struct Composer {
    /// The text box.
    pub(super) input: HtmlTextAreaElement,
    button: HtmlElement,
}

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Send the draft.
    Send,
    /// Stop the turn.
    Stop,
    /// Nothing of ours.
    Other,
}

impl Composer {
    /// An empty composer at the end of `panel`.
    pub(super) fn new(panel: &Element) -> Result<Composer, JsValue> {
        let frame = add(panel, "div|part=composer|class=composer")?;
        let input: HtmlTextAreaElement =
            add(&frame, "textarea|part=composer__input|rows=1|dir=auto|enterkeyhint=send|autocomplete=off")?
                .unchecked_into();
        let button = add(&frame, "button|type=button|part=composer__button|class=send")?;
        icon(&button, "icon arrow", "M12 19V5m0 0-6 6m6-6 6 6")?;
        icon(&button, "icon square", "M7 7h10v10H7z")?;
        let composer = Composer { input, button };
        composer.set_placeholder(None);
        Ok(composer)
    }

    /// Sets the hint in the empty text box, which is also its name.
    pub(super) fn set_placeholder(&self, text: Option<&str>) {
        let text = text.unwrap_or(DEFAULT_PLACEHOLDER);
        self.input.set_placeholder(text);
        set(&self.input, "aria-label", text);
    }

    /// Makes the button send or stop.
    pub(super) fn set_activity(&self, activity: Activity) {
        let busy = is_busy(activity);
        set(&self.button, "data-do", if busy { "stop" } else { "send" });
        set(&self.button, "aria-label", if busy { "Stop" } else { "Send" });
        self.update_button(busy, activity == Activity::Stopping);
    }

    /// The draft changed: the box grows with it, to the limit of the style sheet.
    pub(super) fn resize(&self, activity: Activity) {
        self.update_button(is_busy(activity), activity == Activity::Stopping);
        let style = HtmlElement::style(&self.input);
        let _ = style.set_property("height", "auto");
        let height = self.input.scroll_height();
        if height > 0 {
            let _ = style.set_property("height", &[&height.to_string(), "px"].concat());
        }
    }

    /// Empties the box.
    pub(super) fn clear(&self, activity: Activity) {
        self.input.set_value("");
        self.resize(activity);
    }

    // Without a draft there is nothing to send; the button stays focusable.
    fn update_button(&self, busy: bool, stopping: bool) {
        let off = stopping || !busy && self.input.value().trim().is_empty();
        set(&self.button, "aria-disabled", if off { "true" } else { "false" });
    }
}

/// Whether there is a turn to stop.
pub(super) fn is_busy(activity: Activity) -> bool {
    !matches!(activity, Activity::Starting | Activity::Idle)
}

/// Reads a key press in the panel. The Enter that picks a candidate of an input
/// method sends nothing, and in one browser comes after the composition ended.
pub(super) fn key(event: &KeyboardEvent, in_input: bool) -> Key {
    if event.is_composing() || event.key_code() == INPUT_METHOD {
        return Key::Other;
    }
    let plain = !event.ctrl_key() && !event.alt_key() && !event.meta_key();
    match event.key().as_str() {
        "Enter" if in_input && plain && !event.shift_key() => Key::Send,
        "Escape" if plain => Key::Stop,
        _ => Key::Other,
    }
}

/// Whether the page may see this key. Pages take bare keys for their shortcuts and
/// see the element, not the text box, as the target.
pub(super) fn belongs_to_page(event: &KeyboardEvent) -> bool {
    event.ctrl_key() || event.meta_key() || event.key() == "Escape"
}
