//! A connection that broke under a run: the rest of its stream is asked for again, or a
//! post that nobody answered is posted once more.

use super::exchange::CONVERSATION_LIMIT;
use super::request::Request;
use super::state::{Phase, State, Turn};
use super::stream::Stream;
use super::{Connection, DomEvent, Protocol, Session, fault};
use crate::Millis;
use crate::error::ErrorInfo;
use crate::view::{Notice, NoticeAction};

/// So many tries at least before a run is given up.
const MIN_TRIES: u32 = 3;

/// How the connection of a turn's current run stands.
#[derive(Default)]
pub(super) struct Link {
    /// The body of the run, posted again as it is while nobody answers.
    pub(super) body: String,
    /// A post got no answer: the server may have the run.
    pub(super) doubtful: bool,
    /// What was read so far, while nothing is open: the rest is asked for.
    pub(super) stream: Option<Box<Stream>>,
    /// Since when nothing is open, as far as it is not added up in `spent`.
    since: Option<Millis>,
    /// Milliseconds without a connection so far, those without a network aside.
    spent: u64,
    /// Tries since something came last.
    tries: u32,
    /// What stood in the place of the notice about the connection.
    covered: Option<Notice>,
}

impl Link {
    /// Of a run that is posted now.
    pub(super) fn new(body: String) -> Link {
        Link { body, ..Link::default() }
    }

    /// Whether it is broken.
    pub(super) fn is_broken(&self) -> bool {
        self.since.is_some()
    }

    /// Whether the server may be at work on the run.
    pub(super) fn may_run(&self) -> bool {
        self.doubtful || self.stream.is_some()
    }

    /// Something new came of the run.
    pub(super) fn goes_on(&mut self) {
        self.tries = 0;
        self.spent = 0;
    }

    fn add_up(&mut self, online: bool, now: Millis) {
        if let Some(since) = &mut self.since {
            let time = now.saturating_sub(std::mem::replace(since, now));
            self.spent = self.spent.saturating_add(if online { time } else { 0 });
        }
    }
}

impl Session {
    /// The connection of the run broke; what was read of the run is `stream`, if anything.
    /// It is tried again at once and then after ever longer pauses.
    pub(super) fn lost(
        &mut self,
        mut turn: Box<Turn>,
        stream: Option<Box<Stream>>,
        error: ErrorInfo,
        now: Millis,
    ) {
        let goes_on = stream.as_ref().is_none_or(|stream| stream.can_go_on());
        if self.config.protocol == Protocol::AgUi || !goes_on {
            if let Some(stream) = stream {
                self.remember(*stream);
            }
            return self.give_up(turn, error, now);
        }
        if let Some(mut stream) = stream {
            stream.reopen();
            turn.link.stream = Some(stream);
        }
        let link = &mut turn.link;
        link.doubtful |= link.stream.is_none();
        link.add_up(self.online, now);
        if link.tries >= MIN_TRIES && link.spent >= self.config.timing.give_up {
            self.out.event(DomEvent::Error(error.clone()));
            return self.give_up(turn, error, now);
        }
        if link.since.is_none() {
            link.since = Some(now);
            link.covered = self.out.covered();
        }
        self.tell_broken();
        if turn.link.tries == 0 {
            return self.try_again(turn, now);
        }
        let timing = self.config.timing;
        let pause = timing.backoff.saturating_mul(1 << (turn.link.tries - 1).min(20)).min(timing.backoff_max);
        let until = now.saturating_add(self.part_of(pause));
        self.go_on(turn, Phase::Broken { until });
    }

    /// Up to `pause`, by chance: pages that lost the same server must not come back to it
    /// in step.
    fn part_of(&mut self, pause: u64) -> u64 {
        let mut number = 0u64;
        for byte in self.ids.next_id().bytes() {
            number = number.wrapping_mul(31).wrapping_add(byte.into());
        }
        number % pause.saturating_add(1).max(1)
    }

    /// Asks for the rest of the run's stream, or posts the run once more.
    pub(super) fn try_again(&mut self, mut turn: Box<Turn>, now: Millis) {
        turn.link.tries = turn.link.tries.saturating_add(1);
        turn.renewed = false;
        self.request_run(turn, now);
    }

