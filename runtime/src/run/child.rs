//! Work that a run hands to another agent: a run of that agent in a conversation of its own, which
//! takes no place of the queue, because the run that waits for it has one. It ends with the run
//! that has handed it over; what it asks people is asked there.

use std::sync::Arc;

use futures_channel::mpsc;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, SinkExt};
use mindset_core::agui::{Message, Role, RunAgentInput, decode_event};
use mindset_core::json::{self, Object, Value};
use mindset_core::object;
use mindset_core::passthrough::Passthrough;
use mindset_core::queue::WhenBusy;
use mindset_core::turn::{Delegate, Delegated, Input, RunState, ToolOutcome};

use super::follow::Follow;
use super::{Command, LiveRun, Order, Runs};
use crate::auth::User;
use crate::config;
use crate::error::ApiResult;
use crate::ids;
use crate::mcp::Caller;
use crate::model::Model;
use crate::observe::RunWatch;
use crate::store::RunStatus;
use crate::tools::Scope;

/// The way to the run that has handed work over.
pub(super) type Above = mpsc::Sender<Input>;

/// An agent that work can be handed to.
#[derive(Debug)]
pub(super) struct Known {
    agent: config::Agent,
    model: Arc<dyn Model>,
}

/// By whom a run was handed its work.
#[derive(Debug, Clone)]
pub(crate) struct Handed {
    /// The conversation, its id and whom it is with, and the run.
    pub(super) conversation: i64,
    pub(super) thread: String,
    pub(crate) agent: String,
    pub(super) run_id: String,
    /// The agents above, the first one first.
    pub(super) above: Vec<String>,
    /// The application has begun the first turn of all.
    pub(crate) agent_call: bool,
    /// Nobody waits for the work.
    pub(super) background: bool,
}

/// What a run passes on with the work that it hands over.
#[derive(Clone)]
pub(super) struct Hander {
    pub(super) user: User,
    caller: Caller,
    handed: Handed,
    /// Whether somebody can answer, and what the page supplies.
    props: Option<Value>,
    /// The same, set anew since.
    supplied: Option<Passthrough>,
}

impl Hander {
    /// What the run of an order passes on.
    pub(super) fn new(order: &Order, conversation: i64) -> Hander {
        let mut above = order.handed.as_ref().map_or_else(Vec::new, |handed| handed.above.clone());
        above.push(order.agent.uid.clone());
        let handed = Handed {
            conversation,
            thread: order.input.thread_id.clone(),
            agent: order.agent_uid.clone(),
            run_id: order.input.run_id.clone(),
            above,
            agent_call: order.handed.as_ref().map_or(order.agent_call, |handed| handed.agent_call),
            background: false,
        };
        let mindset = order.input.forwarded_props.as_ref().and_then(|props| props.get("mindset"));
        let props = mindset.filter(|mindset| !mindset.is_null()).map(|mindset| {
            let mut own = Object::new();
            for key in ["answers", "agentSession", "passthroughParams"] {
                own.insert_some(key, mindset.get(key).cloned());
            }
            Value::Object(object! { "mindset": own })
        });
        let (user, caller) = (order.user.clone(), order.scope.caller.clone());
        Hander { user, caller, handed, props, supplied: None }
    }

    /// The page has set its parameters anew.
    pub(super) fn supply(&mut self, values: Passthrough) {
        self.supplied = Some(values);
    }

    /// The order that has the work done, or go on.
    pub(super) fn order(&self, known: &Known, work: &Delegated) -> Order {
        let Known { agent, model } = known;
        let messages = match work.resume.is_empty() {
            true => vec![Message::text(ids::uuid(), Role::User, &work.task)],
            false => Vec::new(),
        };
        let input = RunAgentInput {
            thread_id: work.session.clone(),
            run_id: ids::uuid(),
            messages,
            resume: work.resume.clone(),
            forwarded_props: self.props.clone(),
            ..RunAgentInput::default()
        };
        let caller = Caller { session: agent.uid.clone(), ..self.caller.clone() };
        let (contexts, mcp_servers) = (agent.contexts.clone(), agent.mcp_servers.clone());
        let watch = RunWatch::new(&agent.uid, &work.session, model.as_ref(), None);
        let handed = Handed { background: work.background, ..self.handed.clone() };
        // The id is fresh, so nobody can post the same order again.
        let body_hash = ids::hash(input.run_id.as_bytes());
        Order {
            user: self.user.clone(),
            agent: agent.clone(),
            agent_uid: agent.uid.clone(),
            scope: Scope { caller, contexts, mcp_servers },
            model: watch.model(Arc::clone(model)),
            model_id: agent.model.clone(),
            model_chosen: false,
            watch,
            agent_call: handed.background && handed.agent_call,
            when_busy: work.background.then_some(WhenBusy::Queue),
            handed: Some(handed),
            input,
            body_hash,
        }
    }
}

/// Stops the run that does the work when nobody waits for it any more.
struct Waited(Option<mpsc::UnboundedSender<Command>>);

impl Drop for Waited {
    fn drop(&mut self) {
        if let Some(commands) = &self.0 {
            let _ = commands.unbounded_send(Command::Cancel);
        }
    }
}

