//! Whole turns, from `sendMessage` to the stored conversation and back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::{BoundReason, Reason, RuntimeEvent};
use mindset_core::json::parse;
use mindset_core::session::{DomEvent, FetchPurpose, Input, SendOptions, TurnStatus};
use mindset_core::turn::{ModelEvent, ModelMessage, RunState};
use pair::{Canned, Pair, ScriptedModel, Step, call, config, text};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn says(answers: &[&str]) -> Pair {
    Pair::new(ScriptedModel::new(answers.iter().map(|a| Step::says(a))))
}

#[test]
fn hello() {
    let mut pair = says(&["Hello, how can I help?"]);
    let result = pair.ask("hello");
    assert_eq!(result.status, TurnStatus::Finished);
    assert_eq!(result.text.as_deref(), Some("Hello, how can I help?"));
    assert_eq!(pair.page().transcript(), ["user: hello", "assistant: Hello, how can I help?"]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
    assert_eq!(
        pair.page().sketch(),
        [
            "initializing",
            "history",
            "idle",
            "busy",
            "run_started",
            "complete",
            "run_finished",
            "conversation",
            "idle",
            "settled finished"
        ]
    );
    assert_eq!(pair.server.ended, [RunState::Finished]);
    assert_eq!(pair.page().anonymous_key.as_deref(), Some("anonymous-1"));
    let sessions_id = pair.page().session.conversation_id().map(str::to_owned);
    assert_eq!(sessions_id.as_ref(), pair.server.store.keys().next());
}

#[test]
fn both_sides_name_messages_alike() {
    let mut pair = says(&["One.", "Two."]);
    pair.ask("1");
    pair.ask("2");
    let ids: Vec<_> = pair.page().session.messages().iter().map(|m| m.id.clone()).collect();
    let stored: Vec<_> = pair.server.store.values().flatten().map(|m| m.id.clone()).collect();
    assert_eq!(ids, stored);
}

#[test]
fn silent_message_shows_only_the_answer() {
    let mut pair = says(&["The page is about cats."]);
    let options = SendOptions { silent: true, ..SendOptions::default() };
    let send = pair.send_from(0, "describe the page", options).unwrap();
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("The page is about cats."));
    assert_eq!(pair.page().transcript(), ["assistant: The page is about cats."]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
    assert!(pair.server.store.values().next().unwrap()[0].silent);
}

#[test]
fn second_message_knows_the_first() {
    let second = Step::says("Ada.").expects(|request| {
        let [ModelMessage::User(first), ModelMessage::Assistant { text, .. }, ModelMessage::User(second)] =
            &request.messages[..]
        else {
            panic!("{request:?}")
        };
        assert_eq!([first, text, second], ["I am Ada", "Hi Ada.", "who am I?"]);
    });
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Hi Ada."), second]));
    pair.ask("I am Ada");
    assert_eq!(pair.ask("who am I?").text.as_deref(), Some("Ada."));
    assert_eq!(pair.server.transcript(), pair.page().transcript());
    let body = parse(&pair.server.posted[1]).unwrap();
    assert_eq!(body.get("messages").unwrap().as_array().unwrap().len(), 1, "new messages only");
}

#[test]
fn busy_is_refused_at_once_and_when_idle_waits() {
    let mut pair = says(&["One.", "Two."]);
    let first = pair.send("1");
    let refused = pair.send_from(0, "no", SendOptions::default()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Busy);
    let waits = SendOptions { when_idle: true, ..SendOptions::default() };
    let second = pair.send_from(0, "2", waits).unwrap();
    pair.drive();
    assert_eq!(pair.page().result(first).text.as_deref(), Some("One."));
    assert_eq!(pair.page().result(second).text.as_deref(), Some("Two."));
    assert_eq!(pair.server.transcript(), ["user: 1", "assistant: One.", "user: 2", "assistant: Two."]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
}

#[test]
fn slow_model_stays_alive_through_signs_of_life() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Slow and steady.").slowly(100_000)]));
    assert_eq!(pair.ask("go").status, TurnStatus::Finished);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
}

#[test]
fn silence_past_the_heartbeat_opens_the_stream_again() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Too late.").slowly(100_000)]));
    pair.server.ping = 0;
    let result = pair.ask("go");
    assert_eq!(result.text.as_deref(), Some("Too late."));
    assert!(pair.page().sketch().contains(&"reconnecting".to_owned()));
    assert_eq!(pair.server.ended, [RunState::Finished]);
    assert_eq!(pair.server.transcript(), ["user: go", "assistant: Too late."]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
}

#[test]
fn retry_at_once_after_a_broken_stream_clears_the_old_run() {
    let slow = Step::says("One two three four").slowly(100_000);
    let mut pair = Pair::new(ScriptedModel::new([slow, Step::says("Whole.")]));
    pair.network.latency = 30;
    let send = pair.send("count");
    pair.drive_for(150_000);
    pair.set_network(false);
    assert_eq!(pair.drive_to_result(send).status, TurnStatus::Error);
    assert_eq!(pair.page().transcript(), ["user: count", "assistant: One  [interrupted]"]);
    assert!(pair.page().sketch().contains(&"error network".to_owned()));
    pair.set_network(true);
    assert_eq!(pair.retry().text.as_deref(), Some("Whole."));
    assert_eq!(pair.server.ended, [RunState::Cancelled, RunState::Finished]);
    assert_eq!(pair.server.stored(), ["user: count", "assistant: Whole."]);
}

#[test]
fn stop_before_the_head() {
    let mut pair = says(&["Never heard."]);
    pair.network.latency = 50;
    let send = pair.send("go");
    pair.drive_for(10);
    pair.stop();
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Aborted);
    assert!(pair.server.ended.len() == 1);
    pair.server.model.push(Step::says("Here."));
    assert_eq!(pair.ask("again").text.as_deref(), Some("Here."));
}

