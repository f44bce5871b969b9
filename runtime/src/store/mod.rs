//! Users, sessions, conversations, messages, runs and knowledge in one SQLite file.
//!
//! Everything is scoped to app and user by the arguments, never by the caller's
//! care: another user's id is simply unknown here.

mod conversations;
mod knowledge;
mod listing;
mod rows;
mod runs;
mod schema;
mod sessions;
mod users;

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::config::Secret;
use crate::ids;

pub(crate) use conversations::ConversationRow;
pub(crate) use listing::Cursor;
pub(crate) use runs::{NewRun, RunStatus};
pub(crate) use sessions::AgentSession;

/// The database failed.
pub(crate) type StoreError = sqlx::Error;

type StoreResult<T> = Result<T, StoreError>;

/// The open database.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pool: SqlitePool,
}

/// Why the database cannot be opened, as a sentence with the remedy.
#[derive(Debug)]
pub struct OpenError(pub String);

impl Store {
    /// Opens the file, or makes it; one of an earlier version is brought up. Runs that a killed process left behind are
    /// marked as failed.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub(crate) async fn open(path: &Path) -> Result<Store, OpenError> {
        make_private(path).map_err(|kind| failed(path, &kind))?;
        // One connection: SQLite writes one after the other anyway, and so no
        // transaction ever finds the database locked by a sibling.
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(5));
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await;
        let store = Store { pool: pool.map_err(|e| failed(path, &e.to_string()))? };
        schema::prepare(&store.pool, path).await?;
        store.end_lost_runs().await.map_err(|e| failed(path, &e.to_string()))?;
        Ok(store)
    }

    async fn end_lost_runs(&self) -> StoreResult<()> {
        sqlx::query("UPDATE runs SET state = 'error', ended_at = created_at WHERE state = 'running'")
            .execute(&self.pool)
            .await?;
        Ok(())
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
        self.pool.close().await;
    }
}

/// Makes the file readable by its owner only, because it holds conversations and
/// may hold the signing secret. SQLite gives its side files the same rights.
fn make_private(path: &Path) -> Result<(), String> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(|_| ()).map_err(|e| e.kind().to_string())
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
