//! The end of a run and of a turn: events, idle, and then the promise.

use super::events::RunEnd;
use super::fault;
use super::interrupt::Interrupt;
use super::pause::not_open;
use super::state::{State, Turn};
use super::step::Step;
use super::stream::Stream;
use super::transcript::Failed;
use super::turn::RUN_LIMIT;
use super::{DomEvent, Protocol, SendId, Session, TurnResult, TurnStatus};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{Author, Bound, BoundReason, Decision, MessageStatus, Reason, RunError, RuntimeEvent};
use crate::json::{Value, concat};
use crate::view::{Notice, NoticeAction, Patch};

/// How a turn ends.
pub(super) enum Ending {
    /// The answer is whole, or a bound was hit.
    Finished { bound: Option<Bound> },
    /// It failed.
    Failed { error: ErrorInfo, reason: Reason, effects: Vec<Value> },
    /// Someone stopped it.
    Stopped { effects: Vec<Value> },
}

impl Ending {
    /// What the person is told, if anything; what was done stands before the offer to do
    /// it again.
    pub(super) fn notice(&self, may_retry: bool) -> Option<Notice> {
        let (error, lead, effects) = match self {
            Ending::Finished { bound } => return bound.as_ref().map(|bound| at_bound(bound.reason)),
            Ending::Failed { error, effects, .. } => (Some(error), &*error.message, effects),
            Ending::Stopped { effects } => (None, "Stopped.", effects),
        };
        let names = [acted(effects, false), acted(effects, true)];
        let done = in_words(&names);
        if error.is_none() && done.is_empty() {
            return None;
        }
        let key = error.map_or("stopped", |error| error.code.as_str());
        let may_retry = may_retry && error.is_none_or(|error| error.retryable);
        let action = may_retry.then_some(NoticeAction::Retry);
        Some(Notice { error: error.is_some(), text: concat(&[lead, &done]), key, names, action })
    }

    /// The same with what the page's tools did.
    fn with_effects(mut self, turn: &mut Turn) -> Ending {
        if let Ending::Failed { effects, .. } | Ending::Stopped { effects } = &mut self {
            *effects = all_effects(turn, std::mem::take(effects));
        }
        self
    }

    /// A failure that this side noticed.
    pub(super) fn failed(error: ErrorInfo) -> Ending {
        Ending::Failed { reason: fault::reason(error.code), error, effects: Vec::new() }
    }
}

/// The server refused a run with an HTTP status.
pub(super) fn refusal(error: ErrorInfo, status: u16) -> Ending {
    let reason = match status {
        401 => Reason::Unauthorized,
        429 => Reason::RateLimited,
        _ => fault::reason(error.code),
    };
    Ending::Failed { error, reason, effects: Vec::new() }
}

impl Session {
    /// A run ended by the server's word: the turn goes on or ends with it.
    pub(super) fn run_ended(&mut self, turn: Box<Turn>, stream: Stream, end: RunEnd, now: Millis) {
        let (outcome, bound, effects) = match end {
            RunEnd::Finished { outcome, bound, effects } => (outcome, bound, effects),
            RunEnd::Steered => return self.never_began(turn, TurnStatus::Steered, now),
            RunEnd::Failed(ending) => {
                self.remember(stream);
                return self.end_turn(turn, ending, now);
            }
        };
        let kind = outcome.as_ref().and_then(|outcome| outcome.str("type"));
        if kind == Some("cancelled") && self.may_wait(&turn) && !turn.announced {
            return self.never_began(turn, TurnStatus::Aborted, now);
        }
        let (calls, asks) = match bound {
            None => self.left_open(&turn, &stream, outcome.as_ref()),
            Some(_) => Default::default(),
        };
        if turn.found && !calls.is_empty() {
            // They are the calls of the page that posted the run.
            let mut turn = turn;
            turn.link.stream = Some(Box::new(stream));
            return self.read_stored(turn, now);
        }
        let open = !calls.is_empty() || !asks.is_empty();
        if open && turn.runs < RUN_LIMIT {
            return self.call_page(turn, stream, (&calls, asks), now);
        }
        self.remember(stream);
        let outcome = outcome.as_ref().and_then(|outcome| outcome.str("type"));
        let ending = match outcome {
            Some("cancelled") if bound.is_none() => Ending::Stopped { effects },
            _ if open => Ending::Finished { bound: Some(Bound::new(BoundReason::StepLimit, RUN_LIMIT)) },
            _ => Ending::Finished { bound },
        };
        self.end_turn(turn, ending, now);
    }

