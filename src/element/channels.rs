//! What a page sets again and again: awareness, pass-through parameters, page tools. The
//! element's class has read the JavaScript values; here come their JSON texts.

use mindset_core::error::ErrorInfo;
use mindset_core::json::{self, Object, Value, concat};
use mindset_core::session::Input;
use wasm_bindgen::prelude::*;

use super::Agent;
use crate::effects::{owner, tool};
use crate::error::{invalid_config, mindset_error};

const AWARENESS: &str = "situational-awareness";
const PASSTHROUGH: &str = "passthrough-params";

#[wasm_bindgen]
impl Agent {
    /// Sets a value by the name of its property. The text of an attribute is the host's
    /// own writing and may be anything; blank is the default.
    ///
    /// # Errors
    /// Why it is refused; the value before it holds.
    pub fn set(&self, name: &str, text: &str, is_attribute: bool) -> Result<(), JsValue> {
        self.take(name, text, is_attribute).map_err(|e| mindset_error(&e))
    }
}

impl Agent {
    fn take(&self, name: &str, text: &str, is_attribute: bool) -> Result<(), ErrorInfo> {
        let text = if is_attribute && text.trim().is_empty() { "{}" } else { text };
        let (attribute, input) = match name {
            "situationalAwareness" => {
                if is_attribute {
                    object(AWARENESS, text)?;
                }
                (AWARENESS, Input::SetAwareness(text))
            }
            "passthroughParams" => (PASSTHROUGH, Input::SetPassthrough(object(PASSTHROUGH, text)?)),
            _ => {
                let tools = tool::read(text);
                if !tools.is_empty() {
                    owner::hold();
                }
                ("", Input::SetPageTools(tools))
            }
        };
        let mut set = self.driver.step(input);
        if let (Err(error), true) = (&mut set, is_attribute) {
            error.message = concat(&["The attribute `", attribute, "` is refused. ", &error.message]);
        }
        set.map_err(|error| if is_attribute { error.with("attribute", attribute) } else { error })
    }
}

fn object(attribute: &str, text: &str) -> Result<Object, ErrorInfo> {
    let reason = match json::parse(text) {
        Ok(Value::Object(object)) => return Ok(object),
        Ok(other) => concat(&["it is ", other.kind()]),
        Err(_) if text.starts_with("[object ") => "a framework wrote an object as a text. Set the element's \
            property instead, or write JSON.stringify(object)"
            .to_owned(),
        Err(e) => e.text(),
    };
    let message = concat(&[
        "The attribute `",
        attribute,
        "` holds no JSON object: ",
        &reason,
        ". Until it is corrected the last good value holds.",
    ]);
    Err(invalid_config(message).with("attribute", attribute))
}
