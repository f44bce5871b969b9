//! The end of a conversation: what runs in it is stopped, and its runs are gone with it.

use std::sync::Arc;

use mindset_core::error::ErrorCode;

use super::Runs;
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::store::ConversationRow;

impl Runs {
    /// Deletes a conversation of the user. The work is a task of its own, so that a client that
    /// hangs up in the middle leaves nothing half done.
    ///
    /// # Errors
    /// Its run did not stop in time, or the database failed.
    pub(crate) async fn delete(self: &Arc<Runs>, user: User, conversation: ConversationRow) -> ApiResult<()> {
        let runs = Arc::clone(self);
        let deleted = tokio::spawn(async move { runs.delete_now(user, conversation).await }).await;
        deleted.unwrap_or_else(|_| {
            Err(ApiError::new(
                ErrorCode::Internal,
                "The conversation could not be deleted. Try again in a moment.",
            ))
        })
    }

    async fn delete_now(self: &Arc<Runs>, user: User, row: ConversationRow) -> ApiResult<()> {
        self.clear(&user, &row.id).await?;
        let conversation = row.key;
        if let Some(run_id) = self.running(conversation) {
            self.cancel(user.clone(), run_id).await?;
        }
        for (below, id) in self.store.descendants(conversation).await? {
            self.clear(&user, &id).await?;
            self.heard.forget(below);
            if let Some(run_id) = self.running(below) {
                self.cancel(user.clone(), run_id).await?;
            }
            self.store.delete_conversation(below).await?;
            self.tools.release(below);
        }
        let _starting = self.starting.lock().await;
        // Nothing may write into what is gone: a run that does not stop keeps it.
        if let Some(run_id) = self.running(conversation) {
            let message = "The conversation is still answering. Try again in a moment.";
            return Err(ApiError::new(ErrorCode::Busy, message).with("runId", run_id));
        }
        self.store.delete_conversation(conversation).await?;
        self.tools.release(conversation);
        self.heard.forget(conversation);
        self.notes.take(conversation);
        self.observers.deleted(&user, &row.id);
        if let Some(recorder) = self.recorder() {
            recorder.forget(conversation);
        }
        Ok(())
    }
}
