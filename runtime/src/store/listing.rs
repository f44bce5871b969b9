//! Conversations as lists show them: by page, with titles, until they are deleted.

use mindset_core::Millis;
use mindset_core::json::Value;
use mindset_core::turn::StoredMessage;
use mindset_core::widget;

use super::conversations::{ConversationRow, Owner, conversation};
use super::rows::{self, COLUMNS};
use super::{Store, StoreResult, signed};
use crate::auth::User;
use crate::ids;

/// Which messages a transcript shows: no tool results, nothing silent, and no message of the
/// assistant that only calls.
const SHOWN: &str =
    "(role = 'user' AND NOT silent OR role = 'assistant' AND (content <> '' OR status IS NOT NULL))";

/// Where a page of conversations begins: after the one that was changed then and has this key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    updated_at: Millis,
    key: i64,
}

impl Cursor {
    /// Reads what [`Cursor::to_text`] has written.
    pub(crate) fn parse(text: &str) -> Option<Cursor> {
        let (updated_at, key) = text.split_once('-')?;
        Some(Cursor { updated_at: updated_at.parse().ok()?, key: key.parse().ok()? })
    }

    /// The cursor as it stands in an address.
    pub(crate) fn to_text(self) -> String {
        format!("{}-{}", self.updated_at, self.key)
    }
}

/// Some messages of a transcript, oldest first.
#[derive(Debug)]
pub(crate) struct Page {
    /// The messages.
    pub(crate) messages: Vec<StoredMessage>,
    /// Whether there are older ones.
    pub(crate) more: bool,
}

impl Store {
    /// A page of the user's conversations that one of both has made, the latest first; the second part is where the next
    /// page begins.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn conversations(
        &self,
        user: &User,
        owner: Owner,
        limit: usize,
        after: Option<Cursor>,
    ) -> StoreResult<(Vec<ConversationRow>, Option<Cursor>)> {
        let rows = sqlx::query(
            "SELECT key, id, agent, title, created_at, updated_at, owner FROM conversations
             WHERE app = ?1 AND user = ?2 AND (?3 IS NULL OR (updated_at, key) < (?3, ?4))
             AND owner = ?6 ORDER BY updated_at DESC, key DESC LIMIT ?5",
        )
        .bind(&user.app)
        .bind(&user.id)
        .bind(after.map(|a| signed(a.updated_at)))
        .bind(after.map(|a| a.key))
        .bind(signed(limit as u64 + 1))
        .bind(owner.as_str())
        .fetch_all(&self.readers)
        .await?;
        let mut list: Vec<ConversationRow> = rows.iter().map(conversation).collect::<StoreResult<_>>()?;
        let more = list.len() > limit;
        list.truncate(limit);
        let last = list.last().map(|row| Cursor { updated_at: row.updated_at, key: row.key });
        Ok((list, last.filter(|_| more)))
    }

    /// The newest messages of a conversation that its transcript shows, or the newest of those
    /// before a message; `None`: it has no such message.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn shown_messages(
        &self,
        conversation: i64,
        before: Option<&str>,
        limit: usize,
    ) -> StoreResult<Option<Page>> {
        let seq: Option<i64> = match before {
            None => Some(i64::MAX),
            Some(id) => {
                sqlx::query_scalar("SELECT seq FROM messages WHERE conversation = ? AND id = ?")
                    .bind(conversation)
                    .bind(id)
                    .fetch_optional(&self.readers)
                    .await?
            }
        };
        let Some(seq) = seq else { return Ok(None) };
        let sql = format!(
            "SELECT {COLUMNS} FROM messages WHERE conversation = ? AND seq < ? AND {SHOWN}
             ORDER BY seq DESC LIMIT ?"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(conversation)
            .bind(seq)
            .bind(signed(limit as u64 + 1))
            .fetch_all(&self.readers)
            .await?;
        let more = rows.len() > limit;
        let newest = rows.iter().take(limit).rev().map(rows::message);
        let mut messages = newest.collect::<StoreResult<Vec<StoredMessage>>>()?;
        self.add_answers(conversation, &mut messages).await?;
        Ok(Some(Page { messages, more }))
    }

    /// Says of every widget what its person did with it, as silent messages tell.
    async fn add_answers(&self, conversation: i64, messages: &mut [StoredMessage]) -> StoreResult<()> {
        if messages.iter().all(|message| message.widget.is_none()) {
            return Ok(());
        }
        let texts: Vec<String> = sqlx::query_scalar(
            "SELECT content FROM messages WHERE conversation = ?1 AND role = 'user' AND silent
             AND substr(content, 1, length(?2)) = ?2 ORDER BY seq",
        )
        .bind(conversation)
        .bind(widget::ACTION)
        .fetch_all(&self.readers)
        .await?;
        let told: Vec<Value> = texts.iter().filter_map(|text| widget::read_action(text)).collect();
        for message in messages {
            if let Some(widget) = &mut message.widget {
                widget.answer = widget::last_answer(&message.id, &told);
            }
        }
        Ok(())
    }

    /// Gives a conversation a title. Its place in lists stays.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn rename_conversation(&self, conversation: i64, title: &str) -> StoreResult<()> {
        sqlx::query("UPDATE conversations SET title = ? WHERE key = ?")
            .bind(title)
            .bind(conversation)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Deletes a conversation with everything said in it. Nobody's row stays behind: its key is
    /// never given to another conversation, and its runs are known to be gone.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn delete_conversation(&self, conversation: i64) -> StoreResult<()> {
        let mut tx = self.pool.begin().await?;
        let (user, id): (String, String) = sqlx::query_as("SELECT user, id FROM conversations WHERE key = ?")
            .bind(conversation)
            .fetch_one(&mut *tx)
            .await?;
        for statement in [
            "DELETE FROM messages WHERE conversation = ?",
            "DELETE FROM events WHERE run IN (SELECT key FROM runs WHERE conversation = ?)",
            "UPDATE uploads SET state = 'gone', conversation = NULL WHERE conversation = ?",
            "UPDATE runs SET body_hash = '', client_id = NULL, terminal = NULL, logged = 0 WHERE conversation = ?",
        ] {
            sqlx::query(statement).bind(conversation).execute(&mut *tx).await?;
        }
        // Who has its id and asks finds that it is gone; nobody else can tell whose it was.
        sqlx::query("UPDATE conversations SET user = '', id = ?, agent = '', title = NULL WHERE key = ?")
            .bind(tombstone(&user, &id))
            .bind(conversation)
            .execute(&mut *tx)
            .await?;
        tx.commit().await
    }

    /// Whether the user deleted a conversation with this id.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn conversation_is_deleted(&self, user: &User, id: &str) -> StoreResult<bool> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM conversations WHERE app = ? AND user = '' AND id = ?)",
        )
        .bind(&user.app)
        .bind(tombstone(&user.id, id))
        .fetch_one(&self.readers)
        .await
    }

    /// Whether the user had a run with this id in a conversation that is deleted.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn run_is_deleted(&self, user: &User, id: &str) -> StoreResult<bool> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM runs r JOIN conversations c ON c.key = r.conversation
             WHERE r.app = ? AND r.user = ? AND r.id = ? AND c.user = '')",
        )
        .bind(&user.app)
        .bind(&user.id)
        .bind(id)
        .fetch_one(&self.readers)
        .await
    }
}

/// What stands for the id of a deleted conversation.
fn tombstone(user: &str, id: &str) -> String {
    ids::hash(format!("{user}\n{id}").as_bytes())
}
