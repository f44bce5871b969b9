//! Credentials: renewed once for everything that waits, in time, and again while that fails.

use super::*;
use crate::error::{ErrorCode, ErrorInfo};
use crate::session::{Ask, AskId};
use crate::time::iso_8601;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Idle, with a token of the page that is good for so many milliseconds.
fn paged(life: Option<u64>) -> Bench {
    let mut bench = Bench::new();
    bench.start(Config { page_auth: true, ..config() });
    bench.input(Input::Token(Ok(token("one", life, T0))));
    bench.out.clear();
    bench
}

fn token(text: &str, life: Option<u64>, now: Millis) -> Token {
    Token::new(text).until(life.map(|life| now + life))
}

fn asked(bench: &Bench) -> usize {
    bench.out.iter().filter(|output| matches!(output, Output::NeedToken { .. })).count()
}

fn bearers(bench: &Bench) -> Vec<String> {
    let of = |request: &&FetchRequest| {
        request.headers.iter().find(|(name, _)| *name == "Authorization").map(|(_, value)| value.clone())
    };
    bench.requests().iter().filter_map(of).collect()
}

fn refuse(bench: &mut Bench, fetch: FetchId) {
    bench.input(Input::Head { fetch, status: 401, content_type: "" });
    bench.input(Input::End { fetch, result: Ok(()) });
}

#[test]
fn a_while_before_their_end() {
    for (life, due) in [
        (None, None),
        (Some(0), None),
        (Some(3_600_000), Some(3_540_000)),
        (Some(120_000), Some(60_000)),
        (Some(60_000), Some(30_000)),
        // Never twice in a second.
        (Some(1_200), Some(1_000)),
        (Some(10), Some(1_000)),
    ] {
        let mut bench = paged(life);
        assert_eq!(bench.session.poll_timeout(), due.map(|due| T0 + due), "{life:?}");
        let Some(due) = due else { continue };
        bench.pass(due - 1);
        assert_eq!(asked(&bench), 0);
        bench.pass(1);
        assert!(bench.out.contains(&Output::NeedToken { fresh: true }));
        assert_eq!(bench.session.poll_timeout(), None);
        let next = token("two", Some(3_600_000), bench.now);
        bench.input(Input::Token(Ok(next)));
        bench.send(1, "hi");
        assert_eq!((bearers(&bench), asked(&bench)), (vec!["Bearer two".to_owned()], 1));
    }
}

