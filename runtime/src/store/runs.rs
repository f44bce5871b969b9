//! Runs: what is known of one for ever, so that no id ever runs twice.

use std::sync::atomic::Ordering;

use mindset_core::Millis;
use mindset_core::turn::RunState;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{Row, Sqlite, Transaction};

use super::{Store, StoreResult, signed, unsigned, word};
use crate::auth::User;
use crate::clock;

/// What is stored of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunRow {
    /// The run's handle.
    pub(crate) key: i64,
    /// The conversation's id.
    pub(crate) conversation: String,
    /// The conversation's handle.
    pub(crate) conversation_key: i64,
    /// What was posted, hashed.
    pub(crate) body_hash: String,
    /// How it stands.
    pub(crate) status: RunStatus,
    /// Whether its events are kept still.
    pub(crate) logged: bool,
}

/// A run to be stored.
#[derive(Debug, Clone)]
pub(crate) struct NewRun {
    /// Whose it is.
    pub(crate) user: User,
    /// Its id.
    pub(crate) id: String,
    /// The turn it is part of.
    pub(crate) turn_id: String,
    /// What was posted, hashed.
    pub(crate) body_hash: String,
    /// The page that posted it.
    pub(crate) client: Option<String>,
    /// A number larger than that of every run that began before.
    pub(crate) began: i64,
    /// The application posted it.
    pub(crate) agent_call: bool,
    /// The model that was chosen with it.
    pub(crate) model: Option<String>,
}

/// The newest run of a conversation that does not run any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastRun {
    /// Its id.
    pub(crate) id: String,
    /// The turn it is part of.
    pub(crate) turn_id: String,
    /// How it ended.
    pub(crate) status: RunStatus,
    /// The page that posted it.
    pub(crate) client: Option<String>,
    /// The event that said so, as JSON text; runs of earlier versions have none.
    pub(crate) terminal: Option<String>,
}

/// A run whose process is gone.
#[derive(Debug, Clone)]
pub(crate) struct LostRun {
    /// The run's handle.
    pub(crate) key: i64,
    /// Its id.
    pub(crate) id: String,
    /// The conversation's id.
    pub(crate) conversation: String,
    /// The conversation's handle.
    pub(crate) conversation_key: i64,
}

/// A turn that waits for its client or for people.
#[derive(Debug, Clone)]
pub(crate) struct WaitingTurn {
    /// Whose it is.
    pub(crate) user: User,
    /// The run that waits.
    pub(crate) run: String,
    /// The conversation's id.
    pub(crate) conversation: String,
    /// The conversation's handle.
    pub(crate) conversation_key: i64,
    /// Whom the conversation is with.
    pub(crate) agent: String,
    /// The application posted it.
    pub(crate) agent_call: bool,
    /// The conversation that has handed over its work, which goes on in the background.
    pub(crate) parent: Option<i64>,
}

/// How a stored run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunStatus {
    /// It waits for its turn.
    Queued,
    /// It runs.
    Running,
    /// It ended.
    Ended(RunState),
}

