//! The events of one run for one reader: what it has missed, from memory or the store, and then
//! what comes. The run never waits for it.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::log::{Log, News};
use crate::store::{EventLog, StoreError};

type Page = BoxFuture<'static, Result<Vec<Arc<str>>, StoreError>>;

/// A place in a run's log.
pub(super) struct Follow {
    store: Arc<dyn EventLog>,
    log: Arc<Log>,
    reader: u64,
    /// The number of the last event that was given.
    at: u64,
    page: Option<Page>,
}

impl Follow {
    /// Reads what comes after event `at`.
    pub(super) fn new(store: Arc<dyn EventLog>, log: Arc<Log>, at: u64) -> Follow {
        let reader = log.new_reader();
        Follow { store, log, reader, at, page: None }
    }

    /// The log.
    pub(super) fn log(&self) -> &Log {
        &self.log
    }

    /// The number of the last event that was given.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The next events; `None`: none will come, or they are not there any more.
    pub(super) fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<Arc<str>>>> {
        loop {
            if let Some(page) = &mut self.page {
                let events = ready!(page.poll_unpin(cx));
                self.page = None;
                let mut events = events.unwrap_or_else(|error| {
                    tracing::error!(%error, "the events of a run cannot be read");
                    Vec::new()
                });
                // The log was dropped meanwhile, or cannot be read: who comes back hears why.
                if events.is_empty() {
                    return Poll::Ready(None);
                }
                // What the run has not shown yet is not to be seen: its end comes when its
                // conversation is free.
                let shown = self.log.last().saturating_sub(self.at);
                events.truncate(usize::try_from(shown).unwrap_or(usize::MAX));
                return Poll::Ready(Some(self.give(events)));
            }
            match ready!(self.log.poll_news(self.reader, self.at, cx)) {
                News::Events(events) => return Poll::Ready(Some(self.give(events))),
                News::Older => self.page = Some(self.store.page(self.log.key, self.at)),
                News::End => return Poll::Ready(None),
            }
        }
    }

    fn give(&mut self, events: Vec<Arc<str>>) -> Vec<Arc<str>> {
        self.at += events.len() as u64;
        events
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.log.leave(self.reader);
    }
}
