//! Connections that break, go silent or come back in the middle of a turn, servers that
//! start again, and pages that show one conversation together.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::error::ErrorCode;
use mindset_core::event::{BoundReason, MessageStatus, Reason, RuntimeEvent};
use mindset_core::session::{
    Config, DomEvent, FetchPurpose, FetchRequest, Input, SendId, SendOptions, TurnStatus,
};
use mindset_core::turn::{ModelEvent, RunState};
use mindset_core::view::{Notice, NoticeAction, Patch};
use pair::{Canned, Cut, Heard, Pair, ScriptedModel, Step, call, config, text, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// An answer with a pause of `time` milliseconds before each word and before its end.
fn slow(answer: &str, time: u64) -> Pair {
    Pair::new(ScriptedModel::new([Step::says(answer).slowly(time)]))
}

fn resumes(pair: &Pair) -> Vec<&FetchRequest> {
    pair.requested.iter().filter(|request| request.purpose == FetchPurpose::Events).collect()
}

/// The position that a request for events goes on from.
fn position(request: &FetchRequest) -> Option<u64> {
    let (_, id) = request.headers.iter().find(|(name, _)| *name == "Last-Event-ID")?;
    id.rsplit_once(':')?.1.parse().ok()
}

fn connections(pair: &Pair, page: usize) -> Vec<&'static str> {
    let state = |heard: &Heard| match heard {
        Heard::Event(DomEvent::Connection(state)) => Some(state.as_str()),
        _ => None,
    };
    pair.pages[page].events.iter().filter_map(state).collect()
}

fn notice(pair: &Pair, page: usize) -> Option<Notice> {
    let set = |patch: &Patch| match patch {
        Patch::SetNotice(notice) => Some(notice.clone()),
        _ => None,
    };
    pair.pages[page].patches.iter().rev().find_map(set).flatten()
}

fn run_error(pair: &Pair, page: usize) -> mindset_core::event::RunError {
    let error = |event: &&RuntimeEvent| match event {
        RuntimeEvent::RunError(error) => Some(error.clone()),
        _ => None,
    };
    pair.pages[page].runtime().iter().rev().find_map(error).expect("a run_error")
}

fn deltas(pair: &Pair, page: usize) -> String {
    let delta = |event: &RuntimeEvent| match event {
        RuntimeEvent::TextDelta { content, .. } => Some(content.clone()),
        _ => None,
    };
    pair.pages[page].runtime().into_iter().filter_map(delta).collect()
}

/// H-25: the stream looks open and never speaks, the laptop sleeps and wakes.
#[test]
fn a_half_open_stream_is_found_out_on_waking() {
    let mut pair = slow("Hel lo world", 20_000);
    let send = pair.send("hi");
    pair.drive_for(41_000);
    assert_eq!(pair.page().transcript(), ["user: hi", "assistant: Hel lo "]);
    // From here on nothing comes any more, and nobody says so.
    let fetch = *pair.page().open.iter().next().unwrap();
    pair.server.drop_reader(0, fetch);
    pair.drive_for(16_000);
    assert!(resumes(&pair).is_empty());
    pair.input(0, Input::Wake).unwrap();
    assert_eq!(notice(&pair, 0).map(|n| (n.error, n.action)), Some((false, Some(NoticeAction::Reconnect))));
    assert_eq!(resumes(&pair).len(), 1);
    pair.drive();
    assert!(position(resumes(&pair)[0]).unwrap() >= 3, "from the last event on");
    assert_eq!(deltas(&pair, 0), "Hel lo world");
    assert_eq!(pair.page().result(send).text.as_deref(), Some("Hel lo world"));
    assert_eq!(connections(&pair, 0), ["reconnecting", "online"]);
    assert_eq!(notice(&pair, 0), None);
    assert!(!pair.page().sketch().iter().any(|event| event.starts_with("error")));
}

