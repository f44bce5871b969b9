//! The stored conversation, where a run's stream cannot tell how it went on: rows, end
//! and open calls are the store's.

use super::end::Ending;
use super::events::RunEnd;
use super::fault;
use super::inquiry::{Reply, Subject};
use super::open::stored_rows;
use super::state::{Phase, Turn};
use super::step::Step;
use super::stream::Stream;
use super::{Output, Protocol, Session};
use crate::Millis;
use crate::agui::Reading;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{Author, ChatMessage, RuntimeEvent};
use crate::json::Value;
use crate::view::Notice;

/// What the model is told of a call whose page is gone.
pub(super) const PAGE_GONE: &str =
    "The page that ran this call is gone. The outcome is unknown: it may or may not have acted.";

/// What the person is told while it is not.
pub(super) const ANOTHER_TAB: &str =
    "A tool of this conversation still runs in another tab. Go on there, or wait for it.";

impl Session {
    /// Reads what is stored of a turn whose stream is over.
    pub(super) fn read_stored(&mut self, turn: Box<Turn>, now: Millis) {
        let run_id = turn.run_id.clone();
        self.go_on(turn, Phase::Reading);
        self.inquire(Subject::Stored { run_id }, self.config.timing.request, now);
    }

    /// The answer to [`read_stored`](Self::read_stored).
    pub(super) fn stored_read(&mut self, run_id: &str, reply: Reply, now: Millis) {
        let Some((turn, phase)) = self.take_running() else { return };
        if turn.run_id != run_id || !matches!(phase, Phase::Reading) {
            return self.go_on(turn, phase);
        }
        match reply.result {
            Ok(body) if body.get("messages").is_some() => self.go_by_store(turn, &body, now),
            Ok(_) => self.lost(turn, None, fault::cut_off(), now),
            Err(_) if reply.status == 404 => self.unknown(turn, now),
            Err(error) if error.retryable => self.lost(turn, None, error, now),
            Err(error) => self.lose_track(turn, error, now),
        }
    }

    /// The server knows nothing of the run, or not how it ended.
    fn unknown(&mut self, turn: Box<Turn>, now: Millis) {
        let message = "The server no longer knows how this answer went on. Try again.";
        self.lose_track(turn, ErrorInfo::new(ErrorCode::Network, message), now);
    }

    /// The turn goes on, or ends, as the stored conversation says.
    pub(super) fn go_by_store(&mut self, mut turn: Box<Turn>, body: &Value, now: Millis) {
        if active_run(body).is_some_and(|run| run.str("runId") == Some(&turn.run_id)) {
            return self.lost(turn, None, fault::cut_off(), now);
        }
        self.found_again(&mut turn, now);
        if let Some(next) = next_elsewhere(&mut turn, body) {
            return self.follow(turn, next, now);
        }
        self.tell_started(&mut turn, None);
        self.take_stored(&mut turn, body);
        let mut stream = turn.link.stream.take().unwrap_or_else(|| self.new_stream(&turn));
        let open = body.get("openCalls").and_then(Value::as_array).unwrap_or_default();
        let own = open.first().is_none_or(|call| call.str("clientId") == Some(&self.config.client_id));
        if let Some(left) = (!own).then(|| self.ask_owner(body)).flatten() {
            turn.found = true;
            let until = now.saturating_add(self.config.timing.request);
            return self.go_on(turn, Phase::Elsewhere { left, until });
        }
        self.out.notice(None);
        if turn.found && !open.is_empty() {
            return self.unknown(turn, now);
        }
        for call in open {
            stream.note_open(call);
        }
        let end = body.get("lastRun").filter(|run| is_of(run, &turn)).and_then(|run| run.get("end"));
        let end = end.and_then(|end| Reading::new(end.clone()).ok());
        let end = match end {
            Some((end, _)) => self.apply(&mut turn, &mut stream, end, now),
            None => None,
        };
        let asks = asked(body);
        let waits = !open.is_empty() || asks.is_some();
        match end {
            Some(RunEnd::Finished { outcome, bound: None, effects })
                if !waits && self.leaves(&turn, &stream, outcome.as_ref()) =>
            {
                // Somebody else has closed what it left.
                self.end_turn(turn, Ending::Stopped { effects }, now);
            }
            Some(end) => self.run_ended(turn, *stream, end, now),
            None if waits => {
                let end = RunEnd::Finished { outcome: asks, bound: None, effects: Vec::new() };
                self.run_ended(turn, *stream, end, now);
            }
            None => match self.transcript.last_answer(turn.from).map(|row| row.status) {
                Some(None) => self.end_turn(turn, Ending::Finished { bound: None }, now),
                _ => self.unknown(turn, now),
            },
        }
    }

    /// Says why a card has closed by itself.
    pub(super) fn tell_decided(&mut self) {
        let text = "Somebody else has decided this already.";
        self.out.notice(Some(Notice::remark("decided", text)));
    }

    /// Another page has gone on with the turn: its next run is followed.
    fn follow(&mut self, mut turn: Box<Turn>, run_id: String, now: Millis) {
        self.out.notice(None);
        if turn.outvoted {
            self.tell_decided();
        }
        turn.run_id = run_id;
        turn.found = true;
        turn.run_from = 0;
        turn.renewed = false;
        turn.link.stream = Some(self.new_stream(&turn));
        self.request_run(turn, now);
    }