    /// What a run that ended with `outcome` leaves to the page and to people.
    pub(super) fn left_open(
        &mut self,
        turn: &Turn,
        stream: &Stream,
        outcome: Option<&Value>,
    ) -> (Vec<String>, Vec<Interrupt>) {
        let asks = self.interrupts(outcome, stream);
        let mut calls = stream.open_calls(outcome);
        if !asks.is_empty() {
            // A server that asks has calls of its own that wait.
            let known = |id: &str| {
                let name = stream.call(id).and_then(|call| call.get("function")?.str("name"));
                turn.offer.iter().any(|offered| Some(&*offered.name) == name)
            };
            let all = self.config.protocol == Protocol::Mindset;
            calls.retain(|id| asks.iter().all(|ask| ask.call != *id) && (all || known(id)));
        }
        (calls, asks)
    }

    /// Keeps what was said in a run for a server that keeps nothing.
    pub(super) fn remember(&mut self, stream: Stream) {
        if self.config.protocol == Protocol::AgUi {
            self.transcript.remember_run(stream.said, Vec::new(), &[]);
        }
    }

    /// Ends the turn; the promise comes after idle, or before the next turn.
    pub(super) fn end_turn(&mut self, mut turn: Box<Turn>, ending: Ending, now: Millis) {
        self.uncover(&mut turn);
        self.reveal(&mut turn, now);
        self.end_messages(turn.from);
        self.end_server_tools(&mut turn, true, now);
        self.guess(&mut turn, None, Decision::Deny);
        let told = turn.started && !turn.found;
        // A call whose turn has not begun has none that could end.
        let waits = self.config.call.is_some();
        if !waits {
            self.tell_started(&mut turn, None);
        }
        let mut result = self.result(&turn, TurnStatus::Finished);
        let send = turn.send;
        let ending = ending.with_effects(&mut turn);
        let again = self.undecided(&mut turn, &ending);
        if let Some(notice) = ending.notice(turn.may_retry()) {
            self.out.notice(Some(notice));
        } else if turn.outvoted {
            self.tell_decided();
        }
        match ending {
            Ending::Finished { bound } => {
                result.bound = bound;
                result.pending = self.transcript.paused.as_ref().and_then(|step| step.pending());
                if bound.is_none() && result.text.is_none() && result.pending.is_none() {
                    self.out.notice(Some(Notice::remark("no-answer", "The agent gave no answer.")));
                }
                self.complete(*turn, bound);
            }
            Ending::Failed { error, reason, effects } => {
                result.status = TurnStatus::Error;
                self.fail(turn, &error, reason, effects);
                result.error = Some(error);
            }
            Ending::Stopped { effects } => {
                result.status = TurnStatus::Aborted;
                self.stopped(turn, effects);
                self.pause_line(now);
            }
        }
        self.come_to_rest(send, result, told, now);
        if let Some(step) = again.filter(|_| matches!(self.state, State::Resting)) {
            self.ask_again(step, now);
        }
    }

    /// Nothing runs any more: the promise settles after idle, or before the next turn.
    pub(super) fn come_to_rest(&mut self, send: Option<SendId>, result: TurnResult, told: bool, now: Millis) {
        let rests = !self.goes_on();
        if rests {
            self.rest(now);
        }
        if let Some(send) = send {
            self.out.settle(send, result);
        }
        if told {
            self.tell_pages();
        }
        if !rests {
            self.rest(now);
        }
    }

    /// What people have decided and the server has not heard, if it may still wait for it.
    fn undecided(&mut self, turn: &mut Turn, ending: &Ending) -> Option<Box<Step>> {
        let error = match ending {
            Ending::Failed { error, .. } => error.clone(),
            _ => not_open(),
        };
        self.settle_replies(Some(&error));
        let step = turn.decided.take()?;
        let is_gone = matches!(error.code, ErrorCode::NotFound | ErrorCode::Gone);
        Some(step).filter(|_| !is_gone)
    }

    /// Nothing more comes of what was said since the row `from`.
    fn end_messages(&mut self, from: usize) {
        for row in self.transcript.rows.get(from..).unwrap_or_default() {
            self.out.patch(Patch::EndMessage { id: row.id.clone() });
        }
    }

    fn complete(&mut self, turn: Turn, bound: Option<Bound>) {
        let conversation_id = self.transcript.thread_id.clone().unwrap_or_default();
        self.out.runtime(RuntimeEvent::Complete {
            messages: self.transcript.rows.clone(),
            turn_from: turn.from,
            conversation_id: conversation_id.clone(),
            bound,
            usage: (!turn.usage.is_empty()).then_some(Value::Array(turn.usage)),
        });
        self.out.runtime(RuntimeEvent::RunFinished { run_id: turn.id });
        if !self.transcript.announced {
            self.announce();
        }
    }

    fn fail(&mut self, turn: Box<Turn>, error: &ErrorInfo, reason: Reason, effects: Vec<Value>) {
        let status =
            if reason == Reason::Interrupted { MessageStatus::Interrupted } else { MessageStatus::Error };
        self.mark_answer(&turn, status);
        self.out.runtime(RuntimeEvent::RunError(RunError {
            message: error.message.clone(),
            reason,
            aborted: false,
            retryable: error.retryable,
            effects,
        }));
        self.may_retry(*turn);
    }