#[test]
fn waking_leaves_a_healthy_stream_alone_and_waits_one_interval_for_a_quiet_one() {
    let mut pair = slow("Hel lo world", 20_000);
    pair.send("hi");
    pair.drive_for(41_000);
    pair.input(0, Input::Wake).unwrap();
    pair.drive_for(60_000);
    assert!(resumes(&pair).is_empty(), "it speaks at least every 15 s");

    let mut pair = slow("Hel lo world", 20_000);
    pair.send("hi");
    pair.drive_for(41_000);
    let fetch = *pair.page().open.iter().next().unwrap();
    pair.server.drop_reader(0, fetch);
    pair.input(0, Input::Wake).unwrap();
    pair.drive_for(22_000);
    assert!(resumes(&pair).is_empty());
    pair.drive_for(1_000);
    assert_eq!(resumes(&pair).len(), 1, "not only after the whole heartbeat");
    pair.drive();
    assert_eq!(deltas(&pair, 0), "Hel lo world");
}

#[test]
fn the_network_comes_back_and_the_answer_is_whole() {
    let mut pair = slow("One two three", 10_000);
    let send = pair.send("count");
    pair.drive_for(15_000);
    pair.set_network(false);
    pair.input(0, Input::Online(false)).unwrap();
    // Hours without a network are no reason to give up.
    pair.drive_for(10_000_000);
    assert!(!pair.page().settled(send));
    assert!(notice(&pair, 0).unwrap().text.contains("no network"));
    pair.set_network(true);
    let tries = resumes(&pair).len();
    pair.input(0, Input::Online(true)).unwrap();
    assert_eq!(resumes(&pair).len(), tries + 1, "at once");
    pair.drive_for(0);
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("One two three"));
    assert_eq!(deltas(&pair, 0), "One two three");
    let states = connections(&pair, 0);
    assert_eq!((states[1], *states.last().unwrap()), ("offline", "online"), "{states:?}");
    assert_eq!(notice(&pair, 0), None);
}

#[test]
fn an_idle_session_says_how_its_network_is() {
    let mut pair = slow("Hi.", 0);
    pair.input(0, Input::Online(true)).unwrap();
    pair.input(0, Input::Online(false)).unwrap();
    pair.input(0, Input::Online(false)).unwrap();
    pair.input(0, Input::Online(true)).unwrap();
    assert_eq!(connections(&pair, 0), ["offline", "online"]);
    assert_eq!(pair.ask("hi").status, TurnStatus::Finished);
}

#[test]
fn a_page_that_finds_nobody_gives_up_and_says_so_once() {
    let mut pair = slow("One two three", 100);
    let send = pair.send("count");
    pair.drive_for(150);
    pair.set_network(false);
    let from = pair.now;
    pair.drive();
    assert!((300_000..400_000).contains(&(pair.now - from)), "{}", pair.now - from);
    let result = pair.page().result(send);
    assert_eq!((result.status, result.text.as_deref()), (TurnStatus::Error, Some("One ")));
    let error = run_error(&pair, 0);
    assert_eq!((error.reason, error.retryable, error.aborted), (Reason::Interrupted, true, false));
    assert_eq!(pair.page().sketch().iter().filter(|event| *event == "error network").count(), 1);
    assert_eq!(notice(&pair, 0).unwrap().action, Some(NoticeAction::Retry));
    let tries = resumes(&pair).len();
    assert!((8..40).contains(&tries), "{tries} tries");
    assert_eq!(pair.page().session.messages()[1].status, Some(MessageStatus::Interrupted));
    // Nobody comes back in step with anybody else.
    assert_eq!(pair.server.ended, [RunState::Finished], "the turn went on");
}

#[test]
fn reconnect_does_not_wait_for_the_pause() {
    let mut pair = slow("One two", 20_000);
    let send = pair.send("count");
    pair.drive_for(25_000);
    pair.set_network(false);
    pair.drive_for(100_000);
    pair.set_network(true);
    let tries = resumes(&pair).len();
    pair.input(0, Input::Reconnect).unwrap();
    assert_eq!(resumes(&pair).len(), tries + 1);
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("One two"));
}

