//! What becomes of a run that the runtime's process did not survive. Messages are stored
//! before the events that tell them, and what is about to act is logged before it acts,
//! so both together say how far the run came: what was said stays, what may have acted
//! is named and never repeated, and the next message finds a conversation in order.

use crate::agui::{Body, Event, Outcome, PROTOCOL_VERSION};
use crate::error::ErrorCode;
use crate::event::{MessageStatus, Reason};
use crate::json::Object;
use crate::object;
use crate::{Millis, NextId};

use super::conversation::{open_calls, turn_of};
use super::heard::{Heard, HeardCall};
use super::results::{INTERRUPTED, Told};
use super::running::token_usage;
use super::toolset::Owner;
use super::{
    Conversation, Effect, ModelUsage, RunState, StoredCall, StoredMessage, StoredRole, citations, results,
    resume,
};

/// The result of a call that had not begun.
const NOT_RUN: &str = "The server was interrupted before the call began: it was not run.";

/// What people read.
const MESSAGE: &str = "The server was interrupted during the answer. Send the message again.";

/// What is left to do for a run that was broken off.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    /// To be appended to the conversation, before anything is told.
    pub store: Vec<StoredMessage>,
    /// To be appended to the run's log; the last one ends the run. Empty if the log has
    /// its end already.
    pub emit: Vec<Event>,
    /// How the run ended: `Error`, or as its log says, or `Finished` if nothing was missing
    /// but the word that it is over.
    pub state: RunState,
}

/// Ends the run `run_id` of `conversation`, both as they are stored, from its whole `log`.
///
/// What was said and not stored becomes an interrupted message under its own id, calls
/// that had begun get the result "outcome unknown" and an [`Effect`], calls that had not
/// begun are "not run". Nothing that the store or the log has is repeated. The run's own
/// first messages (those its `POST` brought) must have been stored with the run itself.
pub fn recover(
    conversation: &Conversation,
    run_id: &str,
    log: &[Event],
    ids: &mut dyn NextId,
    now: Millis,
) -> Recovery {
    let heard = Heard::of(log);
    if let Some(state) = heard.end {
        return Recovery { store: Vec::new(), emit: Vec::new(), state };
    }
    let mut rest = Rest {
        run_id,
        heard,
        ids,
        now,
        messages: conversation.messages.clone(),
        told: conversation.messages.len(),
        emit: Vec::new(),
    };
    let whole = rest.is_whole();
    rest.begin(&conversation.id);
    rest.close();
    rest.keep_text();
    rest.settle_calls();
    rest.tell_widgets();
    if whole { rest.finish(&conversation.id) } else { rest.fail() }
}

/// What is being made up for.
struct Rest<'a> {
    run_id: &'a str,
    heard: Heard<'a>,
    ids: &'a mut dyn NextId,
    now: Millis,
    /// The conversation, with what is to be stored behind it.
    messages: Vec<StoredMessage>,
    /// How many of them were stored before.
    told: usize,
    emit: Vec<Event>,
}

