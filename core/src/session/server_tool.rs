//! The runtime's tools as they are seen from here, and what else it says besides
//! AG-UI.

use super::Session;
use super::fault;
use super::stream::Stream;
use crate::agui::Reading;
use crate::event::{Citation, RuntimeEvent, ToolSource};
use crate::json::Value;
use crate::view::{Notice, Patch, ToolState};

impl Session {
    /// A `CUSTOM` event; those nobody knows are passed over.
    pub(super) fn custom(&mut self, stream: &Stream, event: &Reading) {
        let Some(value) = event.get("value") else { return };
        match event.str("name") {
            "mindset.tool_start" => self.server_tool_started(value),
            "mindset.citations" => self.cited(stream, value),
            "mindset.warning" => {
                let text = fault::said(value.str("message").unwrap_or(""));
                self.out.notice(Some(Notice { error: false, text, action: None }));
            }
            _ => {}
        }
    }

    fn server_tool_started(&mut self, value: &Value) {
        let (Some(id), Some(name)) = (value.str("toolCallId"), value.str("toolName")) else { return };
        let description = value.str("description");
        self.tool_line(id, ToolState::Running, description.unwrap_or(name).to_owned());
        self.out.runtime(RuntimeEvent::ToolStart {
            tool_call_id: id.to_owned(),
            tool_name: name.to_owned(),
            source: source(value),
            server: value.str("server").map(str::to_owned),
            description: description.map(str::to_owned),
        });
    }

    /// A call of the server's has a result. Other servers than ours say no more than
    /// that, and that is both beginning and end.
    pub(super) fn server_tool_ended(&mut self, stream: &Stream, event: &Reading) {
        let id = event.str("toolCallId");
        if self.transcript.is_answered(id) {
            return;
        }
        let called = stream.call(id).and_then(|call| call.get("function")?.str("name"));
        let said = |key| event.mindset(key).and_then(Value::as_str);
        let name = said("toolName").or(called).unwrap_or("").to_owned();
        let description = said("description");
        let ok = event.mindset("ok").and_then(Value::as_bool);
        if ok.is_none() {
            let start = crate::object! { "toolCallId": id, "toolName": &name };
            self.server_tool_started(&Value::Object(start));
        }
        let ok = ok.unwrap_or(true);
        let state = if ok { ToolState::Done } else { ToolState::Failed };
        let label = description.map(str::to_owned).or_else(|| self.label(id)).unwrap_or_else(|| name.clone());
        self.tool_line(id, state, label);
        self.out.runtime(RuntimeEvent::ToolEnd {
            tool_call_id: id.to_owned(),
            tool_name: name,
            ok,
            description: description.map(str::to_owned),
            error: said("error").map(fault::said),
            duration_ms: event.mindset("durationMs").and_then(Value::as_u64).unwrap_or(0),
        });
    }

    fn label(&self, id: &str) -> Option<String> {
        self.transcript.lines.iter().find(|line| line.id == id).map(|line| line.label.clone())
    }

    /// The sources of an answer.
    fn cited(&mut self, stream: &Stream, value: &Value) {
        let id = stream.row_id(value.str("messageId").unwrap_or("")).to_owned();
        let items = Citation::read_list(value.get("items"));
        let Some(row) = self.transcript.row(&id).filter(|_| !items.is_empty()) else { return };
        row.citations.clone_from(&items);
        self.out.patch(Patch::SetCitations { id: id.clone(), items: items.clone() });
        self.out.runtime(RuntimeEvent::Citations { message_id: id, items });
    }
}

fn source(value: &Value) -> ToolSource {
    value.str("source").and_then(ToolSource::parse).unwrap_or(ToolSource::Builtin)
}