#[test]
fn credentials_that_expired_meanwhile_are_renewed() {
    let mut pair = slow("One two three", 10_000);
    let send = pair.send("count");
    pair.drive_for(15_000);
    pair.server.tokens.clear();
    pair.set_network(false);
    pair.set_network(true);
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("One two three"));
    assert_eq!(deltas(&pair, 0), "One two three");
    assert_eq!(resumes(&pair).len(), 2, "refused once, and then with the new ones");
}

#[test]
fn credentials_may_expire_again_while_nothing_gets_through() {
    let mut pair = slow("One two three", 0);
    pair.server.tokens.clear();
    pair.network.latency = 10;
    let send = pair.send("count");
    // Refused, and posted again with new ones when the network goes; then those expire too.
    pair.drive_for(45);
    pair.set_network(false);
    pair.server.tokens.clear();
    pair.set_network(true);
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("One two three"));
    assert_eq!(pair.server.posted.len(), 1);
}

#[test]
fn what_stands_between_may_answer_for_the_server() {
    for (status, content_type) in [(502, "text/html"), (200, "text/html"), (429, ""), (0, "")] {
        let mut pair = slow("One two three", 10_000);
        let send = pair.send("count");
        pair.drive_for(15_000);
        for _ in 0..3 {
            let body = "<html>";
            pair.server.canned.push_back(Canned {
                purpose: FetchPurpose::Events,
                status,
                content_type,
                body,
            });
        }
        pair.set_network(false);
        pair.set_network(true);
        pair.drive();
        assert_eq!(pair.page().result(send).text.as_deref(), Some("One two three"), "{status}");
        assert_eq!(deltas(&pair, 0), "One two three");
    }
}

/// H-25, the variant: the server knows nothing of the run any more.
#[test]
fn a_server_that_forgot_the_run_leaves_what_is_stored() {
    // It had come to its end.
    let mut pair = slow("One two three", 100);
    pair.network.cut = Some(Cut::silent(600));
    let send = pair.send("count");
    pair.drive_for(5_000);
    pair.server.forget_runs();
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Finished);
    assert_eq!(deltas(&pair, 0), "One two three");
    assert_eq!(pair.page().transcript(), pair.server.transcript());

    // It had not, and nobody knows how it would have.
    let mut pair = slow("One two three", 20_000);
    let send = pair.send("count");
    pair.drive_for(25_000);
    pair.server.forget_runs();
    pair.set_network(false);
    pair.set_network(true);
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Error);
    assert_eq!(run_error(&pair, 0).reason, Reason::Interrupted);
    assert!(notice(&pair, 0).unwrap().text.contains("no longer knows"));
    pair.server.model = ScriptedModel::new([Step::says("Again.")]);
    assert_eq!(pair.retry().text.as_deref(), Some("Again."));
    assert_eq!(pair.page().transcript(), ["user: count", "assistant: Again."]);
    assert_eq!(pair.page().transcript(), pair.server.transcript());
}

/// Fault 27: the conversation itself is unknown after a restart.
#[test]
fn a_server_that_forgot_everything_says_so() {
    let mut pair = slow("One two three", 20_000);
    let send = pair.send("count");
    pair.drive_for(25_000);
    pair.server.forget_runs();
    pair.server.store.clear();
    pair.set_network(false);
    pair.set_network(true);
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Error);
    assert!(run_error(&pair, 0).message.contains("no longer knows"));
    pair.server.model = ScriptedModel::new([Step::says("Anew.")]);
    assert_eq!(pair.ask("again").text.as_deref(), Some("Anew."));
}

