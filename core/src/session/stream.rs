//! One run's stream: bytes to events in their right order, and what was said in
//! it, as far as the next request needs it.

use super::fault;
use crate::agui::{DecodeError, Order, Reading};
use crate::error::ErrorInfo;
use crate::json::{self, Object, Value, concat, digits};
use crate::sse;

/// No event of a server may be larger, in bytes.
const EVENT_LIMIT: usize = 10 * 1024 * 1024;

/// The reading end of one run.
pub(super) struct Stream {
    decoder: sse::Decoder,
    order: Order,
    ready: std::vec::IntoIter<Reading>,
    /// The run as it stands in event ids; empty where those say nothing.
    run_id: String,
    /// The number of the last event that was read; 0 for none, or none with a number.
    seen: u64,
    /// Whether anything came.
    pub(super) spoke: bool,
    /// Whether there was an event.
    told: bool,
    /// Assistant and tool messages of this run as the wire has them, oldest first.
    pub(super) said: Vec<Value>,
    /// Server message id to row id, where they differ.
    aliases: Object,
    /// Streamed messages that are not the agent's words.
    muted: Object,
    /// What a server from before AG-UI 1.0 asks people.
    pub(super) asked: Vec<Value>,
    /// Messages that have begun; one may go on behind a call.
    begun: Object,
}

/// A message as the wire has it.
pub(super) fn message(id: &str, role: &str, content: &str) -> Value {
    Value::Object(crate::object! { "id": id, "role": role, "content": content })
}

/// The answer to a call as the wire has it.
pub(super) fn answer(id: &str, content: &str, call: &str) -> Value {
    let role = "tool";
    Value::Object(crate::object! { "id": id, "role": role, "content": content, "toolCallId": call })
}

/// The calls of a message.
pub(super) fn calls(message: &Value) -> &[Value] {
    message.get("toolCalls").and_then(Value::as_array).unwrap_or_default()
}

fn call_id(call: &Value) -> &str {
    call.str("id").unwrap_or("")
}

fn is_assistant(message: &Value) -> bool {
    message.str("role") == Some("assistant")
}

