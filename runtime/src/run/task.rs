//! One run's task: the twin of the browser's driver. It hands the machine one
//! input at a time and carries out what comes out, in order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_channel::mpsc;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use mindset_core::agui::{Body, Event, Interrupt, Outcome};
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::Reason;
use mindset_core::json::{Object, Value};
use mindset_core::object;
use mindset_core::queue::told;
use mindset_core::turn::{
    Input, ModelEvent, ModelFailure, ModelRequest, Output, RunState, ToolOutcome, ToolRequest, Turn,
};
use tracing::Instrument;

use super::child::{Above, Handed, Hander};
use super::script::{self, Script};
use super::{Command, LiveRun, Runs, heard};
use crate::auth::User;
use crate::clock;
use crate::dev;
use crate::model::{Answer, Model};
use crate::observe::RunWatch;
use crate::store::{Entry, LostRun, NewRun, Owner, RunStatus, StoreError, WaitingTurn};
use crate::tools::Scope;

/// How long a turn that waits for its page keeps its slot.
const PATIENCE: Duration = Duration::from_secs(120);

/// Events of delegated work that may wait to be told.
const SAID: usize = 64;

/// What a task begins with.
pub(super) struct Start {
    pub(super) turn: Turn,
    /// What work that it hands over gets.
    pub(super) hander: Hander,
    /// By whom its own was handed over.
    pub(super) handed: Option<Handed>,
    /// Conversations of work that was handed over and waits for people.
    pub(super) children: Vec<String>,
    pub(super) model: Arc<dyn Model>,
    pub(super) watch: Arc<RunWatch>,
    pub(super) scope: Scope,
    /// The model that was chosen with the run, by its name here.
    pub(super) chosen_model: Option<String>,
    /// For the readers, right after the run has started.
    pub(super) warnings: Vec<String>,
    /// Of one that has waited.
    pub(super) script: Option<Script>,
    /// Readers are told apart when the turn begins: the run may have waited.
    pub(super) announced: bool,
    pub(super) inbox: mpsc::UnboundedReceiver<Command>,
    pub(super) run: Arc<LiveRun>,
    pub(super) runs: Arc<Runs>,
    pub(super) user: User,
    /// Whom the conversation is with.
    pub(super) agent_uid: String,
    pub(super) run_id: String,
}

/// Lets the run go on by itself.
pub(super) fn spawn(mut start: Start) {
    start.watch.begin();
    let waited = start.script.take();
    // In a box: a future holds what it is given twice.
    let task = Box::new(Task {
        waited: waited.is_some(),
        script: waited.unwrap_or_else(|| Script::new(start.runs.store.log(), &start.run)),
        start,
        answer: None,
        asked: Instant::now(),
        calls: FuturesUnordered::new(),
        last: None,
        work: Vec::new(),
        said: mpsc::channel(SAID),
        done: None,
        asks: false,
        questions: Vec::new(),
        broken: false,
        left: false,
    });
    tokio::spawn(task.drive().in_current_span());
}

struct Task {
    start: Start,
    script: Script,
    /// Readers have its first event already.
    waited: bool,
    answer: Option<Answer>,
    /// When the model was called last.
    asked: Instant,
    /// Conversations of the work that it has handed over.
    work: Vec<String>,
    /// What is said where that work is done.
    said: (Above, mpsc::Receiver<Input>),
    /// A tool is done, behind what is said.
    done: Option<Input>,
    /// The tools that run.
    calls: FuturesUnordered<BoxFuture<'static, Input>>,
    /// The run's last event is kept back until its end is stored and the
    /// conversation free: a reader that answers it at once must not find it busy.
    last: Option<Arc<str>>,
    /// A person is asked who may take any time.
    asks: bool,
    /// What people are asked at its end.
    questions: Vec<Interrupt>,
    /// The store failed; the run is being ended and nothing more is stored.
    broken: bool,
    left: bool,
}

impl Task {
    async fn drive(mut self: Box<Self>) {
        let mut begun = false;
        loop {
            match self.drain().await {
                Ok(Some(state)) => return self.finish(state).await,
                // Calls that waited and were not answered now are passed over.
                Ok(None) if !begun => {
                    begun = true;
                    self.release();
                }
                Ok(None) => {}
                Err(error) => {
                    self.fail(&error);
                    continue;
                }
            }
            match self.next_input().await {
                Ok(Some(input)) => self.start.turn.handle(input, clock::now()),
                Ok(None) => {}
                Err(error) => self.fail(&error),
            }
        }
    }