#[test]
fn a_server_that_died_tells_what_it_did() {
    let mut pair = slow("One two three", 10_000);
    let send = pair.send("count");
    pair.drive_for(15_000);
    pair.crash();
    pair.drive();
    let result = pair.page().result(send);
    assert_eq!(result.status, TurnStatus::Error);
    assert_eq!(run_error(&pair, 0).reason, Reason::Interrupted);
    assert_eq!(pair.page().transcript(), ["user: count", "assistant: One  [interrupted]"]);
    assert_eq!(pair.page().transcript(), pair.server.transcript());
    assert!(!pair.page().sketch().iter().any(|event| event.starts_with("error")), "it was reached");
    pair.server.model = ScriptedModel::new([Step::says("Four.")]);
    assert_eq!(pair.ask("go on").text.as_deref(), Some("Four."));
}

/// Fault 22: stop on a stream that was opened again.
#[test]
fn stop_on_a_resumed_stream_ends_the_run() {
    let mut pair = slow("One two three four", 10_000);
    let send = pair.send("count");
    pair.drive_for(15_000);
    pair.set_network(false);
    pair.set_network(true);
    pair.drive_for(10_000);
    let said = deltas(&pair, 0);
    assert_eq!(said, "One two ");
    pair.stop();
    pair.drive();
    assert_eq!(deltas(&pair, 0), said, "nothing after the stop");
    assert_eq!(pair.server.ended, [RunState::Cancelled]);
    assert_eq!(pair.page().result(send).status, TurnStatus::Aborted);
    assert!(run_error(&pair, 0).aborted);
    assert_eq!(pair.page().transcript(), pair.server.transcript());
}

#[test]
fn stop_while_the_connection_is_broken() {
    // The cancel comes through.
    let mut pair = slow("One two three four", 100_000);
    let send = pair.send("count");
    pair.drive_for(150_000);
    for _ in 0..3 {
        let canned = Canned { purpose: FetchPurpose::Events, status: 503, content_type: "", body: "" };
        pair.server.canned.push_back(canned);
    }
    pair.set_network(false);
    pair.set_network(true);
    pair.drive_for(10);
    pair.stop();
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Aborted);
    assert_eq!(pair.server.ended, [RunState::Cancelled]);
    assert_eq!(notice(&pair, 0), None);

    // It does not: the next message ends the run first.
    let mut pair = slow("One two three four", 100_000);
    let send = pair.send("count");
    pair.drive_for(150_000);
    pair.set_network(false);
    pair.drive_for(10);
    pair.stop();
    pair.drive_to_result(send);
    assert_eq!(pair.page().result(send).status, TurnStatus::Aborted);
    pair.set_network(true);
    pair.server.model.push(Step::says("Here."));
    assert_eq!(pair.ask("again").text.as_deref(), Some("Here."));
    assert_eq!(pair.server.ended, [RunState::Cancelled, RunState::Finished]);
}

/// Fault 24: a stream that ends without its last event is no finished turn.
#[test]
fn half_a_sentence_is_never_an_answer() {
    let mut pair = slow("Transferring $50,0 00 now.", 1_000);
    let send = pair.send("pay");
    pair.drive_for(2_500);
    let fetch = *pair.page().open.iter().next().unwrap();
    pair.server.drop_reader(0, fetch);
    pair.pages[0].open.remove(&fetch);
    pair.input(0, Input::End { fetch, result: Ok(()) }).unwrap();
    assert!(!pair.page().settled(send));
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("Transferring $50,0 00 now."));
    assert_eq!(pair.page().transcript(), pair.server.transcript());
}

/// Fault 25: an error of the server after a part of the answer, read over any connection.
#[test]
fn an_error_that_comes_after_a_break_is_an_error() {
    let broken = || Pair::new(ScriptedModel::new([Step::breaks("Half ", Reason::ModelError)]));
    let mut whole = broken();
    whole.ask("go");
    for after in 0..whole.server.streams[0].len() {
        let mut pair = broken();
        pair.network.cut = Some(Cut::broken(after));
        let result = pair.ask("go");
        assert_eq!(result.error.unwrap().message, "The model broke. Try again.");
        assert_eq!(pair.page().transcript(), ["user: go", "assistant: Half  [error]"]);
        let errors = pair.page().sketch().iter().filter(|event| *event == "run_error").count();
        assert_eq!(errors, 1, "after {after}");
    }
}

