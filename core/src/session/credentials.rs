//! Credentials: handed out by the page or by the server, renewed before their end and
//! after a refusal, one renewal at a time for everything that waits.

use super::end::Ending;
use super::exchange::{Arrival, Exchange};
use super::fault;
use super::request::Request;
use super::state::{Phase, State};
use super::{DomEvent, FetchFailure, FetchId, Output, Protocol, Session, Token};
use crate::Millis;
use crate::error::ErrorInfo;
use crate::json;
use crate::time;
use crate::view::{Notice, NoticeAction};

/// How renewing goes.
#[derive(Default)]
pub(super) struct Renewal {
    /// Counts the tokens, so that a request refused with an older one asks for no newer.
    pub(super) count: u32,
    stage: Stage,
    /// The pause after the last failure, in milliseconds.
    pause: u64,
    /// When it failed first since it last went well.
    failing: Option<Millis>,
}

enum Stage {
    /// Nobody is asked before this time; `None` if no time is known.
    Resting(Option<Millis>),
    /// The page was asked.
    Page,
    /// The server was asked.
    Server(Exchange),
}

impl Default for Stage {
    fn default() -> Stage {
        Stage::Resting(None)
    }
}

impl Session {
    /// Makes a request with today's credentials.
    pub(super) fn exchange(&mut self, request: Request, until: Millis) -> Exchange {
        let fetch = self.out.fetch(request.authorized(self.token.as_ref()));
        let mut exchange = Exchange::new(fetch, until);
        exchange.token = self.renewal.count;
        exchange
    }

    /// Whether other credentials can be had.
    pub(super) fn can_renew(&self) -> bool {
        self.token.is_some() || self.config.page_auth
    }

    /// A request was refused that went out with the token of this number. What waits
    /// for another one hears of it by [`credentials_there`](Self::credentials_there) or
    /// [`credentials_refused`](Self::credentials_refused), maybe at once.
    pub(super) fn renew(&mut self, refused: u32, now: Millis) {
        if refused != self.renewal.count && matches!(self.renewal.stage, Stage::Resting(_)) {
            return self.credentials_there(now);
        }
        self.sign_in(true, now);
    }

    /// Asks for credentials, unless that is under way; `fresh` means that those at hand
    /// will not do.
    pub(super) fn sign_in(&mut self, fresh: bool, now: Millis) {
        if !matches!(self.renewal.stage, Stage::Resting(_)) {
            return;
        }
        if self.config.page_auth || self.config.protocol == Protocol::AgUi {
            self.out.push(Output::NeedToken { fresh });
            self.renewal.stage = Stage::Page;
            return;
        }
        let request = Request::sign_in(&self.config, self.anonymous_key.as_deref());
        let fetch = self.out.fetch(request);
        let until = now.saturating_add(self.config.timing.request);
        self.renewal.stage = Stage::Server(Exchange::new(fetch, until));
    }

    /// Forgets the credentials: others are needed.
    pub(super) fn forget_credentials(&mut self) {
        self.token = None;
        self.rest_credentials();
        self.renewal.pause = 0;
        self.renewal.failing = None;
    }

    /// Nobody needs credentials for the time being.
    pub(super) fn rest_credentials(&mut self) {
        if let Stage::Server(exchange) = std::mem::take(&mut self.renewal.stage) {
            self.out.abort(exchange.fetch);
        }
    }

    /// The page's answer to `NeedToken`.
    pub(super) fn handle_token(&mut self, result: Result<Token, ErrorInfo>, now: Millis) {
        if matches!(self.renewal.stage, Stage::Page) {
            self.renewed(result, now);
        }
    }

    /// Takes what comes for the sign-in; whether it was for it.
    pub(super) fn sign_in_arrival(&mut self, fetch: FetchId, arrival: &Arrival<'_>, now: Millis) -> bool {
        let Stage::Server(exchange) = &mut self.renewal.stage else { return false };
        if exchange.fetch != fetch {
            return false;
        }
        let Some(result) = exchange.take(arrival.clone()) else { return true };
        let Stage::Server(exchange) = std::mem::take(&mut self.renewal.stage) else { return true };
        // The key of an earlier page load may be too old: a start goes on without it.
        let starting = matches!(self.state, State::Starting(_));
        if starting && exchange.status == 401 && self.anonymous_key.take().is_some() {
            self.sign_in(false, now);
            return true;
        }
        let result = self.signed_in(&exchange, result);
        self.renewed(result, now);
        true
    }

    /// Reads `{ authToken, expiresAt?, anonymousKey? }`.
    fn signed_in(
        &mut self,
        exchange: &Exchange,
        result: Result<(), FetchFailure>,
    ) -> Result<Token, ErrorInfo> {
        result.map_err(|failure| fault::unreachable(&failure))?;
        let body = json::parse(&json::lossy(&exchange.body)).unwrap_or_default();
        let token = body.str("authToken");
        let Some(token) = token.filter(|_| (200..300).contains(&exchange.status)) else {
            return Err(exchange.refusal());
        };
        let key = body.str("anonymousKey");
        if let Some(key) = key.filter(|key| self.anonymous_key.as_deref() != Some(key)) {
            self.anonymous_key = Some(key.to_owned());
            self.out.push(Output::StoreAnonymousKey(key.to_owned()));
        }
        Ok(Token::new(token).until(body.str("expiresAt").and_then(time::moment)))
    }

