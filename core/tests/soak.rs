//! Random conversations over a random network. `MINDSET_SOAK=1` makes it long. A
//! failure names its seed; with that as `MINDSET_SEED` it comes first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod dice;
#[allow(dead_code, unused_imports)]
mod pair;
use dice::{Dice, Named, seeds};
use pair::patterns::Plain;

use std::collections::BTreeSet;

use mindset_core::agui::{Message, Role, RunAgentInput, Tool};
use mindset_core::event::{Decision, MessageStatus, Reason, RuntimeEvent};
use mindset_core::session::{
    Config, Confirm, FetchPurpose, Input, PageTool, SendId, SendOptions, TurnStatus,
};
use mindset_core::turn::{
    Agent, Conversation, ModelEvent, ModelFailure, ModelMessage, ModelRequest, ModelUsage, Output, Ports,
    StoredCall, StoredMessage, StoredRole, Turn,
};
use pair::{Canned, Cut, Pair, ScriptedModel, check_request, config, object, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const PIECES: [&str; 9] =
    ["Hello", " ", "\n\n", "🙂 ", "Grüße,", "", "data: x\n\n", "\"quoted\"", "\u{2028}"];
const ARGUMENTS: [&str; 7] = ["", "{}", "null", "{\"a\":1}", "{\"a\": ", "[1]", "{\"same\":true}"];
const REASONS: [Reason; 4] = [Reason::ModelError, Reason::RateLimited, Reason::Interrupted, Reason::Timeout];

/// What a model of many moods says.
fn improvise(dice: &mut Dice, _request: &ModelRequest) -> Vec<(u64, ModelEvent)> {
    let mut events = Vec::new();
    let slow = if dice.once_in(12) { 20_000 } else { dice.pick(&[0, 0, 5, 100]) };
    for key in 0..u32::try_from(dice.below(7)).unwrap() {
        match dice.below(8) {
            0 => events.push(ModelEvent::Thinking("Let me see. ".into())),
            1 => {
                let id = dice.pick(&[None, Some("given"), Some("")]).map(str::to_owned);
                events.push(ModelEvent::CallStart {
                    key,
                    id,
                    name: dice.pick(&["look", "fly", "", "a.b"]).into(),
                });
                let arguments = dice.pick(&ARGUMENTS);
                let half = arguments.len() / 2;
                for part in [&arguments[..half], &arguments[half..]] {
                    events.push(ModelEvent::CallArguments { key, delta: part.into() });
                }
            }
            2 => events.push(ModelEvent::CallArguments { key: 99, delta: "lost".into() }),
            _ => events.push(ModelEvent::Text(dice.pick(&PIECES).into())),
        }
    }
    events.push(if dice.once_in(8) {
        let failure =
            ModelFailure { reason: dice.pick(&REASONS), message: "It broke.".into(), retryable: true };
        ModelEvent::Failed(failure)
    } else {
        ModelEvent::End { usage: Some(ModelUsage { input: 1, output: 1 }) }
    });
    events.into_iter().map(|event| (slow, event)).collect()
}

/// One page load: a few messages, each over a network of its own.
fn play(seed: u64) {
    let mut dice = Dice(seed);
    let mut model_dice = Dice(dice.roll());
    let mut pair =
        Pair::unstarted(ScriptedModel::improvising(move |request| improvise(&mut model_dice, request)));
    pair.server.agent.bounds.steps = 1 + dice.below(6);
    pair.server.agent.bounds.deadline = dice.pick(&[600_000, 60_000, 150]);
    if dice.once_in(2) {
        let name = "look".into();
        pair.server.tools = vec![Tool { name, description: String::new(), parameters: None, metadata: None }];
    }
    pair.network.latency = dice.pick(&[0, 0, 20, 400]);
    pair.add_page(config());
    if !dice.once_in(5) {
        pair.drive();
    }
    let mut undisturbed = true;
    for n in 0..=dice.below(4) {
        let finished = message(&mut pair, &mut dice, n);
        undisturbed &= finished;
        if undisturbed {
            assert_eq!(pair.page().transcript(), pair.server.transcript());
        }
        if finished {
            same_answer(&pair);
        }
        let copies = pair.server.stored().iter().filter(|l| **l == format!("user: message {n}")).count();
        assert!(copies <= 1, "message {n} is stored {copies} times");
    }
    pair.drive();
}

/// What the server stored as answer to the last message is what the page shows.
fn same_answer(pair: &Pair) {
    let stored = pair.server.stored();
    let from = stored.iter().rposition(|line| line.starts_with("user: ")).map_or(0, |at| at + 1);
    let spoken = |line: &&String| line.starts_with("assistant: ") && *line != "assistant: ";
    let answer: Vec<_> = stored[from..].iter().filter(spoken).cloned().collect();
    assert!(pair.page().transcript().ends_with(&answer), "{:?} {answer:?}", pair.page().transcript());
}

/// Sends a message or tries the last one again; says whether both sides must know
/// the same afterwards.
fn message(pair: &mut Pair, dice: &mut Dice, n: u64) -> bool {
    pair.network.chunk = usize::try_from(dice.pick(&[0, 0, 1, 7, 1000])).unwrap();
    let mut disturbed = false;
    if dice.once_in(3) {
        disturbed = true;
        let after = usize::try_from(dice.below(4_000)).unwrap();
        pair.network.cut = Some(Cut { after, clean: dice.once_in(2), stall: false });
    }
    if dice.once_in(10) {
        pair.server.tokens.clear();
    }
    if dice.once_in(15) {
        disturbed = true;
        let gone = Canned { purpose: FetchPurpose::Run, status: 0, content_type: "", body: "" };
        pair.server.canned.push_back(gone);
    }
    let options =
        SendOptions { silent: dice.once_in(6), when_idle: dice.once_in(3), ..SendOptions::default() };
    let Ok(send) = pair.send_from(0, &format!("message {n}"), options) else {
        // Still starting, and one message waits already.
        pair.drive();
        return false;
    };
    if dice.once_in(4) {
        disturbed = true;
        let time = dice.pick(&[0, 1, 10, 50, 500, 40_000]);
        pair.drive_for(time);
        pair.stop();
    }
    if dice.once_in(3) {
        // What comes next does not wait for the server.
        pair.drive_to_result(send);
    } else {
        pair.drive();
    }
    pair.network.cut = None;
    pair.server.canned.clear();
    settle(pair, dice, send) && !disturbed
}

fn settle(pair: &mut Pair, dice: &mut Dice, send: SendId) -> bool {
    let result = pair.page().result(send).clone();
    assert_eq!(result.error.is_some(), result.status == TurnStatus::Error);
    assert!(result.bound.is_none() || result.status == TurnStatus::Finished);
    let mut finished = result.status == TurnStatus::Finished;
    // Without a run there was no turn that could be tried again.
    if !finished && !result.run_id.is_empty() && dice.once_in(2) {
        let again = pair.retry();
        finished = again.status == TurnStatus::Finished;
    }
    finished
}

/// A conversation as a store that went through a lot may hold it.
fn any_store(dice: &mut Dice) -> Vec<StoredMessage> {
    let call_ids = ["c1", "c2", "c3", ""];
    let message = |n: u64| {
        let role = dice.pick(&[StoredRole::User, StoredRole::Assistant, StoredRole::Tool]);
        let mut message = StoredMessage::new(format!("m{n}"), "r0", role, dice.pick(&PIECES), n);
        for _ in 0..dice.below(4) {
            let (id, name) = (dice.pick(&call_ids).into(), dice.pick(&["look", "", "a.b"]).into());
            message.calls.push(StoredCall { id, name, arguments: dice.pick(&ARGUMENTS).into(), ask: None });
        }
        message.call_id = dice.pick(&[None, Some("c1"), Some("c2"), Some("c9")]).map(str::to_owned);
        message.status = dice.pick(&[None, None, Some(MessageStatus::Error), Some(MessageStatus::Stopped)]);
        message
    };
    (0..8).map(message).collect()
}

#[test]
fn whatever_is_stored_takes_the_next_message() {
    for seed in seeds() {
        let messages = any_store(&mut Dice(seed));
        let input = RunAgentInput {
            thread_id: "t".into(),
            run_id: "r".into(),
            messages: vec![Message::text("new", Role::User, "And now?")],
            ..RunAgentInput::default()
        };
        let conversation = Conversation { id: "t".into(), messages, ..Conversation::default() };
        let mut n = 0;
        let ids = Box::new(move || {
            n += 1;
            format!("fresh{n}")
        });
        let mut turn = Turn::start(
            input,
            Agent::default(),
            conversation,
            Ports {
                ids,
                patterns: Box::new(Plain),
                files: Box::new(str::to_owned),
                steers: Box::new(Vec::new),
            },
            9,
        )
        .unwrap();
        let request = std::iter::from_fn(|| turn.poll_output())
            .find_map(|output| if let Output::CallModel(request) = output { Some(request) } else { None });
        let request = request.unwrap_or_else(|| panic!("no model call, seed {seed}"));
        check_request(&request);
        assert_eq!(request.messages.last(), Some(&ModelMessage::User("And now?".into())));
    }
}

#[test]
fn soak() {
    for seed in seeds() {
        let _named = Named(seed);
        play(seed);
    }
}

const TOOLS: [&str; 4] = ["look", "act", "pay", "gone"];

/// What a model does that has tools of a page.
fn improvise_calls(dice: &mut Dice) -> Vec<(u64, ModelEvent)> {
    let mut events = vec![ModelEvent::Text(dice.pick(&PIECES).into())];
    for key in 0..u32::try_from(dice.below(4)).unwrap() {
        let id = dice.pick(&[None, None, Some("given"), Some("")]).map(str::to_owned);
        events.push(ModelEvent::CallStart { key, id, name: dice.pick(&TOOLS).into() });
        let arguments = dice.pick(&["", "{}", "{\"n\":1}", "{\"n\":\"x\"}", "{\"id\":\"model\"}", "[1]"]);
        events.push(ModelEvent::CallArguments { key, delta: arguments.into() });
    }
    events.push(ModelEvent::End { usage: None });
    let slow = dice.pick(&[0, 5, 100]);
    events.into_iter().map(|event| (slow, event)).collect()
}

/// Any of the page's tools, each time a little different.
fn page_tools(dice: &mut Dice) -> Vec<PageTool> {
    let schema = r#"{"type":"object","properties":{"n":{"type":"number"},"id":{"type":"string"}}}"#;
    let mut tools = Vec::new();
    for name in &TOOLS[..3] {
        if dice.once_in(8) {
            continue;
        }
        let confirms = [Confirm::Never, Confirm::Never, Confirm::Always, Confirm::PerCall];
        let confirm = confirms[usize::try_from(dice.below(4)).unwrap()].clone();
        let (timeout, read_only) = (dice.pick(&[10, 1_000, 60_000]), dice.once_in(2));
        tools.push(PageTool { confirm, timeout, read_only, ..tool(name, schema) });
    }
    tools
}

fn equip(pair: &mut Pair, page: usize, dice: &mut Dice) {
    let tools = page_tools(dice);
    pair.input(page, Input::SetPageTools(tools)).unwrap();
    let (mut ends, mut words, mut person) = (Dice(dice.roll()), Dice(dice.roll()), Dice(dice.roll()));
    let page = &mut pair.pages[page];
    page.handler = Box::new(move |_| match ends.below(5) {
        0 => None,
        1 => Some((ends.pick(&[0, 7, 70_000]), Err("broken".to_owned()))),
        _ => Some((ends.pick(&[0, 0, 3, 20, 500]), Ok("{\"ok\":true}".to_owned()))),
    });
    page.wording = Box::new(move |_| if words.once_in(4) { Err("?".into()) } else { Ok("Well?".into()) });
    page.decide = Box::new(move |_| {
        let decision = if person.once_in(3) { Decision::Deny } else { Decision::AllowOnce };
        Some((person.pick(&[0, 10, 5_000]), decision))
    });
}

/// Something that happens in the middle of a turn.
fn disturb(pair: &mut Pair, page: usize, dice: &mut Dice) {
    match dice.below(6) {
        0 => pair.input(page, Input::Stop).unwrap(),
        1 => {
            let tools = page_tools(dice);
            pair.input(page, Input::SetPageTools(tools)).unwrap();
        }
        2 => pair.input(page, Input::SetPassthrough(object(r#"{"id":"wild","look.id":"page"}"#))).unwrap(),
        3 => pair.input(page, Input::SetPassthrough(object("{}"))).unwrap(),
        4 => pair.input(page, Input::SetCanAsk(dice.once_in(2))).unwrap(),
        _ => {}
    }
}

/// A few page loads of one conversation, with tools that do anything.
fn play_tools(seed: u64) {
    let mut dice = Dice(seed);
    let mut model = Dice(dice.roll());
    let mut pair = Pair::unstarted(ScriptedModel::improvising(move |_| improvise_calls(&mut model)));
    pair.server.agent.bounds.steps = 1 + dice.below(6);
    pair.network.latency = dice.pick(&[0, 20, 400]);
    let mut page = pair.add_page(config());
    equip(&mut pair, page, &mut dice);
    for n in 0..=dice.below(4) {
        pair.drive();
        pair.network.chunk = usize::try_from(dice.pick(&[0, 1, 50])).unwrap();
        if dice.once_in(4) {
            let after = usize::try_from(dice.below(4_000)).unwrap();
            pair.network.cut = Some(Cut { after, clean: dice.once_in(2), stall: false });
        }
        if pair.send_from(page, &format!("message {n}"), SendOptions::default()).is_err() {
            continue;
        }
        for _ in 0..dice.below(5) {
            pair.drive_for(dice.pick(&[0, 1, 10, 50, 500, 5_000]));
            disturb(&mut pair, page, &mut dice);
        }
        if dice.once_in(4) {
            pair.leave(page);
            let conversation_id = pair.pages[page].conversation.clone();
            let client_id = format!("client-{n}");
            page = pair.add_page(Config { conversation_id, client_id, ..config() });
            equip(&mut pair, page, &mut dice);
        } else {
            pair.drive();
            let id = pair.pages[page].next_send();
            if dice.once_in(3) && pair.input(page, Input::Retry { id }).is_ok() {
                pair.pages[page].accepted.push(id);
            }
        }
    }
    pair.drive();
    once_each(&pair);
}

/// No call was run twice, in whatever page, and what was run is answered.
fn once_each(pair: &Pair) {
    // An attempt that was replaced is in no store any more, so a model that names its
    // calls itself may use a name of it again. In one page even that is refused.
    let named = |id: &&String| *id != "given";
    let runs = pair.pages.iter().flat_map(|page| &page.runs).map(|run| &run.call_id);
    let runs: Vec<&String> = runs.filter(named).collect();
    let distinct: BTreeSet<_> = runs.iter().collect();
    assert_eq!(distinct.len(), runs.len(), "{runs:?}");
    for page in pair.pages.iter().filter(|page| !page.gone) {
        let (mut started, mut running) = (BTreeSet::new(), BTreeSet::new());
        for event in page.runtime() {
            match event {
                RuntimeEvent::ToolStart { tool_call_id, .. } => {
                    assert!(started.insert(tool_call_id) && running.insert(tool_call_id), "{tool_call_id}");
                }
                RuntimeEvent::ToolEnd { tool_call_id, .. } => drop(running.remove(tool_call_id)),
                RuntimeEvent::Complete { .. } | RuntimeEvent::RunError(_) => {
                    assert!(running.is_empty(), "{running:?} run after the turn");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn soak_of_page_tools() {
    for seed in seeds() {
        let _named = Named(seed);
        play_tools(seed);
    }
}
