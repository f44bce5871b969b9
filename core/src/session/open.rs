//! The conversation of an earlier page load: shown again, and its turn carried on if
//! it waits for a page that is gone.

use super::fault;
use super::inquiry::{Reply, Subject};
use super::state::{Attempt, Opening, OpeningStage, State};
use super::stored::ANOTHER_TAB;
use super::{DomEvent, Output, Protocol, Session};
use crate::Millis;
use crate::event::ChatMessage;
use crate::json::Value;
use crate::view::Notice;

/// Messages that are shown; of more, the newest.
const MAX_ROWS: usize = 200;

impl Session {
    /// Credentials are there: the conversation that is named, or idle.
    pub(super) fn open(&mut self, attempt: Attempt, now: Millis) {
        let named = self.config.conversation_id.clone().filter(|_| self.transcript.thread_id.is_none());
        match named {
            None => self.ready(now),
            // Such a server keeps nothing that could be shown.
            Some(id) if self.config.protocol == Protocol::AgUi => {
                self.transcript.thread_id = Some(id);
                self.announce(None);
                self.ready(now);
            }
            Some(_) => {
                self.state = State::Opening(Box::new(Opening { stage: OpeningStage::Reading, attempt }));
                self.inquire(Subject::Opening, self.config.timing.history, now);
            }
        }
    }

    /// Tells which conversation this is, from now on, and which it takes the place of.
    pub(super) fn announce(&mut self, discarded: Option<&str>) {
        self.transcript.announced = true;
        let id = self.transcript.thread_id.as_deref().unwrap_or("");
        let mut detail = crate::object! { "type": "conversation_id", "conversationId": id };
        detail.insert_some("replacedConversationId", discarded);
        detail.insert_some("replacedBecause", discarded.map(|_| "discarded"));
        self.out.event(DomEvent::Conversation { detail });
    }

    /// The conversation to begin with was read, or cannot be.
    pub(super) fn conversation_read(&mut self, reply: Reply, now: Millis) {
        let attempt = match std::mem::take(&mut self.state) {
            State::Opening(opening) => opening.attempt,
            other => {
                self.state = other;
                return;
            }
        };
        match reply.result {
            Ok(body) => match body.get("messages").and_then(Value::as_array) {
                Some(messages) => self.opened(messages, &body, now),
                None => self.start_failed(fault::not_the_protocol("application/json", ""), attempt, now),
            },
            Err(_) if (400..500).contains(&reply.status) && !matches!(reply.status, 401 | 408 | 429) => {
                self.discard(now);
            }
            Err(error) => self.start_failed(error, attempt, now),
        }
    }

    /// The conversation cannot be used: a new one takes its place.
    fn discard(&mut self, now: Millis) {
        self.out.push(Output::StoreConversation(None));
        self.transcript.thread_id = Some(self.ids.next_id());
        let discarded = self.config.conversation_id.clone();
        self.announce(discarded.as_deref());
        self.ready(now);
    }

    fn opened(&mut self, messages: &[Value], body: &Value, now: Millis) {
        self.transcript.thread_id = self.config.conversation_id.clone();
        self.announce(None);
        let from = messages.len().saturating_sub(MAX_ROWS);
        // What the person has sent in the meantime comes behind.
        let sent = std::mem::take(&mut self.transcript.rows);
        for row in
            messages.get(from..).unwrap_or_default().iter().filter_map(ChatMessage::from_json).chain(sent)
        {
            if self.transcript.row(&row.id).is_none() {
                self.transcript.rows.push(row);
            }
        }
        for patch in self.redraw() {
            self.out.patch(patch);
        }
        let open = body.get("openCalls").and_then(Value::as_array).unwrap_or_default();
        let owner = open.first().and_then(|call| call.str("clientId"));
        let Some(owner) = owner else { return self.ready(now) };
        self.out.push(Output::FindOwner(owner.to_owned()));
        let mut calls = Vec::new();
        for call in open {
            calls.extend(call.str("toolCallId").map(str::to_owned));
        }
        let until = now.saturating_add(self.config.timing.request);
        let attempt = self.first_attempt();
        let stage = OpeningStage::Owner { calls, until };
        self.state = State::Opening(Box::new(Opening { stage, attempt }));
    }

    /// It is known whether the page is gone that open calls wait for.
    pub(super) fn handle_owner(&mut self, gone: bool, now: Millis) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Opening(opening) => match opening.stage {
                OpeningStage::Owner { calls, .. } if gone => {
                    self.out.notice(None);
                    self.begin_orphaned(calls, now);
                }
                OpeningStage::Owner { .. } => self.wait_for_owner(now),
                OpeningStage::Reading => self.state = State::Opening(opening),
            },
            other => {
                self.state = other;
                self.owner_of_turn(gone, now);
            }
        }
    }

    /// The calls are another page's, and it is there.
    fn wait_for_owner(&mut self, now: Millis) {
        self.ready(now);
        let text = ANOTHER_TAB.to_owned();
        self.out.notice(Some(Notice { error: false, text, action: None }));
    }

    /// Whether the page is gone was not to be found out in time.
    pub(super) fn opening_timed_out(&mut self, opening: Box<Opening>, now: Millis) {
        match opening.stage {
            OpeningStage::Owner { .. } => self.wait_for_owner(now),
            OpeningStage::Reading => self.state = State::Opening(opening),
        }
    }
}
