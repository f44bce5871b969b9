//! Messages that wait on the server behind the turn under way: posted one after the other, kept in
//! the server's order, and changed by people until their turn begins or a turn has read them.

use super::inquiry::{Reply, Subject};
use super::queue::Kept;
use super::request::Request;
use super::state::{Phase, State, Turn};
use super::transcript::UserMessage;
use super::{DomEvent, FetchPurpose, Refused, SendId, Session, TurnResult, TurnStatus, fault, stream};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::RuntimeEvent;
use crate::json::Value;
use crate::queue::WhenBusy;
use crate::view::{Notice, Patch, QueuedMessage, QueuedState};

/// A message that waits.
pub(super) struct Waiting {
    /// The turn that it will be.
    pub(super) turn: Box<Turn>,
    pub(super) place: Place,
    /// Its place as listeners know it; 0 for none.
    position: u64,
}

/// How it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It was never posted.
    Unsent,
    /// To be posted once more, as it was or, after a restart of the server, with what the page
    /// has today.
    Again,
    /// Its post is on its way.
    Sending,
    /// It is a turn of its own, later.
    Queued,
    /// The turn under way reads it, or it comes next.
    Steering,
    /// It waits for a word of the person.
    Paused,
    /// It does not wait any more, and what became of it is in its log.
    Begun,
}

/// What a person does with messages that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueChange<'a> {
    /// It says something else.
    Edit(&'a str),
    /// It is not sent.
    Remove,
    /// The turn under way is to read it, or it begins.
    Now,
    /// All that is paused goes on.
    Resume,
}

/// What the server is asked about a message that waits.
pub(super) enum Wish {
    /// To take it.
    Take,
    /// To change its text.
    Edit(String),
    /// To give up its place; then it is sent at once, or not at all.
    Remove { now: bool },
}

impl Session {
    /// Lets a message wait behind the turn under way.
    pub(super) fn line_up(&mut self, kept: Kept, now: Millis) {
        let turn = self.waiting_turn(kept);
        self.line.push(Waiting { turn, place: Place::Unsent, position: 0 });
        self.show_line();
        self.send_line(now);
    }

    fn waiting_turn(&mut self, kept: Kept) -> Box<Turn> {
        let mut turn = Box::new(Turn::new(kept.send, self.ids.next_id(), kept.message, 0));
        turn.news = vec![stream::message(&turn.message.id, "user", &turn.message.text)];
        turn.when_busy = kept.when_busy;
        turn
    }

    /// Posts the next message that was not posted, one at a time so that they stay in order, and
    /// once the server knows of the turn that they wait for.
    pub(super) fn send_line(&mut self, now: Millis) {
        let State::Running(running) = &self.state else { return };
        let known = running.turn.started || running.turn.runs > 1;
        let posted = matches!(running.phase, Phase::Posted(_)) && running.turn.runs == 1;
        let is = |place| move |waiting: &Waiting| waiting.place == place;
        if !known || posted || self.line.iter().any(is(Place::Sending)) {
            return;
        }
        let due = |waiting: &Waiting| matches!(waiting.place, Place::Unsent | Place::Again);
        let Some(at) = self.line.iter().position(due) else { return };
        self.compose(at);
        let Some(waiting) = self.line.get_mut(at) else { return };
        waiting.place = Place::Sending;
        let run_id = waiting.turn.run_id.clone();
        self.line_retry = None;
        self.wish(run_id, Wish::Take, now);
    }

    /// Writes the body of a message that has none.
    pub(super) fn compose(&mut self, at: usize) {
        let offer = self.channels.offer();
        let Some(waiting) = self.line.get(at).filter(|waiting| waiting.turn.link.body.is_empty()) else {
            return;
        };
        let turn = Turn { offer, ..waiting.turn.again() };
        let body = self.run_input(&turn);
        if let Some(waiting) = self.line.get_mut(at) {
            waiting.turn.offer = turn.offer;
            waiting.turn.link.body = body;
        }
    }

    fn wish(&mut self, run_id: String, wish: Wish, now: Millis) {
        self.inquire(Subject::Line { run_id, wish }, self.config.timing.request, now);
    }

