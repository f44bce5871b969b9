//! The answer to a run: new credentials after a 401, a refusal, or the stream.

use super::end::{self, Ending};
use super::exchange::{Arrival, Exchange};
use super::fault;
use super::state::{Phase, Running, State, Turn};
use super::stream::Stream;
use super::{FetchId, Output, Protocol, Session};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};

impl Session {
    #[inline(never)]
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
                return self.stream_opens(turn, fetch, now);
            }
            Phase::Posted(exchange) | Phase::Clearing(exchange) if exchange.fetch == fetch => {
                exchange.take(arrival)
            }
            _ => None,
        };
        match (phase, ended) {
            (Phase::Posted(_), Some(Err(failure))) => {
                self.lost(turn, None, fault::unreachable(&failure), now);
            }
            (Phase::Posted(exchange), Some(Ok(()))) => self.refused(turn, &exchange, now),
            (Phase::Clearing(_), Some(_)) => self.post_again(turn, now),
            (phase, _) => self.go_on(turn, phase),
        }
    }

    /// The answer is the run's stream.
    fn stream_opens(&mut self, mut turn: Box<Turn>, fetch: FetchId, now: Millis) {
        self.transcript.given_up = None;
        self.found_again(&mut turn, now);
        turn.renewed = false;
        let stream = turn.link.stream.take().unwrap_or_else(|| self.new_stream(&turn));
        if !turn.found && !stream.spoke {
            self.tell_pages();
        }
        if std::mem::take(&mut turn.outdated) {
            self.update_run(turn.run_id.clone(), now);
        }
        self.stream_on(turn, fetch, stream, now);
    }

    /// Other pages of this browser show the conversation too.
    pub(super) fn tell_pages(&mut self) {
        let id = self.transcript.thread_id.clone().filter(|_| self.config.protocol == Protocol::Mindset);
        if let Some(id) = id {
            self.out.push(Output::Tell(id));
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
                self.lost(turn, Some(stream), error, now);
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
            return self.lost(turn, None, fault::cut_off(), now);
        }
        if exchange.status == 401 && !turn.renewed && self.can_renew() {
            turn.renewed = true;
            self.go_on(turn, Phase::SignIn);
            return self.renew(exchange.token, now);
        }
        if exchange.status == 409 && turn.hidden && !turn.found {
            return self.read_waiting(turn, now);
        }
        if exchange.status == 409 && turn.runs > 1 && turn.decided.is_some() {
            return self.overtaken(turn, now);
        }
        if turn.link.may_run() || exchange.status == 410 {
            let reads = turn.link.stream.as_ref().map(|stream| turn.found || stream.has_read());
            match (exchange.status, reads) {
                // What was posted has never begun, and may be posted again.
                (404, Some(false)) => {
                    turn.link.stream = None;
                    return self.lost(turn, None, fault::cut_off(), now);
                }
                (204 | 404, Some(_)) | (410, _) => return self.read_stored(turn, now),
                // Something between here and the server, or a server that starts.
                (200..300 | 408 | 429 | 500.., _) => return self.lost(turn, None, fault::cut_off(), now),
                _ => {}
            }
        }
        let mut error = fault::refused(exchange.status, &exchange.content_type, &exchange.body);
        if error.code == ErrorCode::Busy
            && let Some(run_id) = self.transcript.given_up.take()
        {
            let until = now.saturating_add(self.config.timing.request);
            let phase = Phase::Clearing(Exchange::new(self.cancel(&run_id), until));
            self.go_on(turn, phase);
            return;
        }
        let deleted = exchange.status == 404
            && error.context.as_ref().is_some_and(|facts| facts.get("conversationId").is_some());
        error.retryable |= deleted;
        self.end_turn(turn, end::refusal(error, exchange.status), now);
        if deleted {
            self.conversation_is_gone();
        }
    }

    /// Takes every whole event that is there.
    fn read(&mut self, mut turn: Box<Turn>, fetch: FetchId, mut stream: Box<Stream>, now: Millis) {
        loop {
            match stream.next() {
                Ok(None) => return self.stream_on(turn, fetch, stream, now),
                Ok(Some(event)) => {
                    turn.link.goes_on();
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
        if !self.line.is_empty() {
            self.send_line(now);
        }
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
            Phase::Clearing(_)
            | Phase::Calling(_)
            | Phase::SignIn
            | Phase::Reading
            | Phase::Broken { .. }
            | Phase::Elsewhere { .. } => {}
        }
    }

    /// Too much time passed in a phase.
    pub(super) fn phase_timed_out(&mut self, running: Running, now: Millis) {
        let Running { turn, phase } = running;
        self.abort_phase(&phase);
        match phase {
            Phase::Calling(step) if step.look.is_some_and(|due| due <= now) => {
                self.look_again(turn, step, now);
            }
            Phase::Calling(step) => self.tools_timed_out(turn, step, now),
            Phase::Posted(exchange) if exchange.status != 0 => self.refused(turn, &exchange, now),
            Phase::Posted(_) => self.lost(turn, None, fault::timed_out(), now),
            Phase::Streaming { stream, .. } => {
                let message = "The connection went silent before the answer was whole. Try again.";
                self.lost(turn, Some(stream), ErrorInfo::new(ErrorCode::Network, message), now);
            }
            Phase::Broken { .. } => self.try_again(turn, now),
            Phase::Elsewhere { .. } => self.read_stored(turn, now),
            Phase::Clearing(_) => self.post_again(turn, now),
            Phase::SignIn | Phase::Reading => self.go_on(turn, phase),
        }
    }

    /// Ends a turn whose run may still be at work. The server is left to finish it,
    /// as with every reader that goes away, until the next message finds it in the
    /// way.
    pub(super) fn give_up(&mut self, turn: Box<Turn>, error: ErrorInfo, now: Millis) {
        if self.config.protocol == Protocol::Mindset {
            self.transcript.given_up = Some(turn.run_id.clone());
        }
        self.lose_track(turn, error, now);
    }

    /// Ends a turn of which nobody here knows how it ended.
    pub(super) fn lose_track(&mut self, turn: Box<Turn>, mut error: ErrorInfo, now: Millis) {
        if self.config.call.is_some() {
            error = error.with("outcome", "unknown");
        }
        self.end_turn(turn, Ending::failed(error), now);
    }
}
