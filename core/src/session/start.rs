//! Start-up: credentials, and another try when the server cannot be reached.

use super::exchange::{Arrival, Exchange};
use super::fault;
use super::request::Request;
use super::state::{Attempt, OpeningStage, Phase, SignIn, StartFailed, Starting, State};
use super::transcript::Transcript;
use super::{Config, DomEvent, FetchId, Output, Protocol, Session, Token};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::json;
use crate::view::{Activity, Notice, NoticeAction};

impl Session {
    /// Begins with `config`. What ran before is over and is heard of no more.
    pub(super) fn handle_start(&mut self, config: Config, now: Millis) {
        if !matches!(self.state, State::Unconfigured) {
            self.leave();
        }
        self.token = None;
        self.anonymous_key.clone_from(&config.anonymous_key);
        self.config = config;
        let attempt = self.first_attempt();
        if self.config.check().is_ok() {
            self.out.event(DomEvent::Initializing);
        }
        self.check_awareness();
        self.connect(attempt, now);
    }

    /// Tries to start at once, if start-up has failed.
    pub(super) fn handle_reconnect(&mut self, now: Millis) {
        if matches!(self.state, State::Failed(_)) {
            let attempt = self.first_attempt();
            self.connect(attempt, now);
        }
    }

    /// The page's answer to `NeedToken`.
    pub(super) fn handle_token(&mut self, result: Result<Token, ErrorInfo>, now: Millis) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Starting(starting) if matches!(starting.sign_in, SignIn::Page) => match result {
                Ok(token) => {
                    self.token = Some(token);
                    self.open(starting.attempt, now);
                }
                Err(error) => self.start_failed(error, starting.attempt, now),
            },
            State::Running(running) if matches!(running.phase, Phase::SignIn(SignIn::Page)) => {
                let result = result.map(|token| self.token = Some(token));
                self.credentials_renewed(running.turn, result, now);
            }
            other => self.state = other,
        }
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
        let sign_in = self.sign_in(false, now);
        self.state = State::Starting(Box::new(Starting { sign_in, attempt }));
    }

    /// Asks for credentials; `fresh` means that those at hand were refused.
    pub(super) fn sign_in(&mut self, fresh: bool, now: Millis) -> SignIn {
        if self.config.page_auth || self.config.protocol == Protocol::AgUi {
            self.out.push(Output::NeedToken { fresh });
            return SignIn::Page;
        }
        let request = Request::sign_in(&self.config, self.anonymous_key.as_deref());
        let fetch = self.out.fetch(request);
        SignIn::Server(Exchange::new(fetch, now.saturating_add(self.config.timing.request)))
    }

    pub(super) fn starting_arrival(
        &mut self,
        mut starting: Box<Starting>,
        fetch: FetchId,
        arrival: Arrival<'_>,
        now: Millis,
    ) {
        if let SignIn::Server(exchange) = &mut starting.sign_in
            && exchange.fetch == fetch
            && let Some(result) = exchange.take(arrival)
        {
            let refused = exchange.status == 401 && self.anonymous_key.is_some();
            return match self.signed_in(exchange, result) {
                Ok(()) => self.open(starting.attempt, now),
                // The key of an earlier page load may be too old: go on without it.
                Err(_) if refused => {
                    self.anonymous_key = None;
                    self.connect(starting.attempt, now);
                }
                Err(error) => self.start_failed(error, starting.attempt, now),
            };
        }
        self.state = State::Starting(starting);
    }

    /// Reads `{ authToken, anonymousKey }`.
    pub(super) fn signed_in(
        &mut self,
        exchange: &Exchange,
        result: Result<(), super::FetchFailure>,
    ) -> Result<(), ErrorInfo> {
        result.map_err(|failure| fault::unreachable(&failure))?;
        let body = json::parse(&json::lossy(&exchange.body)).unwrap_or_default();
        let token = body.str("authToken");
        let Some(token) = token.filter(|_| (200..300).contains(&exchange.status)) else {
            return Err(fault::refused(exchange.status, &exchange.content_type, &exchange.body));
        };
        self.token = Some(Token::new(token));
        let key = body.str("anonymousKey");
        if let Some(key) = key.filter(|key| self.anonymous_key.as_deref() != Some(key)) {
            self.anonymous_key = Some(key.to_owned());
            self.out.push(Output::StoreAnonymousKey(key.to_owned()));
        }
        Ok(())
    }

    /// Start-up failed: tells it once, and tries again by itself if that can help.
    pub(super) fn start_failed(&mut self, error: ErrorInfo, attempt: Attempt, now: Millis) {
        let timing = self.config.timing;
        let next = Attempt {
            pause: attempt.pause.saturating_mul(2).min(timing.backoff_max),
            told: Some(error.code),
            renewed: false,
        };
        let until = error.retryable.then(|| now.saturating_add(attempt.pause));
        self.state = State::Failed(Box::new(StartFailed { until, next }));
        if attempt.told != Some(error.code) {
            self.out.event(DomEvent::Error(error.clone()));
        }
        let action = (error.code != ErrorCode::InvalidConfig).then_some(NoticeAction::Reconnect);
        self.out.notice(Some(Notice { error: true, text: error.message.clone(), action }));
        if until.is_none() {
            self.out.activity(Activity::Starting);
            self.drop_kept(Some(&error));
        }
    }

    /// A first try, or one that somebody asked for.
    pub(super) fn first_attempt(&self) -> Attempt {
        Attempt { pause: self.config.timing.backoff, told: None, renewed: false }
    }

    pub(super) fn ready(&mut self, now: Millis) {
        self.out.notice(None);
        self.rest(now);
    }

    /// Ends everything that belongs to the configuration so far.
    fn leave(&mut self) {
        if let Some((fetch, _)) = self.ending.take() {
            self.out.abort(fetch);
        }
        self.abort_update();
        let mut over = None;
        let mut calls = None;
        let mut ended = false;
        match std::mem::take(&mut self.state) {
            State::Starting(starting) => self.abort_sign_in(&starting.sign_in),
            State::Opening(opening) => {
                if let OpeningStage::Reading(exchange) = opening.stage {
                    self.out.abort(exchange.fetch);
                }
            }
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
