//! A page load after another one: the conversation goes on, and what the page before
//! left open ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::error::ErrorCode;
use mindset_core::event::RuntimeEvent;
use mindset_core::session::{Config, DomEvent, FetchPurpose, Input, SendOptions};
use mindset_core::turn::{ModelEvent, ModelMessage};
use pair::{Canned, Heard, Pair, ScriptedModel, Step, call, config, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The page load number `n`, in the tab of the first page.
fn next_load(pair: &Pair, n: usize) -> Config {
    Config {
        client_id: format!("client-{n}"),
        conversation_id: pair.pages[n - 1].conversation.clone(),
        anonymous_key: pair.page().anonymous_key.clone(),
        ..config()
    }
}

/// The next page load, with the same tools.
fn reload(pair: &mut Pair) -> usize {
    let last = pair.pages.len() - 1;
    pair.leave(last);
    load(pair)
}

fn load(pair: &mut Pair) -> usize {
    let config = next_load(pair, pair.pages.len());
    let page = pair.add_page(config);
    pair.input(page, Input::SetPageTools(vec![tool("go_to_orders", "")])).unwrap();
    page
}

fn navigating(steps: Vec<Step>) -> Pair {
    let mut all = vec![Step::events(call(0, "go_to_orders", ""))];
    all.extend(steps);
    let mut pair = Pair::new(ScriptedModel::new(all));
    pair.set_tools(vec![tool("go_to_orders", "")]);
    pair.pages[0].handler = Box::new(|_| None);
    pair
}

fn conversation_events(pair: &Pair, page: usize) -> Vec<String> {
    let detail = |heard: &Heard| match heard {
        Heard::Event(DomEvent::Conversation { detail }) => Some(detail.text()),
        _ => None,
    };
    pair.pages[page].events.iter().filter_map(detail).collect()
}

#[test]
fn a_conversation_is_shown_again_and_goes_on() {
    let second = Step::says("Ada.").expects(|request| assert_eq!(request.messages.len(), 3));
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Hi Ada."), second]));
    assert_eq!(pair.page().conversation, None);
    pair.ask("I am Ada");
    let id = pair.page().conversation.clone().unwrap();
    assert_eq!(pair.page().session.conversation_id(), Some(id.as_str()));
    let page = reload(&mut pair);
    pair.drive();
    assert_eq!(pair.pages[page].transcript(), ["user: I am Ada", "assistant: Hi Ada."]);
    assert_eq!(pair.pages[page].sketch(), ["initializing", "conversation", "history", "idle"]);
    let event = format!(r#"{{"type":"conversation_id","conversationId":"{id}"}}"#);
    assert_eq!(conversation_events(&pair, page), [event]);
    let send = pair.send_from(page, "who am I?", SendOptions::default()).unwrap();
    pair.drive();
    assert_eq!(pair.pages[page].result(send).text.as_deref(), Some("Ada."));
    assert_eq!(pair.pages[page].transcript(), pair.server.transcript());
    let complete = pair.pages[page].runtime().into_iter().find_map(|event| match event {
        RuntimeEvent::Complete { messages, turn_from, .. } => Some((messages.len(), *turn_from)),
        _ => None,
    });
    assert_eq!(complete, Some((4, 2)), "the DOM sees this turn only");
}

#[test]
fn without_a_conversation_nothing_is_asked_for() {
    let mut pair = Pair::new(ScriptedModel::default());
    let page = reload(&mut pair);
    pair.drive();
    assert_eq!(pair.pages[page].sketch(), ["initializing", "history", "idle"]);
}

#[test]
fn a_tool_that_navigates_away_in_the_first_turn() {
    let carried_on = Step::says("I opened the orders, or I tried to.").expects(|request| {
        let Some(ModelMessage::Tool { content, failed: true, .. }) = request.messages.last() else {
            panic!("{request:?}")
        };
        assert!(content.contains("not known whether"), "{content}");
    });
    let mut pair = navigating(vec![carried_on]);
    pair.send("show my orders");
    pair.drive_for(1_000);
    assert_eq!(pair.page().runs.len(), 1);
    let page = reload(&mut pair);
    pair.drive();
    assert_eq!(pair.server.model.steps_left(), 0);
    assert_eq!(pair.pages[page].runs.len(), 0, "never a second time by itself");
    assert_eq!(pair.pages[page].transcript(), pair.server.transcript());
    assert_eq!(
        pair.pages[page].transcript().last().unwrap(),
        "assistant: I opened the orders, or I tried to."
    );
    assert_eq!(
        pair.pages[page].sketch(),
        [
            "initializing",
            "conversation",
            "history",
            "busy",
            "run_started",
            "complete",
            "run_finished",
            "idle"
        ]
    );
    pair.server.model.push(Step::says("Sure."));
    let send = pair.send_from(page, "thanks", SendOptions::default()).unwrap();
    pair.drive();
    assert_eq!(pair.pages[page].result(send).text.as_deref(), Some("Sure."));
}

#[test]
fn every_open_call_is_answered_and_the_turn_may_call_again() {
    let mut both = call(0, "go_to_orders", "");
    both.extend(call(1, "go_to_orders", r#"{"n":2}"#));
    let again = Step::events(call(0, "go_to_orders", r#"{"n":3}"#)).expects(|request| {
        let unknown = |m: &&ModelMessage| matches!(m, ModelMessage::Tool { failed: true, .. });
        assert_eq!(request.messages.iter().filter(unknown).count(), 2);
    });
    let mut pair = Pair::new(ScriptedModel::new([Step::events(both), again, Step::says("Now.")]));
    pair.set_tools(vec![tool("go_to_orders", "")]);
    pair.pages[0].handler =
        Box::new(|run| (run.arguments.expose().is_empty()).then(|| (5, Ok("1".to_owned()))));
    pair.send("go");
    pair.drive_for(1_000);
    let page = reload(&mut pair);
    pair.drive();
    assert_eq!(pair.pages[page].runs.len(), 1, "what the model calls in this page runs here");
    assert_eq!(pair.pages[page].transcript().last().unwrap(), "assistant: Now.");
    let calls: Vec<_> = pair.pages.iter().flat_map(|page| &page.runs).map(|run| &run.call_id).collect();
    assert_eq!(calls.len(), 3);
    assert!(calls[2] != calls[0] && calls[2] != calls[1]);
}

#[test]
fn a_page_that_is_still_there_keeps_its_calls() {
    let mut pair = navigating(vec![Step::says("Done.")]);
    pair.pages[0].handler = Box::new(|_| Some((60_000 - 1, Ok("true".to_owned()))));
    let send = pair.send("go");
    pair.drive_for(1_000);
    let other = load(&mut pair);
    pair.drive_for(5_000);
    assert_eq!(pair.pages[other].sketch(), ["initializing", "conversation", "history", "idle"]);
    assert_eq!(pair.pages[other].transcript(), ["user: go"]);
    assert!(format!("{:?}", pair.pages[other].patches).contains("another tab"));
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("Done."));
}

#[test]
fn a_message_from_another_page_waits_for_the_page_that_has_the_calls() {
    let mut pair = navigating(vec![Step::says("Never mind then.")]);
    let first = pair.send("go");
    pair.drive_for(1_000);
    let other = load(&mut pair);
    pair.drive_for(1_000);
    let send = pair.send_from(other, "stop that", SendOptions::default()).unwrap();
    pair.drive_for(1_000);
    let refused = pair.pages[other].result(send);
    assert_eq!(refused.error.as_ref().map(|e| e.code), Some(ErrorCode::Busy));
    assert!(!pair.page().settled(first), "the call is still the first page's");

    // The first page is gone, and this one cannot know: after a while it goes on all the same.
    pair.leave(0);
    pair.drive_for(90_000);
    let send = pair.send_from(other, "stop that", SendOptions::default()).unwrap();
    pair.drive();
    assert_eq!(pair.pages[other].result(send).text.as_deref(), Some("Never mind then."));
    let told = pair.server.store.values().flatten().find(|m| m.call_id.is_some()).unwrap();
    assert!(told.content.contains("not known whether"), "{}", told.content);
}

#[test]
fn a_conversation_that_is_gone_is_forgotten() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Hi."), Step::says("Anew.")]));
    pair.ask("hello");
    let old = pair.page().conversation.clone().unwrap();
    pair.server.store.clear();
    let page = reload(&mut pair);
    pair.pages[page].conversation = Some(old.clone());
    pair.drive();
    assert_eq!(pair.pages[page].conversation, None);
    assert_eq!(pair.pages[page].sketch(), ["initializing", "conversation", "history", "idle"]);
    let new = pair.pages[page].session.conversation_id().unwrap().to_owned();
    let event = format!(
        r#"{{"type":"conversation_id","conversationId":"{new}","replacedConversationId":"{old}","replacedBecause":"discarded"}}"#
    );
    assert_eq!(conversation_events(&pair, page), [event]);
    pair.send_from(page, "again", SendOptions::default()).unwrap();
    pair.drive();
    assert_eq!(conversation_events(&pair, page).len(), 1, "told once");
    assert_eq!(pair.pages[page].conversation.as_deref(), Some(new.as_str()));
    assert_eq!(pair.pages[page].transcript(), ["user: again", "assistant: Anew."]);
}

fn canned(pair: &mut Pair, status: u16, body: &'static str) {
    let (purpose, content_type) = (FetchPurpose::Conversation, "application/json");
    pair.server.canned.push_back(Canned { purpose, status, content_type, body });
}

#[test]
fn a_conversation_that_cannot_be_read_goes_on() {
    let expired = r#"{"error":{"code":"auth-expired","message":"Old.","retryable":true}}"#;
    for (status, body, readable) in
        [(503, "", false), (0, "", false), (200, "<html>", false), (200, "{}", false), (401, expired, true)]
    {
        let mut pair = Pair::new(ScriptedModel::new([Step::says("Hi."), Step::says("Yes.")]));
        pair.ask("hello");
        canned(&mut pair, status, body);
        let page = reload(&mut pair);
        pair.drive();
        assert_eq!(
            pair.pages[page].sketch(),
            ["initializing", "conversation", "history", "idle"],
            "{status}"
        );
        let rows = if readable { 2 } else { 0 };
        assert_eq!(pair.pages[page].session.messages().len(), rows, "{status}");
        let offers = |pair: &Pair| format!("{:?}", pair.pages[page].patches.last()).contains("Reconnect");
        assert_eq!(
            pair.pages[page].patches.iter().any(|p| format!("{p:?}").contains("Reconnect")),
            !readable
        );
        // It is the same conversation, and what was said before comes in its place.
        let send = pair.send_from(page, "still there?", SendOptions::default()).unwrap();
        pair.drive();
        assert_eq!(pair.pages[page].result(send).text.as_deref(), Some("Yes."));
        pair.input(page, Input::Reconnect).unwrap();
        pair.drive();
        assert_eq!(pair.pages[page].transcript(), pair.server.transcript());
        assert_eq!(pair.pages[page].sketch().iter().filter(|word| *word == "history").count(), 1);
        assert!(!offers(&pair));
    }
}

#[test]
fn a_conversation_that_is_slow_to_read_goes_on() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Hi."), Step::says("Yes.")]));
    pair.ask("hello");
    pair.network.latency = 8_000;
    let page = reload(&mut pair);
    pair.drive_for(16_000 + 14_999);
    assert_eq!(pair.pages[page].sketch(), ["initializing", "conversation", "history"]);
    pair.drive_for(1);
    assert_eq!(pair.pages[page].sketch(), ["initializing", "conversation", "history", "idle"]);
    pair.drive();
    pair.network.latency = 10;
    // As often as it takes.
    canned(&mut pair, 500, "");
    for rows in [0, 2, 2] {
        pair.input(page, Input::Reconnect).unwrap();
        pair.drive();
        assert_eq!(pair.pages[page].session.messages().len(), rows);
    }
}

#[test]
fn what_is_sent_meanwhile_stands_behind() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("One."), Step::says("Two.")]));
    pair.ask("1");
    pair.network.latency = 100;
    let page = reload(&mut pair);
    let send = pair.send_from(page, "2", SendOptions::default()).unwrap();
    assert_eq!(pair.pages[page].transcript(), ["user: 2"]);
    pair.drive();
    assert_eq!(pair.pages[page].result(send).text.as_deref(), Some("Two."));
    assert_eq!(pair.pages[page].transcript(), ["user: 1", "assistant: One.", "user: 2", "assistant: Two."]);
}

