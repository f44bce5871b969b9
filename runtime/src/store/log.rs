//! The log of runs: what a run stores and tells is durable before anybody hears of it.
//!
//! One writer takes what many runs append meanwhile into one transaction, so that five
//! thousand runs cost hardly more than one. Readers use other connections, which a
//! write-ahead log lets them.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mindset_core::Millis;
use mindset_core::turn::{RunState, StoredCall, StoredMessage};
use sqlx::sqlite::SqlitePool;
use tokio::sync::{mpsc, oneshot};

use super::queue::WaitingRun;
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
    /// It waits.
    Wait(Box<WaitingRun>),
    /// It waits no longer.
    Unwait,
    /// It began, and goes on from a run that waited.
    Begin(Box<NewRun>),
    /// The message with this id and all that follow it are dropped.
    Truncate(String),
    /// Messages were said.
    Messages(Vec<StoredMessage>),
    /// The calls of a message wait for something else than before.
    Calls {
        /// The message.
        message_id: String,
        /// All its calls.
        calls: Vec<StoredCall>,
    },
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

#[cfg(test)]
mod tests {
    use mindset_core::turn::StoredRole;

    use super::super::{NewConversation, Owner, Store};
    use super::*;
    use crate::auth::User;

    struct Fixture {
        store: Store,
        folder: std::path::PathBuf,
        user: User,
        conversation: i64,
    }

    impl Fixture {
        async fn new() -> Fixture {
            let folder = std::env::temp_dir().join(format!("mindset-log-{}", crate::ids::uuid()));
            std::fs::create_dir_all(&folder).unwrap();
            let store = Store::open(&folder.join("test.db")).await.unwrap();
            let user = User { app: "demo".into(), id: "u".into(), anonymous: true };
            let new = NewConversation { id: "t", agent: "demo", title: None, owner: Owner::User };
            store.add_conversation(&user, new).await.unwrap();
            let conversation = store.conversation(&user, "t").await.unwrap().unwrap().key;
            Fixture { store, folder, user, conversation }
        }

        /// A part of a new run that begins.
        fn begin(&self, more: Vec<Entry>) -> Part {
            let run = self.store.new_run_key();
            let begin = NewRun {
                user: self.user.clone(),
                id: format!("r{run}"),
                turn_id: "turn".into(),
                body_hash: "h".into(),
                client: None,
                began: run,
                agent_call: false,
                model: None,
            };
            let mut entries = vec![Entry::Begin(Box::new(begin))];
            entries.extend(more);
            Part { run, conversation: self.conversation, first: 1, entries }
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    fn event(n: u64) -> Entry {
        Entry::Event(Arc::from(format!("{{\"n\":{n}}}")))
    }

    fn message(id: &str) -> Entry {
        Entry::Messages(vec![StoredMessage::new(id, "r", StoredRole::User, "hi", 1)])
    }

    #[tokio::test]
    async fn many_runs_at_once_keep_their_order() {
        let fixture = Fixture::new().await;
        let log = fixture.store.log();
        let runs = (0..300).map(|_| {
            let begin = fixture.begin(vec![event(1)]);
            async move {
                let (run, conversation) = (begin.run, begin.conversation);
                log.append(begin).await.unwrap();
                let mut first = 2;
                for size in [1, 3, 90] {
                    let entries = (first..first + size).map(event).collect();
                    log.append(Part { run, conversation, first, entries }).await.unwrap();
                    first += size;
                }
                run
            }
        });
        for run in futures_util::future::join_all(runs).await {
            assert_eq!(log.last(run).await.unwrap(), 95);
            let events = log.page(run, 90).await.unwrap();
            let texts: Vec<&str> = events.iter().map(|event| &**event).collect();
            assert_eq!(texts, (91..=95).map(|n| format!("{{\"n\":{n}}}")).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_fails_alone() {
        let fixture = Fixture::new().await;
        let log = fixture.store.log();
        // The same message twice: of these runs one can be stored, and every other one can.
        let parts = (0..40).map(|n| {
            let id = if n % 20 == 7 { "same".to_owned() } else { format!("m{n}") };
            fixture.begin(vec![message(&id), event(1)])
        });
        let parts: Vec<Part> = parts.collect();
        let runs: Vec<i64> = parts.iter().map(|part| part.run).collect();
        let done = futures_util::future::join_all(parts.into_iter().map(|part| log.append(part))).await;
        let failed: Vec<usize> =
            done.iter().enumerate().filter(|(_, d)| d.is_err()).map(|(n, _)| n).collect();
        assert_eq!(failed.len(), 1, "{failed:?}");
        for (n, run) in runs.iter().enumerate() {
            assert_eq!(log.last(*run).await.unwrap(), u64::from(!failed.contains(&n)));
        }
        assert_eq!(fixture.store.messages(fixture.conversation).await.unwrap().len(), 39);
    }

    #[tokio::test]
    async fn a_transaction_that_broke_takes_nothing_with_it() {
        let fixture = Fixture::new().await;
        let (log, pool) = (fixture.store.log(), &fixture.store.pool);
        // On a full disk SQLite gives up a transaction by itself, and its end fails.
        let mut given_up = pool.begin().await.unwrap();
        sqlx::query("ROLLBACK").execute(&mut *given_up).await.unwrap();
        drop(given_up);
        drop(pool.begin().await.unwrap());
        let part = fixture.begin(vec![event(1)]);
        let run = part.run;
        log.append(part).await.unwrap();
        assert_eq!(log.last(run).await.unwrap(), 1, "stored for every connection");
    }

    #[tokio::test]
    async fn only_what_ended_long_ago_is_swept() {
        let fixture = Fixture::new().await;
        let log = fixture.store.log();
        let end = || Entry::End { state: RunState::Finished, terminal: None };
        let (running, ended) = (fixture.begin(vec![event(1)]), fixture.begin(vec![event(1), end()]));
        let keys = (running.run, ended.run);
        log.append(running).await.unwrap();
        log.append(ended).await.unwrap();
        log.sweep(crate::clock::now() - 60_000).await.unwrap();
        assert_eq!((log.last(keys.0).await.unwrap(), log.last(keys.1).await.unwrap()), (1, 1));
        log.sweep(crate::clock::now() + 60_000).await.unwrap();
        assert_eq!((log.last(keys.0).await.unwrap(), log.last(keys.1).await.unwrap()), (1, 0));
        let last = fixture.store.last_run(fixture.conversation).await.unwrap().unwrap();
        assert_eq!((last.id, last.turn_id), (format!("r{}", keys.1), "turn".to_owned()));
        assert_eq!(fixture.store.running_runs().await.unwrap().len(), 1);
    }
}
