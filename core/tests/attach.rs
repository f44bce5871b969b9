//! A page load in the middle of a turn finds it again, and random conversations of
//! several pages over a network that does anything. A failure names its seed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod dice;
#[allow(dead_code, unused_imports)]
mod pair;

use std::collections::BTreeMap;

use dice::{Dice, Named, seeds};
use mindset_core::error::ErrorCode;
use mindset_core::event::{RuntimeEvent, ToolSource, Widget};
use mindset_core::json::Value;
use mindset_core::session::{Config, DomEvent, Input, SendOptions, TurnResult};
use mindset_core::turn::{ModelEvent, ModelMessage, ModelRequest, RunState, ServerTool, ToolOutcome};
use pair::{Cut, Heard, Lose, Pair, ScriptedModel, Step, call, config, text, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The first page is left for another one in the same tab.
fn reload(pair: &mut Pair, page: usize) -> usize {
    let conversation_id = pair.pages[page].conversation.clone();
    let anonymous_key = pair.pages[page].anonymous_key.clone();
    pair.leave(page);
    let client_id = format!("client-{}", pair.pages.len());
    let page = pair.add_page(Config { conversation_id, client_id, anonymous_key, ..config() });
    pair.input(page, Input::SetPageTools(vec![tool("act", "")])).unwrap();
    page
}

fn tools() -> Vec<ServerTool> {
    let tool = |name: &str| ServerTool {
        source: ToolSource::Builtin,
        server: None,
        name: name.into(),
        description: String::new(),
        title: None,
        parameters: None,
        read_only: false,
    };
    ["look", "show"].map(tool).to_vec()
}

/// `show` shows a widget.
fn serve(pair: &mut Pair, time: u64) {
    pair.server.agent.tools = tools();
    pair.server.handler = Box::new(move |request| {
        let mut widgets = Vec::new();
        if request.name == "show" {
            let summary = format!("card {}", request.call_id);
            widgets.push(Widget::new("card", Value::from("x"), summary));
        }
        Some((time, ToolOutcome::Done { content: "fine".into(), sources: Vec::new(), widgets }))
    });
}

/// Two steps with text, tools and a widget, and the rest of the answer.
fn long_turn() -> Pair {
    let first = [vec![text("Let me "), text("look. ")], call(0, "look", "{}"), call(1, "show", "{}")];
    // Some models go on talking behind a call.
    let second = [vec![text("And ")], call(0, "look", "{\"n\":2}"), vec![text("more. ")]];
    let steps = [
        Step::events(first.concat()).slowly(100),
        Step::events(second.concat()).slowly(100),
        Step::says("That is all.").slowly(100),
    ];
    let mut pair = Pair::new(ScriptedModel::new(steps));
    serve(&mut pair, 50);
    pair
}

fn texts(pair: &Pair, page: usize) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for event in pair.pages[page].runtime() {
        if let RuntimeEvent::TextDelta { message_id, content } = event {
            texts.entry(message_id.clone()).or_default().push_str(content);
        }
    }
    texts
}

#[test]
fn a_reload_at_any_time_finds_the_turn_again() {
    for time in (0..1_900).step_by(23) {
        let mut pair = long_turn();
        pair.network.latency = 10;
        pair.send("go");
        pair.drive_for(time);
        let page = reload(&mut pair, 0);
        pair.drive();
        assert_eq!(pair.server.ended, [RunState::Finished; 1][..pair.server.ended.len()]);
        if pair.server.ended.is_empty() {
            assert!(time <= 10, "the message has not left the page: {time}");
            continue;
        }
        let shown = pair.pages[page].transcript();
        if !shown.is_empty() {
            assert_eq!(shown, pair.server.transcript(), "at {time}");
        }
        // What the page hears of the turn is each text once and whole.
        let stored: Vec<_> = pair.server.store.values().flatten().collect();
        for (id, text) in texts(&pair, page) {
            let message = stored.iter().find(|message| message.id == id).unwrap();
            assert_eq!(message.content, text, "at {time}");
        }
        let story = pair.pages[page].sketch();
        let count = |name: &str| story.iter().filter(|event| *event == name).count();
        assert_eq!(count("busy"), count("complete"), "{story:?}");
        assert_eq!((count("run_started"), count("run_finished")), (count("complete"), count("complete")));
    }
}

