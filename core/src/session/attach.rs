//! A run that another page load has begun: its stream is read from the beginning, as if
//! it were this page's own, but for the promise.

use super::inquiry::{Reply, Subject};
use super::open::stored_rows;
use super::state::{Phase, State, Turn};
use super::step::Step;
use super::stored::active_run;
use super::transcript::UserMessage;
use super::{DomEvent, Protocol, Session};
use crate::Millis;
use crate::event::Author;
use crate::json::Value;
use crate::view::{Activity, Patch};

impl Session {
    /// Follows a run of this conversation that is under way: the rows are those that are
    /// stored, and idle comes with the turn's end.
    pub(super) fn attach(&mut self, run_id: &str, turn_id: &str, now: Millis) {
        let turn = self.found_turn(run_id, turn_id);
        self.request_run(turn, now);
    }

    /// The turn of a run that another page load has begun.
    pub(super) fn found_turn(&mut self, run_id: &str, turn_id: &str) -> Box<Turn> {
        if let Some(mut step) = self.transcript.paused.take() {
            self.end_asks(&mut step, true);
        }
        self.transcript.failed = None;
        self.out.notice(None);
        let id = if turn_id.is_empty() { run_id } else { turn_id };
        self.out.event(DomEvent::Busy { run_id: id.to_owned() });
        self.hide_kept();
        let message = UserMessage { id: String::new(), text: String::new(), silent: false, files: None };
        let mut turn = Box::new(Turn::new(None, id.to_owned(), message, self.transcript.rows.len()));
        run_id.clone_into(&mut turn.run_id);
        turn.found = true;
        self.include_message(&mut turn);
        turn.link.stream = Some(self.new_stream(&turn));
        self.out.activity(Activity::Waiting);
        turn
    }

    /// The message that a found turn answers stands right before its rows.
    fn include_message(&self, turn: &mut Turn) {
        let before = turn.from.checked_sub(1).and_then(|at| self.transcript.rows.get(at));
        turn.from -= usize::from(before.is_some_and(|row| row.role == Author::User));
    }

    /// A stored message of a found run begins anew: its row makes place for what comes.
    pub(super) fn make_place(&mut self, turn: &mut Turn, id: &str) {
        let Some(at) = self.transcript.rows.iter().rposition(|row| row.id == id) else { return };
        self.transcript.remove(at);
        self.out.patch(Patch::RemoveMessage { id: id.to_owned() });
        if at < turn.from {
            turn.from -= 1;
            self.include_message(turn);
        }
    }

    /// Something of this conversation has changed in another page.
    #[inline(never)]
    pub(super) fn handle_changed(&mut self, now: Millis) {
        if self.transcript.thread_id.is_none() || self.config.protocol == Protocol::AgUi {
            return;
        }
        match &mut self.state {
            State::Idle => self.look(now),
            State::Running(running) => {
                if let Phase::Elsewhere { until, .. } = &mut running.phase {
                    *until = now;
                    self.handle_tick(now);
                } else {
                    self.look(now);
                }
            }
            _ => {}
        }
    }

    /// Reads the messages from before, if they could not be read yet.
    pub(super) fn read_unread(&mut self, now: Millis) {
        if self.transcript.unread && !self.is_looking() {
            self.inquire(Subject::Look, self.config.timing.history, now);
        }
    }

    /// What people are asked here may be answered somewhere else.
    pub(super) fn look_for_answers(&mut self, now: Millis) {
        if self.is_asking() && self.config.protocol == Protocol::Mindset {
            self.look(now);
        }
    }

    /// Looks at the conversation as it is now.
    pub(super) fn look(&mut self, now: Millis) {
        self.stop_looking();
        self.inquire(Subject::Look, self.config.timing.request, now);
    }

    /// The conversation as another page has changed it, or as it could not be read before.
    /// A turn that runs here meanwhile finds out for itself, and a look that fails is no
    /// harm.
    pub(super) fn looked(&mut self, reply: Reply, now: Millis) {
        let (idle, unread) = (matches!(self.state, State::Idle), self.transcript.unread);
        let body = match reply.result {
            Ok(body) if body.get("messages").is_some() => body,
            Err(_) if reply.status == 404 => {
                self.transcript.unread = false;
                // Another page has deleted it.
                if idle && self.transcript.announced && !unread {
                    self.begin_new();
                }
                return;
            }
            _ if unread => return self.notice_unread(),
            _ => return,
        };
        self.sync_line(&body);
        self.close_stale(&body, now);
        if unread {
            self.transcript.unread = false;
            self.show_earlier(&body);
        } else if idle {
            self.merge(stored_rows(&body).0);
        }
        if !idle {
            return;
        }
        if unread {
            self.out.notice(None);
        }
        let named = |run: &Value| {
            let turn = run.str("turnId").unwrap_or("");
            Some((run.str("runId")?.to_owned(), turn.to_owned()))
        };
        if let Some((run, turn)) = active_run(&body).and_then(named) {
            if self.line.iter().any(|waiting| waiting.turn.run_id == run) {
                return self.go_on_with_line(now);
            }
            self.attach(&run, &turn, now);
        } else if let Some(owner) = body.get("openCalls").and_then(|calls| calls.as_array()?.first())
            && owner.str("clientId") != Some(&self.config.client_id)
            && let Some((run, turn)) = body.get("lastRun").and_then(named)
        {
            let turn = self.found_turn(&run, &turn);
            self.go_by_store(turn, &body, now);
        } else if self.transcript.paused.is_none() {
            let step = Step::stored(&body);
            if step.calls.is_empty() && !step.asks.is_empty() {
                self.take_up_asks(Box::new(step), now);
            }
        }
        self.go_on_with_line(now);
    }
}