/// Two pages of one browser with one conversation that has one message and its answer.
fn two_pages(steps: impl IntoIterator<Item = Step>) -> Pair {
    let mut pair = Pair::new(ScriptedModel::new([Step::says("Hi.")]));
    pair.ask("hello");
    let conversation_id = pair.page().conversation.clone();
    let client_id = "client-2".to_owned();
    pair.add_page(Config { conversation_id, client_id, ..config() });
    pair.drive();
    assert_eq!(pair.pages[1].transcript(), pair.page().transcript());
    pair.server.model = ScriptedModel::new(steps);
    pair
}

#[test]
fn another_page_sees_the_turn_as_it_runs() {
    let mut pair = two_pages([Step::says("One two three").slowly(1_000)]);
    let send = pair.send("count");
    pair.drive_for(2_500);
    assert_eq!(pair.pages[1].transcript(), pair.page().transcript());
    assert_eq!(deltas(&pair, 1), "One two ");
    // Nothing comes in between.
    let refused = pair.send_from(1, "and now?", SendOptions::default()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Busy);
    let waits = pair
        .send_from(1, "then?", SendOptions { when_idle: true, silent: false, ..SendOptions::default() })
        .unwrap();
    pair.server.model.push(Step::says("Then that."));
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("One two three"));
    assert_eq!(pair.pages[1].result(waits).text.as_deref(), Some("Then that."));
    assert_eq!(pair.server.posted.len(), 3, "each message once");
    assert_eq!(pair.pages[0].transcript(), pair.server.transcript());
    assert_eq!(pair.pages[1].transcript(), pair.server.transcript());
    let story = pair.pages[1].sketch();
    let turn = ["busy", "run_started", "complete", "run_finished"];
    assert!(story.windows(4).any(|events| events == turn), "{story:?}");
}

#[test]
fn either_page_stops_the_turn() {
    for page in [0, 1] {
        let mut pair = two_pages([Step::says("One two three").slowly(1_000)]);
        let send = pair.send("count");
        pair.drive_for(2_500);
        let said = deltas(&pair, page);
        pair.input(page, Input::Stop).unwrap();
        pair.drive();
        assert_eq!(deltas(&pair, page), said);
        assert_eq!(pair.server.ended.last(), Some(&RunState::Cancelled));
        assert_eq!(pair.page().result(send).status, TurnStatus::Aborted);
        assert!(run_error(&pair, 0).aborted && run_error(&pair, 1).aborted);
        assert_eq!(pair.pages[0].transcript(), pair.server.transcript());
        assert_eq!(pair.pages[1].transcript(), pair.server.transcript());
    }
}

fn with_a_page_tool(time: Option<u64>) -> Pair {
    let steps = [
        Step::events([vec![text("Look: ")], call(0, "act", "{}")].concat()),
        Step::says("Done."),
        Step::says("Sure."),
    ];
    let mut pair = two_pages(steps);
    for page in 0..2 {
        pair.input(page, Input::SetPageTools(vec![tool("act", "")])).unwrap();
    }
    pair.pages[0].handler = Box::new(move |_| time.map(|time| (time, Ok("true".to_owned()))));
    pair
}

#[test]
fn a_tool_of_one_page_is_waited_for_in_the_other() {
    let mut pair = with_a_page_tool(Some(5_000));
    let send = pair.send("act");
    pair.drive_for(2_000);
    assert!(notice(&pair, 1).unwrap().text.contains("another tab"), "{:?}", notice(&pair, 1));
    assert!(pair.pages[1].session.is_busy());
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("Done."));
    assert_eq!((pair.pages[0].runs.len(), pair.pages[1].runs.len()), (1, 0));
    assert_eq!(pair.pages[1].transcript(), pair.server.transcript());
    let story = pair.pages[1].sketch();
    assert_eq!(story.iter().filter(|event| *event == "complete").count(), 1, "{story:?}");
    assert_eq!(notice(&pair, 1), None);
}

