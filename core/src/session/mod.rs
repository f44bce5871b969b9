//! The browser's machine: one element or UI-less client and its conversation.
//!
//! [`Session::handle`] takes one [`Input`], then [`Session::poll_output`] is
//! drained until it gives `None`, then one timer is armed for
//! [`Session::poll_timeout`] and comes back as [`Input::Tick`]. Nothing else
//! moves the machine.

mod output;

pub use output::{
    DomEvent, FetchFailure, FetchId, FetchPurpose, FetchRequest, Output, SendId, TurnResult, TurnStatus,
};

use crate::event::ChatMessage;
use crate::{Millis, NextId};

/// Which protocol the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The agent runtime: AG-UI with conversations, tokens and cancel.
    #[default]
    Mindset,
    /// Any AG-UI server: `server` is the exact run URL.
    AgUi,
}

/// What a session needs to know to start. Another `server`, `app_uid` or
/// `agent_uid` means another session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// Base URL of the runtime without a trailing slash, or the run URL.
    pub server: String,
    /// The protocol.
    pub protocol: Protocol,
    /// The application; empty only with [`Protocol::AgUi`].
    pub app_uid: String,
    /// The agent, plain or `agentUid::sessionUid`; empty only with [`Protocol::AgUi`].
    pub agent_uid: String,
    /// The page hands out tokens: ask it instead of signing in anonymously.
    pub page_auth: bool,
    /// The anonymous key of an earlier page load of this tab, if there is one.
    pub anonymous_key: Option<String>,
    /// Random per page load, tells whose page tool a call is.
    pub client_id: String,
    /// Time constants.
    pub timing: Timing,
}

/// Time constants, in milliseconds. Tests make them a hundred times smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// No byte for this long ends the stream as broken.
    pub heartbeat: u64,
    /// No answer to a request for this long is a time-out.
    pub request: u64,
    /// How long a stopped turn may take to end by itself.
    pub stop: u64,
    /// First pause before start-up is tried again; doubles up to `backoff_max`.
    pub backoff: u64,
    /// Longest pause before start-up is tried again.
    pub backoff_max: u64,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing { heartbeat: 45_000, request: 30_000, stop: 3_000, backoff: 1_000, backoff_max: 30_000 }
    }
}

/// How a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendOptions {
    /// Hides the message from the transcript, not the answer.
    pub silent: bool,
    /// Waits for idle, in order, instead of refusing with `busy`.
    pub when_idle: bool,
}

/// A token the page or the runtime handed out.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes a token.
    pub fn new(text: impl Into<String>) -> Token {
        Token(text.into())
    }

    /// The value of the `Authorization` header.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Token({} bytes)", self.0.len())
    }
}

/// Everything that can happen to a session.
#[derive(Debug)]
pub enum Input<'a> {
    /// Configuration is complete: start, or start again with another one.
    Start(Config),
    /// Answer to [`Output::NeedToken`].
    Token(Result<Token, crate::error::ErrorInfo>),
    /// The page or the person sends a message; the answer is [`Output::Settle`].
    Send {
        /// The adapter's own number for the promise to settle.
        id: SendId,
        /// The text.
        text: &'a str,
        /// How.
        options: SendOptions,
    },
    /// Send the last message of a failed turn again.
    Retry {
        /// The adapter's own number for the promise to settle.
        id: SendId,
    },
    /// Try to start again now, without waiting for the back-off.
    Reconnect,
    /// End the running turn, here and on the server.
    Stop,
    /// Status and headers of a request arrived.
    Head {
        /// The request.
        fetch: FetchId,
        /// HTTP status.
        status: u16,
        /// The `Content-Type` header, empty if absent.
        content_type: &'a str,
    },
    /// A piece of a body arrived.
    Bytes {
        /// The request.
        fetch: FetchId,
        /// The piece.
        bytes: &'a [u8],
    },
    /// The body ended, or the request failed. Nothing follows for this id.
    End {
        /// The request.
        fetch: FetchId,
        /// How.
        result: Result<(), FetchFailure>,
    },
    /// Time passed.
    Tick,
}

/// What a call is refused with, synchronously; nothing was changed.
pub type Refused = crate::error::ErrorInfo;

/// One conversation as the browser sees it.
#[derive(Debug)]
pub struct Session {}

impl Session {
    /// A session that waits for [`Input::Start`].
    pub fn new(ids: Box<dyn NextId>) -> Session {
        let _ = ids;
        Session {}
    }

    /// Takes one input. Drain [`poll_output`](Self::poll_output) afterwards, then
    /// arm one timer for [`poll_timeout`](Self::poll_timeout).
    ///
    /// # Errors
    /// The caller's mistake (`busy`, `invalid-request`), to be thrown at once.
    pub fn handle(&mut self, input: Input<'_>, now: Millis) -> Result<(), Refused> {
        let _ = (input, now);
        Ok(())
    }

    /// The next effect, until there is none.
    pub fn poll_output(&mut self) -> Option<Output> {
        None
    }

    /// When [`Input::Tick`] is due.
    pub fn poll_timeout(&self) -> Option<Millis> {
        None
    }

    /// Whether a turn runs or a sent message waits for one.
    pub fn is_busy(&self) -> bool {
        false
    }

    /// The conversation, once there is one.
    pub fn conversation_id(&self) -> Option<&str> {
        None
    }

    /// The transcript.
    pub fn messages(&self) -> &[ChatMessage] {
        &[]
    }
}
