//! Stop: the person sees nothing more of the turn at once, and the server ends it
//! too.

use super::end::Ending;
use super::events::effects;
use super::exchange::Arrival;
use super::request::Request;
use super::state::{Phase, Running, State, Stopping, Turn};
use super::stream::Stream;
use super::{FetchId, FetchPurpose, Protocol, Session};
use crate::Millis;
use crate::view::Activity;

impl Session {
    /// Ends the running turn; before the first one, what waits for it.
    #[inline(never)]
    pub(super) fn handle_stop(&mut self, now: Millis) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Running(running) => self.stop_running(*running, now),
            ended @ (State::Stopping(_) | State::Resting) => self.state = ended,
            other => {
                self.state = other;
                self.stop_paused();
                self.drop_kept(None);
            }
        }
    }

    fn stop_running(&mut self, running: Running, now: Millis) {
        let Running { mut turn, phase } = running;
        let at_work = match phase {
            Phase::Calling(step) => {
                self.end_calls(&mut turn, *step, true, now);
                return self.close(turn, now);
            }
            Phase::Posted(exchange) if exchange.status == 0 && turn.link.stream.is_none() => {
                Ok((exchange.fetch, None))
            }
            Phase::Streaming { fetch, stream, .. } => Ok((fetch, Some(stream))),
            phase => Err(phase),
        };
        let (fetch, stream) = match at_work {
            Ok(at_work) if self.config.protocol == Protocol::Mindset => at_work,
            Ok((fetch, stream)) => {
                self.out.abort(fetch);
                if let Some(stream) = stream {
                    self.remember(*stream);
                }
                return self.end_turn(turn, Ending::Stopped { effects: Vec::new() }, now);
            }
            Err(phase) => {
                self.abort_phase(&phase);
                // Nor does anybody wait for credentials that do not come.
                self.out.notice(None);
                if turn.link.may_run() || turn.found {
                    return self.close(turn, now);
                }
                // Nothing runs on the server.
                return self.end_turn(turn, Ending::Stopped { effects: Vec::new() }, now);
            }
        };
        self.out.activity(Activity::Stopping);
        let cancel = Some(self.cancel(&turn.run_id));
        let until = now.saturating_add(self.config.timing.stop);
        self.state = State::Stopping(Box::new(Stopping { turn, fetch, until, stream, cancel, again: false }));
    }

    /// Nothing of the run comes in: it has ended and its open calls are left, or its
    /// connection is broken. The server ends it, so that the conversation takes the next
    /// message.
    fn close(&mut self, turn: Box<Turn>, now: Millis) {
        if self.config.protocol == Protocol::AgUi {
            return self.end_turn(turn, Ending::Stopped { effects: Vec::new() }, now);
        }
        self.out.activity(Activity::Stopping);
        // The cancel's own answer is the last thing that is waited for.
        let fetch = self.cancel(&turn.run_id);
        let until = now.saturating_add(self.config.timing.stop);
        let stopping = Stopping { turn, fetch, until, stream: None, cancel: None, again: false };
        self.state = State::Stopping(Box::new(stopping));
    }

    /// Asks the server to end a run.
    pub(super) fn cancel(&mut self, run_id: &str) -> FetchId {
        let request = Request::api(&self.config, FetchPurpose::Cancel, "POST", &["runs", run_id, "cancel"]);
        self.exchange(request, 0).fetch
    }

    #[inline(never)]
    pub(super) fn stopping_arrival(
        &mut self,
        mut stopping: Box<Stopping>,
        fetch: FetchId,
        arrival: Arrival<'_>,
        now: Millis,
    ) {
        if stopping.cancel == Some(fetch) {
            if let Arrival::Head { status, .. } = arrival {
                // A run that has not started yet cannot be found.
                stopping.again = status == 404 && !stopping.turn.started;
                if status == 401 && self.can_renew() && self.recancel.is_none() {
                    self.recancel = Some(stopping.turn.run_id.clone());
                    self.state = State::Stopping(stopping);
                    return self.renew(self.renewal.count, now);
                }
            }
        } else if stopping.fetch == fetch && self.read_to_end(&mut stopping, arrival, now) {
            return self.end_turn(stopping.turn, Ending::Stopped { effects: Vec::new() }, now);
        }
        self.state = State::Stopping(stopping);
    }

    /// Waits for the run's last event, and says whether the wait is over.
    fn read_to_end(&mut self, stopping: &mut Stopping, arrival: Arrival<'_>, now: Millis) -> bool {
        match arrival {
            Arrival::Head { .. } if arrival.is_stream() => {
                stopping.stream.get_or_insert_with(|| Box::new(Stream::new(String::new())));
                return false;
            }
            Arrival::Head { .. } => {
                self.out.abort(stopping.fetch);
                return true;
            }
            Arrival::End(end) => {
                if end.is_err() {
                    self.transcript.given_up = Some(stopping.turn.run_id.clone());
                }
                return true;
            }
            Arrival::Bytes(bytes) => {
                if let Some(stream) = &mut stopping.stream {
                    stream.push(bytes);
                }
            }
        }
        loop {
            match stopping.stream.as_mut().map_or(Ok(None), |stream| stream.next()) {
                Ok(None) => return false,
                Ok(Some(event)) => match event.kind() {
                    "RUN_STARTED" => {
                        stopping.turn.started = true;
                        if std::mem::take(&mut stopping.again) {
                            stopping.cancel = Some(self.cancel(&stopping.turn.run_id));
                        }
                    }
                    "RUN_FINISHED" | "RUN_ERROR" => {
                        stopping.turn.effects.extend(effects(&event));
                        stopping.turn.seen.clear();
                        self.let_end(stopping.fetch, now);
                        return true;
                    }
                    _ => {}
                },
                Err(_) => {
                    self.out.abort(stopping.fetch);
                    return true;
                }
            }
        }
    }
}