#[test]
fn stop_in_the_middle() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("One two three").slowly(100)]));
    let send = pair.send("count");
    pair.drive_for(250);
    pair.stop();
    pair.drive();
    let result = pair.page().result(send);
    assert_eq!((result.status, result.text.as_deref()), (TurnStatus::Aborted, Some("One two ")));
    assert_eq!(pair.server.ended, [RunState::Cancelled]);
    assert_eq!(pair.server.transcript(), ["user: count", "assistant: One two  [stopped]"]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
    assert!(pair.server.aborted > 0, "the model was dropped");
    let ended = &pair.page().sketch()[4..];
    assert_eq!(ended, ["run_started", "run_error", "idle", "settled aborted"]);
    pair.server.model.push(Step::says("Four.").expects(|r| assert_eq!(r.messages.len(), 3)));
    assert_eq!(pair.ask("go on").text.as_deref(), Some("Four."));
}

#[test]
fn stop_at_the_very_end() {
    // The answer is whole on the server when the cancel arrives.
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Done.").slowly(10)]));
    pair.network.latency = 100;
    let send = pair.send("go");
    pair.drive_for(215);
    pair.stop();
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Aborted);
    assert_eq!(pair.server.ended, [RunState::Finished]);
    pair.server.model.push(Step::says("Again."));
    assert_eq!(pair.ask("again").text.as_deref(), Some("Again."));
}

#[test]
fn model_errors_end_the_turn_and_leave_the_rest_usable() {
    for (reason, status) in [
        (Reason::ModelError, "error"),
        (Reason::RateLimited, "error"),
        (Reason::Timeout, "error"),
        (Reason::ContextTooLong, "error"),
        // The model's stream just ended.
        (Reason::Interrupted, "interrupted"),
    ] {
        let mut pair =
            Pair::new(ScriptedModel::new([Step::breaks("The three", reason), Step::says("Fine.")]));
        let result = pair.ask("reasons?");
        assert_eq!(result.status, TurnStatus::Error);
        assert_eq!(result.error.unwrap().message, "The model broke. Try again.");
        assert_eq!(pair.server.ended, [RunState::Error]);
        assert_eq!(
            pair.page().transcript(),
            ["user: reasons?".to_owned(), format!("assistant: The three [{status}]")]
        );
        assert_eq!(pair.server.transcript(), pair.page().transcript());
        assert_eq!(pair.ask("and now?").text.as_deref(), Some("Fine."));
    }
}

#[test]
fn model_that_says_nothing_is_an_error() {
    let mut pair = Pair::new(ScriptedModel::new([Step::events([])]));
    let result = pair.ask("hello");
    assert_eq!(result.status, TurnStatus::Error);
    assert!(result.error.unwrap().message.contains("answered with nothing"));
}

