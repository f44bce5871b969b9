//! Whatever event of a run was the last that a crash let through: the recovered
//! conversation can be sent, names what may have acted, and repeats nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod bench;
#[allow(dead_code)]
mod dice;

use std::collections::BTreeSet;

use bench::{Bench, call, end, ids, input, result, text, tool, user};
use dice::{Dice, Named, seeds};
use mindset_core::agui::{Body, Event, Interrupt, Message, Order, Outcome, ResumeEntry, RunAgentInput};
use mindset_core::event::{MessageStatus, ToolSource, Widget};
use mindset_core::json::Value;
use mindset_core::turn::{
    Agent, Approvals, Conversation, Input, ModelEvent, ModelUsage, Output, Ports, Recovery, RunState,
    ServerTool, Source, StoredMessage, StoredRole, ToolOutcome, Turn, recover,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// What a run did, in the order in which it has to last.
#[derive(Clone)]
enum Entry {
    Store(StoredMessage),
    Emit(Event),
    /// A tool that really ran.
    Called(String),
}

/// The arguments of a call that asks the person.
const ASKED: &str = r#"{"steps":[{"id":"a","question":"Why?"}]}"#;

fn server(name: &str, read_only: bool) -> ServerTool {
    ServerTool {
        source: ToolSource::Mcp,
        server: Some("s".into()),
        name: name.into(),
        description: String::new(),
        title: Some(format!("Title of {name}")),
        parameters: None,
        read_only,
    }
}

fn agent() -> Agent {
    let tools = vec![server("act", false), server("read", true), server("sign", false)];
    Agent {
        instructions: "Be kind.".into(),
        model: "test-1".into(),
        tools,
        approvals: Approvals { named: vec!["s.sign".into()], writes: false },
        ask_user: true,
        ..Agent::default()
    }
}

/// One run by dice, to its end.
struct Run<'a> {
    dice: &'a mut Dice,
    turn: Turn,
    journal: Vec<Entry>,
    running: Vec<String>,
    /// How many calls the model made in this answer, if it is being asked.
    asked: Option<u32>,
    done: Option<RunState>,
}

impl Run<'_> {
    fn play(dice: &mut Dice, run: RunAgentInput, messages: Vec<StoredMessage>) -> (Vec<Entry>, RunState) {
        let ids = ids(&format!("{}-", run.run_id));
        let conversation = Conversation { id: run.thread_id.clone(), messages, ..Conversation::default() };
        let ports = Ports {
            ids,
            patterns: Box::new(bench::patterns::Plain),
            files: Box::new(str::to_owned),
            steers: Box::new(Vec::new),
        };
        let turn = Turn::start(run, agent(), conversation, ports, 1_000).unwrap();
        let mut run = Run { dice, turn, journal: Vec::new(), running: Vec::new(), asked: None, done: None };
        run.drain();
        for step in 0.. {
            if let Some(state) = run.done {
                return (run.journal, state);
            }
            let input = if step > 60 { Input::Cancel } else { run.next() };
            run.turn.handle(input, 1_000 + step);
            run.drain();
        }
        unreachable!()
    }

    fn next(&mut self) -> Input {
        match self.dice.below(60) {
            0 => return Input::Cancel,
            1 => return Input::Shutdown("Down.".into()),
            _ => {}
        }
        match self.asked {
            Some(open) => Input::Model(self.says(open)),
            None => {
                let at = usize::try_from(self.dice.below(self.running.len() as u64)).unwrap();
                let call_id = self.running.remove(at);
                Input::Tool { call_id, outcome: self.outcome(), duration: 5 }
            }
        }
    }

    fn says(&mut self, open: u32) -> ModelEvent {
        match self.dice.below(11) {
            0..=2 => text(self.dice.pick(&["Hello ", "\n", "as [1] says ", "über"])),
            3 => ModelEvent::Thinking("hm".into()),
            4..=6 if open < 3 => {
                // Most calls act: what may have acted is what a crash must not forget.
                let acts = self.dice.below(2) == 0;
                let others = ["s__read", "s__sign", "s__sign", "look", "nobody", "ask_user"];
                let name = if acts { "s__act" } else { self.dice.pick(&others) };
                self.asked = Some(open + 1);
                let id = (self.dice.below(2) == 0).then(|| format!("p{}", self.dice.below(4)));
                ModelEvent::CallStart { key: open, id, name: name.into() }
            }
            7 | 8 if open > 0 => {
                let delta = self.dice.pick(&["{\"n\":", "1}", "{}", "null", " ", ASKED]).to_owned();
                ModelEvent::CallArguments { key: open - 1, delta }
            }
            9 | 10 => ModelEvent::End { usage: Some(ModelUsage { input: 10, output: 2 }) },
            _ => text("more"),
        }
    }

    fn outcome(&mut self) -> ToolOutcome {
        let source = Source { title: "Leave".into(), url: None, text: "about".into() };
        let widget = Widget::new("chart", Value::Null, "A chart.");
        match self.dice.below(6) {
            0 => ToolOutcome::Failed("No.".into()),
            1 => ToolOutcome::Unknown(String::new()),
            n => ToolOutcome::Done {
                content: format!("result {}", self.dice.roll()),
                sources: if n == 2 { vec![source] } else { Vec::new() },
                widgets: if n == 3 { vec![widget] } else { Vec::new() },
            },
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.turn.poll_output() {
            match output {
                Output::CallModel(_) => self.asked = Some(0),
                Output::CallTool(request) => {
                    self.journal.push(Entry::Called(request.call_id.clone()));
                    self.running.push(request.call_id);
                    self.asked = None;
                }
                Output::Store(messages) => self.journal.extend(messages.into_iter().map(Entry::Store)),
                Output::Emit(event) => self.journal.push(Entry::Emit(event)),
                Output::Done(state) => self.done = Some(state),
                Output::AbortModel
                | Output::AbortTools
                | Output::StoreCalls { .. }
                | Output::Truncate { .. } => {}
            }
        }
    }
}

