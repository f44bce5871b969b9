//! The runtime's tools as they are seen from here, and what else it says besides
//! AG-UI.

use super::Session;
use super::fault;
use super::state::Turn;
use super::step::effect;
use super::stream::Stream;
use crate::Millis;
use crate::agui::Reading;
use crate::event::{Citation, Decision, RuntimeEvent, ToolSource};
use crate::json::Value;
use crate::view::{Notice, Patch, ToolState};

/// Suggestions that are shown at once, and characters of each.
const SUGGESTIONS: usize = 6;
const SUGGESTION: usize = 200;

const UNASKED: &str = "The server ended this call itself: the page did not run it.";

/// A call that the server runs.
pub(super) struct Serving {
    id: String,
    name: String,
    source: ToolSource,
    read_only: bool,
    since: Millis,
}

impl Serving {
    /// What it has changed, or may have.
    fn effect(&self, outcome: &str) -> Option<Value> {
        (!self.read_only).then(|| effect(&self.id, &self.name, self.source, outcome))
    }
}

impl Session {
    /// A `CUSTOM` event; those nobody knows are passed over.
    pub(super) fn custom(&mut self, turn: &mut Turn, stream: &Stream, event: &Reading, now: Millis) {
        let Some(value) = event.get("value") else { return };
        match event.str("name") {
            "mindset.tool_start" => self.server_tool_started(turn, value, now),
            "mindset.citations" => self.cited(stream, value),
            "mindset.widget" => self.widget_shown(turn, value, now),
            "mindset.suggestions" => self.suggested(value),
            "mindset.run_queued" => self.queued(turn, value),
            "mindset.turn_started" => self.turn_begins(turn, event, now),
            "mindset.steered" => self.steered(value, now),
            "mindset.child" => {
                if let Some(child) = value.as_object() {
                    self.out.runtime(RuntimeEvent::Child(child.clone()));
                }
            }
            "mindset.warning" => {
                let text = fault::said(value.str("message").unwrap_or(""));
                self.out.notice(Some(Notice::remark("", &text)));
            }
            _ => {}
        }
    }

    /// An agent does work for one of the turn's calls: what it says is in no transcript, and only the
    /// application hears of it.
    #[inline(never)]
    pub(super) fn child_says(&mut self, event: &Reading) {
        if self.config.call.is_some() {
            self.out.runtime(RuntimeEvent::Child(crate::object! { "event": event.to_json() }));
        }
    }

    fn server_tool_started(&mut self, turn: &mut Turn, value: &Value, now: Millis) {
        let (Some(id), Some(name)) = (value.str("toolCallId"), value.str("toolName")) else { return };
        if turn.serving.iter().any(|serving| serving.id == id) {
            return;
        }
        self.guess(turn, Some(id), Decision::AllowOnce);
        let description = value.str("description");
        turn.serving.push(Serving {
            id: id.to_owned(),
            name: name.to_owned(),
            source: source(value),
            read_only: value.get("readOnly").and_then(Value::as_bool) == Some(true),
            since: now,
        });
        self.tool_line(id, ToolState::Running, description.unwrap_or(name).to_owned());
        self.describe_tool(id, name, Vec::new());
        self.out.runtime(RuntimeEvent::ToolStart {
            tool_call_id: id.to_owned(),
            tool_name: name.to_owned(),
            source: source(value),
            server: value.str("server").map(str::to_owned),
            description: description.map(str::to_owned),
        });
    }

