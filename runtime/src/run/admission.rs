//! Whether a run begins or waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures_channel::mpsc;
use mindset_core::agui::{Role, encode_interrupt};
use mindset_core::error::ErrorCode;
use mindset_core::json::Value;
use mindset_core::queue::{Call, Caller, End};
use mindset_core::turn::{self, Conversation, Ports, RunState, StoredMessage, StoredRole, Turn};

use super::parked::Parked;
use super::queue::Admission;
use super::script::Script;
use super::start::{Channel, Waited};
use super::wait::{self, Wait};
use super::{Command, LiveRun, Log, Order, Runs, key};
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::pattern::Patterns;
use crate::store::{ConversationRow, LastRun, RunStatus};
use crate::{clock, ids};

/// A run that may begin and has not: if it does not come to it, the queue goes on without it.
struct Admitted<'a> {
    runs: &'a Runs,
    order: (User, String),
    began: bool,
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if !self.began {
            let (user, run) = &self.order;
            self.runs.queues.ended(user, run, End::Refused);
        }
    }
}

impl Order {
    /// Whether it is of those that may have to wait.
    fn may_wait(&self) -> bool {
        self.agent_call || self.when_busy.is_some()
    }

    /// Whether it only brings what a turn waits for: results of tools, or what people have decided.
    pub(crate) fn continues(&self) -> bool {
        self.input.messages.last().is_some_and(|m| m.role == Role::Tool) || !self.input.resume.is_empty()
    }

    /// Its message.
    fn message(&self) -> Option<StoredMessage> {
        let said = self.input.messages.iter().rfind(|m| m.role == Role::User)?;
        let (run, text) = (&self.input.run_id, said.plain_text());
        let mut message = StoredMessage::new(&said.id, run, StoredRole::User, text, clock::now());
        message.silent = self.input.mindset("inputType").and_then(Value::as_str) == Some("PSEUDO_HUMAN");
        Some(message)
    }
}

impl Runs {
    /// Lets a run begin, or wait.
    ///
    /// # Errors
    /// Why neither.
    pub(super) async fn admit(
        self: &Arc<Runs>,
        mut order: Order,
        channel: Channel,
    ) -> ApiResult<Arc<LiveRun>> {
        let row = self.store.conversation(&order.user, &order.input.thread_id).await?;
        if let Some(row) = &row {
            Runs::check_agent(row, &order)?;
            if order.agent_call && !order.continues() {
                self.check_answered(row).await?;
            }
        }
        let parked = self.queues.lines().parked.get(&key(&order.user, &order.input.run_id)).cloned();
        if let Some(parked) = &parked {
            wait::put_message(&mut order, &parked.message());
        }
        let continues = order.continues();
        let mut message = order.message().filter(|_| !continues);
        if order.may_wait() && !continues {
            let files = self.check(&order, row.as_ref()).await?;
            if let Some(message) = &mut message {
                message.files = files;
            }
        }
        let (user, run_id) = (order.user.clone(), order.input.run_id.clone());
        let call = self.call(&order, continues, row.as_ref()).await?;
        let behind = call.waiting.clone().zip(row.as_ref().map(|row| row.key));
        let run_key = parked.as_ref().map_or_else(|| self.store.new_run_key(), |parked| parked.row.key);
        let run = match self.queues.accept(&user, call, (run_key, message.clone()))? {
            Admission::Start => {
                let mut guard = Admitted { runs: self, order: (user.clone(), run_id.clone()), began: false };
                let mut waited = parked.as_ref().map(|parked| self.waited(&order, parked, &channel.0));
                let run = self.go(order, channel, &mut waited).await?;
                guard.began = true;
                run
            }
            Admission::Wait(notices) => {
                let made = self.waiting_run(&order, (row, parked.as_ref(), run_key), &channel.0).await;
                let Waited { run, script } = made.inspect_err(|_| {
                    self.queues.withdraw(&user, &run_id);
                })?;
                let runs = Arc::clone(self);
                let waiting = Wait { order, run: Arc::clone(&run), runs, notices, inbox: channel.1, script };
                wait::spawn(waiting, message.as_ref(), parked.is_some());
                if let Some((behind, conversation)) = behind {
                    self.check_waiting(&user, &behind, conversation).await?;
                }
                run
            }
        };
        self.queues.lines().parked.remove(&key(&user, &run_id));
        Ok(run)
    }

    /// A session that has asked its person something takes the answers first.
    async fn check_answered(&self, row: &ConversationRow) -> ApiResult<()> {
        let last = self.store.last_run(row.key).await?;
        let waits = last.is_some_and(|run| run.status == RunStatus::Ended(RunState::Waiting));
        if !waits || self.running(row.key).is_some() {
            return Ok(());
        }
        let messages = self.store.messages(row.key).await?;
        let open = Conversation { messages, ..Conversation::default() }.open_interrupts();
        if open.is_empty() || open.iter().any(|asked| asked.reason != "input_required") {
            return Ok(());
        }
        let message = "The session has asked questions that are open. Answer or dismiss them first.";
        let open: Vec<Value> = open.iter().map(encode_interrupt).collect();
        Err(ApiError::new(ErrorCode::Busy, message).with("openInterrupts", open))
    }

