//! Uploaded files: whose they are, what they are, and where they belong. The bytes are elsewhere.

use mindset_core::Millis;
use mindset_core::turn::StoredFile;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, Transaction};

use super::{Store, StoreResult, signed, unsigned};
use crate::auth::User;
use crate::clock;

/// A file that is there.
#[derive(Debug, Clone)]
pub(crate) struct UploadRow {
    /// What it is.
    pub(crate) file: StoredFile,
}

/// Why there is no room for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// The user has too many.
    User {
        /// What theirs take, in bytes.
        used: u64,
        /// What they may take.
        limit: u64,
    },
    /// All together are too many.
    Server,
}

const COLUMNS: &str = "id, name, type, size";

fn upload(row: &SqliteRow) -> StoreResult<UploadRow> {
    Ok(UploadRow {
        file: StoredFile {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            media_type: row.try_get("type")?,
            size: unsigned(row.try_get("size")?),
        },
    })
}

impl Store {
    /// A file of at most `size` bytes arrives: it is counted from now on. `Some`: there is no
    /// room for it.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn reserve_upload(
        &self,
        user: &User,
        id: &str,
        size: u64,
        (per_user, total): (u64, u64),
    ) -> StoreResult<Option<Full>> {
        let mut tx = self.pool.begin().await?;
        let (all, used): (i64, i64) = sqlx::query_as(
            "SELECT coalesce(sum(size), 0), coalesce(sum(size) FILTER (WHERE app = ? AND user = ?), 0)
             FROM uploads WHERE state <> 'gone'",
        )
        .bind(&user.app)
        .bind(&user.id)
        .fetch_one(&mut *tx)
        .await?;
        if unsigned(used).saturating_add(size) > per_user {
            return Ok(Some(Full::User { used: unsigned(used), limit: per_user }));
        }
        if unsigned(all).saturating_add(size) > total {
            return Ok(Some(Full::Server));
        }
        sqlx::query(
            "INSERT INTO uploads (id, app, user, name, type, size, state, unused_since, created_at)
             VALUES (?1, ?2, ?3, '', '', ?4, 'arriving', ?5, ?5)",
        )
        .bind(id)
        .bind(&user.app)
        .bind(&user.id)
        .bind(signed(size))
        .bind(signed(clock::now()))
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(None)
    }

    /// The file is whole.
    ///
    /// # Errors
    /// The database failed, or the file was given up meanwhile.
    pub(crate) async fn keep_upload(&self, file: &StoredFile) -> StoreResult<()> {
        let kept = sqlx::query(
            "UPDATE uploads SET name = ?, type = ?, size = ?, state = 'kept', unused_since = ?
             WHERE id = ? AND state = 'arriving'",
        )
        .bind(&file.name)
        .bind(&file.media_type)
        .bind(signed(file.size))
        .bind(signed(clock::now()))
        .bind(&file.id)
        .execute(&self.pool)
        .await?;
        if kept.rows_affected() == 1 { Ok(()) } else { Err(sqlx::Error::RowNotFound) }
    }

    /// The file is gone, whatever it was.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn drop_upload(&self, id: &str) -> StoreResult<()> {
        sqlx::query("UPDATE uploads SET state = 'gone' WHERE id = ?").bind(id).execute(&self.pool).await?;
        Ok(())
    }

    /// The file with this id, whoever asks: a signature has said that they may.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn upload(&self, id: &str) -> StoreResult<Option<UploadRow>> {
        let sql = format!("SELECT {COLUMNS} FROM uploads WHERE id = ? AND state = 'kept'");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id).fetch_optional(&self.readers).await?;
        row.as_ref().map(upload).transpose()
    }

    /// The user's file with this id, if it can come with a message of this conversation: it
    /// belongs to none, or to this one.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn own_upload(
        &self,
        user: &User,
        id: &str,
        conversation: Option<i64>,
    ) -> StoreResult<Option<UploadRow>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM uploads WHERE id = ? AND app = ? AND user = ? AND state = 'kept'
             AND (conversation IS NULL OR conversation = ?)"
        );
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id).bind(&user.app).bind(&user.id);
        let row = query.bind(conversation).fetch_optional(&self.readers).await?;
        row.as_ref().map(upload).transpose()
    }

    /// The user takes back a file that was not sent; `false`: they have none with this id.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn take_back_upload(&self, user: &User, id: &str) -> StoreResult<bool> {
        let taken = sqlx::query(
            "UPDATE uploads SET state = 'gone'
             WHERE id = ? AND app = ? AND user = ? AND state = 'kept' AND conversation IS NULL",
        )
        .bind(id)
        .bind(&user.app)
        .bind(&user.id)
        .execute(&self.pool)
        .await?;
        Ok(taken.rows_affected() > 0)
    }

    /// What has been arriving since before then does so no more.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn end_arrivals(&self, before: Millis) -> StoreResult<()> {
        sqlx::query("UPDATE uploads SET state = 'gone' WHERE state = 'arriving' AND created_at <= ?")
            .bind(signed(before))
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// What has been unused since before then is gone, and what came before `oldest`.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn end_uploads(&self, unused: Millis, oldest: Option<Millis>) -> StoreResult<()> {
        sqlx::query(
            "UPDATE uploads SET state = 'gone' WHERE state = 'kept'
             AND (conversation IS NULL AND unused_since < ?1 OR created_at < ?2)",
        )
        .bind(signed(unused))
        .bind(oldest.map(signed))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Ids of files whose bytes have to be deleted.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn gone_uploads(&self, limit: u64) -> StoreResult<Vec<String>> {
        sqlx::query_scalar("SELECT id FROM uploads WHERE state = 'gone' ORDER BY created_at LIMIT ?")
            .bind(signed(limit))
            .fetch_all(&self.readers)
            .await
    }

    /// Their bytes are deleted.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn forget_uploads(&self, ids: &[String]) -> StoreResult<()> {
        for id in ids {
            sqlx::query("DELETE FROM uploads WHERE id = ? AND state = 'gone'")
                .bind(id)
                .execute(&self.pool)
                .await?;
        }
        Ok(())
    }
}

/// The files of a message belong to its conversation from now on.
pub(super) async fn attach(
    tx: &mut Transaction<'_, Sqlite>,
    conversation: i64,
    files: &[StoredFile],
) -> StoreResult<()> {
    for file in files {
        sqlx::query(
            "UPDATE uploads SET conversation = ?, unused_since = NULL WHERE id = ? AND state = 'kept'",
        )
        .bind(conversation)
        .bind(&file.id)
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

/// The files of the messages from `from` on belong to nothing any more, unless an earlier message
/// has them too.
pub(super) async fn detach(
    tx: &mut Transaction<'_, Sqlite>,
    conversation: i64,
    from: &str,
) -> StoreResult<()> {
    sqlx::query(
        "UPDATE uploads SET conversation = NULL, unused_since = ?3 WHERE conversation = ?1 AND id NOT IN
         (SELECT f.value ->> 'id' FROM messages m, json_each(m.files) f WHERE m.conversation = ?1
          AND m.seq < (SELECT seq FROM messages WHERE conversation = ?1 AND id = ?2))",
    )
    .bind(conversation)
    .bind(from)
    .bind(signed(clock::now()))
    .execute(&mut **tx)
    .await?;
    Ok(())
}
