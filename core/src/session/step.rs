//! The calls that a run left to the page: asked about, run at the same time, and all
//! answered by the next run.

use super::call::{Answer, Call, Stage, details};
use super::interrupt::Interrupt;
use super::question::NOBODY;
use super::state::{Phase, State, Turn};
use super::stored::PAGE_GONE;
use super::stream::Stream;
use super::{Confirm, Output, Protocol, Session, TOOL_TIMEOUT, ToolRun, ToolRunId, fault};
use crate::event::{Decision, RuntimeEvent, ToolSource};
use crate::json::{Value, concat, digits};
use crate::passthrough::FullArgs;
use crate::view::{Activity, ToolState};
use crate::{Millis, result};

/// What one run left to the page and to people.
#[derive(Default)]
pub(super) struct Step {
    pub(super) calls: Vec<Call>,
    /// What was said in the run, for a server that keeps nothing.
    pub(super) said: Vec<Value>,
    /// What the server asks people.
    pub(super) asks: Vec<Interrupt>,
    /// The turn and its run, where none is under way.
    pub(super) of: [String; 2],
    /// When the server is asked next whether it is still asked, and hears that somebody is here.
    pub(super) look: Option<Millis>,
}

/// How often that is; an approval waits for two minutes without a word.
const LOOK: Millis = 45_000;

impl Step {
    /// The step of a stored conversation whose page is gone: what its calls came to is not known.
    pub(super) fn stored(body: &Value) -> Step {
        let mut step = Step { asks: Interrupt::read_list(body.get("openInterrupts")), ..Step::default() };
        for open in body.get("openCalls").and_then(Value::as_array).unwrap_or_default() {
            let mut call = Call::new(open.str("toolCallId").unwrap_or(""), None, ToolRunId(0));
            call.stage = Stage::Answered(Answer::failed(PAGE_GONE.to_owned()));
            step.calls.push(call);
        }
        if let Some(run) = body.get("lastRun") {
            let id = run.str("runId").unwrap_or("");
            let turn = run.str("turnId").filter(|turn| !turn.is_empty());
            step.of = [turn.unwrap_or(id).to_owned(), id.to_owned()];
        }
        step
    }
}

/// Bytes of all results of a step, so that one request holds them with every character
/// escaped.
const MAX_RESULTS: usize = 3 * 1024 * 1024;

/// Why nobody waits for a call any more.
const STOPPED: &str = "The person stopped the turn before this call was run.";
const STOPPED_RUNNING: &str =
    "The person stopped the turn while this call ran. It is not known whether it acted.";

