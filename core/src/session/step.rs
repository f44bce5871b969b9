//! The calls that a run left to the page: asked about, run at the same time, and all
//! answered by the next run.

use super::call::{Answer, Call, Stage, details};
use super::state::{Phase, State, Turn};
use super::stream::Stream;
use super::{Confirm, Output, Protocol, Session, ToolRun, ToolRunId, fault};
use crate::event::{Decision, RuntimeEvent, ToolSource};
use crate::json::{Value, concat, digits};
use crate::passthrough::FullArgs;
use crate::view::{Activity, Patch, ToolState};
use crate::{Millis, result};

/// The calls of one run.
pub(super) struct Step {
    pub(super) calls: Vec<Call>,
    /// What was said in the run, for a server that keeps nothing.
    pub(super) said: Vec<Value>,
}

/// Why a call is not run.
const NOBODY: &str =
    "The call was not run: it needs a person's consent, and nobody could be asked. Go on without it.";

/// Why nobody waits for a call any more.
const STOPPED: &str = "The person stopped the turn before this call was run.";
const STOPPED_RUNNING: &str =
    "The person stopped the turn while this call ran. It is not known whether it acted.";

impl Session {
    /// Takes up the calls that a run left to the page.
    pub(super) fn call_page(&mut self, mut turn: Box<Turn>, stream: Stream, open: &[String], now: Millis) {
        let mut step = Step { calls: Vec::new(), said: Vec::new() };
        for id in open {
            if step.calls.iter().any(|call| call.id == *id) {
                continue;
            }
            self.tool_runs = self.tool_runs.wrapping_add(1);
            let function = stream.call(id).and_then(|call| call.get("function"));
            let mut call = Call::new(id, function, ToolRunId(self.tool_runs));
            call.stage = match self.transcript.answer_before(&call) {
                Some(answer) => Stage::Answered(answer),
                None => self.open_call(&mut turn, &call, now),
            };
            step.calls.push(call);
        }
        if self.config.protocol == Protocol::AgUi {
            step.said = stream.said;
        }
        self.step_on(turn, Box::new(step), now);
    }

    /// The turn waits for the calls, or goes on when all are answered.
    fn step_on(&mut self, turn: Box<Turn>, step: Box<Step>, now: Millis) {
        let (mut open, mut asks) = (false, false);
        for call in &step.calls {
            open |= !matches!(call.stage, Stage::Answered(_));
            asks |= matches!(call.stage, Stage::Asking { .. });
        }
        if !open {
            return self.carry_on(turn, *step, now);
        }
        self.out.activity(if asks { Activity::Asking } else { Activity::Waiting });
        self.go_on(turn, Phase::Calling(step));
    }

    fn open_call(&mut self, turn: &mut Turn, call: &Call, now: Millis) -> Stage {
        let arguments = match call.read(&turn.offer, &self.channels, self.patterns.as_ref()) {
            Ok(arguments) => arguments,
            Err(why) => return self.not_run(call, why, ToolState::Failed),
        };
        let confirm = self.channels.tool(&call.name).map(|tool| tool.confirm.clone()).unwrap_or_default();
        let sentence = match confirm {
            Confirm::Never => return self.run_tool(call, arguments, now),
            _ if !self.config.can_ask => return self.not_run(call, NOBODY.to_owned(), ToolState::Stopped),
            Confirm::PerCall => {
                let run = self.tool_run(call, arguments.clone());
                self.out.push(Output::AskTool(run));
                return Stage::Wording(arguments);
            }
            Confirm::Always => String::new(),
            Confirm::Sentence(sentence) => sentence,
        };
        self.ask(call, sentence, arguments)
    }

    fn tool_run(&self, call: &Call, arguments: FullArgs) -> ToolRun {
        ToolRun {
            id: call.run,
            name: call.name.clone(),
            call_id: call.id.clone(),
            conversation_id: self.transcript.thread_id.clone().unwrap_or_default(),
            arguments,
        }
    }

    /// Asks the person.
    fn ask(&mut self, call: &Call, sentence: String, arguments: FullArgs) -> Stage {
        let blank = sentence.chars().all(char::is_whitespace);
        let question =
            if blank { concat(&["May the agent use `", &call.name, "`?"]) } else { fault::said(&sentence) };
        let request_id = self.ids.next_id();
        let masked = arguments.masked();
        self.tool_line(&call.id, ToolState::Asking, self.running_label(&call.name));
        let (id, text) = (request_id.clone(), question.clone());
        self.out.patch(Patch::AddQuestion { id, text, details: details(&masked) });
        self.out.runtime(RuntimeEvent::PermissionRequested {
            request_id: request_id.clone(),
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            reason: question.clone(),
            tool_input: Some(masked),
        });
        Stage::Asking { request_id, question, arguments }
    }

