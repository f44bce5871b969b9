//! Answers that are wrong, late or cut off.

use super::*;
use crate::error::ErrorCode;
use crate::event::{MessageStatus, Reason};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The turn ended with an error in the right order, and the session is usable.
fn failed(bench: &mut Bench, reason: Reason, code: ErrorCode) {
    let story = bench.story();
    let end = [format!("run_error {}", reason.as_str()), "idle".into(), "settle 1 error".into()];
    assert_eq!(story[story.len() - 3..], end);
    let told: Vec<_> = bench.errors().iter().map(|error| error.code).collect();
    assert!(told.is_empty() || told == [code], "{told:?}");
    let error = bench.result().error.clone().unwrap();
    assert_eq!(error.code, code, "{}", error.message);
    assert_eq!(bench.run_error().message, error.message);
    let (text, action) = bench.notice().unwrap();
    assert_eq!((text, action.is_some()), (error.message, error.retryable));
    assert_eq!(bench.activity(), Activity::Idle);
    bench.send(2, "next");
    assert_eq!(bench.notice(), None);
    bench.stream(HELLO);
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
}

#[test]
fn answers_that_are_no_stream() {
    let error = |code: &str| format!(r#"{{"error":{{"code":"{code}","message":"What. Do this."}}}}"#);
    for (status, kind, text, reason, code) in [
        (404, "application/json", error("agent-not-found"), Reason::Internal, ErrorCode::AgentNotFound),
        (429, "application/json", error("rate-limited"), Reason::RateLimited, ErrorCode::RateLimited),
        (409, "application/json", error("busy"), Reason::Internal, ErrorCode::Busy),
        (422, "application/json", error("invalid-request"), Reason::Internal, ErrorCode::InvalidRequest),
        (502, "text/html", "<html>Bad gateway".into(), Reason::Internal, ErrorCode::ServerError),
        (504, "text/html", "<html>".into(), Reason::Timeout, ErrorCode::Timeout),
        (
            200,
            "text/html",
            "<!doctype html><title>Shop</title>".into(),
            Reason::Internal,
            ErrorCode::Protocol,
        ),
        (200, "application/json", r#"{"ok":true}"#.into(), Reason::Internal, ErrorCode::Protocol),
        (200, "", String::new(), Reason::Internal, ErrorCode::Protocol),
        (204, "", String::new(), Reason::Internal, ErrorCode::Protocol),
        (200, "text/plain", "x".repeat(300_000), Reason::Internal, ErrorCode::Protocol),
    ] {
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        bench.answer(status, kind, &text);
        let message = bench.run_error().message.clone();
        assert!(message.contains(". ") && message.len() < 400, "{message}");
        failed(&mut bench, reason, code);
    }
}

#[test]
fn a_server_that_is_down() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let first = bench.last(FetchPurpose::Run);
    bench.break_down();
    assert!(bench.run_error().message.contains("Failed to fetch") && bench.run_error().retryable);
    assert!(bench.now - T0 >= 300_000, "it is tried for as long as it may come back");
    let posts: Vec<_> = bench.requests().into_iter().filter(|r| r.purpose == FetchPurpose::Run).collect();
    assert!((10..40).contains(&posts.len()), "{} tries", posts.len());
    assert!(posts.iter().all(|post| post.body == first.body));
    assert_eq!(bench.errors().len(), 1);
    failed(&mut bench, Reason::Interrupted, ErrorCode::Network);
}

#[test]
fn a_server_that_says_nothing() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let fetch = bench.fetch();
    assert_eq!(bench.session.poll_timeout(), Some(T0 + 30_000));
    bench.pass(30_000);
    assert_eq!(bench.aborted(), [fetch]);
    bench.settle_down();
    failed(&mut bench, Reason::Timeout, ErrorCode::Timeout);
}

#[test]
fn an_error_body_that_never_ends() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.head(500, "text/html");
    bench.bytes(b"<html>");
    bench.pass(30_000);
    failed(&mut bench, Reason::Internal, ErrorCode::ServerError);
}

#[test]
fn a_stream_that_goes_silent() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let fetch = bench.fetch();
    bench.head(200, "text/event-stream");
    for event in &HELLO[..3] {
        bench.event(event);
    }
    // Any byte counts as a sign of life.
    bench.pass(44_000);
    bench.bytes(b": still there\n\n");
    bench.pass(44_000);
    assert!(bench.session.is_busy());
    bench.pass(1_000);
    assert_eq!(bench.aborted(), [fetch]);
    assert_eq!(bench.result().text.as_deref(), Some("Hel"));
    assert_eq!(bench.session.messages()[1].status, Some(MessageStatus::Interrupted));
    failed(&mut bench, Reason::Interrupted, ErrorCode::Network);
}

