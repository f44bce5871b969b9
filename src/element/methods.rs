//! The methods of the element. Each takes the function that settles the promise
//! the shell has given out; a refusal is thrown and settles nothing.

use js_sys::Function;
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::Decision;
use mindset_core::json::concat;
use mindset_core::queue::WhenBusy;
use mindset_core::session::{Ask, Input, SendOptions};
use wasm_bindgen::prelude::*;

use super::Agent;
use crate::convert;
use crate::error::mindset_error;

#[wasm_bindgen]
impl Agent {
    /// `sendMessage(text, { silent, whenBusy })`, or `sendWhenIdle`, which waits in order
    /// instead of refusing.
    ///
    /// # Errors
    /// `busy` or `invalid-request`.
    pub fn send(
        &self,
        settle: Function,
        text: &JsValue,
        options: &JsValue,
        when_idle: bool,
    ) -> Result<(), JsValue> {
        let refuse = |message: String| mindset_error(&ErrorInfo::new(ErrorCode::InvalidRequest, message));
        let Some(text) = text.as_string() else {
            return Err(refuse(concat(&["a message is a text; this is ", &convert::shape(text)])));
        };
        let silent = convert::member(options, "silent");
        if !silent.is_undefined() && !silent.is_null() && silent.as_bool().is_none() {
            let got = convert::shape(&silent);
            return Err(refuse(concat(&["the option silent of a message is true or false; it is ", &got])));
        }
        let wish = convert::member(options, "whenBusy");
        let when_busy = wish.as_string().and_then(|wish| WhenBusy::parse(&wish));
        if when_busy.is_none() && !wish.is_undefined() && !wish.is_null() {
            return Err(refuse("the option whenBusy of a message is 'queue' or 'steer'".to_owned()));
        }
        let options = SendOptions { silent: silent.is_truthy(), when_idle, when_busy };
        self.refresh();
        self.driver
            .send(Some(settle), |id| Input::Send { id, text: &text, options })
            .map_err(|e| mindset_error(&e))
    }

    /// `retry()`: sends the last message of a failed turn again.
    ///
    /// # Errors
    /// `busy`, or `invalid-request` when there is nothing to repeat.
    pub fn retry(&self, settle: Function) -> Result<(), JsValue> {
        self.refresh();
        self.driver.send(Some(settle), |id| Input::Retry { id }).map_err(|e| mindset_error(&e))
    }

    /// `editAndResend(messageId, text)`: cuts the conversation at a message of the user's own and
    /// sends the text in its place.
    ///
    /// # Errors
    /// `busy` or `invalid-request`.
    #[wasm_bindgen(js_name = editAndResend)]
    pub fn edit_and_resend(&self, settle: Function, message: &str, text: &str) -> Result<(), JsValue> {
        self.refresh();
        self.driver.send(Some(settle), |id| Input::Edit { id, message, text }).map_err(|e| mindset_error(&e))
    }

    /// What `exportTranscript` writes.
    pub fn transcript(&self) -> JsValue {
        self.driver.transcript()
    }

    /// `widgetAction(widgetId, action, payload)`, the payload as JSON text.
    ///
    /// # Errors
    /// `busy` or `invalid-request`.
    #[wasm_bindgen(js_name = widgetAction)]
    pub fn widget_action(
        &self,
        settle: Function,
        widget: &str,
        action: &str,
        payload: &str,
    ) -> Result<(), JsValue> {
        self.driver
            .send(Some(settle), |id| Input::WidgetAction { id, widget, action, payload })
            .map_err(|e| mindset_error(&e))
    }

    /// `newConversation()`, `switchConversation(id)`, `conversations()`,
    /// `renameConversation(id, title)`, `deleteConversation(id)` and `loadEarlier()`, by the
    /// first word of the name. `settle` gets the answer or the error.
    pub fn ask(&self, settle: Function, word: &str, id: &JsValue, title: &JsValue) {
        self.refresh();
        let (id, title) = (id.as_string(), title.as_string());
        let ask = match (word, id, title) {
            ("new", ..) => Ask::New,
            ("conversations", ..) => Ask::List,
            ("load", ..) => Ask::Earlier,
            ("bearer", ..) => Ask::Bearer,
            ("switch", Some(id), _) => Ask::Switch { id },
            ("delete", Some(id), _) => Ask::Delete { id },
            ("rename", Some(id), Some(title)) => Ask::Rename { id, title },
            _ => {
                let message =
                    "The id of a conversation and its title are texts. Give them as conversations() does.";
                let error = mindset_error(&ErrorInfo::new(ErrorCode::InvalidRequest, message));
                let _ = settle.call2(&JsValue::UNDEFINED, &JsValue::UNDEFINED, &error);
                return;
            }
        };
        self.driver.ask(Some(settle), ask);
    }

    /// What a person says to a question: `allowOnce` or `deny` to an approval, whose `settle` gets
    /// nothing or the error; the answers to a questionnaire as JSON text, empty to dismiss it,
    /// whose `settle` gets the turn's result.
    ///
    /// # Errors
    /// Why answers are refused.
    pub fn decide(&self, settle: Function, word: &str, id: &str) -> Result<(), JsValue> {
        match Decision::parse(word) {
            Some(decision) => {
                self.driver.reply(settle, id, decision);
                Ok(())
            }
            None => self
                .driver
                .send(Some(settle), |send| Input::Answer { id: Some(send), question_id: id, answers: word })
                .map_err(|e| mindset_error(&e)),
        }
    }

    /// Other words are to be shown: draws the panel anew.
    pub fn redraw(&self) {
        self.driver.view.remove();
        self.refresh();
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
}
