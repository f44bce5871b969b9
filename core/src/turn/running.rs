//! The run: calls the model, answers what it can answer itself, and ends.

use std::collections::VecDeque;

use crate::agui::{Body, Event, Outcome, PROTOCOL_VERSION, RunAgentInput, TokenUsage};
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{Bound, BoundReason, MessageStatus, Reason};
use crate::json::Object;
use crate::object;
use crate::{Millis, NextId};

use super::Ports;
use super::accept::{Accepted, accept};
use super::answer::Answer;
use super::calls::{Call, CallIds};
use super::{
    Agent, Conversation, Input, ModelEvent, ModelFailure, ModelRequest, ModelTool, ModelUsage, Output,
    Refusal, RunState, StoredMessage, StoredRole, arguments, bounds, history, prompt, tools,
};

/// Everything of a run. It either waits for the model, or is over.
pub(super) struct Run {
    thread_id: String,
    run_id: String,
    agent: Agent,
    system: String,
    tools: Vec<ModelTool>,
    /// The conversation as it is stored.
    messages: Vec<StoredMessage>,
    call_ids: CallIds,
    ids: Box<dyn NextId + Send>,
    deadline: Millis,
    usage: Option<ModelUsage>,
    /// What the model has said so far; `None` when the run is over.
    answer: Option<Answer>,
    outputs: VecDeque<Output>,
}

/// How a run is ended before the model is done.
enum Cut {
    Cancelled,
    Bound(Bound),
}

impl Run {
    pub(super) fn start(
        input: RunAgentInput,
        agent: Agent,
        conversation: Conversation,
        ports: Ports,
        now: Millis,
    ) -> Result<Run, Refusal> {
        let Ports { mut ids, patterns: _ } = ports;
        prompt::check_context(&input.context)?;
        let tools = tools::model_tools(&input.tools)?;
        let Accepted { truncate, stored, new } = accept(&input, conversation, &mut *ids, now)?;
        let mut run = Run {
            system: prompt::system_prompt(&agent.instructions, &input.context),
            deadline: now.saturating_add(agent.bounds.deadline),
            thread_id: input.thread_id,
            run_id: input.run_id,
            agent,
            tools,
            call_ids: CallIds::of(&stored),
            messages: stored,
            ids,
            usage: None,
            answer: None,
            outputs: VecDeque::new(),
        };
        run.begin(truncate, new, now);
        Ok(run)
    }

