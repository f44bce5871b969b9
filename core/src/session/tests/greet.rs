//! Conversations that begin by themselves.

use super::*;
use crate::error::ErrorCode;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const AGENT: &str =
    r#"{"icebreaker":"Greet them.","starters":["Where is my order?"," ","Where is my order?"]}"#;

fn greet(bench: &mut Bench, question: Option<&str>) {
    bench.input(Input::Ask { id: AskId(9), ask: Ask::Greet { question: question.map(str::to_owned) } });
}

/// A panel that is idle in a new conversation.
fn panel() -> Bench {
    let mut bench = Bench::ready();
    bench.input(Input::SetCanAsk(true));
    bench.out.clear();
    bench
}

fn count(bench: &Bench, purpose: FetchPurpose) -> usize {
    bench.requests().iter().filter(|request| request.purpose == purpose).count()
}

fn starters(bench: &mut Bench) -> Vec<String> {
    let patches = bench.session.redraw();
    let found = patches.into_iter().find_map(|patch| match patch {
        Patch::SetSuggestions(items) => Some(items),
        _ => None,
    });
    found.unwrap_or_default()
}

#[test]
fn the_pages_question_is_the_first_message_and_asked_once() {
    let mut bench = panel();
    greet(&mut bench, Some("What is new?"));
    greet(&mut bench, Some("What is new?"));
    assert_eq!(bench.session.messages()[0].content, "What is new?");
    bench.stream(HELLO);
    greet(&mut bench, Some("What is new?"));
    greet(&mut bench, None);
    assert_eq!((count(&bench, FetchPurpose::Run), count(&bench, FetchPurpose::Ask)), (1, 0));
}

#[test]
fn it_waits_for_the_first_idle_and_comes_behind_what_was_sent() {
    let mut bench = Bench::new();
    bench.start(config());
    greet(&mut bench, Some("What is new?"));
    bench.answer_json(200, r#"{"authToken":"secret-1","expiresAt":"x","anonymousKey":"key-1"}"#);
    let events = bench.out.iter().position(|o| matches!(o, Output::Event(DomEvent::Idle { .. })));
    let run = bench.out.iter().position(|o| matches!(o, Output::Event(DomEvent::Busy { .. })));
    assert!(events < run && events.is_some(), "{events:?} {run:?}");
    let mut bench = panel();
    bench.send(1, "mine");
    greet(&mut bench, Some("What is new?"));
    bench.stream(HELLO);
    assert_eq!(count(&bench, FetchPurpose::Run), 1);
    assert_eq!(bench.session.messages()[0].content, "mine");
}

#[test]
fn the_agent_begins_with_a_hidden_message_and_offers_starters() {
    let mut bench = panel();
    greet(&mut bench, None);
    assert_eq!(bench.last(FetchPurpose::Ask).url, "https://agents.example/v1/agents/support");
    bench.answer_json(200, AGENT);
    let sent = body(&bench.last(FetchPurpose::Run)).text();
    assert!(sent.contains("PSEUDO_HUMAN") && sent.contains("Greet them."), "{sent}");
    assert_eq!(bench.session.messages(), []);
    assert_eq!(starters(&mut bench), ["Where is my order?"]);
    bench.stream(HELLO);
    assert_eq!(bench.session.messages().len(), 1);
    bench.send(1, "Where is my order?");
    assert_eq!(starters(&mut bench), [""; 0]);
    // Each new conversation begins so.
    bench.stream(HELLO);
    bench.input(Input::Ask { id: AskId(1), ask: Ask::New });
    greet(&mut bench, None);
    bench.answer_json(200, AGENT);
    assert_eq!(count(&bench, FetchPurpose::Run), 3);
}

#[test]
fn whoever_is_faster_than_the_agent_begins() {
    let mut bench = panel();
    greet(&mut bench, None);
    let asked = bench.fetch();
    bench.send(1, "mine");
    bench.input(Input::Head { fetch: asked, status: 200, content_type: "application/json" });
    bench.input(Input::Bytes { fetch: asked, bytes: AGENT.as_bytes() });
    bench.input(Input::End { fetch: asked, result: Ok(()) });
    assert_eq!(count(&bench, FetchPurpose::Run), 1);
    assert_eq!(starters(&mut bench), [""; 0]);
}

#[test]
fn nothing_begins_where_nobody_sees_it_or_something_was_said() {
    // No panel.
    let mut bench = Bench::ready();
    greet(&mut bench, None);
    assert_eq!(count(&bench, FetchPurpose::Ask), 0);
    // Another AG-UI server has no icebreaker, but can be asked.
    let mut bench = Bench::agui();
    bench.input(Input::SetCanAsk(true));
    greet(&mut bench, None);
    assert_eq!(count(&bench, FetchPurpose::Ask), 0);
    greet(&mut bench, Some("What is new?"));
    assert_eq!(count(&bench, FetchPurpose::Run), 1);
    // A conversation of an earlier page load.
    let mut bench = Bench::new();
    bench.start(Config { conversation_id: Some("c1".into()), can_ask: true, ..config() });
    bench.answer_json(200, r#"{"authToken":"secret-1","expiresAt":"x","anonymousKey":"key-1"}"#);
    bench.answer_json(200, r#"{"id":"c1","messages":[]}"#);
    greet(&mut bench, Some("What is new?"));
    assert_eq!(count(&bench, FetchPurpose::Run), 0);
    // An agent that is refused, or says nothing.
    for (status, text) in [(404, r#"{"error":{"code":"not-found","message":"m"}}"#), (200, "{}")] {
        let mut bench = panel();
        greet(&mut bench, None);
        bench.answer_json(status, text);
        assert_eq!(count(&bench, FetchPurpose::Run), 0);
        assert!(!bench.session.is_busy());
    }
}

#[test]
fn a_question_that_is_too_long_is_told() {
    let mut bench = panel();
    greet(&mut bench, Some(&"x".repeat(100_001)));
    let told = bench.out.iter().any(
        |o| matches!(o, Output::Event(DomEvent::Error(error)) if error.code == ErrorCode::InvalidConfig),
    );
    assert!(told && count(&bench, FetchPurpose::Run) == 0);
}
