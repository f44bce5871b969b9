//! Runs that are alive: each is a task of its own that writes a log, and every
//! response is only a reader of that log. A page that goes away stops nothing.

mod admission;
mod attach;
mod background;
mod child;
mod delete;
mod files;
mod follow;
mod follow_ups;
mod heard;
mod keep;
mod known;
mod log;
mod observers;
mod parked;
mod queue;
mod reader;
mod recovery;
mod script;
mod silence;
mod start;
mod task;
mod wait;

pub(crate) use attach::{ActiveRun, Attached, RunsOf};
pub(crate) use child::Handed;
pub(crate) use follow_ups::FollowUp;
pub(crate) use log::Log;
pub(crate) use observers::{Observed, Observer, Observers};
pub(crate) use reader::Reader;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use futures_channel::mpsc;
use mindset_core::agui::RunAgentInput;
use mindset_core::error::ErrorCode;
use mindset_core::json::Object;
use mindset_core::passthrough::Passthrough;
use mindset_core::queue::{End, WhenBusy};
use mindset_core::turn::{Conversation, RunState};
use tracing::Instrument;

use crate::auth::User;
use crate::clock;
use crate::config::{Agent, Config};
use crate::dev::Recorder;
use crate::error::{ApiError, ApiResult};
use crate::ids;
use crate::model::{Model, Models};
use crate::observe::RunWatch;
use crate::permissions::Permissions;
use crate::store::{Entry, LostRun, Owner, Part, RunStatus, Store};
use crate::tools::{Scope, Tools};
use crate::uploads::Links;
use background::Notes;
use heard::Heard;
use queue::Queues;

/// What can be said to a running run.
#[derive(Debug)]
pub(crate) enum Command {
    /// Someone stops it.
    Cancel,
    /// The page set its pass-through parameters anew.
    Passthrough(Passthrough),
    /// How work stands that goes on in the background.
    Child(Object),
    /// The server is going down.
    Shutdown,
}

/// A run that is alive, or was a moment ago.
#[derive(Debug)]
pub(crate) struct LiveRun {
    /// The conversation's id.
    pub(crate) conversation: String,
    /// What was posted, hashed.
    pub(crate) body_hash: String,
    /// Its events.
    pub(crate) log: Arc<Log>,
    /// The page that posted it.
    pub(crate) client: Option<String>,
    /// The application posted it.
    agent_call: bool,
    /// It waits for its turn.
    waiting: AtomicBool,
    /// The turn it is part of, once that is known.
    turn_id: OnceLock<String>,
    /// Whose conversation it is in, once it runs.
    owner: OnceLock<Owner>,
    conversation_key: i64,
    commands: mpsc::UnboundedSender<Command>,
}