    /// The store failed: the run ends with what can be told.
    fn fail(&mut self, error: &StoreError) {
        tracing::error!(%error, "the database failed during a run");
        self.broken = true;
        let message = "The server could not store the answer. Try again in a moment.";
        self.start.turn.handle(Input::Fail(ErrorInfo::new(ErrorCode::ServerError, message)), clock::now());
    }

    /// What happens next to the run; `None`: only its log went on.
    async fn next_input(&mut self) -> Result<Option<Input>, StoreError> {
        let due = self.start.turn.poll_timeout();
        let full = self.script.is_full();
        let input = tokio::select! {
            // What was said is shown first; then a stop comes before everything, and a flood of
            // words does not hold up the clock.
            biased;
            written = self.script.written() => return written.map(|()| None),
            Some(command) = self.start.inbox.next() => match command {
                Command::Cancel => Input::Cancel,
                Command::Passthrough(values) => {
                    tracing::trace!(run = self.start.run_id, "pass-through parameters set");
                    self.start.hander.supply(values.clone());
                    Input::Passthrough(values)
                }
                Command::Child(child) => {
                    self.tell_of_child(child);
                    return Ok(None);
                }
                Command::Shutdown => Input::Shutdown(
                    "The server was shut down during the answer. Send the message again.".to_owned(),
                ),
            },
            () = until(due) => Input::Tick,
            // Before the work is done: its end comes last.
            Some(said) = self.said.1.next() => said,
            () = std::future::ready(()), if self.done.is_some() => return Ok(self.done.take()),
            Some(done) = self.calls.next() => {
                // It may have been said while this was asked for.
                let Ok(said) = self.said.1.try_recv() else { return Ok(Some(done)) };
                self.done = Some(done);
                said
            }
            event = said(&mut self.answer), if !full => {
                if let ModelEvent::Failed(failed) = &event {
                    let model = self.start.model.shown_name();
                    tracing::warn!(model, reason = failed.reason.as_str(), "model call failed: {}", failed.message);
                }
                // Nothing follows these, and the next event may be a tool's.
                if matches!(event, ModelEvent::End { .. } | ModelEvent::Failed(_)) {
                    self.answer = None;
                }
                if matches!(event, ModelEvent::End { .. }) {
                    tracing::debug!(run = self.start.run_id, duration = millis(self.asked), "model answered");
                }
                Input::Model(event)
            }
        };
        Ok(Some(input))
    }

    /// Carries out what the machine wants; gives its end when it comes. Nothing acts before
    /// what was said so far is durable.
    async fn drain(&mut self) -> Result<Option<RunState>, StoreError> {
        while let Some(output) = self.start.turn.poll_output() {
            match output {
                Output::CallModel(request) => {
                    self.script.flush().await?;
                    self.start.runs.queues.tell_read(&self.start.user, &self.start.run_id);
                    self.call_model(request);
                }
                Output::AbortModel => self.answer = None,
                Output::CallTool(request) => {
                    self.script.flush().await?;
                    self.call_tool(request);
                }
                Output::AbortTools => self.calls.clear(),
                Output::Emit(event) if is_last(&event) => {
                    self.asks = asks_person(&event);
                    self.questions = interrupts(&event).to_vec();
                    self.last = Some(script::text(&event));
                }
                Output::Done(state) => return Ok(Some(state)),
                Output::Truncate { .. } | Output::Store(_) | Output::StoreCalls { .. } | Output::Emit(_)
                    if self.broken => {}
                Output::Truncate { from } => self.script.add(Entry::Truncate(from)),
                Output::Store(messages) => {
                    tracing::trace!(run = self.start.run_id, messages = messages.len(), "messages stored");
                    self.script.add(Entry::Messages(messages));
                }
                Output::StoreCalls { message_id, calls } => {
                    self.script.add(Entry::Calls { message_id, calls });
                }
                Output::Emit(event) => self.emit(&event),
            }
        }
        self.script.write();
        Ok(None)
    }

    fn call_model(&mut self, request: ModelRequest) {
        let Start { runs, run, run_id, model, .. } = &self.start;
        tracing::debug!(
            run = run_id,
            model = model.shown_name(),
            messages = request.messages.len(),
            tools = request.tools.len(),
            "model called"
        );
        if let Some(recorder) = runs.recorder() {
            recorder.add(run.conversation_key, dev::model_entry(run_id, &request));
        }
        self.answer = Some(model.call(request));
        self.asked = Instant::now();
    }

