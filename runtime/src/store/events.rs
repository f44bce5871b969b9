//! Events of runs: read in pages, dropped when their time is over.

use std::sync::Arc;

use futures_util::TryStreamExt;
use mindset_core::Millis;
use sqlx::Row;
use sqlx::sqlite::SqlitePool;

use super::{StoreResult, signed, unsigned};

/// Events in one page, unless they are large.
const PAGE: i64 = 128;

/// Bytes after which a page ends.
const PAGE_BYTES: usize = 64 * 1024;

/// Runs whose events are dropped at once, between which others write.
const SWEPT: i64 = 50;

pub(super) async fn page(pool: &SqlitePool, run: i64, after: u64) -> StoreResult<Vec<Arc<str>>> {
    let mut rows = sqlx::query("SELECT event FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?")
        .bind(run)
        .bind(signed(after))
        .bind(PAGE)
        .fetch(pool);
    let (mut events, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.try_next().await? {
        let event: &str = row.try_get("event")?;
        bytes += event.len();
        events.push(Arc::from(event));
        if bytes > PAGE_BYTES {
            break;
        }
    }
    Ok(events)
}

pub(super) async fn last(pool: &SqlitePool, run: i64) -> StoreResult<u64> {
    let last = sqlx::query_scalar("SELECT coalesce(max(seq), 0) FROM events WHERE run = ?");
    Ok(unsigned(last.bind(run).fetch_one(pool).await?))
}

pub(super) async fn sweep(pool: &SqlitePool, before: Millis) -> StoreResult<()> {
    loop {
        let mut tx = pool.begin().await?;
        let runs: Vec<i64> = sqlx::query_scalar("SELECT key FROM runs WHERE logged AND ended_at < ? LIMIT ?")
            .bind(signed(before))
            .bind(SWEPT)
            .fetch_all(&mut *tx)
            .await?;
        for run in &runs {
            for statement in ["DELETE FROM events WHERE run = ?", "UPDATE runs SET logged = 0 WHERE key = ?"]
            {
                sqlx::query(statement).bind(run).execute(&mut *tx).await?;
            }
        }
        tx.commit().await?;
        if runs.is_empty() {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
}
