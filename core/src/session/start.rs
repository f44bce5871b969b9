//! Start-up, and another try when the server cannot be reached.

use super::state::{Attempt, Opened, Phase, StartFailed, State};
use super::transcript::Transcript;
use super::{Config, DomEvent, Protocol, Session};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::view::{Activity, Notice, NoticeAction};

impl Session {
    /// Begins with `config`. What ran before is over and is heard of no more.
    pub(super) fn handle_start(&mut self, config: Config, now: Millis) {
        if !matches!(self.state, State::Unconfigured) {
            self.leave();
        }
        self.forget_credentials();
        self.anonymous_key.clone_from(&config.anonymous_key);
        self.config = config;
        self.history = Opened::By(now.saturating_add(self.config.timing.history));
        self.was_idle = false;
        let attempt = self.first_attempt();
        if self.config.check().is_ok() {
            self.out.event(DomEvent::Initializing);
        }
        self.check_awareness();
        self.connect(attempt, now);
    }

    /// Does at once what waits for its next try.
    pub(super) fn handle_reconnect(&mut self, now: Millis) {
        if matches!(self.state, State::Failed(_)) {
            let attempt = self.first_attempt();
            self.connect(attempt, now);
        }
        self.hurry_credentials(now);
        self.read_unread(now);
    }

    /// Tries to start.
    pub(super) fn connect(&mut self, attempt: Attempt, now: Millis) {
        if let Err(error) = self.config.check() {
            return self.start_failed(error, attempt, now);
        }
        self.out.activity(Activity::Starting);
        if self.config.protocol == Protocol::AgUi && !self.config.page_auth {
            return self.open(attempt, now);
        }
        self.state = State::Starting(attempt);
        self.sign_in(false, now);
    }

    /// Start-up failed: tells it once, and tries again by itself if that can help.
    pub(super) fn start_failed(&mut self, error: ErrorInfo, attempt: Attempt, now: Millis) {
        let timing = self.config.timing;
        let next = Attempt {
            pause: attempt.pause.saturating_mul(2).min(timing.backoff_max),
            told: Some(error.code),
        };
        self.rest_credentials();
        let until = error.retryable.then(|| now.saturating_add(attempt.pause));
        self.state = State::Failed(Box::new(StartFailed { until, next }));
        if attempt.told != Some(error.code) {
            self.out.event(DomEvent::Error(error.clone()));
        }
        let action = (error.code != ErrorCode::InvalidConfig).then_some(NoticeAction::Reconnect);
        let notice = Notice::remark(error.code.as_str(), &error.message).offers(action);
        self.out.notice(Some(Notice { error: true, ..notice }));
        if until.is_none() {
            self.out.activity(Activity::Starting);
            self.drop_kept(Some(&error));
            if matches!(self.history, Opened::By(_)) {
                self.history = Opened::By(now);
                self.history_due(now);
            }
        }
    }

    /// A first try, or one that somebody asked for.
    pub(super) fn first_attempt(&self) -> Attempt {
        Attempt { pause: self.config.timing.backoff, told: None }
    }

    /// A conversation is there: idle, or the first message that waits.
    pub(super) fn ready(&mut self, now: Millis) {
        self.out.notice(None);
        if self.was_idle && !self.goes_on() {
            // Nothing ran meanwhile, so that idle is nothing new.
            self.state = State::Idle;
            return;
        }
        self.rest(now);
    }

    /// Ends everything that belongs to the configuration so far.
    #[inline(never)]
    fn leave(&mut self) {
        if let Some((fetch, _)) = self.ending.take() {
            self.out.abort(fetch);
        }
        self.leave_inquiries();
        self.recancel = None;
        let mut over = None;
        let mut calls = None;
        let mut ended = false;
        match std::mem::take(&mut self.state) {
            State::Running(running) => {
                self.abort_phase(&running.phase);
                over = Some(running.turn);
                if let Phase::Calling(step) = running.phase {
                    calls = Some(step);
                }
            }
            State::Stopping(stopping) => {
                self.out.abort(stopping.fetch);
                over = Some(stopping.turn);
            }
            State::Resting => ended = true,
            _ => {}
        }
        self.drop_kept(None);
        if !self.line.is_empty() {
            self.drop_line();
        }
        let unheard = self.out.leave(ended);
        if let Some(mut turn) = over {
            if let Some(step) = calls.filter(|_| !unheard) {
                self.end_calls(&mut turn, *step, false, self.now);
            }
            self.left(&mut turn, unheard);
        }
        self.transcript = Transcript::default();
    }
}
