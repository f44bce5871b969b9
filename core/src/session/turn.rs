//! A turn's requests: the first run, the runs that carry on, the second try of a
//! failed turn.

use super::exchange::Exchange;
use super::queue::{self, Kept};
use super::request::{self, Request};
use super::state::{Phase, State, Turn};
use super::stream::{self, Stream};
use super::{DomEvent, Protocol, Refused, SendId, Session};
use crate::Millis;
use crate::agui::PROTOCOL_VERSION;
use crate::error::{ErrorCode, ErrorInfo};
use crate::json::{Object, Value, concat};
use crate::view::{Activity, Patch};

/// A turn has at most this many runs.
pub(super) const RUN_LIMIT: u64 = 25;

impl Session {
    /// Begins a turn. With `replaces` it takes the place of an earlier attempt.
    pub(super) fn begin(&mut self, mut kept: Kept, replaces: bool, now: Millis) {
        self.transcript.failed = None;
        if self.transcript.thread_id.is_none() {
            self.transcript.thread_id = Some(self.ids.next_id());
        }
        let run_id = self.ids.next_id();
        self.out.notice(None);
        self.out.event(DomEvent::Busy { run_id: run_id.clone() });
        self.show(&mut kept, now);
        let Kept { send, message, .. } = kept;
        let rows = &self.transcript.rows;
        let from = rows.iter().rposition(|row| row.id == message.id).unwrap_or(rows.len());
        let news = match self.config.protocol {
            Protocol::Mindset => vec![stream::message(&message.id, "user", &message.text)],
            Protocol::AgUi => {
                self.transcript.remember_user(&message);
                Vec::new()
            }
        };
        let turn = Box::new(Turn {
            send,
            id: run_id.clone(),
            run_id,
            message,
            replaces,
            from,
            run_from: 0,
            news,
            runs: 1,
            renewed: false,
            started: false,
            announced: false,
            usage: Vec::new(),
        });
        self.post(turn, now);
    }

    /// Sends the message of a failed turn again.
    pub(super) fn handle_retry(&mut self, send: SendId, now: Millis) -> Result<(), Refused> {
        if self.is_busy() {
            return Err(queue::busy());
        }
        let idle = matches!(self.state, State::Idle);
        let Some(failed) = self.transcript.failed.take_if(|_| idle) else {
            let message = "There is no failed message to send again. Send a new one.";
            return Err(ErrorInfo::new(ErrorCode::InvalidRequest, message));
        };
        for id in self.transcript.remove_answers(failed.from) {
            self.out.patch(Patch::RemoveMessage { id });
        }
        self.begin(Kept { send, message: failed.message, shown: true }, true, now);
        Ok(())
    }

    /// Posts the current run of `turn` and waits for its answer.
    pub(super) fn post(&mut self, mut turn: Box<Turn>, now: Millis) {
        turn.run_from = self.transcript.rows.len();
        turn.started = false;
        self.out.activity(Activity::Waiting);
        let body = self.run_input(&turn);
        let fetch = self.out.fetch(Request::run(&self.config, self.token.as_ref(), body));
        let phase = Phase::Posted(Exchange::new(fetch, now.saturating_add(self.config.timing.request)));
        self.go_on(turn, phase);
    }

    /// Answers the calls that a run left to the page, in the next run of the turn.
    pub(super) fn carry_on(&mut self, mut turn: Box<Turn>, stream: Stream, calls: Vec<String>, now: Millis) {
        let mut answers = Vec::new();
        for id in calls {
            let name = stream.call(&id).and_then(|call| call.get("function")?.str("name")).unwrap_or("");
            let text = concat(&["The page offers no tool named `", name, "`. Answer without it."]);
            let mut answer = stream::answer(&self.ids.next_id(), &text, &id);
            if let Value::Object(answer) = &mut answer {
                answer.insert("error", text);
            }
            answers.push(answer);
        }
        match self.config.protocol {
            Protocol::Mindset => turn.news = answers,
            Protocol::AgUi => self.transcript.remember_run(stream.said, answers),
        }
        turn.run_id = self.ids.next_id();
        turn.runs += 1;
        turn.renewed = false;
        self.post(turn, now);
    }

    /// The JSON text of a run's `RunAgentInput`.
    fn run_input(&self, turn: &Turn) -> String {
        let first = turn.runs == 1;
        let replace_from =
            (turn.replaces && first && self.config.protocol == Protocol::Mindset).then_some(&turn.message.id);
        let props =
            request::forwarded_props(&self.config, turn.message.silent, replace_from.map(String::as_str));
        let messages = match self.config.protocol {
            Protocol::Mindset => &turn.news,
            Protocol::AgUi => &self.transcript.history,
        };
        // Servers older than 1.0 demand the lists and `state` even if empty.
        let input = crate::object! {
            "threadId": self.transcript.thread_id.as_deref().unwrap_or(""),
            "runId": &turn.run_id,
            "protocolVersion": PROTOCOL_VERSION,
            "state": Object::new(),
            "messages": Value::Array(messages.clone()),
            "forwardedProps": props,
            "tools": Value::Array(Vec::new()),
            "context": Value::Array(Vec::new()),
        };
        input.text()
    }
}