    /// Runs the handler.
    fn run_tool(&mut self, call: &Call, arguments: FullArgs, now: Millis) -> Stage {
        let Some(tool) = self.channels.tool(&call.name) else {
            let why = "The call was not run: the page has taken the tool back. Answer without it.";
            return self.not_run(call, why.to_owned(), ToolState::Failed);
        };
        let (description, timeout) = (tool.running.clone(), tool.timeout);
        self.tool_line(&call.id, ToolState::Running, self.running_label(&call.name));
        self.out.runtime(RuntimeEvent::ToolStart {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            source: ToolSource::Page,
            server: None,
            description,
        });
        let run = self.tool_run(call, arguments);
        self.out.push(Output::RunTool(run));
        Stage::Running { since: now, until: now.saturating_add(timeout) }
    }

    /// What the page says a tool does while it runs, or the tool's name.
    fn running_label(&self, name: &str) -> String {
        let running = self.channels.tool(name).and_then(|tool| tool.running.clone());
        running.unwrap_or_else(|| name.to_owned())
    }

    /// The call ends before it has begun.
    fn not_run(&mut self, call: &Call, why: String, state: ToolState) -> Stage {
        let why = result::cut(&why, result::MAX_BYTES);
        self.tool_line(&call.id, state, self.running_label(&call.name));
        self.tool_end(call, Err(&why), 0);
        Stage::Answered(Answer::failed(why))
    }

    /// Tells the end of a call.
    fn tool_end(&mut self, call: &Call, outcome: Result<(), &str>, duration_ms: u64) {
        let completed = self.channels.tool(&call.name).and_then(|tool| tool.completed.clone());
        self.out.runtime(RuntimeEvent::ToolEnd {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            ok: outcome.is_ok(),
            description: completed.filter(|_| outcome.is_ok()),
            error: outcome.err().map(fault::said),
            duration_ms,
        });
    }

    /// The handler's call is over. One that failed may have acted.
    fn ran(&mut self, turn: &mut Turn, call: &Call, answer: Answer, duration: u64) -> Stage {
        let tool = self.channels.tool(&call.name);
        let completed = tool.and_then(|tool| tool.completed.clone());
        if !tool.is_some_and(|tool| tool.read_only) {
            turn.effects.push(effect(call, if answer.failed { "unknown" } else { "done" }));
        }
        let (state, label) = match (answer.failed, completed) {
            (false, Some(completed)) => (ToolState::Done, completed),
            (false, None) => (ToolState::Done, self.running_label(&call.name)),
            (true, _) => (ToolState::Failed, self.running_label(&call.name)),
        };
        self.tool_line(&call.id, state, label);
        let outcome = if answer.failed { Err(answer.content.as_str()) } else { Ok(()) };
        self.tool_end(call, outcome, duration);
        Stage::Answered(answer)
    }