    /// Work goes on in the background of this conversation: it stands so.
    fn tell_of_child(&mut self, child: Object) {
        if self.broken {
            return;
        }
        let body = Body::Custom { name: "mindset.child".to_owned(), value: child.into() };
        let event = Event { timestamp: Some(clock::now()), ..Event::new(body) };
        self.script.add(Entry::Event(script::text(&event)));
    }

    fn call_tool(&mut self, request: ToolRequest) {
        if let Some(work) = request.work.as_ref().filter(|work| !work.background) {
            self.start.children.retain(|session| *session != work.session);
            self.work.push(work.session.clone());
        }
        let hander = request.work.is_some().then(|| (self.start.hander.clone(), self.said.0.clone()));
        let (runs, scope) = (Arc::clone(&self.start.runs), self.start.scope.clone());
        let (key, run_id) = (self.start.run.conversation_key, self.start.run_id.clone());
        let watched = self.start.watch.tool(&request);
        // Now, before what waits is let go.
        let waiting = runs.tools.waiting(&request);
        let call = async move {
            let begin = Instant::now();
            let outcome = match (request.work.clone(), hander) {
                (Some(work), Some((hander, _))) if work.background => runs.begin_work(hander, work).await,
                (Some(work), Some((hander, above))) => runs.work(hander, work, above).await,
                _ => runs.tools.call(&scope, &request, (key, waiting)).await,
            };
            watched.end(&outcome);
            let duration = millis(begin);
            record(&runs, (key, &run_id), &scope, (&request, &outcome, duration));
            Input::Tool { call_id: request.call_id, outcome, duration }
        };
        self.calls.push(call.boxed());
    }

    fn emit(&mut self, event: &Event) {
        let begins = matches!(event.body, Body::RunStarted { .. });
        if begins {
            let turn_id = event.mindset("turnId").and_then(Value::as_str);
            self.begin(turn_id.unwrap_or(&self.start.run_id).to_owned());
        }
        if !begins || !self.waited {
            self.script.add(Entry::Event(script::text(event)));
        }
        if begins {
            self.tell_beginning(event);
            for message in std::mem::take(&mut self.start.warnings) {
                let value = object! { "message": message };
                let body = Body::Custom { name: "mindset.warning".to_owned(), value: value.into() };
                let event = Event { timestamp: event.timestamp, ..Event::new(body) };
                self.script.add(Entry::Event(script::text(&event)));
            }
        }
    }

    /// Tells when the turn begins, of a run that has waited or may have; who has heard its first
    /// event before hears here what that would have said.
    fn tell_beginning(&mut self, event: &Event) {
        let now = event.timestamp.unwrap_or_else(clock::now);
        let mindset = event.metadata.as_ref().and_then(|m| m.get("mindset")?.as_object());
        let model = event.mindset("model").and_then(Value::as_str);
        let told = match (self.waited, self.start.announced) {
            (true, _) => told::turn_started(model, mindset.cloned().unwrap_or_default(), now),
            (false, true) => told::turn_started(model, Object::new(), now),
            (false, false) => return,
        };
        self.script.add(Entry::Event(script::text(&told)));
    }

    fn begin(&mut self, turn_id: String) {
        let Start { user, run_id, run, runs, .. } = &self.start;
        // Set here and nowhere else, and a run begins once.
        let _ = run.turn_id.set(turn_id.clone());
        if let Some(handed) = self.start.handed.as_ref().filter(|handed| handed.background) {
            let word = RunStatus::Running.as_str();
            runs.tell_child(user, handed, (&run.conversation, run_id), (word, &[]));
        }
        if self.waited {
            self.script.add(Entry::Unwait);
        }
        self.script.add(Entry::Begin(Box::new(NewRun {
            user: user.clone(),
            id: run_id.clone(),
            turn_id,
            body_hash: run.body_hash.clone(),
            client: run.client.clone(),
            began: runs.store.new_run_key(),
            agent_call: run.agent_call,
            model: self.start.chosen_model.clone(),
        })));
    }

    /// What waited for people and was not answered is let go.
    fn release(&mut self) {
        let Start { runs, run, user, children, .. } = &mut self.start;
        runs.tools.release(run.conversation_key);
        runs.abandon(user, std::mem::take(children));
    }