    /// The reading end of the turn's current run.
    pub(super) fn new_stream(&self, turn: &Turn) -> Box<Stream> {
        let run_id = match self.config.protocol {
            Protocol::Mindset => turn.run_id.clone(),
            Protocol::AgUi => String::new(),
        };
        Box::new(Stream::new(run_id))
    }

    fn leaves(&mut self, turn: &Turn, stream: &Stream, outcome: Option<&Value>) -> bool {
        let (calls, asks) = self.left_open(turn, stream, outcome);
        !calls.is_empty() || !asks.is_empty()
    }

    /// Asks for the page whose calls are open, if there are any; gives what is left of their step
    /// without it.
    #[inline(never)]
    pub(super) fn ask_owner(&mut self, body: &Value) -> Option<Box<Step>> {
        let owner = body.get("openCalls")?.as_array()?.first()?.str("clientId")?;
        self.out.push(Output::FindOwner(owner.to_owned()));
        Some(Box::new(Step::stored(body)))
    }

    /// It is known whether the page is gone that has the calls of a running turn.
    pub(super) fn owner_of_turn(&mut self, gone: bool, now: Millis) {
        let Some((turn, phase)) = self.take_running() else { return };
        match phase {
            Phase::Elsewhere { left, .. } if gone => {
                self.out.notice(None);
                self.show_asks(&left);
                self.step_on(turn, left, now);
            }
            phase => {
                if matches!(phase, Phase::Elsewhere { .. }) {
                    self.out.notice(Some(Notice::remark("another-tab", ANOTHER_TAB)));
                }
                self.go_on(turn, phase);
            }
        }
    }

    /// The rows as they are stored. What nobody has heard of the answer yet is told.
    fn take_stored(&mut self, turn: &mut Turn, body: &Value) {
        let stored = stored_rows(body).0;
        let rows = &self.transcript.rows;
        let asked = usize::from(rows.get(turn.from).is_some_and(|row| row.role == Author::User));
        let before = (turn.from + asked).checked_sub(1).and_then(|at| rows.get(at));
        let before = before.map(|row| row.id.clone());
        for message in stored.get(behind(&stored, before.as_deref())..).unwrap_or_default() {
            if message.role == Author::User {
                break;
            }
            let known = self.transcript.row(&message.id).map_or(0, |row| row.content.len());
            let rest = message.content.get(known..).unwrap_or("");
            if rest.is_empty() {
                continue;
            }
            let id = message.id.clone();
            self.out.runtime(match &message.widget {
                None => RuntimeEvent::TextDelta { message_id: id, content: rest.to_owned() },
                Some(widget) => RuntimeEvent::WidgetPayload { widget_id: id, widget: widget.clone() },
            });
        }
        self.merge(stored);
        turn.from = behind(&self.transcript.rows, before.as_deref()).saturating_sub(asked);
    }

    /// Puts the newest rows as they are stored in the place of those that are here. What
    /// the store does not have, and was never sent well, stays.
    pub(super) fn merge(&mut self, stored: Vec<ChatMessage>) {
        let has = |id: &str| stored.iter().any(|row| row.id == id);
        let rows = &mut self.transcript.rows;
        let known = rows.iter().position(|row| has(&row.id)).unwrap_or(rows.len());
        let here = rows.split_off(known);
        let mut same = here.len() == stored.len();
        for (new, old) in stored.iter().zip(&here) {
            same &= new.id == old.id && new.content == old.content && new.status == old.status;
            same &= new.widget == old.widget && new.feedback == old.feedback;
        }
        if same {
            return rows.extend(here);
        }
        let mut unsent = Vec::new();
        for row in here {
            if row.role == Author::User && row.status.is_some() && !has(&row.id) {
                unsent.push(row);
            }
        }
        rows.extend(stored);
        rows.extend(unsent);
        for line in &mut self.transcript.lines {
            line.behind = line.behind.min(rows.len());
        }
        self.draw_anew();
    }
}

fn is_of(run: &Value, turn: &Turn) -> bool {
    run.str("runId") == Some(&turn.run_id) || run.str("turnId") == Some(&turn.id)
}

/// The run with which another page has gone on with the turn; where somebody else has decided what
/// people were asked here, one that is over tells what came of it.
fn next_elsewhere(turn: &mut Turn, body: &Value) -> Option<String> {
    let overtaken = std::mem::take(&mut turn.overtaken);
    let run = active_run(body).or_else(|| body.get("lastRun").filter(|_| overtaken));
    let id = run.filter(|run| is_of(run, turn))?.str("runId")?;
    (id != turn.run_id).then(|| id.to_owned())
}

/// The run that is under way; one that waits has ended.
pub(super) fn active_run(body: &Value) -> Option<&Value> {
    let under_way = |run: &&Value| run.str("runId").is_some() && run.str("state") != Some("waiting");
    body.get("activeRun").filter(under_way)
}

/// What a run ended with that people are still asked.
fn asked(body: &Value) -> Option<Value> {
    let asks =
        body.get("openInterrupts").filter(|asks| asks.as_array().is_some_and(|asks| !asks.is_empty()))?;
    Some(Value::Object(crate::object! { "type": "interrupt", "interrupts": asks.clone() }))
}

/// The place behind the row `id`; without one, the first.
fn behind(rows: &[ChatMessage], id: Option<&str>) -> usize {
    let place = |id| rows.iter().position(|row| row.id == id).map_or(rows.len(), |at| at + 1);
    id.map_or(0, place)
}
