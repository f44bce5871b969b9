//! Deadlines: what is waited for, and what happens when it does not come.

use super::Session;
use super::call::Stage;
use super::end::Ending;
use super::state::{OpeningStage, Phase, State};
use super::step::Step;
use crate::Millis;

impl Session {
    pub(super) fn next_deadline(&self) -> Option<Millis> {
        let ending = self.ending.map(|(_, until)| until);
        let due = earlier(self.inquiry_deadline(), self.renewal_deadline());
        let due = earlier(due, self.history_deadline());
        let due = earlier(due, self.line_retry);
        earlier(earlier(ending, self.state_deadline()), due)
    }

    fn state_deadline(&self) -> Option<Millis> {
        match &self.state {
            State::Opening(opening) => match &opening.stage {
                OpeningStage::Reading | OpeningStage::Changing => None,
                OpeningStage::Owner { until, .. } => Some(*until),
            },
            State::Failed(failed) => failed.until,
            State::Running(running) => match &running.phase {
                Phase::SignIn | Phase::Reading => None,
                Phase::Posted(exchange) | Phase::Clearing(exchange) => Some(exchange.until),
                Phase::Streaming { until, .. } | Phase::Broken { until } | Phase::Elsewhere { until, .. } => {
                    Some(*until)
                }
                Phase::Calling(step) => step_deadline(step),
            },
            State::Stopping(stopping) => Some(stopping.until),
            State::Unconfigured | State::Starting(_) | State::Resting | State::Idle => None,
        }
    }

    pub(super) fn handle_tick(&mut self, now: Millis) {
        if let Some((fetch, _)) = self.ending.take_if(|(_, until)| *until <= now) {
            self.out.abort(fetch);
        }
        self.inquiries_due(now);
        self.renewal_due(now);
        self.history_due(now);
        if self.line_retry.take_if(|due| *due <= now).is_some() {
            self.send_line(now);
        }
        if self.state_deadline().is_none_or(|until| until > now) {
            return;
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Opening(opening) => self.opening_timed_out(opening, now),
            State::Failed(failed) => self.connect(failed.next, now),
            State::Running(running) => self.phase_timed_out(*running, now),
            State::Stopping(stopping) => {
                self.out.abort(stopping.fetch);
                if stopping.again {
                    self.cancel(&stopping.turn.run_id);
                }
                self.transcript.given_up = Some(stopping.turn.run_id.clone());
                self.end_turn(stopping.turn, Ending::Stopped { effects: Vec::new() }, now);
            }
            other => self.state = other,
        }
    }
}

/// The page has its time; a person has all the time in the world.
fn step_deadline(step: &Step) -> Option<Millis> {
    let mut due = step.look;
    for call in &step.calls {
        if let Stage::Running { until, .. } | Stage::Wording { until, .. } = call.stage {
            due = earlier(due, Some(until));
        }
    }
    due
}

fn earlier(a: Option<Millis>, b: Option<Millis>) -> Option<Millis> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