/// The stored conversation, the log and the tools that ran, as a crash left them.
struct Crash {
    stored: Vec<StoredMessage>,
    log: Vec<Event>,
    called: BTreeSet<String>,
}

impl Crash {
    /// After `cut` entries; the run's own first messages are stored with the run.
    fn after(before: &[StoredMessage], journal: &[Entry], cut: usize) -> Crash {
        let first = journal.iter().position(|e| matches!(e, Entry::Emit(_))).unwrap() + 1;
        let own = journal[first..].iter().take_while(|e| matches!(e, Entry::Store(_))).count();
        let mut crash = Crash { stored: before.to_vec(), log: Vec::new(), called: BTreeSet::new() };
        for (at, entry) in journal.iter().enumerate() {
            match entry {
                Entry::Store(message) if at < cut.max(first + own) => crash.stored.push(message.clone()),
                Entry::Emit(event) if at < cut => crash.log.push(event.clone()),
                Entry::Called(id) if at < cut => drop(crash.called.insert(id.clone())),
                _ => {}
            }
        }
        crash
    }

    fn recover(&self, run: &str, prefix: &str) -> Recovery {
        let messages = self.stored.clone();
        let conversation = Conversation { id: "c1".into(), messages, ..Conversation::default() };
        recover(&conversation, run, &self.log, &mut *ids(prefix), 9_000)
    }
}

fn turn_of(messages: &[StoredMessage]) -> &[StoredMessage] {
    let from = messages.iter().rposition(|m| m.role == StoredRole::User).unwrap();
    &messages[from + 1..]
}

