//! What runs append, as statements.

use std::sync::{Arc, LazyLock};

use mindset_core::turn::RunState;
use sqlx::sqlite::SqlitePool;
use sqlx::{Sqlite, Transaction};

use super::log::{Entry, Part};
use super::runs::{self, RunStatus};
use super::{StoreResult, conversations, queue, signed};
use crate::clock;

type Tx<'t> = Transaction<'t, Sqlite>;

/// Rows in one statement, largest first: few shapes, all of them prepared once.
static INSERTS: LazyLock<[(usize, String); 4]> = LazyLock::new(|| {
    [64, 16, 4, 1].map(|rows| {
        let values = vec!["(?,?,?)"; rows].join(",");
        (rows, format!("INSERT INTO events (run, seq, event) VALUES {values}"))
    })
});

/// Applies parts of many runs, all or nothing.
///
/// # Errors
/// The database failed, or one part does not fit what is stored.
pub(super) async fn apply(pool: &SqlitePool, parts: impl Iterator<Item = &Part>) -> StoreResult<()> {
    let mut tx = pool.begin().await?;
    let mut rows = Vec::new();
    for part in parts {
        let mut seq = part.first;
        for entry in &part.entries {
            match entry {
                Entry::Wait(run) => queue::add(&mut tx, (part.run, part.conversation), run).await?,
                Entry::Unwait => queue::remove(&mut tx, part.run).await?,
                Entry::Begin(run) => runs::begin(&mut tx, (part.run, part.conversation), run).await?,
                Entry::Truncate(from) => conversations::truncate(&mut tx, part.conversation, from).await?,
                Entry::Messages(messages) => {
                    conversations::append(&mut tx, part.conversation, messages).await?;
                }
                Entry::Calls { message_id, calls } => {
                    conversations::set_calls(&mut tx, part.conversation, message_id, calls).await?;
                }
                Entry::Event(event) => {
                    rows.push((part.run, seq, event));
                    seq += 1;
                }
                Entry::End { state, terminal } => end(&mut tx, part.run, *state, terminal.as_ref()).await?,
            }
        }
    }
    add_events(&mut tx, &rows).await?;
    tx.commit().await
}

async fn add_events(tx: &mut Tx<'_>, mut rows: &[(i64, u64, &Arc<str>)]) -> StoreResult<()> {
    for (size, sql) in INSERTS.iter() {
        while let Some((now, later)) = rows.split_at_checked(*size) {
            let mut query = sqlx::query(sql.as_str());
            for (run, seq, event) in now {
                query = query.bind(run).bind(signed(*seq)).bind(Arc::clone(event));
            }
            query.execute(&mut **tx).await?;
            rows = later;
        }
    }
    Ok(())
}

async fn end(tx: &mut Tx<'_>, run: i64, state: RunState, terminal: Option<&Arc<str>>) -> StoreResult<()> {
    sqlx::query(
        "UPDATE runs SET state = ?, ended_at = coalesce(ended_at, ?), terminal = coalesce(?, terminal)
         WHERE key = ?",
    )
    .bind(RunStatus::Ended(state).as_str())
    .bind(signed(clock::now()))
    .bind(terminal.map(Arc::clone))
    .bind(run)
    .execute(&mut **tx)
    .await?;
    Ok(())
}
