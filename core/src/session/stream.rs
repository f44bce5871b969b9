//! One run's stream: bytes to events in their right order, and what was said in
//! it, as far as the next request needs it.

use std::collections::VecDeque;

use super::fault;
use crate::agui::{
    Body, Content, DecodeError, Event, Message, Order, Outcome, Role, TextRole, ToolCall, decode_event,
};
use crate::error::ErrorInfo;
use crate::{json, sse};

/// No event of a server may be larger, in bytes.
const EVENT_LIMIT: usize = 10 * 1024 * 1024;

/// The reading end of one run.
pub(super) struct Stream {
    decoder: sse::Decoder,
    order: Order,
    ready: VecDeque<Event>,
    /// Assistant and tool messages of this run, oldest first.
    pub(super) said: Vec<Message>,
    /// Server message id to row id, where they differ.
    aliases: Vec<(String, String)>,
    /// Streamed messages that are not the agent's words.
    muted: Vec<String>,
}

impl Stream {
    pub(super) fn new() -> Stream {
        Stream {
            decoder: sse::Decoder::new(EVENT_LIMIT),
            order: Order::new(),
            ready: VecDeque::new(),
            said: Vec::new(),
            aliases: Vec::new(),
            muted: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }

    /// The next event, `None` until more bytes come. Event types nobody knows are
    /// passed over.
    pub(super) fn next(&mut self) -> Result<Option<Event>, ErrorInfo> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let frame =
                self.decoder.next_frame().map_err(|_| fault::bad_stream("an event is over 10 MiB"))?;
            let Some(frame) = frame else { return Ok(None) };
            let value = json::parse(&frame.data)
                .map_err(|e| fault::bad_stream(&["an event is no JSON, ", &e.to_string()].concat()))?;
            match decode_event(&value) {
                Ok((event, _)) => {
                    let events = self.order.accept(event).map_err(|v| fault::bad_stream(&v.message))?;
                    self.ready.extend(events);
                }
                Err(DecodeError::UnknownType(_)) => {}
                Err(DecodeError::Malformed(what)) => return Err(fault::bad_stream(&what)),
            }
        }
    }

    /// The row that the server's message `id` is shown in.
    pub(super) fn row_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.aliases.iter().rfind(|(theirs, _)| theirs == id).map_or(id, |(_, ours)| ours)
    }

    /// Shows the server's message `id` under another name.
    pub(super) fn alias(&mut self, id: &str, row: String) {
        self.aliases.push((id.to_owned(), row));
    }

    /// Whether the message `id` is something else than the agent's words.
    pub(super) fn is_muted(&self, id: &str) -> bool {
        self.muted.iter().any(|m| m == id)
    }

    /// Takes down what an event says, for the history and the open calls.
    pub(super) fn note(&mut self, body: &Body) {
        match body {
            Body::TextMessageStart { message_id, role, .. } => {
                if *role == TextRole::Assistant {
                    let id = self.row_id(message_id).to_owned();
                    self.said.push(Message::text(id, Role::Assistant, ""));
                } else {
                    self.muted.push(message_id.clone());
                }
            }
            Body::TextMessageContent { message_id, delta } => {
                let id = self.row_id(message_id).to_owned();
                let message = self.said.iter_mut().rfind(|m| m.id == id);
                if let Some(Content::Text(text)) = message.and_then(|m| m.content.as_mut()) {
                    text.push_str(delta);
                }
            }
            Body::ToolCallStart { tool_call_id, tool_call_name, parent_message_id } => {
                let call = ToolCall {
                    id: tool_call_id.clone(),
                    name: tool_call_name.clone(),
                    arguments: String::new(),
                };
                self.add_call(call, parent_message_id.as_deref());
            }
            Body::ToolCallArgs { tool_call_id, delta } => {
                let mut calls = self.said.iter_mut().rev().flat_map(|m| &mut m.tool_calls);
                if let Some(call) = calls.find(|call| call.id == *tool_call_id) {
                    call.arguments.push_str(delta);
                }
            }
            Body::ToolCallResult { message_id, tool_call_id, content } => {
                let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
                let mut message = Message::text(message_id, Role::Tool, text);
                message.tool_call_id = Some(tool_call_id.clone());
                self.said.push(message);
            }
            Body::MessagesSnapshot { messages } => self.note_snapshot(messages),
            _ => {}
        }
    }

    /// A call belongs to the message it names, or to the last one.
    fn add_call(&mut self, call: ToolCall, parent: Option<&str>) {
        let parent = parent.map(|id| self.row_id(id).to_owned());
        let speaker = match &parent {
            Some(id) => self.said.iter_mut().rfind(|m| m.id == *id && m.role == Role::Assistant),
            None => self.said.last_mut().filter(|m| m.role == Role::Assistant),
        };
        if let Some(message) = speaker {
            message.tool_calls.push(call);
            return;
        }
        let mut message = Message::text(parent.unwrap_or_else(|| call.id.clone()), Role::Assistant, "");
        message.tool_calls.push(call);
        self.said.push(message);
    }

    /// Older peers tell calls, and results of their own tools, only in a snapshot.
    fn note_snapshot(&mut self, messages: &[Message]) {
        let from = messages.iter().rposition(|m| m.role == Role::User).map_or(0, |at| at + 1);
        for message in messages.get(from..).unwrap_or_default() {
            let mut message = message.clone();
            message.tool_calls.retain(|call| self.call(&call.id).is_none());
            match message.role {
                Role::Assistant => {
                    let id = self.row_id(&message.id).to_owned();
                    for call in message.tool_calls {
                        self.add_call(call, Some(&id));
                    }
                }
                Role::Tool if message.tool_call_id.as_deref().is_some_and(|id| !self.is_answered(id)) => {
                    self.said.push(message);
                }
                _ => {}
            }
        }
    }

    /// The call `id` of this run.
    pub(super) fn call(&self, id: &str) -> Option<&ToolCall> {
        self.said.iter().flat_map(|m| &m.tool_calls).find(|call| call.id == id)
    }

    fn is_answered(&self, id: &str) -> bool {
        self.said.iter().any(|m| m.tool_call_id.as_deref() == Some(id))
    }

    /// The calls a run that ended with `outcome` leaves to the page: those it
    /// names, or for older peers those that have no result.
    pub(super) fn open_calls(&self, outcome: Option<&Outcome>) -> Vec<String> {
        match outcome {
            Some(Outcome::Success { pending_tool_call_ids }) if !pending_tool_call_ids.is_empty() => {
                pending_tool_call_ids.clone()
            }
            Some(Outcome::Success { .. }) | None => self
                .said
                .iter()
                .flat_map(|m| &m.tool_calls)
                .filter(|call| !self.is_answered(&call.id))
                .map(|call| call.id.clone())
                .collect(),
            _ => Vec::new(),
        }
    }
}
