//! The calls of one answer: refused, run here, or left to the client.

use crate::Millis;
use crate::agui::{Body, Outcome};
use crate::event::{Citation, Widget};
use crate::json::Object;
use crate::passthrough::{CheckedArgs, FullArgs};

use super::answer::Answer;
use super::calls::Call;
use super::conversation::CANCELLED;
use super::files;
use super::results::{self, Told};
use super::running::{Run, State};
use super::toolset::Owner;
use super::{
    ModelUsage, Output, RunState, ServerTool, StoredMessage, StoredRole, ToolOutcome, ToolRequest, arguments,
    citations,
};

/// A step whose tools run.
pub(super) struct Step {
    running: Vec<Running>,
    /// Calls that the client gets when the others are done: identifiers and names.
    pending: Vec<(String, String)>,
}

struct Running {
    call_id: String,
    tool: ServerTool,
}

/// What becomes of a call.
enum Fate {
    Refused(String),
    Run(ServerTool, FullArgs),
    Client,
}

impl Run {
    /// The model has said everything.
    pub(super) fn finish_answer(&mut self, mut answer: Answer, usage: Option<ModelUsage>, now: Millis) {
        if answer.is_nothing() {
            return self.said_nothing(&answer, now);
        }
        let message = StoredMessage { usage, ..self.message_of(&answer, now) };
        let cited = message.citations.clone();
        self.store([message]);
        self.emit_all(answer.finish(), now);
        self.tell_citations(&answer, &cited, now);
        if answer.calls().is_empty() {
            return self.finish(
                Outcome::Success { pending_tool_call_ids: Vec::new() },
                RunState::Finished,
                now,
            );
        }
        let mut step = Step { running: Vec::new(), pending: Vec::new() };
        let mut requests = Vec::new();
        for call in answer.calls() {
            match self.fate(call) {
                Fate::Refused(why) => self.refuse(call, why, now),
                Fate::Client => step.pending.push((call.id.clone(), call.name.clone())),
                Fate::Run(tool, arguments) => {
                    requests.push(ToolRequest {
                        call_id: call.id.clone(),
                        source: tool.source,
                        server: tool.server.clone(),
                        name: tool.name.clone(),
                        arguments,
                    });
                    step.running.push(Running { call_id: call.id.clone(), tool });
                }
            }
        }
        for (request, running) in requests.into_iter().zip(&step.running) {
            self.emit(results::tool_start(&running.call_id, &running.tool), Object::new(), now);
            self.output(Output::CallTool(request));
        }
        self.go_on(step, now);
    }

    /// The message to store for a whole answer: without values that the model made up
    /// for parameters it was not told of, and with what it cites.
    fn message_of(&self, answer: &Answer, now: Millis) -> StoredMessage {
        let mut message = answer.message(&self.run_id, now);
        for call in &mut message.calls {
            let offered = self.offered.iter().find(|tool| tool.name == call.name);
            if let Some(tool) = offered.filter(|tool| !tool.parameters.stripped().is_empty()) {
                call.arguments = arguments::without(&call.arguments, tool.parameters.stripped());
            }
        }
        message.citations = citations::cited(&self.messages, &message.content);
        message
    }

    pub(super) fn tell_citations(&mut self, answer: &Answer, cited: &[Citation], now: Millis) {
        if !cited.is_empty() {
            self.emit(citations::event(answer.message_id(), cited), Object::new(), now);
        }
    }

    fn fate(&self, call: &Call) -> Fate {
        let tool = match self.tools.owner(&call.name) {
            Owner::Nobody => return Fate::Refused(self.tools.no_such_tool(&call.name)),
            Owner::Page => return arguments::fault(&call.arguments).map_or(Fate::Client, Fate::Refused),
            Owner::Server(tool) => tool,
        };
        let Some(seen) = self.offered.iter().find(|offered| offered.name == call.name) else {
            return Fate::Refused(self.tools.no_such_tool(&call.name));
        };
        let full =
            CheckedArgs::read(&call.arguments, &seen.parameters, &*self.patterns).and_then(|checked| {
                let files = files::for_tool(tool, &self.messages, &*self.files);
                self.tools.inject(checked, tool, &self.passthrough, files.as_ref())
            });
        full.map_or_else(Fate::Refused, |arguments| Fate::Run(tool.clone(), arguments))
    }

