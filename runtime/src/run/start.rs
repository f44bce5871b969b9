//! How a run begins: what it needs is gathered while nobody else has to wait, and it
//! can be stopped before it is alive.

use std::collections::btree_map::Entry;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_channel::mpsc;
use futures_util::StreamExt;
use mindset_core::agui::{Role, RunAgentInput};
use mindset_core::error::ErrorCode;
use mindset_core::json::Value;
use mindset_core::turn::{self, Conversation, Ports, RunState, Turn};

use super::{Attached, Command, LiveRun, Log, Order, RunKey, Runs, closing, key, task};
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::pattern::Patterns;
use crate::store::{ConversationRow, RunStatus};
use crate::tools::{Listed, Scope};
use crate::{clock, ids};

/// What a run begins with.
struct Ready {
    listed: Listed,
    commands: mpsc::UnboundedSender<Command>,
    inbox: mpsc::UnboundedReceiver<Command>,
}

/// Takes a run off the list of those that start, however its start ends.
struct Starting<'a> {
    runs: &'a Runs,
    key: RunKey,
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.runs.table().starting.remove(&self.key);
    }
}

impl Runs {
    pub(super) async fn start_now(self: &Arc<Runs>, order: Order) -> ApiResult<Attached> {
        let key = key(&order.user, &order.input.run_id);
        let (commands, inbox) = mpsc::unbounded();
        // Of many posts of one run the first starts it, and the others find it.
        let _starting = loop {
            if let Some(known) = self.find(&order).await? {
                return Ok(known);
            }
            match self.announce(key.clone(), &commands) {
                Some(starting) => break starting,
                None => self.begun(&order.user, &order.input.run_id).await,
            }
        };
        // It may have begun and ended between the two looks.
        if let Some(known) = self.find(&order).await? {
            return Ok(known);
        }
        if let Some(row) = self.store.conversation(&order.user, &order.input.thread_id).await? {
            self.check_free(&row, &order)?;
        }
        // Servers may take their time, and nobody else should wait for them.
        let ready = self.ready(&order.scope, commands, inbox).await?;
        let run = {
            let _lock = self.starting.lock().await;
            self.begin(order, ready).await?
        };
        run.log.begun().await;
        if run.log.last() == 0 {
            let message = "The server could not store the run. Try again in a moment.";
            return Err(ApiError::new(ErrorCode::ServerError, message));
        }
        Ok(Attached::live(&run))
    }

