//! The network between both machines: cut after any byte, in pieces of any size.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::session::TurnStatus;
use mindset_core::turn::{ModelEvent, RunState};
use pair::{Cut, Pair, ScriptedModel, Step, call, text};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Thinking, text of all kinds, a failed call, more text.
fn script() -> ScriptedModel {
    let mut first = vec![ModelEvent::Thinking("hm".into()), text("Grüße 🙂\n\"quoted\" ")];
    first.extend(call(0, "fly", "{\"to\": \"moon\"}"));
    ScriptedModel::new([Step::events(first), Step::says("Done."), Step::says("Next.")])
}

const ANSWER: [&str; 3] = ["user: hello", "assistant: Grüße 🙂\n\"quoted\" ", "assistant: Done."];

#[test]
fn cut_after_any_byte_the_turn_goes_on() {
    let mut whole = Pair::new(script());
    whole.ask("hello");
    assert_eq!(whole.page().transcript(), ANSWER);
    let length = whole.server.streams[0].len();
    for after in 0..=length {
        let mut pair = Pair::new(script());
        // Every other cut looks like a proper end.
        pair.network.cut = Some(if after % 2 == 0 { Cut::clean(after) } else { Cut::broken(after) });
        assert_eq!(pair.ask("hello").status, TurnStatus::Finished);
        assert_eq!(pair.page().transcript(), ANSWER);
        // The server never noticed.
        assert_eq!(pair.server.ended, [RunState::Finished]);
        assert_eq!(pair.server.transcript(), ANSWER);
        assert_eq!(pair.ask("next").text.as_deref(), Some("Next."), "after {after}");
    }
}

#[test]
fn without_a_network_no_part_of_an_answer_is_a_finished_turn() {
    let mut whole = Pair::new(script());
    whole.ask("hello");
    for after in (0..whole.server.streams[0].len()).step_by(7) {
        let mut pair = Pair::new(script());
        pair.network.cut = Some(Cut::silent(after));
        let send = pair.send("hello");
        pair.drive_for(1_000);
        pair.set_network(false);
        pair.drive();
        let result = pair.page().result(send);
        assert_eq!(result.status, TurnStatus::Error);
        assert!(result.error.as_ref().unwrap().retryable);
        pair.set_network(true);
        assert_eq!(pair.retry().text.as_deref(), Some("Next."));
        assert_eq!(pair.server.transcript(), ["user: hello", "assistant: Next."]);
        assert_eq!(pair.server.transcript(), pair.page().transcript());
    }
}

#[test]
fn pieces_of_any_size_give_the_same_turn() {
    let mut whole = Pair::new(script());
    whole.ask("hello");
    let length = whole.server.streams[0].len();
    for chunk in (1..200).chain((200..length).step_by(23)).chain([length, length + 1]) {
        let mut pair = Pair::new(script());
        pair.network.chunk = chunk;
        assert_eq!(pair.ask("hello").status, TurnStatus::Finished);
        assert_eq!(pair.page().events, whole.page().events, "chunks of {chunk}");
        assert_eq!(pair.page().session.messages().len(), whole.page().session.messages().len());
        assert_eq!(pair.server.transcript(), pair.page().transcript());
    }
}

#[test]
fn stop_after_any_time_settles_as_stopped_or_finished() {
    for time in 0..120 {
        let step = Step::says("One two three four").slowly(10);
        let mut pair = Pair::new(ScriptedModel::new([step]));
        pair.network.latency = 15;
        let send = pair.send("count");
        pair.drive_for(time);
        pair.stop();
        pair.drive();
        let status = pair.page().result(send).status;
        assert!(matches!(status, TurnStatus::Aborted | TurnStatus::Finished), "{time}: {status:?}");
        pair.server.model = ScriptedModel::new([Step::says("Five.")]);
        assert_eq!(pair.ask("go on").text.as_deref(), Some("Five."), "{time}");
    }
}
