//! Conversations and their messages.

use mindset_core::Millis;
use mindset_core::event::MessageStatus;
use mindset_core::turn::{StoredCall, StoredMessage, StoredRole};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, Transaction};

use super::rows::{self, COLUMNS};
use super::{Store, StoreResult, signed, unsigned, uploads, word};
use crate::auth::User;
use crate::clock;

/// The longest title, in characters.
const TITLE: usize = 80;

/// A conversation without its messages.
#[derive(Debug, Clone)]
pub(crate) struct ConversationRow {
    /// The store's own handle.
    pub(crate) key: i64,
    /// Its id, unique for its user.
    pub(crate) id: String,
    /// Who made it.
    pub(crate) owner: Owner,
    /// The agent it is with, `agentUid::sessionUid` for one made in a session.
    pub(crate) agent: String,
    /// What lists call it.
    pub(crate) title: Option<String>,
    /// When it began.
    pub(crate) created_at: Millis,
    /// When something was last stored in it.
    pub(crate) updated_at: Millis,
}

/// Who made a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user; it is in their list.
    User,
    /// The application, by its agent API.
    Application,
    /// A run that has handed work to its agent.
    Child,
}

impl Owner {
    /// The word on the wire and in the store.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Owner::User => "user",
            Owner::Application => "app",
            Owner::Child => "child",
        }
    }

    /// The owner written `text`.
    pub(crate) fn parse(text: &str) -> Option<Owner> {
        [Owner::User, Owner::Application, Owner::Child].into_iter().find(|owner| owner.as_str() == text)
    }
}

/// A conversation to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewConversation<'a> {
    /// Its id, unique for its user.
    pub(crate) id: &'a str,
    /// Whom it is with.
    pub(crate) agent: &'a str,
    /// What lists call it.
    pub(crate) title: Option<&'a str>,
    /// Who makes it.
    pub(crate) owner: Owner,
}

impl Store {
    /// The user's conversation with this id.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn conversation(&self, user: &User, id: &str) -> StoreResult<Option<ConversationRow>> {
        let row = sqlx::query(
            "SELECT key, id, agent, title, created_at, updated_at, owner FROM conversations
             WHERE app = ? AND user = ? AND id = ?",
        )
        .bind(&user.app)
        .bind(&user.id)
        .bind(id)
        .fetch_optional(&self.readers)
        .await?;
        row.as_ref().map(conversation).transpose()
    }

    /// A new conversation; one that exists stays as it is.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn add_conversation(&self, user: &User, new: NewConversation<'_>) -> StoreResult<()> {
        let now = signed(clock::now());
        sqlx::query(
            "INSERT OR IGNORE INTO conversations (app, user, id, agent, title, created_at, updated_at, owner)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&user.app)
        .bind(&user.id)
        .bind(new.id)
        .bind(new.agent)
        .bind(new.title)
        .bind(now)
        .bind(now)
        .bind(new.owner.as_str())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// The model that was chosen last in a conversation, if one was.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn chosen_model(&self, conversation: i64) -> StoreResult<Option<String>> {
        sqlx::query_scalar("SELECT model FROM chosen_models WHERE conversation = ?")
            .bind(conversation)
            .fetch_optional(&self.readers)
            .await
    }

    /// A conversation belongs to work that was handed over in `parent`.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn add_child(&self, conversation: i64, parent: i64) -> StoreResult<()> {
        let sql = "INSERT OR IGNORE INTO children (conversation, parent) VALUES (?, ?)";
        sqlx::query(sql).bind(conversation).bind(parent).execute(&self.pool).await?;
        Ok(())
    }

    /// The id of the conversation in which the work of this one was handed over, if that was.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn parent(&self, conversation: i64) -> StoreResult<Option<String>> {
        sqlx::query_scalar(
            "SELECT above.id FROM children JOIN conversations AS above ON above.key = children.parent
             WHERE children.conversation = ?",
        )
        .bind(conversation)
        .fetch_optional(&self.readers)
        .await
    }

    /// The conversations of all work that was handed over in this one, and of what that handed on: their
    /// handles and ids.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn descendants(&self, conversation: i64) -> StoreResult<Vec<(i64, String)>> {
        let rows = sqlx::query(
            "WITH RECURSIVE below (key) AS (SELECT conversation FROM children WHERE parent = ?
                 UNION SELECT conversation FROM children JOIN below ON parent = below.key)
             SELECT c.key, c.id FROM below JOIN conversations c ON c.key = below.key",
        )
        .bind(conversation)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(|row| Ok((row.try_get("key")?, row.try_get("id")?))).collect()
    }

    /// Every message of a conversation, oldest first.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn messages(&self, conversation: i64) -> StoreResult<Vec<StoredMessage>> {
        let sql = format!("SELECT {COLUMNS} FROM messages WHERE conversation = ? ORDER BY seq");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(conversation).fetch_all(&self.readers).await?;
        rows.iter().map(rows::message).collect()
    }
}

