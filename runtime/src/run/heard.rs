//! An approval waits only while somebody can answer it: while a client of its conversation was
//! heard of lately. After that it is denied, and the turn goes on without its tool. What delegated
//! work asks is asked by the run that has handed it over, and waits there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mindset_core::agui::{Interrupt, Message, ResumeEntry, Role, RunAgentInput};
use mindset_core::json::{Object, Value};
use mindset_core::object;
use mindset_core::turn::{Conversation, RunState};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::{Order, Runs};
use crate::auth::User;
use crate::error::ApiResult;
use crate::ids;
use crate::observe::metrics::{self, Open};
use crate::store::{RunStatus, WaitingTurn};

/// Makes the order of a run that the runtime itself begins.
pub(crate) type Orders =
    Box<dyn Fn(User, String, RunAgentInput) -> BoxFuture<'static, ApiResult<Order>> + Send + Sync>;

/// Of which conversations, by their handles, an approval waits.
#[derive(Default)]
pub(super) struct Heard {
    patience: Duration,
    orders: OnceLock<Orders>,
    waiting: Mutex<BTreeMap<i64, Waiting>>,
}

struct Waiting {
    /// The run that has asked.
    run: String,
    /// The conversation whose clients count, too: it has handed over the work, which goes on in its
    /// background.
    parent: Option<i64>,
    /// When a client was heard of last.
    heard: Instant,
    /// What looks whether that was too long ago; one for each.
    task: Option<AbortHandle>,
    /// For the metrics.
    _open: Open,
}

impl std::fmt::Debug for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Heard")
    }
}

impl Heard {
    /// Nothing waits.
    pub(super) fn new(patience: Duration) -> Heard {
        Heard { patience, ..Heard::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<i64, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client of the conversation was heard of.
    pub(super) fn hear(&self, conversation: i64) {
        for (own, waiting) in self.waiting().iter_mut() {
            if *own == conversation || waiting.parent == Some(conversation) {
                waiting.heard = Instant::now();
            }
        }
    }

    /// Nothing waits there any more.
    pub(super) fn forget(&self, conversation: i64) {
        let gone = self.waiting().remove(&conversation);
        if let Some(task) = gone.and_then(|waiting| waiting.task) {
            task.abort();
        }
    }

    /// How long a run may still wait; `None`: it does not.
    fn left(&self, conversation: i64, run: &str) -> Option<Duration> {
        let waiting = self.waiting();
        let waiting = waiting.get(&conversation).filter(|waiting| waiting.run == run)?;
        Some((waiting.heard + self.patience).saturating_duration_since(Instant::now()))
    }
}

/// Whether somebody was promised who answers an approval among these.
pub(super) fn waits_for_approval(interrupts: &[Interrupt]) -> bool {
    let promised = |interrupt: &Interrupt| {
        let mindset = interrupt.metadata.as_ref().and_then(|m| m.get("mindset"));
        mindset.and_then(|m| m.get("answers")).and_then(Value::as_bool) == Some(true)
    };
    interrupts.iter().any(|interrupt| interrupt.reason == "tool_call" && promised(interrupt))
}

impl Runs {
    /// How runs of the runtime's own are ordered; to be set before anybody is served.
    pub(crate) fn order_by(&self, orders: Orders) {
        // Set once, at the start.
        let _ = self.heard.orders.set(orders);
    }

    /// A client of the user's conversation was heard of.
    pub(crate) fn hear(&self, conversation: i64) {
        self.heard.hear(conversation);
    }

    /// The order of a run that the runtime itself begins; `None`: nobody says how yet.
    pub(super) fn own_order(
        &self,
        user: User,
        agent: String,
        input: RunAgentInput,
    ) -> Option<BoxFuture<'static, ApiResult<Order>>> {
        self.heard.orders.get().map(|orders| orders(user, agent, input))
    }

    /// The clocks of approvals that waited when an earlier process ended begin anew.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn wait_on(self: &Arc<Runs>) -> Result<(), crate::store::StoreError> {
        for turn in self.store.waiting_turns().await? {
            let messages = self.store.messages(turn.conversation_key).await?;
            let conversation = Conversation { messages, ..Conversation::default() };
            if waits_for_approval(&conversation.open_interrupts()) {
                self.wait_for_word(turn);
            }
        }
        Ok(())
    }

