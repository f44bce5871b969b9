//! The tools of messages: what the panel shows of feedback, suggestions, thinking and tool calls,
//! and what a person does with a message or a questionnaire.

use std::rc::Rc;

use mindset_core::event::Feedback;
use mindset_core::json::{self, Value};
use mindset_core::object;
use mindset_core::session::{Input, QueueChange, Refused};
use mindset_core::view::{Patch, QueuedMessage};
use wasm_bindgen::prelude::*;

use super::Panel;
use crate::convert;
use crate::driver::Driver;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(method, js_name = setFeedback)]
    fn set_feedback(this: &Panel, id: &str, feedback: &JsValue);
    #[wasm_bindgen(method, js_name = setSuggestions)]
    fn set_suggestions(this: &Panel, items: &JsValue);
    #[wasm_bindgen(method, js_name = addQuestionnaire)]
    fn add_questionnaire(this: &Panel, id: &str, questionnaire: &JsValue);
    #[wasm_bindgen(method, js_name = setQueue)]
    fn set_queue(this: &Panel, items: &JsValue);
    #[wasm_bindgen(method, js_name = giveBack)]
    fn give_back(this: &Panel, text: &str);
    #[wasm_bindgen(method)]
    fn think(this: &Panel, text: &str);
    #[wasm_bindgen(method, js_name = describeTool)]
    fn describe_tool(this: &Panel, id: &str, name: &str, details: &JsValue, duration: Option<f64>);
    #[wasm_bindgen(method)]
    fn take(this: &Panel, transcript: &JsValue);
}

/// Carries out a change that is of these.
pub(super) fn apply(panel: &Panel, patch: &Patch) {
    match patch {
        Patch::SetFeedback { id, feedback } => {
            let feedback =
                feedback.as_ref().map_or(Value::Null, |feedback| Value::Object(feedback.to_json()));
            panel.set_feedback(id, &convert::plain(&feedback));
        }
        Patch::SetSuggestions(items) => {
            let mut list = Vec::new();
            for item in items {
                list.push(item.into());
            }
            panel.set_suggestions(&convert::plain(&Value::Array(list)));
        }
        Patch::AddQuestionnaire { id, questionnaire } => {
            panel.add_questionnaire(id, &convert::plain(&Value::Object(questionnaire.clone())));
        }
        Patch::SetQueue(queue) => panel.set_queue(&queued(queue)),
        Patch::GiveBack { text } => panel.give_back(text),
        Patch::Think { text } => panel.think(text),
        Patch::DescribeTool { id, name, duration_ms, details } => {
            panel.describe_tool(id, name, &pairs(details), duration_ms.map(|time| time as f64));
        }
        _ => {}
    }
}

/// What a person does with a message, or answers to a questionnaire.
///
/// # Errors
/// What the session refuses.
pub(super) fn told(driver: &Rc<Driver>, panel: &Panel, name: &str, text: &str) -> Result<(), Refused> {
    match name {
        "queue-edit" => {
            let (run_id, text) = text.split_once('\n').unwrap_or_default();
            driver.step(Input::Queue { run_id, change: QueueChange::Edit(text) })
        }
        "queue-remove" => driver.step(Input::Queue { run_id: text, change: QueueChange::Remove }),
        "queue-now" => driver.step(Input::Queue { run_id: text, change: QueueChange::Now }),
        "queue-resume" => driver.step(Input::Queue { run_id: "", change: QueueChange::Resume }),
        "edit" => driver.step(Input::EditBegin { message: text }),
        "answer" => {
            let (question_id, answers) = text.split_once('\n').unwrap_or_default();
            driver.step(Input::Answer { id: None, question_id, answers })
        }
        "resend" => {
            let (message, text) = text.split_once('\n').unwrap_or_default();
            driver.send(None, |id| Input::Edit { id, message, text })
        }
        "feedback" => {
            let Ok(told) = json::parse(text) else { return Ok(()) };
            let message = told.str("messageId").unwrap_or_default();
            driver.step(Input::Feedback { message, feedback: Feedback::from_json(&told) })
        }
        _ => {
            panel.take(&driver.transcript());
            Ok(())
        }
    }
}

/// `[{ runId, text, state, isFixed }]`.
fn queued(queue: &[QueuedMessage]) -> JsValue {
    let mut list = Vec::new();
    for waiting in queue {
        list.push(Value::Object(object! {
            "runId": &waiting.run_id, "text": &waiting.text, "state": waiting.state.as_str(),
            "isFixed": waiting.is_fixed,
        }));
    }
    convert::plain(&Value::Array(list))
}

/// Names with values.
pub(super) fn pairs(details: &[(String, String)]) -> JsValue {
    let mut list = Vec::new();
    for (name, value) in details {
        list.push(Value::Array(vec![name.into(), value.into()]));
    }
    convert::plain(&Value::Array(list))
}
