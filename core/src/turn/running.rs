//! The run: calls the model, lets the runtime's tools run, and goes on until one of
//! the ends in [`ending`](super::ending).

use std::collections::VecDeque;

use crate::agui::{Body, Event, PROTOCOL_VERSION, RunAgentInput, TokenUsage};
use crate::event::{Bound, BoundReason, Reason};
use crate::json::{Object, Value};
use crate::object;
use crate::passthrough::Passthrough;
use crate::schema::Pattern;
use crate::{Millis, NextId};

use super::Ports;
use super::accept::{Accepted, accept};
use super::answer::Answer;
use super::calls::CallIds;
use super::conversation::turn_of;
use super::history::Earlier;
use super::steer::Steers;
use super::step::Step;
use super::toolset::{self, Toolset};
use super::{
    Agent, Conversation, FileLinks, Input, ModelEvent, ModelRequest, ModelTool, ModelUsage, Output, Refusal,
    RunState, StoredMessage, StoredRole, bounds, delegate, ending, history, prompt, questions,
};

/// Everything of a run.
pub(super) struct Run {
    pub(super) thread_id: String,
    pub(super) run_id: String,
    pub(super) agent: Agent,
    system: String,
    pub(super) tools: Toolset,
    /// What the page supplies, as it is now.
    pub(super) passthrough: Passthrough,
    /// The tools as the last model request showed them; its calls are read by them.
    pub(super) offered: Vec<ModelTool>,
    /// The conversation as it is stored.
    pub(super) messages: Vec<StoredMessage>,
    /// How much of the turns before this one the model gets.
    earlier: Earlier,
    /// Readers know that it gets less.
    warned: bool,
    call_ids: CallIds,
    pub(super) ids: Box<dyn NextId + Send>,
    pub(super) patterns: Box<dyn Pattern + Send>,
    pub(super) files: Box<dyn FileLinks + Send>,
    pub(super) reach: Reach,
    pub(super) steers: Box<dyn Steers + Send>,
    deadline: Millis,
    usage: Option<ModelUsage>,
    pub(super) state: State,
    outputs: VecDeque<Output>,
}

/// Who can answer what a run asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Nobody: the client says what it can do, and that is not among it.
    Nobody,
    /// An application that takes questions from the result of its call, and hears of no approval.
    Questions,
    /// Somebody, the client promises.
    Promised,
    /// Perhaps somebody: the client says nothing of itself.
    Unsaid,
}

impl Reach {
    fn of(input: &RunAgentInput) -> Reach {
        let mindset = input.forwarded_props.as_ref().and_then(|props| props.get("mindset"));
        match mindset.filter(|mindset| !mindset.is_null()) {
            None => Reach::Unsaid,
            Some(mindset) => {
                let says = |key| mindset.get(key).and_then(Value::as_bool) == Some(true);
                match (says("answers"), says("agentSession")) {
                    (true, _) => Reach::Promised,
                    (false, true) => Reach::Questions,
                    (false, false) => Reach::Nobody,
                }
            }
        }
    }

    /// Whether somebody may decide what a call is allowed.
    pub(super) fn approves(self) -> bool {
        matches!(self, Reach::Promised | Reach::Unsaid)
    }
}

/// What a run waits for.
pub(super) enum State {
    /// The model, which has said this much.
    Model(Answer),
    /// Tools that run here.
    Tools(Step),
    /// Nothing: it is over.
    Over,
}