#[test]
fn what_is_sent_meanwhile_waits_for_the_turn_before() {
    let mut pair = navigating(vec![Step::says("Opened, maybe."), Step::says("Two.")]);
    pair.network.latency = 100;
    pair.send("1");
    pair.drive_for(2_000);
    let page = reload(&mut pair);
    pair.drive_for(250);
    let send = pair.send_from(page, "2", SendOptions::default()).unwrap();
    pair.drive();
    assert_eq!(pair.pages[page].result(send).text.as_deref(), Some("Two."));
    let all = ["user: 1", "assistant: Opened, maybe.", "user: 2", "assistant: Two."];
    assert_eq!(pair.pages[page].transcript(), all);
    assert_eq!(pair.server.transcript(), all);
}

#[test]
fn the_newest_messages_are_shown() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Hi.")]));
    pair.ask("hello");
    let stored = pair.server.store.values_mut().next().unwrap();
    let (user, answer) = (stored[0].clone(), stored[1].clone());
    for n in 0..300 {
        for message in [&user, &answer] {
            let mut message = message.clone();
            message.id = format!("{}-{n}", message.id);
            stored.push(message);
        }
    }
    let page = reload(&mut pair);
    pair.drive();
    assert_eq!(pair.pages[page].session.messages().len(), 200);
    assert!(pair.pages[page].session.messages().last().unwrap().id.ends_with("-299"));
}

