//! What people think of answers: one row for each message that has an opinion. It goes with its
//! message.

use std::collections::BTreeMap;

use mindset_core::event::Feedback;
use sqlx::Row;

use super::{Store, StoreResult, signed};
use crate::auth::User;
use crate::clock;

impl Store {
    /// Keeps what the user thinks of an answer of theirs, or that they think nothing of it any
    /// more; `false`: they have no such answer.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn keep_feedback(
        &self,
        user: &User,
        message: &str,
        feedback: Option<&Feedback>,
    ) -> StoreResult<bool> {
        let mut tx = self.pool.begin().await?;
        // Ids are made to be unique; of two that are not, the one that was heard last is meant.
        let conversation: Option<i64> = sqlx::query_scalar(
            "SELECT c.key FROM conversations c JOIN messages m ON m.conversation = c.key
             WHERE c.app = ? AND c.user = ? AND m.id = ? AND m.role = 'assistant'
             ORDER BY m.created_at DESC LIMIT 1",
        )
        .bind(&user.app)
        .bind(&user.id)
        .bind(message)
        .fetch_optional(&mut *tx)
        .await?;
        let Some(conversation) = conversation else { return Ok(false) };
        match feedback {
            None => {
                sqlx::query("DELETE FROM feedback WHERE conversation = ? AND message = ?")
                    .bind(conversation)
                    .bind(message)
                    .execute(&mut *tx)
                    .await?;
            }
            Some(feedback) => {
                sqlx::query(
                    "INSERT OR REPLACE INTO feedback (conversation, message, good, comment, created_at)
                     VALUES (?, ?, ?, ?, ?)",
                )
                .bind(conversation)
                .bind(message)
                .bind(feedback.is_good)
                .bind(feedback.comment.as_deref())
                .bind(signed(clock::now()))
                .execute(&mut *tx)
                .await?;
            }
        }
        tx.commit().await?;
        Ok(true)
    }

    /// What is thought of the messages of a conversation, by their ids.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn feedback(&self, conversation: i64) -> StoreResult<BTreeMap<String, Feedback>> {
        let rows = sqlx::query("SELECT message, good, comment FROM feedback WHERE conversation = ?")
            .bind(conversation)
            .fetch_all(&self.readers)
            .await?;
        let one = |row: &sqlx::sqlite::SqliteRow| {
            let feedback = Feedback { is_good: row.try_get("good")?, comment: row.try_get("comment")? };
            Ok((row.try_get("message")?, feedback))
        };
        rows.iter().map(one).collect()
    }
}
