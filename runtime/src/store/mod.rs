//! Users, sessions, conversations, messages, runs and knowledge in one SQLite file.
//!
//! Everything is scoped to app and user by the arguments, never by the caller's
//! care: another user's id is simply unknown here.

mod background;
mod conversations;
mod entries;
mod events;
mod feedback;
mod health;
mod knowledge;
mod listing;
mod lock;
mod log;
mod permissions;
mod queue;
mod rows;
mod runs;
mod schema;
mod sessions;
mod uploads;
mod users;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use sqlx::Connection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::config::Secret;
use crate::ids;

pub(crate) use background::note_id;
pub(crate) use conversations::{ConversationRow, NewConversation, Owner};
pub(crate) use listing::{Cursor, Page};
pub(crate) use log::{Entry, EventLog, Part};
pub(crate) use permissions::Switches;
pub(crate) use queue::{WaitingRow, WaitingRun};
pub(crate) use runs::{LastRun, LostRun, NewRun, RunStatus, WaitingTurn};
pub(crate) use sessions::AgentSession;
pub(crate) use uploads::{Full, UploadRow};

/// The database failed.
pub(crate) type StoreError = sqlx::Error;

type StoreResult<T> = Result<T, StoreError>;

/// Connections that read. What they see is whole: a write-ahead log shows each of them the
/// last transaction that was finished.
const READERS: u32 = 3;

/// Pages of the write-ahead log after which the writer itself moves them into the file. Until
/// then most of them were moved already, beside it, every [`MOVED`].
const WAL_PAGES: &str = "16384";
const MOVED: Duration = Duration::from_secs(1);

/// What each connection keeps of the file, in KiB as SQLite writes it. The system keeps the file
/// in memory anyway.
const CACHE: &str = "-512";

/// How long a reader waits for its turn while very many read.
const TURN: Duration = Duration::from_secs(60);

/// The open database.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    /// One connection: SQLite writes one after the other anyway, and so no
    /// transaction ever finds the database locked by a sibling.
    pool: SqlitePool,
    readers: SqlitePool,
    log: Arc<dyn EventLog>,
    last_run_key: Arc<AtomicI64>,
    lock: Arc<File>,
}

/// Why the database cannot be opened, as a sentence with the remedy.
#[derive(Debug)]
pub struct OpenError(pub String);

impl Store {
    /// Opens the file, or makes it; one of an earlier version is brought up.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub(crate) async fn open(path: &Path) -> Result<Store, OpenError> {
        private(path).map_err(|kind| failed(path, &kind))?;
        // By whatever link it is named, the lock stands beside the file itself.
        let file = std::fs::canonicalize(path).map_err(|error| failed(path, &error.kind().to_string()))?;
        let lock = Arc::new(lock::acquire(&file)?);
        let options = SqliteConnectOptions::new()
            .filename(&file)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .foreign_keys(true)
            .pragma("wal_autocheckpoint", WAL_PAGES)
            .pragma("cache_size", CACHE)
            .busy_timeout(Duration::from_secs(5));
        let pool = pool(1).connect_with(options.clone()).await.map_err(|e| failed(path, &e.to_string()))?;
        schema::prepare(&pool, path).await?;
        let readers = pool_of_readers(options).await.map_err(|e| failed(path, &e.to_string()))?;
        let log = Arc::new(log::Journal::new(pool.clone(), readers.clone()));
        tokio::spawn(move_pages(readers.clone()));
        let highest = Store::highest_run_key(&pool).await.map_err(|e| failed(path, &e.to_string()))?;
        Ok(Store { pool, readers, log, last_run_key: Arc::new(AtomicI64::new(highest)), lock })
    }

    /// The log of runs.
    pub(crate) fn log(&self) -> &Arc<dyn EventLog> {
        &self.log
    }

    async fn meta(&self, key: &str) -> StoreResult<Option<String>> {
        sqlx::query_scalar("SELECT value FROM meta WHERE key = ?").bind(key).fetch_optional(&self.pool).await
    }

    /// The secret that signs tokens: made at the first start, the same ever after.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn token_secret(&self) -> StoreResult<Secret> {
        sqlx::query("INSERT OR IGNORE INTO meta (key, value) VALUES ('token_secret', ?)")
            .bind(ids::key::<32>())
            .execute(&self.pool)
            .await?;
        Ok(Secret::new(self.meta("token_secret").await?.unwrap_or_default()))
    }

    /// Writes everything out and closes the file.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.pool.close().await;
        // A lock that cannot be given back goes with the process.
        let _ = self.lock.unlock();
    }
}

/// Moves what was written from the write-ahead log into the file, while the writer goes on: it
/// waits for the disk, and nobody waits for it. Ends with the pool.
async fn move_pages(readers: SqlitePool) {
    while !readers.is_closed() {
        if let Err(error) = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&readers).await
            && !readers.is_closed()
        {
            tracing::warn!(%error, "the write-ahead log of the database was not moved");
        }
        tokio::time::sleep(MOVED).await;
    }
}

fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
        .acquire_timeout(TURN)
        // A connection whose transaction could not be ended, on a full disk for example, would
        // take what follows into that transaction, and nothing of it would ever be kept.
        .after_release(|connection, _| {
            let clean = !connection.is_in_transaction();
            Box::pin(async move { Ok(clean) })
        })
}

async fn pool_of_readers(options: SqliteConnectOptions) -> StoreResult<SqlitePool> {
    pool(READERS).connect_with(options.pragma("query_only", "ON")).await
}

/// Opens a file, makes it if it is missing, readable by its owner only: the database holds
/// conversations and may hold the signing secret. SQLite gives its side files the same rights.
fn private(path: &Path) -> Result<File, String> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|e| e.kind().to_string())
}

fn failed(path: &Path, why: &str) -> OpenError {
    let path: PathBuf = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    OpenError(format!(
        "The database {} cannot be used ({why}). Check the folder and its rights, or name another file in server.database.",
        path.display()
    ))
}

/// Reads a column that holds a word of a closed list.
fn word<T>(text: &str, parse: fn(&str) -> Option<T>) -> StoreResult<T> {
    parse(text).ok_or_else(|| sqlx::Error::Decode(format!("unknown word `{text}`").into()))
}

/// Reads a column that holds a number we wrote from a `u64`.
fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// A `u64` as SQLite stores it.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
