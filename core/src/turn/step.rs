//! The calls of one answer: refused, run here, or left to the client.

use crate::Millis;
use crate::agui::{Body, Event, Outcome};
use crate::event::{Citation, Widget};
use crate::json::{Object, Value};
use crate::passthrough::{CheckedArgs, FullArgs};

use super::answer::Answer;
use super::calls::Call;
use super::conversation::{CANCELLED, cancelled, open_interrupts};
use super::files;
use super::forward::Forwarded;
use super::results::{self, Told};
use super::running::{Reach, Run, State};
use super::toolset::Owner;
use super::{
    Approval, Ask, Asked, ChildAsk, Delegated, ModelUsage, Output, RunState, ServerTool, StoredCall,
    StoredMessage, StoredRole, ToolAnswer, ToolAsk, ToolOutcome, ToolQuestions, ToolReply, ToolRequest,
    arguments, citations, delegate, questions,
};

/// Bytes of everything that people are shown for one step: one event tells it.
const MAX_ASKED: usize = 256 * 1024;

/// What the model is told of a call that nobody can allow.
pub(super) const NOBODY: &str = "Nobody can approve this call now: it was not run. Go on without this tool, and say what you \
     could not do.";

/// A step whose tools run.
#[derive(Default)]
pub(super) struct Step {
    running: Vec<Running>,
    /// What they are to do, until they run.
    requests: Vec<ToolRequest>,
    /// Calls that the client gets when the others are done: identifiers and names.
    pending: Vec<(String, String)>,
    /// Calls that wait for a person, as long.
    asking: Vec<StoredCall>,
}

/// A call that runs.
pub(super) struct Running {
    pub(super) call_id: String,
    tool: ServerTool,
    arguments: FullArgs,
    /// What it hands to another agent.
    pub(super) work: Option<Delegated>,
    pub(super) forwarded: Forwarded,
    /// It was told that nobody answers.
    unanswered: bool,
}

impl Running {
    pub(super) fn new(
        call_id: &str,
        tool: ServerTool,
        arguments: FullArgs,
        work: Option<Delegated>,
    ) -> Running {
        Running {
            call_id: call_id.to_owned(),
            tool,
            arguments,
            work,
            forwarded: Forwarded::default(),
            unanswered: false,
        }
    }

    fn request(&self, answer: Option<ToolAnswer>) -> ToolRequest {
        ToolRequest {
            call_id: self.call_id.clone(),
            source: self.tool.source,
            server: self.tool.server.clone(),
            name: self.tool.name.clone(),
            arguments: self.arguments.clone(),
            answer,
            work: self.work.clone(),
        }
    }
}

/// What becomes of a call.
enum Fate {
    Refused(String),
    Run(ServerTool, FullArgs),
    Asks(Box<Ask>),
    Client,
}

impl Step {
    /// Has the call run.
    pub(super) fn run(&mut self, running: Running, answer: Option<ToolAnswer>) {
        self.requests.push(running.request(answer));
        self.running.push(running);
    }
}

impl Run {
    /// The model has said everything.
    pub(super) fn finish_answer(&mut self, mut answer: Answer, usage: Option<ModelUsage>, now: Millis) {
        if answer.is_nothing() {
            return self.said_nothing(&answer, now);
        }
        let fates = self.fates(answer.calls());
        let mut message = StoredMessage { usage, ..self.message_of(&answer, now) };
        for (call, fate) in message.calls.iter_mut().zip(&fates) {
            call.ask = if let Fate::Asks(ask) = fate { Some(ask.clone()) } else { None };
        }
        let (cited, calls) = (message.citations.clone(), message.calls.clone());
        self.store([message]);
        self.emit_all(answer.finish(), now);
        self.tell_citations(&answer, &cited, now);
        if calls.is_empty() {
            return self.finish(
                Outcome::Success { pending_tool_call_ids: Vec::new() },
                RunState::Finished,
                now,
            );
        }
        let mut step = Step::default();
        for (call, fate) in calls.into_iter().zip(fates) {
            match fate {
                Fate::Refused(why) => self.refuse(&call, why, now),
                Fate::Client => step.pending.push((call.id, call.name)),
                Fate::Asks(_) => step.asking.push(call),
                Fate::Run(tool, arguments) => {
                    let work = delegate::is(&tool).then(|| self.hand_over(arguments.expose()));
                    let tool = self.titled(tool, work.as_ref());
                    step.run(Running::new(&call.id, tool, arguments, work), None);
                }
            }
        }
        self.run_step(step, now);
    }