    async fn finish(&mut self, state: RunState) {
        self.start.watch.end(state);
        self.answer = None;
        self.calls.clear();
        if state != RunState::Waiting {
            self.start.children.append(&mut self.work);
            self.release();
        }
        tracing::debug!(run = self.start.run_id, state = RunStatus::Ended(state).as_str(), "run ended");
        let last = self.last.take();
        let stored = if self.broken { None } else { Some(self.script.end(state, last.clone()).await) };
        match stored {
            Some(Ok(events)) => self.leave(state, events),
            failed => {
                if let Some(Err(error)) = failed {
                    tracing::error!(%error, "the end of a run was not stored");
                }
                // Who reads along is told of a failure. That all went well is not true yet: they
                // come back, and hear what the store says as soon as it can be told.
                self.lose();
                let told = last.into_iter().filter(|_| self.began() && state == RunState::Error);
                self.leave(state, told.collect());
            }
        }
    }

    /// Whether the store knows of the run.
    fn began(&self) -> bool {
        self.start.run.log.last() > 0
    }

    fn lose(&self) {
        let Start { runs, run_id, run, .. } = &self.start;
        if self.began() {
            runs.lose(LostRun {
                key: run.log.key,
                id: run_id.clone(),
                conversation: run.conversation.clone(),
                conversation_key: run.conversation_key,
            });
        }
    }

    fn leave(&mut self, state: RunState, events: Vec<Arc<str>>) {
        self.left = true;
        let Start { runs, user, run_id, run, .. } = &self.start;
        runs.leave(user, run_id, (run, state));
        if state == RunState::Waiting {
            runs.lapse_later(user, run_id, if self.asks { Duration::ZERO } else { PATIENCE });
            let parent = self.start.handed.as_ref().filter(|handed| handed.background);
            let parent = parent.map(|handed| handed.conversation);
            // What delegated work asks is asked by the run above, if that waits for it.
            let own = run.owner.get() != Some(&Owner::Child) || parent.is_some();
            if own && heard::waits_for_approval(&self.questions) {
                runs.wait_for_word(WaitingTurn {
                    user: user.clone(),
                    run: run_id.clone(),
                    conversation: run.conversation.clone(),
                    conversation_key: run.conversation_key,
                    agent: self.start.agent_uid.clone(),
                    agent_call: run.agent_call,
                    parent,
                });
            }
        }
        run.log.publish(events);
        run.log.end(state);
        if let Some(handed) = self.start.handed.as_ref().filter(|handed| handed.background) {
            runs.child_left((user, handed), run, state, &self.questions);
        }
    }
}

/// A task that breaks must not leave its conversation busy for ever.
impl Drop for Task {
    fn drop(&mut self) {
        if !self.left {
            self.lose();
            self.leave(RunState::Error, Vec::new());
        }
    }
}

/// Tells the log, and with `--dev` the person, that a tool is done.
fn record(
    runs: &Runs,
    (conversation, run_id): (i64, &str),
    scope: &Scope,
    (request, outcome, duration): (&ToolRequest, &ToolOutcome, u64),
) {
    let ended = match outcome {
        ToolOutcome::Done { .. } => "done",
        ToolOutcome::Failed(_) => "failed",
        ToolOutcome::Unknown(_) => "unknown",
        ToolOutcome::Worked { .. } => "done",
        ToolOutcome::Asks(_) | ToolOutcome::Waits(_) => "asks",
    };
    let server = request.server.as_deref().unwrap_or("");
    tracing::debug!(run = run_id, server, tool = request.name, ended, duration, "tool called");
    if let Some(recorder) = runs.recorder() {
        let headers = runs.tools.shown_headers(scope, request);
        recorder.add(conversation, dev::tool_entry(run_id, request, outcome, duration, headers));
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Whether a run ends with a question that a person may take any time for.
fn asks_person(event: &Event) -> bool {
    let asked = interrupts(event);
    !asked.is_empty() && asked.iter().all(|interrupt| interrupt.reason == "input_required")
}

/// What a run asks people at its end.
fn interrupts(event: &Event) -> &[Interrupt] {
    match &event.body {
        Body::RunFinished { outcome: Some(Outcome::Interrupt { interrupts }), .. } => interrupts,
        _ => &[],
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
