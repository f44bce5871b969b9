//! Handlers of the page. They stay with the element (`element/tools.js`), which runs
//! them outside every borrow; here are the ways there and back.

use std::rc::Rc;

use mindset_core::json::{Value, parse};
use mindset_core::session::{Confirm, Input, PageTool, TOOL_TIMEOUT, ToolRun, ToolRunId};
use wasm_bindgen::prelude::*;

use crate::convert;
use crate::driver::Driver;

#[wasm_bindgen]
extern "C" {
    /// The handlers of one element.
    pub type Tools;

    #[wasm_bindgen(method)]
    fn run(
        this: &Tools,
        tell: &JsValue,
        asks: bool,
        id: u32,
        name: &str,
        arguments: &str,
        call_id: &str,
        conversation_id: &str,
    );

    #[wasm_bindgen(method)]
    fn abort(this: &Tools, id: Option<u32>);
}

/// Runs a handler, or with `asks` what says the sentence for the person.
pub(crate) fn start(driver: &Rc<Driver>, run: &ToolRun, asks: bool) {
    let arguments = run.arguments.expose().text();
    driver.tools.run(
        driver.tell(),
        asks,
        run.id.0,
        &run.name,
        &arguments,
        &run.call_id,
        &run.conversation_id,
    );
}

/// Nobody waits for a call any more, or without an id for any.
pub(crate) fn abort(tools: &Tools, id: Option<ToolRunId>) {
    tools.abort(id.map(|id| id.0));
}

/// A handler came to its end: `{ asks, id, text, failed }`. True.
pub(crate) fn ran(driver: &Rc<Driver>, end: &JsValue) -> bool {
    let id = ToolRunId(convert::member(end, "id").as_f64().unwrap_or_default() as u32);
    let text = convert::text(end, "text").unwrap_or_default();
    let result = if convert::member(end, "failed").is_truthy() { Err(text) } else { Ok(text) };
    driver.feed(if convert::member(end, "asks").is_truthy() {
        Input::ToolSentence { id, sentence: result }
    } else {
        Input::ToolDone { id, result }
    })
}

/// The list that `readTools` wrote; its types are checked there.
pub(crate) fn read(text: &str) -> Vec<PageTool> {
    let list = parse(text).unwrap_or_default();
    let mut tools = Vec::new();
    for tool in list.as_array().unwrap_or_default() {
        let text = |name: &str| tool.str(name).map(str::to_owned);
        tools.push(PageTool {
            name: text("name").unwrap_or_default(),
            description: text("description").unwrap_or_default(),
            parameters: tool.get("parameters").and_then(Value::as_object).cloned(),
            running: text("runningDescription"),
            completed: text("completedDescription"),
            read_only: tool.get("readOnly").and_then(Value::as_bool).unwrap_or_default(),
            confirm: match tool.get("confirm") {
                Some(Value::Null) => Confirm::PerCall,
                Some(Value::String(sentence)) => Confirm::Sentence(sentence.clone()),
                Some(Value::Bool(true)) => Confirm::Always,
                _ => Confirm::Never,
            },
            timeout: tool.get("timeoutMs").and_then(Value::as_u64).unwrap_or(TOOL_TIMEOUT),
        });
    }
    tools
}
