//! Stop, at every stage of a turn.

use super::*;
use crate::event::MessageStatus;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const CANCELLED: &str =
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}"#;

/// A turn with "Hel" on the screen.
fn streaming() -> Bench {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.head(200, "text/event-stream");
    for event in &HELLO[..3] {
        bench.event(event);
    }
    bench
}

fn aborted(bench: &mut Bench) {
    let story = bench.story();
    assert_eq!(story[story.len() - 3..], ["run_error cancelled", "idle", "settle 1 aborted"]);
    assert!(bench.run_error().aborted);
    assert_eq!(bench.notice(), None);
    assert_eq!(bench.activity(), Activity::Idle);
    bench.send(2, "next");
    bench.stream(HELLO);
    assert_eq!(bench.story().last().unwrap(), "settle 2 finished");
}

#[test]
fn while_the_answer_arrives() {
    // Whatever the server makes of it, the person sees no more and gets "stopped".
    for last in [CANCELLED, FINISHED, r#"{"type":"RUN_ERROR","message":"m"}"#, "no json"] {
        let mut bench = streaming();
        let run = body(&bench.last(FetchPurpose::Run));
        let run_id = run.get("runId").and_then(Value::as_str).unwrap();
        bench.input(Input::Stop);
        assert_eq!(bench.activity(), Activity::Stopping);
        let cancel = bench.last(FetchPurpose::Cancel);
        assert_eq!(cancel.url, format!("https://agents.example/v1/runs/{run_id}/cancel"));
        assert!(cancel.headers.contains(&("Authorization", "Bearer secret-1".into())));
        bench.event(LO);
        bench.event(SAID);
        bench.input(Input::Stop);
        assert!(bench.session.is_busy());
        bench.event(last);
        assert_eq!(bench.result().text.as_deref(), Some("Hel"));
        assert_eq!(bench.session.messages()[1].status, Some(MessageStatus::Stopped));
        assert_eq!(bench.requests().iter().filter(|r| r.purpose == FetchPurpose::Cancel).count(), 1);
        aborted(&mut bench);
    }
}

#[test]
fn a_server_that_does_not_end_the_run() {
    let mut bench = streaming();
    let fetch = bench.fetch();
    bench.input(Input::Stop);
    bench.pass(2_999);
    assert!(bench.session.is_busy());
    bench.pass(1);
    assert_eq!(bench.aborted(), [fetch]);
    aborted(&mut bench);
}

#[test]
fn a_stream_that_breaks_while_stopping() {
    let mut bench = streaming();
    bench.input(Input::Stop);
    bench.fail();
    aborted(&mut bench);
}

#[test]
fn before_the_answer_began() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.input(Input::Stop);
    let cancel = bench.last(FetchPurpose::Cancel).id;
    bench.input(Input::Head { fetch: cancel, status: 404, content_type: "application/json" });
    bench.input(Input::End { fetch: cancel, result: Ok(()) });
    bench.head(200, "text/event-stream");
    bench.event(STARTED);
    assert_ne!(bench.last(FetchPurpose::Cancel).id, cancel);
    bench.event(CANCELLED);
    // Who heard that the agent is busy hears a whole turn.
    assert_eq!(bench.story().iter().filter(|word| *word == "run_started").count(), 1);
    aborted(&mut bench);
}

#[test]
fn a_run_that_may_start_after_all() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.input(Input::Stop);
    let fetch = bench.last(FetchPurpose::Cancel).id;
    bench.input(Input::Head { fetch, status: 404, content_type: "" });
    bench.pass(3_000);
    assert_ne!(bench.last(FetchPurpose::Cancel).id, fetch);
    aborted(&mut bench);
}

#[test]
fn a_cancel_that_comes_too_late_is_not_repeated() {
    let mut bench = streaming();
    bench.input(Input::Stop);
    let fetch = bench.last(FetchPurpose::Cancel).id;
    bench.input(Input::Head { fetch, status: 404, content_type: "" });
    bench.event(LO);
    assert_eq!(bench.last(FetchPurpose::Cancel).id, fetch);
    bench.end();
    aborted(&mut bench);
}

#[test]
fn a_refusal_after_stop() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.input(Input::Stop);
    bench.head(422, "application/json");
    aborted(&mut bench);
}

#[test]
fn while_credentials_are_renewed() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.answer_json(401, "{}");
    bench.input(Input::Stop);
    aborted(&mut bench);
    assert_eq!(bench.requests().last().unwrap().purpose, FetchPurpose::Run, "with the next message");
}

#[test]
fn while_an_error_arrives() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.head(500, "text/html");
    bench.input(Input::Stop);
    aborted(&mut bench);
}

#[test]
fn a_server_without_cancel() {
    for events in 0..3 {
        let mut bench = Bench::agui();
        bench.send(1, "hi");
        let fetch = bench.fetch();
        bench.head(200, "text/event-stream");
        for event in &HELLO[..events] {
            bench.event(event);
        }
        bench.input(Input::Stop);
        assert_eq!(bench.aborted(), [fetch]);
        aborted(&mut bench);
    }
}

#[test]
fn somebody_else_stopped_it() {
    let mut bench = streaming();
    bench.event(SAID);
    bench.event(CANCELLED);
    assert_eq!(bench.session.messages()[1].status, Some(MessageStatus::Stopped));
    aborted(&mut bench);
}

#[test]
fn when_nothing_runs() {
    let mut bench = Bench::ready();
    bench.input(Input::Stop);
    assert!(bench.out.is_empty());
}

#[test]
fn before_ready_it_drops_what_waits() {
    let start = |bench: &mut Bench| bench.start(config());
    let fail = |bench: &mut Bench| {
        bench.start(config());
        bench.fail();
    };
    for prepare in [(|_| {}) as fn(&mut Bench), start, fail] {
        let mut bench = Bench::new();
        prepare(&mut bench);
        bench.send(1, "hi");
        bench.input(Input::Stop);
        assert_eq!(bench.story().last().unwrap(), "settle 1 aborted");
        assert_eq!(bench.session.messages()[0].status, Some(MessageStatus::Stopped));
        assert!(!bench.session.is_busy());
        bench.start(config());
        bench.answer_json(200, r#"{"authToken":"t"}"#);
        assert_eq!(bench.story().last().unwrap(), "idle");
    }
}

#[test]
fn what_waits_for_idle_follows_a_stopped_turn() {
    let mut bench = streaming();
    bench
        .try_send(2, "then", SendOptions { when_idle: true, silent: false, ..SendOptions::default() })
        .unwrap();
    bench.input(Input::Stop);
    bench.event(SAID);
    bench.event(CANCELLED);
    bench.stream(HELLO);
    let settled: Vec<_> = bench.results().iter().map(|(id, r)| (*id, r.status)).collect();
    assert_eq!(settled, [(1, TurnStatus::Aborted), (2, TurnStatus::Finished)]);
}

#[test]
fn while_an_earlier_run_is_cleared_away() {
    let mut bench = Bench::ready();
    bench.send(0, "hi");
    bench.break_down();
    bench.send(1, "again");
    bench.answer_json(409, r#"{"error":{"code":"busy","message":"m"}}"#);
    bench.input(Input::Stop);
    assert!(bench.aborted().is_empty());
    aborted(&mut bench);
}
