//! One answer of the model while it arrives: what it is so far, and the events
//! that tell it.

use crate::NextId;
use crate::agui::{Body, TextRole};
use crate::event::MessageStatus;
use crate::json::Object;

use super::calls::{Call, CallIds};
use super::toolset::Toolset;
use super::{Millis, ModelEvent, StoredMessage, StoredRole};

/// Bytes of one delta. An event must stay under 1 MiB however much of it JSON
/// has to escape.
const MAX_DELTA: usize = 128 * 1024;

/// The answer so far. Reasoning is open at most once at a time, and closed before
/// anything else goes on; text stays open until a call begins.
#[derive(Debug)]
pub(super) struct Answer {
    message_id: String,
    text: String,
    text_open: bool,
    /// White space that is text only if text follows: models put line breaks
    /// before and between calls.
    held: String,
    reasoning: Option<String>,
    calls: Vec<Call>,
    provider_state: Option<Object>,
}

impl Answer {
    /// Before the first piece.
    pub(super) fn new(message_id: String) -> Answer {
        Answer {
            message_id,
            text: String::new(),
            text_open: false,
            held: String::new(),
            reasoning: None,
            calls: Vec::new(),
            provider_state: None,
        }
    }

    /// Takes a piece; the ends of an answer are the run's business and do nothing
    /// here.
    pub(super) fn take(
        &mut self,
        piece: ModelEvent,
        used: &mut CallIds,
        ids: &mut dyn NextId,
        tools: &Toolset,
    ) -> Vec<Body> {
        let mut out = Vec::new();
        match piece {
            ModelEvent::Text(delta) => self.take_text(&delta, &mut out),
            ModelEvent::Thinking(delta) => self.take_thinking(&delta, ids, &mut out),
            ModelEvent::CallStart { key, id, name } => {
                self.close_reasoning(&mut out);
                self.close_text(&mut out);
                let call = Call::new(key, used.take(id, ids), name);
                out.push(call.start(&self.message_id, tools.shown(&call.name)));
                self.calls.push(call);
            }
            ModelEvent::CallArguments { key, delta } => {
                if let Some(call) = self.calls.iter_mut().rfind(|c| c.key == key) {
                    call.take_arguments(&delta, &mut out);
                }
            }
            ModelEvent::ProviderState(state) => self.provider_state = Some(state),
            ModelEvent::End { .. } | ModelEvent::Failed(_) => {}
        }
        out
    }

    /// The message that the answer becomes.
    pub(super) fn message_id(&self) -> &str {
        &self.message_id
    }

    /// Whether the model has said and called nothing.
    pub(super) fn is_nothing(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// Whether readers have heard nothing of it.
    pub(super) fn is_untold(&self) -> bool {
        self.is_nothing() && self.reasoning.is_none()
    }

    /// The calls, in order.
    pub(super) fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The message to store for the whole answer.
    pub(super) fn message(&self, run_id: &str, now: Millis) -> StoredMessage {
        let mut message =
            StoredMessage::new(&self.message_id, run_id, StoredRole::Assistant, &self.text, now);
        message.calls = self.calls.iter().map(Call::stored).collect();
        message.provider_state.clone_from(&self.provider_state);
        message
    }

    /// The message to store for an answer that was cut off: its text, without
    /// half calls, if it has any.
    pub(super) fn partial(
        &self,
        run_id: &str,
        status: Option<MessageStatus>,
        now: Millis,
    ) -> Option<StoredMessage> {
        if self.text.is_empty() {
            return None;
        }
        let mut message =
            StoredMessage::new(&self.message_id, run_id, StoredRole::Assistant, &self.text, now);
        message.status = status;
        Some(message)
    }

    /// The events that end a whole answer.
    pub(super) fn finish(&mut self) -> Vec<Body> {
        let mut out = Vec::new();
        for call in &mut self.calls {
            call.settle(&mut out);
        }
        self.close(out)
    }

    /// The events that close what is open when an answer is cut off.
    pub(super) fn cut(&mut self) -> Vec<Body> {
        self.close(Vec::new())
    }

    fn close(&mut self, rest: Vec<Body>) -> Vec<Body> {
        let mut out = Vec::new();
        self.close_reasoning(&mut out);
        self.close_text(&mut out);
        out.extend(rest);
        out.extend(self.calls.iter().map(Call::end));
        out
    }

    fn take_text(&mut self, delta: &str, out: &mut Vec<Body>) {
        if delta.is_empty() {
            return;
        }
        if !self.text_open {
            self.held.push_str(delta);
            if delta.trim().is_empty() {
                return;
            }
            self.close_reasoning(out);
            self.text_open = true;
            let (message_id, role) = (self.message_id.clone(), TextRole::Assistant);
            out.push(Body::TextMessageStart { message_id, role, name: None });
            let held = std::mem::take(&mut self.held);
            self.say(&held, out);
        } else {
            self.close_reasoning(out);
            self.say(delta, out);
        }
    }

    fn say(&mut self, text: &str, out: &mut Vec<Body>) {
        self.text.push_str(text);
        out.extend(pieces(text).map(|delta| Body::TextMessageContent {
            message_id: self.message_id.clone(),
            delta: delta.to_owned(),
        }));
    }

    fn take_thinking(&mut self, delta: &str, ids: &mut dyn NextId, out: &mut Vec<Body>) {
        if delta.is_empty() {
            return;
        }
        let message_id = self
            .reasoning
            .get_or_insert_with(|| {
                let id = ids.next_id();
                out.push(Body::ReasoningStart { message_id: id.clone() });
                out.push(Body::ReasoningMessageStart { message_id: id.clone() });
                id
            })
            .clone();
        out.extend(pieces(delta).map(|delta| Body::ReasoningMessageContent {
            message_id: message_id.clone(),
            delta: delta.to_owned(),
        }));
    }

    fn close_reasoning(&mut self, out: &mut Vec<Body>) {
        if let Some(message_id) = self.reasoning.take() {
            out.push(Body::ReasoningMessageEnd { message_id: message_id.clone() });
            out.push(Body::ReasoningEnd { message_id });
        }
    }

    fn close_text(&mut self, out: &mut Vec<Body>) {
        if std::mem::take(&mut self.text_open) {
            out.push(Body::TextMessageEnd { message_id: self.message_id.clone() });
        }
    }
}

/// The text in pieces that fit into one event each.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at_checked(rest.floor_char_boundary(MAX_DELTA))?;
        rest = after;
        Some(piece)
    })
}
