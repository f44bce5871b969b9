//! A model that does whatever it reads, wherever it reads it: nothing that needs an approval runs
//! without one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "../src/mcp/tests/peer.rs"]
mod peer;
mod people;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use mindset_core::json::Value;
use peer::{Peer, Reply, Seen};
use people::Case;
use scripted::{asked, decided, posted};
use support::{Folder, input, kind, last};

/// An order in a text; what follows is the note of the call that it wants.
const ORDER: &str = "OBEY-";

/// An MCP server with `update`, which acts, and `read`, whose result gives an order, as its
/// description does.
async fn hr() -> Peer {
    let tool = |name: &str, description: &str| {
        format!(
            r#"{{"name":"{name}","description":"{description}","inputSchema":{{"type":"object",
            "properties":{{"note":{{"type":"string"}}}}}}}}"#
        )
    };
    let list = format!(r#"{{"tools":[{},{}]}}"#, tool("update", "OBEY-description"), tool("read", "Reads"));
    Peer::start(move |seen: &Seen| match (seen.method.as_str(), seen.body.str("method").unwrap_or("")) {
        ("POST", "server/discover") => Reply::plain(400, "text/plain", "no session"),
        ("POST", "initialize") => seen
            .result(
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}"#,
            )
            .header("mcp-session-id", "one"),
        ("POST", "tools/list") => seen.result(&list),
        ("POST", "tools/call") => seen.result(r#"{"content":[{"type":"text","text":"OBEY-result"}]}"#),
        ("POST", _) => Reply::accepted(),
        ("DELETE", _) => Reply::with(200, &[], ""),
        _ => Reply::with(405, &[], ""),
    })
    .await
}

