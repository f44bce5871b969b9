//! One response that reads a run: it replays what it has missed, from memory or the store, and
//! then follows. The run never waits for it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream};
use mindset_core::sse;
use tokio::time::{Instant, Sleep};

use super::log::{Log, News};
use crate::store::{EventLog, StoreError};

/// What readers should do when the server goes down: come back after a second. An empty line
/// after it would be an event to some readers; it stands with the event that follows.
const COME_BACK: &str = "retry: 1000\n";

/// A sign of life: a comment, and no empty line after it either.
const SIGN: &str = ":\n";

type Page = BoxFuture<'static, Result<Vec<Arc<str>>, StoreError>>;

/// The bytes of an event stream. It ends with the run, and early if the run's events are not
/// there any more.
pub(crate) struct Reader {
    store: Arc<dyn EventLog>,
    log: Arc<Log>,
    reader: u64,
    /// The number of the last event that was given.
    at: u64,
    page: Option<Page>,
    heartbeat: Duration,
    /// When something was given last.
    given: Instant,
    timer: Option<Pin<Box<Sleep>>>,
    told: bool,
}

impl Reader {
    /// Reads what comes after event `at`, with a comment line after every `heartbeat` of
    /// silence.
    pub(crate) fn new(store: Arc<dyn EventLog>, log: Arc<Log>, at: u64, heartbeat: Duration) -> Reader {
        let reader = log.new_reader();
        let given = Instant::now();
        Reader { store, log, reader, at, page: None, heartbeat, given, timer: None, told: false }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(page) = &mut self.page {
                let events = ready!(page.poll_unpin(cx));
                self.page = None;
                return Poll::Ready(match events {
                    Ok(mut events) if !events.is_empty() => {
                        // What the run has not shown yet is not to be seen: its end comes when
                        // its conversation is free.
                        let shown = self.log.last().saturating_sub(self.at);
                        events.truncate(usize::try_from(shown).unwrap_or(usize::MAX));
                        Some(self.frames(&events))
                    }
                    // The log was dropped meanwhile, or cannot be read: who comes back hears why.
                    Ok(_) => None,
                    Err(error) => {
                        tracing::error!(%error, "the events of a run cannot be read");
                        None
                    }
                });
            }
            if !self.told && self.log.is_closing() {
                self.told = true;
                return Poll::Ready(Some(Bytes::from_static(COME_BACK.as_bytes())));
            }
            match self.log.poll_news(self.reader, self.at, cx) {
                Poll::Ready(News::Events(events)) => return Poll::Ready(Some(self.frames(&events))),
                Poll::Ready(News::Older) => self.page = Some(self.store.page(self.log.key, self.at)),
                Poll::Ready(News::End) => return Poll::Ready(None),
                Poll::Pending => {
                    ready!(self.poll_silence(cx));
                    return Poll::Ready(Some(Bytes::from_static(SIGN.as_bytes())));
                }
            }
        }
    }

    /// Ready when nothing was given for too long. The timer is not set back by every event: it
    /// looks, when it fires, how much is left.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = self.given + self.heartbeat;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        loop {
            ready!(timer.as_mut().poll(cx));
            let now = Instant::now();
            let silent = now >= due;
            timer.as_mut().reset(if silent { now + self.heartbeat } else { due });
            if silent {
                self.given = now;
                return Poll::Ready(());
            }
        }
    }

    fn frames(&mut self, events: &[Arc<str>]) -> Bytes {
        let mut bytes = String::new();
        for event in events {
            self.at += 1;
            bytes.push_str(&sse::encode(&format!("{}:{}", self.log.run_id, self.at), event));
        }
        self.given = Instant::now();
        bytes.into()
    }
}

impl Stream for Reader {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_bytes(cx).map(|bytes| bytes.map(Ok))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.log.leave(self.reader);
    }
}
