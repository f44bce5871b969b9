//! A run that waits for its turn: its readers hear its place, until it begins, is read by the
//! running turn, or gives up.

use std::sync::Arc;

use futures_channel::mpsc;
use futures_util::StreamExt;
use mindset_core::agui::{Content, Event, Message, Role};
use mindset_core::json::Value;
use mindset_core::queue::{End, told};
use mindset_core::turn::{RunState, StoredMessage};
use tracing::Instrument;

use super::queue::Notice;
use super::script::{Script, text};
use super::start::Waited;
use super::{Command, LiveRun, Order, Runs};
use crate::auth::User;
use crate::clock;
use crate::store::{Entry, WaitingRun};

/// A run that waits.
pub(super) struct Wait {
    pub(super) order: Order,
    pub(super) run: Arc<LiveRun>,
    pub(super) runs: Arc<Runs>,
    pub(super) notices: mpsc::UnboundedReceiver<Notice>,
    pub(super) inbox: mpsc::UnboundedReceiver<Command>,
    pub(super) script: Script,
}

/// Lets the run wait by itself. `message` is what is kept of it; one that has waited before is
/// stored and told of.
pub(super) fn spawn(mut wait: Wait, message: Option<&StoredMessage>, waited: bool) {
    if !waited {
        let Wait { order, run, script, .. } = &mut wait;
        script.add(Entry::Wait(Box::new(WaitingRun {
            user: order.user.clone(),
            id: order.input.run_id.clone(),
            body_hash: order.body_hash.clone(),
            agent_call: order.agent_call,
            message_id: message.map(|m| m.id.clone()).unwrap_or_default(),
            text: message.map(|m| m.content.clone()).unwrap_or_default(),
            silent: message.is_some_and(|m| m.silent),
        })));
        let started = told::run_started(
            &run.conversation,
            &order.input.run_id,
            order.handed.as_ref().map(|handed| handed.run_id.as_str()),
            clock::now(),
        );
        script.add(Entry::Event(text(&started)));
    }
    let guard =
        Guard { runs: Arc::clone(&wait.runs), user: wait.order.user.clone(), run: Arc::clone(&wait.run) };
    let task = async move {
        let _guard = guard;
        wait.drive().await;
    };
    tokio::spawn(task.in_current_span());
}

/// A task that breaks must not leave its run waiting for ever.
struct Guard {
    runs: Arc<Runs>,
    user: User,
    run: Arc<LiveRun>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.run.waits() && !self.runs.queues.is_closed() {
            self.runs.leave_waiting(&self.user, &self.run);
            self.run.log.end(RunState::Error);
            self.runs.queues.withdraw(&self.user, &self.run.log.run_id);
        }
    }
}

impl Wait {
    /// Waits until it begins or ends, or the process does: then the store keeps its place.
    async fn drive(mut self) {
        self.script.write();
        loop {
            let notice = tokio::select! {
                biased;
                written = self.script.written() => match written {
                    Ok(()) => continue,
                    // The guard tells it.
                    Err(error) => return tracing::error!(%error, "a run that waits could not be stored"),
                },
                notice = self.notices.next() => notice,
            };
            let (thread, run) = (&self.run.conversation, &self.order.input.run_id);
            let (state, event) = match notice {
                None => return drop(self.script.flush().await),
                Some(Notice::Place(position)) => {
                    let event = told::run_queued(position, clock::now());
                    self.script.add(Entry::Event(text(&event)));
                    self.script.write();
                    continue;
                }
                Some(Notice::Start(message)) => return self.start(message).await,
                Some(Notice::Steered) => (RunState::Finished, told::run_steered(thread, run, clock::now())),
                Some(Notice::Withdrawn) => {
                    (RunState::Cancelled, told::run_withdrawn(thread, run, clock::now()))
                }
                Some(Notice::Failed(error)) => (RunState::Error, told::run_failed(&error, clock::now())),
            };
            end(&mut self.script, (&self.runs, &self.order.user, &self.run), state, &event).await;
            if let Some(handed) = &self.order.handed {
                self.runs.child_left((&self.order.user, handed), &self.run, state, &[]);
            }
            return;
        }
    }

    /// The run's turn begins, with its message as it is now.
    async fn start(mut self, message: Option<Box<StoredMessage>>) {
        if let Some(message) = &message {
            put_message(&mut self.order, message);
        }
        let Wait { order, run, runs, inbox, mut script, .. } = self;
        if let Err(error) = script.flush().await {
            tracing::error!(%error, "a run that waited could not be stored");
        }
        let (user, run_id, handed) = (order.user.clone(), order.input.run_id.clone(), order.handed.clone());
        let channel = (run.commands.clone(), inbox);
        let mut waited = Some(Waited { run: Arc::clone(&run), script });
        if let Err(error) = runs.go(order, channel, &mut waited).await {
            let event = told::run_failed(error.info(), clock::now());
            if let Some(Waited { mut script, .. }) = waited {
                end(&mut script, (&runs, &user, &run), RunState::Error, &event).await;
                if let Some(handed) = &handed {
                    runs.child_left((&user, handed), &run, RunState::Error, &[]);
                }
            }
            runs.queues.ended(&user, &run_id, End::Refused);
        }
    }
}

/// Ends a run that never began.
async fn end(
    script: &mut Script,
    (runs, user, run): (&Arc<Runs>, &User, &Arc<LiveRun>),
    state: RunState,
    event: &Event,
) {
    script.add(Entry::Unwait);
    let events = match script.end(state, Some(text(event))).await {
        Ok(events) => events,
        Err(error) => {
            tracing::error!(%error, "the end of a run that waited was not stored");
            Vec::new()
        }
    };
    runs.leave_waiting(user, run);
    run.log.publish(events);
    run.log.end(state);
}

/// Makes the message the run's own: as it was edited, or is stored.
pub(super) fn put_message(order: &mut Order, message: &StoredMessage) {
    let input = &mut order.input;
    match input.messages.iter_mut().rfind(|m| m.role == Role::User && m.id == message.id) {
        Some(last) => last.content = Some(Content::Text(message.content.clone())),
        None => input.messages = vec![Message::text(&message.id, Role::User, &message.content)],
    }
    if message.silent {
        let own = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
        let mut props = own(input.forwarded_props.as_ref());
        let mut mindset = own(props.get("mindset"));
        mindset.insert("inputType", "PSEUDO_HUMAN");
        props.insert("mindset", mindset);
        input.forwarded_props = Some(Value::Object(props));
    }
}
