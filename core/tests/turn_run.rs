//! How a run runs and ends: events, stored messages, bounds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod bench;

use bench::{Bench, call, end, failed, input, result, text, tool, user};
use mindset_core::agui::{Body, Outcome, TokenUsage};
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::Reason;
use mindset_core::turn::{Agent, Bounds, Input, ModelEvent, ModelMessage, ModelUsage, RunState};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const WHOLE: &str = "finished Some(Success { pending_tool_call_ids: [] })";
const CANCELLED: &str = "finished Some(Cancelled)";

fn hello() -> Bench {
    Bench::start(input("r1", vec![user("u1", "hello")]), vec![]).unwrap()
}

fn with_tools(names: &[&str]) -> Bench {
    let mut input = input("r1", vec![user("u1", "hello")]);
    input.tools = names.iter().map(|n| tool(n)).collect();
    Bench::start(input, vec![]).unwrap()
}

fn bounded(bounds: Bounds) -> Bench {
    let agent = Agent { bounds, ..Agent::default() };
    Bench::with(input("r1", vec![user("u1", "go")]), agent, vec![]).unwrap()
}

#[test]
fn text_and_thinking() {
    let mut b = hello();
    assert_eq!(b.requests[0].messages, [ModelMessage::User("hello".into())]);
    assert_eq!((b.requests[0].model.as_str(), b.requests[0].system.as_str()), ("test-1", "Be kind."));
    let usage = Some(ModelUsage { input: 3, output: 4 });
    b.model([
        text(""),
        ModelEvent::Thinking("hm".into()),
        text("\n"),
        text("Hi"),
        ModelEvent::Thinking("more".into()),
        text(" there "),
        ModelEvent::End { usage },
        text("late"),
    ]);
    assert_eq!(
        b.sketch(),
        [
            "started", "reason(", "think(", "hm", ")think", ")reason", "text(", "\nHi", "reason(", "think(",
            "more", ")think", ")reason", " there ", ")text", WHOLE
        ]
    );
    assert_eq!(b.stored(), ["user: hello", "assistant: \nHi there "]);
    assert_eq!(b.done, Some(RunState::Finished));
    assert_eq!(b.events[0].mindset("turnId").and_then(|v| v.as_str()), Some("r1"));
    assert_eq!(b.events[0].mindset("model").and_then(|v| v.as_str()), Some("test-1"));
    let Body::RunFinished { usage, .. } = &b.last().body else { panic!() };
    let total = TokenUsage {
        model: Some("test-1".into()),
        input_tokens: Some(3),
        output_tokens: Some(4),
        total_tokens: Some(7),
        ..TokenUsage::default()
    };
    assert_eq!(usage, &[total]);
}

#[test]
fn client_tools_wait_for_the_client() {
    let mut b = with_tools(&["look", "jump"]);
    b.model([text("Let me see."), text("\n")]);
    b.model(call(0, None, "look", "{\"a\""));
    b.model(call(1, Some("p1"), "jump", " null"));
    b.model([
        text("\n"),
        ModelEvent::CallArguments { key: 0, delta: ":1}".into() },
        ModelEvent::CallArguments { key: 9, delta: "nobody's".into() },
        end(),
    ]);
    let pending = "finished Some(Success { pending_tool_call_ids: [\"r1-2\", \"p1\"] })";
    assert_eq!(
        b.sketch(),
        [
            "started",
            "text(",
            "Let me see.",
            "\n",
            ")text",
            "call r1-2 look(",
            "{\"a\"",
            "call p1 jump(",
            ":1}",
            "{}",
            ")call r1-2",
            ")call p1",
            pending
        ]
    );
    assert_eq!(b.stored()[1], "assistant: Let me see.\n look({\"a\":1}) jump({})");
    assert_eq!(b.done, Some(RunState::Waiting));

    let answers =
        vec![user("u1", "hello"), result("r1-2", "seen"), result("p1", "done"), result("p1", "again")];
    let mut next = Bench::start(input("r2", answers), b.store).unwrap();
    assert_eq!(next.events[0].mindset("turnId").and_then(|v| v.as_str()), Some("r1"));
    assert_eq!(next.stored()[2..], ["tool: seen", "tool: done"]);
    assert_eq!(next.requests[0].messages.len(), 4);
    // The provider gives an id that was used before: the call gets its own.
    next.model(call(0, Some("p1"), "nothing", "")).model([end()]);
    assert!(next.sketch().contains(&"call r2-2 nothing(".to_owned()), "{:?}", next.sketch());
}

