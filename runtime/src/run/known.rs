//! What is known of an order before it runs: its run, its conversation.

use mindset_core::agui::Role;
use mindset_core::error::ErrorCode;
use mindset_core::turn::{Conversation, RunState};

use super::{Attached, Order, Runs, key};
use crate::error::{ApiError, ApiResult};
use crate::store::{ConversationRow, NewConversation, Owner, RunStatus};

impl Runs {
    /// A conversation as the turn needs it.
    pub(super) async fn stored(&self, id: &str, row: Option<&ConversationRow>) -> ApiResult<Conversation> {
        let Some(row) = row else {
            return Ok(Conversation { id: id.to_owned(), ..Conversation::default() });
        };
        let last = self.store.last_run(row.key).await?;
        let waiting = last.filter(|run| run.status == RunStatus::Ended(RunState::Waiting));
        let broken = waiting.is_none();
        let open_client = waiting.and_then(|run| run.client);
        let messages = self.store.messages(row.key).await?;
        let used = self.store.turn_used(row.key).await?;
        Ok(Conversation { id: id.to_owned(), messages, open_client, broken, used, files: Vec::new() })
    }

    /// The run with the order's id, if there is or was one.
    pub(super) async fn find(&self, order: &Order) -> ApiResult<Option<Attached>> {
        let (user, run_id) = (&order.user, order.input.run_id.as_str());
        let same =
            |conversation: &str, hash: &str| conversation == order.input.thread_id && hash == order.body_hash;
        let conflict = || {
            ApiError::new(
                ErrorCode::Conflict,
                "A run with this id was started with another body or agent. Take a new runId for a new message.",
            )
        };
        if let Some(run) = self.live(user, run_id) {
            let same = same(&run.conversation, &run.body_hash);
            return if same { Ok(Some(Attached::live(&run))) } else { Err(conflict()) };
        }
        if let Some(parked) = self.queues.lines().parked.get(&key(user, run_id)) {
            let said = order.input.messages.iter().rfind(|m| m.role == Role::User);
            let own = same(&parked.row.conversation, &parked.row.run.body_hash)
                || (parked.row.conversation == order.input.thread_id
                    && said.is_none_or(|m| m.plain_text() == parked.row.run.text));
            return if own { Ok(None) } else { Err(conflict()) };
        }
        let Some(stored) = self.store.run(user, run_id).await? else {
            return if self.store.run_is_deleted(user, run_id).await? { Err(deleted()) } else { Ok(None) };
        };
        if !same(&stored.conversation, &stored.body_hash) {
            return Err(conflict());
        }
        self.attach(user, run_id).await
    }

    /// Nothing runs in the conversation, and it is with the agent that was asked.
    pub(super) fn check_free(&self, row: &ConversationRow, order: &Order) -> ApiResult<()> {
        Runs::check_agent(row, order)?;
        match self.running(row.key) {
            Some(run_id) => Err(ApiError::new(
                ErrorCode::Busy,
                "The conversation is answering already. Wait for the end or cancel that run.",
            )
            .with("runId", run_id)),
            None => Ok(()),
        }
    }

    /// A conversation keeps its agent.
    pub(super) fn check_agent(row: &ConversationRow, order: &Order) -> ApiResult<()> {
        if (row.owner == Owner::Child) != order.handed.is_some() {
            let message = "This conversation belongs to work that was delegated. Go on in the one that has handed it over.";
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
        if row.agent != order.agent_uid {
            let message = "The conversation is with another agent or agent session. Take a new threadId to talk to this one.";
            return Err(ApiError::new(ErrorCode::Conflict, message).with("agentUid", row.agent.as_str()));
        }
        Ok(())
    }

    /// The order's conversation, which is new.
    pub(super) async fn new_conversation(&self, order: &Order) -> ApiResult<ConversationRow> {
        let (user, id) = (&order.user, order.input.thread_id.as_str());
        if self.store.conversation_is_deleted(user, id).await? {
            let message = "This conversation was deleted. Send the message again to begin a new one.";
            return Err(ApiError::new(ErrorCode::NotFound, message).with("conversationId", id));
        }
        let owner = match (&order.handed, order.agent_call) {
            (Some(_), _) => Owner::Child,
            (None, true) => Owner::Application,
            (None, false) => Owner::User,
        };
        let new = NewConversation { id, agent: &order.agent_uid, title: None, owner };
        self.store.add_conversation(user, new).await?;
        let row = self.store.conversation(user, id).await?.ok_or_else(|| {
            ApiError::new(ErrorCode::ServerError, "The conversation was not stored. Try again.")
        })?;
        if let Some(handed) = &order.handed {
            self.store.add_child(row.key, handed.conversation).await?;
            if handed.background {
                self.store.add_background(row.key, &handed.run_id, &handed.above, handed.agent_call).await?;
            }
        }
        Ok(row)
    }
}

/// The run's conversation was deleted after it.
fn deleted() -> ApiError {
    let message = "This run was part of a conversation that is deleted. Take a new runId for a new message.";
    ApiError::new(ErrorCode::Gone, message)
}
