//! How an event stream leaves hyper. A connection of hyper's has 16 KiB of buffers for as long as
//! it is open, which is more than all else that a stream takes: once the head of its answer is
//! sent, a stream goes on without them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Version, header};
use axum::response::Response;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};

/// What the service of a connection leaves for those around it.
#[derive(Debug, Default)]
pub(super) struct Handover(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    stream: Option<Body>,
    /// The request was read to its end, so that another can follow.
    read: bool,
    /// The client wants no other.
    last: bool,
    /// All that hyper had to send before the stream.
    sent: bool,
}

/// What goes on without hyper.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) body: Body,
    /// Another request may follow.
    pub(super) keeps: bool,
}

/// What of a request decides whether its answer can leave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    chunks: bool,
    last: bool,
}

impl Asked {
    /// Of a request.
    pub(super) fn of(method: &Method, version: Version, headers: &HeaderMap) -> Asked {
        let close = |value: &header::HeaderValue| {
            value.to_str().is_ok_and(|v| v.split(',').any(|word| word.trim().eq_ignore_ascii_case("close")))
        };
        let last = headers.get_all(header::CONNECTION).iter().any(close);
        Asked { chunks: version == Version::HTTP_11 && *method != Method::HEAD, last }
    }
}

impl Handover {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing waits to be sent.
    pub(super) fn all_sent(&self) {
        self.state().sent = true;
    }

    /// Takes the body off an answer that is an event stream.
    pub(super) fn part(&self, asked: Asked, response: Response) -> Response {
        let kind = response.headers().get(header::CONTENT_TYPE);
        if !asked.chunks || kind.is_none_or(|kind| kind != "text/event-stream") {
            return response;
        }
        let (head, body) = response.into_parts();
        let mut state = self.state();
        (state.stream, state.last, state.sent) = (Some(body), asked.last, false);
        // It has no length, so hyper announces chunks; none of them is ever its own.
        let rest = futures_util::stream::pending::<Result<Bytes, Infallible>>();
        Response::from_parts(head, Body::from_stream(rest))
    }

    /// The stream, once the head of its answer is sent.
    pub(super) fn take(&self) -> Option<Stream> {
        let mut state = self.state();
        if !state.sent {
            return None;
        }
        let body = state.stream.take()?;
        Some(Stream { body, keeps: state.read && !state.last })
    }
}

/// The body of a request, whose end is noted.
pub(super) struct Noted {
    body: Incoming,
    handover: Arc<Handover>,
}

impl Noted {
    /// Notes it for `handover`.
    pub(super) fn new(body: Incoming, handover: Arc<Handover>) -> Noted {
        handover.state().read = body.is_end_stream();
        Noted { body, handover }
    }
}

impl hyper::body::Body for Noted {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) {
            self.handover.state().read = true;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
