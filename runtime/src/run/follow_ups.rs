//! What waits behind a turn, as people see and change it.

use std::sync::Arc;
use std::time::Duration;

use mindset_core::error::ErrorCode;
use mindset_core::limits::MESSAGE;
use mindset_core::turn::StoredMessage;

use super::{Runs, unknown};
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::store::StoreError;

/// A run that waits, in the list of its conversation.
#[derive(Debug, Clone)]
pub(crate) struct FollowUp {
    /// The run.
    pub(crate) run_id: String,
    /// Its message.
    pub(crate) message: StoredMessage,
    /// Its place in the conversation, from 1.
    pub(crate) position: usize,
    /// `queued`, `steering` or `paused`.
    pub(crate) state: &'static str,
}

impl Runs {
    /// What waits in a conversation, first what comes next.
    pub(crate) fn follow_ups(&self, user: &User, conversation: &str) -> Vec<FollowUp> {
        let live = self.queues.waiting(user, conversation).into_iter().map(|(place, message)| {
            let state = match (place.steers, place.paused) {
                (true, _) => "steering",
                (false, true) => "paused",
                (false, false) => "queued",
            };
            (place.run, message, state)
        });
        let parked = self.parked(user, conversation).into_iter();
        let parked = parked.map(|parked| (parked.row.run.id.clone(), parked.message(), "paused"));
        let place = |(at, (run_id, message, state))| FollowUp { run_id, message, position: at + 1, state };
        live.chain(parked).enumerate().map(place).collect()
    }

    /// A run's place, if it waits.
    pub(crate) fn place(&self, user: &User, conversation: &str, run_id: &str) -> Option<FollowUp> {
        self.follow_ups(user, conversation).into_iter().find(|follow_up| follow_up.run_id == run_id)
    }

    /// Gives a run that waits another text.
    ///
    /// # Errors
    /// It does not wait, the text is none, or the database failed.
    pub(crate) async fn edit(&self, user: &User, run_id: &str, text: &str) -> ApiResult<FollowUp> {
        if text.trim().is_empty() {
            let message = "`text` has nothing but white space. Send some text, or remove the run.";
            return Err(ApiError::new(ErrorCode::InvalidRequest, message));
        }
        if text.chars().count() > MESSAGE {
            let message = format!("`text` is longer than {MESSAGE} characters. Send a shorter one.");
            return Err(ApiError::new(ErrorCode::TooLarge, message).with("limit", MESSAGE as u64));
        }
        let Some(key) = self.queues.edit(user, run_id, text) else {
            return Err(self.begun_already(user, run_id).await?);
        };
        self.store.edit_waiting(key, text).await?;
        let conversation = self.store.run(user, run_id).await?.ok_or_else(unknown)?.conversation;
        match self.place(user, &conversation, run_id) {
            Some(follow_up) => Ok(follow_up),
            None => Err(self.begun_already(user, run_id).await?),
        }
    }

    /// A run that waits gives up its place.
    ///
    /// # Errors
    /// It does not wait, or the database failed.
    pub(crate) async fn remove(&self, user: &User, run_id: &str) -> ApiResult<()> {
        if self.give_up(user, run_id).await? { Ok(()) } else { Err(self.begun_already(user, run_id).await?) }
    }

    /// A run gives up its place, if it has one; `false`: it does not wait.
    pub(super) async fn give_up(&self, user: &User, run_id: &str) -> Result<bool, StoreError> {
        let run = self.live(user, run_id);
        if !self.queues.withdraw(user, run_id) {
            return self.withdraw_parked(user, run_id).await;
        }
        if let Some(run) = run {
            let _ = tokio::time::timeout(super::STOPPING, run.log.ended()).await;
        }
        Ok(true)
    }

    async fn begun_already(&self, user: &User, run_id: &str) -> ApiResult<ApiError> {
        self.store.run(user, run_id).await?.ok_or_else(unknown)?;
        let message = "The run does not wait any more. It has begun, or is over.";
        Ok(ApiError::new(ErrorCode::Conflict, message))
    }

    /// A conversation's queue goes on after a stop.
    pub(crate) fn resume(&self, user: &User, conversation: &str) {
        self.queues.resume(user, conversation);
    }

    /// Everything that waits in a conversation gives up its place.
    pub(super) async fn clear(&self, user: &User, conversation: &str) -> Result<(), StoreError> {
        for follow_up in self.follow_ups(user, conversation).iter().rev() {
            self.give_up(user, &follow_up.run_id).await?;
        }
        Ok(())
    }

    /// Stops every run that the application has for the user, and what waits of them.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn end_agent_calls(self: &Arc<Runs>, user: &User) -> ApiResult<()> {
        let mut runs = self.queues.of_application(user);
        runs.reverse();
        runs.extend(self.store.waiting_agent_calls(user).await?);
        for run in runs {
            match self.cancel(user.clone(), run).await {
                Ok(_) => {}
                // One that could not begin is not known at all.
                Err(error) if error.info().code == ErrorCode::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A turn that waits for its client gives up its slot, after a while or, where it waits for a
    /// person who may take any time, at once.
    pub(super) fn lapse_later(self: &Arc<Runs>, user: &User, run_id: &str, patience: Duration) {
        if patience.is_zero() {
            return self.queues.lapse(user, run_id);
        }
        let (runs, user, run_id) = (Arc::clone(self), user.clone(), run_id.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            runs.queues.lapse(&user, &run_id);
        });
    }
}
