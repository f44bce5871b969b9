//! The transcript for people to keep: what they have seen, and nothing else.

use super::Session;
use crate::json::{Object, Value};
use crate::view::ToolState;

impl Session {
    /// `{ conversationId, isWhole, messages }`: the messages in order, with the lines about tool
    /// calls between them as `{ role: 'tool', id, toolName, content, state, durationMs?,
    /// outcome? }`. Of a widget its kind; its summary is the message's text. `isWhole`: there are
    /// no older ones. Never thinking, silent messages, arguments or results.
    pub fn export(&self) -> Object {
        let mut list = Vec::new();
        let rows = &self.transcript.rows;
        for at in 0..=rows.len() {
            for line in self.transcript.lines.iter().filter(|line| line.behind == at) {
                let mut told = crate::object! {
                    "id": &line.id, "role": "tool", "toolName": &line.name, "content": &line.label,
                    "state": state(line.state),
                };
                told.insert_some("durationMs", line.duration);
                let outcome = line.effect.as_ref().and_then(|effect| effect.str("outcome"));
                told.insert_some("outcome", outcome);
                list.push(Value::Object(told));
            }
            let Some(row) = rows.get(at) else { break };
            let mut told = row.to_json();
            if let (Value::Object(told), Some(widget)) = (&mut told, &row.widget) {
                told.insert("widget", crate::object! { "kind": &widget.kind });
            }
            list.push(told);
        }
        crate::object! {
            "conversationId": self.transcript.thread_id.as_deref().unwrap_or(""),
            "isWhole": self.transcript.before.is_none() && !self.transcript.unread,
            "messages": list,
        }
    }
}

/// The word of a state.
fn state(state: ToolState) -> &'static str {
    match state {
        ToolState::Asking | ToolState::Running => "running",
        ToolState::Done => "done",
        ToolState::Failed => "failed",
        ToolState::Stopped => "stopped",
    }
}
