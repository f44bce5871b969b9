//! Whose connection it is, and what happens when the server loses it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join;

use super::peer::{Peer, Reply};
use super::*;

#[tokio::test]
async fn every_request_of_every_kind_carries_the_session() {
    let peer = Peer::start(legacy(|_| None)).await;
    let servers = servers(&peer.url(), "authorization='Bearer key-canary'");
    let caller = Caller { tags: vec!["vip".into(), "é".into()], ..caller("one") };
    servers.tools("app", &caller, "s").await.unwrap();
    assert_eq!(servers.call(&caller, &request("echo", "{}"), NEW).await, done("ok"));
    peer.until(|s| s.method == "GET").await;
    servers.close().await;
    let seen = peer.seen();
    let lines: Vec<String> = peer.lines();
    assert_eq!(
        lines,
        [
            "POST server/discover",
            "POST initialize",
            "POST notifications/initialized s1",
            "POST tools/list s1",
            "POST tools/call s1",
            "DELETE - s1"
        ]
    );
    for request in &seen {
        let line = request.line();
        assert_eq!(request.header("x-user-id"), "user-one", "{line}");
        assert_eq!(request.header("x-app-uid"), "app", "{line}");
        assert_eq!(request.header("x-human-uid"), "human-1", "{line}");
        assert_eq!(request.header("x-session-tags"), r#"["vip","\u00e9"]"#, "{line}");
        assert_eq!(request.header("authorization"), "Bearer key-canary", "{line}");
        assert!(!request.text.contains("canary") && !request.text.contains("user-one"), "{line}");
    }
    let call = seen.iter().find(|s| s.is("tools/call")).unwrap();
    assert_eq!(call.header("mcp-protocol-version"), "2025-11-25");
}

#[tokio::test]
async fn a_server_of_the_new_revision_has_no_session() {
    let peer = Peer::start(|seen: &Seen| match seen.body.str("method").unwrap_or_default() {
        "server/discover" => seen.result(
            r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#,
        ),
        "tools/list" => seen.result(r#"{"tools":[{"name":"book","inputSchema":{"type":"object","properties":{"seat":{"type":"string","x-mcp-header":"Seat"}}}}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#),
        "tools/call" => seen.result(r#"{"resultType":"input_required","inputRequests":{"c":{"method":"elicitation/create","params":{"message":"Book 4A?","requestedSchema":{"type":"object","properties":{}},"mode":"form"}}},"requestState":"s"}"#),
        _ => Reply::with(404, &[], ""),
    })
    .await;
    let servers = servers(&peer.url(), "");
    let caller = caller("one");
    assert_eq!(servers.tools("app", &caller, "s").await.unwrap().tools.len(), 1);
    let outcome = servers.call(&caller, &request("book", r#"{"seat":"4A"}"#), NEW).await;
    assert!(matches!(&outcome, ToolOutcome::Failed(text) if text.contains("Book 4A?")), "{outcome:?}");
    servers.tools("app", &caller, "s").await.unwrap();
    servers.close().await;
    assert_eq!(
        peer.lines(),
        ["POST server/discover", "POST tools/list", "POST tools/call", "POST tools/list"]
    );
    let call = peer.seen().into_iter().find(|s| s.is("tools/call")).unwrap();
    assert_eq!(call.header("mcp-protocol-version"), "2026-07-28");
    assert_eq!((call.header("mcp-method"), call.header("mcp-name")), ("tools/call", "book"));
    assert_eq!(call.header("mcp-param-seat"), "4A");
    assert!(!call.text.contains(wire::BESIDE), "{}", call.text);
    assert!(peer.seen().iter().all(|s| s.header("x-user-id") == "user-one"));
}

const UNKNOWN: &str = r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"unknown session"},"id":null}"#;

/// A server that answers `status` to calls in `lost` sessions.
async fn forgetful(lost: &'static [&'static str], status: u16) -> (Peer, Arc<AtomicBool>) {
    let restarted = Arc::new(AtomicBool::new(false));
    let after = Arc::clone(&restarted);
    let peer = Peer::start(legacy(move |seen| {
        let gone = after.load(Ordering::Relaxed)
            && lost.contains(&seen.session())
            && (seen.is("tools/call") || seen.is("tools/list"));
        gone.then(|| Reply::json(status, UNKNOWN).after(Duration::from_millis(30)))
    }))
    .await;
    (peer, restarted)
}

#[tokio::test]
async fn a_lost_session_is_opened_anew_once_for_all_and_each_call_repeated_once() {
    // 400 is what some servers say where the protocol asks for 404.
    for status in [404, 400] {
        lost_once(status).await;
    }
}

async fn lost_once(status: u16) {
    let (peer, restarted) = forgetful(&["s1"], status).await;
    let (servers, caller) = (servers(&peer.url(), ""), caller("one"));
    servers.tools("app", &caller, "s").await.unwrap();
    assert_eq!(servers.call(&caller, &request("echo", "{}"), NEW).await, done("ok"));
    restarted.store(true, Ordering::Relaxed);
    let (a, b) = (request("echo", r#"{"n":"A"}"#), request("echo", r#"{"n":"B"}"#));
    let both = join(servers.call(&caller, &a, NEW), servers.call(&caller, &b, NEW)).await;
    assert_eq!(both, (done("ok"), done("ok")));
    servers.tools("app", &caller, "s").await.unwrap();
    let lines = peer.lines();
    let count = |line: &str| lines.iter().filter(|l| *l == line).count();
    assert_eq!(count("POST initialize"), 2, "{lines:?}");
    assert_eq!(count("POST notifications/initialized s2"), 1, "{lines:?}");
    assert_eq!(count("POST tools/call s1"), 3, "{lines:?}");
    assert_eq!(count("POST tools/call s2"), 2, "{lines:?}");
    assert_eq!(count("POST tools/list s2"), 1, "the tools are listed again: {lines:?}");
    for name in ["A", "B"] {
        let times = peer.seen().iter().filter(|s| s.text.contains(&format!(r#""n":"{name}""#))).count();
        assert_eq!(times, 2, "{name}");
    }
    assert!(peer.seen().iter().all(|s| s.header("x-user-id") == "user-one"));
    servers.close().await;
}

#[tokio::test]
async fn a_server_that_loses_the_new_session_too_is_not_asked_for_a_third() {
    let (peer, restarted) = forgetful(&["s1", "s2"], 404).await;
    let (servers, caller) = (servers(&peer.url(), ""), caller("one"));
    servers.tools("app", &caller, "s").await.unwrap();
    restarted.store(true, Ordering::Relaxed);
    let call = request("echo", "{}");
    let both = join(servers.call(&caller, &call, NEW), servers.call(&caller, &call, NEW)).await;
    let lost = ToolOutcome::Failed("The call was not carried out: the server has lost the session.".into());
    assert_eq!(both, (lost.clone(), lost.clone()));
    assert_eq!(servers.call(&caller, &call, NEW).await, lost);
    let fault = servers.tools("app", &caller, "s").await.unwrap_err();
    assert_eq!(fault, McpFault { server: "s".into(), reason: "the server has lost the session".into() });
    assert_eq!(peer.count("initialize"), 2, "{:?}", peer.lines());
    servers.close().await;
}

#[tokio::test]
async fn a_call_that_still_runs_in_a_lost_session_is_let_be() {
    let restarted = Arc::new(AtomicBool::new(false));
    let (after, through) = (Arc::clone(&restarted), Arc::new(AtomicBool::new(false)));
    let quick = Arc::clone(&through);
    let peer = Peer::start(legacy(move |seen| match (seen.tool(), seen.session()) {
        // Not before the quick call is through.
        ("slow", _) => Some(seen.result_once(&says("slow"), {
            let through = Arc::clone(&through);
            move |_| through.load(Ordering::Relaxed)
        })),
        ("echo", "s1") if after.load(Ordering::Relaxed) => Some(Reply::with(404, &[], "")),
        _ => None,
    }))
    .await;
    let (servers, caller) = (servers(&peer.url(), ""), caller("one"));
    servers.tools("app", &caller, "s").await.unwrap();
    let slow = tokio::spawn({
        let (servers, caller) = (servers.clone(), caller.clone());
        async move { servers.call(&caller, &request("slow", "{}"), NEW).await }
    });
    peer.until(|s| s.tool() == "slow").await;
    restarted.store(true, Ordering::Relaxed);
    assert_eq!(servers.call(&caller, &request("echo", "{}"), NEW).await, done("ok"));
    assert!(!slow.is_finished(), "a quick call does not wait for a slow one");
    quick.store(true, Ordering::Relaxed);
    assert_eq!(slow.await.unwrap(), done("slow"));
    assert_eq!(peer.seen().iter().filter(|s| s.tool() == "slow").count(), 1);
    servers.close().await;
}

#[tokio::test]
async fn callers_share_nothing_and_equal_ones_connect_once() {
    let peer = Peer::start(legacy(|seen| {
        seen.is("initialize").then(|| {
            let session = format!("{}-session", seen.header("x-user-id"));
            seen.result(r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"t","version":"1"}}"#)
                .header("mcp-session-id", &session)
                .after(Duration::from_millis(50))
        })
    }))
    .await;
    let servers = servers(&peer.url(), "");
    let calls = ["ann", "bob", "ann", "bob", "ann"].map(|name| {
        let servers = servers.clone();
        tokio::spawn(async move { servers.call(&caller(name), &request("echo", "{}"), NEW).await })
    });
    for call in calls {
        assert_eq!(call.await.unwrap(), done("ok"));
    }
    assert_eq!(peer.count("initialize"), 2, "{:?}", peer.lines());
    for seen in peer.seen().iter().filter(|s| !s.session().is_empty()) {
        assert_eq!(seen.session(), format!("{}-session", seen.header("x-user-id")), "{}", seen.line());
    }
    // Another session or other tags of the same user are another caller.
    let tagged = Caller { tags: vec!["x".into()], ..caller("ann") };
    servers.call(&tagged, &request("echo", "{}"), NEW).await;
    assert_eq!(peer.count("initialize"), 3);
    servers.close().await;
    assert!(matches!(
        servers.call(&caller("ann"), &request("echo", "{}"), NEW).await,
        ToolOutcome::Failed(_)
    ));
}

#[tokio::test]
async fn an_unused_connection_is_closed() {
    let peer = Peer::start(legacy(|_| None)).await;
    let (servers, caller) = (servers(&peer.url(), "idle='150ms'"), caller("one"));
    servers.call(&caller, &request("echo", "{}"), NEW).await;
    let closed = peer.until(|s| s.method == "DELETE").await;
    assert_eq!((closed.session(), closed.header("x-user-id")), ("s1", "user-one"));
    assert_eq!(servers.call(&caller, &request("echo", "{}"), NEW).await, done("ok"));
    assert_eq!(peer.count("initialize"), 2);
    servers.close().await;
}

#[tokio::test]
async fn connections_are_bounded_and_the_longest_unused_gives_way() {
    let over = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&over);
    let peer = Peer::start(legacy(move |seen| {
        let end = Arc::clone(&end);
        (seen.tool() == "slow").then(|| seen.result_once(&says("slow"), move |_| end.load(Ordering::Relaxed)))
    }))
    .await;
    let servers = Servers::with_at_most(&servers_config(&peer.url(), ""), 2);
    let call = |name: &'static str, tool: &'static str| {
        let servers = servers.clone();
        async move { servers.call(&caller(name), &request(tool, "{}"), NEW).await }
    };
    let slow = tokio::spawn(call("ann", "slow"));
    peer.until(|s| s.tool() == "slow").await;
    for name in ["bob", "cid", "dan"] {
        assert_eq!(call(name, "echo").await, done("ok"), "{name}");
    }
    let closed = peer.until(|s| s.method == "DELETE").await;
    assert_eq!(closed.header("x-user-id"), "user-bob");
    // Those in use stay, and beyond them there is no room.
    let other = tokio::spawn(call("dan", "slow"));
    peer.until(|s| s.tool() == "slow" && s.header("x-user-id") == "user-dan").await;
    let full = "The call was not carried out: there are too many connections to MCP servers.";
    assert_eq!(call("eve", "echo").await, ToolOutcome::Failed(full.into()));
    over.store(true, Ordering::Relaxed);
    assert_eq!((slow.await.unwrap(), other.await.unwrap()), (done("slow"), done("slow")));
    servers.close().await;
}

#[tokio::test]
async fn a_list_is_kept_until_the_server_says_that_it_has_changed() {
    let lists = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&lists);
    let peer = Peer::start(legacy(move |seen| match (seen.method.as_str(), seen.tool()) {
        ("GET", _) => Some(Reply::part_of_stream(": open\n\n", true)),
        (_, "change") => Some(seen.streamed(
            &[r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#],
            &says("changed"),
        )),
        _ if seen.is("tools/list") => {
            let number = count.fetch_add(1, Ordering::Relaxed);
            Some(seen.result(&format!(
                r#"{{"tools":[{{"name":"t{number}","inputSchema":{{"type":"object"}}}}]}}"#
            )))
        }
        _ => None,
    }))
    .await;
    let (servers, caller) = (servers(&peer.url(), ""), caller("one"));
    for _ in 0..2 {
        assert_eq!(servers.tools("app", &caller, "s").await.unwrap().tools[0].name, "t0");
    }
    assert_eq!(servers.call(&caller, &request("change", "{}"), NEW).await, done("changed"));
    // The server's word and its answer are taken in by different tasks.
    let mut name = String::new();
    for _ in 0..500 {
        name = servers.tools("app", &caller, "s").await.unwrap().tools[0].name.clone();
        if name != "t0" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(name, "t1");
    servers.close().await;
}