    /// The request behind a wish.
    pub(super) fn line_request(&self, run_id: &str, wish: &Wish) -> Request {
        let run = |method| Request::api(&self.config, FetchPurpose::Queue, method, &["runs", run_id]);
        match wish {
            Wish::Take => {
                let body = self.line.iter().find(|waiting| waiting.turn.run_id == run_id);
                let body = body.map(|waiting| waiting.turn.link.body.clone()).unwrap_or_default();
                Request::waiting_run(&self.config, body)
            }
            Wish::Edit(text) => run("PATCH").with_body(&crate::object! { "text": text }),
            Wish::Remove { .. } => run("DELETE"),
        }
    }

    /// The server has answered a wish, or will not.
    pub(super) fn line_replied(&mut self, run_id: &str, wish: Wish, reply: Reply, now: Millis) {
        if self.is_looking() {
            // What it was about to say may be from before.
            self.look(now);
        }
        let Some(at) = self.line.iter().position(|waiting| waiting.turn.run_id == run_id) else { return };
        match wish {
            Wish::Take => self.taken(at, reply, now),
            Wish::Edit(text) => self.edited(at, text, reply),
            Wish::Remove { now: at_once } => self.removed(at, at_once, reply, now),
        }
        self.show_line();
        self.send_line(now);
        self.go_on_with_line(now);
    }

    fn taken(&mut self, at: usize, reply: Reply, now: Millis) {
        let Some(waiting) = self.line.get_mut(at) else { return };
        let error = match reply.result {
            Ok(body) => {
                let steers = waiting.turn.when_busy == Some(WhenBusy::Steer);
                waiting.place = match body.str("state") {
                    Some("queued") if steers => Place::Steering,
                    Some("queued") => Place::Queued,
                    _ => Place::Begun,
                };
                let position = body.get("position").and_then(Value::as_u64).unwrap_or_default();
                self.tell_position(at, position);
                return self.tell_pages();
            }
            Err(error) => error,
        };
        // Nobody knows whether the server has it, or it cannot say so now.
        if matches!(reply.status, 0 | 408 | 500..) {
            waiting.place = Place::Again;
            self.line_retry = Some(now.saturating_add(self.config.timing.backoff_max));
            return;
        }
        if error.code == ErrorCode::Conflict {
            // It waits there, posted by another page.
            waiting.place = Place::Queued;
            return;
        }
        let waiting = self.line.remove(at);
        self.hand_back(&waiting.turn.message, &error);
        self.settle_waiting(&waiting.turn, TurnStatus::Error, Some(error));
    }

    /// What could not be sent comes back to the person.
    fn hand_back(&mut self, message: &UserMessage, error: &ErrorInfo) {
        if !message.silent {
            let notice = Notice::remark(error.code.as_str(), &error.message);
            self.out.notice(Some(Notice { error: true, ..notice }));
            self.out.patch(Patch::GiveBack { text: message.text.clone() });
        }
    }

    fn edited(&mut self, at: usize, text: String, reply: Reply) {
        match reply.result {
            Ok(_) => {
                if let Some(waiting) = self.line.get_mut(at) {
                    waiting.turn.message.text = text;
                }
                self.tell_pages();
            }
            Err(error) => self.not_changed(at, &error),
        }
    }

    fn removed(&mut self, at: usize, at_once: bool, reply: Reply, now: Millis) {
        if let Err(error) = &reply.result
            && reply.status != 404
        {
            return self.not_changed(at, error);
        }
        let Waiting { turn, .. } = self.line.remove(at);
        if !at_once {
            self.settle_waiting(&turn, TurnStatus::Aborted, None);
        } else {
            self.send_now(*turn, now);
        }
        self.tell_pages();
    }

    /// The run of this turn is not there: its message goes before all others.
    fn send_now(&mut self, turn: Turn, now: Millis) {
        let Turn { send, message, .. } = turn;
        let kept = Kept { send, message, shown: false, when_busy: Some(WhenBusy::Steer) };
        if matches!(self.state, State::Idle) {
            return self.begin(kept, false, now);
        }
        let turn = self.waiting_turn(kept);
        self.line.insert(0, Waiting { turn, place: Place::Unsent, position: 0 });
    }

