//! What can happen to a session.

use super::{Config, FetchFailure, FetchId, SendId, Token};
use crate::error::ErrorInfo;

/// How a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendOptions {
    /// Hides the message from the transcript, not the answer.
    pub silent: bool,
    /// Waits for idle, in order, instead of refusing with `busy`.
    pub when_idle: bool,
}

/// Everything that can happen to a session.
#[derive(Debug)]
pub enum Input<'a> {
    /// Configuration is complete: start, or start again with another one.
    Start(Config),
    /// Answer to [`Output::NeedToken`](super::Output::NeedToken).
    Token(Result<Token, ErrorInfo>),
    /// The page or the person sends a message; the answer is
    /// [`Output::Settle`](super::Output::Settle).
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
pub type Refused = ErrorInfo;