#[test]
fn a_page_that_goes_away_at_any_time() {
    // Whatever the moment, the tool runs at most once and the conversation goes on.
    for time in (0..400).step_by(7) {
        let words = || Step::says("Here you are.");
        let mut pair = navigating(vec![words(), words()]);
        pair.network.latency = 30;
        pair.pages[0].handler = Box::new(|_| Some((50, Ok("true".to_owned()))));
        pair.send("go");
        pair.drive_for(time);
        let page = reload(&mut pair);
        pair.drive();
        let runs: usize = pair.pages.iter().map(|page| page.runs.len()).sum();
        assert!(runs <= 1, "{time}: {runs}");
        pair.server.model = ScriptedModel::new([Step::says("Still here.")]);
        let send = pair.send_from(page, "and now?", SendOptions::default()).unwrap();
        pair.drive();
        assert_eq!(pair.pages[page].result(send).text.as_deref(), Some("Still here."), "{time}");
    }
}

#[test]
fn a_turn_without_its_page_may_fail_and_be_stopped() {
    let broken = Step::breaks("So", mindset_core::event::Reason::ModelError);
    let mut pair = navigating(vec![broken]);
    pair.send("go");
    pair.drive_for(1_000);
    let page = reload(&mut pair);
    pair.drive();
    assert!(pair.pages[page].sketch().contains(&"run_error".to_owned()));
    let id = pair.pages[page].next_send();
    assert!(pair.input(page, Input::Retry { id }).is_err(), "its message is not known here");

    let slow = Step::events([ModelEvent::Text("Slow".into())]).slowly(5_000);
    let mut pair = navigating(vec![slow]);
    pair.send("go");
    pair.drive_for(1_000);
    let page = reload(&mut pair);
    pair.drive_for(2_000);
    pair.input(page, Input::Stop).unwrap();
    pair.drive();
    assert_eq!(pair.pages[page].sketch()[3..], ["busy", "run_started", "run_error", "idle"]);
}