    /// It has begun meanwhile, or could not be reached.
    fn not_changed(&mut self, at: usize, error: &ErrorInfo) {
        if error.code == ErrorCode::Conflict
            && let Some(waiting) = self.line.get_mut(at)
        {
            waiting.place = Place::Begun;
        }
        self.out.notice(Some(Notice::remark(error.code.as_str(), &fault::said(&error.message))));
    }

    /// A person changes what waits.
    ///
    /// # Errors
    /// It does not wait, or its text is none.
    #[inline(never)]
    pub(super) fn handle_queue(
        &mut self,
        run_id: &str,
        change: QueueChange<'_>,
        now: Millis,
    ) -> Result<(), Refused> {
        if change == QueueChange::Resume {
            self.inquire(Subject::Resume, self.config.timing.request, now);
            return Ok(());
        }
        if let QueueChange::Edit(text) = change {
            super::queue::check_text(text)?;
        }
        let waits = |waiting: &Waiting| waiting.turn.run_id == run_id && waiting.may_change();
        let Some(at) = self.line.iter().position(waits) else {
            let message = "This message does not wait any more: it was sent, or is on its way.";
            return Err(ErrorInfo::new(ErrorCode::NotFound, message));
        };
        if self.line.get(at).is_some_and(|waiting| waiting.place == Place::Unsent) {
            self.change_unsent(at, change, now);
            self.show_line();
            return Ok(());
        }
        let wish = match change {
            QueueChange::Edit(text) => Wish::Edit(text.to_owned()),
            QueueChange::Remove => Wish::Remove { now: false },
            QueueChange::Now | QueueChange::Resume => Wish::Remove { now: true },
        };
        self.wish(run_id.to_owned(), wish, now);
        Ok(())
    }

    /// The server knows nothing of it yet.
    fn change_unsent(&mut self, at: usize, change: QueueChange<'_>, now: Millis) {
        let Waiting { mut turn, .. } = self.line.remove(at);
        match change {
            QueueChange::Remove => return self.settle_waiting(&turn, TurnStatus::Aborted, None),
            QueueChange::Now | QueueChange::Resume => return self.send_now(*turn, now),
            QueueChange::Edit(text) => text.clone_into(&mut turn.message.text),
        }
        turn.news = vec![stream::message(&turn.message.id, "user", &turn.message.text)];
        self.line.insert(at, Waiting { turn, place: Place::Unsent, position: 0 });
    }

    /// What was paused goes on, or could not.
    pub(super) fn queue_resumed(&mut self, reply: Reply, now: Millis) {
        match reply.result {
            Ok(body) => {
                self.sync_line(&body);
                // Those of an earlier process of the server begin when they are posted again.
                for waiting in &mut self.line {
                    if waiting.place == Place::Paused {
                        waiting.place = Place::Again;
                    }
                }
                self.tell_pages();
            }
            Err(error) => self.out.notice(Some(Notice::remark(error.code.as_str(), &error.message))),
        }
        self.show_line();
        self.send_line(now);
        self.go_on_with_line(now);
    }

    /// Takes on what the server says that waits in the conversation.
    pub(super) fn sync_line(&mut self, body: &Value) {
        let Some(list) = body.get("queue").and_then(Value::as_array) else { return };
        let mut known = std::mem::take(&mut self.line);
        for item in list {
            let Some(run_id) = item.str("runId") else { continue };
            let at = known.iter().position(|waiting| waiting.turn.run_id == run_id);
            let mut waiting = match at {
                Some(at) => known.remove(at),
                None => Waiting::stored(run_id, item),
            };
            if matches!(waiting.place, Place::Queued | Place::Steering | Place::Paused) {
                waiting.place = place(item.str("state"));
                item.str("text").unwrap_or("").clone_into(&mut waiting.turn.message.text);
            }
            self.line.push(waiting);
        }
        for mut waiting in known {
            match waiting.place {
                Place::Unsent | Place::Again | Place::Sending => {}
                // Who sent it here hears how it ended.
                _ if waiting.turn.send.is_some() => waiting.place = Place::Begun,
                _ => continue,
            }
            self.line.push(waiting);
        }
        self.show_line();
    }

