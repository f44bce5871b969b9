//! Random turns with tools of servers and of the page: they end, what providers insist
//! on holds, and what belongs to one channel is in no other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod bench;
#[allow(dead_code)]
mod dice;
#[allow(dead_code)]
mod schemas;

use bench::{Bench, call, end, failed, input, mindset, result, text, tool, user};
use dice::{Dice, Named, seeds};
use mindset_core::agui::{Body, Context, Outcome, RunAgentInput, encode_event};
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::{Reason, ToolSource};
use mindset_core::json::{Object, Value, parse};
use mindset_core::object;
use mindset_core::passthrough::Passthrough;
use mindset_core::turn::{
    Agent, Bounds, Input, ModelEvent, ModelTool, RunState, ServerTool, Source, StoredMessage, ToolOutcome,
};
use schemas::{arguments, key, named, schema, tool_names};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// In every value that the page supplies.
const SUPPLIED: &str = "canary-supplied";

/// In the situational awareness.
const AWARE: &str = "canary-aware";

/// What was seen where it belongs, over all turns.
#[derive(Default)]
struct Seen {
    supplied: u32,
    calls: u32,
    waits: u32,
    cuts: u32,
}

fn tools(dice: &mut Dice) -> Vec<ServerTool> {
    let with_schema = |dice: &mut Dice| {
        if dice.once_in(6) {
            dice.pick(&["true", "null", "3", "{\"type\":\"banana\"}"]).to_owned()
        } else {
            schema(dice).text()
        }
    };
    let names = tool_names(dice).into_iter();
    names
        .map(|name| ServerTool {
            source: if name.server.is_some() { ToolSource::Mcp } else { ToolSource::Builtin },
            server: name.server.map(str::to_owned),
            name: name.tool.to_owned(),
            description: String::new(),
            title: None,
            parameters: Some(parse(&with_schema(dice)).unwrap()),
            read_only: dice.once_in(2),
        })
        .collect()
}

fn supplied(dice: &mut Dice) -> Object {
    (0..dice.below(8)).map(|n| (key(dice), Value::from(format!("{SUPPLIED}-{n}")))).collect()
}

fn run_input(dice: &mut Dice, id: &str, messages: Vec<mindset_core::agui::Message>) -> RunAgentInput {
    let mut run = input(id, messages);
    run.tools = ["look", "a", "s__a"].into_iter().filter(|_| dice.once_in(2)).map(tool).collect();
    run.context =
        vec![Context { description: "situational_awareness".into(), value: format!("{{\"{AWARE}\":1}}") }];
    mindset(&mut run, object! { "passthroughParams": supplied(dice) });
    run
}

fn outcome(dice: &mut Dice) -> ToolOutcome {
    let content = dice.pick(&["", " ", "fine", "same"]).to_owned();
    match dice.below(5) {
        0 => ToolOutcome::Failed(content),
        1 => ToolOutcome::Unknown(content),
        2 => {
            let source = Source { title: "Leave".into(), url: None, text: "Thirty days.".into() };
            ToolOutcome::Done { content, sources: vec![source], widgets: Vec::new() }
        }
        _ => ToolOutcome::Done { content, sources: Vec::new(), widgets: Vec::new() },
    }
}

/// What the model says to one request.
fn answer(dice: &mut Dice, offered: &[ModelTool]) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    for number in 0..u32::try_from(dice.below(5)).unwrap() {
        if dice.once_in(4) {
            events.push(text(dice.pick(&["Let me see. ", "[1]", "\n"])));
            continue;
        }
        let place = usize::try_from(dice.below(offered.len() as u64 + 1)).unwrap();
        let name = offered.get(place).map_or("nobody's", |tool| tool.name.as_str());
        let made_up = arguments(dice).text();
        let given = if dice.once_in(5) { dice.pick(&["", "null", "{\"a\": ", "[1]"]) } else { &made_up };
        events.extend(call(number, None, name, given));
    }
    events.push(if dice.once_in(15) { failed(Reason::Interrupted) } else { end() });
    events
}

/// Something that may happen at any time.
fn interrupt(dice: &mut Dice, b: &mut Bench) {
    match dice.below(60) {
        0 => drop(b.handle(Input::Cancel)),
        1 => {
            b.now += Bounds::default().deadline;
            b.handle(Input::Tick);
        }
        2 => drop(b.handle(Input::Fail(ErrorInfo::new(ErrorCode::ServerError, "It stops. Try again.")))),
        3..15 => drop(b.handle(Input::Passthrough(Passthrough::new(supplied(dice)).unwrap()))),
        _ => {}
    }
}