#[test]
fn the_server_tells_the_end() {
    for (end, due) in [
        (iso_8601(T0 + 3_600_000), Some(T0 + 3_540_000)),
        (iso_8601(T0 - 1_000), None),
        ("tomorrow".to_owned(), None),
    ] {
        let mut bench = Bench::new();
        bench.start(config());
        bench.answer_json(200, &format!(r#"{{"authToken":"one","expiresAt":"{end}","anonymousKey":"key"}}"#));
        assert_eq!(bench.session.poll_timeout(), due, "{end}");
    }
}

#[test]
fn before_their_end_in_vain() {
    // While they are good nobody hears of it, and what is sent goes out with them.
    let mut bench = paged(Some(120_000));
    bench.pass(60_000);
    let fails = || Input::Token(Err(ErrorInfo::new(ErrorCode::Network, "The page's server is down.")));
    bench.input(fails());
    bench.send(1, "hi");
    bench.stream(HELLO);
    for _ in 0..10 {
        bench.settle_down();
        bench.input(fails());
    }
    assert!(bench.errors().is_empty() && bench.notice().is_none());
    assert_eq!(bench.session.poll_timeout(), None, "over: the next refusal asks again");
    assert_eq!(asked(&bench), 7);
    // Another shape is told at once.
    let mut bench = paged(Some(120_000));
    bench.pass(60_000);
    bench.input(Input::Token(Err(ErrorInfo::new(ErrorCode::InvalidAuth, "It gave a Response."))));
    assert_eq!(bench.errors()[0].message, "It gave a Response.");
    assert_eq!(bench.session.poll_timeout(), None);
}

#[test]
fn one_renewal_for_everything_that_waits() {
    let mut bench = paged(None);
    bench.send(1, "hi");
    let run = bench.fetch();
    bench.input(Input::Ask { id: AskId(1), ask: Ask::List });
    let list = bench.fetch();
    bench.input(Input::Ask { id: AskId(2), ask: Ask::Rename { id: "c".into(), title: "T".into() } });
    let rename = bench.fetch();
    for fetch in [list, run, rename] {
        refuse(&mut bench, fetch);
    }
    assert_eq!(asked(&bench), 1);
    let before = bench.requests().len();
    bench.input(Input::Token(Ok(Token::new("two"))));
    let again = bearers(&bench).split_off(before);
    assert_eq!(again, ["Bearer two", "Bearer two", "Bearer two"]);
}

#[test]
fn one_that_was_refused_late_asks_for_no_newer() {
    let mut bench = paged(None);
    bench.input(Input::Ask { id: AskId(1), ask: Ask::List });
    let slow = bench.fetch();
    bench.send(1, "hi");
    let run = bench.fetch();
    refuse(&mut bench, run);
    bench.input(Input::Token(Ok(Token::new("two"))));
    let before = bench.requests().len();
    refuse(&mut bench, slow);
    assert_eq!((asked(&bench), bearers(&bench).split_off(before)), (1, vec!["Bearer two".to_owned()]));
}

#[test]
fn a_page_that_fails_loses_nothing() {
    let mut bench = paged(None);
    bench.send(1, "hi");
    let run = bench.fetch();
    refuse(&mut bench, run);
    for (at, pause) in [1_000, 2_000, 4_000, 8_000].into_iter().enumerate() {
        bench.input(Input::Token(Err(ErrorInfo::new(ErrorCode::Network, "The page's server is down."))));
        assert_eq!(bench.session.poll_timeout(), Some(bench.now + pause));
        assert_eq!(
            bench.notice().unwrap(),
            ("The page's server is down.".into(), Some(NoticeAction::Reconnect))
        );
        bench.pass(pause);
        assert_eq!(asked(&bench), at + 2);
    }
    bench.input(Input::Token(Ok(Token::new("two"))));
    assert_eq!(bench.notice(), None);
    bench.stream(HELLO);
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
    assert!(bench.errors().is_empty());
}

#[test]
fn a_stop_while_a_page_fails() {
    let mut bench = paged(None);
    bench.send(1, "hi");
    let run = bench.fetch();
    refuse(&mut bench, run);
    bench.input(Input::Token(Err(ErrorInfo::new(ErrorCode::Network, "The page's server is down."))));
    bench.input(Input::Stop);
    assert_eq!((bench.notice(), bench.result().status.as_str()), (None, "aborted"));
    bench.settle_down();
    bench.input(Input::Token(Err(ErrorInfo::new(ErrorCode::Network, "The page's server is down."))));
    assert_eq!(bench.session.poll_timeout(), None, "nobody waits any more");
    assert!(bench.errors().is_empty() && bench.notice().is_none());
}

#[test]
fn another_shape_ends_what_waits_at_once() {
    let mut bench = paged(None);
    bench.send(1, "hi");
    bench.input(Input::Ask { id: AskId(7), ask: Ask::List });
    for fetch in [bench.requests()[0].id, bench.requests()[1].id] {
        refuse(&mut bench, fetch);
    }
    bench.input(Input::Token(Err(ErrorInfo::new(ErrorCode::InvalidAuth, "It gave a Response."))));
    assert_eq!(bench.run_error().reason.as_str(), "unauthorized");
    let answer = bench.out.iter().find_map(|output| match output {
        Output::Answer { id: AskId(7), result } => Some(result.as_ref().map_err(|error| error.code)),
        _ => None,
    });
    assert_eq!(answer, Some(Err(ErrorCode::InvalidAuth)));
    assert_eq!(bench.session.poll_timeout(), None);
    assert!(!bench.session.is_busy());
}

#[test]
fn new_parameters_arrive_all_the_same() {
    let mut bench = paged(None);
    bench.send(1, "hi");
    bench.head(200, "text/event-stream");
    bench.event(STARTED);
    let run = bench.fetch();
    bench.input(Input::SetPassthrough(crate::object! { "tenant": "acme" }));
    let update = bench.last(FetchPurpose::Passthrough);
    refuse(&mut bench, update.id);
    bench.input(Input::Token(Ok(Token::new("two"))));
    let again = bench.last(FetchPurpose::Passthrough);
    assert!(again.id != update.id && again.body == update.body && again.method == "PUT");
    bench.input(Input::Head { fetch: again.id, status: 200, content_type: "" });
    bench.input(Input::End { fetch: again.id, result: Ok(()) });
    bench.input(Input::Bytes { fetch: run, bytes: format!("data: {FINISHED}\n\n").as_bytes() });
    assert!(bench.errors().is_empty());
}

#[test]
fn a_cancel_is_said_again() {
    let mut bench = paged(None);
    bench.send(1, "hi");
    bench.head(200, "text/event-stream");
    bench.event(STARTED);
    bench.input(Input::Stop);
    let cancel = bench.last(FetchPurpose::Cancel);
    refuse(&mut bench, cancel.id);
    // The turn ends for the person in any case.
    bench.pass(3_000);
    assert_eq!(bench.story().last().unwrap(), "settle 1 aborted");
    bench.input(Input::Token(Ok(Token::new("two"))));
    let again = bench.last(FetchPurpose::Cancel);
    assert!(again.id != cancel.id && again.url == cancel.url);
    assert!(again.headers.contains(&("Authorization", "Bearer two".into())));
}

#[test]
fn the_session_names_the_conversation() {
    let mut bench = Bench::new();
    bench.start(Config { page_auth: true, conversation_id: Some("tab".into()), ..config() });
    let mut named = Token::new("one");
    named.conversation_id = Some("page".into());
    bench.input(Input::Token(Ok(named)));
    assert!(bench.last(FetchPurpose::Conversation).url.ends_with("/v1/conversations/page"));
    bench.answer_json(200, r#"{"messages":[]}"#);
    assert_eq!(bench.session.conversation_id(), Some("page"));
    // Later ones say nothing about it.
    bench.send(1, "hi");
    bench.answer_json(401, "");
    let mut other = Token::new("two");
    other.conversation_id = Some("other".into());
    bench.input(Input::Token(Ok(other)));
    bench.stream(HELLO);
    assert_eq!(bench.session.conversation_id(), Some("page"));
}
