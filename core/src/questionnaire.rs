//! Questions to a person, in steps, and what they answer. A model asks them by a tool, an MCP
//! server by elicitation; whoever draws them and whoever checks the answers holds to this.

mod answers;
mod read;

pub use answers::StepAnswer;

use crate::json::{Object, Value};
use crate::object;

/// Steps of a questionnaire.
pub const STEPS: usize = 20;

/// Options of a step.
pub const OPTIONS: usize = 50;

/// Characters of an id.
pub const ID: usize = 64;

/// Characters of a title and of a label.
pub const LABEL: usize = 200;

/// Characters of a question and of a description.
pub const TEXT: usize = 2_000;

/// Characters of what a person writes in a step.
pub const OTHER: usize = 4_000;

/// Questions that are answered together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Questionnaire {
    /// Its id: that of the interrupt which asks it.
    pub id: String,
    /// What stands above it.
    pub title: Option<String>,
    /// The questions, 1 to [`STEPS`], in order.
    pub steps: Vec<Step>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Unique in its questionnaire.
    pub id: String,
    /// The question.
    pub question: String,
    /// What it is about.
    pub description: Option<String>,
    /// Whether several options can be chosen.
    pub multiple: bool,
    /// What can be chosen, at most [`OPTIONS`]; none: the answer is text.
    pub options: Vec<Choice>,
    /// Whether the person may write an answer.
    pub allow_other: bool,
    /// Whether it has to be answered.
    pub required: bool,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Unique in its step.
    pub id: String,
    /// What the person reads.
    pub label: String,
    /// More about it.
    pub description: Option<String>,
    /// Whether the asker would choose it.
    pub recommended: bool,
}

impl Questionnaire {
    /// As it is shown and stored, every member written out.
    pub fn to_json(&self) -> Object {
        let mut o = object! { "id": &self.id };
        o.insert_some("title", self.title.as_deref());
        o.insert("steps", self.steps.iter().map(step).collect::<Vec<_>>());
        o
    }

    /// The JSON Schema of what [`read`](Self::read) takes, for a model.
    pub fn schema() -> Value {
        let text = |most: usize| object! { "type": "string", "minLength": 1_u64, "maxLength": most as u64 };
        let flag = |what: &str| object! { "type": "boolean", "description": what };
        let option = object! {
            "type": "object",
            "properties": object! {
                "id": text(ID), "label": text(LABEL), "description": text(TEXT),
                "recommended": flag("Whether you would choose it."),
            },
            "required": vec![Value::from("id"), Value::from("label")],
        };
        let step = object! {
            "type": "object",
            "properties": object! {
                "id": text(ID), "question": text(TEXT), "description": text(TEXT),
                "selectionMode": object! {
                    "type": "string", "enum": vec![Value::from("single"), Value::from("multiple")],
                },
                "options": object! { "type": "array", "maxItems": OPTIONS as u64, "items": option },
                "allowOther": flag("Whether the person may write an answer; always so without options."),
                "required": flag("Whether it must be answered; true unless you say so."),
            },
            "required": vec![Value::from("id"), Value::from("question")],
        };
        Value::Object(object! {
            "type": "object",
            "properties": object! {
                "title": text(LABEL),
                "steps": object! {
                    "type": "array", "minItems": 1_u64, "maxItems": STEPS as u64, "items": step,
                },
            },
            "required": vec![Value::from("steps")],
        })
    }
}

fn step(step: &Step) -> Object {
    let mut o = object! { "id": &step.id, "question": &step.question };
    o.insert_some("description", step.description.as_deref());
    o.insert("selectionMode", if step.multiple { "multiple" } else { "single" });
    if !step.options.is_empty() {
        o.insert("options", step.options.iter().map(choice).collect::<Vec<_>>());
    }
    o.insert("allowOther", step.allow_other);
    o.insert("required", step.required);
    o
}

fn choice(choice: &Choice) -> Object {
    let mut o = object! { "id": &choice.id, "label": &choice.label };
    o.insert_some("description", choice.description.as_deref());
    if choice.recommended {
        o.insert("recommended", true);
    }
    o
}