/// Appends messages. The first visible user message gives a conversation without a title
/// its title.
pub(super) async fn append(
    tx: &mut Transaction<'_, Sqlite>,
    conversation: i64,
    messages: &[StoredMessage],
) -> StoreResult<()> {
    for message in messages {
        sqlx::query(
            "INSERT INTO messages (conversation, seq, id, run_id, role, content, silent, calls, call_id,
                 status, provider_state, created_at, citations, effect, usage, widget, files, steered)
             SELECT ?1, 1 + coalesce(max(seq), 0), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
                 ?15, ?16, ?17
             FROM messages WHERE conversation = ?1",
        )
        .bind(conversation)
        .bind(&message.id)
        .bind(&message.run_id)
        .bind(message.role.as_str())
        .bind(&message.content)
        .bind(message.silent)
        .bind(rows::calls(&message.calls))
        .bind(&message.call_id)
        .bind(message.status.map(MessageStatus::as_str))
        .bind(message.provider_state.as_ref().map(ToString::to_string))
        .bind(signed(message.created_at))
        .bind(rows::citations(message))
        .bind(rows::effect(message))
        .bind(rows::usage(message))
        .bind(rows::widget(message))
        .bind(rows::files(message))
        .bind(message.steered)
        .execute(&mut **tx)
        .await?;
        uploads::attach(tx, conversation, &message.files).await?;
    }
    let title = messages.iter().find(|m| m.role == StoredRole::User && !m.silent).map(|m| title(said(m)));
    sqlx::query("UPDATE conversations SET updated_at = ?, title = coalesce(title, ?) WHERE key = ?")
        .bind(signed(clock::now()))
        .bind(title.filter(|t| !t.is_empty()))
        .bind(conversation)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Gives a message other calls.
pub(super) async fn set_calls(
    tx: &mut Transaction<'_, Sqlite>,
    conversation: i64,
    message_id: &str,
    calls: &[StoredCall],
) -> StoreResult<()> {
    sqlx::query("UPDATE messages SET calls = ? WHERE conversation = ? AND id = ?")
        .bind(rows::calls(calls))
        .bind(conversation)
        .bind(message_id)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// What a message is called by: its text, or the first of its files.
fn said(message: &StoredMessage) -> &str {
    let first = message.files.first().map_or("", |file| file.name.as_str());
    if message.content.trim().is_empty() { first } else { &message.content }
}

/// Drops the message `from` and all that follow it.
pub(super) async fn truncate(
    tx: &mut Transaction<'_, Sqlite>,
    conversation: i64,
    from: &str,
) -> StoreResult<()> {
    uploads::detach(tx, conversation, from).await?;
    sqlx::query(
        "DELETE FROM messages WHERE conversation = ?1 AND seq >=
         (SELECT seq FROM messages WHERE conversation = ?1 AND id = ?2)",
    )
    .bind(conversation)
    .bind(from)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub(super) fn conversation(row: &SqliteRow) -> StoreResult<ConversationRow> {
    Ok(ConversationRow {
        key: row.try_get("key")?,
        id: row.try_get("id")?,
        owner: word(row.try_get("owner")?, Owner::parse)?,
        agent: row.try_get("agent")?,
        title: row.try_get("title")?,
        created_at: unsigned(row.try_get("created_at")?),
        updated_at: unsigned(row.try_get("updated_at")?),
    })
}

/// The first line of a message, cut at a word.
fn title(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("").trim();
    if line.chars().count() <= TITLE {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE - 1).collect();
    let at_word = cut.rfind(' ').filter(|&at| at > TITLE / 2).and_then(|at| cut.get(..at)).unwrap_or(&cut);
    format!("{}…", at_word.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles() {
        assert_eq!(title("  hello\nworld"), "hello");
        assert_eq!(title(""), "");
        let long = "word ".repeat(40);
        assert!(title(&long).ends_with("word…"));
        assert!(title(&long).chars().count() <= TITLE);
        assert_eq!(title(&"é".repeat(200)).chars().count(), TITLE);
    }
}
