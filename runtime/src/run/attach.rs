//! Finding a run by its id, whether it lives or has ended, and what a conversation says of its
//! runs.

use std::sync::Arc;
use std::time::Duration;

use mindset_core::error::ErrorCode;
use mindset_core::turn::RunState;

use super::{LiveRun, Log, Runs, key};
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::store::{LastRun, RunStatus, StoreError};

/// How often, and with which pause, a run is looked for that is neither alive nor over.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// A run to be read.
#[derive(Debug)]
pub(crate) struct Attached {
    /// Its events.
    pub(crate) log: Arc<Log>,
    /// Its conversation's id.
    pub(crate) conversation: String,
    /// Its conversation's handle.
    pub(crate) conversation_key: i64,
    /// Whether its events are there still.
    pub(crate) kept: bool,
    /// Whether it waits for its turn.
    waits: bool,
}

impl Attached {
    /// One that is alive.
    pub(super) fn live(run: &LiveRun) -> Attached {
        Attached {
            log: Arc::clone(&run.log),
            conversation: run.conversation.clone(),
            conversation_key: run.conversation_key,
            kept: true,
            waits: run.waits(),
        }
    }

    /// How it stands.
    pub(crate) fn status(&self) -> RunStatus {
        let now = if self.waits { RunStatus::Queued } else { RunStatus::Running };
        self.log.state().map_or(now, RunStatus::Ended)
    }
}

/// What a conversation says of its runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunsOf {
    /// The run that keeps it busy.
    pub(crate) active: Option<ActiveRun>,
    /// The newest run that does not run any more; it may wait for its page's tools.
    pub(crate) last: Option<LastRun>,
}

/// The run that keeps a conversation busy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ActiveRun {
    /// Its id.
    pub(crate) id: String,
    /// The turn it is part of.
    pub(crate) turn_id: String,
    /// It runs, or waits for its page's tools.
    pub(crate) status: RunStatus,
    /// The page that posted it.
    pub(crate) client: Option<String>,
}

impl Runs {
    /// The user's run with this id; `None`: there never was one, or it is deleted.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn attach(&self, user: &User, run_id: &str) -> ApiResult<Option<Attached>> {
        for _ in 0..TRIES {
            if let Some(run) = self.live(user, run_id) {
                return Ok(Some(Attached::live(&run)));
            }
            if let Some(parked) = self.queues.lines().parked.get(&key(user, run_id)) {
                let (log, conversation) = (Arc::clone(&parked.log), parked.row.conversation.clone());
                let conversation_key = parked.row.conversation_key;
                return Ok(Some(Attached { log, conversation, conversation_key, kept: true, waits: true }));
            }
            let Some(row) = self.store.run(user, run_id).await? else { return Ok(None) };
            match row.status {
                RunStatus::Ended(state) => {
                    let last = if row.logged { self.store.log().last(row.key).await? } else { 0 };
                    let log = Arc::new(Log::ended_before(run_id, row.key, last, state));
                    return Ok(Some(Attached {
                        log,
                        conversation: row.conversation,
                        conversation_key: row.conversation_key,
                        kept: last > 0,
                        waits: false,
                    }));
                }
                // It has begun since, or was lost.
                RunStatus::Queued | RunStatus::Running => {
                    self.settle(row.conversation_key).await?;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        Err(ApiError::new(
            ErrorCode::ServerError,
            "How the run ended is not stored yet. Try again in a moment.",
        ))
    }

    /// The same for a run that may be starting just now.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn attach_soon(&self, user: &User, run_id: &str) -> ApiResult<Option<Attached>> {
        self.begun(user, run_id).await;
        self.attach(user, run_id).await
    }

    /// The runs of a conversation of the user.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn of(&self, user: &User, conversation: i64) -> Result<RunsOf, StoreError> {
        let running = self.running(conversation).and_then(|id| {
            let run = self.live(user, &id)?;
            let turn_id = run.turn_id.get().cloned().unwrap_or_else(|| id.clone());
            Some(ActiveRun { id, turn_id, status: RunStatus::Running, client: run.client.clone() })
        });
        let last = self.store.last_run(conversation).await?;
        let waiting = || {
            let run = last.as_ref().filter(|run| run.status == RunStatus::Ended(RunState::Waiting))?;
            Some(ActiveRun {
                id: run.id.clone(),
                turn_id: run.turn_id.clone(),
                status: run.status,
                client: run.client.clone(),
            })
        };
        Ok(RunsOf { active: running.or_else(waiting), last })
    }
}
