//! What a page sets: what is refused, and what goes out with a run.

use super::*;
use crate::error::ErrorCode;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A tool without extras.
pub(super) fn tool(name: &str, parameters: &str) -> PageTool {
    PageTool {
        name: name.to_owned(),
        description: "Does it.".to_owned(),
        parameters: (!parameters.is_empty()).then(|| object(parameters)),
        running: None,
        completed: None,
        read_only: false,
        confirm: Confirm::Never,
        timeout: TOOL_TIMEOUT,
    }
}

pub(super) fn object(text: &str) -> Object {
    json::parse(text).unwrap().as_object().unwrap().clone()
}

fn awareness(characters: usize) -> String {
    format!("{{\"a\":\"{}\"}}", "é".repeat(characters - 8))
}

#[test]
fn awareness_has_a_limit_in_characters() {
    for (extended, limit) in [(false, 10_000), (true, 20_000)] {
        let mut bench = Bench::new();
        bench.start(Config { extended_awareness: extended, ..agui_config() });
        bench.input(Input::SetAwareness(&awareness(limit)));
        let error = bench.try_input(Input::SetAwareness(&awareness(limit + 1))).unwrap_err();
        assert_eq!(error.code, ErrorCode::SituationalAwarenessTooLarge);
        assert!(
            error.message.contains(&limit.to_string()) && error.message.contains(&(limit + 1).to_string())
        );
        // The value before holds.
        bench.send(1, "hi");
        let run = body(&bench.last(FetchPurpose::Run));
        let context = &run.get("context").unwrap().as_array().unwrap()[0];
        assert_eq!(context.str("description"), Some("situational_awareness"));
        assert_eq!(context.str("value"), Some(awareness(limit).as_str()));
    }
}

#[test]
fn awareness_set_too_early_is_checked_again() {
    let mut bench = Bench::new();
    assert!(bench.try_input(Input::SetAwareness(&awareness(20_001))).is_err());
    bench.input(Input::SetAwareness(&awareness(20_000)));
    bench.start(agui_config());
    assert_eq!(bench.errors()[0].code, ErrorCode::SituationalAwarenessTooLarge);
    bench.send(1, "hi");
    assert_eq!(body(&bench.last(FetchPurpose::Run)).get("context").unwrap().text(), "[]");
    // It outlives a configuration.
    bench.input(Input::SetAwareness("{\"page\":1}"));
    bench.start(agui_config());
    bench.send(2, "hi");
    assert!(body(&bench.last(FetchPurpose::Run)).get("context").unwrap().text().contains("page"));
}