#[test]
fn text_after_a_call_belongs_to_the_same_message() {
    let mut b = with_tools(&["look"]);
    b.model([text("A")]).model(call(0, Some("p1"), "look", "")).model([text("B"), end()]);
    assert_eq!(
        b.sketch()[1..],
        [
            "text(",
            "A",
            ")text",
            "call p1 look(",
            "text(",
            "B",
            ")text",
            "{}",
            ")call p1",
            "finished Some(Success { pending_tool_call_ids: [\"p1\"] })"
        ]
    );
    assert_eq!(b.stored()[1], "assistant: AB look({})");
}

#[test]
fn calls_nobody_can_run_are_answered_at_once() {
    let mut b = with_tools(&["look"]);
    b.model(call(0, Some("p1"), "fly", "{}")).model(call(1, Some("p2"), "look", "{\"q\": ")).model([end()]);
    assert_eq!(b.done, None, "the model goes on");
    assert_eq!(b.requests.len(), 2);
    let failures: Vec<_> = b.requests[1]
        .messages
        .iter()
        .filter_map(|m| match m {
            ModelMessage::Tool { content, failed: true, .. } => Some(content.as_str()),
            _ => None,
        })
        .collect();
    assert!(failures[0].contains("no tool \"fly\"") && failures[0].contains("look"), "{failures:?}");
    assert!(failures[1].contains("not valid JSON"), "{failures:?}");
    let results: Vec<_> = b.events.iter().filter(|e| matches!(e.body, Body::ToolCallResult { .. })).collect();
    assert_eq!(results[0].mindset("ok").and_then(|v| v.as_bool()), Some(false));
    assert_eq!(results[0].mindset("toolName").and_then(|v| v.as_str()), Some("fly"));
    b.model([text("Sorry."), end()]);
    assert_eq!(b.done, Some(RunState::Finished));
}

#[test]
fn of_a_mixed_step_only_the_runnable_call_is_pending() {
    let mut b = with_tools(&["look"]);
    b.model(call(0, Some("p1"), "fly", "{}")).model(call(1, Some("p2"), "look", "{}")).model([end()]);
    let Body::RunFinished { outcome: Some(Outcome::Success { pending_tool_call_ids }), .. } = &b.last().body
    else {
        panic!()
    };
    assert_eq!(pending_tool_call_ids, &["p2"]);
    let next = Bench::start(input("r2", vec![result("p2", "ok"), result("p1", "forged")]), b.store).unwrap();
    assert_eq!(next.stored().last().unwrap(), "tool: ok");
    assert_eq!(next.requests[0].messages.len(), 4);
}

#[test]
fn stop_keeps_what_was_said() {
    let mut b = with_tools(&["look"]);
    b.model([text("One, ")]).model(call(0, None, "look", "{\"x\"")).handle(Input::Cancel);
    assert_eq!(
        b.sketch()[1..],
        ["text(", "One, ", ")text", "call r1-2 look(", "{\"x\"", ")call r1-2", CANCELLED]
    );
    assert_eq!(b.stored(), ["user: hello", "assistant: One,  [stopped]"]);
    assert_eq!((b.done, b.aborted), (Some(RunState::Cancelled), 1));
    b.model([text("late")]).handle(Input::Cancel).handle(Input::Tick);

    let mut silent = hello();
    silent.model([text(" \n")]).handle(Input::Cancel);
    assert_eq!(silent.stored(), ["user: hello"]);
    assert_eq!(silent.sketch(), ["started", CANCELLED]);
}

#[test]
fn failures_keep_what_was_said() {
    for (reason, code, status) in [
        (Reason::Interrupted, "server-error", "interrupted"),
        (Reason::RateLimited, "rate-limited", "error"),
        (Reason::Unauthorized, "agent-misconfigured", "error"),
        (Reason::ContextTooLong, "too-large", "error"),
    ] {
        let mut b = with_tools(&["look"]);
        b.model([text("The three")]).model(call(0, None, "look", "{")).model([failed(reason)]);
        assert_eq!(b.stored()[1], format!("assistant: The three [{status}]"));
        assert_eq!(b.sketch().last().unwrap(), &format!("error {code} It broke. Try again."));
        // A refused model key is not the reader's token.
        let told = if reason == Reason::Unauthorized { Reason::ModelError } else { reason };
        assert_eq!(b.last().mindset("reason").and_then(|v| v.as_str()), Some(told.as_str()));
        assert_eq!(b.last().mindset("retryable").and_then(|v| v.as_bool()), Some(true));
        assert_eq!((b.done, b.aborted), (Some(RunState::Error), 0));
    }
}

