//! Agent sessions: what a customer's backend has settled for one user and agent.

use mindset_core::Millis;
use mindset_core::json::{self, Value};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::{Store, StoreResult, signed, unsigned};
use crate::clock;

/// What the backend has settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentSession {
    /// Its name in addresses, after `agentUid::`.
    pub(crate) uid: String,
    /// The agent.
    pub(crate) agent: String,
    /// The store's id of its user.
    pub(crate) user: String,
    /// What the backend calls the user.
    pub(crate) external_id: String,
    /// For MCP servers, never for the model.
    pub(crate) tags: Vec<String>,
    /// What can be searched; `None`: what the agent may.
    pub(crate) contexts: Option<Vec<String>>,
    /// The MCP servers; `None`: the agent's.
    pub(crate) mcpservers: Option<Vec<String>>,
    /// When it was made.
    pub(crate) created_at: Millis,
}

/// Sessions in one answer.
const PAGE: usize = 100;

const SELECT: &str = "SELECT s.key, s.uid, s.agent, s.user, u.external_id, s.tags, s.contexts, s.mcpservers,
     s.created_at FROM agent_sessions s JOIN users u ON u.id = s.user WHERE s.app = ?";

impl Store {
    /// Keeps a session; its time is set here.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn add_agent_session(&self, app: &str, session: &mut AgentSession) -> StoreResult<()> {
        session.created_at = clock::now();
        sqlx::query(
            "INSERT INTO agent_sessions (app, uid, agent, user, tags, contexts, mcpservers, created_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(app)
        .bind(&session.uid)
        .bind(&session.agent)
        .bind(&session.user)
        .bind(list_text(&session.tags))
        .bind(session.contexts.as_deref().map(list_text))
        .bind(session.mcpservers.as_deref().map(list_text))
        .bind(signed(session.created_at))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// The app's session with this uid.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn agent_session(&self, app: &str, uid: &str) -> StoreResult<Option<AgentSession>> {
        let sql = format!("{SELECT} AND s.uid = ?");
        let row =
            sqlx::query(sqlx::AssertSqlSafe(sql)).bind(app).bind(uid).fetch_optional(&self.pool).await?;
        row.as_ref().map(session).transpose()
    }

    /// The app's sessions, the latest first, of one user if `external_id` names one;
    /// the second part asks for those that follow.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn agent_sessions(
        &self,
        app: &str,
        external_id: Option<&str>,
        before: Option<i64>,
    ) -> StoreResult<(Vec<AgentSession>, Option<i64>)> {
        let sql = format!(
            "{SELECT} AND (?2 IS NULL OR u.external_id = ?2) AND (?3 IS NULL OR s.key < ?3)
             ORDER BY s.key DESC LIMIT ?4"
        );
        let mut rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(app)
            .bind(external_id)
            .bind(before)
            .bind(signed(PAGE as u64 + 1))
            .fetch_all(&self.pool)
            .await?;
        let more = rows.len() > PAGE;
        rows.truncate(PAGE);
        let last = rows.last().map(|row| row.try_get("key")).transpose()?;
        let sessions = rows.iter().map(session).collect::<StoreResult<_>>()?;
        Ok((sessions, last.filter(|_| more)))
    }

    /// Forgets a session; `false` if there is none.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn delete_agent_session(&self, app: &str, uid: &str) -> StoreResult<bool> {
        let done = sqlx::query("DELETE FROM agent_sessions WHERE app = ? AND uid = ?")
            .bind(app)
            .bind(uid)
            .execute(&self.pool)
            .await?;
        Ok(done.rows_affected() > 0)
    }
}

fn session(row: &SqliteRow) -> StoreResult<AgentSession> {
    let external_id: Option<String> = row.try_get("external_id")?;
    let tags: String = row.try_get("tags")?;
    let optional = |name: &str| -> StoreResult<Option<Vec<String>>> {
        row.try_get::<Option<String>, _>(name)?.map(|text| list(&text)).transpose()
    };
    Ok(AgentSession {
        uid: row.try_get("uid")?,
        agent: row.try_get("agent")?,
        user: row.try_get("user")?,
        external_id: external_id.unwrap_or_default(),
        tags: list(&tags)?,
        contexts: optional("contexts")?,
        mcpservers: optional("mcpservers")?,
        created_at: unsigned(row.try_get("created_at")?),
    })
}

fn list_text(items: &[String]) -> String {
    Value::from(items.iter().map(|item| Value::from(item.as_str())).collect::<Vec<_>>()).to_string()
}

fn list(text: &str) -> StoreResult<Vec<String>> {
    let value = json::parse(text).map_err(|e| sqlx::Error::Decode(e.to_string().into()))?;
    let items = value.as_array().unwrap_or_default();
    Ok(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}