impl Run {
    pub(super) fn start(
        input: RunAgentInput,
        agent: Agent,
        conversation: Conversation,
        ports: Ports,
        now: Millis,
    ) -> Result<Run, Refusal> {
        let Ports { mut ids, patterns, files, steers } = ports;
        prompt::check_context(&input.context)?;
        let passthrough = toolset::passthrough(input.mindset("passthroughParams"))?;
        let mut agent = agent;
        if agent.ask_user {
            agent.tools.push(questions::tool());
        }
        if !agent.delegates.is_empty() {
            agent.tools.push(delegate::tool(&agent.delegates));
        }
        if agent.plan_review {
            agent.tools.push(questions::plan_tool());
        }
        let (tools, warnings) = Toolset::new(&input.tools, std::mem::take(&mut agent.tools), &*patterns)?;
        let passthrough = tools.relevant(passthrough);
        let used = conversation.used;
        let reach = Reach::of(&input);
        let Accepted { truncate, stored, new, decided } =
            accept(&input, conversation, &tools, &mut *ids, now)?;
        // A new message is a new turn, whose limits count anew.
        let goes_on = !new.iter().any(|m| m.role == StoredRole::User);
        let left = agent.bounds.deadline.saturating_sub(if goes_on { used } else { 0 });
        let call_ids = CallIds::of(&stored, agent.parent_run.is_some());
        let mut run = Run {
            system: prompt::system_prompt(&agent.instructions, &input.context),
            deadline: now.saturating_add(left),
            thread_id: input.thread_id,
            run_id: input.run_id,
            agent,
            tools,
            passthrough,
            offered: Vec::new(),
            earlier: Earlier::default(),
            warned: false,
            call_ids,
            messages: stored,
            ids,
            patterns,
            files,
            reach,
            steers,
            usage: None,
            state: State::Over,
            outputs: VecDeque::new(),
        };
        run.begin(truncate, new, warnings, now);
        run.resume(decided, now);
        // Thousands of runs wait for their models with what they were given, and no more.
        run.messages.shrink_to_fit();
        Ok(run)
    }

