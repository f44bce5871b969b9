//! How long what runs leave behind is kept.

use std::sync::Arc;
use std::time::Duration;

use super::Runs;
use crate::clock;
use crate::store::StoreError;

/// The longest and the shortest pause between two looks.
const PAUSE: Duration = Duration::from_secs(60);
const LEAST: Duration = Duration::from_millis(20);

impl Runs {
    /// Drops the events of runs that ended longer ago than `log_keep`, of earlier processes
    /// too, and forgets the runs themselves after `run_keep`, if that is set. Never ends.
    pub(crate) async fn sweep(self: Arc<Runs>, log_keep: Duration, run_keep: Option<Duration>) {
        let pause = PAUSE.min(log_keep / 2).max(LEAST);
        loop {
            if let Err(error) = self.sweep_once(log_keep, run_keep).await {
                tracing::error!(%error, "what is old could not be dropped");
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn sweep_once(&self, log_keep: Duration, run_keep: Option<Duration>) -> Result<(), StoreError> {
        let ago =
            |time: Duration| clock::now().saturating_sub(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self.settle_all().await?;
        self.store.log().sweep(ago(log_keep)).await?;
        match run_keep {
            Some(keep) => self.store.prune(ago(keep.max(log_keep))).await,
            None => Ok(()),
        }
    }
}
