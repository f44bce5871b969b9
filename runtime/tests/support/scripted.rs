//! An agent whose model makes the calls that it is told, and the MCP server behind it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mindset_core::json::{self, Value};

use super::peer::{Peer, Reply, Seen};
use super::support::{kind, last};

/// An MCP server with the tools `update`, which acts, and `read`.
pub(crate) async fn hr() -> Peer {
    let tool = |name: &str| {
        format!(
            r#"{{"name":"{name}","description":"Does {name}","inputSchema":{{"type":"object",
            "properties":{{"profile":{{"type":"string"}},"note":{{"type":"string"}}}},"required":["note"]}}}}"#
        )
    };
    let list = format!(r#"{{"tools":[{},{}]}}"#, tool("update"), tool("read"));
    Peer::start(move |seen: &Seen| match (seen.method.as_str(), seen.body.str("method").unwrap_or("")) {
        ("POST", "server/discover") => Reply::plain(400, "text/plain", "no session"),
        ("POST", "initialize") => seen
            .result(
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}"#,
            )
            .header("mcp-session-id", "one"),
        ("POST", "tools/list") => seen.result(&list),
        ("POST", "tools/call") => seen.result(r#"{"content":[{"type":"text","text":"saved"}]}"#),
        ("POST", _) => Reply::accepted(),
        ("DELETE", _) => Reply::with(200, &[], ""),
        _ => Reply::with(405, &[], ""),
    })
    .await
}

/// A model that makes the calls which the last user message lists, all at once, and then says
/// `Done.`.
pub(crate) async fn model() -> Peer {
    Peer::start(move |seen: &Seen| {
        let messages = seen.body.get("messages").and_then(Value::as_array).unwrap();
        let last = messages.last().unwrap();
        let wanted = last.str("content").filter(|_| last.str("role") == Some("user"));
        let calls = wanted.and_then(|text| json::parse(text).ok());
        let piece = |delta: &str, end: &str| {
            format!("data: {{\"choices\":[{{\"delta\":{delta},\"finish_reason\":{end}}}]}}\n\n")
        };
        let body = match calls.as_ref().and_then(Value::as_array) {
            Some(calls) => {
                let call = |(at, call): (usize, &Value)| {
                    let call = call.as_array().unwrap();
                    let (name, arguments) = (call[0].text(), Value::from(call[1].text()).text());
                    let id = format!("c{}-{at}", messages.len());
                    format!(
                        r#"{{"index":{at},"id":"{id}","function":{{"name":{name},"arguments":{arguments}}}}}"#
                    )
                };
                let calls: Vec<_> = calls.iter().enumerate().map(call).collect();
                piece(&format!(r#"{{"tool_calls":[{}]}}"#, calls.join(",")), "null")
                    + &piece("{}", "\"tool_calls\"")
            }
            None => piece(r#"{"content":"Done."}"#, "null") + &piece("{}", "\"stop\""),
        };
        Reply::plain(200, "text/event-stream", &format!("{body}data: [DONE]\n\n"))
    })
    .await
}

pub(crate) fn config(model: &Peer, hr: &Peer) -> String {
    format!(
        r#"
[models.scripted]
provider = "openai"
model = "m"
base_url = "http://{}"
[[apps]]
uid = "demo"
api_keys = ["first-key"]
origins = ["loopback"]
allow_no_origin = true
[[apps.mcp_servers]]
uid = "hr"
url = "{}"
allow_private = true
read_only = ["read"]
[[apps.agents]]
uid = "demo"
model = "scripted"
anonymous = true
mcp_servers = ["hr"]
approve_writes = true
ask_user = true
[[apps.agents]]
uid = "careful"
model = "scripted"
anonymous = true
mcp_servers = ["hr"]
approvals = ["hr.*"]
"#,
        model.address,
        hr.url()
    )
}

pub(crate) const MINDSET: &str =
    r#"{"mindset":{"answers":true,"passthroughParams":{"profile":"PROFILE-canary"}}}"#;

/// What is posted; `resume` are JSON entries.
pub(crate) fn posted(run: &str, said: Option<&str>, resume: &str, props: &str) -> String {
    let message = said.map_or(String::new(), |said| {
        format!(r#"{{"id":"m-{run}","role":"user","content":{}}}"#, Value::from(said).text())
    });
    format!(
        r#"{{"threadId":"t","runId":"{run}","state":{{}},"tools":[],"context":[],"forwardedProps":{props},
        "messages":[{message}],"resume":[{resume}]}}"#
    )
}

pub(crate) fn decided(interrupt: &Value, payload: &str) -> String {
    let id = interrupt.str("id").unwrap();
    format!(r#"{{"interruptId":"{id}","status":"resolved","payload":{payload}}}"#)
}

pub(crate) fn asked(events: &[Value]) -> Vec<Value> {
    let outcome = last(events).get("outcome").unwrap_or_else(|| panic!("{:?}", last(events)));
    assert_eq!(outcome.str("type"), Some("interrupt"), "{}", last(events));
    outcome.get("interrupts").and_then(Value::as_array).unwrap().to_vec()
}

pub(crate) fn result_of<'a>(events: &'a [Value], call: &str) -> &'a Value {
    let is = |e: &&Value| kind(e) == "TOOL_CALL_RESULT" && e.str("toolCallId") == Some(call);
    events.iter().find(is).unwrap_or_else(|| panic!("no result of {call}"))
}

pub(crate) const UPDATE: &str = r#"[["hr__update",{"note":"one"}],["hr__read",{"note":"two"}]]"#;
pub(crate) const ASK: &str = r#"[["ask_user",{"steps":[{"id":"room","question":"Which room?",
    "options":[{"id":"a","label":"Atrium"},{"id":"b","label":"Bay"}]}]}]]"#;
