//! The log of runs: what a run stores and tells is durable before anybody hears of it.
//!
//! One writer takes what many runs append meanwhile into one transaction, so that five
//! thousand runs cost hardly more than one. Readers use other connections, which a
//! write-ahead log lets them.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mindset_core::Millis;
use mindset_core::turn::{RunState, StoredMessage};
use sqlx::sqlite::SqlitePool;
use tokio::sync::{mpsc, oneshot};

use super::runs::NewRun;
use super::{StoreError, StoreResult, entries, events};

/// Where runs leave what must outlive the process.
pub(crate) trait EventLog: std::fmt::Debug + Send + Sync {
    /// Appends what one run has, all or nothing. It is durable when the future is ready. One
    /// run waits for it before it appends more.
    fn append(&self, part: Part) -> BoxFuture<'static, StoreResult<()>>;

    /// Events of a run after number `after`, oldest first, as many as fit a page; none: there
    /// are none, or they are gone.
    fn page(&self, run: i64, after: u64) -> BoxFuture<'static, StoreResult<Vec<Arc<str>>>>;

    /// The number of the run's last event; 0: it has none.
    fn last(&self, run: i64) -> BoxFuture<'static, StoreResult<u64>>;

    /// Drops the events of runs that ended before `before`.
    fn sweep(&self, before: Millis) -> BoxFuture<'static, StoreResult<()>>;
}

/// Something of one run to be appended.
#[derive(Debug)]
pub(crate) struct Part {
    /// The run's handle.
    pub(crate) run: i64,
    /// Its conversation's handle.
    pub(crate) conversation: i64,
    /// The number of the first event among `entries`.
    pub(crate) first: u64,
    /// What happened, in order.
    pub(crate) entries: Vec<Entry>,
}

/// One thing that happened in a run.
#[derive(Debug)]
pub(crate) enum Entry {
    /// It began, and goes on from a run that waited.
    Begin(Box<NewRun>),
    /// The message with this id and all that follow it are dropped.
    Truncate(String),
    /// Messages were said.
    Messages(Vec<StoredMessage>),
    /// Readers are told, by an event as JSON text.
    Event(Arc<str>),
    /// It ended.
    End {
        /// How.
        state: RunState,
        /// The event that says so.
        terminal: Option<Arc<str>>,
    },
}

/// Parts that wait for the writer; more of them make the runs wait.
const QUEUE: usize = 1024;

/// The log in the database.
#[derive(Debug)]
pub(crate) struct Journal {
    queue: mpsc::Sender<Waiting>,
    writer: SqlitePool,
    readers: SqlitePool,
}

#[derive(Debug)]
struct Waiting {
    part: Part,
    done: oneshot::Sender<StoreResult<()>>,
}

impl Journal {
    /// The log in a database that `writer` writes and `readers` read. Its writer ends with it.
    pub(super) fn new(writer: SqlitePool, readers: SqlitePool) -> Journal {
        let (queue, parts) = mpsc::channel(QUEUE);
        tokio::spawn(write(writer.clone(), parts));
        Journal { queue, writer, readers }
    }
}

impl EventLog for Journal {
    fn append(&self, part: Part) -> BoxFuture<'static, StoreResult<()>> {
        let queue = self.queue.clone();
        async move {
            let (done, committed) = oneshot::channel();
            queue.send(Waiting { part, done }).await.map_err(|_| StoreError::PoolClosed)?;
            committed.await.map_err(|_| StoreError::PoolClosed)?
        }
        .boxed()
    }

    fn page(&self, run: i64, after: u64) -> BoxFuture<'static, StoreResult<Vec<Arc<str>>>> {
        let readers = self.readers.clone();
        async move { events::page(&readers, run, after).await }.boxed()
    }

    fn last(&self, run: i64) -> BoxFuture<'static, StoreResult<u64>> {
        let readers = self.readers.clone();
        async move { events::last(&readers, run).await }.boxed()
    }

    fn sweep(&self, before: Millis) -> BoxFuture<'static, StoreResult<()>> {
        let writer = self.writer.clone();
        async move { events::sweep(&writer, before).await }.boxed()
    }
}

/// Writes what has come, in one transaction, and then what has come meanwhile.
async fn write(pool: SqlitePool, mut parts: mpsc::Receiver<Waiting>) {
    let mut group = Vec::new();
    while parts.recv_many(&mut group, QUEUE).await > 0 {
        match entries::apply(&pool, group.iter().map(|w| &w.part)).await {
            Ok(()) => group.drain(..).for_each(|w| drop(w.done.send(Ok(())))),
            Err(error) if group.len() == 1 => group.drain(..).for_each(|w| fail(w, &error)),
            // What is wrong with one run must not end the others.
            Err(_) => {
                for Waiting { part, done } in group.drain(..) {
                    let _ = done.send(entries::apply(&pool, std::iter::once(&part)).await);
                }
            }
        }
    }
}

fn fail(waiting: Waiting, error: &StoreError) {
    // The error cannot be copied; its words can.
    let _ = waiting.done.send(Err(StoreError::Protocol(error.to_string())));
}
