//! A request whose answer is not a stream, or not yet known to be one: its body is
//! collected, within bounds and until a deadline.

use super::{FetchFailure, FetchId, fault};
use crate::Millis;
use crate::error::ErrorInfo;
use crate::json::cut;

/// More of an answer that is no stream is not kept, in bytes.
const BODY_LIMIT: usize = 64 * 1024;

/// The same for what the server knows of conversations.
pub(super) const CONVERSATION_LIMIT: usize = 32 * 1024 * 1024;

/// What came for a request.
#[derive(Clone)]
pub(super) enum Arrival<'a> {
    Head { status: u16, content_type: &'a str },
    Bytes(&'a [u8]),
    End(Result<(), FetchFailure>),
}

/// A request that was made and what is known of its answer.
pub(super) struct Exchange {
    pub(super) fetch: FetchId,
    /// When it has taken too long.
    pub(super) until: Millis,
    /// 0 before the head.
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
    /// How much of the body is kept.
    pub(super) limit: usize,
    /// Which of the session's tokens it went out with.
    pub(super) token: u32,
}

impl Exchange {
    pub(super) fn new(fetch: FetchId, until: Millis) -> Exchange {
        Exchange {
            fetch,
            until,
            status: 0,
            content_type: String::new(),
            body: Vec::new(),
            limit: BODY_LIMIT,
            token: 0,
        }
    }

    /// Takes what came; gives how it ended when it did.
    pub(super) fn take(&mut self, arrival: Arrival<'_>) -> Option<Result<(), FetchFailure>> {
        match arrival {
            Arrival::Head { status, content_type } => {
                self.status = status;
                content_type.clone_into(&mut self.content_type);
            }
            Arrival::Bytes(bytes) => {
                let room = self.limit.saturating_sub(self.body.len());
                self.body.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
            }
            // A head without the rest of its body still says enough.
            Arrival::End(Err(_)) if self.status != 0 => return Some(Ok(())),
            Arrival::End(result) => return Some(result),
        }
        None
    }

    /// What went wrong, by what came.
    pub(super) fn refusal(&self) -> ErrorInfo {
        fault::refused(self.status, &self.content_type, &self.body)
    }

    /// Whether the answer turns out to be an event stream.
    pub(super) fn opens_stream(&self, arrival: &Arrival<'_>) -> bool {
        self.status == 0 && arrival.is_stream()
    }
}

impl Arrival<'_> {
    /// Whether this is the head of an event stream, parameters of its type aside.
    pub(super) fn is_stream(&self) -> bool {
        let Arrival::Head { status: 200, content_type } = self else { return false };
        let (kind, _) = cut(content_type, b';');
        kind.as_bytes().trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
    }
}
