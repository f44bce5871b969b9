//! Runs: what is known of one for ever, so that no id ever runs twice.

use mindset_core::turn::RunState;
use sqlx::Row;

use super::{Store, StoreResult, signed, word};
use crate::auth::User;
use crate::clock;

/// What is stored of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunRow {
    /// The conversation's id.
    pub(crate) conversation: String,
    /// The conversation's handle.
    pub(crate) conversation_key: i64,
    /// What was posted, hashed.
    pub(crate) body_hash: String,
    /// How it stands.
    pub(crate) status: RunStatus,
}

/// A run to be stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewRun<'a> {
    /// The conversation's handle.
    pub(crate) conversation_key: i64,
    /// What was posted, hashed.
    pub(crate) body_hash: &'a str,
    /// The page that posted it.
    pub(crate) client: Option<&'a str>,
}

/// A run that waits for the client's tools.
#[derive(Debug, Clone)]
pub(crate) struct WaitingRun {
    /// Its id.
    pub(crate) id: String,
    /// The page that posted it, and whose tools are called.
    pub(crate) client: Option<String>,
}

/// How a stored run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunStatus {
    /// It runs.
    Running,
    /// It ended.
    Ended(RunState),
}

impl RunStatus {
    const ALL: &[(RunStatus, &str)] = &[
        (RunStatus::Running, "running"),
        (RunStatus::Ended(RunState::Finished), "finished"),
        (RunStatus::Ended(RunState::Waiting), "waiting"),
        (RunStatus::Ended(RunState::Error), "error"),
        (RunStatus::Ended(RunState::Cancelled), "cancelled"),
    ];

    /// The word on the wire and in the store.
    pub(crate) fn as_str(self) -> &'static str {
        RunStatus::ALL.iter().find(|(s, _)| *s == self).map_or("error", |(_, word)| word)
    }

    fn parse(text: &str) -> Option<RunStatus> {
        RunStatus::ALL.iter().find(|(_, word)| *word == text).map(|(s, _)| *s)
    }
}

impl Store {
    /// The user's run with this id, unless its conversation is deleted.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn run(&self, user: &User, id: &str) -> StoreResult<Option<RunRow>> {
        let row = sqlx::query(
            "SELECT c.id AS conversation, c.key, r.body_hash, r.state
             FROM runs r JOIN conversations c ON c.key = r.conversation
             WHERE r.app = ? AND r.user = ? AND r.id = ? AND c.user = r.user",
        )
        .bind(&user.app)
        .bind(&user.id)
        .bind(id)
        .fetch_optional(&self.pool)
        .await?;
        row.map(|row| {
            Ok(RunRow {
                conversation: row.try_get("conversation")?,
                conversation_key: row.try_get("key")?,
                body_hash: row.try_get("body_hash")?,
                status: word(row.try_get("state")?, RunStatus::parse)?,
            })
        })
        .transpose()
    }

    /// A run that begins now.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn add_run(&self, user: &User, id: &str, run: NewRun<'_>) -> StoreResult<()> {
        sqlx::query(
            "INSERT INTO runs (app, user, id, conversation, turn_id, body_hash, client_id, state, created_at,
                 logged)
             VALUES (?1, ?2, ?3, ?4, ?3, ?5, ?6, 'running', ?7, 0)",
        )
        .bind(&user.app)
        .bind(&user.id)
        .bind(id)
        .bind(run.conversation_key)
        .bind(run.body_hash)
        .bind(run.client)
        .bind(signed(clock::now()))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// How a run ended.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn end_run(&self, user: &User, id: &str, state: RunState) -> StoreResult<()> {
        sqlx::query("UPDATE runs SET state = ?, ended_at = ? WHERE app = ? AND user = ? AND id = ?")
            .bind(RunStatus::Ended(state).as_str())
            .bind(signed(clock::now()))
            .bind(&user.app)
            .bind(&user.id)
            .bind(id)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The run of a conversation that waits for the client's tools, if one does.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn waiting_run(&self, conversation: i64) -> StoreResult<Option<WaitingRun>> {
        let row = sqlx::query(
            "SELECT id, client_id FROM runs WHERE conversation = ? AND state = 'waiting'
             ORDER BY created_at DESC LIMIT 1",
        )
        .bind(conversation)
        .fetch_optional(&self.pool)
        .await?;
        row.map(|row| Ok(WaitingRun { id: row.try_get("id")?, client: row.try_get("client_id")? }))
            .transpose()
    }

    /// Ends the waiting runs of a conversation, because its next run goes on from
    /// them.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn continue_waiting(&self, conversation: i64) -> StoreResult<()> {
        sqlx::query("UPDATE runs SET state = 'finished' WHERE conversation = ? AND state = 'waiting'")
            .bind(conversation)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
