//! A turn's requests: the first run, the runs that carry on, the second try of a
//! failed turn.

use super::interrupt;
use super::link::Link;
use super::queue::{self, Kept};
use super::request;
use super::state::{State, Turn};
use super::step::Step;
use super::stream;
use super::transcript::UserMessage;
use super::{DomEvent, Output, Protocol, Refused, SendId, Session};
use crate::Millis;
use crate::agui::PROTOCOL_VERSION;
use crate::error::{ErrorCode, ErrorInfo};
use crate::json::{Object, Value};
use crate::queue::WhenBusy;
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
        if !self.transcript.suggestions.is_empty() {
            self.suggest(Vec::new());
        }
        self.out.event(DomEvent::Busy { run_id: run_id.clone() });
        self.check_keys();
        let mut paused = self.transcript.paused.take();
        if self.config.protocol == Protocol::AgUi
            && let Some(step) = &mut paused
        {
            self.remember_step(step);
        }
        self.show(&mut kept, now);
        if !self.line.is_empty() {
            self.release_line();
        }
        let Kept { send, message, when_busy, .. } = kept;
        let rows = &self.transcript.rows;
        let from = rows.iter().rposition(|row| row.id == message.id).unwrap_or(rows.len());
        let news = match self.config.protocol {
            Protocol::Mindset => vec![stream::message(&message.id, "user", &message.text)],
            Protocol::AgUi => {
                self.transcript.remember_user(&message);
                Vec::new()
            }
        };
        let mut turn = Turn::new(send, run_id, message, from);
        turn.replaces = replaces;
        turn.when_busy = when_busy;
        turn.news = news;
        if let Some(step) = paused {
            self.dismiss(&mut turn, step);
        }
        self.post(Box::new(turn), now);
    }

    /// Goes on with the turn of a page that is gone.
    pub(super) fn begin_orphaned(&mut self, step: Box<Step>, now: Millis) {
        if !step.asks.is_empty() {
            return self.begin_asked(step, now);
        }
        let run_id = self.ids.next_id();
        self.out.event(DomEvent::Busy { run_id: run_id.clone() });
        self.hide_kept();
        let nothing = UserMessage { id: String::new(), text: String::new(), silent: false, files: None };
        let mut turn = Turn::new(None, run_id, nothing, self.transcript.rows.len());
        turn.news = self.answers(&step);
        self.post(Box::new(turn), now);
    }

    /// Sends the message of a failed turn again.
    #[inline(never)]
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
        self.begin(
            Kept { send: Some(send), message: failed.message, shown: true, when_busy: None },
            true,
            now,
        );
        Ok(())
    }

    /// Makes the current run's request once more: the same, if the server may have it.
    pub(super) fn post_again(&mut self, turn: Box<Turn>, now: Millis) {
        if turn.link.may_run() { self.request_run(turn, now) } else { self.post(turn, now) }
    }

    /// Posts the current run of `turn` and waits for its answer.
    pub(super) fn post(&mut self, mut turn: Box<Turn>, now: Millis) {
        turn.run_from = self.transcript.rows.len();
        turn.started = false;
        turn.outdated = false;
        turn.offer = self.channels.offer();
        self.out.activity(Activity::Waiting);
        self.store_conversation();
        turn.link = Link::new(self.run_input(&turn));
        self.request_run(turn, now);
    }

    /// The page has answered its calls, and people theirs: that goes into the next run of the turn.
    pub(super) fn carry_on(&mut self, mut turn: Box<Turn>, mut step: Step, now: Millis) {
        match self.config.protocol {
            Protocol::Mindset => turn.news = self.answers(&step),
            Protocol::AgUi => self.remember_step(&mut step),
        }
        if !step.asks.is_empty() {
            step.of = [turn.id.clone(), turn.run_id.clone()];
            turn.decided = Some(Box::new(step));
        }
        turn.found = false;
        self.next_run(turn, now);
    }

    /// Posts the turn's next run.
    pub(super) fn next_run(&mut self, mut turn: Box<Turn>, now: Millis) {
        turn.run_id = self.ids.next_id();
        turn.runs += 1;
        turn.renewed = false;
        self.post(turn, now);
    }

    /// Keeps the conversation's id before anything can make the page go away.
    fn store_conversation(&mut self) {
        let news = self.config.protocol == Protocol::Mindset && !self.transcript.stored;
        if news {
            self.transcript.stored = true;
            self.out.push(Output::StoreConversation(self.transcript.thread_id.clone()));
        }
    }

    /// The JSON text of a run's `RunAgentInput`.
    pub(super) fn run_input(&self, turn: &Turn) -> String {
        let first = turn.runs == 1;
        let replace_from =
            (turn.replaces && first && self.config.protocol == Protocol::Mindset).then_some(&turn.message.id);
        let passthrough = match self.config.protocol {
            Protocol::Mindset => self.channels.passthrough_params(),
            Protocol::AgUi => None,
        };
        let replace_from = replace_from.map(String::as_str);
        let mut props = request::forwarded_props(&self.config, &turn.message, replace_from, passthrough);
        if let (true, Some(Value::Object(mindset))) = (first, props.get_mut("mindset")) {
            mindset.insert_some("whenBusy", turn.when_busy.map(WhenBusy::as_str));
        }
        let mut tools = Vec::new();
        for tool in &turn.offer {
            tools.push(tool.to_json());
        }
        let messages = match self.config.protocol {
            Protocol::Mindset => &turn.news,
            Protocol::AgUi => &self.transcript.history,
        };
        // Servers older than 1.0 demand the lists and `state` even if empty.
        let mut input = crate::object! {
            "threadId": self.transcript.thread_id.as_deref().unwrap_or(""),
            "runId": &turn.run_id,
            "protocolVersion": PROTOCOL_VERSION,
            "state": Object::new(),
            "messages": Value::Array(messages.clone()),
            "tools": Value::Array(tools),
            "context": self.channels.context(),
            "forwardedProps": props,
        };
        if let Some(step) = &turn.decided {
            interrupt::answer(&mut input, &step.asks);
        }
        input.text()
    }
}
