//! A failed turn, sent again.

use super::*;
use crate::error::ErrorCode;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn message_id(run: &Value) -> String {
    let messages = run.get("messages").and_then(Value::as_array).unwrap();
    messages.last().and_then(|m| m.get("id")).and_then(Value::as_str).unwrap().to_owned()
}

#[test]
fn takes_the_place_of_the_first_try() {
    for silent in [false, true] {
        let mut bench = Bench::ready();
        bench.send(0, "before");
        bench.stream(HELLO);
        bench.try_send(1, "hi", SendOptions { silent, when_idle: false, ..SendOptions::default() }).unwrap();
        let first = body(&bench.last(FetchPurpose::Run));
        bench.stream(&[STARTED, SAY, HEL, r#"{"type":"RUN_ERROR","message":"m"}"#]);
        let partial = bench.session.messages().last().unwrap().id.clone();
        bench.out.clear();
        bench.input(Input::Retry { id: SendId(2) });
        assert_eq!(*bench.patches()[0], Patch::RemoveMessage { id: partial });
        let second = body(&bench.last(FetchPurpose::Run));
        let props = second.get("forwardedProps").and_then(|p| p.get("mindset")).unwrap();
        let replaced = props.get("replaceFrom").and_then(Value::as_str).unwrap();
        assert_eq!((message_id(&first).as_str(), message_id(&second).as_str()), (replaced, replaced));
        assert_ne!(first.get("runId"), second.get("runId"));
        bench.stream(HELLO);
        assert_eq!(bench.story().last().unwrap(), "settle 2 finished");
        let texts: Vec<_> = bench.session.messages().iter().map(|m| m.content.as_str()).collect();
        let all = ["before", "Hello", "hi", "Hello"];
        assert_eq!(texts, all.into_iter().filter(|t| !silent || *t != "hi").collect::<Vec<_>>());
    }
}

#[test]
fn only_after_a_turn_that_failed() {
    let mut bench = Bench::ready();
    let refused = |bench: &mut Bench| bench.try_input(Input::Retry { id: SendId(9) }).unwrap_err().code;
    assert_eq!(refused(&mut bench), ErrorCode::InvalidRequest);
    bench.send(1, "hi");
    assert_eq!(refused(&mut bench), ErrorCode::Busy);
    bench.break_down();
    bench.input(Input::Retry { id: SendId(2) });
    assert_eq!(refused(&mut bench), ErrorCode::Busy);
    bench.stream(HELLO);
    assert_eq!(refused(&mut bench), ErrorCode::InvalidRequest);
    assert_eq!(bench.results().len(), 2);
    // A stopped turn can be sent again, too.
    bench.send(3, "hi");
    bench.input(Input::Stop);
    bench.end();
    bench.input(Input::Retry { id: SendId(4) });
    bench.stream(HELLO);
    assert_eq!(bench.story().last().unwrap(), "settle 4 finished");
}

#[test]
fn of_a_server_that_keeps_no_history() {
    let mut bench = Bench::agui();
    bench.send(1, "hi");
    bench.stream(&[STARTED, SAY, HEL, SAID, r#"{"type":"RUN_ERROR","message":"m"}"#]);
    bench.input(Input::Retry { id: SendId(2) });
    let second = body(&bench.last(FetchPurpose::Run));
    assert_eq!(second.get("messages").and_then(Value::as_array).map(<[Value]>::len), Some(1));
    assert!(!second.to_string().contains("replaceFrom"));
}