    pub(super) fn poll_output(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front();
        // Between two inputs, which is nearly always, a run has none and takes no room for any.
        if self.outputs.is_empty() {
            self.outputs = VecDeque::new();
        }
        output
    }

    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        (!matches!(self.state, State::Over)).then_some(self.deadline)
    }

    pub(super) fn handle(&mut self, input: Input, now: Millis) {
        let state = std::mem::replace(&mut self.state, State::Over);
        match (state, input) {
            (State::Over, _) => {}
            (state, Input::Passthrough(passthrough)) => {
                self.passthrough = self.tools.relevant(passthrough);
                self.state = state;
            }
            (State::Model(answer), Input::Model(event)) => self.model_says(answer, event, now),
            (State::Tools(step), Input::Tool { call_id, outcome, duration }) => {
                self.tool_done(step, &call_id, (outcome, duration), now);
            }
            (State::Tools(step), Input::Child { session, event }) => {
                self.child_says(step, &session, *event, now);
            }
            (state, Input::Cancel) => self.cut(state, ending::Cut::Cancelled, now),
            (state, Input::Shutdown(message)) => self.shut_down(state, message, now),
            (state, Input::Fail(error)) => self.give_up(state, error, now),
            (state, Input::Tick) if now >= self.deadline => {
                self.cut(state, ending::Cut::Bound(self.too_long()), now);
            }
            (state, Input::Tick | Input::Model(_) | Input::Tool { .. } | Input::Child { .. }) => {
                self.state = state;
            }
        }
    }

    fn model_says(&mut self, mut answer: Answer, event: ModelEvent, now: Millis) {
        match event {
            ModelEvent::End { usage } => {
                self.add_usage(usage);
                self.finish_answer(answer, usage, now);
            }
            ModelEvent::Failed(failure)
                if failure.reason == Reason::ContextTooLong
                    && answer.is_untold()
                    && self.ask_for_less(now) => {}
            ModelEvent::Failed(failure) => self.model_failed(&answer, failure, now),
            piece => {
                let bodies = answer.take(piece, &mut self.call_ids, &mut *self.ids, &self.tools);
                self.emit_all(bodies, now);
                self.state = State::Model(answer);
            }
        }
    }

    fn begin(
        &mut self,
        truncate: Option<String>,
        new: Vec<StoredMessage>,
        warnings: Vec<String>,
        now: Millis,
    ) {
        let brought = new.iter().rev().chain(self.messages.iter().rev()).find(|m| m.begins_turn());
        let turn_id = brought.map_or_else(|| self.run_id.clone(), |m| m.run_id.clone());
        let mut mindset = object! { "turnId": turn_id };
        let (model, id) = (self.agent.model.as_str(), self.agent.model_id.as_str());
        if !model.is_empty() {
            mindset.insert("model", if id.is_empty() { model } else { id });
        }
        if !id.is_empty() && id != model {
            mindset.insert("modelName", model);
        }
        mindset.insert_some("disclosure", self.agent.disclosure.as_deref());
        if let Some(from) = truncate {
            self.output(Output::Truncate { from });
        }
        let body = Body::RunStarted {
            thread_id: self.thread_id.clone(),
            run_id: self.run_id.clone(),
            protocol_version: Some(PROTOCOL_VERSION.to_owned()),
            parent_run_id: self.agent.parent_run.clone(),
        };
        self.emit(body, mindset, now);
        for message in warnings {
            self.warn(message, now);
        }
        self.store(new);
    }

    /// Calls the model, if no bound forbids it.
    pub(super) fn next_step(&mut self, now: Millis) {
        if let Some(bound) = bounds::before_call(&self.agent.bounds, turn_of(&self.messages)) {
            return self.end_at(bound, now);
        }
        if now >= self.deadline {
            return self.end_at(self.too_long(), now);
        }
        self.read_steers(now);
        self.ask();
    }

    /// Sees what the tools look like now.
    pub(super) fn offer(&mut self) {
        self.offered = self.tools.offer(&self.passthrough);
    }

    fn ask(&mut self) {
        self.offer();
        self.state = State::Model(Answer::new(self.ids.next_id()));
        self.output(Output::CallModel(ModelRequest {
            model: self.agent.model.clone(),
            system: self.system.clone(),
            messages: history::model_messages(&self.messages, self.earlier),
            tools: self.offered.clone(),
        }));
    }

    /// Asks again with less of the turns before this one, if that is less at all.
    fn ask_for_less(&mut self, now: Millis) -> bool {
        let before = history::model_messages(&self.messages, self.earlier);
        while let Some(less) = self.earlier.less() {
            self.earlier = less;
            if history::model_messages(&self.messages, less) == before {
                continue;
            }
            if !std::mem::replace(&mut self.warned, true) {
                let message = "The conversation no longer fits the model. Earlier messages and results were \
                               shortened for it, so it may have forgotten some.";
                self.warn(message.to_owned(), now);
            }
            self.ask();
            return true;
        }
        false
    }

    fn warn(&mut self, message: String, now: Millis) {
        let value = Value::Object(object! { "message": message });
        self.emit(Body::Custom { name: "mindset.warning".to_owned(), value }, Object::new(), now);
    }

    fn too_long(&self) -> Bound {
        Bound::new(BoundReason::Deadline, self.agent.bounds.deadline)
    }

    pub(super) fn done(&mut self, state: RunState) {
        self.state = State::Over;
        self.output(Output::Done(state));
    }

    pub(super) fn output(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    pub(super) fn store(&mut self, messages: impl IntoIterator<Item = StoredMessage>) {
        let messages: Vec<_> = messages.into_iter().collect();
        if messages.is_empty() {
            return;
        }
        self.messages.extend(messages.iter().cloned());
        self.output(Output::Store(messages));
    }

    pub(super) fn emit_all(&mut self, bodies: Vec<Body>, now: Millis) {
        for body in bodies {
            self.emit(body, Object::new(), now);
        }
    }

    pub(super) fn emit(&mut self, body: Body, mindset: Object, now: Millis) {
        let mut event = Event::new(body).with_mindset(mindset);
        event.timestamp = Some(now);
        self.tell(event);
    }

    /// Tells an event as it is.
    pub(super) fn tell(&mut self, event: Event) {
        self.output(Output::Emit(event));
    }

    fn add_usage(&mut self, usage: Option<ModelUsage>) {
        if let Some(more) = usage {
            self.usage.get_or_insert_default().add(more);
        }
    }

    pub(super) fn token_usage(&self) -> Vec<TokenUsage> {
        token_usage(self.usage, &self.agent.model)
    }
}

/// What a run cost, for its end.
pub(super) fn token_usage(usage: Option<ModelUsage>, model: &str) -> Vec<TokenUsage> {
    let tokens = |sum: ModelUsage| TokenUsage {
        model: Some(model.to_owned()).filter(|m| !m.is_empty()),
        input_tokens: Some(sum.input),
        output_tokens: Some(sum.output),
        total_tokens: Some(sum.input.saturating_add(sum.output)),
        ..TokenUsage::default()
    };
    usage.map(tokens).into_iter().collect()
}
