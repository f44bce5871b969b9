//! The answer to a run: new credentials after a 401, a refusal, or the stream.

use super::end::{self, Ending};
use super::exchange::{Arrival, Exchange};
use super::fault;
use super::state::{Phase, Running, State, Turn};
use super::stream::Stream;
use super::{FetchId, Protocol, Session};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};

impl Session {
    pub(super) fn running_arrival(
        &mut self,
        running: Running,
        fetch: FetchId,
        arrival: Arrival<'_>,
        now: Millis,
    ) {
        let Running { turn, mut phase } = running;
        let ended = match &mut phase {
            Phase::Streaming { fetch: ours, .. } if *ours == fetch => {
                return self.streaming_arrival(turn, phase, arrival, now);
            }
            Phase::Posted(exchange) if exchange.fetch == fetch && exchange.opens_stream(&arrival) => {
                self.transcript.given_up = None;
                if turn.outdated {
                    self.update_run(turn.run_id.clone(), now);
                }
                return self.stream_on(turn, fetch, Box::new(Stream::new()), now);
            }
            Phase::Posted(exchange) | Phase::Clearing(exchange) if exchange.fetch == fetch => {
                exchange.take(arrival)
            }
            _ => None,
        };
        match (phase, ended) {
            (Phase::Posted(_), Some(Err(failure))) => {
                self.give_up(turn, fault::unreachable(&failure), now);
            }
            (Phase::Posted(exchange), Some(Ok(()))) => self.refused(turn, &exchange, now),
            (Phase::Clearing(_), Some(_)) => self.post(turn, now),
            (phase, _) => self.go_on(turn, phase),
        }
    }

    fn streaming_arrival(&mut self, turn: Box<Turn>, phase: Phase, arrival: Arrival<'_>, now: Millis) {
        let Phase::Streaming { fetch, mut stream, .. } = phase else { return };
        match arrival {
            Arrival::Bytes(bytes) => {
                stream.push(bytes);
                self.read(turn, fetch, stream, now);
            }
            Arrival::End(end) => {
                let error = match end {
                    Ok(()) if !stream.spoke => fault::not_the_protocol("text/event-stream", ""),
                    _ => fault::cut_off(),
                };
                self.remember(*stream);
                self.give_up(turn, error, now);
            }
            Arrival::Head { .. } => self.stream_on(turn, fetch, stream, now),
        }
    }

    /// The turn goes on, in `phase`.
    #[inline(never)]
    pub(super) fn go_on(&mut self, turn: Box<Turn>, phase: Phase) {
        self.state = State::Running(Box::new(Running { turn, phase }));
    }

    /// The answer to a run is no stream.
    pub(super) fn refused(&mut self, mut turn: Box<Turn>, exchange: &Exchange, now: Millis) {
        if exchange.status == 0 {
            return self.give_up(turn, fault::cut_off(), now);
        }
        if exchange.status == 401 && !turn.renewed && self.can_renew() {
            turn.renewed = true;
            self.go_on(turn, Phase::SignIn);
            return self.renew(exchange.token, now);
        }
        let error = fault::refused(exchange.status, &exchange.content_type, &exchange.body);
        if error.code == ErrorCode::Busy
            && let Some(run_id) = self.transcript.given_up.take()
        {
            let until = now.saturating_add(self.config.timing.request);
            let phase = Phase::Clearing(Exchange::new(self.cancel(&run_id), until));
            self.go_on(turn, phase);
            return;
        }
        self.end_turn(turn, end::refusal(error, exchange.status), now);
    }

    /// Takes every whole event that is there.
    fn read(&mut self, mut turn: Box<Turn>, fetch: FetchId, mut stream: Box<Stream>, now: Millis) {
        loop {
            match stream.next() {
                Ok(None) => return self.stream_on(turn, fetch, stream, now),
                Ok(Some(event)) => {
                    if let Some(end) = self.apply(&mut turn, &mut stream, event, now) {
                        self.let_end(fetch, now);
                        return self.run_ended(turn, *stream, end, now);
                    }
                }
                Err(error) => {
                    self.out.abort(fetch);
                    self.remember(*stream);
                    return self.give_up(turn, error, now);
                }
            }
        }
    }

    /// The stream goes on; silence from now on counts.
    fn stream_on(&mut self, turn: Box<Turn>, fetch: FetchId, stream: Box<Stream>, now: Millis) {
        let until = now.saturating_add(self.config.timing.heartbeat);
        let phase = Phase::Streaming { fetch, until, stream };
        self.go_on(turn, phase);
    }

    /// The run behind this stream is over: the server closes it, or it is dropped,
    /// so that no connection is held while idle.
    pub(super) fn let_end(&mut self, fetch: FetchId, now: Millis) {
        if let Some((earlier, _)) = self.ending.replace((fetch, now.saturating_add(self.config.timing.stop)))
        {
            self.out.abort(earlier);
        }
    }

    /// Drops the request that a phase waits for.
    pub(super) fn abort_phase(&mut self, phase: &Phase) {
        match phase {
            Phase::Posted(exchange) => self.out.abort(exchange.fetch),
            Phase::Streaming { fetch, .. } => self.out.abort(*fetch),
            // A cancel may go on: nobody wants that run. Calls end on their own, and others
            // may wait for the credentials too.
            Phase::Clearing(_) | Phase::Calling(_) | Phase::SignIn => {}
        }
    }

    /// Too much time passed in a phase.
    pub(super) fn phase_timed_out(&mut self, running: Running, now: Millis) {
        let Running { turn, phase } = running;
        self.abort_phase(&phase);
        match phase {
            Phase::Calling(step) => self.tools_timed_out(turn, step, now),
            Phase::Posted(exchange) if exchange.status != 0 => self.refused(turn, &exchange, now),
            Phase::Posted(_) => self.give_up(turn, fault::timed_out(), now),
            Phase::Streaming { stream, .. } => {
                self.remember(*stream);
                let message = "The connection went silent before the answer was whole. Try again.";
                self.give_up(turn, ErrorInfo::new(ErrorCode::Network, message), now);
            }
            Phase::Clearing(_) => self.post(turn, now),
            Phase::SignIn => self.go_on(turn, phase),
        }
    }

    /// Ends a turn whose run may still be at work. The server is left to finish it,
    /// as with every reader that goes away, until the next message finds it in the
    /// way.
    fn give_up(&mut self, turn: Box<Turn>, error: ErrorInfo, now: Millis) {
        if self.config.protocol == Protocol::Mindset {
            self.transcript.given_up = Some(turn.run_id.clone());
        }
        self.end_turn(turn, Ending::failed(error), now);
    }
}