impl Stream {
    /// The stream of a run from its first event. With the run's id each event is read
    /// once, by its number.
    pub(super) fn new(run_id: String) -> Stream {
        Stream {
            decoder: sse::Decoder::new(EVENT_LIMIT),
            order: Order::new(),
            ready: Vec::new().into_iter(),
            run_id,
            seen: 0,
            spoke: false,
            told: false,
            said: Vec::new(),
            aliases: Object::new(),
            muted: Object::new(),
            asked: Vec::new(),
            begun: Object::new(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.spoke |= !bytes.is_empty();
        self.decoder.push(bytes);
    }

    /// The rest comes over another connection: half an event of the one before is none.
    pub(super) fn reopen(&mut self) {
        self.decoder = sse::Decoder::new(EVENT_LIMIT);
    }

    /// Whether the rest can be told from what was read already.
    pub(super) fn can_go_on(&self) -> bool {
        !self.run_id.is_empty() && (self.seen > 0 || !self.told)
    }

    /// Whether an event with a number was read.
    pub(super) fn has_read(&self) -> bool {
        self.seen > 0
    }

    /// The `Last-Event-ID` to go on from; `None` for the whole stream.
    pub(super) fn position(&self) -> Option<String> {
        (self.seen > 0).then(|| concat(&[&self.run_id, ":", &digits(self.seen)]))
    }

    /// The number in an event id of this run; 0 for any other id.
    fn sequence(&self, id: &str) -> u64 {
        let number = id.strip_prefix(self.run_id.as_str()).and_then(|rest| rest.strip_prefix(':'));
        number.filter(|_| !self.run_id.is_empty()).and_then(json::number).unwrap_or(0)
    }

    /// The next event, `None` until more bytes come. Event types nobody knows are
    /// passed over.
    pub(super) fn next(&mut self) -> Result<Option<Reading>, ErrorInfo> {
        self.read().map_err(|what| fault::bad_stream(&what))
    }

    fn read(&mut self) -> Result<Option<Reading>, String> {
        loop {
            if let Some(event) = self.ready.next() {
                return Ok(Some(event));
            }
            let Ok(frame) = self.decoder.next_frame() else {
                return Err("an event is over 10 MiB".to_owned());
            };
            let Some(frame) = frame else { return Ok(None) };
            let seq = self.sequence(&frame.id);
            if seq > 0 && seq <= self.seen {
                continue;
            }
            self.seen = seq.max(self.seen);
            self.told = true;
            let value =
                json::parse(&frame.data).map_err(|e| concat(&["an event is no JSON, ", &e.text()]))?;
            match Reading::new(value) {
                Ok((event, _)) => {
                    let events = self.order.accept_reading(event).map_err(|v| v.message)?;
                    self.ready = events.into_iter();
                }
                Err(DecodeError::UnknownType(_)) => {}
                Err(DecodeError::Malformed(what)) => return Err(what),
            }
        }
    }

    /// The row that the server's message `id` is shown in.
    pub(super) fn row_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.aliases.str(id).unwrap_or(id)
    }

    /// Shows the server's message `id` under another name.
    pub(super) fn alias(&mut self, id: &str, row: String) {
        self.aliases.insert(id, row);
    }

    /// Whether the message `id` begins for the first time.
    pub(super) fn is_new(&mut self, id: &str) -> bool {
        let new = self.begun.get(id).is_none();
        self.begun.insert(id, true);
        new
    }

    /// Whether the message `id` is something else than the agent's words.
    pub(super) fn is_muted(&self, id: &str) -> bool {
        self.muted.get(id).is_some()
    }

    /// Takes down what an event says, for the history and the open calls.
    pub(super) fn note(&mut self, event: &Reading) {
        match event.kind() {
            "TEXT_MESSAGE_START" => {
                let id = event.str("messageId");
                if is_agents(event) {
                    self.said.push(message(self.row_id(id), "assistant", ""));
                } else {
                    self.muted.insert(id, true);
                }
            }
            "TEXT_MESSAGE_CONTENT" => {
                let id = self.row_id(event.str("messageId")).to_owned();
                if let Some(message) = self.said.iter_mut().rfind(|m| m.str("id") == Some(&id)) {
                    append(message, "content", event.str("delta"));
                }
            }
            "TOOL_CALL_START" => {
                let name = event.str("toolCallName");
                let function = crate::object! { "name": name, "arguments": "" };
                let call = crate::object! {
                    "id": event.str("toolCallId"), "type": "function", "function": function,
                };
                let parent = event.get("parentMessageId").and_then(Value::as_str);
                match self.call_mut(event.str("toolCallId")) {
                    // Said again: its arguments follow once more.
                    Some(known) => *known = call.into(),
                    None => self.add_call(call.into(), parent),
                }
            }
            "TOOL_CALL_ARGS" => self.add_arguments(event.str("toolCallId"), event.str("delta")),
            "TOOL_CALL_RESULT" => {
                let content = match event.get("content") {
                    Some(Value::String(text)) => text.clone(),
                    content => content.map(Value::text).unwrap_or_default(),
                };
                self.said.push(answer(event.str("messageId"), &content, event.str("toolCallId")));
            }
            "CUSTOM" if event.str("name") == "on_interrupt" => {
                self.asked.push(event.get("value").cloned().unwrap_or_default());
            }
            "MESSAGES_SNAPSHOT" => {
                self.note_snapshot(event.get("messages").and_then(Value::as_array).unwrap_or_default());
            }
            _ => {}
        }
    }

    fn add_arguments(&mut self, id: &str, delta: &str) {
        if let Some(function) = self.call_mut(id).and_then(|call| call.get_mut("function")) {
            append(function, "arguments", delta);
        }
    }

    fn call_mut(&mut self, id: &str) -> Option<&mut Value> {
        self.said.iter_mut().rev().find_map(|message| match message.get_mut("toolCalls") {
            Some(Value::Array(calls)) => calls.iter_mut().find(|call| call_id(call) == id),
            _ => None,
        })
    }

    /// A call belongs to the message it names, or to the last one.
    fn add_call(&mut self, call: Value, parent: Option<&str>) {
        let parent = parent.map(|id| self.row_id(id).to_owned());
        let speaker = match &parent {
            Some(id) => self.said.iter().rposition(|m| m.str("id") == Some(id) && is_assistant(m)),
            None => self.said.len().checked_sub(1).filter(|_| self.said.last().is_some_and(is_assistant)),
        };
        let at = speaker.unwrap_or(self.said.len());
        if speaker.is_none() {
            self.said.push(message(parent.as_deref().unwrap_or(call_id(&call)), "assistant", ""));
        }
        let Some(Value::Object(message)) = self.said.get_mut(at) else { return };
        match message.get_mut("toolCalls") {
            Some(Value::Array(calls)) => calls.push(call),
            _ => message.insert("toolCalls", Value::Array(vec![call])),
        }
    }

    /// Older peers tell calls, and results of their own tools, only in a snapshot.
    fn note_snapshot(&mut self, messages: &[Value]) {
        let from = messages.iter().rposition(|m| m.str("role") == Some("user")).map_or(0, |at| at + 1);
        for message in messages.get(from..).unwrap_or_default() {
            if is_assistant(message) {
                let id = self.row_id(message.str("id").unwrap_or("")).to_owned();
                for call in calls(message) {
                    if self.call(call_id(call)).is_none() {
                        self.add_call(call.clone(), Some(&id));
                    }
                }
            } else if message.str("role") == Some("tool")
                && message.str("toolCallId").is_some_and(|id| !self.is_answered(id))
            {
                self.said.push(message.clone());
            }
        }
    }

    /// The call `id` of this run.
    pub(super) fn call(&self, id: &str) -> Option<&Value> {
        for message in &self.said {
            if let Some(call) = calls(message).iter().find(|call| call_id(call) == id) {
                return Some(call);
            }
        }
        None
    }

    /// Takes down a call that is open, as a stored conversation names it: of its stream
    /// there may be half.
    pub(super) fn note_open(&mut self, open: &Value) {
        let id = open.str("toolCallId").unwrap_or("");
        let arguments = open.get("arguments").cloned().unwrap_or_default();
        let function = crate::object! { "name": open.str("toolName").unwrap_or(""), "arguments": arguments };
        let call = crate::object! { "id": id, "type": "function", "function": function };
        match self.call_mut(id) {
            Some(known) => *known = call.into(),
            None => self.add_call(call.into(), None),
        }
    }

    fn is_answered(&self, id: &str) -> bool {
        self.said.iter().any(|m| m.str("toolCallId") == Some(id))
    }

    /// The calls a run that ended with `outcome` leaves to the page: those it
    /// names, or for older peers those that have no result.
    pub(super) fn open_calls(&self, outcome: Option<&Value>) -> Vec<String> {
        let mut open = Vec::new();
        if outcome.is_some_and(|outcome| outcome.str("type") == Some("cancelled")) {
            return open;
        }
        let pending = outcome.and_then(|outcome| outcome.get("pendingToolCallIds")?.as_array());
        for id in pending.unwrap_or_default() {
            open.push(id.as_str().unwrap_or("").to_owned());
        }
        if !open.is_empty() {
            return open;
        }
        for message in &self.said {
            for call in calls(message) {
                if !self.is_answered(call_id(call)) {
                    open.push(call_id(call).to_owned());
                }
            }
        }
        open
    }
}

/// Whether a message that starts is the agent's.
pub(super) fn is_agents(start: &Reading) -> bool {
    matches!(start.str("role"), "" | "assistant")
}

/// Adds text to a member that is a string.
fn append(object: &mut Value, key: &str, text: &str) {
    if let Some(Value::String(all)) = object.get_mut(key) {
        all.push_str(text);
    }
}
