//! What tools want drawn, and what people do with it.

use crate::json::{Object, Value, concat, parse};

/// Stands before the JSON of an action in the silent message that tells of it.
pub const ACTION: &str = "[widget action] ";

/// Stands before the summary of a widget in what the model is told came of a call.
pub const SHOWN: &str = "[shown to the person] ";

/// Bytes of an action's payload as JSON.
pub const MAX_PAYLOAD: usize = 32 * 1024;

/// Bytes of an action's name.
pub const MAX_ACTION: usize = 200;

/// So much of a summary reminds the model of the widget, in characters.
const REMINDER: usize = 200;

/// Something a tool wants drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Widget {
    /// Which kind; readers that do not know it show `summary`.
    pub kind: String,
    /// What to draw, in the vocabulary of the kind.
    pub doc: Value,
    /// The same in words, never empty.
    pub summary: String,
    /// What the person did with it last: `{ action, payload? }`.
    pub answer: Option<Value>,
}

impl Widget {
    /// One that nobody has used yet.
    pub fn new(kind: impl Into<String>, doc: Value, summary: impl Into<String>) -> Widget {
        Widget { kind: kind.into(), doc, summary: summary.into(), answer: None }
    }

    /// `{ kind, doc, summary, answer? }`.
    pub fn to_json(&self) -> Object {
        let mut o = crate::object! { "kind": &self.kind, "doc": self.doc.clone(), "summary": &self.summary };
        o.insert_some("answer", self.answer.clone());
        o
    }

    /// Reads what [`to_json`](Self::to_json) writes, also as members of a larger object.
    pub fn from_json(value: &Value) -> Option<Widget> {
        let summary = value.str("summary").filter(|summary| !summary.is_empty())?;
        Some(Widget {
            kind: value.str("kind")?.to_owned(),
            doc: value.get("doc").cloned().unwrap_or_default(),
            summary: summary.to_owned(),
            answer: value.get("answer").filter(|answer| answer.is_object()).cloned(),
        })
    }

    /// The person uses it: takes the answer in, and gives the text of the message that tells
    /// the model. The widget has the id `id`.
    pub fn act(&mut self, id: &str, action: &str, payload: Option<Value>) -> String {
        let reminder: String = self.summary.chars().take(REMINDER).collect();
        let mut told = crate::object! {
            "widgetId": id, "kind": &self.kind, "summary": reminder, "action": action,
        };
        told.insert_some("payload", payload);
        let told = Value::Object(told);
        self.answer = Some(answer(&told));
        concat(&[ACTION, &told.text()])
    }
}

/// What the text of a silent message tells of a widget: `{ widgetId, action, payload?, … }`.
pub fn read_action(text: &str) -> Option<Value> {
    let told = parse(text.strip_prefix(ACTION)?).ok()?;
    (told.str("widgetId").is_some() && told.str("action").is_some()).then_some(told)
}

/// What a person did last with the widget `id`, of what [`read_action`] gave, oldest first.
pub fn last_answer(id: &str, told: &[Value]) -> Option<Value> {
    told.iter().rfind(|told| told.str("widgetId") == Some(id)).map(answer)
}

fn answer(told: &Value) -> Value {
    let mut answer = crate::object! { "action": told.str("action").unwrap_or("") };
    answer.insert_some("payload", told.get("payload").cloned());
    Value::Object(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn an_action_is_told_and_read_back() {
        let mut widget = Widget::new("form", Value::Null, "ü".repeat(300));
        let text = widget.act("w1", "book", Some(parse(r#"{"seats":2.50}"#).unwrap()));
        assert!(text.starts_with(r#"[widget action] {"widgetId":"w1","kind":"form","summary":"ü"#), "{text}");
        assert!(text.ends_with(r#"ü","action":"book","payload":{"seats":2.50}}"#), "{text}");
        let told = read_action(&text).unwrap();
        assert_eq!(told.str("summary").unwrap().chars().count(), REMINDER);
        let answer = r#"{"action":"book","payload":{"seats":2.50}}"#;
        assert_eq!(widget.answer.as_ref().unwrap().text(), answer);
        assert_eq!(Widget::from_json(&widget.to_json().into()), Some(widget.clone()));
        let bare = widget.act("w1", "close", None);
        let all = [read_action(&text).unwrap(), read_action(&bare).unwrap(), read_action(&text).unwrap()];
        assert_eq!(last_answer("w1", &all).unwrap().text(), answer);
        assert_eq!(last_answer("w1", &all[..2]).unwrap().text(), r#"{"action":"close"}"#);
        assert_eq!(last_answer("w2", &all), None);
        assert!(bare.ends_with(r#"","action":"close"}"#), "{bare}");
    }

    #[test]
    fn other_texts_tell_of_no_action() {
        for text in [
            "",
            "Continue.",
            "[widget action]",
            "[widget action] {}",
            "[widget action] [1",
            "x [widget action] {}",
        ] {
            assert_eq!(read_action(text), None, "{text}");
        }
        assert_eq!(read_action(r#"[widget action] {"widgetId":1,"action":"a"}"#), None);
    }
}
