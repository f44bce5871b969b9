//! A conversation as it is stored.

use std::collections::BTreeSet;

use crate::event::{Citation, MessageStatus, ToolSource, Widget};
use crate::json::Object;
use crate::{Millis, NextId};

use super::results::Told;
use super::{Ask, Asked, ModelUsage, StoredFile};
use crate::agui::Interrupt;

/// What stands for the result of a call that never got one.
pub(super) const CANCELLED: &str = "cancelled by the user";

/// A stored conversation, loaded for one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    /// Its id; the wire calls it thread.
    pub id: String,
    /// Messages, oldest first, tool messages and silent ones included.
    pub messages: Vec<StoredMessage>,
    /// The `clientId` of the run that left the open calls; another client's results
    /// for them count as "outcome unknown".
    pub open_client: Option<String>,
    /// The run that left the open calls broke down: nobody was asked for their results.
    pub broken: bool,
    /// How long the earlier runs of the newest turn took, in milliseconds: the sum over
    /// the runs with its turn id, each from its start to its end. A run that goes on with
    /// the turn has only the rest of its deadline left; what people and pages take between
    /// two runs does not count.
    pub used: Millis,
    /// The files that come with the run's new message, in the order in which its input names
    /// them.
    pub files: Vec<StoredFile>,
}

impl Conversation {
    /// The calls that wait for the page's results: those of the last assistant message, as
    /// long as nobody has said anything since.
    pub fn open_calls(&self) -> Vec<&StoredCall> {
        open_calls(&self.messages).into_iter().filter(|call| call.ask.is_none()).collect()
    }

    /// What people are asked by other calls of that message.
    pub fn open_interrupts(&self) -> Vec<Interrupt> {
        open_interrupts(&self.messages)
    }

    /// The calls of that message that ask people.
    pub fn asking(&self) -> Vec<&StoredCall> {
        open_calls(&self.messages).into_iter().filter(|call| call.ask.is_some()).collect()
    }

    /// The conversations of work that was handed over and waits for people.
    pub fn waiting_children(&self) -> Vec<String> {
        let child = |call: &StoredCall| match &call.ask.as_ref()?.what {
            Asked::Child(child) => Some(child.session.clone()),
            _ => None,
        };
        self.asking().into_iter().filter_map(child).collect()
    }

    /// What the newest turn came to: what the model said last, and what it cost.
    pub fn outcome(&self) -> (Option<&str>, ModelUsage) {
        let turn = turn_of(&self.messages);
        let mut sum = ModelUsage::default();
        turn.iter().filter_map(|m| m.usage).for_each(|usage| sum.add(usage));
        let last = turn.iter().rfind(|m| m.is_answer() && m.calls.is_empty() && m.status.is_none());
        (last.map(|m| m.content.as_str()).filter(|text| !text.trim().is_empty()), sum)
    }

    /// The results that close every open call and interrupt as cancelled, to be stored.
    pub fn cancel_open_calls(&self, run_id: &str, ids: &mut dyn NextId, now: Millis) -> Vec<StoredMessage> {
        let cancel = |call: &StoredCall| cancelled(call, run_id, ids.next_id(), now);
        open_calls(&self.messages).into_iter().map(cancel).collect()
    }
}

/// See [`Conversation::open_interrupts`].
pub(super) fn open_interrupts(messages: &[StoredMessage]) -> Vec<Interrupt> {
    let asks = |call: &StoredCall| call.ask.as_ref().map_or_else(Vec::new, |ask| ask.interrupts(call));
    open_calls(messages).into_iter().flat_map(asks).collect()
}

/// The calls of the last answer that have no result, the page's and those that ask people.
pub(super) fn open_calls(messages: &[StoredMessage]) -> Vec<&StoredCall> {
    let Some(at) = messages.iter().rposition(StoredMessage::is_answer) else {
        return Vec::new();
    };
    let (Some(message), Some(after)) = (messages.get(at), messages.get(at + 1..)) else {
        return Vec::new();
    };
    if message.status.is_some() || after.iter().any(|m| m.role == StoredRole::User) {
        return Vec::new();
    }
    let answered: BTreeSet<&str> = after.iter().filter_map(|m| m.call_id.as_deref()).collect();
    message.calls.iter().filter(|c| !answered.contains(c.id.as_str())).collect()
}

/// What was stored since the newest message that began a turn: the turn so far.
pub(super) fn turn_of(messages: &[StoredMessage]) -> &[StoredMessage] {
    let from = messages.iter().rposition(StoredMessage::begins_turn).map_or(0, |at| at + 1);
    messages.get(from..).unwrap_or_default()
}