    /// Makes the request whose answer is the run's stream.
    pub(super) fn request_run(&mut self, turn: Box<Turn>, now: Millis) {
        // One stream at a time: the one before has said its end.
        if let Some((fetch, _)) = self.ending.take() {
            self.out.abort(fetch);
        }
        let request = match &turn.link.stream {
            Some(stream) => Request::events(&self.config, &turn.run_id, stream.position()),
            None => Request::run(&self.config, turn.link.body.clone()),
        };
        let mut exchange = self.exchange(request, now.saturating_add(self.config.timing.request));
        exchange.limit = CONVERSATION_LIMIT;
        self.go_on(turn, Phase::Posted(exchange));
    }

    /// The server is there again.
    pub(super) fn found_again(&mut self, turn: &mut Turn, now: Millis) {
        turn.link.add_up(self.online, now);
        self.uncover(turn);
        self.connection(Connection::Online);
    }

    /// Takes the notice about the connection away.
    pub(super) fn uncover(&mut self, turn: &mut Turn) {
        if turn.link.since.take().is_some() {
            self.out.notice(turn.link.covered.take());
        }
    }

    fn tell_broken(&mut self) {
        let (state, key, text) = if self.online {
            (Connection::Reconnecting, "reconnecting", "The connection was lost. Reconnecting…")
        } else {
            (Connection::Offline, "offline", "There is no network. Waiting for it…")
        };
        self.connection(state);
        self.out.notice(Some(Notice::remark(key, text).offers(Some(NoticeAction::Reconnect))));
    }

    fn connection(&mut self, state: Connection) {
        if self.connection != state {
            self.connection = state;
            self.out.event(DomEvent::Connection(state));
        }
    }

    /// The browser found or lost its network.
    #[inline(never)]
    pub(super) fn handle_online(&mut self, online: bool, now: Millis) {
        let gained = online && !self.online;
        let mut broken = false;
        if let State::Running(running) = &mut self.state {
            running.turn.link.add_up(self.online, now);
            broken = running.turn.link.is_broken();
        }
        self.online = online;
        if gained {
            if !self.check_line(true, now) {
                self.connection(Connection::Online);
            }
            self.handle_reconnect(now);
        } else if !online && broken {
            self.tell_broken();
        } else if !online {
            self.connection(Connection::Offline);
        }
    }

    /// The page woke: a stream that should have spoken is opened again.
    #[inline(never)]
    pub(super) fn handle_wake(&mut self, now: Millis) {
        self.check_line(false, now);
        self.look_for_answers(now);
    }

    /// Tries a broken connection now, and one that is in doubt: one that was silent for
    /// long or, with `all`, any. Whether something is tried.
    pub(super) fn check_line(&mut self, all: bool, now: Millis) -> bool {
        let timing = self.config.timing;
        let (heartbeat, runtime) = (timing.heartbeat, self.config.protocol == Protocol::Mindset);
        let silent = |until: Millis, limit: u64| {
            all || now.saturating_add(limit).saturating_sub(until) > heartbeat / 3
        };
        let State::Running(running) = &mut self.state else { return false };
        let doubt = match &mut running.phase {
            Phase::Broken { .. } => true,
            Phase::Streaming { until, .. } => {
                let doubt = silent(*until, heartbeat);
                if runtime {
                    // A healthy one speaks within one interval of the server's.
                    *until = now.saturating_add(heartbeat / 2).min(*until);
                }
                doubt
            }
            Phase::Posted(exchange) => exchange.status == 0 && silent(exchange.until, timing.request),
            _ => false,
        };
        if !doubt || !runtime {
            return false;
        }
        let Some((mut turn, phase)) = self.take_running() else { return false };
        self.abort_phase(&phase);
        turn.link.tries = 0;
        let stream = match phase {
            Phase::Streaming { stream, .. } => Some(stream),
            _ => None,
        };
        self.lost(turn, stream, fault::cut_off(), now);
        true
    }

    /// Takes the running turn out.
    pub(super) fn take_running(&mut self) -> Option<(Box<Turn>, Phase)> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Running(running) => return Some((running.turn, running.phase)),
            other => self.state = other,
        }
        None
    }
}
