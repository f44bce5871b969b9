//! The built-in tools by which a model asks the person something: questions, and what they say to
//! a plan.

use crate::event::ToolSource;
use crate::json::{Object, Value};
use crate::object;
use crate::questionnaire::{Questionnaire, TEXT};

use super::ServerTool;
use super::resume::DISMISSED;

/// What the model calls the tools.
pub(super) const NAME: &str = "ask_user";
pub(super) const PLAN: &str = "review_plan";

/// What the model is told of questions that nobody can answer.
const NO_ANSWERS: &str =
    "Nobody can answer questions now. Go on without an answer, and say what you have assumed.";

/// What the model is told of a plan that nobody can read.
const NO_REVIEW: &str = "Nobody can read the plan now, so it is not approved. Do not carry it out; tell it in your \
     answer instead.";

/// What the model is told of a plan that a person closed.
pub(super) const UNREAD: &str = "The person closed the plan without a word: it is not approved. Do not carry it out; ask \
     what they want instead.";

/// The tool for questions. It is never run: its call waits for the person.
pub(super) fn tool() -> ServerTool {
    let description = "Asks the person one or more questions, and gives their answers. Use it when you cannot go on \
        without a decision that only they can make; offer options where you can, and ask everything at once.";
    builtin(NAME, "Questions", description, Questionnaire::schema())
}

/// The tool for plans. It is never run either.
pub(super) fn plan_tool() -> ServerTool {
    let description = "Shows the person your plan before you begin, and gives what they say: approve, or revise with \
        what to change. Use it before work of several steps. Show a revised plan again. An approved plan allows no \
        call by itself: tools that need an approval still ask for it.";
    let text = object! {
        "type": "string", "minLength": 1_u64, "maxLength": TEXT as u64,
        "description": "The steps, one a line, in words that the person understands",
    };
    let schema = object! {
        "type": "object",
        "properties": object! { "plan": text },
        "required": vec![Value::from("plan")],
        "additionalProperties": false,
    };
    builtin(PLAN, "Plan", description, Value::Object(schema))
}

fn builtin(name: &str, title: &str, description: &str, schema: Value) -> ServerTool {
    ServerTool {
        source: ToolSource::Builtin,
        server: None,
        name: name.to_owned(),
        description: description.to_owned(),
        title: Some(title.to_owned()),
        parameters: Some(schema),
        read_only: true,
    }
}

/// Whether it is one of these tools.
pub(super) fn is(tool: &ServerTool) -> bool {
    tool.source == ToolSource::Builtin && tool.server.is_none() && (tool.name == NAME || tool.name == PLAN)
}

/// The one of these tools that the model calls `name`.
pub(super) fn of(name: &str) -> ServerTool {
    if is_plan(name) { plan_tool() } else { tool() }
}

/// The questions of a call.
///
/// # Errors
/// What is wrong with them, for the model.
pub(super) fn read(tool: &ServerTool, given: &Object, id: &str) -> Result<Questionnaire, String> {
    if tool.name == NAME {
        return Questionnaire::read(given, id);
    }
    let option = |id: &str, label: &str| Value::Object(object! { "id": id, "label": label });
    let mut step = object! {
        "id": "plan", "question": "Shall the agent go on with this plan?", "allowOther": true,
        "options": vec![option("approve", "Approve"), option("revise", "Revise")],
    };
    step.insert_some("description", given.get("plan").cloned());
    Questionnaire::read(&object! { "title": "Plan", "steps": vec![Value::Object(step)] }, id)
}

/// What the model is told where nobody can answer.
pub(super) fn nobody(tool: &ServerTool) -> &'static str {
    if tool.name == PLAN { NO_REVIEW } else { NO_ANSWERS }
}

/// What the model is told when a person closed what the call `name` asked.
pub(super) fn dismissed(name: &str) -> &'static str {
    if is_plan(name) { UNREAD } else { DISMISSED }
}

/// Behind the name may stand what tells it from a tool of the page.
fn is_plan(name: &str) -> bool {
    name.starts_with(PLAN)
}