    fn refuse(&mut self, call: &Call, why: String, now: Millis) {
        let told = Told::refused(why);
        let message = told.message(self.ids.next_id(), &self.run_id, &call.id, now);
        let owner = self.tools.owner(&call.name);
        let (body, mindset) = told.event(&message, self.tools.shown(&call.name), &owner);
        self.store([message]);
        self.emit(body, mindset, now);
    }

    /// A tool is done. One that is not running, or not any more, changes nothing.
    pub(super) fn tool_done(
        &mut self,
        mut step: Step,
        call_id: &str,
        (outcome, duration): (ToolOutcome, u64),
        now: Millis,
    ) {
        let Some(at) = step.running.iter().position(|r| r.call_id == call_id) else {
            self.state = State::Tools(step);
            return;
        };
        let running = step.running.remove(at);
        let (outcome, cited, shown) = match outcome {
            ToolOutcome::Done { content, sources, widgets } => {
                let (content, cited) = citations::number(&self.messages, content, &sources);
                let done = ToolOutcome::Done { content, sources: Vec::new(), widgets: Vec::new() };
                (done, cited, widgets)
            }
            other => (other, Vec::new(), Vec::new()),
        };
        self.end_call(&running, &Told::of(outcome, &running.tool, duration), cited, now);
        for widget in shown {
            self.show(widget, now);
        }
        self.go_on(step, now);
    }

    fn end_call(&mut self, running: &Running, told: &Told, cited: Vec<Citation>, now: Millis) {
        let Running { call_id, tool } = running;
        let mut message = told.message(self.ids.next_id(), &self.run_id, call_id, now);
        message.citations = cited;
        message.effect = told.effect(tool);
        let (body, mindset) = told.event(&message, &tool.name, &Owner::Server(tool));
        self.store([message]);
        self.emit(body, mindset, now);
    }

    /// Shows the person what a tool made, and keeps it in the conversation.
    fn show(&mut self, widget: Widget, now: Millis) {
        let id = self.ids.next_id();
        let mut message = StoredMessage::new(id, &self.run_id, StoredRole::Assistant, &widget.summary, now);
        message.widget = Some(widget);
        let body = results::widget(&message);
        self.store([message]);
        self.emit_all(body.into_iter().collect(), now);
    }

    /// Waits for the rest of a step, or for the client, or asks the model again.
    fn go_on(&mut self, step: Step, now: Millis) {
        if !step.running.is_empty() {
            self.state = State::Tools(step);
        } else if step.pending.is_empty() {
            self.next_step(now);
        } else {
            let pending_tool_call_ids = step.pending.into_iter().map(|(id, _)| id).collect();
            self.finish(Outcome::Success { pending_tool_call_ids }, RunState::Waiting, now);
        }
    }

    /// Gives up what runs. Every call gets a result, or no later request would be
    /// taken by a provider; `why` says what happened, for the model.
    pub(super) fn abort_tools(&mut self, step: Step, why: &str, now: Millis) {
        self.output(Output::AbortTools);
        for running in &step.running {
            self.end_call(running, &Told::unknown(why, !running.tool.read_only, 0), Vec::new(), now);
        }
        for (id, name) in &step.pending {
            let told = Told::refused(CANCELLED.to_owned());
            let message = told.message(self.ids.next_id(), &self.run_id, id, now);
            let (body, mindset): (Body, Object) = told.event(&message, name, &Owner::Page);
            self.store([message]);
            self.emit(body, mindset, now);
        }
    }
}
