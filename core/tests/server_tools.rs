//! Turns with tools that the runtime runs: what the model is shown, what the tools
//! get, and what everybody is told of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod bench;

use bench::{Bench, call, end, input, mindset, result, text, tool, user};
use mindset_core::agui::{Body, Outcome};
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::{MessageStatus, ToolSource};
use mindset_core::json::{Object, Value, parse};
use mindset_core::object;
use mindset_core::passthrough::Passthrough;
use mindset_core::schema::Schema;
use mindset_core::turn::{
    Agent, Bounds, Conversation, Input, ModelMessage, RunState, ServerTool, ToolOutcome,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn json(text: &str) -> Value {
    parse(text).unwrap()
}

fn object(text: &str) -> Object {
    json(text).as_object().unwrap().clone()
}

fn mcp(server: &str, name: &str, schema: &str) -> ServerTool {
    ServerTool {
        source: ToolSource::Mcp,
        server: Some(server.into()),
        name: name.into(),
        description: format!("Does {name}."),
        title: Some(format!("Title of {name}")),
        parameters: (!schema.is_empty()).then(|| json(schema)),
        read_only: false,
    }
}

fn done(content: &str) -> ToolOutcome {
    ToolOutcome::Done { content: content.into(), sources: Vec::new(), widgets: Vec::new() }
}

fn agent(tools: Vec<ServerTool>) -> Agent {
    Agent { instructions: "Be kind.".into(), model: "test-1".into(), tools, ..Agent::default() }
}

/// A run with these tools of servers, page tools and pass-through parameters.
fn start(tools: Vec<ServerTool>, page: &[&str], passthrough: &str) -> Bench {
    let mut run = input("r1", vec![user("u1", "go")]);
    run.tools = page.iter().map(|name| tool(name)).collect();
    mindset(&mut run, object! { "passthroughParams": json(passthrough) });
    Bench::with(run, agent(tools), vec![]).unwrap()
}

fn schema_of<'a>(b: &'a Bench, name: &str) -> &'a Object {
    let request = b.requests.last().unwrap();
    let tool = request.tools.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no tool {name}"));
    tool.parameters.as_object()
}

/// What the model is told a call came to, and whether it failed.
fn told(b: &Bench, call: &str) -> (String, bool) {
    let request = b.requests.last().unwrap();
    let of_call = |m: &ModelMessage| match m {
        ModelMessage::Tool { call_id, content, failed, .. } if call_id == call => {
            Some((content.clone(), *failed))
        }
        _ => None,
    };
    request.messages.iter().find_map(of_call).unwrap_or_else(|| panic!("no result of {call}"))
}

/// Everything that leaves the turn but for the tools' own arguments.
fn everything(b: &Bench) -> String {
    format!("{:?}{:?}{:?}{:?}", b.requests, b.events, b.store, b.calls)
}

const INVOICES: &str = r#"{"type":"object","properties":{"customer_id":{"type":"string"},"year":{"type":"integer"}},"required":["customer_id","year"],"additionalProperties":false}"#;

