//! Whether the database does its work.

use super::{Store, StoreResult, signed};
use crate::clock;

impl Store {
    /// Writes something, to see whether that is possible.
    ///
    /// # Errors
    /// It is not.
    pub(crate) async fn check_writing(&self) -> StoreResult<()> {
        sqlx::query("INSERT OR REPLACE INTO meta (key, value) VALUES ('checked', ?)")
            .bind(signed(clock::now()).to_string())
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
