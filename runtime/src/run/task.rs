//! One run's task: the twin of the browser's driver. It hands the machine one
//! input at a time and carries out what comes out, in order.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use mindset_core::agui::{Body, Event};
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::Reason;
use mindset_core::turn::{Input, ModelEvent, ModelFailure, Output, RunState, Turn};
use tokio::sync::mpsc;

use super::{Command, LiveRun, Runs};
use crate::auth::User;
use crate::clock;
use crate::model::{Answer, Model};
use crate::store::StoreError;

/// What a task begins with.
pub(super) struct Start {
    pub(super) turn: Turn,
    pub(super) model: Arc<dyn Model>,
    pub(super) inbox: mpsc::UnboundedReceiver<Command>,
    pub(super) run: Arc<LiveRun>,
    pub(super) runs: Arc<Runs>,
    pub(super) user: User,
    pub(super) run_id: String,
}

/// Lets the run go on by itself.
pub(super) fn spawn(start: Start) {
    let task = Task { start, answer: None, last: None, broken: false, left: false };
    tokio::spawn(task.drive());
}

struct Task {
    start: Start,
    answer: Option<Answer>,
    /// The run's last event is kept back until its end is stored and the
    /// conversation free: a reader that answers it at once must not find it busy.
    last: Option<Event>,
    /// The store failed; the run is being ended and nothing more is stored.
    broken: bool,
    left: bool,
}

impl Task {
    async fn drive(mut self) {
        loop {
            match self.drain().await {
                Ok(Some(state)) => return self.finish(state).await,
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, "the database failed during a run");
                    self.broken = true;
                    let info = ErrorInfo::new(
                        ErrorCode::ServerError,
                        "The server could not store the answer. Try again in a moment.",
                    );
                    self.start.turn.handle(Input::Fail(info), clock::now());
                    continue;
                }
            }
            let input = self.next_input().await;
            self.start.turn.handle(input, clock::now());
        }
    }

    async fn next_input(&mut self) -> Input {
        let due = self.start.turn.poll_timeout();
        tokio::select! {
            event = said(&mut self.answer) => {
                if let ModelEvent::Failed(failed) = &event {
                    let model = self.start.model.shown_name();
                    tracing::warn!(model, reason = failed.reason.as_str(), "model call failed: {}", failed.message);
                }
                Input::Model(event)
            }
            Some(command) = self.start.inbox.recv() => match command {
                Command::Cancel => Input::Cancel,
                // What was said so far stays, as when the model breaks off.
                Command::Shutdown => {
                    Input::Model(broken_off("The server was shut down during the answer. Send the message again."))
                }
            },
            () = until(due) => Input::Tick,
        }
    }

    /// Carries out what the machine wants; gives its end when it comes.
    async fn drain(&mut self) -> Result<Option<RunState>, StoreError> {
        let (store, key) = (self.start.runs.store.clone(), self.start.run.conversation_key);
        while let Some(output) = self.start.turn.poll_output() {
            match output {
                Output::CallModel(request) => self.answer = Some(self.start.model.call(request)),
                Output::AbortModel => self.answer = None,
                // No tools are offered yet, so none is called.
                Output::CallTool(_) | Output::AbortTools => {}
                Output::Truncate { from } if !self.broken => store.truncate(key, &from).await?,
                Output::Store(messages) if !self.broken => store.append(key, &messages).await?,
                Output::Truncate { .. } | Output::Store(_) => {}
                Output::Emit(event) if is_last(&event) => self.last = Some(event),
                Output::Emit(event) => self.start.run.log.append(&event),
                Output::Done(state) => return Ok(Some(state)),
            }
        }
        Ok(None)
    }

    async fn finish(mut self, state: RunState) {
        self.answer = None;
        let Start { runs, user, run_id, .. } = &self.start;
        if let Err(error) = runs.store.end_run(user, run_id, state).await {
            tracing::error!(%error, "the end of a run was not stored");
        }
        self.leave(state);
    }

    fn leave(&mut self, state: RunState) {
        if std::mem::replace(&mut self.left, true) {
            return;
        }
        let Start { runs, user, run_id, run, .. } = &self.start;
        runs.leave(user, run_id, run);
        if let Some(event) = self.last.take() {
            run.log.append(&event);
        }
        run.log.end(state);
    }
}

/// A task that breaks must not leave its conversation busy for ever.
impl Drop for Task {
    fn drop(&mut self) {
        self.leave(RunState::Error);
    }
}

fn is_last(event: &Event) -> bool {
    matches!(event.body, Body::RunFinished { .. } | Body::RunError { .. })
}

/// What the model says next; waits for ever while no call is open.
async fn said(answer: &mut Option<Answer>) -> ModelEvent {
    let Some(answer) = answer else { return std::future::pending().await };
    let event = answer.next().await;
    event.unwrap_or_else(|| broken_off("The model's answer broke off before its end. Try again."))
}

/// The answer ended without its end.
fn broken_off(message: &str) -> ModelEvent {
    ModelEvent::Failed(ModelFailure {
        reason: Reason::Interrupted,
        message: message.to_owned(),
        retryable: true,
    })
}

async fn until(due: Option<mindset_core::Millis>) {
    match due {
        Some(due) => tokio::time::sleep(Duration::from_millis(due.saturating_sub(clock::now()))).await,
        None => std::future::pending().await,
    }
}