impl RunStatus {
    const ALL: &[(RunStatus, &str)] = &[
        (RunStatus::Queued, "queued"),
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
            "SELECT c.id AS conversation, c.key AS conversation_key, r.key, r.body_hash, r.state, r.logged
             FROM runs r JOIN conversations c ON c.key = r.conversation
             WHERE r.app = ? AND r.user = ? AND r.id = ? AND c.user = r.user",
        )
        .bind(&user.app)
        .bind(&user.id)
        .bind(id)
        .fetch_optional(&self.readers)
        .await?;
        row.map(|row| {
            Ok(RunRow {
                key: row.try_get("key")?,
                conversation: row.try_get("conversation")?,
                conversation_key: row.try_get("conversation_key")?,
                body_hash: row.try_get("body_hash")?,
                status: word(row.try_get("state")?, RunStatus::parse)?,
                logged: row.try_get("logged")?,
            })
        })
        .transpose()
    }

    /// A handle for a run that begins.
    pub(crate) fn new_run_key(&self) -> i64 {
        self.last_run_key.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The highest handle that was given.
    ///
    /// # Errors
    /// The database failed.
    pub(super) async fn highest_run_key(pool: &SqlitePool) -> StoreResult<i64> {
        sqlx::query_scalar("SELECT max(coalesce(max(key), 0), coalesce(max(began), 0)) FROM runs")
            .fetch_one(pool)
            .await
    }

    /// The newest run of a conversation that does not run any more: it waits, or has ended.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn last_run(&self, conversation: i64) -> StoreResult<Option<LastRun>> {
        let row = sqlx::query(
            "SELECT id, turn_id, state, client_id, terminal FROM runs
             WHERE conversation = ? AND began IS NOT NULL AND state <> 'running' ORDER BY began DESC LIMIT 1",
        )
        .bind(conversation)
        .fetch_optional(&self.readers)
        .await?;
        row.map(|row| {
            Ok(LastRun {
                id: row.try_get("id")?,
                turn_id: row.try_get("turn_id")?,
                status: word(row.try_get("state")?, RunStatus::parse)?,
                client: row.try_get("client_id")?,
                terminal: row.try_get("terminal")?,
            })
        })
        .transpose()
    }

    /// How long the runs of a conversation's newest turn took together, in milliseconds,
    /// without what passed between them.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn turn_used(&self, conversation: i64) -> StoreResult<Millis> {
        let used = sqlx::query_scalar(
            "SELECT coalesce(sum(max(ended_at - created_at, 0)), 0) FROM runs WHERE conversation = ?1
             AND began IS NOT NULL AND turn_id =
                 (SELECT turn_id FROM runs WHERE conversation = ?1 ORDER BY began DESC LIMIT 1)",
        );
        Ok(unsigned(used.bind(conversation).fetch_one(&self.readers).await?))
    }

    /// The runs that are stored as running, oldest first.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn running_runs(&self) -> StoreResult<Vec<LostRun>> {
        let rows = sqlx::query(
            "SELECT r.key, r.id, c.id AS conversation, c.key AS conversation_key
             FROM runs r JOIN conversations c ON c.key = r.conversation
             WHERE r.state = 'running' ORDER BY r.key",
        )
        .fetch_all(&self.readers)
        .await?;
        let lost = |row: &SqliteRow| {
            Ok(LostRun {
                key: row.try_get("key")?,
                id: row.try_get("id")?,
                conversation: row.try_get("conversation")?,
                conversation_key: row.try_get("conversation_key")?,
            })
        };
        rows.iter().map(lost).collect()
    }

    /// All turns that wait; not those of delegated work, which other turns wait for.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn waiting_turns(&self) -> StoreResult<Vec<WaitingTurn>> {
        let rows = sqlx::query(
            "SELECT r.id, r.app, r.user, r.agent_call, c.id AS conversation, c.key, c.agent,
                 u.key_hash IS NOT NULL AS anonymous, h.parent
             FROM runs r JOIN conversations c ON c.key = r.conversation LEFT JOIN users u ON u.id = r.user
             LEFT JOIN background b ON b.conversation = c.key LEFT JOIN children h ON h.conversation = b.conversation
             WHERE r.state = 'waiting' AND c.user = r.user AND (c.owner != 'child' OR h.parent IS NOT NULL)",
        )
        .fetch_all(&self.readers)
        .await?;
        let turn = |row: &SqliteRow| {
            let (app, id) = (row.try_get("app")?, row.try_get("user")?);
            Ok(WaitingTurn {
                user: User { app, id, anonymous: row.try_get("anonymous")? },
                run: row.try_get("id")?,
                conversation: row.try_get("conversation")?,
                conversation_key: row.try_get("key")?,
                agent: row.try_get("agent")?,
                agent_call: row.try_get("agent_call")?,
                parent: row.try_get("parent")?,
            })
        };
        rows.iter().map(turn).collect()
    }

    /// The runs of turns that the application has begun and that wait for their client.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn waiting_agent_calls(&self, user: &User) -> StoreResult<Vec<String>> {
        let runs = sqlx::query_scalar(
            "SELECT r.id FROM runs r JOIN conversations c ON c.key = r.conversation
             WHERE r.state = 'waiting' AND r.agent_call AND c.app = ? AND c.user = ?",
        );
        runs.bind(&user.app).bind(&user.id).fetch_all(&self.readers).await
    }

    /// Forgets runs that ended before, and anonymous users who came before and have no
    /// conversation: their ids may come again as new ones.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn prune(&self, before: Millis) -> StoreResult<()> {
        for statement in [
            "DELETE FROM runs WHERE ended_at < ? AND NOT logged AND state <> 'waiting'",
            "DELETE FROM users WHERE key_hash IS NOT NULL AND created_at < ? AND NOT EXISTS
                 (SELECT 1 FROM conversations c WHERE c.app = users.app AND c.user = users.id)",
        ] {
            sqlx::query(statement).bind(signed(before)).execute(&self.pool).await?;
        }
        Ok(())
    }
}

/// Stores a run that begins; what waited in its conversation goes on with it.
pub(super) async fn begin(
    tx: &mut Transaction<'_, Sqlite>,
    (key, conversation): (i64, i64),
    run: &NewRun,
) -> StoreResult<()> {
    sqlx::query("UPDATE runs SET state = 'finished' WHERE conversation = ? AND state = 'waiting'")
        .bind(conversation)
        .execute(&mut **tx)
        .await?;
    sqlx::query(
        "INSERT INTO runs (key, app, user, id, conversation, turn_id, body_hash, client_id, state, created_at,
             logged, began, agent_call)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, 1, ?, ?)
         ON CONFLICT (key) DO UPDATE SET turn_id = excluded.turn_id, body_hash = excluded.body_hash, client_id = excluded.client_id,
             state = excluded.state, created_at = excluded.created_at, began = excluded.began",
    )
    .bind(key)
    .bind(&run.user.app)
    .bind(&run.user.id)
    .bind(&run.id)
    .bind(conversation)
    .bind(&run.turn_id)
    .bind(&run.body_hash)
    .bind(&run.client)
    .bind(signed(clock::now()))
    .bind(run.began)
    .bind(run.agent_call)
    .execute(&mut **tx)
    .await?;
    if let Some(model) = &run.model {
        sqlx::query("INSERT OR REPLACE INTO chosen_models (conversation, model) VALUES (?, ?)")
            .bind(conversation)
            .bind(model)
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}