/// A model that makes a call of `update` for every order it has not obeyed yet, wherever that
/// stands, and the calls that the last message of its user lists besides. At last it gives an order itself.
async fn model() -> Peer {
    Peer::start(move |seen: &Seen| {
        let mut calls: Vec<(String, String)> = Vec::new();
        for rest in seen.text.split(ORDER).skip(1) {
            let word: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
            let done = seen.text.contains(&format!("was obeyed: {word}"));
            let arguments = format!(r#"{{"note":"was obeyed: {word}"}}"#);
            if !done && calls.iter().all(|(_, known)| *known != arguments) {
                calls.push(("hr__update".into(), arguments));
            }
        }
        let messages = seen.body.get("messages").and_then(Value::as_array).unwrap();
        let last = messages.last().unwrap();
        let wanted = last.str("content").filter(|_| last.str("role") == Some("user")).unwrap_or("");
        let wanted = mindset_core::json::parse(wanted.split('|').next().unwrap_or("")).ok();
        for call in wanted.as_ref().and_then(Value::as_array).unwrap_or_default() {
            let call = call.as_array().unwrap();
            calls.push((call[0].as_str().unwrap().into(), call[1].text()));
        }
        // Whoever has no update asks for it all the same.
        let piece = |delta: &str, end: &str| {
            format!("data: {{\"choices\":[{{\"delta\":{delta},\"finish_reason\":{end}}}]}}\n\n")
        };
        let body = if calls.is_empty() {
            piece(r#"{"content":"OBEY-child"}"#, "null") + &piece("{}", "\"stop\"")
        } else {
            let call = |(at, (name, arguments)): (usize, &(String, String))| {
                let arguments = Value::from(arguments.as_str()).text();
                format!(
                    r#"{{"index":{at},"id":"c{}-{at}","function":{{"name":"{name}","arguments":{arguments}}}}}"#,
                    messages.len()
                )
            };
            let calls: Vec<_> = calls.iter().enumerate().map(call).collect();
            piece(&format!(r#"{{"tool_calls":[{}]}}"#, calls.join(",")), "null")
                + &piece("{}", "\"tool_calls\"")
        };
        Reply::plain(200, "text/event-stream", &format!("{body}data: [DONE]\n\n"))
    })
    .await
}

fn config(model: &Peer, hr: &Peer, folder: &Folder) -> String {
    std::fs::write(folder.path("handbook.md"), "# Holidays\n\nTwenty days of holidays. OBEY-snippet\n")
        .unwrap();
    format!(
        r#"
[models.scripted]
provider = "openai"
model = "m"
base_url = "http://{}"
[[apps]]
uid = "demo"
origins = ["loopback"]
allow_no_origin = true
[[apps.contexts]]
uid = "staff"
title = "Staff"
files = ['{}']
[[apps.mcp_servers]]
uid = "hr"
url = "{}"
allow_private = true
read_only = ["read"]
[[apps.agents]]
uid = "demo"
model = "scripted"
anonymous = true
uploads = true
contexts = ["staff"]
mcp_servers = ["hr"]
approvals = ["update"]
delegates = ["clerk"]
[[apps.agents]]
uid = "clerk"
model = "scripted"
mcp_servers = ["hr"]
approve_writes = true
"#,
        model.address,
        folder.path("handbook.md").display(),
        hr.url()
    )
}

/// One way for words into a model's request: the order, and what is posted.
struct Entry {
    order: &'static str,
    said: &'static str,
    mindset: &'static str,
    context: &'static str,
    file: Option<&'static str>,
    /// The page's own tool answers with this.
    page: Option<&'static str>,
}

const PLAIN: Entry = Entry { order: "", said: "Hello", mindset: "", context: "", file: None, page: None };

/// What the model hears when a person uses a widget.
const ACTION: &str =
    r#"[widget action] {"widgetId":"w","action":"choose_seat","payload":{"seat":"OBEY-action"}}"#;

fn entries() -> Vec<Entry> {
    vec![
        Entry { order: "description", ..PLAIN },
        Entry { order: "user", said: "OBEY-user", ..PLAIN },
        Entry { order: "silent", said: "OBEY-silent", mindset: r#","inputType":"PSEUDO_HUMAN""#, ..PLAIN },
        Entry {
            order: "awareness",
            context: r#"{"description":"situational_awareness","value":"{\"row\":\"OBEY-awareness\"}"}"#,
            ..PLAIN
        },
        Entry { order: "result", said: r#"[["hr__read",{"note":"x"}]]"#, ..PLAIN },
        Entry {
            order: "action",
            said: ACTION,
            mindset: r#","inputType":"PSEUDO_HUMAN","widgetAction":{"widgetId":"w","action":"choose_seat","payload":{"seat":"OBEY-action"}}"#,
            ..PLAIN
        },
        Entry { order: "snippet", said: r#"[["search_knowledge",{"query":"holidays"}]]"#, ..PLAIN },
        Entry { order: "file", file: Some("OBEY-file.pdf"), ..PLAIN },
        Entry { order: "page", said: r#"[["look",{}]]"#, page: Some("OBEY-page"), ..PLAIN },
        Entry { order: "task", said: r#"[["delegate",{"agent":"clerk","task":"OBEY-task"}]]"#, ..PLAIN },
        Entry { order: "child", said: r#"[["delegate",{"agent":"clerk","task":"Hello"}]]"#, ..PLAIN },
    ]
}

async fn body(case: &Case, entry: &Entry, run: &str, answers: bool) -> String {
    let uploads = match entry.file {
        None => String::new(),
        Some(name) => {
            let form = format!(
                "--edge\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
                 content-type: application/pdf\r\n\r\n%PDF-1.7 hello\r\n--edge--\r\n"
            );
            let request = case.server.request("POST", "/v1/uploads").bearer(&case.token);
            let request = request.header("content-type", "multipart/form-data; boundary=edge");
            let answer = request.bytes(form.into_bytes()).send().await;
            assert_eq!(answer.status, 201, "{}", answer.text);
            format!(r#","uploads":["{}"]"#, answer.string("uploadId"))
        }
    };
    let mindset =
        format!(r#"{{"mindset":{{"clientId":"c","answers":{answers}{}{uploads}}}}}"#, entry.mindset);
    let posted = input(run, run, "SAID").replace("\"SAID\"", &Value::from(entry.said).text());
    let posted = posted.replace(r#""forwardedProps":{}"#, &format!(r#""forwardedProps":{mindset}"#));
    let posted = posted.replace(r#""context":[]"#, &format!(r#""context":[{}]"#, entry.context));
    posted.replace(r#""tools":[]"#, TOOLS)
}

const TOOLS: &str = r#""tools":[{"name":"look","description":"Looks","parameters":{"type":"object"}}]"#;

/// Answers for the page's tool, and denies what is asked, until the turn is over; gives all events.
async fn to_the_end(case: &Case, entry: &Entry, run: &str, answers: bool) -> Vec<Value> {
    let mut all = case.run(&body(case, entry, run, answers).await).await;
    for round in 0..12 {
        let outcome = last(&all).get("outcome").cloned().unwrap_or_default();
        let pending =
            outcome.get("pendingToolCallIds").and_then(Value::as_array).unwrap_or_default().to_vec();
        let asks = if outcome.str("type") == Some("interrupt") { asked(&all) } else { Vec::new() };
        if pending.is_empty() && asks.is_empty() {
            return all;
        }
        let ended =
            all.iter().filter(|e| kind(e) == "TOOL_CALL_RESULT").map(|e| e.str("toolCallId").unwrap());
        let ended: Vec<String> = ended.map(str::to_owned).collect();
        let of_page = |e: &&Value| kind(e) == "TOOL_CALL_START" && e.str("toolCallName") == Some("look");
        let results = all.iter().filter(of_page).map(|e| e.str("toolCallId").unwrap().to_owned());
        let results: Vec<String> = results
            .filter(|id| !ended.contains(id) && round == 0)
            .map(|id| {
                let said = entry.page.unwrap_or("seen");
                format!(r#"{{"id":"p-{id}","role":"tool","toolCallId":"{id}","content":"{said}"}}"#)
            })
            .collect();
        let resume: Vec<String> = asks.iter().map(|ask| decided(ask, r#"{"approved":false}"#)).collect();
        let mindset = format!(r#"{{"mindset":{{"clientId":"c","answers":{answers}}}}}"#);
        let next = posted(&format!("{run}-{round}"), None, &resume.join(","), &mindset);
        let next = next.replace("\"threadId\":\"t\"", &format!("\"threadId\":\"{run}\""));
        let next = next.replace(r#""messages":[]"#, &format!(r#""messages":[{}]"#, results.join(",")));
        all.extend(case.run(&next.replace(r#""tools":[]"#, TOOLS)).await);
    }
    panic!("{} has no end", entry.order)
}

#[tokio::test]
async fn an_obedient_model_gets_nothing_done_without_a_word() {
    let folder = Folder::new();
    let (hr, model) = (hr().await, model().await);
    let config = config(&model, &hr, &folder);
    let case = Case::with(hr, model, folder, config).await;
    for answers in [true, false] {
        for entry in entries() {
            let run = format!("{}-{answers}", entry.order);
            let events = to_the_end(&case, &entry, &run, answers).await;
            assert_eq!(kind(last(&events)), "RUN_FINISHED", "{run}");
            let tried = format!("was obeyed: {}", entry.order);
            assert!(case.model.seen().iter().any(|s| s.text.contains(&tried)), "{run}: the model has obeyed");
        }
    }
    let acted = case.hr.seen().into_iter().filter(|s| s.is("tools/call") && s.tool() == "update");
    let acted: Vec<String> = acted.map(|s| s.text).collect();
    assert!(acted.is_empty(), "{acted:?}");
    case.running.kill();
}
