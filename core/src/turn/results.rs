//! Results of calls: what is stored for the model, and what readers are told.

use crate::Millis;
use crate::agui::Body;
use crate::event::MessageStatus;
use crate::json::{Object, Value};
use crate::object;
use crate::result::{MAX_BYTES, cut};

use super::toolset::Owner;
use super::{Effect, ServerTool, StoredMessage, StoredRole, ToolOutcome, resume};

/// Bytes of a result in one event, as JSON: an event must stay under 1 MiB.
const MAX_EVENT: usize = 768 * 1024;

/// Characters of an error beside the result.
const MAX_ERROR: usize = 2_000;

/// The event of a tool that begins to run.
pub(super) const TOOL_START: &str = "mindset.tool_start";

/// The event of what a tool showed.
pub(super) const WIDGET: &str = "mindset.widget";

/// What stands for a result that had no words.
pub(super) const SILENT_FAILURE: &str = "The tool failed and did not say why.";

/// What the model is told of a call whose result died with the runtime.
pub(super) const INTERRUPTED: &str = "The server was interrupted before the result came.";

/// What the model is told of a call that goes on asking where nobody can answer.
const NOBODY: &str = "The tool asks for more input, and nobody can answer it.";

/// What the model is told of a call that ran and got no answer to what it asked.
const LEFT: &str = "The call was given up while its tool waited for an answer of the person.";

/// What the model must know when nobody knows whether a tool has acted.
const MAY_HAVE_ACTED: &str = "It is not known whether the tool acted. Do not repeat the call by yourself.";

/// What came of one call, in words.
pub(super) struct Told {
    /// For the model.
    pub(super) content: String,
    pub(super) ok: bool,
    /// Milliseconds it ran.
    pub(super) duration: u64,
    /// Nobody knows whether it acted.
    pub(super) unknown: bool,
}

impl Told {
    /// A call that was not run.
    pub(super) fn refused(content: String) -> Told {
        Told { content, ok: false, duration: 0, unknown: false }
    }

    /// What a tool said; its sources are in the content already.
    pub(super) fn of(outcome: ToolOutcome, tool: &ServerTool, duration: u64) -> Told {
        match outcome {
            ToolOutcome::Done { content, .. } | ToolOutcome::Worked { content, .. } => {
                Told { content, ok: true, duration, unknown: false }
            }
            ToolOutcome::Failed(content) => {
                let silent = content.trim().is_empty();
                let content = if silent { SILENT_FAILURE.to_owned() } else { content };
                Told { content, ok: false, duration, unknown: false }
            }
            ToolOutcome::Unknown(text) if text.trim().is_empty() => Told::unknown(
                "The connection to the tool broke before its result came.",
                !tool.read_only,
                duration,
            ),
            ToolOutcome::Unknown(text) => Told::unknown(&text, !tool.read_only, duration),
            ToolOutcome::Asks(_) | ToolOutcome::Waits(_) => Told::unknown(NOBODY, !tool.read_only, duration),
        }
    }

    /// A call whose result will never be known; whether its tool `acts`, or only reads.
    pub(super) fn unknown(what: &str, acts: bool, duration: u64) -> Told {
        let content = if acts { format!("{what} {MAY_HAVE_ACTED}") } else { what.to_owned() };
        Told { content, ok: false, duration, unknown: acts }
    }

    /// A call of `tool` that was given up while it waited for an answer.
    pub(super) fn left(tool: &ServerTool) -> Told {
        Told::unknown(LEFT, !tool.read_only, 0)
    }

    /// The message to store.
    pub(super) fn message(&self, id: String, run_id: &str, call_id: &str, now: Millis) -> StoredMessage {
        let mut message = StoredMessage::new(id, run_id, StoredRole::Tool, &self.content, now);
        message.call_id = Some(call_id.to_owned());
        message.status = (!self.ok).then_some(MessageStatus::Error);
        message
    }

    /// What `tool` has changed, or may have.
    pub(super) fn effect(&self, tool: &ServerTool) -> Option<Effect> {
        let acted = self.unknown || self.ok && !tool.read_only;
        acted.then(|| Effect { tool_name: tool.name.clone(), source: tool.source, unknown: self.unknown })
    }

    /// The event for `message`, and its `metadata.mindset`.
    pub(super) fn event(&self, message: &StoredMessage, name: &str, owner: &Owner<'_>) -> (Body, Object) {
        let body = Body::ToolCallResult {
            message_id: message.id.clone(),
            tool_call_id: message.call_id.clone().unwrap_or_default(),
            content: for_event(&message.content).into(),
        };
        let mut mindset = object! { "ok": self.ok };
        if !self.ok {
            mindset.insert("error", self.content.chars().take(MAX_ERROR).collect::<String>());
        }
        if resume::is_declined(&self.content) {
            mindset.insert("declined", true);
        }
        mindset.insert("durationMs", self.duration);
        describe(&mut mindset, name, owner);
        if let Owner::Server(tool) = owner {
            mindset.insert("readOnly", tool.read_only);
        }
        (body, mindset)
    }
}

/// The event of a tool that begins to run.
pub(super) fn tool_start(call_id: &str, tool: &ServerTool) -> Body {
    let mut value = object! { "toolCallId": call_id };
    describe(&mut value, &tool.name, &Owner::Server(tool));
    value.insert("readOnly", tool.read_only);
    Body::Custom { name: TOOL_START.to_owned(), value: Value::Object(value) }
}

/// What the calls of a turn have changed, or may have, for the end of a run that does not
/// end well.
pub(super) fn effects(turn: &[StoredMessage]) -> Vec<Value> {
    let effect = |message: &StoredMessage| {
        let (effect, call_id) = (message.effect.as_ref()?, message.call_id.as_deref()?);
        Some(Value::Object(object! {
            "toolCallId": call_id,
            "toolName": &effect.tool_name,
            "source": effect.source.as_str(),
            "outcome": if effect.unknown { "unknown" } else { "done" },
        }))
    };
    turn.iter().filter_map(effect).collect()
}

/// The event of a message that stands for what a tool showed.
pub(super) fn widget(message: &StoredMessage) -> Option<Body> {
    let mut value = object! { "widgetId": &message.id };
    for (key, member) in message.widget.as_ref()?.to_json().iter() {
        value.insert(key, member.clone());
    }
    Some(Body::Custom { name: WIDGET.to_owned(), value: Value::Object(value) })
}

/// Who has the tool, for readers.
fn describe(fields: &mut Object, name: &str, owner: &Owner<'_>) {
    fields.insert("toolName", name);
    match owner {
        Owner::Server(tool) => {
            fields.insert("source", tool.source.as_str());
            fields.insert_some("server", tool.server.as_deref());
            fields.insert_some("description", tool.title.as_deref());
        }
        Owner::Page => fields.insert("source", "page"),
        Owner::Nobody => {}
    }
}

/// The content as one event can carry it, however much of it JSON has to escape.
fn for_event(content: &str) -> String {
    let mut limit = MAX_BYTES;
    loop {
        let text = cut(content, limit);
        let size = Value::from(text.as_str()).text().len();
        if size <= MAX_EVENT {
            return text;
        }
        limit /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn no_content_is_too_large_for_an_event() {
        for content in ["\u{1}".repeat(400_000), "é".repeat(400_000), "\"".repeat(300_000)] {
            let shown = for_event(&content);
            assert!(Value::from(shown.as_str()).text().len() <= MAX_EVENT);
            assert!(shown.contains(&format!("of {} bytes", content.len())), "both sizes are named");
        }
        assert_eq!(for_event("short"), "short");
    }
}