#[test]
fn a_turn_that_failed_is_named_and_sent_again() {
    let broken = Step::breaks("So", mindset_core::event::Reason::ModelError);
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Hi."), broken, Step::says("Now.")]));
    pair.ask("hello");
    pair.ask("and?");
    let page = reload(&mut pair);
    pair.drive();
    let shown = format!("{:?}", pair.pages[page].patches);
    assert!(shown.contains("The model broke. Try again.") && shown.contains("Retry"), "{shown}");
    assert_eq!(pair.pages[page].transcript(), pair.server.transcript());
    let id = pair.pages[page].next_send();
    pair.input(page, Input::Retry { id }).unwrap();
    pair.drive();
    assert_eq!(pair.pages[page].result(id).text.as_deref(), Some("Now."));
    let all = ["user: hello", "assistant: Hi.", "user: and?", "assistant: Now."];
    assert_eq!(
        (pair.pages[page].transcript(), pair.server.transcript()),
        (all.map(str::to_owned).into(), all.map(str::to_owned).into())
    );
}

#[test]
fn a_silent_message_that_failed_is_not_sent_again() {
    let broken = Step::breaks("So", mindset_core::event::Reason::ModelError);
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Hi."), broken]));
    pair.ask("hello");
    pair.send_from(0, "quietly", SendOptions { silent: true, when_idle: false, ..SendOptions::default() })
        .unwrap();
    pair.drive();
    let page = reload(&mut pair);
    pair.drive();
    let id = pair.pages[page].next_send();
    assert!(pair.input(page, Input::Retry { id }).is_err(), "the last one that is shown went well");
}
