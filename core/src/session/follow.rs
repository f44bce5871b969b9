//! A turn whose message has waited on the server: its stream is read when the turn before it is
//! over, its message is shown when it begins, and it may never begin.

use super::line::{Place, Waiting};
use super::queue::Kept;
use super::state::{State, Turn};
use super::stream;
use super::{DomEvent, Protocol, Session, TurnResult, TurnStatus};
use crate::Millis;
use crate::agui::Reading;
use crate::event::{Author, RuntimeEvent};
use crate::json::Value;
use crate::view::{Activity, Patch};

impl Session {
    /// Whether something waits that can be read now. With a questionnaire open the server goes
    /// on with nothing.
    pub(super) fn line_goes_on(&self) -> bool {
        let goes_on = |waiting: &Waiting| waiting.place != Place::Paused;
        !self.line.is_empty() && self.transcript.paused.is_none() && self.line.iter().any(goes_on)
    }

    /// Reads what comes next, if nothing else is under way.
    pub(super) fn go_on_with_line(&mut self, now: Millis) {
        if matches!(self.state, State::Idle) && self.kept.is_empty() && self.line_goes_on() {
            self.take_turn(now);
        }
    }

    /// Takes the next message out of the line and reads its run.
    #[inline(never)]
    pub(super) fn take_turn(&mut self, now: Millis) {
        let order = [Place::Begun, Place::Steering, Place::Queued, Place::Sending];
        let first = |place: &Place| self.line.iter().position(|waiting| waiting.place == *place);
        let next = order.iter().find_map(first);
        let next = next.or_else(|| self.line.iter().position(|waiting| waiting.place != Place::Paused));
        let Some(at) = next else { return };
        if self.line.get(at).is_some_and(|waiting| waiting.place == Place::Again) {
            self.compose(at);
        }
        let Waiting { mut turn, place, .. } = self.line.remove(at);
        self.show_line();
        if place == Place::Unsent {
            let Turn { send, message, when_busy, .. } = *turn;
            return self.begin(Kept { send, message, shown: false, when_busy }, false, now);
        }
        self.transcript.failed = None;
        self.out.notice(None);
        if !self.transcript.suggestions.is_empty() {
            self.suggest(Vec::new());
        }
        self.out.event(DomEvent::Busy { run_id: turn.id.clone() });
        self.out.activity(Activity::Waiting);
        self.clear_rows(&mut turn);
        if turn.link.body.is_empty() {
            turn.found = true;
            turn.link.stream = Some(self.new_stream(&turn));
        }
        self.request_run(turn, now);
    }

    /// What is shown of the turn already comes anew from its stream, behind its message.
    fn clear_rows(&mut self, turn: &mut Turn) {
        let rows = &self.transcript.rows;
        let shown = rows.iter().rposition(|row| row.id == turn.message.id && !row.id.is_empty());
        turn.hidden = shown.is_none();
        turn.from = shown.unwrap_or(rows.len());
        if shown.is_some() {
            for id in self.transcript.remove_answers(turn.from) {
                self.out.patch(Patch::RemoveMessage { id });
            }
        }
        turn.run_from = self.transcript.rows.len();
    }

    /// Whether a turn may have to wait for its beginning, which is told then.
    pub(super) fn may_wait(&self, turn: &Turn) -> bool {
        let may = turn.when_busy.is_some() || self.config.call.is_some();
        may && turn.runs == 1 && self.config.protocol == Protocol::Mindset
    }

    /// Shows the message of a turn that has waited.
    pub(super) fn reveal(&mut self, turn: &mut Turn, now: Millis) {
        if !std::mem::take(&mut turn.hidden) {
            return;
        }
        turn.from = self.transcript.rows.len();
        let mut kept = Kept { send: None, message: turn.message.clone(), shown: false, when_busy: None };
        self.show(&mut kept, now);
        turn.run_from = self.transcript.rows.len();
    }

    /// The turn waits, at this place now.
    pub(super) fn queued(&mut self, turn: &mut Turn, value: &Value) {
        let position = value.get("position").and_then(Value::as_u64).unwrap_or_default();
        if !turn.announced && position > 0 && position != turn.queued {
            turn.queued = position;
            let run_id = turn.id.clone();
            self.out.runtime(RuntimeEvent::RunQueued { run_id, position });
        }
    }

    /// The turn that has waited, or might have, begins.
    pub(super) fn turn_begins(&mut self, turn: &mut Turn, event: &Reading, now: Millis) {
        if let Some(model) = event.get("value").and_then(|value| value.str("model")) {
            turn.model = Some(model.to_owned());
        }
        self.reveal(turn, now);
        self.tell_started(turn, Some(event));
    }

    /// The turn under way has read a message that waited.
    pub(super) fn steered(&mut self, value: &Value, now: Millis) {
        let (Some(run_id), Some(id)) = (value.str("runId"), value.str("messageId")) else { return };
        let waited = self.line.iter().position(|waiting| waiting.turn.run_id == run_id);
        if value.str("inputType") != Some("PSEUDO_HUMAN") {
            if let Some(at) = self.transcript.rows.iter().rposition(|row| row.id == id) {
                self.transcript.remove(at);
                self.out.patch(Patch::RemoveMessage { id: id.to_owned() });
            }
            let text = value.str("content").unwrap_or("").to_owned();
            self.transcript.add(id, Author::User, &text, now);
            self.out.patch(Patch::AddMessage { id: id.to_owned(), role: Author::User, text });
            if let Some(files) = value.get("files").cloned() {
                if let Some(row) = self.transcript.row(id) {
                    row.files = Some(files.clone());
                }
                self.out.patch(Patch::SetFiles { id: id.to_owned(), files });
            }
        }
        if let Some(at) = waited {
            let waiting = self.line.remove(at);
            self.show_line();
            self.settle_waiting(&waiting.turn, TurnStatus::Steered, None);
        }
    }

    /// The turn never began: another turn has read its message, or somebody has taken it away.
    pub(super) fn never_began(&mut self, mut turn: Box<Turn>, status: TurnStatus, now: Millis) {
        self.uncover(&mut turn);
        let result = TurnResult { text: None, ..self.result(&turn, status) };
        let send = turn.send;
        self.come_to_rest(send, result, false, now);
        if status == TurnStatus::Steered {
            self.look(now);
        }
    }

    /// A run that another page has posted is read, not posted.
    pub(super) fn read_waiting(&mut self, mut turn: Box<Turn>, now: Millis) {
        turn.found = true;
        turn.link.stream = Some(self.new_stream(&turn));
        self.request_run(turn, now);
    }
}

impl Turn {
    /// The same turn before its first run.
    pub(super) fn again(&self) -> Turn {
        let mut turn = Turn::new(None, self.id.clone(), self.message.clone(), 0);
        turn.news = vec![stream::message(&self.message.id, "user", &self.message.text)];
        turn.when_busy = self.when_busy;
        turn
    }
}
