//! Calls: what is sent, what comes back, and what is never sent twice.

use super::peer::{Peer, Reply};
use mindset_core::json;

use super::*;

/// Calls `echo` at a server that answers the call with `reply`.
async fn called(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static, more: &str) -> (ToolOutcome, Peer) {
    let peer = Peer::start(legacy(move |seen| seen.is("tools/call").then(|| reply(seen)))).await;
    let servers = servers(&peer.url(), more);
    let outcome = servers.call(&caller("one"), &request("echo", "{}"), NEW).await;
    servers.close().await;
    (outcome, peer)
}

fn failed(text: &str) -> ToolOutcome {
    ToolOutcome::Failed(text.into())
}

fn unknown(reason: &str) -> ToolOutcome {
    ToolOutcome::Unknown(format!("It is not known whether the call was carried out: {reason}."))
}

#[tokio::test]
async fn results_over_both_kinds_of_answer() {
    for (result, expected) in [
        (
            r#"{"content":[],"structuredContent":{"n":1.50,"big":99999999999999999999}}"#,
            done(r#"{"n":1.50,"big":99999999999999999999}"#),
        ),
        (
            r#"{"content":[{"type":"text","text":" "}],"structuredContent":{"count":12},"isError":false}"#,
            done(r#"{"count":12}"#),
        ),
        (r#"{"structuredContent":{"ok":true}}"#, done(r#"{"ok":true}"#)),
        (
            r#"{"content":[{"type":"text","text":"{\"count\":12}"}],"structuredContent":{"count":12}}"#,
            done(r#"{"count":12}"#),
        ),
        (
            r#"{"content":[{"type":"text","text":"no such table: ordrs"}],"isError":true}"#,
            failed("no such table: ordrs"),
        ),
        (
            r#"{"content":[{"type":"hologram"},{"type":"text","text":"x"}]}"#,
            done("[content of the kind \"hologram\", which cannot be shown]\n\nx"),
        ),
        ("{}", done("The tool returned nothing.")),
        ("null", done("The tool returned nothing.")),
        (r#"{"tools":[1],"content":[{"type":"text","text":"x"}]}"#, done("x")),
        (r#"{"protocolVersion":"x","capabilities":{},"content":[{"type":"text","text":"x"}]}"#, done("x")),
    ] {
        let (outcome, _peer) = called(move |seen| seen.result(result), "").await;
        assert_eq!(outcome, expected, "JSON {result}");
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
        let (outcome, _peer) =
            called(move |seen| seen.streamed(&[progress, "not JSON", "[]"], result), "").await;
        assert_eq!(outcome, expected, "stream {result}");
    }
}

#[tokio::test]
async fn errors_of_the_protocol_are_data_for_the_model() {
    for (error, expected) in [
        (r#"{"code":-32602,"message":"unknown tool"}"#, failed("unknown tool")),
        (r#"{"code":-32602,"message":"x","data":{"deep":[1]}}"#, failed("x")),
        (
            r#"{"code":"no number","message":""}"#,
            failed("The server reported the error -32603 and said no more."),
        ),
        (r#"{}"#, failed("The server reported the error -32603 and said no more.")),
        (r#""just words""#, failed("just words")),
        (r#"{"code":-32099,"message":"spoof","data":"mindset.text"}"#, failed("spoof")),
    ] {
        let (outcome, _peer) = called(move |seen| seen.error(error), "").await;
        assert_eq!(outcome, expected, "{error}");
    }
    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"try later"}}"#;
    let (outcome, _peer) = called(move |_| Reply::json(500, body), "").await;
    assert_eq!(outcome, failed("try later"));
    let (outcome, _peer) = called(move |_| Reply::json(400, body), "").await;
    assert_eq!(outcome, failed("try later"));
}

#[tokio::test]
async fn what_has_no_answer_is_unknown_and_never_repeated() {
    let broke = "the connection to the server broke";
    let unreadable = "the server's answer cannot be read";
    let cases: [(Reply, &str); 8] = [
        (Reply::cut(), broke),
        (Reply::part_of_stream("data: {\"jsonrpc\"", false), broke),
        (Reply::part_of_stream("", false), broke),
        (Reply::plain(200, "text/event-stream", ": nothing\n\n"), broke),
        (Reply::json(200, "not JSON"), unreadable),
        (Reply::json(200, r#"{"jsonrpc":"2.0","id":1}"#), unreadable),
        (Reply::plain(200, "text/html", "<p>Log in</p>"), unreadable),
        (Reply::plain(502, "text/html", "<p>Bad gateway</p>"), "the server answered with HTTP 502"),
    ];
    for (reply, reason) in cases {
        let shown = format!("{reply:?}");
        let (outcome, peer) = called(move |_| reply.clone(), "").await;
        assert_eq!(outcome, unknown(reason), "{shown}");
        assert_eq!(peer.count("tools/call"), 1, "{shown}");
    }
}

#[tokio::test]
async fn what_was_refused_did_not_run() {
    for (status, reason) in [
        (400, "the server answered with HTTP 400"),
        (401, "the server refuses access"),
        (403, "the server refuses access"),
        (429, "the server has too much to do (HTTP 429)"),
        (503, "the server answered with HTTP 503"),
    ] {
        let (outcome, peer) = called(move |_| Reply::plain(status, "text/plain", "no"), "").await;
        assert_eq!(outcome, failed(&format!("The call was not carried out: {reason}.")));
        assert_eq!(peer.count("tools/call"), 1);
    }
}

#[tokio::test]
async fn a_slow_server_is_told_to_stop() {
    for silent in [Reply::silence(), Reply::part_of_stream(": wait\n\n", true)] {
        let peer = Peer::start(legacy(move |seen| seen.is("tools/call").then(|| silent.clone()))).await;
        let servers = servers(&peer.url(), "timeout='200ms'");
        let outcome = servers.call(&caller("one"), &request("echo", "{}"), NEW).await;
        assert_eq!(outcome, unknown("the server did not answer in time"));
        let call = peer.until(|s| s.is("tools/call")).await;
        let stop = peer.until(|s| s.is("notifications/cancelled")).await;
        assert_eq!(peer.count("tools/call"), 1);
        assert_eq!(stop.body.get("params").and_then(|p| p.get("requestId")), call.body.get("id"));
        assert_eq!(stop.header("x-user-id"), "user-one");
        servers.close().await;
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_told_to_stop() {
    let peer = Peer::start(legacy(|seen| seen.is("tools/call").then(Reply::silence))).await;
    let servers = servers(&peer.url(), "");
    let running = tokio::spawn({
        let servers = servers.clone();
        async move { servers.call(&caller("one"), &request("echo", "{}"), NEW).await }
    });
    peer.until(|s| s.is("tools/call")).await;
    running.abort();
    peer.until(|s| s.is("notifications/cancelled")).await;
    servers.close().await;
}

#[tokio::test]
async fn calls_run_side_by_side() {
    // No call is answered before all are there.
    let peer = Peer::start(legacy(|seen| {
        let all = |asked: &[Seen]| asked.iter().filter(|s| s.is("tools/call")).count() == 20;
        seen.is("tools/call").then(|| seen.result_once(&says(seen.tool()), all))
    }))
    .await;
    let servers = servers(&peer.url(), "");
    let (caller, slow) = (caller("one"), request("slow", "{}"));
    servers.tools("app", &caller, "s").await.unwrap();
    let calls = (0..20).map(|_| servers.call(&caller, &slow, NEW));
    let outcomes = join_all(calls).await;
    assert!(outcomes.iter().all(|o| *o == done("slow")));
    assert_eq!(peer.count("initialize"), 1);
    servers.close().await;
}

#[tokio::test]
async fn arguments_arrive_as_they_were_written() {
    let peer = Peer::start(legacy(|_| None)).await;
    let servers = servers(&peer.url(), "");
    let long = "x".repeat(1_000_000);
    let arguments = format!(
        r#"{{"z":1.50,"a":99999999999999999999,"e":1E400,"q":"\"\\\u0000","emoji":"😀","line":"{}","long":"{long}","deep":{{"y":[],"b":null}}}}"#,
        '\u{2028}'
    );
    let sent = request("echo", &arguments);
    assert_eq!(servers.call(&caller("one"), &sent, NEW).await, done("ok"));
    let call = peer.until(|s| s.is("tools/call")).await;
    let arrived = call.body.get("params").and_then(|p| p.get("arguments")).unwrap();
    assert_eq!(arrived.as_object(), Some(sent.arguments.expose()));
    assert!(call.text.contains(r#""z":1.50,"a":99999999999999999999,"e":1E400"#));
    assert!(!call.text.contains(wire::BESIDE));
    servers.close().await;
}

#[tokio::test]
async fn a_server_that_asks_back_is_refused_and_goes_on() {
    let ask = r#"{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Name?","mode":"url","url":"https://a.example/"}}"#;
    let sample = r#"{"jsonrpc":"2.0","id":"q2","method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}}"#;
    let strange = r#"{"jsonrpc":"2.0","id":"q3","method":"wholly/unknown","params":{}}"#;
    let (outcome, peer) =
        called(move |seen| seen.streamed(&[ask, sample, strange], &says("went on")), "").await;
    assert_eq!(outcome, done("went on"));
    let answer = |id: &str| peer.seen().into_iter().find(|s| s.body.str("id") == Some(id));
    for id in ["q1", "q2", "q3"] {
        let refused = peer.until(|s| s.body.str("id") == Some(id)).await;
        assert!(refused.body.get("error").is_some(), "{}", refused.text);
        assert_eq!(answer(id).unwrap().header("x-user-id"), "user-one");
    }
}

#[tokio::test]
async fn an_error_does_not_recite_what_the_page_supplied() {
    let peer = Peer::start(legacy(move |seen| {
        let arguments = seen.body.get("params")?.get("arguments")?.text();
        let mut text = String::new();
        json::write_string(&mut text, &arguments.replace("model", "MODEL"));
        let block = format!(r#"{{"type":"text","text":{text}}}"#);
        match seen.tool() {
            "fails" => Some(seen.result(&format!(r#"{{"isError":true,"content":[{block}]}}"#))),
            "errs" => Some(seen.error(&format!(r#"{{"code":1,"message":{text}}}"#))),
            "works" => Some(seen.result(&format!(r#"{{"content":[{block}]}}"#))),
            _ => None,
        }
    }))
    .await;
    let servers = servers(&peer.url(), "");
    let declared =
        json::parse(r#"{"properties":{"key":{},"said":{},"deep":{},"number":{},"pin":{},"code":{}}}"#)
            .unwrap();
    let declared = declared.as_object().unwrap().clone();
    let (key, deep) = (Value::from("page-\"canary"), json::parse(r#"{"a":["deep-canary"]}"#).unwrap());
    let number = json::parse("4711223344").unwrap();
    let (pin, code) = (json::parse("7").unwrap(), Value::from("x9"));
    let call = |tool: &str| {
        let visible = VisibleSchema::strip(&Object::new(), |_| false);
        let arguments = CheckedArgs::read(r#"{"said":"by the model"}"#, &visible, &Patterns).unwrap();
        let value = |name: &str| match name {
            "key" => Some(&key),
            "deep" => Some(&deep),
            "number" => Some(&number),
            "pin" => Some(&pin),
            "code" => Some(&code),
            _ => None,
        };
        ToolRequest { arguments: arguments.inject(&declared, value).unwrap(), ..request(tool, "{}") }
    };
    for tool in ["fails", "errs"] {
        let outcome = servers.call(&caller("one"), &call(tool), NEW).await;
        let expected =
            r#"{"said":"by the MODEL","key":"•••","deep":{"a":["•••"]},"number":•••,"pin":•••,"code":"•••"}"#;
        assert_eq!(outcome, failed(expected), "{tool}");
    }
    let ToolOutcome::Done { content, .. } = servers.call(&caller("one"), &call("works"), NEW).await else {
        panic!("it works")
    };
    assert!(content.contains("deep-canary"), "{content}");
    servers.close().await;
}

#[tokio::test]
async fn what_a_server_echoes_of_the_session_is_taken_out() {
    let echo = |seen: &Seen| {
        let all = seen.headers.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" ");
        let mut text = String::new();
        mindset_core::json::write_string(&mut text, &all);
        text
    };
    let key = "authorization='Bearer key-canary-77'";
    let (error, _peer) =
        called(move |seen| seen.error(&format!(r#"{{"code":1,"message":{}}}"#, echo(seen))), key).await;
    let (result, _peer) = called(
        move |seen| seen.result(&format!(r#"{{"structuredContent":{{"headers":{}}}}}"#, echo(seen))),
        key,
    )
    .await;
    for outcome in [error, result] {
        let text = format!("{outcome:?}");
        assert!(text.contains("authorization=•••") && text.contains("x-user-id=•••"), "{text}");
        assert!(
            !text.contains("canary") && !text.contains("user-one") && !text.contains("human-1"),
            "{text}"
        );
    }
}