/// Checks one crash of the run `run` and how it is made up for.
fn check(run: &str, crash: &Crash) {
    let recovery = crash.recover(run, "new-");
    let mut stored = crash.stored.clone();
    stored.extend(recovery.store.iter().cloned());
    let mut log = crash.log.clone();
    log.extend(recovery.emit.iter().cloned());
    check_log(&log);
    check_stored(&stored, recovery.state == RunState::Waiting);
    check_effects(crash, &stored, &recovery, &log);
    check_text(&stored, &crash.log, &recovery);

    // It can be sent: the bench holds every request to what providers take.
    let mut free = stored.clone();
    if recovery.state == RunState::Waiting {
        let waiting = Conversation { messages: stored.clone(), ..Conversation::default() };
        free.extend(waiting.cancel_open_calls(run, &mut *ids("closed-"), 9_000));
    }
    let next = Bench::with(input("next", vec![user("next-u", "and?")]), agent(), free).unwrap();
    assert_eq!(next.requests.len(), 1);

    // Again, after a crash of the recovery itself, before or after its events.
    let again = Crash { stored: stored.clone(), log, called: BTreeSet::new() }.recover(run, "again-");
    assert_eq!((again.store.len(), again.emit.len()), (0, 0));
    assert_eq!(again.state, recovery.state);
    let half = Crash { stored, log: crash.log.clone(), called: BTreeSet::new() }.recover(run, "half-");
    assert_eq!(half.store.len(), 0);
    let kinds = |r: &Recovery| r.emit.iter().map(|e| e.body.type_name()).collect::<Vec<_>>();
    assert_eq!(kinds(&half), kinds(&recovery));
}