impl LiveRun {
    /// Whether it waits for its turn.
    fn waits(&self) -> bool {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// What a client wants run.
#[derive(Debug)]
pub(crate) struct Order {
    /// Who asks.
    pub(crate) user: User,
    /// The agent asked.
    pub(crate) agent: Agent,
    /// What the conversation is with: `agentUid`, or `agentUid::sessionUid`.
    pub(crate) agent_uid: String,
    /// For whom its tools work.
    pub(crate) scope: Scope,
    /// Its model.
    pub(crate) model: Arc<dyn Model>,
    /// What clients call that.
    pub(crate) model_id: String,
    /// It was chosen with the run.
    pub(crate) model_chosen: bool,
    /// Who watches it.
    pub(crate) watch: Arc<RunWatch>,
    /// The application asks, by its agent API.
    pub(crate) agent_call: bool,
    /// What it wants if the conversation is busy.
    pub(crate) when_busy: Option<WhenBusy>,
    /// Another run has handed it its work.
    pub(crate) handed: Option<Handed>,
    /// What was posted.
    pub(crate) input: RunAgentInput,
    /// The same, hashed: equal orders have equal hashes.
    pub(crate) body_hash: String,
}

/// How long MCP servers may take to hear that their connections close.
const GOODBYE: Duration = Duration::from_millis(500);

/// How long a run that is stopped may take to end.
const STOPPING: Duration = Duration::from_secs(5);

type RunKey = (String, String, String);

/// Every live run.
#[derive(Debug)]
pub(crate) struct Runs {
    store: Store,
    tools: Arc<Tools>,
    links: Arc<Links>,
    recorder: Option<Recorder>,
    permissions: Arc<Permissions>,
    /// Whom work can be handed to.
    agents: BTreeMap<(String, String), child::Known>,
    /// How deep it is handed on, by app.
    depths: BTreeMap<String, usize>,
    notes: Notes,
    queues: Queues,
    observers: Arc<Observers>,
    heard: Heard,
    table: Mutex<Table>,
    /// Held from looking for a run until it stands in the table, so that one id
    /// never runs twice and a conversation never has two runs.
    starting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Table {
    runs: BTreeMap<RunKey, Arc<LiveRun>>,
    /// Runs that wait for their tools to be listed, and can be told something already.
    starting: BTreeMap<RunKey, mpsc::UnboundedSender<Command>>,
    /// The running run of each conversation.
    busy: BTreeMap<i64, String>,
    /// Runs whose end could not be stored, or whose task broke.
    lost: Vec<LostRun>,
    closing: bool,
}

impl Runs {
    /// No runs yet.
    pub(crate) fn new(
        store: Store,
        tools: Arc<Tools>,
        links: Arc<Links>,
        permissions: Arc<Permissions>,
        (config, models): (&Config, &Models),
    ) -> Runs {
        let recorder = config.dev.then(Recorder::default);
        Runs {
            store,
            tools,
            links,
            recorder,
            agents: child::known(config, |name| models.get(name)),
            depths: config.apps.iter().map(|app| (app.uid.clone(), app.delegation_depth)).collect(),
            notes: Notes::default(),
            queues: Queues::new(Arc::clone(&permissions)),
            permissions,
            observers: Arc::default(),
            heard: Heard::new(config.server.approval_patience),
            table: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
        }
    }

    /// What models and tools were told, with `--dev`.
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// What applications may do for their users.
    fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    fn table(&self) -> std::sync::MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self, user: &User, run_id: &str) -> Option<Arc<LiveRun>> {
        self.table().runs.get(&key(user, run_id)).cloned()
    }

    /// The id of the conversation's running run.
    pub(crate) fn running(&self, conversation: i64) -> Option<String> {
        self.table().busy.get(&conversation).cloned()
    }

    /// Starts the run, or finds the one that was started with the same order. The
    /// work is a task of its own, so that a client that hangs up in the middle
    /// leaves nothing half done.
    ///
    /// # Errors
    /// Why it cannot run.
    pub(crate) async fn start(self: &Arc<Runs>, order: Order) -> ApiResult<Attached> {
        let runs = Arc::clone(self);
        let started = tokio::spawn(async move { runs.start_now(order).await }.in_current_span()).await;
        started.unwrap_or_else(|_| {
            Err(ApiError::new(ErrorCode::Internal, "The run could not be started. Try again in a moment."))
        })
    }

    fn enter(&self, user: &User, run_id: &str, run: &Arc<LiveRun>) -> ApiResult<()> {
        let mut table = self.table();
        if table.closing {
            return Err(closing());
        }
        run.waiting.store(false, Ordering::Relaxed);
        table.busy.insert(run.conversation_key, run_id.to_owned());
        table.runs.insert(key(user, run_id), Arc::clone(run));
        drop(table);
        self.heard.forget(run.conversation_key);
        self.observers.begun(user, run);
        Ok(())
    }

    /// From now on readers find a run that waits.
    fn enter_waiting(&self, user: &User, run_id: &str, run: &Arc<LiveRun>) -> ApiResult<()> {
        let mut table = self.table();
        if table.closing {
            return Err(closing());
        }
        table.runs.insert(key(user, run_id), Arc::clone(run));
        Ok(())
    }

    /// A run that waited is over.
    fn leave_waiting(&self, user: &User, run: &LiveRun) {
        run.waiting.store(false, Ordering::Relaxed);
        self.table().runs.remove(&key(user, &run.log.run_id));
    }

    fn is_closing(&self) -> bool {
        self.table().closing
    }

    /// The run is over: its conversation is free, and its log is read from the store.
    fn leave(&self, user: &User, run_id: &str, (run, state): (&LiveRun, RunState)) {
        {
            let mut table = self.table();
            table.busy.remove(&run.conversation_key);
            table.runs.remove(&key(user, run_id));
        }
        let end = match state {
            RunState::Waiting => End::Waits,
            RunState::Cancelled => End::Stopped,
            RunState::Finished | RunState::Error => End::Over,
        };
        self.queues.ended(user, run_id, end);
    }

    /// Stops a run; one that waits for the client's tools is closed. Gives how it
    /// stands then.
    ///
    /// # Errors
    /// There is no such run, or the database failed.
    pub(crate) async fn cancel(self: &Arc<Runs>, user: User, run_id: String) -> ApiResult<RunStatus> {
        let runs = Arc::clone(self);
        let cancelled =
            tokio::spawn(async move { runs.cancel_now(&user, &run_id).await }.in_current_span()).await;
        cancelled.unwrap_or_else(|_| {
            Err(ApiError::new(ErrorCode::Internal, "The run could not be cancelled. Try again in a moment."))
        })
    }

    async fn cancel_now(self: &Arc<Runs>, user: &User, run_id: &str) -> ApiResult<RunStatus> {
        if self.tell_starting(user, run_id, Command::Cancel) {
            let _ = tokio::time::timeout(STOPPING, self.begun(user, run_id)).await;
        }
        if self.give_up(user, run_id).await? {
            return Ok(RunStatus::Ended(RunState::Cancelled));
        }
        if let Some(run) = self.live(user, run_id).filter(|r| r.log.state().is_none()) {
            // A closed channel means it has ended by itself meanwhile.
            let _ = run.commands.unbounded_send(Command::Cancel);
            let _ = tokio::time::timeout(STOPPING, run.log.ended()).await;
        }
        let _starting = self.starting.lock().await;
        let found = self.store.run(user, run_id).await?.ok_or_else(unknown)?;
        if found.status != RunStatus::Ended(RunState::Waiting) {
            return Ok(found.status);
        }
        // The run with the answers may have begun and not be stored yet, or have ended meanwhile.
        if self.running(found.conversation_key).is_some() {
            return Ok(RunStatus::Ended(RunState::Finished));
        }
        let stored = self.store.run(user, run_id).await?.ok_or_else(unknown)?;
        if stored.status != RunStatus::Ended(RunState::Waiting) {
            return Ok(stored.status);
        }
        let messages = self.store.messages(stored.conversation_key).await?;
        let conversation = Conversation { id: stored.conversation, messages, ..Conversation::default() };
        self.abandon(user, conversation.waiting_children());
        let closed = conversation.cancel_open_calls(run_id, &mut ids::uuid, clock::now());
        let end = Entry::End { state: RunState::Cancelled, terminal: None };
        let entries = vec![Entry::Messages(closed), end];
        let part = Part { run: stored.key, conversation: stored.conversation_key, first: 0, entries };
        self.store.log().append(part).await?;
        self.tools.release(stored.conversation_key);
        self.queues.ended(user, run_id, End::Stopped);
        self.heard.forget(stored.conversation_key);
        self.observers.stopped(user, &conversation.id);
        Ok(RunStatus::Ended(RunState::Cancelled))
    }

    /// Gives a run the pass-through parameters that the page has set since it began.
    ///
    /// # Errors
    /// No run of the user with this id runs.
    pub(crate) fn set_passthrough(&self, user: &User, run_id: &str, values: Passthrough) -> ApiResult<()> {
        let told = match self.live(user, run_id).filter(|run| run.log.state().is_none()) {
            Some(run) => run.commands.unbounded_send(Command::Passthrough(values)).is_ok(),
            None => self.tell_starting(user, run_id, Command::Passthrough(values)),
        };
        if told {
            return Ok(());
        }
        let message = "No run with this id is running. Send the parameters with the next message.";
        Err(ApiError::new(ErrorCode::NotFound, message))
    }

    /// Ends every run, as interrupted, and waits until they have, at most `patience`.
    pub(crate) async fn shutdown(&self, patience: Duration) {
        self.queues.close();
        self.observers.close();
        let runs: Vec<Arc<LiveRun>> = {
            let mut table = self.table();
            table.closing = true;
            table.runs.values().cloned().collect()
        };
        let all = async {
            for run in &runs {
                run.log.close();
                let _ = run.commands.unbounded_send(Command::Shutdown);
            }
            // What waits keeps its place in the store.
            for run in runs.iter().filter(|run| !run.waits()) {
                run.log.ended().await;
            }
        };
        if tokio::time::timeout(patience, all).await.is_err() {
            tracing::warn!("some runs did not end in time");
        }
        if tokio::time::timeout(GOODBYE, self.tools.close()).await.is_err() {
            tracing::warn!("some MCP servers did not take leave in time");
        }
        self.tools.end_services().await;
    }
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "There is no run with this id. It may never have started.")
}

/// The server goes down.
pub(crate) fn closing() -> ApiError {
    ApiError::new(ErrorCode::ServerError, "The server is shutting down. Try again in a moment.")
        .status(StatusCode::SERVICE_UNAVAILABLE)
}

fn key(user: &User, run_id: &str) -> RunKey {
    (user.app.clone(), user.id.clone(), run_id.to_owned())
}