    /// From now on somebody has to be heard of, or what the turn waits for is denied.
    pub(super) fn wait_for_word(self: &Arc<Runs>, turn: WaitingTurn) {
        let (conversation, run) = (turn.conversation_key, turn.run.clone());
        let (heard, parent) = (Instant::now(), turn.parent);
        let waiting = Waiting { run, parent, heard, task: None, _open: Open::one(&metrics::APPROVALS) };
        self.heard.forget(conversation);
        self.heard.waiting().insert(conversation, waiting);
        let task = tokio::spawn(Arc::clone(self).deny_unheard(turn)).abort_handle();
        if let Some(waiting) = self.heard.waiting().get_mut(&conversation) {
            waiting.task = Some(task);
        }
    }

    async fn deny_unheard(self: Arc<Runs>, turn: WaitingTurn) {
        while let Some(left) = self.heard.left(turn.conversation_key, &turn.run) {
            if !left.is_zero() {
                tokio::time::sleep(left).await;
            } else if self.is_read(&turn) {
                self.hear(turn.conversation_key);
            } else if self.is_closing() {
                return;
            } else {
                // A task of its own, because this one ends as soon as the run begins.
                let begun = tokio::spawn(Arc::clone(&self).go_on_without(turn.clone()));
                let Ok(Err(error)) = begun.await else { return };
                // No place in the line, perhaps: it is tried again later.
                tracing::debug!(run = turn.run, error = error.info().message, "a call could not be denied");
                self.hear(turn.conversation_key);
            }
        }
    }

    /// Whether a stream of a run in the same conversation is open.
    fn is_read(&self, turn: &WaitingTurn) -> bool {
        let table = self.table();
        let counts = |key: i64| key == turn.conversation_key || Some(key) == turn.parent;
        let mut own = table.runs.values().filter(|run| counts(run.conversation_key));
        own.any(|run| run.log.is_read())
    }

    /// Denies what is open, and has the turn go on.
    async fn go_on_without(self: Arc<Runs>, turn: WaitingTurn) -> ApiResult<()> {
        let last = self.store.last_run(turn.conversation_key).await?;
        let waits = last.is_some_and(|l| l.id == turn.run && l.status == RunStatus::Ended(RunState::Waiting));
        let Some(orders) = self.heard.orders.get().filter(|_| waits) else { return Ok(()) };
        let messages = self.store.messages(turn.conversation_key).await?;
        let conversation = Conversation { messages, ..Conversation::default() };
        let deny = |interrupt: Interrupt| ResumeEntry {
            interrupt_id: interrupt.id,
            status: "cancelled".to_owned(),
            payload: Some(object! { "unheard": true }.into()),
            metadata: None,
        };
        // The page is gone: what its own calls came to is not known, whatever this says.
        let mut results = Vec::new();
        for call in conversation.open_calls() {
            let mut result = Message::text(ids::uuid(), Role::Tool, "");
            result.tool_call_id = Some(call.id.clone());
            results.push(result);
        }
        let mut mindset = Object::new();
        if turn.agent_call {
            mindset.insert("agentSession", true);
        }
        let input = RunAgentInput {
            thread_id: turn.conversation,
            run_id: ids::uuid(),
            messages: results,
            resume: conversation.open_interrupts().into_iter().map(deny).collect(),
            forwarded_props: Some(object! { "mindset": mindset }.into()),
            ..RunAgentInput::default()
        };
        self.start(orders(turn.user, turn.agent, input).await?).await?;
        tracing::debug!(run = turn.run, "nobody was heard of who could allow a call: it was denied");
        Ok(())
    }
}
