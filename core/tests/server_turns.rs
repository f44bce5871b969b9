//! Tools of the runtime over whole turns: what the page hears of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::event::{RuntimeEvent, ToolSource};
use mindset_core::session::{Input, TurnStatus};
use mindset_core::turn::{ServerTool, Source, ToolOutcome};
use pair::{Pair, ScriptedModel, Step, call, object, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A server with the tools `act` and `find`, and a model that says this.
fn pair(steps: Vec<Step>) -> Pair {
    let mut pair = Pair::new(ScriptedModel::new(steps));
    let tool = |name: &str, read_only| ServerTool {
        source: ToolSource::Mcp,
        server: Some("crm".into()),
        name: name.into(),
        description: String::new(),
        title: Some(format!("Does {name}")),
        parameters: Some(mindset_core::json::Value::Object(object(
            r#"{"type":"object","properties":{"id":{"type":"string"},"q":{"type":"string"}},"required":["id"]}"#,
        ))),
        read_only,
    };
    pair.server.agent.tools = vec![tool("act", false), tool("find", true)];
    pair
}

fn sources() -> Vec<Source> {
    vec![Source {
        title: "Leave".into(),
        url: Some("https://hr.example/leave".into()),
        text: "30 days.".into(),
    }]
}

#[test]
fn tool_of_the_server_then_tool_of_the_page() {
    let both = call(0, "crm__act", r#"{"id":"forged","q":"x"}"#).into_iter().chain(call(1, "look", "{}"));
    let mut pair = pair(vec![Step::events(both), Step::says("Done.")]);
    pair.set_tools(vec![tool("look", "")]);
    pair.input(0, Input::SetPassthrough(object(r#"{"act.id":"EMP-1"}"#))).unwrap();
    assert_eq!(pair.ask("go").text.as_deref(), Some("Done."));
    assert_eq!(pair.server.called[0].arguments.expose(), &object(r#"{"q":"x","id":"EMP-1"}"#));
    let heard: Vec<_> = pair
        .page()
        .runtime()
        .into_iter()
        .filter_map(|event| match event {
            RuntimeEvent::ToolStart { tool_name, description, .. } => {
                Some((tool_name.clone(), description.clone()))
            }
            RuntimeEvent::ToolEnd { tool_name, ok, .. } => Some((format!("{tool_name} {ok}"), None)),
            _ => None,
        })
        .collect();
    let names: Vec<_> = heard.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["act", "act true", "look", "look true"]);
    assert_eq!(heard[0].1.as_deref(), Some("Does act"));
}

#[test]
fn answer_cites_what_was_found() {
    let search = Step::events(call(0, "crm__find", r#"{"id":"1"}"#));
    let mut pair = pair(vec![search, Step::says("Thirty days [1].")]);
    pair.server.handler = Box::new(|_| {
        Some((5, ToolOutcome::Done { content: "One.".into(), sources: sources(), widgets: Vec::new() }))
    });
    pair.ask("how long?");
    let cited = pair.page().runtime().into_iter().find_map(|event| match event {
        RuntimeEvent::Citations { items, .. } => Some(items.clone()),
        _ => None,
    });
    let cited = cited.expect("citations");
    assert_eq!((cited[0].marker.as_str(), cited[0].title.as_str()), ("[1]", "Leave"));
}

#[test]
fn stopped_turn_tells_what_may_have_happened() {
    let both = call(0, "crm__act", r#"{"id":"1"}"#).into_iter().chain(call(1, "crm__find", r#"{"id":"1"}"#));
    let mut pair = pair(vec![Step::events(both), Step::says("Never mind.")]);
    pair.server.handler = Box::new(|_| None);
    let send = pair.send("go");
    pair.drive_for(100);
    pair.stop();
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Aborted);
    let effects = pair.page().runtime().into_iter().find_map(|event| match event {
        RuntimeEvent::RunError(error) => Some(error.effects.clone()),
        _ => None,
    });
    let effects = effects.expect("an error");
    assert_eq!(effects.len(), 1, "{effects:?}");
    assert_eq!((effects[0].str("toolName"), effects[0].str("outcome")), (Some("act"), Some("unknown")));
    // The conversation goes on.
    assert_eq!(pair.ask("and?").text.as_deref(), Some("Never mind."));
}
