//! What one run stores and tells, in order, on its way into the log. While one part is being
//! written the next one gathers, so a fast model costs no more transactions than a slow one.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use mindset_core::agui::{Event, encode_event};
use mindset_core::turn::RunState;

use super::LiveRun;
use crate::store::{Entry, EventLog, Part, StoreError};

/// Entries that may gather before the run has to wait.
const GATHERED: usize = 256;

/// The entries of a run that are not durable yet.
pub(super) struct Script {
    store: Arc<dyn EventLog>,
    run: Arc<LiveRun>,
    /// The number of the next event.
    next: u64,
    gathered: Vec<Entry>,
    writing: Option<Writing>,
}

struct Writing {
    events: Vec<Arc<str>>,
    done: BoxFuture<'static, Result<(), StoreError>>,
}

/// An event as it is stored.
pub(super) fn text(event: &Event) -> Arc<str> {
    encode_event(event).to_string().into()
}

impl Script {
    /// The empty script of a run that begins.
    pub(super) fn new(store: &Arc<dyn EventLog>, run: &Arc<LiveRun>) -> Script {
        Script::at(store, run, 1)
    }

    /// The script of a run whose next event has this number.
    pub(super) fn at(store: &Arc<dyn EventLog>, run: &Arc<LiveRun>, next: u64) -> Script {
        Script { store: Arc::clone(store), run: Arc::clone(run), next, gathered: Vec::new(), writing: None }
    }

    /// Adds an entry; [`write`](Self::write) sends it on its way.
    pub(super) fn add(&mut self, entry: Entry) {
        self.gathered.push(entry);
    }

    /// Whether the run should wait before it says more.
    pub(super) fn is_full(&self) -> bool {
        self.gathered.len() >= GATHERED
    }

    /// Has what was gathered written, unless something is being written.
    pub(super) fn write(&mut self) {
        if self.writing.is_some() || self.gathered.is_empty() {
            return;
        }
        let entries = std::mem::take(&mut self.gathered);
        let event = |entry: &Entry| match entry {
            Entry::Event(text) => Some(Arc::clone(text)),
            _ => None,
        };
        let events: Vec<Arc<str>> = entries.iter().filter_map(event).collect();
        let (run, conversation, first) = (self.run.log.key, self.run.conversation_key, self.next);
        self.next += events.len() as u64;
        let done = self.store.append(Part { run, conversation, first, entries });
        self.writing = Some(Writing { events, done });
    }

    /// Waits until what is being written is durable, shows it, and has the next part written.
    /// Waits for ever if nothing is being written. Can be dropped and called again.
    pub(super) async fn written(&mut self) -> Result<(), StoreError> {
        let events = self.durable().await?;
        self.run.log.publish(events);
        self.write();
        Ok(())
    }

    /// Waits until everything so far is durable, and shows it.
    pub(super) async fn flush(&mut self) -> Result<(), StoreError> {
        self.write();
        while self.writing.is_some() {
            self.written().await?;
        }
        Ok(())
    }

    /// Stores the run's end; gives the events that are durable then and still to be shown.
    pub(super) async fn end(
        &mut self,
        state: RunState,
        last: Option<Arc<str>>,
    ) -> Result<Vec<Arc<str>>, StoreError> {
        if self.writing.is_some() {
            let events = self.durable().await?;
            self.run.log.publish(events);
        }
        self.gathered.extend(last.clone().map(Entry::Event));
        self.gathered.push(Entry::End { state, terminal: last });
        self.write();
        self.durable().await
    }

    async fn durable(&mut self) -> Result<Vec<Arc<str>>, StoreError> {
        let Some(writing) = &mut self.writing else { return std::future::pending().await };
        let done = (&mut writing.done).await;
        let events = self.writing.take().map(|writing| writing.events);
        done.map(|()| events.unwrap_or_default())
    }
}