impl Rest<'_> {
    /// Whether the whole answer is stored and calls nothing.
    fn is_whole(&self) -> bool {
        let last = self.messages.iter().rfind(|m| m.role != StoredRole::Assistant || m.is_answer());
        let all_stored = self.heard.texts.iter().all(|text| self.knows(text.id));
        all_stored
            && last.is_some_and(|m| {
                m.run_id == self.run_id && m.is_answer() && m.status.is_none() && m.calls.is_empty()
            })
    }

    fn knows(&self, id: &str) -> bool {
        self.messages.iter().any(|m| m.id == id)
    }

    fn begin(&mut self, thread_id: &str) {
        if self.heard.started {
            return;
        }
        let user = self.messages.iter().rfind(|m| m.begins_turn());
        let turn_id = user.map_or(self.run_id, |m| m.run_id.as_str()).to_owned();
        let body = Body::RunStarted {
            thread_id: thread_id.to_owned(),
            run_id: self.run_id.to_owned(),
            protocol_version: Some(PROTOCOL_VERSION.to_owned()),
            parent_run_id: None,
        };
        self.emit(body, object! { "turnId": turn_id });
    }

    /// Closes reasoning and text. Half a call stays open: it must not look like a whole one.
    fn close(&mut self) {
        for body in self.heard.closing() {
            self.emit(body, Object::new());
        }
    }

    /// What was said and is in no stored message.
    fn keep_text(&mut self) {
        let lost: Vec<_> = self.heard.texts.iter().filter(|text| !self.knows(text.id)).collect();
        let lost: Vec<_> = lost.iter().map(|text| (text.id.to_owned(), text.content.clone())).collect();
        for (id, content) in lost.into_iter().filter(|(_, content)| !content.trim().is_empty()) {
            let mut message = StoredMessage::new(id, self.run_id, StoredRole::Assistant, content, self.now);
            message.status = Some(MessageStatus::Interrupted);
            message.citations = citations::cited(&self.messages, &message.content);
            self.messages.push(message);
        }
        let cites = |m: &&StoredMessage| {
            m.run_id == self.run_id && m.is_answer() && !m.citations.is_empty() && !self.heard.cites(&m.id)
        };
        let cited: Vec<Body> =
            self.messages.iter().filter(cites).map(|m| citations::event(&m.id, &m.citations)).collect();
        for body in cited {
            self.emit(body, Object::new());
        }
    }

    /// Every call of the run gets its end and its result, and every call that was left
    /// open before it a result.
    fn settle_calls(&mut self) {
        let own = |m: &&StoredMessage| m.run_id == self.run_id && m.is_answer() && m.status.is_none();
        let own: Vec<StoredMessage> = self.messages.iter().filter(own).cloned().collect();
        let calls = || own.iter().flat_map(|m| m.calls.iter().map(move |call| (&m.id, call)));
        for (message_id, call) in calls() {
            for body in self.heard.call_rest(call, message_id) {
                self.emit(body, Object::new());
            }
        }
        for (_, call) in calls() {
            self.settle(call);
        }
        let before = self.messages.iter().rfind(|m| m.run_id != self.run_id && m.is_answer());
        let asked = before.filter(|m| m.status.is_none()).map_or(Vec::new(), |m| m.calls.clone());
        for call in asked.iter().filter(|call| call.ask.is_some()) {
            self.settle_asked(call);
        }
        let earlier: Vec<StoredCall> = open_calls(&self.messages).into_iter().cloned().collect();
        for call in earlier {
            let told = Told::unknown(INTERRUPTED, true, 0);
            let mut message = told.message(self.ids.next_id(), self.run_id, &call.id, self.now);
            message.effect = Some(may_have_acted(&call));
            self.messages.push(message);
        }
    }

    /// A call of the run before, about which the person of this run has decided.
    fn settle_asked(&mut self, call: &StoredCall) {
        let heard = self.heard.call(&call.id);
        if heard.is_some_and(|heard| heard.answered) {
            return;
        }
        if heard.is_some() {
            return self.settle(call);
        }
        let known = self.messages.iter().find(|m| m.call_id.as_ref() == Some(&call.id)).cloned();
        let message = match known {
            Some(message) if message.run_id == self.run_id => message,
            Some(_) => return,
            None => {
                let told = Told::refused(NOT_RUN.to_owned());
                let message = told.message(self.ids.next_id(), self.run_id, &call.id, self.now);
                self.messages.push(message.clone());
                message
            }
        };
        let (body, mindset) = resume::told(call, &message);
        self.emit(body, mindset);
    }

    fn settle(&mut self, call: &StoredCall) {
        let heard = self.heard.call(&call.id);
        if heard.is_some_and(|heard| heard.answered) {
            return;
        }
        let tool = heard.and_then(HeardCall::tool);
        let name = heard.map_or(call.name.as_str(), |heard| heard.name).to_owned();
        let owner = tool.as_ref().map_or(Owner::Nobody, Owner::Server);
        let stored = self.messages.iter().find(|m| m.call_id.as_ref() == Some(&call.id));
        let (body, mindset) = match stored {
            Some(message) => {
                let since = heard.and_then(|heard| heard.since).unwrap_or(message.created_at);
                let told = Told {
                    content: message.content.clone(),
                    ok: message.status != Some(MessageStatus::Error),
                    duration: message.created_at.saturating_sub(since),
                    unknown: false,
                };
                told.event(message, &name, &owner)
            }
            None => {
                let told = match (heard, &tool) {
                    (_, Some(tool)) => Told::unknown(INTERRUPTED, !tool.read_only, 0),
                    (Some(_), None) => Told::refused(NOT_RUN.to_owned()),
                    // The log does not reach so far back.
                    (None, None) => Told::unknown(INTERRUPTED, true, 0),
                };
                let mut message = told.message(self.ids.next_id(), self.run_id, &call.id, self.now);
                message.effect = match &tool {
                    Some(tool) => told.effect(tool),
                    None => told.unknown.then(|| may_have_acted(call)),
                };
                let event = told.event(&message, &name, &owner);
                self.messages.push(message);
                event
            }
        };
        self.emit(body, mindset);
    }

    fn tell_widgets(&mut self) {
        let untold = |m: &&StoredMessage| m.run_id == self.run_id && !self.heard.shows(&m.id);
        let bodies: Vec<Body> = self.messages.iter().filter(untold).filter_map(results::widget).collect();
        for body in bodies {
            self.emit(body, Object::new());
        }
    }

    fn finish(mut self, thread_id: &str) -> Recovery {
        let body = Body::RunFinished {
            thread_id: thread_id.to_owned(),
            run_id: self.run_id.to_owned(),
            result: None,
            outcome: Some(Outcome::Success { pending_tool_call_ids: Vec::new() }),
            usage: self.usage(),
        };
        self.end(body, Object::new(), RunState::Finished)
    }

    fn fail(mut self) -> Recovery {
        let body = Body::RunError {
            message: MESSAGE.to_owned(),
            code: Some(ErrorCode::ServerError.as_str().to_owned()),
            usage: self.usage(),
        };
        let mut mindset = object! { "reason": Reason::Interrupted.as_str(), "retryable": true };
        let effects = results::effects(turn_of(&self.messages));
        if !effects.is_empty() {
            mindset.insert("effects", effects);
        }
        self.end(body, mindset, RunState::Error)
    }

    fn end(&mut self, body: Body, mindset: Object, state: RunState) -> Recovery {
        self.emit(body, mindset);
        let store = self.messages.split_off(self.told);
        Recovery { store, emit: std::mem::take(&mut self.emit), state }
    }

    fn usage(&self) -> Vec<crate::agui::TokenUsage> {
        let mut sum: Option<ModelUsage> = None;
        for usage in self.messages.iter().filter(|m| m.run_id == self.run_id).filter_map(|m| m.usage) {
            sum.get_or_insert_default().add(usage);
        }
        token_usage(sum, self.heard.model)
    }

    fn emit(&mut self, body: Body, mindset: Object) {
        let mut event = Event::new(body).with_mindset(mindset);
        event.timestamp = Some(self.now);
        self.emit.push(event);
    }
}

/// The effect of a call that only its name is known of.
fn may_have_acted(call: &StoredCall) -> Effect {
    use crate::event::ToolSource;
    Effect { tool_name: call.name.clone(), source: ToolSource::Mcp, unknown: true }
}
