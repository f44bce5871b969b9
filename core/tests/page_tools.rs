//! Page tools over whole turns: from the model's call to the handler and back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::session::TurnStatus;
use mindset_core::turn::ModelMessage;
use pair::{Pair, ScriptedModel, Step, call, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// One step that calls, one that answers.
fn calls(events: Vec<mindset_core::turn::ModelEvent>) -> Pair {
    Pair::new(ScriptedModel::new([Step::events(events), Step::says("Done.")]))
}

/// What the model was told of the calls of the step before.
fn told(pair: &Pair) -> Vec<(String, bool)> {
    let request = pair.server.model.requests.last().unwrap();
    let result = |message: &ModelMessage| match message {
        ModelMessage::Tool { content, failed, .. } => Some((content.clone(), *failed)),
        _ => None,
    };
    request.messages.iter().filter_map(result).collect()
}

#[test]
fn round_trip() {
    let mut pair = calls(call(0, "open_panel", r#"{"name":"billing"}"#));
    pair.set_tools(vec![tool("open_panel", r#"{"type":"object","properties":{"name":{"type":"string"}}}"#)]);
    let result = pair.ask("open billing");
    assert_eq!((result.status, result.text.as_deref()), (TurnStatus::Finished, Some("Done.")));
    assert_eq!(told(&pair), [(r#"{"name":"billing"}"#.to_owned(), false)]);
    assert_eq!(
        pair.page().sketch()[2..],
        [
            "busy",
            "run_started",
            "tool_announce",
            "tool_start",
            "tool_end",
            "complete",
            "run_finished",
            "conversation",
            "idle",
            "settled finished"
        ]
    );
}