#[test]
fn what_a_found_turn_completes_with_is_this_turn() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Before.")]));
    pair.ask("earlier");
    pair.server.model = ScriptedModel::new([
        Step::events([vec![text("One. ")], call(0, "look", "{}")].concat()),
        Step::says("Two three").slowly(1_000),
    ]);
    serve(&mut pair, 50);
    pair.send("now");
    pair.drive_for(1_500);
    let page = reload(&mut pair, 0);
    pair.drive();
    let complete = pair.pages[page].runtime().into_iter().find_map(|event| match event {
        RuntimeEvent::Complete { messages, turn_from, .. } => Some(messages[*turn_from..].to_vec()),
        _ => None,
    });
    let turn: Vec<_> = complete.unwrap().into_iter().map(|message| message.content).collect();
    assert_eq!(turn, ["now", "One. ", "Two three"]);
}

/// Fault 22: a page load in mid-run, then stop.
#[test]
fn stop_after_a_reload_ends_the_run_on_the_server() {
    for time in [50, 250, 450, 650, 1_050] {
        let mut pair = long_turn();
        pair.network.latency = 10;
        pair.send("go");
        pair.drive_for(time);
        let page = reload(&mut pair, 0);
        pair.drive_for(100);
        let heard = pair.pages[page].runtime().len();
        pair.input(page, Input::Stop).unwrap();
        pair.drive();
        let after: Vec<_> = pair.pages[page].runtime().split_off(heard);
        assert!(after.iter().all(|event| !matches!(event, RuntimeEvent::TextDelta { .. })), "{after:?}");
        assert_eq!(pair.server.ended, [RunState::Cancelled], "at {time}");
        assert!(matches!(after.last(), Some(RuntimeEvent::RunError(error)) if error.aborted), "{after:?}");
        // What the server did before it heard of the stop is not shown here.
        let stored = pair.server.transcript();
        let said = |line: &String| line.trim_end_matches(" [stopped]").to_owned();
        let shown = pair.pages[page].transcript();
        assert!(
            shown.iter().zip(&stored).all(|(shown, stored)| said(stored).starts_with(&said(shown))),
            "{stored:?}"
        );
    }
}

/// A model of many moods: text, thinking, tools of the server and of the page.
fn improvise(dice: &mut Dice, request: &ModelRequest) -> Vec<(u64, ModelEvent)> {
    let calls = request.messages.iter().rev().take_while(|m| !matches!(m, ModelMessage::User(_)));
    let mut events = Vec::new();
    if dice.once_in(2) {
        events.push(ModelEvent::Thinking("Hm. ".into()));
    }
    for _ in 0..=dice.below(3) {
        events.push(text(dice.pick(&["Grüße ", "🙂 ", "so\n", "\"and\" "])));
    }
    if calls.count() < 6 {
        for key in 0..u32::try_from(dice.below(3)).unwrap() {
            let number = dice.roll();
            events.extend(call(key, dice.pick(&["look", "show", "act"]), &format!("{{\"n\":{number}}}")));
        }
    }
    events.push(ModelEvent::End { usage: None });
    let slow = dice.pick(&[0, 0, 30, 4_000]);
    events.into_iter().map(|event| (slow, event)).collect()
}