    fn stopped(&mut self, turn: Box<Turn>, effects: Vec<Value>) {
        self.mark_answer(&turn, MessageStatus::Stopped);
        self.mark_unanswered(turn.from);
        self.out.runtime(aborted("The answer was stopped.", effects));
        self.may_retry(*turn);
    }

    /// The rest of a turn whose message is not known cannot be sent again.
    fn may_retry(&mut self, turn: Turn) {
        self.transcript.failed =
            turn.may_retry().then_some(Failed { message: turn.message, from: turn.from });
    }

    /// Marks what the agent said last in this turn as not whole.
    fn mark_answer(&mut self, turn: &Turn, status: MessageStatus) {
        let said = self.transcript.last_answer(turn.from).filter(|row| row.widget.is_none());
        if let Some(id) = said.map(|row| row.id.clone()) {
            self.mark(&id, status);
        }
    }

    /// Marks the message of a turn that was stopped before the agent said anything.
    pub(super) fn mark_unanswered(&mut self, from: usize) {
        let message = self.transcript.rows.get(from).filter(|row| row.role == Author::User);
        let silent = self.transcript.last_answer(from).is_none();
        if let Some(id) = message.filter(|_| silent).map(|row| row.id.clone()) {
            self.mark(&id, MessageStatus::Stopped);
        }
    }

    /// The end of a turn whose session is over. Who heard of its beginning hears
    /// of its end.
    pub(super) fn left(&mut self, turn: &mut Turn, unheard: bool) {
        self.settle_replies(Some(&not_open()));
        if !unheard {
            self.tell_started(turn, None);
            self.end_server_tools(turn, false, self.now);
            let effects = all_effects(turn, Vec::new());
            self.out.runtime(aborted("The conversation was left.", effects));
            let conversation_id = self.conversation_id().map(str::to_owned);
            self.out.event(DomEvent::Idle { conversation_id });
        }
        let result = self.result(turn, TurnStatus::Aborted);
        if let Some(send) = turn.send {
            self.out.settle(send, result);
        }
    }

    pub(super) fn result(&self, turn: &Turn, status: TurnStatus) -> TurnResult {
        TurnResult {
            status,
            text: self.transcript.last_answer(turn.from).map(|row| row.content.clone()),
            conversation_id: self.transcript.thread_id.clone().unwrap_or_default(),
            run_id: turn.id.clone(),
            error: None,
            bound: None,
            pending: None,
        }
    }
}

/// What the page's tools did, what the server lists besides, and what was seen of its tools.
fn all_effects(turn: &mut Turn, listed: Vec<Value>) -> Vec<Value> {
    let mut all = std::mem::take(&mut turn.effects);
    for effect in listed.into_iter().chain(std::mem::take(&mut turn.seen)) {
        let id = effect.str("toolCallId");
        if !all.iter().any(|known| known.str("toolCallId") == id) {
            all.push(effect);
        }
    }
    all
}

/// The tools that acted, or may have, in one line; empty for none.
fn acted(effects: &[Value], unknown: bool) -> String {
    let mut names = String::new();
    for effect in effects {
        let Some(name) = effect.str("toolName") else { continue };
        if (effect.str("outcome") == Some("unknown")) == unknown {
            if !names.is_empty() {
                names.push_str(", ");
            }
            names.push_str(&fault::said(name));
        }
    }
    names
}

/// What must be known before the message is sent again; empty for nothing.
fn in_words([done, unknown]: &[String; 2]) -> String {
    let mut words = String::new();
    for (lead, names) in [(" Done already: ", done), (" May have acted: ", unknown)] {
        if !names.is_empty() {
            words.push_str(&concat(&[lead, names, "."]));
        }
    }
    words
}

/// What was done stays done although its message is sent anew.
pub(super) fn stays_done(effects: &[Value]) -> Notice {
    let names = [acted(effects, false), acted(effects, true)];
    let text = concat(&["Sending the message anew does not undo what was done.", &in_words(&names)]);
    Notice { names, ..Notice::remark("stays-done", &text) }
}

/// The turn can go on where a limit stopped it.
fn at_bound(reason: BoundReason) -> Notice {
    let (key, which) = match reason {
        BoundReason::StepLimit => ("step-limit", "step"),
        BoundReason::Deadline => ("deadline", "time"),
        BoundReason::SpendLimit => ("spend-limit", "cost"),
        BoundReason::Repetition => ("repetition", "repetition"),
    };
    let text = concat(&["The agent stopped at its ", which, " limit before the job was done."]);
    Notice::remark(key, &text).offers(Some(NoticeAction::Continue))
}

/// Somebody wanted the turn to end.
fn aborted(message: &str, effects: Vec<Value>) -> RuntimeEvent {
    let message = message.to_owned();
    let reason = Reason::Cancelled;
    RuntimeEvent::RunError(RunError { message, reason, aborted: true, retryable: true, effects })
}