/// The whole log is in order, tells each call's result and each widget once, and ends.
fn check_log(log: &[Event]) {
    let mut order = Order::new();
    for event in log {
        order.accept(event.clone()).unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(order.is_ended());
    let mut told = BTreeSet::new();
    for event in log {
        let once = match &event.body {
            Body::ToolCallResult { tool_call_id, .. } => format!("result {tool_call_id}"),
            Body::ToolCallStart { tool_call_id, .. } => format!("call {tool_call_id}"),
            Body::Custom { name, value } => format!("{name} {value}"),
            _ => continue,
        };
        assert!(told.insert(once.clone()), "twice: {once}");
    }
}

/// Ids are there once; each call of a whole answer has one result before the next answer.
fn check_stored(stored: &[StoredMessage], waits: bool) {
    let ids: BTreeSet<_> = stored.iter().map(|m| &m.id).collect();
    assert_eq!(ids.len(), stored.len(), "an id twice");
    let mut open: Vec<&str> = Vec::new();
    for message in stored {
        match (message.role, &message.call_id) {
            (StoredRole::Tool, Some(call)) => {
                let at = open.iter().position(|id| id == call);
                open.remove(at.unwrap_or_else(|| panic!("a result of nobody: {call}")));
            }
            (StoredRole::Assistant, _) if message.widget.is_some() => {}
            _ => {
                assert!(open.is_empty(), "calls without results: {open:?}");
                open = message.calls.iter().map(|c| c.id.as_str()).collect();
            }
        }
    }
    assert!(open.is_empty() || waits, "calls without results: {open:?}");
}

/// What ran without a result is unknown, unless it only reads; what did not run is not;
/// and an end that is an error names all of it, of the whole turn.
fn check_effects(crash: &Crash, stored: &[StoredMessage], recovery: &Recovery, log: &[Event]) {
    let had_result = |id: &str| crash.stored.iter().any(|m| m.call_id.as_deref() == Some(id));
    for message in recovery.store.iter().filter(|m| m.role == StoredRole::Tool) {
        let id = message.call_id.as_deref().unwrap();
        assert!(!had_result(id));
        assert_eq!(message.status, Some(MessageStatus::Error));
        let calls = stored.iter().flat_map(|m| &m.calls);
        let name = calls.rev().find(|c| c.id == id).unwrap().name.as_str();
        let ran = crash.called.contains(id);
        // Logged as started and not called yet: nobody can tell from outside.
        let told = log.iter().any(|e| is_start(e, id));
        assert!(!ran || told, "a tool ran before the log said so");
        let unknown = message.effect.as_ref().is_some_and(|e| e.unknown);
        assert_eq!(unknown, told && name != "s__read", "{name}");
        assert_eq!(message.content.contains("It is not known whether"), unknown, "{}", message.content);
        assert_eq!(message.content.contains("was not run"), !told, "{}", message.content);
    }
    let Some(last) = recovery.emit.last() else { return };
    if let Body::RunError { .. } = last.body {
        assert_eq!(last.mindset("reason").and_then(Value::as_str), Some("interrupted"));
        assert_eq!(last.mindset("retryable").and_then(Value::as_bool), Some(true));
        let expected: Vec<_> = turn_of(stored)
            .iter()
            .filter_map(|m| Some((m.call_id.clone()?, m.effect.as_ref()?.unknown)))
            .collect();
        let effects = last.mindset("effects").and_then(Value::as_array).unwrap_or_default();
        let named: Vec<_> = effects
            .iter()
            .map(|e| (e.str("toolCallId").unwrap().to_owned(), e.str("outcome") == Some("unknown")))
            .collect();
        assert_eq!(named, expected);
        assert_eq!(recovery.state, RunState::Error);
    } else {
        assert_eq!(recovery.state, RunState::Finished, "{last:?}");
    }
}

fn is_start(event: &Event, id: &str) -> bool {
    matches!(&event.body, Body::Custom { name, value }
        if name == "mindset.tool_start" && value.str("toolCallId") == Some(id))
}

/// Every word that readers saw is stored, under the id they know.
fn check_text(stored: &[StoredMessage], log: &[Event], recovery: &Recovery) {
    for event in log {
        let Body::TextMessageStart { message_id, .. } = &event.body else { continue };
        let said: String = log
            .iter()
            .filter_map(|e| match &e.body {
                Body::TextMessageContent { message_id: id, delta } if id == message_id => {
                    Some(delta.as_str())
                }
                _ => None,
            })
            .collect();
        let message = stored.iter().find(|m| m.id == *message_id);
        assert!(message.map_or("", |m| &m.content).starts_with(said.as_str()), "lost: {said}");
    }
    let tells = |e: &Event| matches!(e.body, Body::TextMessageStart { .. } | Body::TextMessageContent { .. });
    assert!(!recovery.emit.iter().any(tells), "text is told twice");
}

/// What a waiting run is answered with: the results of the page's calls, and what people decide.
fn answers(
    dice: &mut Dice,
    stored: &[StoredMessage],
    outcome: &Outcome,
    decisions: &mut u32,
) -> (Vec<Message>, Vec<ResumeEntry>) {
    let conversation = Conversation { messages: stored.to_vec(), ..Conversation::default() };
    let results = conversation.open_calls().iter().map(|call| result(&call.id, "seen")).collect();
    let asked = match outcome {
        Outcome::Interrupt { interrupts } => interrupts.clone(),
        _ => Vec::new(),
    };
    assert_eq!(asked, conversation.open_interrupts());
    let mut decide = |interrupt: &Interrupt| {
        *decisions += 1;
        let payload = match interrupt.reason.as_str() {
            "tool_call" => {
                dice.pick(&[r#"{"approved":true}"#, r#"{"approved":true}"#, r#"{"approved":false}"#])
            }
            _ => r#"{"answers":[{"stepId":"a","otherText":"So."}]}"#,
        };
        ResumeEntry {
            interrupt_id: interrupt.id.clone(),
            status: dice.pick(&["resolved", "resolved", "cancelled"]).to_owned(),
            payload: mindset_core::json::parse(payload).ok(),
            metadata: None,
        }
    };
    (results, asked.iter().map(&mut decide).collect())
}

#[test]
fn every_run_cut_after_every_entry() {
    let (mut cuts, mut errors, mut unknown, mut decisions) = (0, 0, 0, 0);
    // Each seed is dozens of crashes.
    let seeds = seeds();
    for seed in seeds.start..seeds.start + (seeds.end - seeds.start) / 8 {
        let _named = Named(seed);
        let mut dice = Dice(seed);
        let mut stored: Vec<StoredMessage> = Vec::new();
        let (mut news, mut resume) = (vec![user("u1", "go")], Vec::new());
        for round in 0..4 {
            let run = format!("r{round}");
            let mut posted = input(&run, news);
            posted.resume = resume;
            posted.tools = vec![tool("look")];
            let (journal, state) = Run::play(&mut dice, posted, stored.clone());
            for cut in 0..=journal.len() {
                let crash = Crash::after(&stored, &journal, cut);
                check(&run, &crash);
                let recovery = crash.recover(&run, "n-");
                cuts += 1;
                errors += usize::from(recovery.state == RunState::Error);
                unknown += recovery.store.iter().filter(|m| m.effect.is_some()).count();
            }
            stored.extend(journal.iter().filter_map(|e| match e {
                Entry::Store(message) => Some(message.clone()),
                _ => None,
            }));
            let ended = journal.iter().rev().find_map(|e| match e {
                Entry::Emit(event) => Some(event.body.clone()),
                _ => None,
            });
            (news, resume) = match ended {
                Some(Body::RunFinished { outcome: Some(outcome), .. }) if state == RunState::Waiting => {
                    answers(&mut dice, &stored, &outcome, &mut decisions)
                }
                _ => (vec![user(&format!("u{}", round + 2), "next")], Vec::new()),
            };
        }
    }
    assert!(decisions > 20, "{decisions}");
    assert!(cuts > 1_000 && errors > 500 && unknown > 100, "{cuts} {errors} {unknown}");
}

/// A run that made two calls of which one has a result, then died.
fn died() -> Bench {
    let mut b = Bench::with(input("r1", vec![user("u1", "book and pay")]), agent(), vec![]).unwrap();
    b.model([text("One moment.")])
        .model(call(0, Some("p0"), "s__act", "{\"n\":1}"))
        .model(call(1, Some("p1"), "s__act", "{\"n\":2}"))
        .model(call(2, Some("p2"), "s__read", ""))
        .model([end()]);
    b.tool("p0", ToolOutcome::Done { content: "booked".into(), sources: vec![], widgets: vec![] });
    b
}

#[test]
fn a_crash_while_tools_run_is_explained() {
    let b = died();
    let crash = Crash { stored: b.store.clone(), log: b.events.clone(), called: BTreeSet::new() };
    let recovery = crash.recover("r1", "n");
    let kinds: Vec<_> = recovery.emit.iter().map(|e| e.body.type_name()).collect();
    assert_eq!(kinds, ["TOOL_CALL_RESULT", "TOOL_CALL_RESULT", "RUN_ERROR"]);
    assert_eq!(
        recovery.emit[2].mindset("effects").unwrap().to_string(),
        concat!(
            r#"[{"toolCallId":"p0","toolName":"act","source":"mcp","outcome":"done"},"#,
            r#"{"toolCallId":"p1","toolName":"act","source":"mcp","outcome":"unknown"}]"#
        )
    );
    assert_eq!(recovery.emit[0].mindset("toolName").and_then(Value::as_str), Some("act"));
    assert_eq!(recovery.emit[0].mindset("server").and_then(Value::as_str), Some("s"));
    assert_eq!(recovery.store.len(), 2);
    assert!(recovery.store.iter().all(|m| m.run_id == "r1" && m.status == Some(MessageStatus::Error)));
}

#[test]
fn without_a_log_nobody_knows_what_ran() {
    let b = died();
    let crash = Crash { stored: b.store.clone(), log: vec![], called: BTreeSet::new() };
    let recovery = crash.recover("r1", "n");
    let unknown = |m: &StoredMessage| m.effect.as_ref().is_some_and(|e| e.unknown);
    assert_eq!(recovery.store.iter().filter(|m| unknown(m)).count(), 2);
    assert_eq!(recovery.emit[0].body.type_name(), "RUN_STARTED");
    assert_eq!(recovery.emit[0].mindset("turnId").and_then(Value::as_str), Some("r1"));
    check_log(&recovery.emit);
}

#[test]
fn an_answer_that_was_whole_is_finished() {
    let mut b = Bench::with(input("r1", vec![user("u1", "hi")]), agent(), vec![]).unwrap();
    b.model([text("Hello."), end()]);
    b.events.truncate(b.events.len() - 2);
    let crash = Crash { stored: b.store.clone(), log: b.events.clone(), called: BTreeSet::new() };
    let recovery = crash.recover("r1", "n");
    let kinds: Vec<_> = recovery.emit.iter().map(|e| e.body.type_name()).collect();
    assert_eq!((kinds, recovery.store.len()), (vec!["TEXT_MESSAGE_END", "RUN_FINISHED"], 0));
    assert_eq!(recovery.state, RunState::Finished);
}
