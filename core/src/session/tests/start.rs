//! Start-up.

use super::*;
use crate::error::{ErrorCode, ErrorInfo};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn anonymous() {
    let mut bench = Bench::new();
    bench.start(Config { anonymous_key: Some("key-0".into()), ..config() });
    assert_eq!((bench.story(), bench.activity()), (vec!["initializing".into()], Activity::Starting));
    let request = bench.last(FetchPurpose::SignIn);
    assert_eq!((request.method, request.url.as_str()), ("POST", "https://agents.example/v1/anonymous"));
    let sent = r#"{"appUid":"acme","agentUid":"support","anonymousKey":"key-0"}"#;
    assert_eq!(request.body.as_deref(), Some(sent));
    bench.answer_json(200, r#"{"authToken":"secret-1","anonymousKey":"key-1"}"#);
    assert_eq!(
        (bench.story(), bench.activity()),
        (vec!["initializing".into(), "idle".into()], Activity::Idle)
    );
    assert!(bench.out.contains(&Output::StoreAnonymousKey("key-1".into())));
    assert!(!bench.session.is_busy() && bench.session.conversation_id().is_none());
    assert_eq!(bench.session.poll_timeout(), None);
}

#[test]
fn with_a_token_of_the_page() {
    let mut bench = Bench::new();
    bench.start(Config { page_auth: true, ..config() });
    assert!(bench.out.contains(&Output::NeedToken { fresh: false }));
    bench.input(Input::Token(Ok(Token::new("secret-page"))));
    bench.send(1, "hi");
    let run = bench.last(FetchPurpose::Run);
    assert!(run.headers.contains(&("Authorization", "Bearer secret-page".into())));
    assert!(run.headers.contains(&("Accept", "text/event-stream".into())));
    assert!(!format!("{:?} {:?}", bench.out, bench.session).contains("secret"));
}

#[test]
fn no_key_and_no_token_in_debug() {
    let mut bench = Bench::new();
    let config = Config { anonymous_key: Some("secret-key".into()), ..config() };
    assert!(!format!("{:?}", Input::Start(config.clone())).contains("secret"));
    bench.start(config);
    bench.answer_json(200, r#"{"authToken":"secret-1","anonymousKey":"secret-2"}"#);
    bench.send(1, "hi");
    assert!(!format!("{:?}", bench.out).contains("secret"));
}

#[test]
fn a_missing_attribute_is_named() {
    for (config, attribute) in [
        (Config { server: String::new(), ..config() }, "server"),
        (Config { app_uid: String::new(), ..config() }, "app-uid"),
        (Config { agent_uid: String::new(), ..config() }, "agent-uid"),
        (Config { server: String::new(), ..agui_config() }, "server"),
    ] {
        let mut bench = Bench::new();
        bench.send(1, "kept");
        bench.start(config);
        let error = bench.errors()[0];
        assert_eq!(error.code, ErrorCode::InvalidConfig);
        assert!(error.message.contains(&format!("`{attribute}`")), "{}", error.message);
        assert_eq!(bench.story(), ["error invalid-config", "settle 1 error"]);
        bench.start(super::config());
        bench.answer_json(200, r#"{"authToken":"t"}"#);
        assert_eq!(bench.story().last().unwrap(), "idle");
    }
}

#[test]
fn a_server_that_is_down_is_tried_again() {
    let mut bench = Bench::new();
    bench.start(config());
    bench.send(1, "hi");
    bench.fail();
    assert_eq!(bench.errors()[0].code, ErrorCode::Network);
    assert_eq!(bench.notice().unwrap().1, Some(NoticeAction::Reconnect));
    // Doubling pauses up to the longest one; the error is told once.
    for pause in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
        assert_eq!(bench.session.poll_timeout(), Some(bench.now + pause));
        let before = bench.requests().len();
        bench.pass(pause - 1);
        assert_eq!(bench.requests().len(), before);
        bench.pass(1);
        assert_eq!(bench.requests().len(), before + 1);
        bench.fail();
    }
    assert_eq!(bench.story(), ["initializing", "error network"]);
    bench.input(Input::Reconnect);
    bench.answer_json(200, r#"{"authToken":"t"}"#);
    assert_eq!(bench.notice(), None);
    bench.stream(HELLO);
    assert_eq!(bench.results()[0].1.text.as_deref(), Some("Hello"));
}

/// What readers were told of conversation and history.
fn settled(bench: &Bench) -> Vec<String> {
    let told = |output: &Output| match output {
        Output::Event(DomEvent::Conversation { detail }) => detail.str("conversationId").map(str::to_owned),
        Output::Event(DomEvent::History { messages }) => Some(messages.len().to_string()),
        _ => None,
    };
    bench.out.iter().filter_map(told).collect()
}

#[test]
fn the_history_is_settled_although_nothing_starts() {
    let stored = r#"{"messages":[{"id":"u","role":"user","content":"hi"}],"openCalls":[]}"#;
    for (id, early) in [(None, &["0"][..]), (Some("c"), &["c", "0"][..])] {
        let mut bench = Bench::new();
        bench.start(Config { conversation_id: id.map(str::to_owned), ..config() });
        bench.pass(14_999);
        assert_eq!(settled(&bench), [""; 0]);
        bench.pass(1);
        assert_eq!(settled(&bench), early);
        // What comes later is drawn and not told once more.
        bench.answer_json(200, r#"{"authToken":"t"}"#);
        if id.is_some() {
            bench.answer_json(200, stored);
            assert_eq!(bench.session.messages().len(), 1);
        }
        assert_eq!(settled(&bench), early);
        bench.pass(60_000);
        assert_eq!(settled(&bench), early);
    }
}

#[test]
fn the_history_is_settled_at_once_where_nothing_will_start() {
    let mut bench = Bench::new();
    bench.start(config());
    bench.answer(404, "text/html", "<html>");
    assert_eq!(settled(&bench), ["0"]);
    assert_eq!(bench.session.poll_timeout(), None);
}

#[test]
fn a_conversation_that_is_no_more_has_a_history_of_its_own() {
    let mut bench = Bench::new();
    bench.start(Config { conversation_id: Some("c".into()), ..config() });
    bench.pass(15_000);
    bench.answer_json(200, r#"{"authToken":"t"}"#);
    bench.answer(404, "application/json", r#"{"error":{"code":"not-found","message":"m"}}"#);
    let told = settled(&bench);
    assert_eq!((told.len(), &*told[1], &*told[3]), (4, "0", "0"), "{told:?}");
}

#[test]
fn no_answer_to_the_sign_in() {
    let mut bench = Bench::new();
    bench.start(config());
    bench.pass(30_000);
    assert_eq!(bench.errors()[0].code, ErrorCode::Timeout);
    assert_eq!(bench.aborted().len(), 1);
}

#[test]
fn what_cannot_get_better_by_itself_waits_for_somebody() {
    for (status, body, code) in [
        (404, r#"{"error":{"code":"agent-not-found","message":"No agent `x`."}}"#, ErrorCode::AgentNotFound),
        (403, r#"{"error":{"code":"origin-not-allowed","message":"m"}}"#, ErrorCode::OriginNotAllowed),
        (401, "", ErrorCode::InvalidAuth),
        (404, "<html>", ErrorCode::NotFound),
    ] {
        let mut bench = Bench::new();
        bench.start(config());
        bench.send(1, "hi");
        bench.answer(status, "text/html", body);
        assert_eq!(bench.errors()[0].code, code);
        assert_eq!(bench.story().last().unwrap(), "settle 1 error");
        assert_eq!(bench.result().error.as_ref().map(|e| e.code), Some(code));
        assert_eq!((bench.activity(), bench.session.poll_timeout()), (Activity::Starting, None));
        // The next message tries again, and goes out if that works.
        bench.send(2, "once more");
        bench.answer_json(200, r#"{"authToken":"t"}"#);
        bench.stream(HELLO);
        assert_eq!(bench.story().last().unwrap(), "settle 2 finished");
    }
}

#[test]
fn html_and_wrong_json_instead_of_a_sign_in() {
    for (kind, text) in [("text/html", "<!doctype html>"), ("application/json", "{}"), ("", "")] {
        let mut bench = Bench::new();
        bench.start(config());
        bench.answer(200, kind, text);
        assert_eq!(bench.errors()[0].code, ErrorCode::Protocol);
        assert!(bench.errors()[0].message.contains("`server`"));
    }
}

#[test]
fn an_anonymous_key_that_is_refused_is_dropped() {
    let mut bench = Bench::new();
    bench.start(Config { anonymous_key: Some("old".into()), ..config() });
    bench.answer_json(401, "{}");
    assert!(!bench.last(FetchPurpose::SignIn).body.unwrap().contains("anonymousKey"));
    bench.answer_json(401, "{}");
    assert_eq!(bench.errors()[0].code, ErrorCode::InvalidAuth);
}

#[test]
fn a_page_whose_token_function_fails() {
    let mut bench = Bench::new();
    bench.start(Config { page_auth: true, ..config() });
    let error = |code| Input::Token(Err(ErrorInfo::new(code, "m")));
    bench.input(error(ErrorCode::Network));
    bench.pass(1_000);
    assert_eq!(bench.out.iter().filter(|o| matches!(o, Output::NeedToken { .. })).count(), 2);
    bench.input(error(ErrorCode::InvalidAuth));
    assert_eq!(bench.session.poll_timeout(), None);
    // An answer nobody waits for changes nothing.
    bench.input(Input::Token(Ok(Token::new("late"))));
    assert_eq!(bench.story(), ["initializing", "error network", "error invalid-auth"]);
}

#[test]
fn another_start_ends_what_ran() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let old = bench.fetch();
    bench.head(200, "text/event-stream");
    for event in &HELLO[..3] {
        bench.event(event);
    }
    bench
        .try_send(2, "later", SendOptions { when_idle: true, silent: false, ..SendOptions::default() })
        .unwrap();
    bench.out.clear();
    bench.start(Config { agent_uid: "sales".into(), ..config() });
    let story = ["settle 2 aborted", "run_error cancelled", "idle", "settle 1 aborted", "initializing"];
    assert_eq!(bench.story(), story);
    assert_eq!(bench.aborted(), [old]);
    assert_eq!(*bench.patches()[0], Patch::Clear);
    assert!(bench.session.messages().is_empty() && !bench.session.is_busy());
    let before = bench.out.len();
    bench.input(Input::Bytes { fetch: old, bytes: b"data: x\n\n" });
    bench.input(Input::End { fetch: old, result: Ok(()) });
    assert_eq!(bench.out.len(), before);
    bench.answer_json(200, r#"{"authToken":"t"}"#);
    assert_eq!(bench.story().last().unwrap(), "idle");
}

#[test]
fn a_start_that_nobody_was_told_the_end_of() {
    // A listener starts anew while events of the old session still wait.
    let mut bench = Bench::ready();
    bench
        .session
        .handle(Input::Send { id: SendId(1), text: "hi", options: SendOptions::default() }, T0)
        .unwrap();
    bench.start(config());
    assert_eq!(bench.story(), ["settle 1 aborted", "initializing"]);
    assert_eq!(bench.activity(), Activity::Starting);
}

#[test]
fn plain_agui_needs_no_sign_in() {
    let mut bench = Bench::new();
    bench.start(agui_config());
    assert_eq!(bench.story(), ["initializing", "idle"]);
    assert!(bench.requests().is_empty());
}
