//! One run as operators see it: counted, timed, and as spans of a trace. It holds names of the
//! configuration and numbers; nothing that anyone said.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Poll, Poll as Polled};
use std::time::Instant;

use futures_util::{Stream, StreamExt};
use mindset_core::turn::{ModelEvent, ModelRequest, RunState, ToolOutcome, ToolRequest};

use super::metrics::{self, Open};
use super::trace::{Context, Span};
use crate::model::{Answer, Model};
use crate::store::RunStatus;

/// Watches one run.
#[derive(Debug)]
pub(crate) struct RunWatch {
    agent: String,
    conversation: String,
    provider: &'static str,
    caller: Option<Context>,
    input: AtomicU64,
    output: AtomicU64,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    begun: Instant,
    span: Option<Span>,
    _open: Open,
}

impl RunWatch {
    /// For a run that may begin.
    pub(crate) fn new(
        agent: &str,
        conversation: &str,
        model: &dyn Model,
        caller: Option<Context>,
    ) -> Arc<RunWatch> {
        Arc::new(RunWatch {
            agent: agent.to_owned(),
            conversation: conversation.to_owned(),
            provider: model.provider(),
            caller,
            input: AtomicU64::default(),
            output: AtomicU64::default(),
            running: Mutex::default(),
        })
    }

    /// The run begins.
    pub(crate) fn begin(&self) {
        let mut span = Span::begin(self.caller.as_ref(), format!("invoke_agent {}", self.agent));
        if let Some(span) = &mut span {
            span.text("gen_ai.operation.name", "invoke_agent");
            span.text("gen_ai.provider.name", self.provider);
            span.text("gen_ai.agent.id", &self.agent);
            span.text("gen_ai.conversation.id", &self.conversation);
        }
        let running = Running { begun: Instant::now(), span, _open: Open::one(&metrics::RUNNING) };
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
    }

    /// The run has ended; only its first end counts.
    pub(crate) fn end(&self, state: RunState) {
        let Some(running) = self.running.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        let state = RunStatus::Ended(state).as_str();
        metrics::RUNS.add(&[state], 1);
        metrics::RUN_SECONDS.observe(&[state], running.begun.elapsed());
        if let Some(mut span) = running.span {
            span.number("gen_ai.usage.input_tokens", self.input.load(Ordering::Relaxed));
            span.number("gen_ai.usage.output_tokens", self.output.load(Ordering::Relaxed));
            span.error = (state == "error").then_some("error");
            span.end();
        }
    }

    /// The same model, its calls watched.
    pub(crate) fn model(self: &Arc<RunWatch>, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(Watched { model, watch: Arc::clone(self) })
    }

    /// A tool is called.
    pub(crate) fn tool(&self, request: &ToolRequest) -> ToolWatch {
        let mut span = self.below(format!("execute_tool {}", request.name));
        if let Some(span) = &mut span {
            span.text("gen_ai.operation.name", "execute_tool");
            span.text("gen_ai.tool.name", &request.name);
            span.text("gen_ai.tool.call.id", &request.call_id);
            span.text("gen_ai.tool.type", if request.server.is_some() { "extension" } else { "datastore" });
        }
        ToolWatch { begun: Instant::now(), span, outcome: "stopped" }
    }

    fn below(&self, name: String) -> Option<Span> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let parent = running.as_ref()?.span.as_ref()?.context.clone();
        Span::begin(Some(&parent), name)
    }
}

/// A run whose task broke has ended, too.
impl Drop for RunWatch {
    fn drop(&mut self) {
        self.end(RunState::Error);
    }
}

/// A tool call under way; one that is dropped was stopped.
#[derive(Debug)]
pub(crate) struct ToolWatch {
    begun: Instant,
    span: Option<Span>,
    outcome: &'static str,
}

impl ToolWatch {
    /// What came of it.
    pub(crate) fn end(mut self, outcome: &ToolOutcome) {
        self.outcome = match outcome {
            ToolOutcome::Done { .. } => "done",
            ToolOutcome::Failed(_) => "failed",
            ToolOutcome::Unknown(_) => "unknown",
            ToolOutcome::Worked { .. } => "done",
            ToolOutcome::Asks(_) | ToolOutcome::Waits(_) => "asks",
        };
    }
}

impl Drop for ToolWatch {
    fn drop(&mut self) {
        metrics::TOOL_SECONDS.observe(&[self.outcome], self.begun.elapsed());
        if let Some(mut span) = self.span.take() {
            span.error = (!matches!(self.outcome, "done" | "asks")).then_some(self.outcome);
            span.end();
        }
    }
}

#[derive(Debug)]
struct Watched {
    model: Arc<dyn Model>,
    watch: Arc<RunWatch>,
}

impl Model for Watched {
    fn call(&self, request: ModelRequest) -> Answer {
        let mut span = self.watch.below(format!("chat {}", self.shown_name()));
        if let Some(span) = &mut span {
            span.is_client = true;
            span.text("gen_ai.operation.name", "chat");
            span.text("gen_ai.provider.name", self.watch.provider);
            span.text("gen_ai.request.model", self.shown_name());
            span.text("gen_ai.conversation.id", &self.watch.conversation);
        }
        let model = self.shown_name().to_owned();
        let (watch, begun) = (Arc::clone(&self.watch), Instant::now());
        let call = Call { answer: self.model.call(request), watch, model, span, begun, outcome: "stopped" };
        call.boxed()
    }

    fn shown_name(&self) -> &str {
        self.model.shown_name()
    }

    fn disclosure(&self) -> Option<&str> {
        self.model.disclosure()
    }

    fn provider(&self) -> &'static str {
        self.model.provider()
    }
}

/// One answer on its way.
struct Call {
    answer: Answer,
    watch: Arc<RunWatch>,
    model: String,
    span: Option<Span>,
    begun: Instant,
    outcome: &'static str,
}

impl Stream for Call {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Poll<'_>) -> Polled<Option<ModelEvent>> {
        let polled = self.answer.poll_next_unpin(context);
        match &polled {
            Polled::Ready(Some(ModelEvent::End { usage })) => {
                self.outcome = "done";
                let (input, output) = usage.map_or((0, 0), |usage| (usage.input, usage.output));
                self.watch.input.fetch_add(input, Ordering::Relaxed);
                self.watch.output.fetch_add(output, Ordering::Relaxed);
                for (direction, tokens) in [("input", input), ("output", output)] {
                    let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
                    metrics::TOKENS.add(&[&self.model, direction], tokens);
                }
                if let Some(span) = &mut self.span {
                    span.number("gen_ai.usage.input_tokens", input);
                    span.number("gen_ai.usage.output_tokens", output);
                }
            }
            Polled::Ready(Some(ModelEvent::Failed(failed))) => self.outcome = failed.reason.as_str(),
            Polled::Ready(None) if self.outcome == "stopped" => self.outcome = "interrupted",
            _ => {}
        }
        polled
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        metrics::MODEL_SECONDS.observe(&[&self.model, self.outcome], self.begun.elapsed());
        if let Some(mut span) = self.span.take() {
            span.error = (!matches!(self.outcome, "done" | "asks")).then_some(self.outcome);
            span.end();
        }
    }
}
