//! The browser's machine: one element or UI-less client and its conversation.
//!
//! [`Session::handle`] takes one [`Input`], then [`Session::poll_output`] is
//! drained until it gives `None`, then one timer is armed for
//! [`Session::poll_timeout`] and comes back as [`Input::Tick`]. Nothing else
//! moves the machine.

mod answer;
mod ask;
mod asks;
mod attach;
mod board;
mod call;
mod channels;
mod config;
mod credentials;
mod edit;
mod end;
mod events;
mod exchange;
mod export;
mod fault;
mod feedback;
mod follow;
mod greet;
mod input;
mod inquiry;
mod interrupt;
mod line;
mod link;
mod offer;
mod open;
mod outbox;
mod output;
mod pause;
mod question;
mod queue;
mod request;
mod server_tool;
mod start;
mod state;
mod step;
mod stop;
mod stored;
mod stream;
#[cfg(test)]
mod tests;
mod timers;
mod tool;
mod transcript;
mod turn;
mod widget;

pub use ask::{Ask, AskId};
pub use config::{AgentCall, Config, Protocol, Timing, Token};
pub use input::{Input, Refused, SendOptions};
pub use line::QueueChange;
pub use output::{
    Connection, DomEvent, FetchFailure, FetchId, FetchPurpose, FetchRequest, Output, SendId, TurnResult,
    TurnStatus,
};

pub use tool::{Confirm, PageTool, TOOL_TIMEOUT, ToolRun, ToolRunId};

use std::fmt;

use self::channels::Channels;
use self::credentials::Renewal;
use self::exchange::Arrival;
use self::inquiry::Inquiry;
use self::line::Waiting;
use self::outbox::Outbox;
use self::queue::Kept;
use self::state::{Opened, State};
use self::transcript::Transcript;
use crate::event::ChatMessage;
use crate::json::{self, Value};
use crate::schema::Pattern;
use crate::{Millis, NextId};

/// One conversation as the browser sees it.
pub struct Session {
    ids: Box<dyn NextId>,
    patterns: Box<dyn Pattern>,
    out: Outbox,
    config: Config,
    token: Option<Token>,
    anonymous_key: Option<String>,
    renewal: Renewal,
    state: State,
    channels: Channels,
    inquiries: Vec<Inquiry>,
    /// The run whose cancel was refused for its credentials.
    recancel: Option<String>,
    /// What is asked about conversations and waits.
    asked: Vec<(AskId, Ask)>,
    /// Whether the first idle came.
    was_idle: bool,
    /// Calls of page tools so far.
    tool_runs: u32,
    /// Messages that wait for a turn, oldest first.
    kept: Vec<Kept>,
    /// Messages that wait on the server, in its order.
    line: Vec<Waiting>,
    /// When one that could not be posted is posted again.
    line_retry: Option<Millis>,
    /// Who waits to hear whether the decisions of the current run count.
    replies: Vec<AskId>,
    /// What comes with the next message.
    attached: Option<Value>,
    transcript: Transcript,
    /// When the last input came.
    now: Millis,
    /// A stream whose run has ended, and when it is dropped if it does not close.
    ending: Option<(FetchId, Millis)>,
    /// Whether the browser believes to be on the network.
    online: bool,
    /// How the connection stands, as it was told last.
    connection: Connection,
    /// How the history of the conversation to begin with stands.
    history: Opened,
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
            renewal: Renewal::default(),
            state: State::Unconfigured,
            channels: Channels::default(),
            inquiries: Vec::new(),
            recancel: None,
            asked: Vec::new(),
            was_idle: false,
            tool_runs: 0,
            kept: Vec::new(),
            line: Vec::new(),
            line_retry: None,
            replies: Vec::new(),
            attached: None,
            transcript: Transcript::default(),
            now: 0,
            ending: None,
            online: true,
            connection: Connection::Online,
            history: Opened::Settled,
        }
    }

    /// Takes one input. Drain [`poll_output`](Self::poll_output) afterwards, then
    /// arm one timer for [`poll_timeout`](Self::poll_timeout).
    ///
    /// # Errors
    /// The caller's mistake (`busy`, `invalid-request`, `invalid-config`, a channel over its
    /// limit), to be thrown at once.
    pub fn handle(&mut self, input: Input<'_>, now: Millis) -> Result<(), Refused> {
        self.now = now;
        match input {
            Input::Start(config) => self.handle_start(config, now),
            Input::Token(result) => self.handle_token(result, now),
            Input::Send { id, text, options } => return self.handle_send(id, text, options, now),
            Input::Attach(files) => {
                let files = json::parse(files).ok();
                self.attached = files.filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
            }
            Input::Retry { id } => return self.handle_retry(id, now),
            Input::Edit { id, message, text } => return self.handle_edit(id, message, text, now),
            Input::EditBegin { message } => return self.handle_edit_begin(message),
            Input::Feedback { message, feedback } => return self.handle_feedback(message, feedback, now),
            Input::WidgetAction { id, widget, action, payload } => {
                return self.handle_widget_action(id, widget, (action, payload), now);
            }
            Input::SetAwareness(text) => return self.handle_awareness(text),
            Input::SetPassthrough(values) => return self.handle_passthrough(values, now),
            Input::SetPageTools(tools) => return self.handle_page_tools(tools),
            Input::SetCanAsk(can_ask) => self.handle_can_ask(can_ask, now),
            Input::ToolDone { id, result } => self.handle_tool_done(id, result, now),
            Input::ToolSentence { id, sentence } => self.handle_sentence(id, sentence, now),
            Input::Decide { reply, request_id, decision } => {
                return self.handle_decision(reply, request_id, decision, now);
            }
            Input::Answer { id, question_id, answers } => {
                return self.handle_answer(id, question_id, answers, now);
            }
            Input::Queue { run_id, change } => return self.handle_queue(run_id, change, now),
            Input::Owner { gone } => self.handle_owner(gone, now),
            Input::Reconnect => {
                self.handle_reconnect(now);
                self.check_line(false, now);
            }
            Input::Online(online) => self.handle_online(online, now),
            Input::Wake => self.handle_wake(now),
            Input::Changed => self.handle_changed(now),
            Input::Ask { id, ask } => self.handle_ask(id, ask),
            Input::Stop => self.handle_stop(now),
            Input::Head { fetch, status, content_type } => {
                self.handle_arrival(fetch, Arrival::Head { status, content_type }, now);
            }
            Input::Bytes { fetch, bytes } => self.handle_arrival(fetch, Arrival::Bytes(bytes), now),
            Input::End { fetch, result } => self.handle_arrival(fetch, Arrival::End(result), now),
            Input::Tick => self.handle_tick(now),
        }
        self.next_asks(now);
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
            if !self.goes_on() {
                self.was_idle = true;
                self.next_asks(self.now);
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
            || matches!(self.state, State::Starting(_) | State::Opening(_) | State::Failed(_));
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
        if self.sign_in_arrival(fetch, &arrival, now) || self.inquiry_arrival(fetch, &arrival, now) {
            return;
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Running(running) => self.running_arrival(*running, fetch, arrival, now),
            State::Stopping(stopping) => self.stopping_arrival(stopping, fetch, arrival, now),
            other => self.state = other,
        }
    }
}
