//! What the log of a broken run told its readers.

use crate::Millis;
use crate::agui::{Body, Event, Outcome};
use crate::event::ToolSource;
use crate::json::Value;

use super::results::{TOOL_START, WIDGET};
use super::{RunState, ServerTool, StoredCall};

/// What readers know of the run.
#[derive(Debug, Default)]
pub(super) struct Heard<'a> {
    pub(super) started: bool,
    /// The model, by its provider's name.
    pub(super) model: &'a str,
    /// How the run ended, if readers know.
    pub(super) end: Option<RunState>,
    /// Texts, oldest first.
    pub(super) texts: Vec<HeardText<'a>>,
    calls: Vec<HeardCall<'a>>,
    /// Reasoning that is open: the bracket, and the message in it.
    thinking: Option<&'a str>,
    thought: Option<&'a str>,
    /// Ids of messages whose sources were told, and of widgets.
    shown: Vec<&'a str>,
}

/// A text as far as it was told.
#[derive(Debug)]
pub(super) struct HeardText<'a> {
    pub(super) id: &'a str,
    pub(super) content: String,
    open: bool,
}

/// A call as far as it was told.
#[derive(Debug)]
pub(super) struct HeardCall<'a> {
    id: &'a str,
    /// The tool, by its own name.
    pub(super) name: &'a str,
    arguments: bool,
    ended: bool,
    /// What was told when its tool began to run.
    start: Option<&'a Value>,
    /// When that was.
    pub(super) since: Option<Millis>,
    pub(super) answered: bool,
}

impl<'a> Heard<'a> {
    pub(super) fn of(log: &'a [Event]) -> Heard<'a> {
        let mut heard = Heard::default();
        for event in log {
            heard.hear(event);
        }
        heard
    }

    fn hear(&mut self, event: &'a Event) {
        // It is stored where the work is done.
        if event.subagent_run_id.is_some() {
            return;
        }
        match &event.body {
            Body::RunStarted { .. } => {
                self.started = true;
                let named = event.mindset("modelName").or_else(|| event.mindset("model"));
                self.model = named.and_then(Value::as_str).unwrap_or("");
            }
            // A text goes on under its id behind a call.
            Body::TextMessageStart { message_id: id, .. } => {
                match self.texts.iter_mut().find(|text| text.id == id) {
                    Some(text) => text.open = true,
                    None => self.texts.push(HeardText { id, content: String::new(), open: true }),
                }
            }
            Body::TextMessageContent { message_id, delta } => {
                if let Some(text) = self.texts.iter_mut().rfind(|text| text.id == message_id) {
                    text.content.push_str(delta);
                }
            }
            Body::TextMessageEnd { message_id } => {
                self.texts.iter_mut().filter(|text| text.id == message_id).for_each(|text| text.open = false);
            }
            Body::ReasoningStart { message_id } => self.thinking = Some(message_id),
            Body::ReasoningEnd { .. } => self.thinking = None,
            Body::ReasoningMessageStart { message_id } => self.thought = Some(message_id),
            Body::ReasoningMessageEnd { .. } => self.thought = None,
            Body::RunFinished { outcome, .. } => self.end = Some(state_of(event, outcome.as_ref())),
            Body::RunError { .. } => self.end = Some(RunState::Error),
            Body::Custom { name, value } if name != TOOL_START => {
                let key = if name == WIDGET { "widgetId" } else { "messageId" };
                self.shown.extend(value.str(key));
            }
            _ => self.hear_call(event),
        }
    }

    fn hear_call(&mut self, event: &'a Event) {
        if let Body::ToolCallStart { tool_call_id: id, tool_call_name: name, .. } = &event.body {
            let (arguments, ended, answered) = (false, false, false);
            self.calls.push(HeardCall { id, name, arguments, ended, start: None, since: None, answered });
            return;
        }
        let id = match &event.body {
            Body::ToolCallArgs { tool_call_id, .. }
            | Body::ToolCallEnd { tool_call_id }
            | Body::ToolCallResult { tool_call_id, .. } => tool_call_id,
            Body::Custom { value, .. } => value.str("toolCallId").unwrap_or(""),
            _ => return,
        };
        // A call that waited for a person was told by the run before.
        if let (Body::Custom { value, .. }, None) = (&event.body, self.call(id)) {
            let name = value.str("toolName").unwrap_or("");
            let (arguments, ended, answered) = (true, true, false);
            self.calls.push(HeardCall { id, name, arguments, ended, start: None, since: None, answered });
        }
        if let (Body::ToolCallResult { .. }, None) = (&event.body, self.call(id)) {
            let (arguments, ended, answered) = (true, true, true);
            self.calls.push(HeardCall { id, name: "", arguments, ended, start: None, since: None, answered });
        }
        let Some(call) = self.calls.iter_mut().find(|call| call.id == id) else { return };
        match &event.body {
            Body::ToolCallArgs { .. } => call.arguments = true,
            Body::ToolCallEnd { .. } => call.ended = true,
            Body::ToolCallResult { .. } => call.answered = true,
            Body::Custom { value, .. } => {
                call.start = Some(value);
                call.since = event.timestamp;
            }
            _ => {}
        }
    }

    pub(super) fn call(&self, id: &str) -> Option<&HeardCall<'a>> {
        self.calls.iter().find(|call| call.id == id)
    }

