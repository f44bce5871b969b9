//! Runs that call tools of MCP servers: whose headers they carry, what is supplied by
//! the page, and what happens when a server is slow or gone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "../src/mcp/tests/peer.rs"]
mod peer;
mod support;

use std::time::Duration;

use mindset_core::json::{self, Value};
use peer::{Peer, Reply, Seen};
use support::{Answer, Folder, Running, Server, events, input, kind, last, program, text};

/// An MCP server with the tool `update`, which takes `pause` and then says `saved`.
async fn hr(pause: Duration) -> Peer {
    hr_with(
        r#"{"name":"update","description":"Updates the profile","inputSchema":{"type":"object",
        "properties":{"profile":{"type":"string"},"note":{"type":"string"}},"required":["profile","note"]}}"#,
        pause,
    )
    .await
}

/// The same with other tools.
async fn hr_with(tools: &str, pause: Duration) -> Peer {
    let list = format!(r#"{{"tools":[{tools}]}}"#);
    Peer::start(move |seen: &Seen| match (seen.method.as_str(), seen.body.str("method").unwrap_or("")) {
        ("POST", "server/discover") => Reply::plain(400, "text/plain", "no session"),
        ("POST", "initialize") => seen
            .result(
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}"#,
            )
            .header("mcp-session-id", &format!("session-of-{}", seen.header("x-user-id"))),
        ("POST", "tools/list") => seen.result(&list),
        ("POST", "tools/call") => seen.result(r#"{"content":[{"type":"text","text":"saved"}]}"#).after(pause),
        ("POST", _) => Reply::accepted(),
        ("DELETE", _) => Reply::with(200, &[], ""),
        _ => Reply::with(405, &[], ""),
    })
    .await
}

/// A model that calls the tool `times` times, one after the other, and then says `Done.`.
async fn model(times: usize) -> Peer {
    let piece = |delta: String, end: &str| {
        format!(r#"data: {{"choices":[{{"delta":{delta},"finish_reason":{end}}}]}}"#)
    };
    Peer::start(move |seen: &Seen| {
        let results = seen.text.matches(r#""role":"tool""#).count();
        let body = if results < times {
            let call = format!(
                r#"{{"tool_calls":[{{"index":0,"id":"c{results}","function":{{"name":"hr__update","arguments":"{{\"note\":\"n{results}\"}}"}}}}]}}"#
            );
            format!("{}\n\n{}\n\ndata: [DONE]\n\n", piece(call, "null"), piece("{}".into(), "\"tool_calls\""))
        } else {
            let said = piece(r#"{"content":"Done."}"#.into(), "null");
            format!("{said}\n\n{}\n\ndata: [DONE]\n\n", piece("{}".into(), "\"stop\""))
        };
        Reply::plain(200, "text/event-stream", &body)
    })
    .await
}

fn config(model: &str, hr: &str, more: &str) -> String {
    format!(
        r#"
[models.scripted]
provider = "openai"
model = "m"
base_url = "{model}"
[[apps]]
uid = "demo"
api_keys = ["first-key"]
origins = ["loopback"]
allow_no_origin = true
[[apps.mcp_servers]]
uid = "hr"
url = "{hr}"
authorization = "Bearer SERVER-canary"
allow_private = true
connect_timeout = "20s"
{more}
[[apps.agents]]
uid = "demo"
model = "scripted"
anonymous = true
mcp_servers = ["hr"]
"#
    )
}

async fn put(server: &Server, token: &str, run: &str, values: &str) -> Answer {
    let request = server.request("PUT", &format!("/v1/runs/{run}/passthrough-params")).bearer(token);
    let request = request.header("content-type", "application/json");
    request.body(&format!(r#"{{"passthroughParams":{values}}}"#)).send().await
}

fn with_values(run: &str, values: &str) -> String {
    input(run, run, "go").replace(
        r#""forwardedProps":{}"#,
        &format!(r#""forwardedProps":{{"mindset":{{"passthroughParams":{values}}}}}"#),
    )
}

/// The arguments of every call that the MCP server got.
fn arguments(peer: &Peer) -> Vec<Value> {
    let calls = peer.seen().into_iter().filter(|s| s.is("tools/call"));
    calls.filter_map(|s| s.body.get("params")?.get("arguments").cloned()).collect()
}

#[tokio::test]
async fn what_the_page_supplies_reaches_the_tool_and_nothing_else() {
    let (hr, model) = (hr(Duration::from_millis(400)).await, model(2).await);
    let server = Server::dev(&config(&format!("http://{}", model.address), &hr.url(), "")).await;
    let token = server.user("USER-canary").await;
    let body = with_values("r1", r#"{"hr.update.profile":"FIRST-canary","note":"WILD-canary"}"#);
    let run = server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await;
    let reading = tokio::spawn(events(run));
    hr.until(|seen| seen.is("tools/call")).await;
    // From the next call on; the model is not asked for what is no longer supplied.
    assert_eq!(
        put(&server, &token, "r1", r#"{"profile":"SECOND-canary \"\u0000😀\u2028"}"#).await.status,
        204
    );
    let events = reading.await.unwrap();
    assert_eq!((kind(last(&events)), text(&events).as_str()), ("RUN_FINISHED", "Done."));
    let called = arguments(&hr);
    assert_eq!(called.len(), 2);
    assert_eq!(called[0].str("profile"), Some("FIRST-canary"));
    assert_eq!(called[0].str("note"), Some("WILD-canary"));
    assert_eq!(called[1].str("profile"), Some("SECOND-canary \"\0😀\u{2028}"));
    assert_eq!(called[1].str("note"), Some("n1"));

    let requests = model.seen();
    assert_eq!(requests.len(), 3);
    let declares =
        |at: usize, name: &str| requests[at].text.contains(&format!(r#""{name}":{{"type":"string"}}"#));
    assert!(!declares(0, "profile") && !declares(0, "note"), "{}", requests[0].text);
    assert!(!declares(1, "profile") && declares(1, "note"), "{}", requests[1].text);
    assert!(requests.iter().all(|r| !r.text.contains("canary")));
    assert!(!format!("{events:?}").contains("canary"));

    let path = "/v1/dev/conversations/r1";
    let dev = server.request("GET", path).bearer(&token).send().await;
    assert!(!dev.text.contains("canary"), "{}", dev.text);
    let entries = dev.body.get("entries").and_then(Value::as_array).unwrap();
    let tools: Vec<&Value> = entries.iter().filter(|e| e.str("kind") == Some("tool")).collect();
    assert_eq!((entries.len(), tools.len()), (5, 2));
    assert_eq!((tools[0].str("toolName"), tools[0].str("server")), (Some("update"), Some("hr")));
    assert_eq!(tools[0].get("arguments").unwrap().to_string(), "{}");
    let names = |key: &str| {
        let list = tools[0].get(key).and_then(Value::as_array).unwrap();
        list.iter()
            .map(|v| (v.str("name").unwrap(), v.get("length").and_then(Value::as_u64).unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(names("supplied"), [("profile", 12), ("note", 11)]);
    assert!(
        names("headers").contains(&("authorization", 20)) && names("headers").contains(&("x-user-id", 11))
    );
    let folder = server.folder.as_ref().unwrap();
    let stored =
        ["test.db", "test.db-wal"].map(|f| std::fs::read(folder.path(f)).unwrap_or_default()).concat();
    let stored = String::from_utf8_lossy(&stored);
    for (canary, there) in
        [("USER-canary", true), ("FIRST", false), ("WILD", false), ("SECOND", false), ("SERVER", false)]
    {
        assert_eq!(stored.contains(canary), there, "{canary} in the database");
    }
}

#[tokio::test]
async fn two_users_at_once_have_their_own_headers_and_connections() {
    let (hr, model) = (hr(Duration::from_millis(100)).await, model(1).await);
    let config = config(&format!("http://{}", model.address), &hr.url(), "");
    let server = Server::with(&config, &[]).await;
    let talk = async |user: &str, tag: &str| {
        let token = server.user(user).await;
        let body = format!(r#"{{"agentUid":"demo","externalUserId":"{user}","tags":["{tag}"]}}"#);
        let session = server.backend("POST", "agentsessions", &body).await.string("agentSessionUid");
        let path = format!("/v1/agents/{session}/runs");
        for run in ["r1", "r2"] {
            let body = with_values(run, &format!(r#"{{"profile":"{user}"}}"#));
            let events = events(server.post(&path, &body).bearer(&token).open().await).await;
            assert_eq!(text(&events), "Done.");
        }
    };
    tokio::join!(talk("ada", "größe"), talk("bob", "b"));
    let calls: Vec<Seen> = hr.seen().into_iter().filter(|s| s.is("tools/call")).collect();
    assert_eq!(calls.len(), 4);
    for call in &calls {
        let user = call.body.get("params").unwrap().get("arguments").unwrap().str("profile").unwrap();
        assert_eq!(call.header("x-user-id"), user);
        assert_eq!(call.session(), format!("session-of-{user}"));
        assert_eq!(call.header("x-app-uid"), "demo");
        let tags = if user == "ada" { r#"["gr\u00f6\u00dfe"]"# } else { r#"["b"]"# };
        assert_eq!(call.header("x-session-tags"), tags);
        assert_eq!(call.header("x-human-uid").len(), 36);
        assert_eq!(call.header("authorization"), "Bearer SERVER-canary");
    }
    assert_eq!(hr.count("initialize"), 2, "one connection each");
    // Without a session nothing is settled.
    let token = server.user("ada").await;
    let body = with_values("r3", r#"{"profile":"x"}"#);
    events(server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await).await;
    let seen = hr.seen();
    let call = seen.iter().rfind(|s| s.is("tools/call")).unwrap();
    assert_eq!((call.header("x-user-id"), call.header("x-session-tags")), ("ada", "[]"));
    // Nobody vouches for an anonymous visitor: servers know them by the runtime's own id.
    let (token, _) = server.anonymous().await;
    events(server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await).await;
    let seen = hr.seen();
    let call = seen.iter().rfind(|s| s.is("tools/call")).unwrap();
    assert_eq!((call.header("x-user-id"), call.header("x-user-id").len()), (call.header("x-human-uid"), 36));
}

#[tokio::test]
async fn a_session_without_the_server_has_none_of_its_tools() {
    let (hr, model) = (hr(Duration::ZERO).await, model(1).await);
    let server = Server::with(&config(&format!("http://{}", model.address), &hr.url(), ""), &[]).await;
    let token = server.user("ada").await;
    let body = r#"{"agentUid":"demo","externalUserId":"ada","mcpserverUids":[]}"#;
    let session = server.backend("POST", "agentsessions", body).await.string("agentSessionUid");
    let events = events(server.run(&token, &session, ("r1", "r1"), "go").await).await;
    assert_eq!(kind(last(&events)), "RUN_FINISHED");
    assert!(hr.seen().is_empty());
    assert!(!model.seen()[0].text.contains(r#""tools":"#), "{}", model.seen()[0].text);
}

#[tokio::test]
async fn how_many_tools_are_left_out_is_true() {
    for (count, left_out) in [(128, None), (130, Some("the last 2 cannot")), (5000, Some("4872 of them"))] {
        let tools: Vec<String> = (0..count).map(|i| format!(r#"{{"name":"t{i}"}}"#)).collect();
        let (hr, model) = (hr_with(&tools.join(","), Duration::ZERO).await, model(0).await);
        let server = Server::with(&config(&format!("http://{}", model.address), &hr.url(), ""), &[]).await;
        let token = server.user("ada").await;
        let events = events(server.run(&token, "demo", ("r1", "r1"), "go").await).await;
        let warnings: Vec<&str> = events
            .iter()
            .filter(|event| event.str("name") == Some("mindset.warning"))
            .filter_map(|event| event.get("value")?.str("message"))
            .collect();
        assert_eq!(warnings.len(), usize::from(left_out.is_some()), "{warnings:?}");
        assert!(left_out.is_none_or(|said| warnings[0].contains(said)), "{warnings:?}");
        assert_eq!(model.seen()[0].text.matches("\"hr__t").count(), 128);
    }
}

#[tokio::test]
async fn a_server_that_is_down() {
    let model = model(0).await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{nobody}/mcp");
    let base = format!("http://{}", model.address);
    let server = Server::with(&config(&base, &url, ""), &[]).await;
    let token = server.user("ada").await;
    let events = events(server.run(&token, "demo", ("r1", "r1"), "go").await).await;
    assert_eq!((kind(last(&events)), text(&events).as_str()), ("RUN_FINISHED", "Done."));
    assert_eq!((kind(&events[1]), events[1].str("name")), ("CUSTOM", Some("mindset.warning")));
    let told = events[1].get("value").and_then(|v| v.str("message")).unwrap();
    assert!(told.contains("`hr`") && !told.contains(&nobody.to_string()), "{told}");

    let server = Server::with(&config(&base, &url, "required = true"), &[]).await;
    let token = server.user("ada").await;
    let request = server.post("/v1/agents/demo/runs", &input("r1", "r1", "go")).bearer(&token);
    assert_eq!(request.send().await.error(), (500, "agent-misconfigured".into()));
    assert_eq!(server.conversation(&token, "r1").await.status, 404, "nothing is left behind");
}

#[tokio::test]
async fn stopping_gives_up_what_runs() {
    let (hr, model) = (hr(Duration::from_secs(30)).await, model(1).await);
    let server = Server::with(&config(&format!("http://{}", model.address), &hr.url(), ""), &[]).await;
    let token = server.user("ada").await;
    let body = with_values("r1", r#"{"profile":"x"}"#);
    let first = server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await;
    hr.until(|seen| seen.is("tools/call")).await;
    // The same post attaches and calls nothing again.
    let again = server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await;
    let stop = server.post("/v1/runs/r1/cancel", "").bearer(&token).send().await;
    assert_eq!(stop.string("state"), "cancelled");
    let (first, again) = tokio::join!(events(first), events(again));
    assert_eq!(first, again);
    let result = first.iter().find(|e| kind(e) == "TOOL_CALL_RESULT").unwrap();
    let told = json::parse(&result.to_string()).unwrap();
    let mindset = told.get("metadata").and_then(|m| m.get("mindset")).unwrap();
    assert_eq!(mindset.get("ok").and_then(Value::as_bool), Some(false));
    assert_eq!(arguments(&hr).len(), 1);
    let next = events(server.run(&token, "demo", ("r2", "r1"), "and now?").await).await;
    assert_eq!(kind(last(&next)), "RUN_FINISHED");
}

#[tokio::test]
async fn a_run_can_be_stopped_while_its_servers_are_asked() {
    let silent = Peer::start(|_| Reply::silence()).await;
    let model = model(0).await;
    let more = "required = true\ntimeout = \"30s\"";
    let config = config(&format!("http://{}", model.address), &silent.url(), more);
    let server = Server::with(&config, &[]).await;
    let token = server.user("ada").await;
    let begin = std::time::Instant::now();
    let post = server.post("/v1/agents/demo/runs", &input("r1", "r1", "go")).bearer(&token);
    let run = tokio::spawn(async move { events(post.open().await).await });
    silent.until(|_| true).await;
    assert_eq!(put(&server, &token, "r1", r#"{"x":1}"#).await.status, 204);
    let stop = server.post("/v1/runs/r1/cancel", "").bearer(&token).send().await;
    assert_eq!((stop.status, stop.string("state").as_str()), (200, "cancelled"));
    let told = run.await.unwrap();
    assert_eq!(last(&told).get("outcome").and_then(|o| o.str("type")), Some("cancelled"), "{told:?}");
    assert!(begin.elapsed() < Duration::from_secs(15) && model.seen().is_empty());
    assert_eq!(server.conversation(&token, "r1").await.status, 200);
}

#[tokio::test]
async fn shutting_down_does_not_wait_for_a_tool() {
    let (hr, model) = (hr(Duration::from_secs(30)).await, model(1).await);
    let config = config(&format!("http://{}", model.address), &hr.url(), "");
    let folder = Folder::new();
    let server = Server::at(&folder.path("test.db"), &config, &[]).await;
    let token = server.user("ada").await;
    let body = with_values("r1", r#"{"profile":"x"}"#);
    let run = server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await;
    hr.until(|seen| seen.is("tools/call")).await;
    let reading = tokio::spawn(events(run));
    assert!(server.stop().await < Duration::from_secs(15));
    let told = reading.await.unwrap();
    let end = last(&told);
    let mindset = end.get("metadata").and_then(|m| m.get("mindset")).unwrap();
    assert_eq!((kind(end), mindset.str("reason")), ("RUN_ERROR", Some("interrupted")), "{told:?}");
    let effects = mindset.get("effects").and_then(Value::as_array).unwrap();
    assert_eq!(effects[0].str("outcome"), Some("unknown"), "it may have acted");
}

#[cfg(unix)]
#[tokio::test]
async fn the_log_tells_of_tools_and_not_what_they_were_told() {
    let (hr, model) = (hr(Duration::ZERO).await, model(1).await);
    let folder = Folder::new();
    let config = config(&format!("http://{}", model.address), &hr.url(), "");
    let (program, server) = Running::start(program(&folder, &config).env("MINDSET__SERVER__LOG", "trace"));
    let token = server.user("USER-canary").await;
    let body = r#"{"agentUid":"demo","externalUserId":"USER-canary","tags":["TAG-canary"]}"#;
    let session = server.backend("POST", "agentsessions", body).await.string("agentSessionUid");
    let body = with_values("r1", r#"{"profile":"VALUE-canary"}"#);
    let run = server.post(&format!("/v1/agents/{session}/runs"), &body).bearer(&token).open().await;
    assert_eq!(text(&events(run).await), "Done.");
    let call = hr.until(|seen| seen.is("tools/call")).await;
    let log = program.stop();
    for line in ["tools listed", "tool called", "server=\"hr\"", "tool=\"update\""] {
        assert!(log.contains(line), "{line} not in {log}");
    }
    for secret in
        ["canary", "n0", "saved", call.header("x-human-uid"), &token, session.split_once("::").unwrap().1]
    {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}