    /// From now on the run can be told something. Of two posts of one run the first hears it.
    fn announce(&self, key: RunKey, commands: &mpsc::UnboundedSender<Command>) -> Option<Starting<'_>> {
        match self.table().starting.entry(key.clone()) {
            Entry::Vacant(place) => {
                place.insert(commands.clone());
            }
            Entry::Occupied(_) => return None,
        }
        Some(Starting { runs: self, key })
    }

    /// Lists the tools, unless someone stops the run before they are there: then it needs
    /// none.
    async fn ready(
        &self,
        scope: &Scope,
        commands: mpsc::UnboundedSender<Command>,
        mut inbox: mpsc::UnboundedReceiver<Command>,
    ) -> ApiResult<Ready> {
        let mut early = Vec::new();
        let listed = {
            let mut listing = std::pin::pin!(self.tools.list(scope));
            loop {
                tokio::select! {
                    listed = &mut listing => break listed?,
                    Some(command) = inbox.next() => {
                        let stops = matches!(command, Command::Cancel);
                        early.push(command);
                        if stops {
                            break Listed::default();
                        }
                    }
                }
            }
        };
        for command in early {
            // The other end is in this function's hands.
            let _ = commands.unbounded_send(command);
        }
        Ok(Ready { listed, commands, inbox })
    }

    /// Tells a run something that is not alive yet; `false`: there is none.
    pub(super) fn tell_starting(&self, user: &User, run_id: &str, command: Command) -> bool {
        let table = self.table();
        table.starting.get(&key(user, run_id)).is_some_and(|run| run.unbounded_send(command).is_ok())
    }

    /// Waits until a run that starts is alive, or has failed to start.
    pub(super) async fn begun(&self, user: &User, run_id: &str) {
        while self.table().starting.contains_key(&key(user, run_id)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn begin(self: &Arc<Runs>, order: Order, ready: Ready) -> ApiResult<Arc<LiveRun>> {
        let Ready { mut listed, commands, inbox } = ready;
        listed.fit(order.input.tools.len());
        if self.table().closing {
            return Err(closing());
        }
        let (user, thread) = (&order.user, order.input.thread_id.clone());
        let row = self.store.conversation(user, &thread).await?;
        if let Some(row) = &row {
            self.check_free(row, &order)?;
            self.settle(row.key).await?;
        }
        let mut conversation = self.stored(&thread, row.as_ref()).await?;
        conversation.files = self.files(&order, row.as_ref()).await?;
        let agent = turn::Agent {
            instructions: order.agent.instructions,
            model: order.model.shown_name().to_owned(),
            disclosure: order.model.disclosure().map(str::to_owned),
            bounds: order.agent.bounds,
            tools: listed.tools,
            approvals: order.agent.approvals,
            ask_user: order.agent.ask_user,
        };
        let run_id = order.input.run_id.clone();
        let client = order.input.mindset("clientId").and_then(Value::as_str).map(str::to_owned);
        let user = user.clone();
        // A run that goes on with a turn has said it already.
        let warnings = if goes_on(&order.input) { Vec::new() } else { listed.warnings };
        let links = Arc::clone(&self.links);
        let files = Box::new(move |id: &str| links.link(id, clock::now()));
        let ports = Ports { ids: Box::new(ids::uuid), patterns: Box::new(Patterns), files };
        let turn = Turn::start(order.input, agent, conversation, ports, clock::now())?;
        let row = match row {
            Some(row) => row,
            None => self.new_conversation(&user, &thread, &order.agent_uid).await?,
        };
        let run = Arc::new(LiveRun {
            conversation: thread,
            body_hash: order.body_hash,
            log: Arc::new(Log::new(&run_id, self.store.new_run_key())),
            client,
            turn_id: OnceLock::new(),
            conversation_key: row.key,
            commands,
        });
        self.enter(&user, &run_id, &run)?;
        tracing::debug!(run = run_id, agent = order.agent.uid, model = order.agent.model, "run started");
        task::spawn(task::Start {
            turn,
            model: order.model,
            watch: order.watch,
            scope: order.scope,
            warnings,
            inbox,
            run: Arc::clone(&run),
            runs: Arc::clone(self),
            user,
            run_id,
        });
        Ok(run)
    }

    /// A conversation as the turn needs it.
    async fn stored(&self, id: &str, row: Option<&ConversationRow>) -> ApiResult<Conversation> {
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
    async fn find(&self, order: &Order) -> ApiResult<Option<Attached>> {
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
        let Some(stored) = self.store.run(user, run_id).await? else {
            return if self.store.run_is_deleted(user, run_id).await? { Err(deleted()) } else { Ok(None) };
        };
        if !same(&stored.conversation, &stored.body_hash) {
            return Err(conflict());
        }
        self.attach(user, run_id).await
    }

    fn check_free(&self, row: &ConversationRow, order: &Order) -> ApiResult<()> {
        if row.agent != order.agent_uid {
            let message = "The conversation is with another agent or agent session. Take a new threadId to talk to this one.";
            return Err(ApiError::new(ErrorCode::Conflict, message).with("agentUid", row.agent.as_str()));
        }
        match self.running(row.key) {
            Some(run_id) => Err(ApiError::new(
                ErrorCode::Busy,
                "The conversation is answering already. Wait for the end or cancel that run.",
            )
            .with("runId", run_id)),
            None => Ok(()),
        }
    }

    async fn new_conversation(&self, user: &User, id: &str, agent: &str) -> ApiResult<ConversationRow> {
        if self.store.conversation_is_deleted(user, id).await? {
            let message = "This conversation was deleted. Send the message again to begin a new one.";
            return Err(ApiError::new(ErrorCode::NotFound, message).with("conversationId", id));
        }
        self.store.add_conversation(user, id, agent, None).await?;
        let row = self.store.conversation(user, id).await?;
        row.ok_or_else(|| {
            ApiError::new(ErrorCode::ServerError, "The conversation was not stored. Try again.")
        })
    }
}

/// Whether the run only brings results of tools or what people have decided.
fn goes_on(input: &RunAgentInput) -> bool {
    input.messages.last().is_some_and(|m| m.role == Role::Tool) || !input.resume.is_empty()
}

/// The run's conversation was deleted after it.
fn deleted() -> ApiError {
    let message = "This run was part of a conversation that is deleted. Take a new runId for a new message.";
    ApiError::new(ErrorCode::Gone, message)
}
