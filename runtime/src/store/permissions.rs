//! What users let applications do.

use super::{Store, StoreResult};
use crate::auth::User;

/// What a user has switched on of what the application declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Switches {
    /// It may run turns.
    pub(crate) run: bool,
    /// It may read and observe conversations.
    pub(crate) read: bool,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches { run: true, read: true }
    }
}

impl Store {
    /// Everyone who has switched something off: app, user, and how the switches stand.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn switches(&self) -> StoreResult<Vec<(String, String, Switches)>> {
        let rows: Vec<(String, String, bool, bool)> =
            sqlx::query_as("SELECT app, user, run, read FROM permissions WHERE NOT (run AND read)")
                .fetch_all(&self.readers)
                .await?;
        Ok(rows.into_iter().map(|(app, user, run, read)| (app, user, Switches { run, read })).collect())
    }

    /// Keeps how a user's switches stand.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn keep_switches(&self, user: &User, switches: Switches) -> StoreResult<()> {
        sqlx::query("INSERT OR REPLACE INTO permissions (app, user, run, read) VALUES (?, ?, ?, ?)")
            .bind(&user.app)
            .bind(&user.id)
            .bind(switches.run)
            .bind(switches.read)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
