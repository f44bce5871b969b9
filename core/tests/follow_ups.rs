//! Messages to a busy agent, over whole turns: queued, read by the running turn, changed, paused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::error::ErrorCode;
use mindset_core::json::Value;
use mindset_core::queue::WhenBusy;
use mindset_core::session::{
    Ask, Config, FetchPurpose, Input, Protocol, QueueChange, SendId, SendOptions, TurnResult, TurnStatus,
};
use mindset_core::turn::ModelMessage;
use pair::{Canned, Pair, Panel, ScriptedModel, Step, call, config, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const QUEUE: SendOptions = SendOptions { silent: false, when_idle: false, when_busy: Some(WhenBusy::Queue) };
const STEER: SendOptions = SendOptions { when_busy: Some(WhenBusy::Steer), ..QUEUE };

/// A model that takes a second for each of its answers.
fn pair(answers: usize) -> Pair {
    let steps = (1..=answers).map(|n| Step::says(&format!("Answer {n}.")).slowly(1_000));
    let mut pair = Pair::new(ScriptedModel::new(steps));
    pair.network.latency = 5;
    pair
}

fn follow(pair: &mut Pair, text: &str, options: SendOptions) -> SendId {
    pair.send_from(0, text, options).unwrap()
}

/// `state text` of all that a page shows waiting.
fn shown(pair: &Pair, page: usize) -> Vec<String> {
    let queue = Panel::draw(&pair.pages[page].patches).queue;
    queue.iter().map(|waiting| format!("{} {}", waiting.state.as_str(), waiting.text)).collect()
}

fn run_of(pair: &Pair, page: usize, text: &str) -> String {
    let queue = Panel::draw(&pair.pages[page].patches).queue;
    queue.into_iter().find(|waiting| waiting.text == text).unwrap().run_id
}

fn change(pair: &mut Pair, page: usize, text: &str, change: QueueChange<'_>) {
    let run_id = run_of(pair, page, text);
    pair.input(page, Input::Queue { run_id: &run_id, change }).unwrap();
    pair.drive_for(50);
}

fn resume(pair: &mut Pair, page: usize) {
    pair.input(page, Input::Queue { run_id: "", change: QueueChange::Resume }).unwrap();
}

fn ended(pair: &Pair, send: SendId) -> (TurnStatus, Option<&str>) {
    let TurnResult { status, text, .. } = pair.page().result(send);
    (*status, text.as_deref())
}

#[test]
fn queued_messages_are_turns_of_their_own_in_order() {
    let mut pair = pair(3);
    let first = pair.send("one");
    // Before the server has heard of the first they could overtake it.
    let second = follow(&mut pair, "two", QUEUE);
    let third = follow(&mut pair, "three", QUEUE);
    assert_eq!(shown(&pair, 0), ["sending two", "sending three"]);
    pair.drive_for(100);
    assert_eq!(shown(&pair, 0), ["queued two", "queued three"]);
    assert!(pair.page().session.is_busy());
    pair.drive();
    for (send, text) in [(first, "Answer 1."), (second, "Answer 2."), (third, "Answer 3.")] {
        assert_eq!(ended(&pair, send), (TurnStatus::Finished, Some(text)));
    }
    let wanted = [
        "user: one",
        "assistant: Answer 1.",
        "user: two",
        "assistant: Answer 2.",
        "user: three",
        "assistant: Answer 3.",
    ];
    assert_eq!(pair.page().transcript(), wanted);
    assert_eq!(pair.server.transcript(), wanted);
    let sketch = pair.page().sketch();
    let from = sketch.iter().position(|heard| heard == "busy").unwrap();
    assert_eq!(
        sketch[from..],
        [
            "busy",
            "run_started",
            "run_queued",
            "run_queued",
            "complete",
            "run_finished",
            "conversation",
            "settled finished",
            "busy",
            "run_started",
            "complete",
            "run_finished",
            "settled finished",
            "busy",
            "run_started",
            "complete",
            "run_finished",
            "idle",
            "settled finished",
        ],
    );
    assert!(shown(&pair, 0).is_empty());
}

#[test]
fn one_that_finds_the_agent_idle_begins_at_once() {
    for options in [QUEUE, STEER] {
        let mut pair = pair(1);
        let send = follow(&mut pair, "now", options);
        pair.drive();
        assert_eq!(ended(&pair, send), (TurnStatus::Finished, Some("Answer 1.")));
        assert!(pair.server.posted[0].contains("\"whenBusy\":"));
        let sketch = pair.page().sketch();
        assert_eq!(sketch.iter().filter(|heard| *heard == "run_started").count(), 1, "{sketch:?}");
    }
}

#[test]
fn the_running_turn_reads_what_steers_it() {
    let steps = [Step::events(call(0, "act", "{}")).slowly(1_000), Step::says("Done, both.")];
    let mut pair = Pair::new(ScriptedModel::new(steps));
    pair.set_tools(vec![tool("act", r#"{"type":"object","properties":{}}"#)]);
    let first = pair.send("begin");
    pair.drive_for(100);
    let steer = follow(&mut pair, "and this", STEER);
    pair.drive_for(100);
    assert_eq!(shown(&pair, 0), ["steering and this"]);
    pair.drive();
    assert_eq!(ended(&pair, steer), (TurnStatus::Steered, None));
    assert_eq!(ended(&pair, first), (TurnStatus::Finished, Some("Done, both.")));
    assert_eq!(pair.page().transcript(), ["user: begin", "user: and this", "assistant: Done, both."]);
    let asked = &pair.server.model.requests.last().unwrap().messages;
    let said = asked.iter().filter(|m| matches!(m, ModelMessage::User(content) if content == "and this"));
    assert_eq!(said.count(), 1);
    assert!(shown(&pair, 0).is_empty());
}

#[test]
fn a_steer_that_is_not_read_is_the_next_turn() {
    let mut pair = pair(3);
    pair.send("one");
    pair.drive_for(100);
    let queued = follow(&mut pair, "later", QUEUE);
    let steer = follow(&mut pair, "sooner", STEER);
    pair.drive_for(100);
    pair.drive();
    assert_eq!(ended(&pair, steer).0, TurnStatus::Finished);
    assert_eq!(ended(&pair, queued).0, TurnStatus::Finished);
    assert!(pair.server.stored().iter().any(|line| line == "user: sooner"));
}

#[test]
fn people_change_what_waits() {
    let mut pair = pair(3);
    pair.send("one");
    pair.drive_for(50);
    let removed = follow(&mut pair, "two", QUEUE);
    let edited = follow(&mut pair, "three", QUEUE);
    pair.drive_for(100);
    change(&mut pair, 0, "two", QueueChange::Remove);
    change(&mut pair, 0, "three", QueueChange::Edit("three, better"));
    assert_eq!(shown(&pair, 0), ["queued three, better"]);
    assert_eq!(ended(&pair, removed), (TurnStatus::Aborted, None));
    pair.drive();
    assert_eq!(ended(&pair, edited), (TurnStatus::Finished, Some("Answer 2.")));
    assert_eq!(
        pair.page().transcript(),
        ["user: one", "assistant: Answer 1.", "user: three, better", "assistant: Answer 2."]
    );
    let gone = pair.input(0, Input::Queue { run_id: "none", change: QueueChange::Remove });
    assert_eq!(gone.unwrap_err().code, ErrorCode::NotFound);
    // Before it is posted everything happens here.
    pair.send("four");
    let unsent = follow(&mut pair, "five", QUEUE);
    let run_id = run_of(&pair, 0, "five");
    pair.input(0, Input::Queue { run_id: &run_id, change: QueueChange::Edit("six") }).unwrap();
    assert_eq!(shown(&pair, 0), ["sending six"]);
    pair.input(0, Input::Queue { run_id: &run_id, change: QueueChange::Remove }).unwrap();
    assert_eq!(ended(&pair, unsent).0, TurnStatus::Aborted);
    pair.drive();
}

#[test]
fn sent_now_it_steers_or_begins() {
    let mut pair = pair(4);
    pair.send("one");
    pair.drive_for(50);
    let later = follow(&mut pair, "two", QUEUE);
    let now = follow(&mut pair, "three", QUEUE);
    pair.drive_for(100);
    change(&mut pair, 0, "three", QueueChange::Now);
    pair.drive_for(50);
    assert!(shown(&pair, 0).contains(&"steering three".to_owned()), "{:?}", shown(&pair, 0));
    pair.stop();
    pair.drive_for(200);
    assert!(shown(&pair, 0).iter().all(|line| line.starts_with("paused ")), "{:?}", shown(&pair, 0));
    assert!(!pair.page().session.is_busy());
    change(&mut pair, 0, "three", QueueChange::Now);
    assert!(pair.page().session.is_busy());
    pair.drive();
    // The person's next message releases what was paused.
    assert_eq!((ended(&pair, now).0, ended(&pair, later).0), (TurnStatus::Finished, TurnStatus::Finished));
    let said: Vec<_> = pair.server.stored().into_iter().filter(|line| line.starts_with("user")).collect();
    assert_eq!(said, ["user: one", "user: three", "user: two"]);
}

#[test]
fn a_stop_pauses_until_somebody_resumes() {
    let mut pair = pair(3);
    let first = pair.send("one");
    pair.drive_for(50);
    let second = follow(&mut pair, "two", QUEUE);
    let third = follow(&mut pair, "three", QUEUE);
    pair.drive_for(100);
    pair.stop();
    pair.drive_for(2_000);
    assert_eq!(ended(&pair, first).0, TurnStatus::Aborted);
    assert_eq!(shown(&pair, 0), ["paused two", "paused three"]);
    assert!(!pair.page().session.is_busy() && !pair.page().settled(second));
    resume(&mut pair, 0);
    pair.drive();
    assert_eq!((ended(&pair, second).0, ended(&pair, third).0), (TurnStatus::Finished, TurnStatus::Finished));
}

#[test]
fn what_waits_survives_page_and_server() {
    let mut pair = pair(5);
    pair.send("one");
    pair.drive_for(50);
    for text in ["two", "three", "four"] {
        follow(&mut pair, text, QUEUE);
    }
    pair.drive_for(200);
    pair.server.crash(pair.now);
    let conversation_id = pair.page().conversation.clone();
    pair.leave(0);
    let page = pair.add_page(Config { conversation_id, client_id: "second".into(), ..config() });
    pair.drive_for(500);
    assert_eq!(shown(&pair, page), ["paused two", "paused three", "paused four"]);
    assert!(!pair.pages[page].session.is_busy());
    change(&mut pair, page, "two", QueueChange::Edit("two again"));
    change(&mut pair, page, "three", QueueChange::Remove);
    resume(&mut pair, page);
    pair.drive();
    let said: Vec<_> = pair.server.stored().into_iter().filter(|line| line.starts_with("user")).collect();
    assert_eq!(said, ["user: one", "user: two again", "user: four"]);
    assert_eq!(pair.pages[page].transcript(), pair.server.transcript());
}

#[test]
fn pages_agree() {
    let mut pair = pair(4);
    pair.ask("hello");
    let conversation_id = pair.page().conversation.clone();
    let other = pair.add_page(Config { conversation_id, client_id: "other".into(), ..config() });
    pair.drive();
    pair.send("one");
    pair.drive_for(100);
    let second = follow(&mut pair, "two", QUEUE);
    pair.drive_for(100);
    assert_eq!(
        (shown(&pair, 0), shown(&pair, other)),
        (vec!["queued two".to_owned()], vec!["queued two".to_owned()])
    );
    let theirs = pair.send_from(other, "three", QUEUE).unwrap();
    pair.drive_for(100);
    assert_eq!((shown(&pair, 0).len(), shown(&pair, other).len()), (2, 2));
    change(&mut pair, other, "two", QueueChange::Remove);
    pair.drive_for(100);
    assert_eq!((shown(&pair, 0).len(), shown(&pair, other).len()), (1, 1));
    pair.drive();
    assert_eq!(ended(&pair, second).0, TurnStatus::Aborted);
    assert_eq!(pair.pages[other].result(theirs).status, TurnStatus::Finished);
    assert_eq!(pair.page().transcript(), pair.server.transcript());
    assert_eq!(pair.pages[other].transcript(), pair.server.transcript());
}

#[test]
fn what_is_refused_is_the_persons_again() {
    let mut pair = pair(2);
    pair.send("one");
    pair.drive_for(50);
    pair.server.canned.push_back(Canned {
        purpose: FetchPurpose::Queue,
        status: 429,
        content_type: "application/json",
        body: r#"{"error":{"code":"rate-limited","message":"Too many wait.","retryable":true}}"#,
    });
    let refused = follow(&mut pair, "two", QUEUE);
    pair.drive_for(100);
    let result = pair.page().result(refused);
    assert_eq!(result.error.as_ref().unwrap().code, ErrorCode::RateLimited);
    assert!(shown(&pair, 0).is_empty());
    // What got no answer is posted again.
    pair.server.canned.push_back(Canned {
        purpose: FetchPurpose::Queue,
        status: 502,
        content_type: "text/html",
        body: "",
    });
    let again = follow(&mut pair, "three", QUEUE);
    pair.drive();
    assert_eq!(ended(&pair, again), (TurnStatus::Finished, Some("Answer 2.")));
}

#[test]
fn another_conversation_leaves_what_waits_behind() {
    let mut pair = pair(2);
    pair.send("one");
    pair.drive_for(50);
    let waits = follow(&mut pair, "two", QUEUE);
    pair.drive_for(100);
    pair.stop();
    pair.drive_for(1_000);
    pair.inquire(0, Ask::New);
    pair.drive();
    assert_eq!(ended(&pair, waits), (TurnStatus::Aborted, None));
    assert!(shown(&pair, 0).is_empty());
}

#[test]
fn a_server_that_queues_nothing() {
    let mut pair = Pair::unstarted(ScriptedModel::new([]));
    let page = pair.add_page(Config { protocol: Protocol::AgUi, ..config() });
    let refused = pair.send_from(page, "steer", STEER).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidRequest);
}

#[test]
fn what_waits_brings_what_the_page_has_set() {
    let mut pair = pair(2);
    pair.send("one");
    pair.drive_for(50);
    pair.input(0, Input::SetAwareness(r#"{"page":"two"}"#)).unwrap();
    follow(&mut pair, "two", QUEUE);
    pair.drive();
    let body = mindset_core::json::parse(pair.server.posted.last().unwrap()).unwrap();
    assert!(body.get("context").map(Value::text).unwrap().contains("two"), "{body}");
}