    /// Starts the tools of a step.
    pub(super) fn run_step(&mut self, mut step: Step, now: Millis) {
        for (request, running) in std::mem::take(&mut step.requests).into_iter().zip(&step.running) {
            self.emit(results::tool_start(&running.call_id, &running.tool), Object::new(), now);
            self.tell_work(running, now);
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

    /// What becomes of each call.
    fn fates(&mut self, calls: &[Call]) -> Vec<Fate> {
        let (mut fates, mut asked) = (Vec::with_capacity(calls.len()), 0);
        for call in calls {
            let mut fate = self.fate(call);
            if let Fate::Asks(ask) = &fate {
                asked += ask.to_json().text().len();
                if asked > MAX_ASKED {
                    fate = Fate::Refused(format!(
                        "The call was not run: there is too much to show to a person at once, over {MAX_ASKED} \
                         bytes. Make fewer or smaller calls."
                    ));
                }
            }
            fates.push(fate);
        }
        fates
    }

    fn fate(&mut self, call: &Call) -> Fate {
        let tool = match self.tools.owner(&call.name) {
            Owner::Nobody => return Fate::Refused(self.tools.no_such_tool(&call.name)),
            Owner::Page => return arguments::fault(&call.arguments).map_or(Fate::Client, Fate::Refused),
            Owner::Server(tool) => tool.clone(),
        };
        let Some(seen) = self.offered.iter().find(|offered| offered.name == call.name) else {
            return Fate::Refused(self.tools.no_such_tool(&call.name));
        };
        let checked = match CheckedArgs::read(&call.arguments, &seen.parameters, &*self.patterns) {
            Ok(checked) => checked,
            Err(why) => return Fate::Refused(why),
        };
        if questions::is(&tool) {
            return self.questions(&tool, &checked);
        }
        let files = files::for_tool(&tool, &self.messages, &*self.files);
        match self.tools.inject(checked, &tool, &self.passthrough, files.as_ref()) {
            Err(why) => Fate::Refused(why),
            Ok(arguments) => match self.agent.approvals.needed(&tool) {
                None => Fate::Run(tool, arguments),
                Some(named) => self.approval(tool, named, &arguments),
            },
        }
    }

    /// The questions of a call of a tool that asks people.
    fn questions(&mut self, tool: &ServerTool, arguments: &CheckedArgs) -> Fate {
        if self.reach == Reach::Nobody {
            return Fate::Refused(questions::nobody(tool).to_owned());
        }
        let id = self.ids.next_id();
        match questions::read(tool, arguments.given(), &id) {
            Ok(questions) => self.asks(id, Asked::Questions(questions)),
            Err(why) => Fate::Refused(format!(
                "The questions were not asked: {why} Call the tool again with that mended, or go on without."
            )),
        }
    }

    /// The question whether a call may run.
    fn approval(&mut self, tool: ServerTool, named: bool, arguments: &FullArgs) -> Fate {
        if !self.reach.approves() {
            return Fate::Refused(NOBODY.to_owned());
        }
        let id = self.ids.next_id();
        self.asks(id, Asked::Approval(Approval::of(tool, named, arguments)))
    }

    fn asks(&self, id: String, what: Asked) -> Fate {
        let (promised, earlier) = (self.reach == Reach::Promised, Vec::new());
        Fate::Asks(Box::new(Ask { id, what, promised, earlier }))
    }

    fn refuse(&mut self, call: &StoredCall, why: String, now: Millis) {
        let told = Told::refused(why);
        let message = told.message(self.ids.next_id(), &self.run_id, &call.id, now);
        let owner = self.tools.owner(&call.name);
        let (body, mindset) = told.event(&message, self.tools.shown(&call.name), &owner);
        self.store([message]);
        self.emit(body, mindset, now);
    }

    /// Gives up a call that waits for a person.
    fn leave(&mut self, call: &StoredCall, now: Millis) {
        let message = cancelled(call, &self.run_id, self.ids.next_id(), now);
        self.store([message.clone()]);
        self.tell_settled(call, &message, now);
    }

    /// Something is said where work is done that a call has handed over.
    pub(super) fn child_says(&mut self, mut step: Step, session: &str, event: Event, now: Millis) {
        let does = |running: &&mut Running| running.work.as_ref().is_some_and(|work| work.session == session);
        if let Some(running) = step.running.iter_mut().find(does) {
            self.forward(running, event, now);
        }
        self.state = State::Tools(step);
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
        let mut running = step.running.remove(at);
        self.end_forwarded(&mut running, now);
        let outcome = match outcome {
            ToolOutcome::Waits(open) if self.reach != Reach::Nobody => {
                step.asking.extend(self.wait_for_child(&running, open, now));
                return self.go_on(step, now);
            }
            ToolOutcome::Asks(asked) if self.reach != Reach::Nobody => {
                step.asking.extend(self.ask_for(&running, *asked));
                return self.go_on(step, now);
            }
            ToolOutcome::Asks(asked) if !running.unanswered => {
                running.unanswered = true;
                let answer = ToolAnswer { asked: *asked, reply: ToolReply::Cancel };
                self.output(Output::CallTool(running.request(Some(answer))));
                step.running.push(running);
                return self.go_on(step, now);
            }
            outcome => outcome,
        };
        let usage = if let ToolOutcome::Worked { usage, .. } = &outcome { Some(*usage) } else { None };
        let (outcome, cited, shown) = match outcome {
            ToolOutcome::Done { content, sources, widgets } => {
                let (content, cited) = citations::number(&self.messages, content, &sources);
                let done = ToolOutcome::Done { content, sources: Vec::new(), widgets: Vec::new() };
                (done, cited, widgets)
            }
            other => (other, Vec::new(), Vec::new()),
        };
        self.end_call(&running, &Told::of(outcome, &running.tool, duration), (cited, usage), now);
        for widget in shown {
            self.show(widget, now);
        }
        self.go_on(step, now);
    }

    /// The call waits for the person from now on; what it asks is stored with it.
    fn ask_for(&mut self, running: &Running, mut asked: ToolQuestions) -> Option<StoredCall> {
        let id = self.ids.next_id();
        asked.questions.id.clone_from(&id);
        let call = Approval::of(running.tool.clone(), false, &running.arguments);
        self.wait_for(running, id, Asked::Tool(Box::new(ToolAsk { call, asked })))
    }

    /// The call waits until people have told its child what it asks.
    fn wait_for_child(
        &mut self,
        running: &Running,
        open: Vec<StoredCall>,
        now: Millis,
    ) -> Option<StoredCall> {
        let session = running.work.as_ref()?.session.clone();
        let call = Approval::of(running.tool.clone(), false, &running.arguments);
        let child = ChildAsk { call, session: session.clone(), open };
        let ids = child.asks().flat_map(Ask::ids).map(Value::from).collect();
        self.tell_suspended(&session, ids, now);
        let id = self.ids.next_id();
        self.wait_for(running, id, Asked::Child(Box::new(child)))
    }

    fn wait_for(&mut self, running: &Running, id: String, what: Asked) -> Option<StoredCall> {
        let mut ask = Ask { id, what, promised: self.reach == Reach::Promised, earlier: Vec::new() };
        let of_call = |m: &&mut StoredMessage| m.calls.iter().any(|call| call.id == running.call_id);
        let message = self.messages.iter_mut().rfind(of_call)?;
        let call = message.calls.iter_mut().find(|call| call.id == running.call_id)?;
        if let Some(before) = call.ask.take() {
            let ids: Vec<String> = before.ids().into_iter().map(str::to_owned).collect();
            ask.earlier = before.earlier;
            ask.earlier.extend(ids);
        }
        call.ask = Some(Box::new(ask));
        let call = call.clone();
        let (message_id, calls) = (message.id.clone(), message.calls.clone());
        self.output(Output::StoreCalls { message_id, calls });
        Some(call)
    }

    fn end_call(
        &mut self,
        running: &Running,
        told: &Told,
        (cited, usage): (Vec<Citation>, Option<ModelUsage>),
        now: Millis,
    ) {
        let Running { call_id, tool, .. } = running;
        self.tell_worked(running, told, now);
        let mut message = told.message(self.ids.next_id(), &self.run_id, call_id, now);
        message.citations = cited;
        message.usage = usage;
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
        } else if !step.asking.is_empty() {
            let interrupts = open_interrupts(&self.messages);
            self.finish(Outcome::Interrupt { interrupts }, RunState::Waiting, now);
        } else if step.pending.is_empty() {
            self.next_step(now);
        } else {
            let pending_tool_call_ids = step.pending.into_iter().map(|(id, _)| id).collect();
            self.finish(Outcome::Success { pending_tool_call_ids }, RunState::Waiting, now);
        }
    }

    /// Gives up what runs. Every call gets a result, or no later request would be
    /// taken by a provider; `why` says what happened, for the model.
    pub(super) fn abort_tools(&mut self, mut step: Step, why: &str, now: Millis) {
        self.output(Output::AbortTools);
        for running in &mut step.running {
            self.end_forwarded(running, now);
            let told = Told::unknown(why, !running.tool.read_only, 0);
            self.end_call(running, &told, (Vec::new(), None), now);
        }
        for (id, name) in &step.pending {
            let told = Told::refused(CANCELLED.to_owned());
            let message = told.message(self.ids.next_id(), &self.run_id, id, now);
            let (body, mindset): (Body, Object) = told.event(&message, name, &Owner::Page);
            self.store([message]);
            self.emit(body, mindset, now);
        }
        for call in &step.asking {
            self.leave(call, now);
        }
    }
}