#[test]
fn page_tools_that_are_refused() {
    let many: Vec<_> = (0..129).map(|n| tool(&format!("t{n}"), "")).collect();
    let large = PageTool { description: "x".repeat(200_000), ..tool("large", "") };
    let larger = PageTool { name: "larger".into(), ..large.clone() };
    let long = "x".repeat(65);
    let cases: Vec<(Vec<PageTool>, &str, &str)> = vec![
        (vec![tool("ok", ""), tool("a b", "")], "tool 2 (`a b`)", "letters"),
        (vec![tool("", "")], "``", "1 to 64"),
        (vec![tool(&long, "")], "`xxx", "1 to 64"),
        (vec![tool("größe", "")], "`größe`", "letters"),
        (vec![tool("a.b", "")], "`a.b`", "letters"),
        (vec![tool("same", ""), tool("same", "")], "tool 2 (`same`)", "unique"),
        (many, "129", "128"),
        (vec![large, larger], "`larger`", "256 KiB"),
        (vec![tool("t", r#"{"type":"string"}"#)], "`t`", "\"object\""),
        (vec![tool("t", r#"{"type":["object","null"]}"#)], "`t`", "\"object\""),
        (vec![tool("t", r#"{"properties":{"n":{"minimum":"1"}}}"#)], "`t`", "/properties/n"),
        (vec![tool("t", r#"{"properties":[]}"#)], "`t`", "properties"),
        (vec![tool("t", r##"{"$ref":"#"}"##)], "`t`", "no JSON Schema"),
    ];
    let mut bench = Bench::agui();
    bench.input(Input::SetPageTools(vec![tool("old", r#"{"properties":{"n":{}}}"#)]));
    for (tools, name, reason) in cases {
        let error = bench.try_input(Input::SetPageTools(tools)).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidConfig);
        assert!(error.message.contains(name) && error.message.contains(reason), "{}", error.message);
    }
    bench.send(1, "hi");
    assert_eq!(
        body(&bench.last(FetchPurpose::Run)).get("tools").unwrap().text(),
        r#"[{"name":"old","description":"Does it.","parameters":{"properties":{"n":{}},"type":"object"}}]"#
    );
}

#[test]
fn names_that_reach_into_prototypes_are_refused() {
    let mut bench = Bench::ready();
    bench.input(Input::SetPassthrough(object(r#"{"t.x":1}"#)));
    for key in ["__proto__", "constructor", "t.prototype", "uploaded_file_urls"] {
        let mut values = Object::new();
        values.insert(key, "v");
        let error = bench.try_input(Input::SetPassthrough(values)).unwrap_err();
        assert!(error.code == ErrorCode::InvalidConfig && error.message.contains(key));
    }
    bench.send(1, "hi");
    assert!(body(&bench.last(FetchPurpose::Run)).text().contains(r#""passthroughParams":{"t.x":1}"#));
}

#[test]
fn where_nothing_leaves_the_page_a_stray_key_is_told_once() {
    let schema = r#"{"properties":{"id":{}}}"#;
    for (values, stray) in [
        (r#"{"act.id":1}"#, None),
        (r#"{"id":1}"#, None),
        (r#"{"other":1}"#, Some("other")),
        (r#"{"act.id":1,"act.no":2}"#, Some("act.no")),
        (r#"{"crm.update.id":1}"#, Some("crm.update.id")),
    ] {
        let mut bench = Bench::agui();
        bench.input(Input::SetPassthrough(object(values)));
        // The tool may come later.
        bench.input(Input::SetPageTools(vec![tool("act", schema)]));
        assert!(bench.errors().is_empty());
        for id in 1..=2 {
            bench.send(id, "hi");
            bench.stream(HELLO);
        }
        let errors = bench.errors();
        assert_eq!(errors.len(), usize::from(stray.is_some()), "{values}");
        if let (Some(key), Some(error)) = (stray, errors.first()) {
            assert!(
                error.code == ErrorCode::InvalidConfig && error.message.contains(key),
                "{}",
                error.message
            );
        }
        assert!(!bench.requests().iter().any(|r| r.body.as_ref().unwrap().contains("passthrough")));
        let shown = body(&bench.last(FetchPurpose::Run)).get("tools").unwrap().text();
        assert_eq!(
            shown.contains("\"id\""),
            !values.starts_with("{\"act.id") && !values.starts_with("{\"id")
        );
    }
}

/// A turn that streams.
fn streaming() -> Bench {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.head(200, "text/event-stream");
    bench.event(STARTED);
    bench
}

#[test]
fn new_values_for_a_running_turn() {
    let mut bench = streaming();
    let run = bench.fetch();
    bench.input(Input::SetPassthrough(object(r#"{"x":1}"#)));
    let update = bench.last(FetchPurpose::Passthrough);
    let run_id = body(&bench.last(FetchPurpose::Run)).str("runId").unwrap().to_owned();
    assert_eq!(update.method, "PUT");
    assert_eq!(update.url, format!("https://agents.example/v1/runs/{run_id}/passthrough-params"));
    assert_eq!(update.body.as_deref(), Some(r#"{"passthroughParams":{"x":1}}"#));
    assert!(update.headers.contains(&("Authorization", "Bearer secret-1".into())));
    // The same again, or what stays in the page, is no news.
    bench.input(Input::SetPageTools(vec![tool("act", r#"{"properties":{"id":{}}}"#)]));
    bench.input(Input::SetPassthrough(object(r#"{"x":1}"#)));
    bench.input(Input::SetPassthrough(object(r#"{"x":1,"act.id":5}"#)));
    // One after the other, and of many the last.
    bench.input(Input::SetPassthrough(object(r#"{"x":2}"#)));
    bench.input(Input::SetPassthrough(object("{}")));
    assert_eq!(bench.requests().iter().filter(|r| r.purpose == FetchPurpose::Passthrough).count(), 1);
    bench.input(Input::Head { fetch: update.id, status: 200, content_type: "" });
    bench.input(Input::End { fetch: update.id, result: Ok(()) });
    let last = bench.last(FetchPurpose::Passthrough);
    assert_eq!(last.body.as_deref(), Some(r#"{"passthroughParams":{}}"#));
    bench.input(Input::End { fetch: last.id, result: Ok(()) });
    assert_eq!(bench.errors().len(), 1, "no answer is no success");
    bench.input(Input::Bytes { fetch: run, bytes: format!("data: {FINISHED}\n\n").as_bytes() });
    assert_eq!(bench.result().status, TurnStatus::Finished);
}

#[test]
fn an_update_that_fails_is_told_while_it_matters() {
    // Refused.
    let mut bench = streaming();
    let run = bench.fetch();
    bench.input(Input::SetPassthrough(object(r#"{"x":1}"#)));
    let refused = r#"{"error":{"code":"passthrough-too-large","message":"Too much.","retryable":false}}"#;
    bench.answer_json(413, refused);
    assert_eq!(bench.errors()[0].code, ErrorCode::PassthroughTooLarge);
    // No answer in time.
    bench.input(Input::SetPassthrough(object(r#"{"x":2}"#)));
    let update = bench.fetch();
    bench.now += 29_000;
    bench.input(Input::Bytes { fetch: run, bytes: b": alive\n\n" });
    bench.pass(1_000);
    assert_eq!(bench.errors()[1].code, ErrorCode::Timeout);
    assert!(bench.aborted().contains(&update));
    // The run has ended: nobody needs to know.
    bench.input(Input::SetPassthrough(object(r#"{"x":3}"#)));
    let update = bench.fetch();
    bench.input(Input::Bytes { fetch: run, bytes: format!("data: {FINISHED}\n\n").as_bytes() });
    bench.input(Input::Head { fetch: update, status: 404, content_type: "" });
    bench.input(Input::End { fetch: update, result: Ok(()) });
    assert_eq!(bench.errors().len(), 2);
    // Left: dropped.
    let mut bench = streaming();
    bench.input(Input::SetPassthrough(object(r#"{"x":1}"#)));
    let update = bench.fetch();
    bench.start(config());
    assert!(bench.aborted().contains(&update));
}

#[test]
fn no_value_shows_in_what_is_printed() {
    let mut bench = streaming();
    bench.input(Input::SetAwareness(r#"{"a":"canary"}"#));
    bench.input(Input::SetPassthrough(object(r#"{"x":"canary"}"#)));
    assert!(!format!("{:?} {:?}", bench.session, bench.out).contains("canary"));
}
