//! Answers that rest on what a search found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod bench;

use bench::{Bench, call, end, input, text, user};
use mindset_core::event::ToolSource;
use mindset_core::turn::{Agent, ServerTool, Source, ToolOutcome};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn search() -> ServerTool {
    ServerTool {
        source: ToolSource::Builtin,
        server: None,
        name: "search".into(),
        description: "Searches.".into(),
        title: None,
        parameters: None,
        read_only: true,
    }
}

/// What the model is told came of a call.
fn told(b: &Bench, call: &str) -> String {
    let result = b.store.iter().find(|message| message.call_id.as_deref() == Some(call));
    result.unwrap().content.clone()
}

#[test]
fn answers_cite_what_searches_found() {
    let source = |title: &str, url: Option<&str>| Source {
        title: title.into(),
        url: url.map(str::to_owned),
        text: format!("Text of {title}."),
    };
    let agent = Agent { model: "test-1".into(), tools: vec![search()], ..Agent::default() };
    let mut b = Bench::with(input("r1", vec![user("u1", "go")]), agent.clone(), vec![]).unwrap();
    b.model(call(0, Some("p0"), "search", "{}")).model([end()]);
    let sources = vec![source("Leave", Some("https://hr/leave")), source("Pay", None)];
    b.tool("p0", ToolOutcome::Done { content: "Two passages.".into(), sources, widgets: Vec::new() });
    assert_eq!(
        told(&b, "p0"),
        "Two passages.\n\n[1] Leave\nhttps://hr/leave\nText of Leave.\n\n[2] Pay\nText of Pay."
    );
    b.model([text("Thirty days [1].")]).model(call(0, Some("p1"), "search", "{\"q\":2}")).model([end()]);
    let sources = vec![source("Pay", None), source("Sick", Some("https://hr/sick"))];
    b.tool("p1", ToolOutcome::Done { content: String::new(), sources, widgets: Vec::new() });
    b.model([text("And [3], [2], not [7]."), end()]);
    let cited: Vec<_> = b.customs("mindset.citations").iter().map(ToString::to_string).collect();
    let ids: Vec<_> = b.store.iter().filter(|m| m.content.contains('[') && m.call_id.is_none()).collect();
    assert_eq!(
        cited,
        [
            format!(
                r#"{{"messageId":"{}","items":[{{"marker":"[1]","title":"Leave","url":"https://hr/leave"}}]}}"#,
                ids[0].id
            ),
            format!(
                r#"{{"messageId":"{}","items":[{{"marker":"[2]","title":"Pay"}},{{"marker":"[3]","title":"Sick","url":"https://hr/sick"}}]}}"#,
                ids[1].id
            )
        ]
    );
    assert_eq!(ids[1].citations.len(), 2);
    // The next run goes on counting.
    let mut next = Bench::with(input("r2", vec![user("u2", "more")]), agent, b.store).unwrap();
    next.model(call(0, Some("p2"), "search", "{\"q\":3}")).model([end()]);
    next.tool(
        "p2",
        ToolOutcome::Done { content: "x".into(), sources: vec![source("New", None)], widgets: Vec::new() },
    );
    assert!(told(&next, "p2").contains("[4] New"));
}