/// The agents that others may hand work to, by app and uid.
pub(super) fn known(
    config: &config::Config,
    model: impl Fn(&str) -> Option<Arc<dyn Model>>,
) -> std::collections::BTreeMap<(String, String), Known> {
    let mut all = std::collections::BTreeMap::new();
    for app in &config.apps {
        let named = |agent: &&config::Agent| app.agents.iter().any(|by| by.delegates.contains(&agent.uid));
        for agent in app.agents.iter().filter(named) {
            if let Some(model) = model(&agent.model) {
                let known = Known { agent: agent.clone(), model };
                all.insert((app.uid.clone(), agent.uid.clone()), known);
            }
        }
    }
    all
}

impl Runs {
    /// The agents that the run of an order may hand work to: never one that waits for it.
    pub(super) fn delegates(&self, order: &Order) -> Vec<Delegate> {
        let none = Vec::new();
        let above = order.handed.as_ref().map_or(&none, |handed| &handed.above);
        if above.len() >= self.depths.get(&order.user.app).copied().unwrap_or(0) {
            return Vec::new();
        }
        let free = |uid: &&String| **uid != order.agent.uid && !above.contains(uid);
        let named = order.agent.delegates.iter().filter(free).filter_map(|uid| {
            let known = self.agents.get(&(order.user.app.clone(), uid.clone()))?;
            Some(Delegate { uid: uid.clone(), name: known.agent.name.clone() })
        });
        named.collect()
    }

    /// An agent that work can be handed to.
    pub(super) fn known_agent(&self, app: &str, uid: &str) -> Option<&Known> {
        self.agents.get(&(app.to_owned(), uid.to_owned()))
    }

    /// Has work done that a run hands over, or go on, and gives what came of it. Dropped, it stops
    /// the work.
    pub(super) fn work(
        self: &Arc<Runs>,
        hander: Hander,
        work: Delegated,
        above: Above,
    ) -> BoxFuture<'static, ToolOutcome> {
        let runs = Arc::clone(self);
        async move { runs.work_now(&hander, &work, above).await }.boxed()
    }

    async fn work_now(self: &Arc<Runs>, hander: &Hander, work: &Delegated, above: Above) -> ToolOutcome {
        let Some(known) = self.known_agent(&hander.user.app, &work.agent) else {
            return ToolOutcome::Failed("There is no such agent any more. Go on without it.".to_owned());
        };
        let (commands, inbox) = mpsc::unbounded();
        if let Some(values) = hander.supplied.clone() {
            let _ = commands.unbounded_send(Command::Passthrough(values));
        }
        let mut waited = Waited(Some(commands.clone()));
        let run = match self.go(hander.order(known, work), (commands, inbox), &mut None).await {
            Ok(run) => run,
            Err(error) if work.resume.is_empty() => {
                return ToolOutcome::Failed(format!("The work could not begin. {}", error.info().message));
            }
            Err(error) => {
                return ToolOutcome::Unknown(format!("The work cannot go on. {}", error.info().message));
            }
        };
        self.pass_on(&run, work, above).await;
        run.log.ended().await;
        waited.0 = None;
        let state = run.log.state().unwrap_or(RunState::Error);
        let stopped = || ToolOutcome::Unknown("The work was broken off before it was done.".to_owned());
        self.came_to(&hander.user, &work.session, state).await.unwrap_or_else(|_| stopped())
    }

    /// Tells the run above what is said where the work is done.
    async fn pass_on(&self, run: &LiveRun, work: &Delegated, mut above: Above) {
        let mut follow = Follow::new(Arc::clone(self.store.log()), Arc::clone(&run.log), 0);
        while let Some(texts) = std::future::poll_fn(|cx| follow.poll_events(cx)).await {
            for text in texts {
                let event = json::parse(&text).ok().and_then(|event| decode_event(&event).ok());
                let Some((event, _)) = event else { continue };
                let said = Input::Child { session: work.session.clone(), event: Box::new(event) };
                if above.send(said).await.is_err() {
                    return;
                }
            }
        }
    }

    async fn came_to(&self, user: &User, session: &str, state: RunState) -> ApiResult<ToolOutcome> {
        let row = self.store.conversation(user, session).await?;
        let conversation = self.stored(session, row.as_ref()).await?;
        Ok(match (state, conversation.outcome()) {
            (RunState::Waiting, _) => {
                ToolOutcome::Waits(conversation.asking().into_iter().cloned().collect())
            }
            (RunState::Finished, (Some(text), usage)) => {
                ToolOutcome::Worked { content: text.to_owned(), usage }
            }
            (RunState::Finished, _) => ToolOutcome::Unknown("The agent ended without an answer.".to_owned()),
            _ => ToolOutcome::Unknown("The work was broken off before it was done.".to_owned()),
        })
    }

    /// Gives up work that waits for people: nobody will answer.
    pub(super) fn abandon(self: &Arc<Runs>, user: &User, sessions: Vec<String>) {
        for session in sessions {
            let (runs, user) = (Arc::clone(self), user.clone());
            tokio::spawn(async move {
                let found = async {
                    let row = runs.store.conversation(&user, &session).await.ok()??;
                    let last = runs.store.last_run(row.key).await.ok()??;
                    (last.status == RunStatus::Ended(RunState::Waiting)).then_some(last.id)
                };
                if let Some(run_id) = found.await
                    && let Err(error) = runs.cancel(user, run_id).await
                {
                    tracing::warn!(error = error.info().message, "delegated work could not be given up");
                }
            });
        }
    }
}