/// The result of a call that somebody gave up.
pub(super) fn cancelled(call: &StoredCall, run_id: &str, id: String, now: Millis) -> StoredMessage {
    if let Some(tool) = call.ask.as_ref().and_then(|ask| ask.live()) {
        let told = Told::left(tool);
        let mut message = told.message(id, run_id, &call.id, now);
        message.effect = told.effect(tool);
        return message;
    }
    let mut message = StoredMessage::new(id, run_id, StoredRole::Tool, CANCELLED, now);
    message.call_id = Some(call.id.clone());
    message.status = Some(MessageStatus::Error);
    message
}

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Unique in its conversation.
    pub id: String,
    /// The run that made it.
    pub run_id: String,
    /// Who speaks.
    pub role: StoredRole,
    /// The text, or a tool's result.
    pub content: String,
    /// Sent by the page, not shown in the transcript.
    pub silent: bool,
    /// Of a user message: it was said to a turn that ran already, and is part of that.
    pub steered: bool,
    /// Calls of an assistant message.
    pub calls: Vec<StoredCall>,
    /// The call a tool message answers.
    pub call_id: Option<String>,
    /// How it ended, if not well. With `Error` on a tool message the tool failed.
    pub status: Option<MessageStatus>,
    /// Opaque provider state, goes back only to that provider.
    pub provider_state: Option<Object>,
    /// What can be cited: of a tool message what it found, of an assistant message
    /// what it names.
    pub citations: Vec<Citation>,
    /// Of a tool message: that the call changed something, or may have.
    pub effect: Option<Effect>,
    /// Of an assistant message: what the model call behind it cost.
    pub usage: Option<ModelUsage>,
    /// What a tool showed; such an assistant message has the summary as its content, and no
    /// model sees it.
    pub widget: Option<Widget>,
    /// Of a user message: what the person attached.
    pub files: Vec<StoredFile>,
    /// When it was stored.
    pub created_at: Millis,
}

/// What a call did that cannot be done twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The tool, by its own name.
    pub tool_name: String,
    /// Who ran it.
    pub source: ToolSource,
    /// Nobody knows whether it acted.
    pub unknown: bool,
}

impl StoredMessage {
    /// A visible message that ended well, without calls.
    pub fn new(
        id: impl Into<String>,
        run_id: &str,
        role: StoredRole,
        content: impl Into<String>,
        created_at: Millis,
    ) -> StoredMessage {
        StoredMessage {
            id: id.into(),
            run_id: run_id.to_owned(),
            role,
            content: content.into(),
            silent: false,
            steered: false,
            calls: Vec::new(),
            call_id: None,
            status: None,
            provider_state: None,
            citations: Vec::new(),
            effect: None,
            usage: None,
            widget: None,
            files: Vec::new(),
            created_at,
        }
    }

    /// Whether a turn begins with it.
    pub(super) fn begins_turn(&self) -> bool {
        self.role == StoredRole::User && !self.steered
    }

    /// Whether a model said it; what a tool showed stands under the same role.
    pub(super) fn is_answer(&self) -> bool {
        self.role == StoredRole::Assistant && self.widget.is_none()
    }
}

/// Who speaks in a stored message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredRole {
    /// The person, or the page in their name.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

impl StoredRole {
    /// The role as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            StoredRole::User => "user",
            StoredRole::Assistant => "assistant",
            StoredRole::Tool => "tool",
        }
    }

    /// The role stored as `text`.
    pub fn parse(text: &str) -> Option<StoredRole> {
        match text {
            "user" => Some(StoredRole::User),
            "assistant" => Some(StoredRole::Assistant),
            "tool" => Some(StoredRole::Tool),
            _ => None,
        }
    }
}

/// A call of a stored assistant message.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCall {
    /// Unique in its conversation.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text, as the model wrote it.
    pub arguments: String,
    /// What it waits for, or waited for, before it has a result.
    pub ask: Option<Box<Ask>>,
}

impl StoredCall {
    /// Whether the interrupt with this id is its.
    pub(super) fn asks(&self, interrupt_id: &str) -> bool {
        self.ask.as_ref().is_some_and(|ask| ask.ids().contains(&interrupt_id))
    }

    /// Whether it is, or was before.
    pub(super) fn has_asked(&self, interrupt_id: &str) -> bool {
        self.asks(interrupt_id)
            || self.ask.as_ref().is_some_and(|ask| ask.earlier.iter().any(|id| id == interrupt_id))
    }
}
