//! The conversation of an earlier page load: shown again, and its turn carried on if
//! it waits for a page that is gone.

use super::exchange::{Arrival, CONVERSATION_LIMIT, Exchange};
use super::fault;
use super::request::Request;
use super::state::{Attempt, Opening, OpeningStage, Starting, State};
use super::{DomEvent, FetchFailure, FetchId, Output, Protocol, Session};
use crate::Millis;
use crate::error::ErrorInfo;
use crate::event::ChatMessage;
use crate::json::{self, Value};
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
            Some(id) => {
                let request = Request::conversation(&self.config, self.token.as_ref(), &id);
                let fetch = self.out.fetch(request);
                let mut exchange = Exchange::new(fetch, now.saturating_add(self.config.timing.request));
                exchange.limit = CONVERSATION_LIMIT;
                let stage = OpeningStage::Reading(exchange);
                self.state = State::Opening(Box::new(Opening { stage, attempt }));
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

    pub(super) fn opening_arrival(
        &mut self,
        mut opening: Box<Opening>,
        fetch: FetchId,
        arrival: Arrival<'_>,
        now: Millis,
    ) {
        if let OpeningStage::Reading(exchange) = &mut opening.stage
            && exchange.fetch == fetch
            && let Some(result) = exchange.take(arrival)
        {
            return self.conversation_read(exchange, result, opening.attempt, now);
        }
        self.state = State::Opening(opening);
    }

    fn conversation_read(
        &mut self,
        exchange: &Exchange,
        result: Result<(), FetchFailure>,
        attempt: Attempt,
        now: Millis,
    ) {
        if let Err(failure) = result {
            return self.start_failed(fault::unreachable(&failure), attempt, now);
        }
        let may_renew = self.token.is_some() && !attempt.renewed;
        match exchange.status {
            401 if may_renew => {
                let sign_in = self.sign_in(true, now);
                let attempt = Attempt { renewed: true, ..attempt };
                self.state = State::Starting(Box::new(Starting { sign_in, attempt }));
            }
            401 | 408 | 429 => self.start_failed(refused(exchange), attempt, now),
            400..500 => self.discard(now),
            _ => {
                let body = json::parse(&json::lossy(&exchange.body)).unwrap_or_default();
                match body.get("messages").and_then(Value::as_array) {
                    Some(messages) if exchange.status == 200 => self.opened(messages, &body, now),
                    _ => self.start_failed(refused(exchange), attempt, now),
                }
            }
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
                OpeningStage::Reading(_) => self.state = State::Opening(opening),
            },
            other => self.state = other,
        }
    }

    /// The calls are another page's, and it is there.
    fn wait_for_owner(&mut self, now: Millis) {
        self.ready(now);
        let text = "A tool of this conversation still runs in another tab. Go on there, or wait for it.";
        self.out.notice(Some(Notice { error: false, text: text.to_owned(), action: None }));
    }

    pub(super) fn opening_timed_out(&mut self, opening: Opening, now: Millis) {
        match opening.stage {
            OpeningStage::Reading(exchange) => {
                self.out.abort(exchange.fetch);
                self.start_failed(fault::timed_out(), opening.attempt, now);
            }
            OpeningStage::Owner { .. } => self.wait_for_owner(now),
        }
    }
}

fn refused(exchange: &Exchange) -> ErrorInfo {
    fault::refused(exchange.status, &exchange.content_type, &exchange.body)
}
