//! What ends a turn early, counted over all its runs, and conversations that no longer
//! fit the model or are broken in the store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod bench;
#[allow(dead_code)]
mod dice;

use bench::{Bench, call, end, failed, input, result, text, tool, user};
use dice::{Dice, Named, seeds};
use mindset_core::event::{MessageStatus, Reason, Widget};
use mindset_core::json::Value;
use mindset_core::turn::{
    Agent, Bounds, Conversation, Input, ModelEvent, ModelMessage, ModelUsage, RunState, Spend, StoredCall,
    StoredMessage, StoredRole,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn cost(input: u64, output: u64) -> ModelEvent {
    ModelEvent::End { usage: Some(ModelUsage { input, output }) }
}

fn agent(bounds: Bounds) -> Agent {
    Agent { bounds, ..Agent::default() }
}

/// One step with a page tool: `look` with these arguments, at this cost.
fn looks(b: &mut Bench, id: &str, arguments: &str, end: ModelEvent) {
    b.model(call(0, Some(id), "look", arguments)).model([end]);
    assert_eq!(b.done, Some(RunState::Waiting));
}

/// A run with `look`, in a conversation whose turn has taken `used` milliseconds.
fn run(
    id: &str,
    messages: Vec<mindset_core::agui::Message>,
    bounds: Bounds,
    at: (Vec<StoredMessage>, u64),
) -> Bench {
    let mut input = input(id, messages);
    input.tools = vec![tool("look")];
    let (messages, used) = at;
    let conversation = Conversation { id: "c1".into(), messages, used, ..Conversation::default() };
    Bench::on(input, agent(bounds), conversation).unwrap()
}

fn bound(b: &Bench) -> String {
    assert_eq!(b.done, Some(RunState::Finished));
    b.last().mindset("bound").map(ToString::to_string).unwrap_or_default()
}

#[test]
fn tokens_are_counted_over_the_runs_of_a_turn() {
    let bounds = Bounds { spend: Some(Spend::Tokens(100)), ..Bounds::default() };
    let mut first = run("r1", vec![user("u1", "go")], bounds, (vec![], 0));
    looks(&mut first, "p1", "{}", cost(60, 10));
    let mut second = run("r2", vec![result("p1", "a")], bounds, (first.store, 0));
    assert_eq!(second.requests.len(), 1, "30 are left");
    looks(&mut second, "p2", "{\"n\":2}", end());
    let mut third = run("r3", vec![result("p2", "b")], bounds, (second.store, 0));
    looks(&mut third, "p3", "{\"n\":3}", cost(29, 1));
    let fourth = run("r4", vec![result("p3", "c")], bounds, (third.store, 0));
    assert!(fourth.requests.is_empty());
    assert_eq!(bound(&fourth), r#"{"reason":"spend_limit","limit":100,"unit":"tokens"}"#);
    assert_eq!(fourth.store.last().unwrap().content, "c", "what the page did is kept");
    let mut next = run("r5", vec![user("u2", "Continue.")], bounds, (fourth.store, 0));
    assert_eq!(next.requests.len(), 1, "the limit counts anew");
    next.model([text("Done."), cost(99, 1)]);
    assert_eq!(bound(&next), "");
}

#[test]
fn money_is_counted_by_the_prices() {
    let spend = |amount| Spend::Money {
        amount,
        currency: *b"EUR",
        input_per_million: 2_500_000,
        output_per_million: 10_000_000,
    };
    // 1,000 read and 200 written cost 0.0025 + 0.002.
    for (amount, over) in [(4_500, true), (4_501, false), (1, true)] {
        let bounds = Bounds { spend: Some(spend(amount)), ..Bounds::default() };
        let mut first = run("r1", vec![user("u1", "go")], bounds, (vec![], 0));
        looks(&mut first, "p1", "{}", cost(1_000, 200));
        let second = run("r2", vec![result("p1", "a")], bounds, (first.store, 0));
        assert_eq!(second.requests.is_empty(), over, "{amount}");
    }
    let bounds = Bounds { spend: Some(spend(500_000)), ..Bounds::default() };
    let mut b = Bench::with(input("r1", vec![user("u1", "go")]), agent(bounds), vec![]).unwrap();
    b.model(call(0, None, "x", "{}")).model([cost(u64::MAX, u64::MAX)]);
    assert_eq!(bound(&b), r#"{"reason":"spend_limit","limit":0.5,"unit":"EUR"}"#);
}

#[test]
fn deadline_is_of_the_whole_turn_without_the_wait_for_the_page() {
    let bounds = Bounds { deadline: 1_000, ..Bounds::default() };
    let mut first = run("r1", vec![user("u1", "go")], bounds, (vec![], 0));
    looks(&mut first, "p1", "{}", end());
    let waiting = first.store;
    let mut second = run("r2", vec![result("p1", "a")], bounds, (waiting.clone(), 700));
    assert_eq!(second.turn.poll_timeout(), Some(1_300));
    second.now = 1_300;
    second.handle(Input::Tick);
    assert_eq!(bound(&second), r#"{"reason":"deadline","limit":1000}"#);
    let late = run("r2", vec![result("p1", "a")], bounds, (waiting.clone(), 1_000));
    assert!(late.requests.is_empty());
    assert_eq!(bound(&late), r#"{"reason":"deadline","limit":1000}"#);
    // A new message is a new turn.
    let fresh = run("r2", vec![user("u2", "and?")], bounds, (waiting, 1_000));
    assert_eq!(fresh.turn.poll_timeout(), Some(2_000));
}

#[test]
fn repetition_and_steps_are_counted_over_the_runs_of_a_turn() {
    let mut store = Vec::new();
    let mut news = vec![user("u1", "go")];
    for n in 0..3 {
        let mut b = run(&format!("r{n}"), news, Bounds::default(), (store, 0));
        looks(&mut b, &format!("p{n}"), if n == 1 { "{ }" } else { "{}" }, end());
        store = b.store;
        news = vec![result(&format!("p{n}"), "same")];
    }
    let last = run("r3", news, Bounds::default(), (store.clone(), 0));
    assert_eq!(bound(&last), r#"{"reason":"repetition","limit":3}"#);
    let other = run("r3", vec![result("p2", "another")], Bounds::default(), (store.clone(), 0));
    assert_eq!(other.requests.len(), 1);
    let bounds = Bounds { steps: 3, ..Bounds::default() };
    let steps = run("r3", vec![result("p2", "another")], bounds, (store, 0));
    assert_eq!(bound(&steps), r#"{"reason":"step_limit","limit":3}"#);
}

#[test]
fn what_a_tool_showed_is_no_step_and_no_answer() {
    let mut b = run("r1", vec![user("u1", "go")], Bounds::default(), (vec![], 0));
    looks(&mut b, "p1", "{}", end());
    let mut shown = StoredMessage::new("w1", "r1", StoredRole::Assistant, "A chart.", 0);
    shown.widget = Some(Widget::new("chart", Value::Null, "A chart."));
    b.store.push(shown);
    let bounds = Bounds { steps: 2, ..Bounds::default() };
    let next = run("r2", vec![result("p1", "a")], bounds, (b.store, 0));
    assert_eq!(next.requests.len(), 1, "one step so far, and its call is open still");
    assert!(!format!("{:?}", next.requests[0].messages).contains("A chart."));
}

#[test]
fn a_conversation_that_is_too_long_takes_the_next_message() {
    let mut b = run("r1", vec![user("u1", "read it")], Bounds::default(), (vec![], 0));
    looks(&mut b, "p1", "{}", end());
    // The result is of this turn: it cannot be left out, so the turn fails in words.
    let mut b = run("r2", vec![result("p1", &"é".repeat(700_000))], Bounds::default(), (b.store, 0));
    b.model([failed(Reason::ContextTooLong)]);
    assert_eq!((b.done, b.requests.len()), (Some(RunState::Error), 1));
    assert_eq!(b.last().mindset("reason").and_then(Value::as_str), Some("context_too_long"));
    // The next message gets its answer.
    let mut b = run("r3", vec![user("u2", "just the first line")], Bounds::default(), (b.store, 0));
    let size = |b: &Bench| format!("{:?}", b.requests.last().unwrap().messages).len();
    assert!(size(&b) > 200_000);
    b.model([failed(Reason::ContextTooLong)]);
    assert!(size(&b) < 10_000, "{}", size(&b));
    assert_eq!(b.customs("mindset.warning").len(), 1);
    b.model([text("é"), end()]);
    assert_eq!((b.done, b.customs("mindset.warning").len()), (Some(RunState::Finished), 1));
}

#[test]
fn a_request_that_stays_too_long_fails_in_the_end() {
    let mut b = run("r1", vec![user("u1", "x")], Bounds::default(), (vec![], 0));
    b.model([text("An answer.".repeat(1_000).as_str()), end()]);
    let mut b = run("r2", vec![user("u2", "y")], Bounds::default(), (b.store, 0));
    for _ in 0..4 {
        assert_eq!(b.requests.last().unwrap().messages.last(), Some(&ModelMessage::User("y".into())));
        if b.done.is_none() {
            b.model([failed(Reason::ContextTooLong)]);
        }
    }
    assert_eq!((b.done, b.requests.len()), (Some(RunState::Error), 3), "no results, so one step fewer");
    // Words were told already: no second try.
    let mut b = run("r3", vec![user("u3", "z")], Bounds::default(), (b.store, 0));
    b.model([text("So"), failed(Reason::ContextTooLong)]);
    assert_eq!((b.done, b.requests.len()), (Some(RunState::Error), 1));
}

/// A message of a store that everything happened to.
fn broken(dice: &mut Dice, n: usize) -> StoredMessage {
    let role = dice.pick(&[StoredRole::User, StoredRole::Assistant, StoredRole::Assistant, StoredRole::Tool]);
    let mut message =
        StoredMessage::new(format!("m{n}"), "r0", role, dice.pick(&["", " ", "words", "[1]"]), 0);
    let id = |dice: &mut Dice| dice.pick(&["", "a", "b", "a-2", "c\n", "call"]).to_owned();
    let status = [None, None, None, Some(MessageStatus::Stopped), Some(MessageStatus::Error)];
    message.status = dice.pick(&status);
    if role != StoredRole::User && dice.below(3) > 0 {
        message.call_id = Some(id(dice));
        for _ in 0..dice.below(4) {
            message.calls.push(StoredCall {
                id: id(dice),
                name: dice.pick(&["look", "", "a b", "nobody", "é"]).to_owned(),
                arguments: dice
                    .pick(&["{}", "", "{\"a\":", "null", "[1]", "\"x\"", "{\"a\":1}{}"])
                    .to_owned(),
                ask: None,
            });
        }
    }
    if dice.once_in(8) {
        message.widget = Some(Widget::new("k", Value::Null, "s"));
    }
    message
}

#[test]
fn whatever_is_stored_can_be_sent() {
    for seed in seeds() {
        let _named = Named(seed);
        let mut dice = Dice(seed);
        let stored: Vec<_> = (0..dice.below(12)).map(|n| broken(&mut dice, n as usize)).collect();
        // The bench holds each request to what providers take.
        let mut b = run("r1", vec![user("u1", "and now?")], Bounds::default(), (stored, 0));
        while b.done.is_none() {
            assert_eq!(
                b.requests.last().unwrap().messages.last(),
                Some(&ModelMessage::User("and now?".into()))
            );
            let next = if dice.once_in(3) { end() } else { failed(Reason::ContextTooLong) };
            b.model(if dice.once_in(2) { vec![next] } else { vec![text("Yes."), next] });
        }
        let again = run("r2", vec![user("u2", "again")], Bounds::default(), (b.store, 0));
        assert_eq!(again.requests.len(), 1);
    }
}
