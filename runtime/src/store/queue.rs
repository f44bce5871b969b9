//! Runs that wait: the text, the ids, the input type and the place, nothing else.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, Transaction};

use super::{Store, StoreResult, signed};
use crate::auth::User;
use crate::clock;

/// A run that begins to wait.
#[derive(Debug, Clone)]
pub(crate) struct WaitingRun {
    /// Whose it is.
    pub(crate) user: User,
    /// Its id.
    pub(crate) id: String,
    /// What was posted, hashed.
    pub(crate) body_hash: String,
    /// The application posted it.
    pub(crate) agent_call: bool,
    /// The id of its message.
    pub(crate) message_id: String,
    /// The message.
    pub(crate) text: String,
    /// It is not shown in the transcript.
    pub(crate) silent: bool,
}

/// A run that waited when the process ended.
#[derive(Debug, Clone)]
pub(crate) struct WaitingRow {
    /// The run's handle.
    pub(crate) key: i64,
    /// The run.
    pub(crate) run: WaitingRun,
    /// The conversation's id.
    pub(crate) conversation: String,
    /// The conversation's handle.
    pub(crate) conversation_key: i64,
    /// A turn has read its message.
    pub(crate) read: bool,
}

impl Store {
    /// Every run that waits, in its place.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn waiting_runs(&self) -> StoreResult<Vec<WaitingRow>> {
        let rows = sqlx::query(
            "SELECT r.key, r.app, r.user, r.id, r.body_hash, r.agent_call, c.id AS conversation,
                 c.key AS conversation_key, q.message_id, q.text, q.silent, EXISTS (SELECT 1 FROM messages m
                     WHERE m.conversation = c.key AND m.id = q.message_id) AS read
             FROM queue q JOIN runs r ON r.key = q.run JOIN conversations c ON c.key = r.conversation
             ORDER BY r.key",
        )
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(waiting).collect()
    }

    /// Gives a run that waits another text.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn edit_waiting(&self, run: i64, text: &str) -> StoreResult<()> {
        sqlx::query("UPDATE queue SET text = ? WHERE run = ?")
            .bind(text)
            .bind(run)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

fn waiting(row: &SqliteRow) -> StoreResult<WaitingRow> {
    let user = User { app: row.try_get("app")?, id: row.try_get("user")?, anonymous: false };
    Ok(WaitingRow {
        key: row.try_get("key")?,
        run: WaitingRun {
            user,
            id: row.try_get("id")?,
            body_hash: row.try_get("body_hash")?,
            agent_call: row.try_get("agent_call")?,
            message_id: row.try_get("message_id")?,
            text: row.try_get("text")?,
            silent: row.try_get("silent")?,
        },
        conversation: row.try_get("conversation")?,
        conversation_key: row.try_get("conversation_key")?,
        read: row.try_get("read")?,
    })
}

/// Stores a run that waits. One that has waited before, in an earlier process, stays as it is.
pub(super) async fn add(
    tx: &mut Transaction<'_, Sqlite>,
    (key, conversation): (i64, i64),
    run: &WaitingRun,
) -> StoreResult<()> {
    sqlx::query(
        "INSERT OR IGNORE INTO runs (key, app, user, id, conversation, turn_id, body_hash, state, created_at, logged,
             agent_call)
         VALUES (?1, ?2, ?3, ?4, ?5, ?4, ?6, 'queued', ?7, 1, ?8)",
    )
    .bind(key)
    .bind(&run.user.app)
    .bind(&run.user.id)
    .bind(&run.id)
    .bind(conversation)
    .bind(&run.body_hash)
    .bind(signed(clock::now()))
    .bind(run.agent_call)
    .execute(&mut **tx)
    .await?;
    sqlx::query("INSERT OR IGNORE INTO queue (run, message_id, text, silent) VALUES (?, ?, ?, ?)")
        .bind(key)
        .bind(&run.message_id)
        .bind(&run.text)
        .bind(run.silent)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// A run waits no longer.
pub(super) async fn remove(tx: &mut Transaction<'_, Sqlite>, key: i64) -> StoreResult<()> {
    sqlx::query("DELETE FROM queue WHERE run = ?").bind(key).execute(&mut **tx).await?;
    Ok(())
}
