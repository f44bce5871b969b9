//! One response that reads a run: it replays what it has missed and then follows.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use futures_util::Stream;
use mindset_core::sse;

use super::follow::Follow;
use super::log::Log;
use super::silence::{SIGN, Silence};
use crate::store::EventLog;

/// What readers should do when the server goes down: come back after a second. An empty line
/// after it would be an event to some readers; it stands with the event that follows.
const COME_BACK: &str = "retry: 1000\n";

/// The bytes of an event stream. It ends with the run, and early if the run's events are not
/// there any more.
pub(crate) struct Reader {
    follow: Follow,
    silence: Silence,
    told: bool,
}

impl Reader {
    /// Reads what comes after event `at`, with a comment line after every `heartbeat` of
    /// silence.
    pub(crate) fn new(store: Arc<dyn EventLog>, log: Arc<Log>, at: u64, heartbeat: Duration) -> Reader {
        Reader { follow: Follow::new(store, log, at), silence: Silence::new(heartbeat), told: false }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if !self.told && self.follow.log().is_closing() {
            self.told = true;
            return Poll::Ready(Some(Bytes::from_static(COME_BACK.as_bytes())));
        }
        match self.follow.poll_events(cx) {
            Poll::Ready(events) => Poll::Ready(events.map(|events| self.frames(&events))),
            Poll::Pending => {
                ready!(self.silence.poll_too_long(cx));
                Poll::Ready(Some(Bytes::from_static(SIGN.as_bytes())))
            }
        }
    }

    fn frames(&mut self, events: &[Arc<str>]) -> Bytes {
        let before = self.follow.at() - events.len() as u64;
        let mut bytes = String::new();
        for (number, event) in (before + 1..).zip(events) {
            bytes.push_str(&sse::encode(&format!("{}:{number}", self.follow.log().run_id), event));
        }
        self.silence.end();
        bytes.into()
    }
}

impl Stream for Reader {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_bytes(cx).map(|bytes| bytes.map(Ok))
    }
}