/// A few messages of one conversation, in pages that come and go, over a network that cuts,
/// stalls and loses whatever it can, while the server stays the same.
fn play(seed: u64) {
    let mut dice = Dice(seed);
    let mut model = Dice(dice.roll());
    let mut pair = Pair::unstarted(ScriptedModel::improvising(move |request| improvise(&mut model, request)));
    serve(&mut pair, dice.pick(&[0, 40, 3_000]));
    pair.network.latency = dice.pick(&[0, 15, 300]);
    let mut weather = Dice(dice.roll());
    pair.network.weather = Some(Box::new(move || {
        let after = usize::try_from(weather.below(3_000)).unwrap();
        match weather.below(5) {
            0 => Some(Cut::broken(after)),
            1 => Some(Cut::clean(after)),
            2 => Some(Cut::silent(after)),
            _ => None,
        }
    }));
    let mut page = pair.add_page(config());
    pair.input(page, Input::SetPageTools(vec![tool("act", "")])).unwrap();
    let mut handler = Dice(dice.roll());
    pair.pages[page].handler = Box::new(move |_| Some((handler.pick(&[0, 30, 9_000]), Ok("true".into()))));
    pair.drive();
    for n in 0..=dice.below(4) {
        if dice.once_in(3) {
            let part = usize::try_from(dice.below(100)).unwrap();
            pair.network.lose = Some(dice.pick(&[Lose::Request(part), Lose::Answer]));
            pair.network.spare_runs = usize::try_from(dice.below(3)).unwrap();
        }
        let sent = pair.send_from(page, &format!("message {n}"), SendOptions::default());
        let sender = page;
        for _ in 0..dice.below(4) {
            pair.drive_for(dice.pick(&[1, 20, 500, 6_000, 50_000]));
            match dice.below(6) {
                0 => pair.set_network(false),
                1 => pair.input(page, Input::Wake).unwrap(),
                2 => pair.input(page, Input::Online(dice.once_in(2))).unwrap(),
                3 => pair.server.tokens.clear(),
                _ => {}
            }
            pair.drive_for(dice.pick(&[1, 500, 20_000]));
            pair.set_network(true);
        }
        pair.input(page, Input::Online(true)).unwrap();
        // A page that is left takes along what it has not sent.
        if dice.once_in(4) && sent.is_ok() && !pair.server.posted.is_empty() {
            pair.drive_for(5_000);
            page = reload(&mut pair, page);
        }
        pair.drive();
        pair.network.lose = None;
        // New credentials that are refused too end a turn, and the person tries again.
        let refused = |result: &TurnResult| {
            result.error.as_ref().is_some_and(|error| error.code == ErrorCode::AuthExpired)
        };
        if let Some(id) = sent.ok().filter(|_| sender == page)
            && refused(pair.pages[page].result(id))
        {
            assert!(!refused(&pair.retry_from(page)));
        }
        assert_eq!(pair.pages[page].transcript(), pair.server.transcript(), "message {n}");
    }
    check(&pair);
}

/// Nothing was lost, nothing came twice, and no tool ran twice in whatever page.
fn check(pair: &Pair) {
    let calls: Vec<_> = pair.pages.iter().flat_map(|page| &page.runs).map(|run| &run.call_id).collect();
    let distinct: std::collections::BTreeSet<_> = calls.iter().collect();
    assert_eq!(calls.len(), distinct.len(), "{calls:?}");
    assert!(pair.server.ended.iter().all(|end| matches!(end, RunState::Finished | RunState::Waiting)));
    let stored: Vec<_> = pair.server.store.values().flatten().collect();
    for (number, page) in pair.pages.iter().enumerate() {
        for (id, text) in texts(pair, number) {
            let message = stored.iter().find(|message| message.id == id).unwrap();
            assert!(page.gone || message.content == text, "{id}: {text:?}");
        }
        let given_up = |heard: &Heard| matches!(heard, Heard::Event(DomEvent::Error(_)));
        assert!(!page.events.iter().any(given_up), "{:?}", page.sketch());
    }
}

#[test]
fn soak_of_a_bad_network() {
    for seed in seeds() {
        let _named = Named(seed);
        play(seed);
    }
}