#[test]
fn answering_with_nothing_is_a_failure() {
    let mut b = hello();
    b.model([ModelEvent::Thinking("hm".into()), text(" \n"), end()]);
    assert_eq!(b.sketch().last().unwrap(), "error server-error The model answered with nothing. Try again.");
    assert_eq!(b.last().mindset("reason").and_then(|v| v.as_str()), Some("model_error"));
    assert_eq!(b.stored(), ["user: hello"]);
}

#[test]
fn shutdown_ends_the_run() {
    let mut b = hello();
    b.model([text("so")]);
    b.handle(Input::Fail(ErrorInfo::new(ErrorCode::ServerError, "The server restarts. Try again.")));
    assert_eq!((b.done, b.aborted), (Some(RunState::Error), 1));
    assert_eq!(b.last().mindset("reason").and_then(|v| v.as_str()), Some("internal"));
    assert_eq!(b.stored()[1], "assistant: so [error]");
}

#[test]
fn step_limit_comes_before_the_next_call() {
    let mut b = bounded(Bounds { steps: 2, ..Bounds::default() });
    for n in 0..2 {
        assert_eq!(b.done, None);
        b.model(call(0, None, "x", &format!("{{\"n\":{n}}}"))).model([end()]);
    }
    assert_eq!(b.requests.len(), 2);
    assert_eq!((b.done, b.aborted), (Some(RunState::Finished), 0));
    assert_eq!(b.sketch().last().unwrap(), CANCELLED);
    assert_eq!(b.last().mindset("bound").unwrap().to_string(), r#"{"reason":"step_limit","limit":2}"#);
}

#[test]
fn step_limit_counts_over_the_runs_of_a_turn() {
    let mut first = with_tools(&["look"]);
    first.model(call(0, Some("p1"), "look", "")).model([end()]);
    let agent = Agent { bounds: Bounds { steps: 1, ..Bounds::default() }, ..Agent::default() };
    let next = Bench::with(input("r2", vec![result("p1", "ok")]), agent, first.store).unwrap();
    assert_eq!(next.sketch(), ["started", CANCELLED]);
    assert_eq!(next.stored().last().unwrap(), "tool: ok");
}

#[test]
fn repetition_ends_the_turn() {
    let mut b = bounded(Bounds::default());
    for arguments in ["{\"a\":1}", "{ \"a\": 1 }", "{\"a\":2}"] {
        b.model(call(0, None, "x", arguments)).model([end()]);
    }
    assert_eq!(b.done, None, "one was another call");
    b.model(call(0, None, "x", "{\"a\":1}")).model([end()]);
    assert_eq!(b.last().mindset("bound").unwrap().to_string(), r#"{"reason":"repetition","limit":3}"#);
    assert_eq!(b.done, Some(RunState::Finished));
}

#[test]
fn deadline_cuts_the_answer() {
    let mut b = bounded(Bounds { deadline: 500, ..Bounds::default() });
    assert_eq!(b.turn.poll_timeout(), Some(1_500));
    b.model([text("so far")]);
    b.now = 1_499;
    b.handle(Input::Tick);
    assert_eq!(b.done, None);
    b.now = 1_500;
    b.handle(Input::Tick);
    assert_eq!(b.sketch()[1..], ["text(", "so far", ")text", CANCELLED]);
    assert_eq!(b.last().mindset("bound").unwrap().to_string(), r#"{"reason":"deadline","limit":500}"#);
    assert_eq!((b.done, b.aborted), (Some(RunState::Finished), 1));
    assert_eq!(b.stored()[1], "assistant: so far");
}

#[test]
fn no_event_is_larger_than_readers_take() {
    let mut b = hello();
    let long = "é".repeat(200_000);
    b.model([text(&long), end()]);
    let pieces: Vec<_> = b
        .events
        .iter()
        .filter_map(|e| match &e.body {
            Body::TextMessageContent { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert!(pieces.len() > 2 && pieces.iter().all(|p| p.len() <= 128 * 1024));
    assert_eq!(pieces.concat(), long);
}

#[test]
fn debug_tells_nothing() {
    assert_eq!(format!("{:?}", hello().turn), "Turn { .. }");
}
