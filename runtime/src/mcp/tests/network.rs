//! Where requests go and how much comes back.

use super::peer::{Peer, Reply};
use super::*;

async fn fault(servers: &Servers) -> String {
    servers.tools("app", &caller("one"), "s").await.unwrap_err().reason
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = Peer::start(legacy(|_| None)).await;
    for (more, to_other) in [("", true), ("", false), ("redirects=true", true)] {
        let target = if to_other { other.url() } else { "/elsewhere".to_owned() };
        let peer = Peer::start(move |_: &Seen| Reply::with(307, &[("location", &target)], "")).await;
        let servers = servers(&peer.url(), more);
        assert_eq!(
            fault(&servers).await,
            "the server redirects to another address, which is not followed",
            "{more} {to_other}"
        );
        assert!(other.seen().is_empty());
        assert!(peer.seen().iter().all(|s| s.path == "/mcp"));
        servers.close().await;
    }
}

#[tokio::test]
async fn redirects_within_the_origin_are_followed_when_configured() {
    let answer = legacy(|_| None);
    let peer = Peer::start(move |seen: &Seen| match seen.path.as_str() {
        "/mcp" => Reply::with(308, &[("location", "/mcp/")], ""),
        "/mcp/" => answer(seen),
        _ => Reply::with(404, &[], ""),
    })
    .await;
    let servers = servers(&peer.url(), "redirects=true");
    assert_eq!(servers.call(&caller("one"), &request("echo", "{}"), NEW).await, done("ok"));
    assert!(peer.seen().iter().all(|s| s.header("x-user-id") == "user-one"));
    servers.close().await;
    // A loop ends, and a redirect that would turn a POST into a GET is none.
    for (status, more) in [(307, "redirects=true"), (302, "redirects=true"), (303, "redirects=true")] {
        let peer = Peer::start(move |_: &Seen| Reply::with(status, &[("location", "/mcp")], "")).await;
        let servers = super::servers(&peer.url(), more);
        assert!(fault(&servers).await.contains("not followed"), "{status}");
        assert!(peer.seen().len() <= 4);
    }
}

#[tokio::test]
async fn names_that_lead_into_private_networks_are_not_connected_to() {
    let peer = Peer::start(legacy(|_| None)).await;
    let mut config = servers_config(&format!("http://localhost:{}/mcp", peer.address.port()), "");
    // As a name does that was public when the configuration was read.
    config.apps[0].mcp_servers[0].allow_private = false;
    let servers = Servers::new(&config);
    assert_eq!(
        fault(&servers).await,
        "the server's name leads into a private network; set `allow_private` if that is meant"
    );
    assert!(peer.seen().is_empty());
}

#[tokio::test]
async fn answers_over_the_bound_are_dropped() {
    let huge: &'static str =
        format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(17 << 20)).leak();
    let peer = Peer::start(legacy(move |seen| match seen.tool() {
        "json" => Some(seen.result(huge)),
        "stream" => Some(seen.streamed(&[], huge)),
        "endless" => Some(Reply::part_of_stream(&format!("data: {}", "x".repeat(17 << 20)), true)),
        "id" => Some(Reply::part_of_stream(&format!("id: 5\n\ndata: {}", "x".repeat(17 << 20)), true)),
        _ => None,
    }))
    .await;
    let servers = servers(&peer.url(), "");
    for tool in ["json", "stream", "endless", "id"] {
        let outcome = servers.call(&caller("one"), &request(tool, "{}"), NEW).await;
        let large = "It is not known whether the call was carried out: the server's answer is too large.";
        assert_eq!(outcome, ToolOutcome::Unknown(large.into()), "{tool}");
    }
    // One that fits goes through.
    assert_eq!(servers.call(&caller("one"), &request("echo", "{}"), NEW).await, done("ok"));
    assert_eq!(peer.count("tools/call"), 5);
    servers.close().await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_asked_once_for_all_who_wait() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", free.local_addr().unwrap());
    drop(free);
    let servers = servers(&url, "");
    assert_eq!(fault(&servers).await, "the server cannot be reached");
    let outcome = servers.call(&caller("one"), &request("echo", "{}"), NEW).await;
    assert_eq!(
        outcome,
        ToolOutcome::Failed("The call was not carried out: the server cannot be reached.".into())
    );

    let silent = Peer::start(|_: &Seen| Reply::silence()).await;
    let servers = super::servers(&silent.url(), "connect_timeout='1s'");
    let (one, two) = (caller("one"), request("echo", "{}"));
    let all = join_all((0..5).map(|_| servers.call(&one, &two, NEW))).await;
    // Once; again only if a stall lets the pause after a failure pass.
    assert!(silent.count("initialize") <= 2, "{:?}", silent.lines());
    let outcome = ToolOutcome::Failed("The call was not carried out: the server does not answer.".into());
    assert!(all.iter().all(|o| *o == outcome), "{all:?}");
}

#[tokio::test]
async fn servers_that_do_not_speak_the_protocol() {
    for (reply, reason) in [
        (Reply::plain(200, "text/html", "<p>hello</p>"), "the server's answer cannot be read"),
        (Reply::plain(404, "text/html", "<p>no</p>"), "the server answered with HTTP 404"),
        (
            Reply::with(401, &[("www-authenticate", "Bearer realm=\"x\"")], ""),
            "the server refuses access; check its `authorization`",
        ),
        (
            Reply::json(200, r#"{"jsonrpc":"2.0","id":0,"result":{"no":"revision"}}"#),
            "the server's answer cannot be read",
        ),
        (Reply::cut(), "the connection to the server broke"),
    ] {
        let shown = format!("{reply:?}");
        let peer = Peer::start(move |_: &Seen| reply.clone()).await;
        let servers = servers(&peer.url(), "");
        assert_eq!(fault(&servers).await, reason, "{shown}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_know_the_new_revision_is_asked_for_the_old_one() {
    for reply in [
        Reply::silence(),
        Reply::accepted(),
        Reply::json(200, r#"{"jsonrpc":"2.0","id":0,"result":{}}"#),
        Reply::json(200, r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"?"}}"#),
        Reply::json(400, r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32000,"message":"?"}}"#),
        Reply::json(400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}"#),
        Reply::json(
            400,
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"?","data":{"supported":["2025-11-25"]}}}"#,
        ),
        Reply::json(400, r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"?"}}"#),
        Reply::json(
            200,
            r#"{"jsonrpc":"2.0","id":0,"result":{"supportedVersions":["2025-11-25"],"capabilities":{},"resultType":"complete"}}"#,
        ),
        Reply::plain(404, "text/html", "?"),
        Reply::plain(405, "text/plain", "?"),
        Reply::plain(500, "text/plain", "?"),
        Reply::plain(200, "text/html", "?"),
        Reply::plain(
            200,
            "text/event-stream",
            "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32601,\"message\":\"?\"}}\n\n",
        ),
    ] {
        let shown = format!("{reply:?}");
        // Half of it for the new revision, which silence takes, and half for the old one.
        let limit = if shown.is_empty() { "connect_timeout='8s'" } else { "" };
        let answer = legacy(|_| None);
        let peer = Peer::start(move |seen: &Seen| match seen.is("server/discover") {
            true => reply.clone(),
            false => answer(seen),
        })
        .await;
        let servers = servers(&peer.url(), limit);
        assert_eq!(servers.call(&caller("one"), &request("echo", "{}"), NEW).await, done("ok"), "{shown}");
        servers.close().await;
    }
}
