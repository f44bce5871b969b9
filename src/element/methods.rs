//! The methods of the element. Each takes the function that settles the promise
//! the shell has given out; a refusal is thrown and settles nothing.

use js_sys::Function;
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::session::{Input, SendOptions};
use wasm_bindgen::prelude::*;

use super::Agent;
use crate::convert;
use crate::error::mindset_error;

#[wasm_bindgen]
impl Agent {
    /// `sendMessage(text, { silent })`.
    ///
    /// # Errors
    /// `busy` or `invalid-request`.
    pub fn send(&self, settle: Function, text: &JsValue, options: &JsValue) -> Result<(), JsValue> {
        self.send_text(settle, text, options, false)
    }

    /// `sendWhenIdle(text, { silent })`: waits in order instead of refusing.
    ///
    /// # Errors
    /// `invalid-request`.
    #[wasm_bindgen(js_name = sendWhenIdle)]
    pub fn send_when_idle(&self, settle: Function, text: &JsValue, options: &JsValue) -> Result<(), JsValue> {
        self.send_text(settle, text, options, true)
    }

    /// `retry()`: sends the last message of a failed turn again.
    ///
    /// # Errors
    /// `busy`, or `invalid-request` when there is nothing to repeat.
    pub fn retry(&self, settle: Function) -> Result<(), JsValue> {
        self.refresh();
        self.driver.send(Some(settle), |id| Input::Retry { id }).map_err(|e| mindset_error(&e))
    }

    /// `isAgentBusy()`.
    #[wasm_bindgen(js_name = isAgentBusy)]
    pub fn is_agent_busy(&self) -> bool {
        self.driver.is_busy()
    }

    /// `stop()`: ends the turn, on the server too.
    pub fn stop(&self, settle: Function) {
        self.driver.stop(Some(settle));
    }

    fn send_text(
        &self,
        settle: Function,
        text: &JsValue,
        options: &JsValue,
        when_idle: bool,
    ) -> Result<(), JsValue> {
        let Some(text) = text.as_string() else {
            let message = ["a message is a text; this is ", &convert::shape(text)].concat();
            return Err(mindset_error(&ErrorInfo::new(ErrorCode::InvalidRequest, message)));
        };
        let silent = convert::flag(options, "silent").map_err(|got| {
            let message = ["the option silent of a message is true or false; it is ", &got].concat();
            mindset_error(&ErrorInfo::new(ErrorCode::InvalidRequest, message))
        })?;
        let options = SendOptions { silent: silent.unwrap_or(false), when_idle };
        self.refresh();
        self.driver
            .send(Some(settle), |id| Input::Send { id, text: &text, options })
            .map_err(|e| mindset_error(&e))
    }
}