#[test]
fn host_value_wins_and_is_seen_by_the_tool_alone() {
    let passthrough = r#"{"customer_id":"c-77-secret"}"#;
    let mut b = start(vec![mcp("books", "list_invoices", INVOICES)], &[], passthrough);
    let expected = r#"{"type":"object","properties":{"year":{"type":"integer"}},"required":["year"],"additionalProperties":false}"#;
    assert_eq!(schema_of(&b, "books__list_invoices").text(), expected);
    let arguments = r#"{"customer_id":"c-99","year":2024}"#;
    b.model([text("Let me look.")])
        .model(call(0, Some("p1"), "books__list_invoices", arguments))
        .model([end()]);
    assert_eq!(b.calls[0].arguments.expose(), &object(r#"{"year":2024,"customer_id":"c-77-secret"}"#));
    assert_eq!((b.calls[0].name.as_str(), b.calls[0].server.as_deref()), ("list_invoices", Some("books")));
    assert_eq!(b.stored()[1], "assistant: Let me look. books__list_invoices({\"year\":2024})");
    b.tool("p1", done("none"));
    assert_eq!(told(&b, "p1"), ("none".into(), false));
    b.model([text("There are none."), end()]);
    assert_eq!(b.done, Some(RunState::Finished));
    assert!(!everything(&b).contains("c-77-secret"));
    assert_eq!(
        b.sketch()[4..],
        [
            "call p1 list_invoices(",
            arguments,
            ")call p1",
            "mindset.tool_start",
            "result p1",
            "text(",
            "There are none.",
            ")text",
            "finished Some(Success { pending_tool_call_ids: [] })"
        ]
    );
}

#[test]
fn undeclared_names_are_not_sent() {
    let passthrough = r#"{"other":"x-canary","books.list_invoices.more":"y-canary","year.x":1}"#;
    let mut b = start(vec![mcp("books", "list_invoices", INVOICES)], &[], passthrough);
    assert_eq!(schema_of(&b, "books__list_invoices").text(), object(INVOICES).text());
    b.model(call(0, Some("p1"), "books__list_invoices", r#"{"customer_id":"a","year":1}"#)).model([end()]);
    assert_eq!(b.calls[0].arguments.expose(), &object(r#"{"customer_id":"a","year":1}"#));
    b.tool("p1", done(""));
    assert!(!everything(&b).contains("canary"));
}

#[test]
fn arguments_that_do_not_fit_what_the_model_saw_run_nothing() {
    let mut b = start(vec![mcp("books", "list_invoices", INVOICES)], &[], r#"{"customer_id":"secret"}"#);
    b.model(call(0, Some("p1"), "books__list_invoices", r#"{"year":"x"}"#))
        .model(call(1, Some("p2"), "books__list_invoices", r#"{"year":1,"more":2}"#))
        .model(call(2, Some("p3"), "books__list_invoices", "{\"year\": "))
        .model([end()]);
    assert!(b.calls.is_empty());
    assert_eq!(b.requests.len(), 2, "the model may try again");
    for id in ["p1", "p2", "p3"] {
        let (content, failed) = told(&b, id);
        assert!(failed && content.starts_with("The call was not run"), "{content}");
        let event = b.result_of(id);
        assert_eq!(event.mindset("toolName").and_then(Value::as_str), Some("list_invoices"));
        assert_eq!(event.mindset("server").and_then(Value::as_str), Some("books"));
        assert_eq!(event.mindset("ok").and_then(Value::as_bool), Some(false));
    }
    assert!(b.customs("mindset.tool_start").is_empty());
}

#[test]
fn schemas_without_properties_work() {
    let tools = vec![
        mcp("k", "list_depots", r#"{"type":"object"}"#),
        mcp("k", "ping", "{}"),
        mcp("k", "now", r#"{"type":"object","properties":null}"#),
        mcp("k", "bare", ""),
        mcp("k", "yes", "true"),
        mcp("k", "nothing", "null"),
        mcp("k", "nested", r#"{"type":"object","properties":{"opt":{"type":"object"}}}"#),
        mcp("k", "hopeless", r#"{"type":"object","properties":{"a":{"type":"banana"}}}"#),
        mcp("k", "dialect", r#"{"type":"object","properties":{"a":{"pattern":"(?P<x>"}}}"#),
    ];
    let mut b = start(tools, &[], "{}");
    // The bench checks what providers insist on.
    let names: Vec<_> = b.requests[0].tools.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(
        names,
        ["k__list_depots", "k__ping", "k__now", "k__bare", "k__yes", "k__nothing", "k__nested", "k__dialect"]
    );
    let warnings = b.customs("mindset.warning");
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].str("message").unwrap().contains("\"hopeless\" of the server \"k\""), "{warnings:?}");
    for (key, name) in ["k__ping", "k__bare", "k__yes", "k__dialect"].into_iter().enumerate() {
        b.model(call(u32::try_from(key).unwrap(), Some(name), name, "null"));
    }
    b.model([end()]);
    assert_eq!(b.calls.len(), 4);
}

#[test]
fn no_request_has_more_tools_than_providers_take() {
    let tools: Vec<_> = (0..200).map(|n| mcp("s", &format!("t{n}"), "")).collect();
    let b = start(tools, &["look", "jump"], "{}");
    assert_eq!(b.requests[0].tools.len(), 128);
    assert!(b.customs("mindset.warning")[0].str("message").unwrap().contains("the last 74"));
}

#[test]
fn references_inside_the_schema_stay() {
    let schema = r##"{"type":"object",
  "$defs":{"Query":{"type":"object","properties":{
      "text":{"type":["string","null"]},
      "limit":{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}],"default":25}},"required":["text"]},
    "Node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}}}},
  "properties":{"query":{"$ref":"#/$defs/Query"},"tree":{"$ref":"#/$defs/Node"},"far":{"$ref":"http://127.0.0.1:9/canary.json"}},
  "required":["query"]}"##;
    for passthrough in ["{}", r#"{"tree":{"name":"x"}}"#] {
        let b = start(vec![mcp("rooms", "list_rooms", schema)], &[], passthrough);
        let seen = Value::Object(schema_of(&b, "rooms__list_rooms").clone());
        let seen = Schema::parse(&seen, &bench::patterns::Plain).unwrap();
        assert!(seen.check(&json(r#"{"query":{"text":null}}"#)).is_empty());
        assert!(!seen.check(&json(r#"{"query":{}}"#)).is_empty());
        assert!(!seen.check(&json("{}")).is_empty());
    }
}

#[test]
fn names_that_models_refuse_reach_their_own_tool() {
    let names = [
        "diary.show",
        "diary_show",
        "profile/rename",
        "Make New Share",
        "查询订单",
        "get_the_very_long_report_about_every_single_thing_in_the_account_v1",
        "get_the_very_long_report_about_every_single_thing_in_the_account_v2",
    ];
    let server = "workspace-tools-for-the-whole-company";
    let tools: Vec<_> = names.iter().map(|name| mcp(server, name, r#"{"type":"object"}"#)).collect();
    let mut b = start(tools.clone(), &[], "{}");
    let shown: Vec<String> = b.requests[0].tools.iter().map(|t| t.name.clone()).collect();
    assert_eq!(shown.len(), 7);
    for (key, name) in shown.iter().enumerate() {
        b.model(call(u32::try_from(key).unwrap(), Some(&format!("p{key}")), name, ""));
    }
    b.model([end()]);
    let called: Vec<_> = b.calls.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(called, names);
    // The user sees the real names, and another order of the tools changes none.
    assert!(b.sketch().contains(&"call p4 查询订单(".to_owned()));
    let turned = start(tools.into_iter().rev().collect(), &[], "{}");
    let other: Vec<_> = turned.requests[0].tools.iter().rev().map(|t| t.name.clone()).collect();
    assert_eq!(shown, other);
}

#[test]
fn same_name_on_two_servers_and_on_the_page() {
    let schema = r#"{"type":"object","properties":{"query":{"type":"string"}}}"#;
    let mut tools = vec![mcp("orders-db", "run_query", schema), mcp("audit-db", "run_query", schema)];
    tools.push(ServerTool { source: ToolSource::Builtin, server: None, ..mcp("", "run_query", schema) });
    let mut b =
        start(tools, &["run_query", "orders-db__run_query"], r#"{"audit-db.run_query.query":"only audit"}"#);
    let names: Vec<String> = b.requests[0].tools.iter().map(|t| t.name.clone()).collect();
    assert_eq!(names[..2], ["run_query", "orders-db__run_query"]);
    assert_eq!(names[3], "audit-db__run_query");
    for (key, name) in names.iter().enumerate() {
        b.model(call(u32::try_from(key).unwrap(), Some(&format!("p{key}")), name, ""));
    }
    b.model([end()]);
    let called: Vec<_> = b.calls.iter().map(|c| (c.server.as_deref(), c.arguments.expose().text())).collect();
    assert_eq!(
        called,
        [
            (Some("orders-db"), "{}".to_owned()),
            (Some("audit-db"), r#"{"query":"only audit"}"#.to_owned()),
            (None, "{}".to_owned())
        ]
    );
    for id in ["p2", "p3", "p4"] {
        assert_eq!(b.done, None, "server calls first");
        b.tool(id, done("ok"));
    }
    let Body::RunFinished { outcome: Some(Outcome::Success { pending_tool_call_ids }), .. } = &b.last().body
    else {
        panic!()
    };
    assert_eq!(pending_tool_call_ids, &["p0", "p1"]);
    assert_eq!(b.done, Some(RunState::Waiting));
    let next = input("r2", vec![result("p0", "x"), result("p1", "y")]);
    let b = Bench::with(next, agent(vec![]), b.store).unwrap();
    assert_eq!(told(&b, "p3"), ("ok".into(), false));
    assert_eq!(told(&b, "p0"), ("x".into(), false));
}

#[test]
fn failures_are_failures_with_words() {
    let calls = [
        ("p0", ToolOutcome::Failed("no such table: ordrs".into()), "no such table: ordrs", "error"),
        ("p1", ToolOutcome::Failed(" ".into()), "The tool failed and did not say why.", "error"),
        (
            "p2",
            ToolOutcome::Unknown("The connection broke.".into()),
            "not known whether the tool acted",
            "error",
        ),
        ("p3", ToolOutcome::Unknown(String::new()), "not known whether the tool acted", "error"),
        ("p4", done("fine"), "fine", ""),
    ];
    let mut b = start(vec![mcp("s", "t", "")], &[], "{}");
    for (key, (id, ..)) in calls.iter().enumerate() {
        b.model(call(u32::try_from(key).unwrap(), Some(id), "s__t", &format!("{{\"n\":{key}}}")));
    }
    b.model([end()]);
    for (id, outcome, ..) in calls.iter().rev() {
        b.tool(id, outcome.clone());
    }
    assert_eq!(b.requests.len(), 2, "the loop goes on");
    for (id, _, words, status) in &calls {
        let (content, failed) = told(&b, id);
        assert!(content.contains(words), "{content}");
        assert_eq!(failed, *status == "error");
        let event = b.result_of(id);
        assert_eq!(event.mindset("ok").and_then(Value::as_bool), Some(!failed));
        assert_eq!(event.mindset("durationMs").and_then(Value::as_u64), Some(7));
        assert_eq!(event.mindset("error").and_then(Value::as_str), failed.then_some(content.as_str()));
        assert_eq!(event.mindset("source").and_then(Value::as_str), Some("mcp"));
        assert_eq!(event.mindset("description").and_then(Value::as_str), Some("Title of t"));
        assert_eq!(event.mindset("readOnly").and_then(Value::as_bool), Some(false));
    }
    let started = b.customs("mindset.tool_start");
    assert_eq!(
        started[0].to_string(),
        r#"{"toolCallId":"p0","toolName":"t","source":"mcp","server":"s","description":"Title of t","readOnly":false}"#
    );
}

#[test]
fn calls_finish_in_any_order_even_in_one_tick() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let mut b = start(vec![mcp("s", "t", "")], &["look"], "{}");
        for key in 0..3 {
            b.model(call(key, Some(&format!("p{key}")), "s__t", &format!("{{\"n\":{key}}}")));
        }
        b.model([end()]);
        assert_eq!(b.running, ["p0", "p1", "p2"], "all at once");
        for key in order {
            assert_eq!(b.requests.len(), 1);
            b.tool(&format!("p{key}"), done(&format!("result {key}")));
            // A result that comes again, or of nobody, changes nothing.
            b.tool(&format!("p{key}"), done("again")).tool("p9", done("stray"));
        }
        assert_eq!(b.requests.len(), 2);
        for key in 0..3 {
            assert_eq!(told(&b, &format!("p{key}")), (format!("result {key}"), false));
        }
        b.tool("p0", done("late")).model([text("Done."), end()]);
        assert_eq!(b.store.len(), 6);
    }
}

#[test]
fn stop_while_tools_run_leaves_a_conversation_that_can_go_on() {
    let read = ServerTool { read_only: true, ..mcp("s", "read", "") };
    let why = ErrorInfo::new(ErrorCode::ServerError, "The server restarts. Try again.");
    for (ending, state) in [
        (Input::Cancel, RunState::Cancelled),
        (Input::Fail(why), RunState::Error),
        (Input::Tick, RunState::Finished),
    ] {
        let mut b = start(vec![mcp("s", "act", ""), read.clone()], &["look"], "{}");
        b.model(call(0, Some("p0"), "s__act", "{}"))
            .model(call(1, Some("p1"), "s__act", "{\"n\":1}"))
            .model(call(2, Some("p2"), "s__read", "{}"))
            .model(call(3, Some("p3"), "look", "{}"))
            .model([end()])
            .tool("p0", done("acted"));
        b.now = 1_000 + Bounds::default().deadline;
        b.handle(ending);
        assert_eq!((b.done, b.aborted_tools, b.aborted), (Some(state), 1, 0));
        if state != RunState::Finished {
            assert_eq!(
                b.last().mindset("effects").unwrap().to_string(),
                r#"[{"toolCallId":"p0","toolName":"act","source":"mcp","outcome":"done"},{"toolCallId":"p1","toolName":"act","source":"mcp","outcome":"unknown"}]"#
            );
        }
        let stored = b.store.len();
        b.tool("p1", done("late"));
        assert_eq!(b.store.len(), stored);
        let next = Bench::with(input("r2", vec![user("u2", "and?")]), agent(vec![]), b.store).unwrap();
        assert_eq!(told(&next, "p0"), ("acted".into(), false));
        let (acting, failed) = told(&next, "p1");
        assert!(failed && acting.contains("not known whether the tool acted"), "{acting}");
        let (reading, failed) = told(&next, "p2");
        assert!(failed && !reading.contains("acted"), "{reading}");
        assert_eq!(told(&next, "p3"), ("cancelled by the user".into(), true));
    }
}

#[test]
fn calls_that_a_crash_left_open_are_unknown_whatever_a_client_says() {
    let tools = || vec![mcp("s", "act", ""), ServerTool { read_only: true, ..mcp("s", "read", "") }];
    let mut b = start(tools(), &["look"], "{}");
    b.model(call(0, Some("p0"), "s__act", "{}"))
        .model(call(1, Some("p1"), "s__read", "{}"))
        .model(call(2, Some("p2"), "look", "{}"))
        .model([end()]);
    // The server dies here: nothing more is stored.
    let crashed = b.store;
    for (messages, look) in [
        (vec![user("u2", "and?")], "cancelled by the user"),
        (vec![result("p2", "seen")], "seen"),
        (vec![result("p2", "seen"), result("p0", "paid"), result("p1", "paid")], "seen"),
    ] {
        let b = Bench::with(input("r2", messages), agent(tools()), crashed.clone()).unwrap();
        let (acting, failed) = told(&b, "p0");
        assert!(failed && acting.contains("not known whether the tool acted"), "{acting}");
        let (reading, failed) = told(&b, "p1");
        assert!(failed && reading.starts_with("The server was interrupted") && !reading.contains("acted"));
        assert_eq!(told(&b, "p2").0, look);
    }
    // Of the page's own calls each has to be answered still.
    let refused =
        Bench::with(input("r2", vec![result("p0", "paid")]), agent(tools()), crashed).err().unwrap();
    assert!(refused.message.contains("missing: p2."), "{}", refused.message);
}

#[test]
fn calls_that_a_crash_left_open_are_unknown_when_their_server_is_down_too() {
    let mut b = start(vec![mcp("s", "act", "")], &["look"], "{}");
    b.model(call(0, Some("p0"), "s__act", "{}")).model([end()]);
    let crashed = b.store;
    for messages in [vec![user("u2", "and?")], vec![result("p0", "paid")]] {
        let id = "c1".to_owned();
        let conversation =
            Conversation { id, messages: crashed.clone(), broken: true, ..Conversation::default() };
        let b = Bench::on(input("r2", messages), agent(vec![]), conversation).unwrap();
        let (acting, failed) = told(&b, "p0");
        assert!(failed && acting.contains("not known whether the tool acted"), "{acting}");
    }
}

#[test]
fn passthrough_counts_from_the_next_call_on() {
    let schema = r#"{"properties":{"key":{"type":"string"},"q":{"type":"string"}},"required":["key","q"]}"#;
    let set = |text: &str| Input::Passthrough(Passthrough::new(object(text)).unwrap());
    let mut b = start(vec![mcp("s", "t", schema)], &[], r#"{"key":"one"}"#);
    // Another value between the model's request and its call.
    b.handle(set(r#"{"key":"two"}"#)).model(call(0, Some("p0"), "s__t", r#"{"q":"a"}"#)).model([end()]);
    assert_eq!(b.calls[0].arguments.expose(), &object(r#"{"q":"a","key":"two"}"#));
    b.tool("p0", done("ok"));
    // None any more: the call cannot go out without it, and the model is shown it next.
    b.handle(set("{}")).model(call(0, Some("p1"), "s__t", r#"{"q":"b","key":"mine"}"#)).model([end()]);
    assert_eq!(b.calls.len(), 1);
    assert!(told(&b, "p1").0.contains("`key`, which the page used to supply, is no longer supplied"));
    assert!(schema_of(&b, "s__t").text().contains("\"key\""));
    // Set since the model was asked: the host's value wins.
    b.handle(set(r#"{"t.key":"three"}"#))
        .model(call(0, Some("p2"), "s__t", r#"{"q":"c","key":"mine"}"#))
        .model([end()]);
    assert_eq!(b.calls[1].arguments.expose(), &object(r#"{"q":"c","key":"three"}"#));
    b.tool("p2", done("ok")).handle(set(r#"{"t.key":"four"}"#));
    // While tools run, for the next step.
    assert!(!schema_of(&b, "s__t").text().contains("\"key\""));
}

#[test]
fn refused_passthrough_is_refused_with_its_code() {
    let huge = format!(r#"{{"x":"{}"}}"#, "x".repeat(4 * 1024 * 1024));
    for (given, code, words) in [
        (r#"{"t.__proto__":1}"#, ErrorCode::InvalidRequest, "t.__proto__"),
        (r#"{"uploaded_file_urls":[]}"#, ErrorCode::InvalidRequest, "uploaded_file_urls"),
        ("[1]", ErrorCode::InvalidRequest, "must be an object"),
        (huge.as_str(), ErrorCode::PassthroughTooLarge, "4194304"),
    ] {
        let mut run = input("r1", vec![user("u1", "go")]);
        mindset(&mut run, object! { "passthroughParams": json(given) });
        let error = Bench::with(run, agent(vec![]), vec![]).err().unwrap();
        assert_eq!(error.code, code, "{}", error.message);
        assert!(error.message.contains(words), "{}", error.message);
    }
    let null = start(vec![], &[], "null");
    assert_eq!(null.requests.len(), 1);
}

#[test]
fn keys_without_end_cost_nothing() {
    let schema = schema_with(50);
    let tools: Vec<_> = (0..100).map(|n| mcp("s", &format!("t{n}"), &schema)).collect();
    let many = (0..200_000).map(|n| format!("\"a{n}.p1\":{n}"));
    let text = format!("{{\"p1\":\"wild\",\"t7.p2\":\"one\",{}}}", many.collect::<Vec<_>>().join(","));
    let mut b = start(tools, &[], &text);
    b.model(call(0, Some("p0"), "s__t7", "{}")).model([end()]);
    assert_eq!(b.calls[0].arguments.expose().text(), r#"{"p1":"wild","p2":"one"}"#);
}

fn schema_with(count: u32) -> String {
    let properties: Vec<_> = (0..count).map(|n| format!("\"p{n}\":{{}}")).collect();
    format!("{{\"properties\":{{{}}}}}", properties.join(","))
}

#[test]
fn page_tools_are_neither_stripped_nor_filled_here() {
    let mut run = input("r1", vec![user("u1", "go")]);
    run.tools = vec![tool("look")];
    run.tools[0].parameters = Some(json(r#"{"type":"object","properties":{"x":{"type":"string"}}}"#));
    mindset(&mut run, object! { "passthroughParams": json(r#"{"x":"canary","look.x":"canary"}"#) });
    let mut b = Bench::with(run, agent(vec![]), vec![]).unwrap();
    assert!(schema_of(&b, "look").text().contains("\"x\""));
    b.model(call(0, Some("p0"), "look", r#"{"x":"mine"}"#)).model([end()]);
    assert_eq!(b.done, Some(RunState::Waiting));
    assert!(!everything(&b).contains("canary"));
}

#[test]
fn large_results_are_cut_between_characters_for_model_and_readers() {
    let mut b = start(vec![mcp("s", "t", "")], &[], "{}");
    b.model(call(0, Some("p0"), "s__t", "{}")).model([end()]);
    b.tool("p0", done(&format!("x{}", "é".repeat(700_000))));
    assert!(told(&b, "p0").0.contains("the first 262015 of 1400001 bytes"));
    let Body::ToolCallResult { content, .. } = &b.result_of("p0").body else { panic!() };
    let content = content.as_str().unwrap();
    assert!(content.contains("the first 262015 of 1400001 bytes") && content.len() <= 256 * 1024);
}

#[test]
fn bounds_count_server_tools() {
    let bounds = Bounds { steps: 10, ..Bounds::default() };
    let mut b = Bench::with(
        input("r1", vec![user("u1", "go")]),
        Agent { bounds, ..agent(vec![mcp("s", "t", "")]) },
        vec![],
    )
    .unwrap();
    for n in 0..3 {
        assert_eq!(b.done, None);
        b.model(call(0, Some(&format!("p{n}")), "s__t", "{}"))
            .model([end()])
            .tool(&format!("p{n}"), done("same"));
    }
    assert_eq!(b.last().mindset("bound").unwrap().to_string(), r#"{"reason":"repetition","limit":3}"#);
    assert_eq!(b.done, Some(RunState::Finished));
}

#[test]
fn another_page_can_only_say_that_nothing_is_known() {
    let mut b = start(vec![], &["look"], "{}");
    b.model(call(0, Some("p0"), "look", "{}")).model([end()]);
    let open = b.store;
    for (owner, sender, own) in [
        (Some("a"), Some("a"), true),
        (None, None, true),
        (Some("a"), Some("b"), false),
        (Some("a"), None, false),
        (None, Some("b"), false),
    ] {
        let mut run = input("r2", vec![result("p0", "paid 100")]);
        if let Some(sender) = sender {
            mindset(&mut run, object! { "clientId": sender });
        }
        let b = Bench::of(run, agent(vec![]), open.clone(), owner).unwrap();
        let (content, failed) = told(&b, "p0");
        assert_eq!((content == "paid 100", failed), (own, !own), "{owner:?} {sender:?} {content}");
        assert_eq!(b.store.last().unwrap().status, (!own).then_some(MessageStatus::Error));
        assert!(own || content.contains("not known whether the tool acted"), "{content}");
        // The same when it goes on without the result.
        let mut run = input("r2", vec![user("u2", "and now?")]);
        if let Some(sender) = sender {
            mindset(&mut run, object! { "clientId": sender });
        }
        let b = Bench::of(run, agent(vec![]), open.clone(), owner);
        if owner.is_some() && !own {
            // Not before the page that has the calls had its time.
            assert_eq!(b.err().map(|e| e.code), Some(ErrorCode::Busy), "{sender:?}");
            continue;
        }
        let b = b.unwrap();
        let (content, failed) = told(&b, "p0");
        assert_eq!(
            (content == "cancelled by the user", failed),
            (own, true),
            "{owner:?} {sender:?} {content}"
        );
        assert!(own || content.contains("not known whether the tool acted"), "{content}");
    }
}