    /// Takes the calls of the turn out, if it waits for some.
    fn take_step(&mut self) -> Option<(Box<Turn>, Box<Step>)> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Running(running) => match running.phase {
                Phase::Calling(step) => return Some((running.turn, step)),
                phase => self.go_on(running.turn, phase),
            },
            other => self.state = other,
        }
        None
    }

    /// A handler has come to its end.
    pub(super) fn handle_tool_done(&mut self, id: ToolRunId, result: Result<String, String>, now: Millis) {
        let Some((mut turn, mut step)) = self.take_step() else { return };
        if let Some(call) = step.calls.iter_mut().find(|call| call.run == id)
            && let Stage::Running { since, .. } = call.stage
        {
            let answer = match result {
                Ok(text) if text.is_empty() => Answer { content: "null".to_owned(), failed: false },
                Ok(text) => Answer { content: result::cut(&text, result::MAX_BYTES), failed: false },
                Err(why) if why.chars().all(char::is_whitespace) => {
                    Answer::failed("The tool failed and did not say why.".to_owned())
                }
                Err(why) => Answer::failed(result::cut(&why, result::MAX_BYTES)),
            };
            call.stage = self.ran(&mut turn, call, answer, now.saturating_sub(since));
        }
        self.step_on(turn, step, now);
    }

    /// The page's function has said what to ask.
    pub(super) fn handle_sentence(&mut self, id: ToolRunId, sentence: Result<String, String>, now: Millis) {
        let Some((turn, mut step)) = self.take_step() else { return };
        if let Some(call) = step.calls.iter_mut().find(|call| call.run == id)
            && let Stage::Wording(arguments) = &call.stage
        {
            let arguments = arguments.clone();
            call.stage = match sentence {
                Ok(sentence) => self.ask(call, sentence, arguments),
                Err(why) => {
                    let why = concat(&[
                        "The call was not run: the page could not say what to ask the person (",
                        &why,
                        "). Go on without it.",
                    ]);
                    self.not_run(call, why, ToolState::Failed)
                }
            };
        }
        self.step_on(turn, step, now);
    }

    /// The panel was drawn or taken away; with it go the questions.
    pub(super) fn handle_can_ask(&mut self, can_ask: bool, now: Millis) {
        self.config.can_ask = can_ask;
        if can_ask {
            return;
        }
        let Some((turn, mut step)) = self.take_step() else { return };
        for call in &mut step.calls {
            match &call.stage {
                Stage::Asking { request_id, .. } => self.resolve(&request_id.clone(), Decision::Deny, true),
                Stage::Wording(_) => {}
                _ => continue,
            }
            call.stage = self.not_run(call, NOBODY.to_owned(), ToolState::Stopped);
        }
        self.step_on(turn, step, now);
    }

    /// A person has decided.
    pub(super) fn handle_decision(&mut self, request: &str, decision: Decision, now: Millis) {
        let Some((turn, mut step)) = self.take_step() else { return };
        for call in &mut step.calls {
            let Stage::Asking { request_id, arguments, .. } = &call.stage else { continue };
            if request_id == request {
                let arguments = arguments.clone();
                self.resolve(request, decision, true);
                call.stage = match decision {
                    Decision::AllowOnce => self.run_tool(call, arguments, now),
                    Decision::Deny => {
                        let why = "The call was not run: the person did not allow it. Go on without it.";
                        self.not_run(call, why.to_owned(), ToolState::Stopped)
                    }
                };
                break;
            }
        }
        self.step_on(turn, step, now);
    }

    fn resolve(&mut self, request: &str, decision: Decision, drawn: bool) {
        let id = request.to_owned();
        if drawn {
            self.out.patch(Patch::RemoveQuestion { id: id.clone() });
        }
        self.out.runtime(RuntimeEvent::PermissionResolved { request_id: id, decision });
    }

    /// Handlers have taken too long.
    pub(super) fn tools_timed_out(&mut self, mut turn: Box<Turn>, mut step: Box<Step>, now: Millis) {
        for call in &mut step.calls {
            let Stage::Running { since, until } = call.stage else { continue };
            if until <= now {
                self.out.push(Output::AbortTool(call.run));
                let why = concat(&[
                    "The tool did not answer within ",
                    &seconds(until.saturating_sub(since)),
                    " s. It is not known whether it acted.",
                ]);
                call.stage = self.ran(&mut turn, call, Answer::failed(why), now.saturating_sub(since));
            }
        }
        self.step_on(turn, step, now);
    }

    /// Nobody waits for the calls any more; `drawn` says whether the panel still shows
    /// them.
    pub(super) fn end_calls(&mut self, turn: &mut Turn, mut step: Step, drawn: bool, now: Millis) {
        for call in &mut step.calls {
            let (why, duration) = match &call.stage {
                Stage::Answered(_) => continue,
                Stage::Wording(_) => (STOPPED, 0),
                Stage::Asking { request_id, .. } => {
                    self.resolve(request_id, Decision::Deny, drawn);
                    (STOPPED, 0)
                }
                Stage::Running { since, .. } => {
                    self.out.push(Output::AbortTool(call.run));
                    if !self.channels.tool(&call.name).is_some_and(|tool| tool.read_only) {
                        turn.effects.push(effect(call, "unknown"));
                    }
                    (STOPPED_RUNNING, now.saturating_sub(*since))
                }
            };
            if drawn {
                self.tool_line(&call.id, ToolState::Stopped, self.running_label(&call.name));
            }
            self.tool_end(call, Err(why), duration);
            call.stage = Stage::Answered(Answer::failed(why.to_owned()));
        }
        let answers = self.answers(&step);
        if self.config.protocol == Protocol::AgUi {
            self.transcript.remember_run(step.said, answers);
        }
    }

    /// The messages that answer the calls. From now on each is answered for good.
    pub(super) fn answers(&mut self, step: &Step) -> Vec<Value> {
        let mut answers = Vec::new();
        for call in &step.calls {
            let Stage::Answered(answer) = &call.stage else { continue };
            answers.push(answer.message(&self.ids.next_id(), &call.id));
            self.transcript.keep_answer(call, answer);
        }
        answers
    }
}

fn effect(call: &Call, outcome: &str) -> Value {
    Value::Object(crate::object! {
        "toolCallId": &call.id,
        "toolName": &call.name,
        "source": ToolSource::Page.as_str(),
        "outcome": outcome,
    })
}

/// Milliseconds as seconds, with a fraction only if there is one.
fn seconds(time: Millis) -> String {
    let mut text = digits(time / 1000);
    if !time.is_multiple_of(1000) {
        text.push('.');
        text.push_str(digits(1000 + time % 1000).get(1..).unwrap_or("").trim_end_matches('0'));
    }
    text
}
