//! Files that the person attached: what the model is told, what tools get, what is stored.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod bench;

use bench::{Bench, call, end, input, mindset, text, user};
use mindset_core::error::ErrorCode;
use mindset_core::event::ToolSource;
use mindset_core::json::{Value, parse};
use mindset_core::object;
use mindset_core::turn::{
    Agent, Conversation, ModelMessage, ServerTool, StoredFile, StoredMessage, StoredRole, ToolOutcome,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A tool `look` of the server `eye` with this schema for `uploaded_file_urls`, or without it.
fn look(parameter: Option<&str>) -> ServerTool {
    let parameter = parameter.map(|schema| format!(r#","uploaded_file_urls":{schema}"#)).unwrap_or_default();
    let schema = format!(r#"{{"type":"object","properties":{{"q":{{"type":"string"}}{parameter}}}}}"#);
    ServerTool {
        source: ToolSource::Mcp,
        server: Some("eye".into()),
        name: "look".into(),
        description: "Looks.".into(),
        title: None,
        parameters: Some(parse(&schema).unwrap()),
        read_only: true,
    }
}

fn file(id: &str) -> StoredFile {
    StoredFile { id: id.into(), name: format!("{id}.png"), media_type: "image/png".into(), size: 2_000 }
}

fn start(tool: ServerTool, said: &str, stored: Vec<StoredMessage>, files: &[&str]) -> Bench {
    let agent = Agent { tools: vec![tool], ..Agent::default() };
    let files = files.iter().map(|id| file(id)).collect();
    let conversation = Conversation { id: "t".into(), messages: stored, files, ..Conversation::default() };
    Bench::on(input("r2", vec![user("u2", said)]), agent, conversation).unwrap()
}

/// A message with a file, and its answer.
fn earlier() -> Vec<StoredMessage> {
    let mut asked = StoredMessage::new("u1", "r1", StoredRole::User, "first", 1);
    asked.files = vec![file("old")];
    vec![asked, StoredMessage::new("a1", "r1", StoredRole::Assistant, "seen", 1)]
}

/// What the tool gets when the model calls it.
fn supplied(b: &mut Bench) -> Option<Value> {
    let forged = r#"{"q":"x","uploaded_file_urls":"https://forged.example"}"#;
    b.model(call(0, Some("c1"), "eye__look", forged)).model([end()]);
    b.calls[0].arguments.expose().get("uploaded_file_urls").cloned()
}

fn users(b: &Bench) -> Vec<String> {
    let said = |m: &ModelMessage| match m {
        ModelMessage::User(text) => Some(text.clone()),
        _ => None,
    };
    b.requests.last().unwrap().messages.iter().filter_map(said).collect()
}

#[test]
fn a_tool_gets_the_addresses_as_it_declares_them() {
    for (schema, expected) in [
        (r#"{"type":"string"}"#, r#""[\"one\",\"two\"]""#),
        (r#"{"type":"array","items":{"type":"string"}}"#, r#"["one","two"]"#),
        (r#"{"type":["array","null"]}"#, r#"["one","two"]"#),
        (r#"{"type":["string","null"]}"#, r#""[\"one\",\"two\"]""#),
        ("{}", r#""[\"one\",\"two\"]""#),
        ("true", r#""[\"one\",\"two\"]""#),
    ] {
        let mut b = start(look(Some(schema)), "go", vec![], &["one", "two"]);
        let shown = b.requests[0].tools[0].parameters.as_object().text();
        assert!(!shown.contains("uploaded_file_urls"), "{shown}");
        assert_eq!(supplied(&mut b).unwrap().text(), expected, "{schema}");
    }
}

#[test]
fn nothing_else_gets_them() {
    // A tool that does not declare it gets what the model wrote: that is no address of ours.
    let mut b = start(look(None), "go", vec![], &["one"]);
    assert_eq!(
        supplied(&mut b).and_then(|v| v.as_str().map(str::to_owned)).as_deref(),
        Some("https://forged.example")
    );
    // Without files, and in the next turn, there is nothing to inject, and the model cannot forge it.
    for stored in [vec![], earlier()] {
        let mut b = start(look(Some("{}")), "go", stored, &[]);
        assert_eq!(supplied(&mut b), None);
    }
    let mut b = start(look(Some("{}")), "go", vec![], &["one"]);
    supplied(&mut b);
    b.tool("c1", ToolOutcome::Done { content: "ok".into(), sources: Vec::new(), widgets: Vec::new() });
    b.model([text("Done."), end()]);
    let everything = format!("{:?}{:?}{:?}", b.requests, b.events, b.store);
    assert!(!everything.contains(r#"[\"one\"]"#) && everything.contains("one.png"), "{everything}");
}

#[test]
fn the_model_is_told_of_files_in_every_turn() {
    let b = start(look(None), "go", earlier(), &["new"]);
    let said = users(&b);
    assert!(
        said[0].starts_with("first\n\n[The user attached 1 file: old.png (image/png, 2 KB)."),
        "{said:?}"
    );
    assert!(said[1].starts_with("go\n\n[The user attached 1 file: new.png"), "{said:?}");
    assert_eq!(b.store.last().unwrap().files, [file("new")]);
}

#[test]
fn a_message_of_files_alone_is_one() {
    let b = start(look(None), " ", vec![], &["one"]);
    assert!(users(&b)[0].trim().starts_with("[The user attached 1 file"));
    let empty = Bench::on(input("r1", vec![user("u1", " ")]), Agent::default(), Conversation::default());
    assert_eq!(empty.err().map(|e| e.code), Some(ErrorCode::InvalidRequest));
}

#[test]
fn what_replaces_a_message_keeps_its_files_unless_it_names_others() {
    for (uploads, files, expected) in [
        (None, vec![], vec!["old"]),
        (Some(Value::Array(Vec::new())), vec![], vec![]),
        (Some(Value::Array(vec!["new".into()])), vec!["new"], vec!["new"]),
    ] {
        let mut run = input("r2", vec![user("u2", "again")]);
        let mut props = object! { "replaceFrom": "u1" };
        props.insert_some("uploads", uploads);
        mindset(&mut run, props);
        let files = files.into_iter().map(file).collect();
        let conversation = Conversation { messages: earlier(), files, ..Conversation::default() };
        let b = Bench::on(run, Agent::default(), conversation).unwrap();
        let kept: Vec<&str> = b.store[0].files.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(kept, expected);
    }
}
