//! What people say to a turn while it runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod bench;

use std::sync::{Arc, Mutex};

use bench::{Bench, call, end, input, result, text, tool, user};
use mindset_core::agui::Body;
use mindset_core::json::Value;
use mindset_core::turn::{
    Agent, Bounds, Conversation, ModelMessage, RunState, Steer, StoredMessage, StoredRole,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// What waits to be read.
type Said = Arc<Mutex<Vec<Steer>>>;

fn say(said: &Said, id: &str, content: &str) {
    let message = StoredMessage::new(id, "posted", StoredRole::User, content, 0);
    said.lock().unwrap().push(Steer { run_id: format!("run-{id}"), message });
}

fn bench(
    run: &str,
    messages: Vec<mindset_core::agui::Message>,
    stored: Vec<StoredMessage>,
    said: &Said,
) -> Bench {
    let mut input = input(run, messages);
    input.tools = vec![tool("look")];
    let conversation =
        Conversation { id: input.thread_id.clone(), messages: stored, ..Conversation::default() };
    let bounds = Bounds { steps: 3, ..Bounds::default() };
    let said = Arc::clone(said);
    let steers = Box::new(move || std::mem::take(&mut *said.lock().unwrap()));
    Bench::steered(input, Agent { bounds, ..Agent::default() }, conversation, steers).unwrap()
}

fn steered(b: &Bench) -> Vec<String> {
    let of = |event: &mindset_core::agui::Event| match &event.body {
        Body::Custom { name, value } if name == "mindset.steered" => {
            Some(["runId", "messageId", "content"].map(|key| value.str(key).unwrap()).join(" "))
        }
        _ => None,
    };
    b.events.iter().filter_map(of).collect()
}

#[test]
fn read_before_the_next_request_and_part_of_the_turn() {
    let said = Said::default();
    let mut b = bench("r1", vec![user("u1", "paint it")], vec![], &said);
    b.model(call(0, Some("c1"), "look", "{}"));
    say(&said, "s1", "in blue");
    b.model([end()]);
    assert_eq!((b.done, steered(&b).len()), (Some(RunState::Waiting), 0), "nothing was asked");
    // The next run of the turn asks: what was said comes behind the result.
    let mut next = bench("r2", vec![result("c1", "a wall")], b.store, &said);
    assert_eq!(steered(&next), ["run-s1 s1 in blue"]);
    assert_eq!(next.stored()[2..], ["tool: a wall", "user: in blue"]);
    let sent = &next.requests[0].messages;
    assert!(matches!(&sent[2], ModelMessage::Tool { content, .. } if content == "a wall"), "{sent:?}");
    assert_eq!(sent[3], ModelMessage::User("in blue".into()));
    assert_eq!(next.events[0].mindset("turnId").and_then(Value::as_str), Some("r1"));
    let message = next.store.last().unwrap();
    assert_eq!((message.run_id.as_str(), message.steered), ("r2", true));
    // The steps of the turn count on: the third is the last.
    next.model(call(0, Some("c2"), "look", "{}")).model([end()]);
    say(&said, "s2", "and quickly");
    let mut last = bench("r3", vec![result("c2", "a door")], next.store, &said);
    assert_eq!(last.events[0].mindset("turnId").and_then(Value::as_str), Some("r1"));
    last.model(call(0, Some("c3"), "look", "{}")).model([end()]);
    let over = bench("r4", vec![result("c3", "a roof")], last.store, &said);
    assert_eq!((over.requests.len(), over.done), (0, Some(RunState::Finished)));
    assert!(over.last().mindset("bound").is_some());
}

#[test]
fn a_turn_that_asks_no_more_reads_nothing() {
    let said = Said::default();
    let mut b = bench("r1", vec![user("u1", "hello")], vec![], &said);
    b.model([text("Hi")]);
    say(&said, "s1", "wait");
    b.model([end()]);
    assert_eq!((b.done, steered(&b).len()), (Some(RunState::Finished), 0));
    assert_eq!(said.lock().unwrap().len(), 1, "it is there still");
}

#[test]
fn several_are_read_in_order_and_an_id_that_is_taken_is_replaced() {
    let said = Said::default();
    say(&said, "u1", "one");
    say(&said, "s2", "two");
    let b = bench("r1", vec![user("u1", "hello")], vec![], &said);
    let stored: Vec<&str> = b.store.iter().map(|m| m.content.as_str()).collect();
    assert_eq!(stored, ["hello", "one", "two"]);
    assert!(steered(&b)[0].starts_with("run-u1 r1-"), "{:?}", steered(&b));
    assert_eq!(b.requests[0].messages.len(), 3);
}