    pub(super) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        self.answer.is_some().then_some(self.deadline)
    }

    pub(super) fn handle(&mut self, input: Input, now: Millis) {
        let Some(mut answer) = self.answer.take() else { return };
        match input {
            Input::Model(ModelEvent::End { usage }) => {
                self.add_usage(usage);
                self.finish_answer(answer, now);
            }
            Input::Model(ModelEvent::Failed(failure)) => {
                let code = failure_code(failure.reason);
                self.fail(&answer, failure, code, now);
            }
            Input::Model(piece) => {
                let bodies = answer.take(piece, &mut self.call_ids, &mut *self.ids);
                self.emit_all(bodies, now);
                self.answer = Some(answer);
            }
            Input::Tool { .. } | Input::Passthrough(_) => self.answer = Some(answer),
            Input::Cancel => self.cut(answer, Cut::Cancelled, now),
            Input::Fail(error) => {
                self.outputs.push_back(Output::AbortModel);
                let ErrorInfo { code, message, retryable, .. } = error;
                self.fail(&answer, ModelFailure { reason: code_reason(code), message, retryable }, code, now);
            }
            Input::Tick if now >= self.deadline => {
                let bound = Bound { reason: BoundReason::Deadline, limit: self.agent.bounds.deadline };
                self.cut(answer, Cut::Bound(bound), now);
            }
            Input::Tick => self.answer = Some(answer),
        }
    }

    fn begin(&mut self, truncate: Option<String>, new: Vec<StoredMessage>, now: Millis) {
        let brought = new.iter().rev().chain(self.messages.iter().rev()).find(|m| m.role == StoredRole::User);
        let turn_id = brought.map_or_else(|| self.run_id.clone(), |m| m.run_id.clone());
        let mut mindset = object! { "turnId": turn_id };
        if !self.agent.model.is_empty() {
            mindset.insert("model", self.agent.model.as_str());
        }
        mindset.insert_some("disclosure", self.agent.disclosure.as_deref());
        if let Some(from) = truncate {
            self.outputs.push_back(Output::Truncate { from });
        }
        let body = Body::RunStarted {
            thread_id: self.thread_id.clone(),
            run_id: self.run_id.clone(),
            protocol_version: Some(PROTOCOL_VERSION.to_owned()),
            parent_run_id: None,
        };
        self.emit(body, mindset, now);
        self.store(new);
        self.next_step(now);
    }

    /// Calls the model, if no bound forbids it.
    fn next_step(&mut self, now: Millis) {
        let (_, turn) = bounds::split_turn(&self.messages);
        if let Some(bound) = bounds::before_call(&self.agent.bounds, turn) {
            return self.finish(Outcome::Cancelled, bound_fields(bound), RunState::Finished, now);
        }
        self.answer = Some(Answer::new(self.ids.next_id()));
        self.outputs.push_back(Output::CallModel(ModelRequest {
            model: self.agent.model.clone(),
            system: self.system.clone(),
            messages: history::model_messages(&self.messages),
            tools: self.tools.clone(),
        }));
    }

    fn finish_answer(&mut self, mut answer: Answer, now: Millis) {
        if answer.is_nothing() {
            let failure = ModelFailure {
                reason: Reason::ModelError,
                message: "The model answered with nothing. Try again.".to_owned(),
                retryable: true,
            };
            return self.fail(&answer, failure, ErrorCode::ServerError, now);
        }
        let mut stored = vec![answer.message(&self.run_id, now)];
        let mut results = Vec::new();
        let mut pending = Vec::new();
        for call in answer.calls() {
            match self.refuse(call, now) {
                Some((message, event)) => {
                    stored.push(message);
                    results.push(event);
                }
                None => pending.push(call.id.clone()),
            }
        }
        self.store(stored);
        self.emit_all(answer.finish(), now);
        for (body, mindset) in results {
            self.emit(body, mindset, now);
        }
        if answer.calls().is_empty() {
            let outcome = Outcome::Success { pending_tool_call_ids: Vec::new() };
            self.finish(outcome, Object::new(), RunState::Finished, now);
        } else if pending.is_empty() {
            self.next_step(now);
        } else {
            let outcome = Outcome::Success { pending_tool_call_ids: pending };
            self.finish(outcome, Object::new(), RunState::Waiting, now);
        }
    }

    /// The result of a call that nobody can run: what is stored and what readers
    /// are told. `None` for a call that goes to the client.
    fn refuse(&mut self, call: &Call, now: Millis) -> Option<(StoredMessage, (Body, Object))> {
        let known = self.tools.iter().any(|t| t.name == call.name);
        let error = if known { arguments::fault(&call.arguments)? } else { self.no_such_tool(&call.name) };
        let mut message = StoredMessage::new(self.ids.next_id(), &self.run_id, StoredRole::Tool, &error, now);
        message.call_id = Some(call.id.clone());
        message.status = Some(MessageStatus::Error);
        let body = Body::ToolCallResult {
            message_id: message.id.clone(),
            tool_call_id: call.id.clone(),
            content: error.as_str().into(),
        };
        let mut mindset = object! { "ok": false, "error": error, "toolName": call.name.as_str() };
        mindset.insert("durationMs", 0_u64);
        if known {
            mindset.insert("source", "page");
        }
        Some((message, (body, mindset)))
    }

    /// What the model is told; its own text is cut, for it can be of any length.
    fn no_such_tool(&self, name: &str) -> String {
        let name: String = name.chars().take(64).collect();
        if self.tools.is_empty() {
            return format!("There is no tool \"{name}\": no tools can be used now. Answer without.");
        }
        let names: Vec<_> = self.tools.iter().map(|t| t.name.as_str()).collect();
        format!("There is no tool \"{name}\". The tools are: {}.", names.join(", "))
    }

    fn cut(&mut self, mut answer: Answer, cut: Cut, now: Millis) {
        self.outputs.push_back(Output::AbortModel);
        let (status, mindset, state) = match cut {
            Cut::Cancelled => (Some(MessageStatus::Stopped), Object::new(), RunState::Cancelled),
            // The bound says what is missing; nobody stopped the message.
            Cut::Bound(bound) => (None, bound_fields(bound), RunState::Finished),
        };
        self.store(answer.partial(&self.run_id, status, now));
        self.emit_all(answer.cut(), now);
        self.finish(Outcome::Cancelled, mindset, state, now);
    }

    /// Ends the run with an error. What is open stays open: half a call must not
    /// look like a whole one, and the protocol allows it here.
    fn fail(&mut self, answer: &Answer, failure: ModelFailure, code: ErrorCode, now: Millis) {
        let status = match failure.reason {
            Reason::Interrupted => MessageStatus::Interrupted,
            _ => MessageStatus::Error,
        };
        self.store(answer.partial(&self.run_id, Some(status), now));
        let body = Body::RunError {
            message: failure.message,
            code: Some(code.as_str().to_owned()),
            usage: self.token_usage(),
        };
        // `unauthorized` means the reader's own token; a refused model key is the model's fault.
        let reason = match failure.reason {
            Reason::Unauthorized => Reason::ModelError,
            other => other,
        };
        let mindset = object! { "reason": reason.as_str(), "retryable": failure.retryable };
        self.emit(body, mindset, now);
        self.outputs.push_back(Output::Done(RunState::Error));
    }

    fn finish(&mut self, outcome: Outcome, mindset: Object, state: RunState, now: Millis) {
        let body = Body::RunFinished {
            thread_id: self.thread_id.clone(),
            run_id: self.run_id.clone(),
            result: None,
            outcome: Some(outcome),
            usage: self.token_usage(),
        };
        self.emit(body, mindset, now);
        self.outputs.push_back(Output::Done(state));
    }

    fn store(&mut self, messages: impl IntoIterator<Item = StoredMessage>) {
        let messages: Vec<_> = messages.into_iter().collect();
        if messages.is_empty() {
            return;
        }
        self.messages.extend(messages.iter().cloned());
        self.outputs.push_back(Output::Store(messages));
    }

    fn emit_all(&mut self, bodies: Vec<Body>, now: Millis) {
        for body in bodies {
            self.emit(body, Object::new(), now);
        }
    }

    fn emit(&mut self, body: Body, mindset: Object, now: Millis) {
        let mut event = Event::new(body).with_mindset(mindset);
        event.timestamp = Some(now);
        self.outputs.push_back(Output::Emit(event));
    }

    fn add_usage(&mut self, usage: Option<ModelUsage>) {
        let Some(more) = usage else { return };
        let sum = self.usage.get_or_insert_default();
        sum.input = sum.input.saturating_add(more.input);
        sum.output = sum.output.saturating_add(more.output);
    }

    fn token_usage(&self) -> Vec<TokenUsage> {
        let usage = |sum: ModelUsage| TokenUsage {
            model: Some(self.agent.model.clone()).filter(|m| !m.is_empty()),
            input_tokens: Some(sum.input),
            output_tokens: Some(sum.output),
            total_tokens: Some(sum.input.saturating_add(sum.output)),
            ..TokenUsage::default()
        };
        self.usage.map(usage).into_iter().collect()
    }
}

fn bound_fields(bound: Bound) -> Object {
    object! { "bound": bound.to_json() }
}

/// The code that programs branch on when the model fails.
fn failure_code(reason: Reason) -> ErrorCode {
    match reason {
        Reason::RateLimited => ErrorCode::RateLimited,
        Reason::ContextTooLong => ErrorCode::TooLarge,
        Reason::Timeout => ErrorCode::Timeout,
        // The agent's key, not the person's.
        Reason::Unauthorized => ErrorCode::AgentMisconfigured,
        Reason::Internal => ErrorCode::Internal,
        _ => ErrorCode::ServerError,
    }
}

fn code_reason(code: ErrorCode) -> Reason {
    match code {
        ErrorCode::RateLimited => Reason::RateLimited,
        ErrorCode::Timeout => Reason::Timeout,
        _ => Reason::Internal,
    }
}