    /// Whether the sources of the message were told.
    pub(super) fn cites(&self, message_id: &str) -> bool {
        self.shown.contains(&message_id)
    }

    /// Whether the widget was told.
    pub(super) fn shows(&self, widget_id: &str) -> bool {
        self.shown.contains(&widget_id)
    }

    /// The ends of reasoning and text.
    pub(super) fn closing(&self) -> Vec<Body> {
        let mut out = Vec::new();
        if let Some(id) = self.thought {
            out.push(Body::ReasoningMessageEnd { message_id: id.to_owned() });
        }
        if let Some(id) = self.thinking {
            out.push(Body::ReasoningEnd { message_id: id.to_owned() });
        }
        let open = self.texts.iter().filter(|text| text.open);
        out.extend(open.map(|text| Body::TextMessageEnd { message_id: text.id.to_owned() }));
        out
    }

    /// What is untold of a whole call.
    pub(super) fn call_rest(&self, call: &StoredCall, message_id: &str) -> Vec<Body> {
        let id = || call.id.clone();
        let heard = self.call(&call.id);
        let mut out = Vec::new();
        if heard.is_none() {
            out.push(Body::ToolCallStart {
                tool_call_id: id(),
                tool_call_name: call.name.clone(),
                parent_message_id: Some(message_id.to_owned()),
            });
        }
        if heard.is_none_or(|heard| !heard.arguments) {
            let pieces = super::answer::pieces(&call.arguments);
            out.extend(
                pieces.map(|delta| Body::ToolCallArgs { tool_call_id: id(), delta: delta.to_owned() }),
            );
        }
        if heard.is_none_or(|heard| !heard.ended) {
            out.push(Body::ToolCallEnd { tool_call_id: id() });
        }
        out
    }
}

impl HeardCall<'_> {
    /// The tool, if it had begun to run.
    pub(super) fn tool(&self) -> Option<ServerTool> {
        let value = self.start?;
        Some(ServerTool {
            source: value.str("source").and_then(ToolSource::parse).unwrap_or(ToolSource::Mcp),
            server: value.str("server").map(str::to_owned),
            name: value.str("toolName").unwrap_or(self.name).to_owned(),
            description: String::new(),
            title: value.str("description").map(str::to_owned),
            parameters: None,
            read_only: value.get("readOnly").and_then(Value::as_bool).unwrap_or(false),
        })
    }
}

/// How a run ended that says so itself.
fn state_of(event: &Event, outcome: Option<&Outcome>) -> RunState {
    match outcome {
        Some(Outcome::Success { pending_tool_call_ids }) if !pending_tool_call_ids.is_empty() => {
            RunState::Waiting
        }
        Some(Outcome::Interrupt { .. }) => RunState::Waiting,
        Some(Outcome::Cancelled) if event.mindset("bound").is_none() => RunState::Cancelled,
        _ => RunState::Finished,
    }
}