    /// A call of the server's has a result. Other servers than ours say no more than
    /// that, and that is both beginning and end; for one of the page's tools it says that
    /// the page is not asked any more.
    pub(super) fn server_tool_ended(
        &mut self,
        turn: &mut Turn,
        stream: &Stream,
        event: &Reading,
        now: Millis,
    ) {
        let id = event.str("toolCallId");
        if self.transcript.is_answered(id) {
            return;
        }
        self.guess(turn, Some(id), Decision::Deny);
        let called = stream.call(id).and_then(|call| call.get("function")?.str("name"));
        let said = |key| event.mindset(key).and_then(Value::as_str);
        let name = said("toolName").or(called).unwrap_or("").to_owned();
        let description = said("description");
        let ok = event.mindset("ok").and_then(Value::as_bool);
        let unasked = ok.is_none() && turn.offer.iter().any(|offered| offered.name == name);
        if ok.is_none() && !unasked {
            let start = crate::object! { "toolCallId": id, "toolName": &name };
            self.server_tool_started(turn, &Value::Object(start), now);
        }
        let ok = ok.unwrap_or(!unasked);
        let mut effect = None;
        if let Some(at) = turn.serving.iter().position(|serving| serving.id == id) {
            // One that failed may have acted: only the server knows.
            let outcome = if ok { "done" } else { "unknown" };
            effect = turn.serving.remove(at).effect(outcome);
            turn.seen.extend(effect.clone());
        }
        let state = if ok { ToolState::Done } else { ToolState::Failed };
        let label = description.map(str::to_owned).or_else(|| self.label(id)).unwrap_or_else(|| name.clone());
        let duration_ms = event.mindset("durationMs").and_then(Value::as_u64);
        self.tool_line(id, state, label);
        self.tool_took(id, duration_ms, effect.as_ref());
        self.out.runtime(RuntimeEvent::ToolEnd {
            tool_call_id: id.to_owned(),
            tool_name: name,
            ok,
            description: description.map(str::to_owned),
            error: said("error").or(unasked.then_some(UNASKED)).map(fault::said),
            duration_ms: duration_ms.unwrap_or(0),
        });
    }

    /// The turn is over: of what the server still runs nothing more is heard.
    pub(super) fn end_server_tools(&mut self, turn: &mut Turn, drawn: bool, now: Millis) {
        for serving in std::mem::take(&mut turn.serving) {
            let effect = serving.effect("unknown");
            if drawn {
                let label = self.label(&serving.id).unwrap_or_default();
                self.tool_line(&serving.id, ToolState::Stopped, label);
                self.tool_took(&serving.id, Some(now.saturating_sub(serving.since)), effect.as_ref());
            }
            turn.seen.extend(effect);
            let why = "The turn ended before the result came. It is not known whether the tool acted.";
            self.out.runtime(RuntimeEvent::ToolEnd {
                tool_call_id: serving.id,
                tool_name: serving.name,
                ok: false,
                description: None,
                error: Some(why.to_owned()),
                duration_ms: now.saturating_sub(serving.since),
            });
        }
    }

    fn label(&self, id: &str) -> Option<String> {
        self.transcript.lines.iter().find(|line| line.id == id).map(|line| line.label.clone())
    }

    /// What to say next.
    fn suggested(&mut self, value: &Value) {
        let items = offers(value.get("items"));
        self.suggest(items.clone());
        self.out.runtime(RuntimeEvent::Suggestions { items });
    }

    /// Offers messages to send, instead of those before.
    #[inline(never)]
    pub(super) fn suggest(&mut self, items: Vec<String>) {
        self.transcript.suggestions.clone_from(&items);
        self.out.patch(Patch::SetSuggestions(items));
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

/// Messages that are offered. One is sent as it is read, so a long one is cut.
pub(super) fn offers(list: Option<&Value>) -> Vec<String> {
    let mut items = Vec::new();
    for item in list.and_then(Value::as_array).unwrap_or_default() {
        let text: String = item.as_str().unwrap_or("").trim().chars().take(SUGGESTION).collect();
        if !text.is_empty() && !items.contains(&text) && items.len() < SUGGESTIONS {
            items.push(text);
        }
    }
    items
}

fn source(value: &Value) -> ToolSource {
    value.str("source").and_then(ToolSource::parse).unwrap_or(ToolSource::Builtin)
}
