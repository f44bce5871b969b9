//! The browser's machine: one element or UI-less client and its conversation.
//!
//! [`Session::handle`] takes one [`Input`], then [`Session::poll_output`] is
//! drained until it gives `None`, then one timer is armed for
//! [`Session::poll_timeout`] and comes back as [`Input::Tick`]. Nothing else
//! moves the machine.

mod answer;
mod config;
mod end;
mod events;
mod exchange;
mod fault;
mod input;
mod outbox;
mod output;
mod queue;
mod request;
mod start;
mod state;
mod stop;
mod stream;
#[cfg(test)]
mod tests;
mod timers;
mod tool;
mod transcript;
mod turn;

pub use config::{Config, Protocol, Timing, Token};
pub use input::{Input, Refused, SendOptions};
pub use output::{
    DomEvent, FetchFailure, FetchId, FetchPurpose, FetchRequest, Output, SendId, TurnResult, TurnStatus,
};

pub use tool::{Confirm, PageTool, TOOL_TIMEOUT, ToolRun, ToolRunId};

use std::fmt;

use self::exchange::Arrival;
use self::outbox::Outbox;
use self::queue::Kept;
use self::state::State;
use self::transcript::Transcript;
use crate::event::ChatMessage;
use crate::schema::Pattern;
use crate::{Millis, NextId};

/// One conversation as the browser sees it.
pub struct Session {
    ids: Box<dyn NextId>,
    /// Read by page tools.
    #[allow(dead_code)]
    patterns: Box<dyn Pattern>,
    out: Outbox,
    config: Config,
    token: Option<Token>,
    anonymous_key: Option<String>,
    state: State,
    /// Messages that wait for a turn, oldest first.
    kept: Vec<Kept>,
    transcript: Transcript,
    /// When the last input came.
    now: Millis,
    /// A stream whose run has ended, and when it is dropped if it does not close.
    ending: Option<(FetchId, Millis)>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Session {
    /// A session that waits for [`Input::Start`].
    pub fn new(ids: Box<dyn NextId>, patterns: Box<dyn Pattern>) -> Session {
        Session {
            ids,
            patterns,
            out: Outbox::default(),
            config: Config::default(),
            token: None,
            anonymous_key: None,
            state: State::Unconfigured,
            kept: Vec::new(),
            transcript: Transcript::default(),
            now: 0,
            ending: None,
        }
    }

    /// Takes one input. Drain [`poll_output`](Self::poll_output) afterwards, then
    /// arm one timer for [`poll_timeout`](Self::poll_timeout).
    ///
    /// # Errors
    /// The caller's mistake (`busy`, `invalid-request`), to be thrown at once.
    pub fn handle(&mut self, input: Input<'_>, now: Millis) -> Result<(), Refused> {
        self.now = now;
        match input {
            Input::Start(config) => self.handle_start(config, now),
            Input::Token(result) => self.handle_token(result, now),
            Input::Send { id, text, options } => return self.handle_send(id, text, options, now),
            Input::Retry { id } => return self.handle_retry(id, now),
            Input::SetAwareness(_)
            | Input::SetPassthrough(_)
            | Input::SetPageTools(_)
            | Input::ToolDone { .. }
            | Input::ToolSentence { .. }
            | Input::Decide { .. }
            | Input::Owner { .. } => {}
            Input::Reconnect => self.handle_reconnect(now),
            Input::Stop => self.handle_stop(now),
            Input::Head { fetch, status, content_type } => {
                self.handle_arrival(fetch, Arrival::Head { status, content_type }, now);
            }
            Input::Bytes { fetch, bytes } => self.handle_arrival(fetch, Arrival::Bytes(bytes), now),
            Input::End { fetch, result } => self.handle_arrival(fetch, Arrival::End(result), now),
            Input::Tick => self.handle_tick(now),
        }
        Ok(())
    }

    /// The next effect, until there is none.
    pub fn poll_output(&mut self) -> Option<Output> {
        loop {
            let output = self.out.next();
            let idle = matches!(output, Some(Output::Event(DomEvent::Idle { .. })));
            if !idle || !matches!(self.state, State::Resting) {
                return output;
            }
            self.state = State::Idle;
            if self.kept.is_empty() {
                return output;
            }
            // A listener of the turn's last events sent more: no idle in between.
            self.rest(self.now);
        }
    }

    /// When [`Input::Tick`] is due.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.next_deadline()
    }

    /// Whether a turn runs or a sent message waits for one.
    pub fn is_busy(&self) -> bool {
        let rests = matches!(self.state, State::Unconfigured | State::Idle)
            || matches!(self.state, State::Starting(_) | State::Failed(_));
        !rests || !self.kept.is_empty()
    }

    /// The conversation, once there is one: from its first completed turn on.
    pub fn conversation_id(&self) -> Option<&str> {
        self.transcript.thread_id.as_deref().filter(|_| self.transcript.announced)
    }

    /// The transcript, oldest first.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.transcript.rows
    }

    /// Something came for a request; what nobody waits for any more is dropped.
    fn handle_arrival(&mut self, fetch: FetchId, arrival: Arrival<'_>, now: Millis) {
        if self.ending.is_some_and(|(id, _)| id == fetch) {
            if matches!(arrival, Arrival::End(_)) {
                self.ending = None;
            }
            return;
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Starting(starting) => self.starting_arrival(starting, fetch, arrival, now),
            State::Running(running) => self.running_arrival(*running, fetch, arrival, now),
            State::Stopping(stopping) => self.stopping_arrival(stopping, fetch, arrival, now),
            other => self.state = other,
        }
    }
}