    /// The run that was found to wait may have gone on and ended before the queue heard of it.
    async fn check_waiting(&self, user: &User, run: &str, conversation: i64) -> ApiResult<()> {
        let last = self.store.last_run(conversation).await?;
        let waits = |last: &LastRun| last.id == run && last.status == RunStatus::Ended(RunState::Waiting);
        if !last.as_ref().is_some_and(waits) {
            self.queues.ended(user, run, End::Over);
        }
        Ok(())
    }

    /// What the queue is asked.
    async fn call(&self, order: &Order, continues: bool, row: Option<&ConversationRow>) -> ApiResult<Call> {
        let waiting = match row {
            Some(row) if order.may_wait() || continues => {
                let last = self.store.last_run(row.key).await?;
                let waits = last.filter(|run| run.status == RunStatus::Ended(RunState::Waiting));
                waits.filter(|_| self.running(row.key).is_none()).map(|run| run.id)
            }
            _ => None,
        };
        Ok(Call {
            run: order.input.run_id.clone(),
            session: order.input.thread_id.clone(),
            caller: match &order.handed {
                Some(handed) if !handed.agent_call => Caller::Agent,
                None if !order.agent_call => Caller::User,
                _ => Caller::Application,
            },
            when_busy: order.when_busy,
            continues,
            waiting,
        })
    }

    /// Refuses at once what could not begin later either: it is looked at as if it began a
    /// conversation. Gives its files.
    async fn check(&self, order: &Order, row: Option<&ConversationRow>) -> ApiResult<Vec<turn::StoredFile>> {
        let files = self.files(order, row).await?;
        let conversation = Conversation {
            id: order.input.thread_id.clone(),
            files: files.clone(),
            ..Conversation::default()
        };
        let ports = Ports {
            ids: Box::new(ids::uuid),
            patterns: Box::new(Patterns),
            files: Box::new(str::to_owned),
            steers: Box::new(Vec::new),
        };
        Turn::start(order.input.clone(), turn::Agent::default(), conversation, ports, clock::now())?;
        Ok(files)
    }

    /// What there is of a run of an earlier process that goes on.
    fn waited(&self, order: &Order, parked: &Parked, commands: &mpsc::UnboundedSender<Command>) -> Waited {
        let log = Arc::clone(&parked.log);
        let next = log.last() + 1;
        let run = self.live_run(order, parked.row.conversation_key, (log, commands.clone()));
        let script = Script::at(self.store.log(), &run, next);
        Waited { run, script }
    }

    /// The run that waits, in its conversation, which may be new.
    async fn waiting_run(
        &self,
        order: &Order,
        (row, parked, run_key): (Option<ConversationRow>, Option<&Parked>, i64),
        commands: &mpsc::UnboundedSender<Command>,
    ) -> ApiResult<Waited> {
        let _lock = self.starting.lock().await;
        let waited = match (parked, row) {
            (Some(parked), _) => self.waited(order, parked, commands),
            (None, row) => {
                let known = match row {
                    Some(row) => Some(row),
                    // Its first run may have made it meanwhile.
                    None => self.store.conversation(&order.user, &order.input.thread_id).await?,
                };
                let row = match known {
                    Some(row) => row,
                    None => self.new_conversation(order).await?,
                };
                let run = self.new_run(order, row.key, (run_key, commands.clone()));
                let script = Script::at(self.store.log(), &run, 1);
                Waited { run, script }
            }
        };
        waited.run.waiting.store(true, Ordering::Relaxed);
        self.enter_waiting(&order.user, &order.input.run_id, &waited.run)?;
        Ok(waited)
    }

    /// A run with a log of its own.
    pub(super) fn new_run(
        &self,
        order: &Order,
        conversation_key: i64,
        (run_key, commands): (i64, mpsc::UnboundedSender<Command>),
    ) -> Arc<LiveRun> {
        let log = Arc::new(Log::new(&order.input.run_id, run_key));
        self.live_run(order, conversation_key, (log, commands))
    }

    fn live_run(
        &self,
        order: &Order,
        conversation_key: i64,
        (log, commands): (Arc<Log>, mpsc::UnboundedSender<Command>),
    ) -> Arc<LiveRun> {
        Arc::new(LiveRun {
            conversation: order.input.thread_id.clone(),
            body_hash: order.body_hash.clone(),
            log,
            client: order.input.mindset("clientId").and_then(Value::as_str).map(str::to_owned),
            agent_call: order.agent_call,
            turn_id: OnceLock::new(),
            owner: OnceLock::new(),
            waiting: AtomicBool::new(false),
            conversation_key,
            commands,
        })
    }
}