#[test]
fn retry_replaces_the_failed_attempt() {
    let first = Step::breaks("Half", Reason::Interrupted);
    let again = Step::says("Whole.")
        .expects(|request| assert_eq!(request.messages, [ModelMessage::User("hello".into())]));
    let mut pair = Pair::new(ScriptedModel::new([first, again]));
    pair.ask("hello");
    assert_eq!(pair.server.stored(), ["user: hello", "assistant: Half [interrupted]"]);
    assert_eq!(pair.retry().text.as_deref(), Some("Whole."));
    let body = parse(&pair.server.posted[1]).unwrap();
    let props = body.get("forwardedProps").and_then(|p| p.get("mindset")).unwrap();
    assert!(props.get("replaceFrom").is_some());
    assert_eq!(pair.server.stored(), ["user: hello", "assistant: Whole."]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
}

#[test]
fn retry_of_a_message_that_never_arrived() {
    let mut pair = says(&["Hello."]);
    pair.set_network(false);
    let result = pair.ask("hello");
    assert_eq!(result.error.unwrap().code, ErrorCode::Network);
    assert_eq!(pair.server.posted.len(), 0);
    pair.set_network(true);
    assert_eq!(pair.retry().text.as_deref(), Some("Hello."));
    assert_eq!(pair.server.stored(), ["user: hello", "assistant: Hello."]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
}

#[test]
fn expired_token_is_renewed_and_the_message_sent_once() {
    for page_auth in [false, true] {
        let mut pair = Pair::unstarted(ScriptedModel::new([Step::says("Hello.")]));
        pair.add_page(mindset_core::session::Config { page_auth, ..config() });
        pair.drive();
        pair.server.tokens.clear();
        assert_eq!(pair.ask("hello").status, TurnStatus::Finished);
        assert_eq!(pair.server.stored(), ["user: hello", "assistant: Hello."]);
        assert_eq!(pair.server.posted.len(), 1, "the refused one was not read");
    }
}

#[test]
fn credentials_that_stay_refused_end_the_turn() {
    let mut pair = says(&["Hello."]);
    for _ in 0..2 {
        let body = r#"{"error":{"code":"auth-expired","message":"The token is past its end."}}"#;
        let refusal =
            Canned { purpose: FetchPurpose::Run, status: 401, content_type: "application/json", body };
        pair.server.canned.push_back(refusal);
    }
    let result = pair.ask("hello");
    assert_eq!(result.error.unwrap().code, ErrorCode::AuthExpired);
    assert_eq!(pair.retry().text.as_deref(), Some("Hello."));
}

#[test]
fn answers_that_are_no_stream_end_the_turn() {
    for (status, content_type, body, code) in [
        (200, "text/html", "<!doctype html>", ErrorCode::Protocol),
        (200, "application/json", "{}", ErrorCode::Protocol),
        (200, "text/event-stream", "data: {oops\n\n", ErrorCode::Protocol),
        (
            200,
            "text/event-stream",
            "data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"x\"}\n\n",
            ErrorCode::Protocol,
        ),
        (502, "text/html", "<html>", ErrorCode::ServerError),
        (
            429,
            "application/json",
            r#"{"error":{"code":"rate-limited","message":"Slow down."}}"#,
            ErrorCode::RateLimited,
        ),
    ] {
        let mut pair = says(&["Hello."]);
        pair.server.canned.push_back(Canned { purpose: FetchPurpose::Run, status, content_type, body });
        let result = pair.ask("hello");
        assert_eq!(result.error.map(|e| e.code), Some(code), "{status} {content_type} {body}");
        assert_eq!(pair.ask("again").text.as_deref(), Some("Hello."));
    }
}

#[test]
fn a_message_without_an_answer_is_posted_again() {
    for (status, content_type) in [(0, ""), (200, "text/event-stream")] {
        let mut pair = says(&["Hello."]);
        for _ in 0..5 {
            let canned = Canned { purpose: FetchPurpose::Run, status, content_type, body: "" };
            pair.server.canned.push_back(canned);
        }
        assert_eq!(pair.ask("hello").text.as_deref(), Some("Hello."));
        assert_eq!(pair.server.posted.len(), 1);
        assert_eq!(pair.server.stored(), ["user: hello", "assistant: Hello."]);
        assert!(pair.page().sketch().contains(&"reconnecting".to_owned()));
    }
}

#[test]
fn server_that_comes_back_is_found() {
    let mut pair = Pair::unstarted(ScriptedModel::new([Step::says("Hello.")]));
    for _ in 0..3 {
        let gone = Canned { purpose: FetchPurpose::SignIn, status: 0, content_type: "", body: "" };
        pair.server.canned.push_back(gone);
    }
    pair.add_page(config());
    let send = pair.send("hello");
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("Hello."));
    let errors = pair.page().sketch().iter().filter(|e| e.starts_with("error")).count();
    assert_eq!(errors, 1, "told once");
}

#[test]
fn tool_of_the_client_that_the_page_does_not_have() {
    let ask = Step::events([vec![text("Let me look.")], call(0, "look", "")].concat());
    let answer = Step::says("I cannot look.").expects(|request| {
        assert!(matches!(&request.messages[2], ModelMessage::Tool { failed: true, .. }), "{request:?}");
    });
    let mut pair = Pair::new(ScriptedModel::new([ask, answer]));
    pair.server.tools = vec![mindset_core::agui::Tool {
        name: "look".into(),
        description: String::new(),
        parameters: None,
        metadata: None,
    }];
    let result = pair.ask("what do you see?");
    assert_eq!((result.status, result.text.as_deref()), (TurnStatus::Finished, Some("I cannot look.")));
    assert_eq!(pair.server.ended, [RunState::Waiting, RunState::Finished]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
    let started = pair.page().sketch().iter().filter(|e| *e == "run_started").count();
    assert_eq!(started, 1, "one turn");
}

#[test]
fn tool_that_nobody_has() {
    let ask = Step::events(call(0, "fly", "{\"to\":\"moon\"}"));
    let mut pair = Pair::new(ScriptedModel::new([ask, Step::says("I cannot fly.")]));
    assert_eq!(pair.ask("fly!").text.as_deref(), Some("I cannot fly."));
    assert_eq!(pair.server.ended, [RunState::Finished]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
}

#[test]
fn step_limit_ends_a_turn_well() {
    let mut n = 0;
    let mut pair = Pair::new(ScriptedModel::improvising(move |_| {
        n += 1;
        let mut events = vec![text(&format!("Try {n}."))];
        events.extend(call(0, "fly", &format!("{{\"n\":{n}}}")));
        events.push(ModelEvent::End { usage: None });
        events.into_iter().map(|e| (0, e)).collect()
    }));
    pair.server.agent.bounds.steps = 4;
    let result = pair.ask("fly!");
    assert_eq!(result.status, TurnStatus::Finished);
    assert_eq!(result.bound.map(|b| (b.reason, b.limit)), Some((BoundReason::StepLimit, 4)));
    assert_eq!((result.text.as_deref(), pair.server.model.requests.len()), (Some("Try 4."), 4));
    assert_eq!(pair.server.transcript(), pair.page().transcript());
}

#[test]
fn deadline_ends_a_turn_well() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("On and on and on").slowly(250)]));
    pair.server.agent.bounds.deadline = 1_100;
    let result = pair.ask("go");
    assert_eq!(result.status, TurnStatus::Finished);
    assert_eq!(result.bound.map(|b| (b.reason, b.limit)), Some((BoundReason::Deadline, 1_100)));
    assert_eq!(pair.page().transcript(), ["user: go", "assistant: On and on and "]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
}