    fn renewed(&mut self, result: Result<Token, ErrorInfo>, now: Millis) {
        self.renewal.stage = Stage::Resting(None);
        match result {
            Ok(mut token) => {
                if matches!(self.state, State::Starting(_))
                    && let Some(id) = token.conversation_id.take()
                {
                    self.config.conversation_id = Some(id);
                }
                self.renewal.stage = Stage::Resting(self.renew_at(&token, now));
                self.token = Some(token);
                self.renewal.count = self.renewal.count.wrapping_add(1);
                self.renewal.pause = 0;
                if self.renewal.failing.take().is_some() {
                    self.out.notice(None);
                }
                self.credentials_there(now);
            }
            Err(error) => match self.state {
                State::Starting(attempt) => self.start_failed(error, attempt, now),
                _ => self.renewal_failed(error, now),
            },
        }
    }

    /// When a token is to be renewed: a while before its end, or after half of its life if
    /// that is short. One that is over by this clock may be good by the server's.
    fn renew_at(&self, token: &Token, now: Millis) -> Option<Millis> {
        let timing = self.config.timing;
        let rest = token.expires_at?.checked_sub(now).filter(|rest| *rest > 0)?;
        Some(now.saturating_add((rest - timing.renew.min(rest / 2)).max(timing.backoff)))
    }

    /// Tries again by itself while that can help: for what waits, or as long as the token
    /// is good still.
    fn renewal_failed(&mut self, error: ErrorInfo, now: Millis) {
        let timing = self.config.timing;
        let since = *self.renewal.failing.get_or_insert(now);
        let awaited = self.awaits_credentials();
        let may_last = if awaited {
            now.saturating_sub(since) < timing.give_up
        } else {
            self.token.as_ref().and_then(|token| token.expires_at).is_some_and(|end| end > now)
        };
        if error.retryable && may_last {
            self.renewal.pause =
                self.renewal.pause.saturating_mul(2).clamp(timing.backoff, timing.backoff_max);
            self.renewal.stage = Stage::Resting(Some(now.saturating_add(self.renewal.pause)));
            if awaited {
                let action = Some(NoticeAction::Reconnect);
                self.out.notice(Some(Notice::remark(error.code.as_str(), &error.message).offers(action)));
            }
            return;
        }
        self.renewal.failing = None;
        self.renewal.pause = 0;
        if awaited {
            self.credentials_refused(&error, now);
        } else if !error.retryable {
            self.out.event(DomEvent::Error(error));
        }
    }

    fn awaits_credentials(&self) -> bool {
        matches!(&self.state, State::Running(running) if matches!(running.phase, Phase::SignIn))
            || self.recancel.is_some()
            || self.inquiries_wait()
    }

    /// New credentials: everything that waits goes on.
    fn credentials_there(&mut self, now: Millis) {
        match std::mem::take(&mut self.state) {
            State::Starting(attempt) => self.open(attempt, now),
            State::Running(running) if matches!(running.phase, Phase::SignIn) => {
                self.post_again(running.turn, now);
            }
            other => self.state = other,
        }
        if let Some(run_id) = self.recancel.take() {
            let cancel = self.cancel(&run_id);
            if let State::Stopping(stopping) = &mut self.state
                && stopping.turn.run_id == run_id
            {
                stopping.cancel = Some(cancel);
            }
        }
        self.send_inquiries(now);
    }

    /// There will be none: everything that waits ends.
    fn credentials_refused(&mut self, error: &ErrorInfo, now: Millis) {
        self.recancel = None;
        match std::mem::take(&mut self.state) {
            State::Running(running) if matches!(running.phase, Phase::SignIn) => {
                self.end_turn(running.turn, Ending::failed(error.clone()), now);
            }
            other => self.state = other,
        }
        self.refuse_inquiries(error, now);
    }

    /// Somebody wants to know now: no pause.
    pub(super) fn hurry_credentials(&mut self, now: Millis) {
        if self.renewal.failing.is_some() {
            self.sign_in(true, now);
        }
    }

    /// When the renewal is due, or has taken too long. A page may ask a person before it
    /// answers, so only a server is waited for with a deadline.
    pub(super) fn renewal_deadline(&self) -> Option<Millis> {
        match &self.renewal.stage {
            Stage::Resting(due) => *due,
            Stage::Page => None,
            Stage::Server(exchange) => Some(exchange.until),
        }
    }

    pub(super) fn renewal_due(&mut self, now: Millis) {
        if self.renewal_deadline().is_none_or(|due| due > now) {
            return;
        }
        if matches!(self.renewal.stage, Stage::Resting(_)) {
            return self.sign_in(true, now);
        }
        self.rest_credentials();
        self.renewed(Err(fault::timed_out()), now);
    }
}
