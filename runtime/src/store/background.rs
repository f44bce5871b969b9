//! Conversations of work that goes on in the background of the one that has handed it over.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::conversations::conversation;
use super::{ConversationRow, Store, StoreResult};
use crate::auth::User;

/// By whom the work of a conversation was handed over.
#[derive(Debug, Clone)]
pub(crate) struct BackgroundRow {
    /// The conversation in which it was.
    pub(crate) parent: i64,
    /// Its id.
    pub(crate) parent_id: String,
    /// Whom that is with.
    pub(crate) parent_agent: String,
    /// The run.
    pub(crate) run: String,
    /// The agents above, the first one first.
    pub(crate) above: Vec<String>,
    /// The application has begun the first turn of all.
    pub(crate) agent_call: bool,
}

/// Work of which the conversation above holds no note.
#[derive(Debug, Clone)]
pub(crate) struct Unreported {
    /// Whose it is.
    pub(crate) user: User,
    /// The conversation above.
    pub(crate) parent: i64,
    /// The conversation of the work.
    pub(crate) row: ConversationRow,
}

/// The id of the message that tells the conversation above what came of the work of `session`.
pub(crate) fn note_id(session: &str) -> String {
    format!("child-{session}")
}

impl Store {
    /// The work of a conversation goes on in the background of run `run`.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn add_background(
        &self,
        conversation: i64,
        run: &str,
        above: &[String],
        agent_call: bool,
    ) -> StoreResult<()> {
        let sql =
            "INSERT OR IGNORE INTO background (conversation, run, above, agent_call) VALUES (?, ?, ?, ?)";
        sqlx::query(sql)
            .bind(conversation)
            .bind(run)
            .bind(above.join("\n"))
            .bind(agent_call)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// By whom the work of the user's conversation was handed over, if it goes on in the background.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn background(&self, user: &User, id: &str) -> StoreResult<Option<BackgroundRow>> {
        let row = sqlx::query(
            "SELECT b.run, b.above, b.agent_call, p.key, p.id, p.agent FROM conversations c
             JOIN background b ON b.conversation = c.key JOIN children h ON h.conversation = c.key
             JOIN conversations p ON p.key = h.parent WHERE c.app = ? AND c.user = ? AND c.id = ?",
        )
        .bind(&user.app)
        .bind(&user.id)
        .bind(id)
        .fetch_optional(&self.readers)
        .await?;
        let read = |row: SqliteRow| {
            let above: String = row.try_get("above")?;
            Ok(BackgroundRow {
                parent: row.try_get("key")?,
                parent_id: row.try_get("id")?,
                parent_agent: row.try_get("agent")?,
                run: row.try_get("run")?,
                above: above.lines().map(str::to_owned).collect(),
                agent_call: row.try_get("agent_call")?,
            })
        };
        row.map(read).transpose()
    }

    /// The conversations of work that was handed over in this one and goes on in its background, the
    /// oldest first.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn in_background(&self, parent: i64) -> StoreResult<Vec<ConversationRow>> {
        let rows = sqlx::query(
            "SELECT c.key, c.id, c.agent, c.title, c.created_at, c.updated_at, c.owner FROM children h
             JOIN background b ON b.conversation = h.conversation
             JOIN conversations c ON c.key = h.conversation WHERE h.parent = ? ORDER BY c.key",
        )
        .bind(parent)
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(conversation).collect()
    }

    /// All work of which the conversation above holds no note yet.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn unreported(&self) -> StoreResult<Vec<Unreported>> {
        let rows = sqlx::query(
            "SELECT c.key, c.id, c.agent, c.title, c.created_at, c.updated_at, c.owner, c.app, c.user, h.parent,
                 u.key_hash IS NOT NULL AS anonymous
             FROM background b JOIN conversations c ON c.key = b.conversation
             JOIN children h ON h.conversation = c.key LEFT JOIN users u ON u.id = c.user
             WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.conversation = h.parent AND m.id = 'child-' || c.id)",
        )
        .fetch_all(&self.readers)
        .await?;
        let read = |row: &SqliteRow| {
            let (app, id) = (row.try_get("app")?, row.try_get("user")?);
            Ok(Unreported {
                user: User { app, id, anonymous: row.try_get("anonymous")? },
                parent: row.try_get("parent")?,
                row: conversation(row)?,
            })
        };
        rows.iter().map(read).collect()
    }
}
