//! The index of what agents can search.

use std::collections::BTreeMap;

use mindset_core::json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, Transaction};

use super::{Store, StoreResult, signed};
use crate::knowledge::{File, Hit, indexed};

impl Store {
    /// Forgets the files of all contexts but these, each named by app and uid.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn keep_contexts(&self, keep: &[(&str, &str)]) -> StoreResult<()> {
        let rows =
            sqlx::query("SELECT DISTINCT app, context FROM knowledge_files").fetch_all(&self.pool).await?;
        for row in rows {
            let (app, context): (String, String) = (row.try_get("app")?, row.try_get("context")?);
            if keep.contains(&(app.as_str(), context.as_str())) {
                continue;
            }
            let paths: Vec<String> = self.knowledge_files(&app, &context).await?.into_keys().collect();
            self.index_files(&app, &context, &paths, &[]).await?;
        }
        Ok(())
    }

    /// The indexed files of a context: path to hash.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn knowledge_files(
        &self,
        app: &str,
        context: &str,
    ) -> StoreResult<BTreeMap<String, String>> {
        let rows = sqlx::query("SELECT path, hash FROM knowledge_files WHERE app = ? AND context = ?")
            .bind(app)
            .bind(context)
            .fetch_all(&self.pool)
            .await?;
        rows.iter().map(|row| Ok((row.try_get("path")?, row.try_get("hash")?))).collect()
    }

    /// Drops the files at `gone` and indexes `new` ones, all or nothing.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn index_files(
        &self,
        app: &str,
        context: &str,
        gone: &[String],
        new: &[File],
    ) -> StoreResult<()> {
        let mut tx = self.pool.begin().await?;
        for path in gone {
            drop_file(&mut tx, (app, context, path)).await?;
        }
        for file in new {
            add_file(&mut tx, (app, context), file).await?;
        }
        tx.commit().await
    }

    /// The pieces that fit an expression of the index best, out of these contexts only.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn search_knowledge(
        &self,
        app: &str,
        contexts: &[String],
        expression: &str,
        limit: u64,
    ) -> StoreResult<Vec<Hit>> {
        let contexts: Vec<Value> = contexts.iter().map(|uid| Value::from(uid.as_str())).collect();
        // A word in a heading weighs as much as three in the text. The joins are crossed
        // to have the index asked once and first, and not again for every piece.
        let rows = sqlx::query(
            "SELECT f.context, f.path, c.title, c.anchor, c.text
             FROM knowledge_words
             CROSS JOIN knowledge_chunks c ON c.key = knowledge_words.rowid
             CROSS JOIN knowledge_files f ON f.key = c.file
             WHERE knowledge_words MATCH ?1 AND f.app = ?2
             AND f.context IN (SELECT value FROM json_each(?3))
             ORDER BY bm25(knowledge_words, 3.0, 1.0), c.key LIMIT ?4",
        )
        .bind(expression)
        .bind(app)
        .bind(Value::from(contexts).to_string())
        .bind(signed(limit))
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(hit).collect()
    }
}

fn hit(row: &SqliteRow) -> StoreResult<Hit> {
    Ok(Hit {
        context: row.try_get("context")?,
        path: row.try_get("path")?,
        piece: row.try_get("title")?,
        anchor: row.try_get("anchor")?,
        text: row.try_get("text")?,
    })
}

async fn drop_file(
    tx: &mut Transaction<'_, Sqlite>,
    (app, context, path): (&str, &str, &str),
) -> StoreResult<()> {
    sqlx::query(
        "DELETE FROM knowledge_words WHERE rowid IN (SELECT c.key FROM knowledge_chunks c
         JOIN knowledge_files f ON f.key = c.file WHERE f.app = ? AND f.context = ? AND f.path = ?)",
    )
    .bind(app)
    .bind(context)
    .bind(path)
    .execute(&mut **tx)
    .await?;
    sqlx::query("DELETE FROM knowledge_files WHERE app = ? AND context = ? AND path = ?")
        .bind(app)
        .bind(context)
        .bind(path)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

async fn add_file(
    tx: &mut Transaction<'_, Sqlite>,
    (app, context): (&str, &str),
    file: &File,
) -> StoreResult<()> {
    let key: i64 = sqlx::query_scalar(
        "INSERT INTO knowledge_files (app, context, path, hash) VALUES (?, ?, ?, ?) RETURNING key",
    )
    .bind(app)
    .bind(context)
    .bind(&file.path)
    .bind(&file.hash)
    .fetch_one(&mut **tx)
    .await?;
    for piece in file.pieces() {
        let chunk: i64 = sqlx::query_scalar(
            "INSERT INTO knowledge_chunks (file, title, anchor, text) VALUES (?, ?, ?, ?) RETURNING key",
        )
        .bind(key)
        .bind(&piece.title)
        .bind(&piece.anchor)
        .bind(&piece.text)
        .fetch_one(&mut **tx)
        .await?;
        sqlx::query("INSERT INTO knowledge_words (rowid, title, text) VALUES (?, ?, ?)")
            .bind(chunk)
            .bind(indexed(&piece.title))
            .bind(indexed(&piece.text))
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}