impl Session {
    /// Takes up what a run left: calls to the page, questions to people.
    pub(super) fn call_page(
        &mut self,
        mut turn: Box<Turn>,
        stream: Stream,
        (open, asks): (&[String], Vec<Interrupt>),
        now: Millis,
    ) {
        let mut step = Step { asks, ..Step::default() };
        if !self.config.can_ask && !turn.found {
            step.deny_all();
        }
        if !step.asks.is_empty() && !self.transcript.unread {
            // It would not know of them.
            self.stop_looking();
        }
        self.show_asks(&step);
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

    /// The turn waits for the calls and for people, or goes on when all are answered.
    pub(super) fn step_on(&mut self, turn: Box<Turn>, mut step: Box<Step>, now: Millis) {
        let (mut open, mut asks) = (false, false);
        for call in &step.calls {
            open |= !matches!(call.stage, Stage::Answered(_));
            asks |= matches!(call.stage, Stage::Asking { .. });
        }
        let approval = step.asks.iter().any(|ask| ask.is_open() && ask.is_approval());
        asks |= approval;
        if !open && !asks {
            return match step.pending() {
                None => self.carry_on(turn, *step, now),
                Some(_) => self.pause(turn, step, now),
            };
        }
        self.out.activity(if asks { Activity::Asking } else { Activity::Waiting });
        step.look = approval.then(|| step.look.unwrap_or(now.saturating_add(LOOK)));
        self.go_on(turn, Phase::Calling(step));
    }

    /// People still think about what a step asks.
    pub(super) fn look_again(&mut self, turn: Box<Turn>, mut step: Box<Step>, now: Millis) {
        step.look = Some(now.saturating_add(LOOK));
        self.go_on(turn, Phase::Calling(step));
        self.look_for_answers(now);
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
                let time = self.channels.tool(&call.name).map_or(TOOL_TIMEOUT, |tool| tool.timeout);
                return Stage::Wording { until: now.saturating_add(time), arguments };
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

    /// Runs the handler.
    pub(super) fn run_tool(&mut self, call: &Call, arguments: FullArgs, now: Millis) -> Stage {
        let Some(tool) = self.channels.tool(&call.name) else {
            let why = "The call was not run: the page has taken the tool back. Answer without it.";
            return self.not_run(call, why.to_owned(), ToolState::Failed);
        };
        let (description, timeout) = (tool.running.clone(), tool.timeout);
        self.tool_line(&call.id, ToolState::Running, self.running_label(&call.name));
        self.describe_tool(&call.id, &call.name, details(&arguments.masked()));
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
    pub(super) fn running_label(&self, name: &str) -> String {
        let running = self.channels.tool(name).and_then(|tool| tool.running.clone());
        running.unwrap_or_else(|| name.to_owned())
    }

    /// The call ends before it has begun.
    pub(super) fn not_run(&mut self, call: &Call, why: String, state: ToolState) -> Stage {
        let why = result::cut(&why, result::MAX_BYTES);
        self.tool_line(&call.id, state, self.running_label(&call.name));
        self.describe_tool(&call.id, &call.name, Vec::new());
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
        let outcome = if answer.failed { "unknown" } else { "done" };
        let acts = !tool.is_some_and(|tool| tool.read_only);
        let effect = acts.then(|| effect(&call.id, &call.name, ToolSource::Page, outcome));
        let (state, label) = match (answer.failed, completed) {
            (false, Some(completed)) => (ToolState::Done, completed),
            (false, None) => (ToolState::Done, self.running_label(&call.name)),
            (true, _) => (ToolState::Failed, self.running_label(&call.name)),
        };
        self.tool_line(&call.id, state, label);
        self.tool_took(&call.id, Some(duration), effect.as_ref());
        turn.effects.extend(effect);
        let outcome = if answer.failed { Err(answer.content.as_str()) } else { Ok(()) };
        self.tool_end(call, outcome, duration);
        Stage::Answered(answer)
    }

    /// Takes the calls of the turn out, if it waits for some.
    pub(super) fn take_step(&mut self) -> Option<(Box<Turn>, Box<Step>)> {
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
    #[inline(never)]
    pub(super) fn handle_tool_done(&mut self, id: ToolRunId, result: Result<String, String>, now: Millis) {
        let Some((mut turn, mut step)) = self.take_step() else { return };
        let room = (MAX_RESULTS / step.calls.len().max(1)).min(result::MAX_BYTES);
        if let Some(call) = step.calls.iter_mut().find(|call| call.run == id)
            && let Stage::Running { since, .. } = call.stage
        {
            let answer = match result {
                Ok(text) if text.is_empty() => Answer { content: "null".to_owned(), failed: false },
                Ok(text) => Answer { content: result::cut(&text, room), failed: false },
                Err(why) if why.chars().all(char::is_whitespace) => {
                    Answer::failed("The tool failed and did not say why.".to_owned())
                }
                Err(why) => Answer::failed(result::cut(&why, room)),
            };
            call.stage = self.ran(&mut turn, call, answer, now.saturating_sub(since));
        }
        self.step_on(turn, step, now);
    }

    /// Handlers have taken too long.
    pub(super) fn tools_timed_out(&mut self, mut turn: Box<Turn>, mut step: Box<Step>, now: Millis) {
        for call in &mut step.calls {
            if let Stage::Wording { until, .. } = &call.stage
                && *until <= now
            {
                self.out.push(Output::AbortTool(call.run));
                let why = "The call was not run: the page did not say in time what to ask the person. Go on without it.";
                call.stage = self.not_run(call, why.to_owned(), ToolState::Failed);
            }
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
        self.end_asks(&mut step, drawn);
        for call in &mut step.calls {
            let (why, duration) = match &call.stage {
                Stage::Answered(_) => continue,
                Stage::Wording { .. } => {
                    self.out.push(Output::AbortTool(call.run));
                    (STOPPED, 0)
                }
                Stage::Asking { request_id, .. } => {
                    self.resolve(request_id, Decision::Deny, drawn);
                    (STOPPED, 0)
                }
                // A listener of its beginning was faster.
                Stage::Running { .. } if self.out.withdraw(call.run) => (STOPPED, 0),
                Stage::Running { since, .. } => {
                    self.out.push(Output::AbortTool(call.run));
                    if !self.channels.tool(&call.name).is_some_and(|tool| tool.read_only) {
                        turn.effects.push(effect(&call.id, &call.name, ToolSource::Page, "unknown"));
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
        if self.config.protocol == Protocol::AgUi {
            self.remember_step(&mut step);
        } else {
            self.answers(&step);
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

pub(super) fn effect(id: &str, name: &str, source: ToolSource, outcome: &str) -> Value {
    Value::Object(crate::object! {
        "toolCallId": id,
        "toolName": name,
        "source": source.as_str(),
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