    /// Shows what waits.
    pub(super) fn show_line(&mut self) {
        let shown = self.shown_line();
        self.out.line(shown);
    }

    pub(super) fn shown_line(&self) -> Vec<QueuedMessage> {
        let mut shown = Vec::new();
        for waiting in &self.line {
            let state = match waiting.place {
                _ if waiting.turn.message.silent => continue,
                Place::Begun => continue,
                Place::Unsent | Place::Again | Place::Sending => QueuedState::Sending,
                Place::Queued => QueuedState::Queued,
                Place::Steering => QueuedState::Steering,
                Place::Paused => QueuedState::Paused,
            };
            let turn = &waiting.turn;
            let (run_id, text) = (turn.run_id.clone(), turn.message.text.clone());
            shown.push(QueuedMessage { run_id, text, state, is_fixed: !waiting.may_change() });
        }
        shown
    }

    fn tell_position(&mut self, at: usize, position: u64) {
        let Some(waiting) = self.line.get_mut(at) else { return };
        if position > 0 && position != waiting.position {
            waiting.position = position;
            waiting.turn.queued = position;
            let run_id = waiting.turn.id.clone();
            self.out.event(DomEvent::Runtime(RuntimeEvent::RunQueued { run_id, position }));
        }
    }

    /// The turn under way was stopped: what waits behind it waits for a word of the person.
    pub(super) fn pause_line(&mut self, now: Millis) {
        if self.line.is_empty() {
            return;
        }
        for waiting in &mut self.line {
            if matches!(waiting.place, Place::Queued | Place::Steering) {
                waiting.place = Place::Paused;
            }
        }
        self.show_line();
        self.look(now);
    }

    /// The person says something new: what was paused goes on behind it.
    pub(super) fn release_line(&mut self) {
        for waiting in &mut self.line {
            if waiting.place == Place::Paused {
                waiting.place = Place::Again;
            }
        }
        self.show_line();
    }

    /// The conversation is left. What waits in it goes on there.
    pub(super) fn drop_line(&mut self) {
        for waiting in std::mem::take(&mut self.line) {
            self.settle_waiting(&waiting.turn, TurnStatus::Aborted, None);
        }
        self.line_retry = None;
        self.show_line();
    }

    /// Settles the promise of a message whose turn did not begin.
    pub(super) fn settle_waiting(&mut self, turn: &Turn, status: TurnStatus, error: Option<ErrorInfo>) {
        let conversation_id = self.transcript.thread_id.clone().unwrap_or_default();
        let run_id = turn.id.clone();
        let result =
            TurnResult { status, text: None, conversation_id, run_id, error, bound: None, pending: None };
        if let Some(SendId(id)) = turn.send {
            self.out.settle(SendId(id), result);
        }
    }
}

impl Waiting {
    /// One that another page load has posted.
    fn stored(run_id: &str, item: &Value) -> Waiting {
        let message = UserMessage {
            id: item.str("messageId").unwrap_or("").to_owned(),
            text: item.str("text").unwrap_or("").to_owned(),
            silent: item.str("inputType") == Some("PSEUDO_HUMAN"),
            files: None,
        };
        let mut turn = Box::new(Turn::new(None, run_id.to_owned(), message, 0));
        turn.when_busy = Some(WhenBusy::Queue);
        Waiting { turn, place: Place::Queued, position: 0 }.at(item)
    }

    fn at(mut self, item: &Value) -> Waiting {
        self.place = place(item.str("state"));
        self
    }

    /// Whether nothing is on its way about it.
    fn may_change(&self) -> bool {
        !matches!(self.place, Place::Sending | Place::Again | Place::Begun)
    }
}

fn place(state: Option<&str>) -> Place {
    match state {
        Some("paused") => Place::Paused,
        Some("steering") => Place::Steering,
        _ => Place::Queued,
    }
}