#[test]
fn a_page_goes_on_for_one_that_is_gone() {
    let mut pair = with_a_page_tool(None);
    pair.send("act");
    pair.drive_for(2_000);
    pair.leave(0);
    pair.drive();
    assert_eq!((pair.pages[0].runs.len(), pair.pages[1].runs.len()), (1, 0), "never a second time");
    assert_eq!(pair.pages[1].transcript(), pair.server.transcript());
    assert_eq!(pair.pages[1].transcript().last().unwrap(), "assistant: Done.");
    let send = pair.send_from(1, "go on", SendOptions::default()).unwrap();
    pair.drive();
    assert_eq!(pair.pages[1].result(send).text.as_deref(), Some("Sure."));
}

#[test]
fn the_other_page_stops_a_turn_that_waits_for_a_tool() {
    let mut pair = with_a_page_tool(Some(5_000));
    let send = pair.send("act");
    pair.drive_for(2_000);
    pair.input(1, Input::Stop).unwrap();
    pair.drive();
    assert!(run_error(&pair, 1).aborted);
    assert_ne!(pair.page().result(send).status, TurnStatus::Finished, "its answer is of no use any more");
    assert_eq!(pair.page().runs.len(), 1);
}

#[test]
fn what_another_page_did_is_shown() {
    let mut pair = two_pages([Step::says("Two.")]);
    pair.network.latency = 20;
    // It comes and goes before this page has looked.
    pair.ask("1 + 1");
    assert_eq!(pair.pages[1].transcript(), pair.server.transcript());
    assert!(!pair.pages[1].session.is_busy());
}

#[test]
fn limits_are_told_and_the_turn_goes_on() {
    let mut n = 0;
    let mut pair = Pair::new(ScriptedModel::improvising(move |_| {
        n += 1;
        let mut events = call(0, "fly", &format!("{{\"n\":{n}}}"));
        events.push(ModelEvent::End { usage: None });
        events.into_iter().map(|event| (0, event)).collect()
    }));
    pair.server.agent.bounds.steps = 2;
    let result = pair.ask("fly");
    assert_eq!(result.bound.map(|bound| bound.reason), Some(BoundReason::StepLimit));
    let notice = notice(&pair, 0).unwrap();
    assert_eq!((notice.error, notice.action), (false, Some(NoticeAction::Continue)));
    let silent = SendOptions { silent: true, when_idle: false, ..SendOptions::default() };
    let send: SendId = pair.send_from(0, "Continue.", silent).unwrap();
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Finished);
    assert_eq!(pair.server.model.requests.len(), 4, "the limits count anew");
}

#[test]
fn what_is_done_is_named_before_a_second_try() {
    let steps = || [Step::events(call(0, "act", "{}")), Step::breaks("So", Reason::ModelError)];
    let mut pair = Pair::new(ScriptedModel::new(steps()));
    pair.set_tools(vec![tool("act", "")]);
    pair.ask("act");
    let error = run_error(&pair, 0);
    assert_eq!(error.effects.len(), 1);
    let shown = notice(&pair, 0).unwrap();
    assert_eq!(
        (shown.text, shown.action),
        (format!("{} Done already: act.", error.message), Some(NoticeAction::Retry))
    );

    let mut pair = Pair::new(ScriptedModel::new(steps()));
    pair.set_tools(vec![tool("act", "")]);
    pair.pages[0].handler = Box::new(|_| None);
    pair.send("act");
    pair.drive_for(10);
    pair.stop();
    pair.drive();
    let shown = notice(&pair, 0).unwrap();
    assert_eq!((shown.error, shown.text.as_str()), (false, "Stopped. May have acted: act."));
    assert_eq!(shown.action, Some(NoticeAction::Retry));
}