#[test]
fn thinking_is_shown_and_kept_nowhere() {
    let thinks = Step::events([ModelEvent::Thinking("They greet.".into()), text("Hello.")]);
    let mut pair = Pair::new(ScriptedModel::new([thinks]));
    pair.ask("hello");
    let thought = pair.page().events.iter().any(|e| {
        matches!(e, pair::Heard::Event(DomEvent::Runtime(RuntimeEvent::ThinkingDelta { content })) if content == "They greet.")
    });
    assert!(thought);
    assert_eq!(pair.server.transcript(), ["user: hello", "assistant: Hello."]);
    assert_eq!(pair.server.transcript(), pair.page().transcript());
}

#[test]
fn shutdown_ends_every_turn() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("One two").slowly(100)]));
    let send = pair.send("go");
    pair.drive_for(150);
    let restart = || ErrorInfo::new(ErrorCode::ServerError, "The server restarts. Try again.");
    pair.server_input(|| mindset_core::turn::Input::Fail(restart()));
    pair.drive();
    let result = pair.page().result(send);
    assert_eq!(result.error.as_ref().unwrap().message, "The server restarts. Try again.");
    assert_eq!(pair.server.transcript(), pair.page().transcript());
}

#[test]
fn two_sessions_on_one_server_do_not_mix() {
    let echo = |request: &mindset_core::turn::ModelRequest| {
        let Some(ModelMessage::User(text)) = request.messages.last() else { panic!() };
        let words: Vec<_> = text.split_inclusive(' ').map(|w| (20, ModelEvent::Text(w.to_owned()))).collect();
        words.into_iter().chain([(20, ModelEvent::End { usage: None })]).collect()
    };
    let mut pair = Pair::unstarted(ScriptedModel::improvising(echo));
    pair.network.latency = 7;
    pair.add_page(config());
    pair.add_page(config());
    pair.drive();
    let sends: Vec<_> = ["a b c d", "e f g h"]
        .iter()
        .enumerate()
        .map(|(page, text)| pair.send_from(page, text, SendOptions::default()).unwrap())
        .collect();
    pair.drive();
    assert_eq!(pair.pages[0].result(sends[0]).text.as_deref(), Some("a b c d"));
    assert_eq!(pair.pages[1].result(sends[1]).text.as_deref(), Some("e f g h"));
    assert_eq!(pair.server.store.len(), 2);
}

#[test]
fn starting_again_forgets_the_old_session() {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("One two").slowly(100), Step::says("New.")]));
    let send = pair.send("old");
    pair.drive_for(150);
    pair.input(0, Input::Start(config())).unwrap();
    pair.server.model.push(Step::says("spare"));
    assert_eq!(pair.page().result(send).status, TurnStatus::Aborted);
    pair.drive_for(0);
    assert_eq!(pair.ask("new").text.as_deref(), Some("New."));
    assert_eq!(pair.page().transcript(), ["user: new", "assistant: New."]);
}