/// One run to its end.
fn play(
    dice: &mut Dice,
    run: RunAgentInput,
    agent: Agent,
    stored: Vec<StoredMessage>,
    seen: &mut Seen,
) -> Bench {
    let mut b = Bench::with(run, agent, stored).unwrap();
    let mut requests = 0;
    while b.done.is_none() {
        interrupt(dice, &mut b);
        if b.done.is_some() {
            break;
        }
        if b.requests.len() > requests {
            requests = b.requests.len();
            let offered = b.requests[requests - 1].tools.clone();
            check_offered(&offered);
            let before = b.store.len();
            for event in answer(dice, &offered) {
                b.handle(Input::Model(event));
            }
            check_stored_calls(&b.store[before..], &offered);
        } else {
            let at = usize::try_from(dice.below(b.running.len() as u64)).unwrap();
            let id = b.running[at].clone();
            let outcome = outcome(dice);
            b.tool(&id, outcome);
        }
    }
    check_channels(&b, seen);
    b
}

fn check_offered(offered: &[ModelTool]) {
    for tool in offered {
        let left = named(tool.parameters.as_object());
        for name in tool.parameters.stripped() {
            assert!(!left.mentioned.contains(name), "{name} of {} is left", tool.name);
        }
    }
}

/// What the model made up for a parameter it was not told of is not kept.
fn check_stored_calls(new: &[StoredMessage], offered: &[ModelTool]) {
    for call in new.iter().flat_map(|message| &message.calls) {
        let Some(tool) = offered.iter().find(|tool| tool.name == call.name) else { continue };
        let Ok(Value::Object(arguments)) = parse(&call.arguments) else { continue };
        let kept = tool.parameters.stripped().iter().find(|name| arguments.get(name).is_some());
        assert!(kept.is_none(), "{} keeps {kept:?}", call.arguments);
    }
}

fn check_channels(b: &Bench, seen: &mut Seen) {
    let events: String = b.events.iter().map(|e| encode_event(e).to_string()).collect();
    let stored = format!("{:?}", b.store);
    let mut asked = String::new();
    for request in &b.requests {
        assert_eq!(request.system.matches(AWARE).count(), 1);
        assert!(!request.system.contains(SUPPLIED));
        asked.push_str(&format!("{:?}{:?}", request.messages, request.tools));
    }
    let printed = format!("{:?}", b.calls);
    for (place, text) in [("events", &events), ("store", &stored), ("model", &asked), ("debug", &printed)] {
        assert!(!text.contains(SUPPLIED), "a supplied value is in {place}: {text}");
        assert!(!text.contains(AWARE), "the awareness is in {place}: {text}");
    }
    for call in &b.calls {
        let exposed = call.arguments.expose().text();
        assert!(!exposed.contains(AWARE), "the awareness is in a call: {exposed}");
        seen.calls += 1;
        seen.supplied += u32::from(exposed.contains(SUPPLIED));
    }
}

#[test]
fn random_turns() {
    let mut seen = Seen::default();
    for seed in seeds() {
        let _named = Named(seed);
        let mut dice = Dice(seed);
        let mut stored = Vec::new();
        let mut messages = vec![user("u0", "go")];
        for n in 0..6 {
            let bounds = Bounds { steps: 1 + dice.below(6), ..Bounds::default() };
            let agent = Agent { bounds, tools: tools(&mut dice), ..Agent::default() };
            let run = run_input(&mut dice, &format!("r{n}"), messages);
            let b = play(&mut dice, run, agent, stored, &mut seen);
            messages = match &b.last().body {
                Body::RunFinished { outcome: Some(Outcome::Success { pending_tool_call_ids }), .. }
                    if b.done == Some(RunState::Waiting) && !dice.once_in(5) =>
                {
                    seen.waits += 1;
                    pending_tool_call_ids.iter().map(|id| result(id, "seen")).collect()
                }
                _ => {
                    seen.cuts += u32::from(b.aborted_tools > 0);
                    vec![user(&format!("u{}", n + 1), "and now?")]
                }
            };
            stored = b.store;
        }
    }
    let Seen { supplied, calls, waits, cuts } = seen;
    assert!(supplied > 20 && calls > 200 && waits > 20 && cuts > 5, "{supplied} {calls} {waits} {cuts}");
}