#[test]
fn a_stream_cut_after_any_byte() {
    let whole: String = HELLO.iter().map(|e| format!("data: {e}\n\n")).collect();
    for cut in 0..whole.len() {
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        bench.head(200, "text/event-stream");
        bench.bytes(&whole.as_bytes()[..cut]);
        // Without event ids what follows cannot be told from what was there.
        if cut % 2 == 0 && cut > 0 {
            bench.end()
        } else {
            bench.fail()
        }
        if bench.session.is_busy() {
            assert!(!whole[..cut].contains("\n\n"), "{cut}");
            bench.break_down();
        }
        let text: String = bench.session.messages()[1..].iter().map(|m| m.content.as_str()).collect();
        assert!("Hello".starts_with(&text));
        failed(&mut bench, Reason::Interrupted, ErrorCode::Network);
    }
}

#[test]
fn a_stream_without_a_byte_is_no_agents_answer() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    while bench.session.is_busy() {
        bench.head(200, "text/event-stream");
        bench.end();
        if bench.session.is_busy() {
            bench.now = bench.session.poll_timeout().unwrap();
            bench.input(Input::Tick);
        }
    }
    failed(&mut bench, Reason::Internal, ErrorCode::Protocol);
}

#[test]
fn the_words_of_a_server_are_shown_as_far_as_a_person_reads() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let long = "x".repeat(500_000);
    bench.stream(&[HELLO[0], &format!(r#"{{"type":"RUN_ERROR","message":"{long}"}}"#)]);
    assert!(bench.run_error().message.len() < 1_100);
}

#[test]
fn a_stream_in_any_two_pieces() {
    let whole: String = HELLO.iter().map(|e| format!("data: {e}\n\n")).collect();
    for cut in 0..=whole.len() {
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        bench.head(200, "text/event-stream");
        let fetch = bench.fetch();
        for bytes in [&whole.as_bytes()[..cut], &whole.as_bytes()[cut..]] {
            bench.input(Input::Bytes { fetch, bytes });
        }
        assert_eq!(bench.result().text.as_deref(), Some("Hello"));
    }
}

#[test]
fn streams_that_break_the_protocol() {
    let huge = format!("\"{}", "x".repeat(11 * 1024 * 1024));
    for bad in [
        "not json",
        "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",",
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":7}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"nobody","delta":"x"}"#,
        r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
        STARTED,
        FINISHED,
        "[]",
        "null",
        &huge,
    ] {
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        let fetch = bench.fetch();
        bench.head(200, "text/event-stream");
        for event in [STARTED, SAY, HEL, bad] {
            bench.event(event);
        }
        assert_eq!(bench.aborted(), [fetch]);
        assert_eq!(bench.result().text.as_deref(), Some("Hel"));
        assert_eq!(bench.session.messages()[1].status, Some(MessageStatus::Error));
        failed(&mut bench, Reason::Internal, ErrorCode::Protocol);
    }
}

#[test]
fn a_run_that_fails() {
    for (metadata, reason, retryable, code) in [
        ("", Reason::ModelError, true, ErrorCode::ServerError),
        (
            r#","metadata":{"mindset":{"reason":"context_too_long","retryable":false}}"#,
            Reason::ContextTooLong,
            false,
            ErrorCode::TooLarge,
        ),
        (
            r#","code":"agent-misconfigured","metadata":{"mindset":{"reason":"internal"}}"#,
            Reason::Internal,
            false,
            ErrorCode::AgentMisconfigured,
        ),
        (
            r#","metadata":{"mindset":{"reason":"interrupted","effects":[{"toolCallId":"c"}]}}"#,
            Reason::Interrupted,
            true,
            ErrorCode::Network,
        ),
    ] {
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        let error = format!(r#"{{"type":"RUN_ERROR","message":"It broke."{metadata}}}"#);
        bench.stream(&[STARTED, SAY, HEL, &error]);
        assert_eq!(
            (bench.run_error().retryable, bench.run_error().message.as_str()),
            (retryable, "It broke.")
        );
        assert_eq!(bench.run_error().effects.len(), usize::from(metadata.contains("effects")));
        let status = bench.session.messages()[1].status;
        assert_eq!(status == Some(MessageStatus::Interrupted), reason == Reason::Interrupted);
        assert_eq!(bench.notice().unwrap().1, retryable.then_some(NoticeAction::Retry));
        failed(&mut bench, reason, code);
    }
}

#[test]
fn an_expired_token_is_renewed_once() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let first = bench.last(FetchPurpose::Run);
    bench.answer_json(401, r#"{"error":{"code":"auth-expired","message":"m"}}"#);
    assert!(bench.last(FetchPurpose::SignIn).body.unwrap().contains("key-1"));
    bench.answer_json(200, r#"{"authToken":"secret-2","anonymousKey":"key-1"}"#);
    let second = bench.last(FetchPurpose::Run);
    assert_eq!(first.body, second.body);
    assert!(second.headers.contains(&("Authorization", "Bearer secret-2".into())));
    bench.stream(HELLO);
    assert_eq!(bench.story().last().unwrap(), "settle 1 finished");
    assert_eq!(bench.story().iter().filter(|w| *w == "busy").count(), 1);
}

#[test]
fn credentials_that_are_refused_twice() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.answer_json(401, "{}");
    bench.answer_json(200, r#"{"authToken":"t"}"#);
    bench.answer_json(401, "{}");
    failed(&mut bench, Reason::Unauthorized, ErrorCode::InvalidAuth);
}

#[test]
fn the_page_renews_its_token() {
    let mut bench = Bench::new();
    bench.start(Config { page_auth: true, ..config() });
    bench.input(Input::Token(Ok(Token::new("one"))));
    bench.send(1, "hi");
    bench.answer_json(401, "{}");
    assert_eq!(*bench.out.last().unwrap(), Output::NeedToken { fresh: true });
    assert_eq!(bench.session.poll_timeout(), None);
    bench.input(Input::Token(Ok(Token::new("two"))));
    assert!(bench.last(FetchPurpose::Run).headers.contains(&("Authorization", "Bearer two".into())));
    bench.answer_json(401, "{}");
    failed(&mut bench, Reason::Unauthorized, ErrorCode::InvalidAuth);
    bench.send(3, "and");
    bench.answer_json(401, "{}");
    let info = crate::error::ErrorInfo::new(ErrorCode::InvalidAuth, "Sign in again.");
    bench.input(Input::Token(Err(info)));
    assert_eq!(bench.run_error().message, "Sign in again.");
    assert_eq!(bench.story().last().unwrap(), "settle 3 error");
}

#[test]
fn a_renewal_that_fails_is_tried_again() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.answer_json(401, "{}");
    bench.pass(30_000);
    let (text, action) = bench.notice().unwrap();
    assert!(text.contains("in time") && action == Some(NoticeAction::Reconnect));
    bench.pass(1_000);
    bench.fail();
    let before = bench.requests().len();
    bench.pass(1_999);
    assert_eq!(bench.requests().len(), before);
    bench.input(Input::Reconnect);
    bench.answer_json(200, r#"{"authToken":"t"}"#);
    assert_eq!(bench.notice(), None);
    bench.stream(HELLO);
    assert_eq!(bench.results().len(), 1);
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
}

#[test]
fn a_renewal_that_fails_for_long() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.answer_json(401, "{}");
    while bench.results().is_empty() {
        bench.fail();
        bench.settle_down();
    }
    assert!((300_000..=331_000).contains(&(bench.now - T0)), "the first try after five minutes");
    failed(&mut bench, Reason::Timeout, ErrorCode::Timeout);
}

#[test]
fn a_run_given_up_does_not_stay_in_the_way() {
    let busy = r#"{"error":{"code":"busy","message":"The conversation is answering already."}}"#;
    for cancel_answers in [true, false] {
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        let first = body(&bench.last(FetchPurpose::Run));
        bench.head(200, "text/event-stream");
        bench.event(STARTED);
        bench.fail();
        // The server does not know that nobody listens; the next message ends that.
        bench.input(Input::Retry { id: SendId(2) });
        let second = bench.last(FetchPurpose::Run);
        bench.answer_json(409, busy);
        let cancel = bench.last(FetchPurpose::Cancel);
        assert!(cancel.url.contains(first.get("runId").and_then(Value::as_str).unwrap()));
        if cancel_answers {
            bench.input(Input::Head { fetch: cancel.id, status: 200, content_type: "application/json" });
            bench.input(Input::End { fetch: cancel.id, result: Ok(()) });
        } else {
            bench.pass(30_000);
        }
        assert_eq!(bench.last(FetchPurpose::Run).body, second.body);
        bench.stream(HELLO);
        assert_eq!(bench.story().last().unwrap(), "settle 2 finished");
    }
    // A run of somebody else is left alone, and one cancel is enough.
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.answer_json(409, busy);
    assert_eq!(bench.run_error().reason, Reason::Internal);
    assert!(bench.requests().iter().all(|r| r.purpose != FetchPurpose::Cancel));
}
