//! How a run begins: what it needs is gathered while nobody else has to wait, and it
//! can be stopped before it is alive.

use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use futures_channel::mpsc;
use futures_util::StreamExt;
use mindset_core::error::ErrorCode;
use mindset_core::turn::{self, Conversation, Ports, Turn};

use super::child::Hander;
use super::script::Script;
use super::{Attached, Command, LiveRun, Order, RunKey, Runs, closing, key, task};
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::pattern::Patterns;
use crate::tools::{Listed, Scope};
use crate::{clock, ids};

/// What a run begins with.
struct Ready {
    listed: Listed,
    commands: mpsc::UnboundedSender<Command>,
    inbox: mpsc::UnboundedReceiver<Command>,
}

/// What a run is told by, and hears.
pub(super) type Channel = (mpsc::UnboundedSender<Command>, mpsc::UnboundedReceiver<Command>);

/// What there is of a run that has waited.
pub(super) struct Waited {
    pub(super) run: Arc<LiveRun>,
    pub(super) script: Script,
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
        let run = self.admit(order, (commands, inbox)).await?;
        run.log.begun().await;
        if run.log.last() == 0 {
            let message = "The server could not store the run. Try again in a moment.";
            return Err(ApiError::new(ErrorCode::ServerError, message));
        }
        Ok(Attached::live(&run))
    }

    /// The run's turn begins: its tools are listed, which may take a while, and then it is alive.
    /// What there is of one that has waited is taken when it goes on.
    ///
    /// # Errors
    /// Why it cannot begin.
    pub(super) async fn go(
        self: &Arc<Runs>,
        order: Order,
        (commands, inbox): Channel,
        waited: &mut Option<Waited>,
    ) -> ApiResult<Arc<LiveRun>> {
        let ready = self.ready(&order.scope, commands, inbox).await?;
        let _lock = self.starting.lock().await;
        self.begin(order, ready, waited).await
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

    async fn begin(
        self: &Arc<Runs>,
        order: Order,
        ready: Ready,
        waited: &mut Option<Waited>,
    ) -> ApiResult<Arc<LiveRun>> {
        let Ready { mut listed, commands, inbox } = ready;
        listed.fit(order.input.tools.len());
        if self.is_closing() {
            return Err(closing());
        }
        let (user, thread) = (&order.user, order.input.thread_id.as_str());
        let row = self.store.conversation(user, thread).await?;
        if let Some(row) = &row {
            self.check_free(row, &order)?;
            self.settle(row.key).await?;
        }
        let mut conversation = self.stored(thread, row.as_ref()).await?;
        conversation.files = self.files(&order, row.as_ref()).await?;
        let children = conversation.waiting_children();
        let turn = self.turn(&order, row.as_ref().map(|row| row.key), conversation, &mut listed)?;
        let row = match row {
            Some(row) => row,
            None => self.new_conversation(&order).await?,
        };
        let (run, script) = match waited.take() {
            Some(Waited { run, script }) => (run, Some(script)),
            None => (self.new_run(&order, row.key, (self.store.new_run_key(), commands)), None),
        };
        // A run begins once.
        let _ = run.owner.set(row.owner);
        let run_id = order.input.run_id.clone();
        self.enter(&order.user, &run_id, &run)?;
        tracing::debug!(run = run_id, agent = order.agent.uid, model = order.model_id, "run started");
        // A run that goes on with a turn has said it already.
        let goes_on = order.continues();
        task::spawn(task::Start {
            turn,
            hander: Hander::new(&order, row.key),
            handed: order.handed,
            children,
            model: order.model,
            watch: order.watch,
            scope: order.scope,
            chosen_model: Some(order.model_id).filter(|_| order.model_chosen),
            warnings: if goes_on { Vec::new() } else { listed.warnings },
            inbox,
            script,
            announced: order.agent_call || order.when_busy.is_some(),
            run: Arc::clone(&run),
            runs: Arc::clone(self),
            user: order.user,
            agent_uid: order.agent_uid,
            run_id,
        });
        Ok(run)
    }

    fn turn(
        self: &Arc<Runs>,
        order: &Order,
        key: Option<i64>,
        conversation: Conversation,
        listed: &mut Listed,
    ) -> ApiResult<Turn> {
        let agent = turn::Agent {
            instructions: order.agent.instructions.clone(),
            model: order.model.shown_name().to_owned(),
            model_id: order.model_id.clone(),
            disclosure: order.model.disclosure().map(str::to_owned),
            bounds: order.agent.bounds,
            tools: std::mem::take(&mut listed.tools),
            approvals: order.agent.approvals.clone(),
            ask_user: order.agent.ask_user,
            plan_review: order.agent.plan_review,
            delegates: self.delegates(order),
            parent_run: order.handed.as_ref().map(|handed| handed.run_id.clone()),
        };
        let links = Arc::clone(&self.links);
        let files = Box::new(move |id: &str| links.link(id, clock::now()));
        let (runs, user, run_id) = (Arc::clone(self), order.user.clone(), order.input.run_id.clone());
        let steers = Box::new(move || {
            let mut steers = key.map_or_else(Vec::new, |key| runs.notes.take(key));
            steers.extend(runs.queues.read(&user, &run_id));
            steers
        });
        let ports = Ports { ids: Box::new(ids::uuid), patterns: Box::new(Patterns), files, steers };
        Ok(Turn::start(order.input.clone(), agent, conversation, ports, clock::now())?)
    }
}
