//! Users: known by the customer's id, or by a key of their own.

use mindset_core::Millis;

use crate::auth::User;
use crate::store::{Store, StoreResult, signed, unsigned};
use crate::{clock, ids};

impl Store {
    /// The user whom the app's backend calls `external_id`, made if new.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn user_by_external_id(
        &self,
        app: &str,
        external_id: &str,
        name: Option<&str>,
    ) -> StoreResult<String> {
        sqlx::query_scalar(
            "INSERT INTO users (id, app, external_id, name, created_at) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (app, external_id) DO UPDATE SET name = coalesce(excluded.name, name) RETURNING id",
        )
        .bind(ids::uuid())
        .bind(app)
        .bind(external_id)
        .bind(name)
        .bind(signed(clock::now()))
        .fetch_one(&self.pool)
        .await
    }

    /// What the app's backend calls the user; `None` for an anonymous one.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn external_id(&self, user: &User) -> StoreResult<Option<String>> {
        let found: Option<Option<String>> =
            sqlx::query_scalar("SELECT external_id FROM users WHERE app = ? AND id = ?")
                .bind(&user.app)
                .bind(&user.id)
                .fetch_optional(&self.pool)
                .await?;
        Ok(found.flatten())
    }

    /// The anonymous user who knows this key, if there is one. Only the key's hash
    /// is stored.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn anonymous_user(&self, app: &str, key: &str) -> StoreResult<Option<String>> {
        sqlx::query_scalar("SELECT id FROM users WHERE app = ? AND key_hash = ?")
            .bind(app)
            .bind(ids::hash(key.as_bytes()))
            .fetch_optional(&self.pool)
            .await
    }

    /// A new anonymous user who will come back with this key.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn add_anonymous_user(&self, app: &str, key: &str) -> StoreResult<String> {
        sqlx::query_scalar(
            "INSERT INTO users (id, app, key_hash, created_at) VALUES (?, ?, ?, ?) RETURNING id",
        )
        .bind(ids::uuid())
        .bind(app)
        .bind(ids::hash(key.as_bytes()))
        .bind(signed(clock::now()))
        .fetch_one(&self.pool)
        .await
    }

    /// Tokens that the user got before `from` are good no more.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn revoke_tokens(&self, user: &User, from: Millis) -> StoreResult<()> {
        sqlx::query("UPDATE users SET tokens_from = ? WHERE app = ? AND id = ?")
            .bind(signed(from))
            .bind(&user.app)
            .bind(&user.id)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Who has signed out since a moment: the user's id, and from when on tokens are good again.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn signed_out(&self, since: Millis) -> StoreResult<Vec<(String, Millis)>> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT id, tokens_from FROM users WHERE tokens_from > ?")
                .bind(signed(since))
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().map(|(id, from)| (id, unsigned(from))).collect())
    }
}
