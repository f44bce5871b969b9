//! A server of the revision 2025-11-25 asks the person while its call runs.

use std::time::Duration;

use mindset_core::questionnaire::StepAnswer;
use mindset_core::turn::{ToolAnswer, ToolReply};

use super::peer::{Peer, Reply};
use super::*;

const NAME: &str = r#"{"message":"Who?","requestedSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"size":{"type":"integer"}}}}"#;

fn ask(id: &str, params: &str) -> String {
    format!(
        "data: {{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"elicitation/create\",\"params\":{params}}}\n\n"
    )
}

/// What the client has answered to the request `id`: the result, else the error.
fn answered(seen: &[Seen], id: &str) -> Option<Value> {
    let answer = seen.iter().find(|s| s.body.str("id") == Some(id) && s.body.str("method").is_none())?;
    answer.body.get("result").or(answer.body.get("error")).cloned()
}

/// The end of a stream: the result of the call `to` with this text.
fn result(to: &Seen, text: &str) -> String {
    let text = Value::from(text).text();
    let result = format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#);
    format!(
        "data: {{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n\n",
        to.body.get("id").unwrap().text()
    )
}

/// A server that asks `params` in every call, and tells in the result what it has heard.
async fn asking(params: &'static str) -> Peer {
    Peer::start(legacy(move |seen| {
        let call = seen.clone();
        seen.is("tools/call").then(|| {
            Reply::stream_until(&ask("q1", params), move |seen| {
                answered(seen, "q1").map(|answer| result(&call, &answer.text()))
            })
        })
    }))
    .await
}

fn asks(outcome: ToolOutcome) -> ToolQuestions {
    match outcome {
        ToolOutcome::Asks(asked) => *asked,
        other => panic!("it does not ask: {other:?}"),
    }
}

/// The call with an answer to what it has asked.
async fn answer(servers: &Servers, asked: ToolQuestions, reply: ToolReply) -> ToolOutcome {
    let request = ToolRequest { answer: Some(ToolAnswer { asked, reply }), ..request("echo", "{}") };
    let waiting = servers.waiting(&request);
    servers.call(&caller("one"), &request, (1, waiting)).await
}

fn says_name(name: &str, size: &str) -> ToolReply {
    let text =
        |text: &str| StepAnswer { other: (!text.is_empty()).then(|| text.into()), ..StepAnswer::default() };
    ToolReply::Answers(vec![text(name), text(size)])
}

#[tokio::test]
async fn every_answer_reaches_the_call_that_waits() {
    for (reply, heard, limit) in [
        // No time-out of the tool counts while a person thinks.
        (says_name("Ann", "3"), r#"{"action":"accept","content":{"name":"Ann","size":3}}"#, "timeout='4s'"),
        (ToolReply::Decline, r#"{"action":"decline"}"#, ""),
        (ToolReply::Cancel, r#"{"action":"cancel"}"#, ""),
    ] {
        let peer = asking(NAME).await;
        let servers = servers(&peer.url(), limit);
        let asked = asks(servers.call(&caller("one"), &request("echo", "{}"), NEW).await);
        assert!(asked.live);
        assert_eq!(asked.questions.title.as_deref(), Some("Who?"));
        if !limit.is_empty() {
            tokio::time::sleep(Duration::from_millis(4500)).await;
        }
        assert_eq!(answer(&servers, asked, reply).await, done(heard));
        assert_eq!(peer.count("tools/call"), 1);
        let initialize = peer.until(|s| s.is("initialize")).await;
        let capabilities = initialize.body.get("params").and_then(|p| p.get("capabilities")).unwrap();
        assert!(capabilities.get("elicitation").is_some_and(Value::is_object));
        assert!(peer.seen().iter().all(|s| !s.text.contains("mindset.")), "what travels beside stays here");
        servers.close().await;
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_again() {
    let peer = asking(NAME).await;
    let servers = servers(&peer.url(), "");
    let asked = asks(servers.call(&caller("one"), &request("echo", "{}"), NEW).await);
    let again = asks(answer(&servers, asked, says_name("Ann", "many")).await);
    assert!(again.questions.steps[1].description.as_ref().unwrap().contains("whole number"));
    let ToolOutcome::Done { content, .. } = answer(&servers, again, says_name("Ann", "4")).await else {
        panic!()
    };
    assert!(content.contains(r#""size":4"#));
    servers.close().await;
}

#[tokio::test]
async fn what_is_lost_meanwhile_is_unknown_and_never_repeated() {
    // The connection.
    let peer = Peer::start(legacy(|seen| {
        let hung_up = |seen: &[Seen]| seen.iter().any(|s| s.is("tools/list")).then(String::new);
        seen.is("tools/call").then(|| Reply::stream_until(&ask("q1", NAME), hung_up))
    }))
    .await;
    let servers = servers(&peer.url(), "");
    let asked = asks(servers.call(&caller("one"), &request("echo", "{}"), NEW).await);
    servers.tools("app", &caller("one"), "s").await.unwrap();
    let outcome = answer(&servers, asked.clone(), says_name("Ann", "")).await;
    assert!(matches!(outcome, ToolOutcome::Unknown(_)), "{outcome:?}");
    // The runtime: nobody knows the call any more.
    let outcome = answer(&servers, asked, says_name("Ann", "")).await;
    assert!(matches!(&outcome, ToolOutcome::Unknown(text) if text.contains("was lost")), "{outcome:?}");
    assert_eq!(peer.count("tools/call"), 1);
    servers.close().await;
}

#[tokio::test]
async fn a_call_that_is_given_up_is_told_to_stop() {
    let peer = Peer::start(legacy(|seen| {
        let never = |_: &[Seen]| None;
        seen.is("tools/call").then(|| Reply::stream_until(&ask("q1", NAME), never))
    }))
    .await;
    let servers = servers(&peer.url(), "");
    let asked = asks(servers.call(&caller("one"), &request("echo", "{}"), NEW).await);
    servers.release(2);
    assert!(servers.0.kept.take(&asked).is_some_and(|call| {
        servers.0.kept.keep(1, call, &mut asked.clone());
        true
    }));
    servers.release(1);
    let stop = peer.until(|s| s.is("notifications/cancelled")).await;
    let call = peer.until(|s| s.is("tools/call")).await;
    assert_eq!(stop.body.get("params").and_then(|p| p.get("requestId")), call.body.get("id"));
    peer.until(|s| s.body.get("result").and_then(|r| r.str("action")) == Some("cancel")).await;
    // Nor does it wait for ever once it was answered.
    let servers = self::servers(&peer.url(), "timeout='4s'");
    let asked = asks(servers.call(&caller("one"), &request("echo", "{}"), NEW).await);
    let outcome = answer(&servers, asked, ToolReply::Decline).await;
    assert!(matches!(&outcome, ToolOutcome::Unknown(text) if text.contains("in time")), "{outcome:?}");
    servers.close().await;
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_and_the_call_goes_on() {
    let many: Vec<String> = (0..21).map(|n| format!(r#""f{n}":{{"type":"string"}}"#)).collect();
    let form = |fields: &str| {
        format!(r#"{{"message":"m","requestedSchema":{{"type":"object","properties":{{{fields}}}}}}}"#)
    };
    for (params, why) in [
        (r#"{"mode":"url","message":"m","url":"https://a.example/"}"#.to_owned(), "Only forms"),
        (form(&many.join(",")), "cannot be shown"),
        (
            form(&format!(r#""a":{{"type":"string","description":"{}"}}"#, "x".repeat(70_000))),
            "cannot be shown",
        ),
        (form(r#""a":{"type":"object"}"#), "cannot be shown"),
        (form(""), "cannot be shown"),
        ("{}".to_owned(), "cannot be shown"),
        ("[1]".to_owned(), "cannot be shown"),
    ] {
        let params: &'static str = Box::leak(params.into_boxed_str());
        let peer = asking(params).await;
        let servers = servers(&peer.url(), "");
        let outcome = servers.call(&caller("one"), &request("echo", "{}"), NEW).await;
        let ToolOutcome::Done { content, .. } = outcome else { panic!("{outcome:?}") };
        assert!(content.contains("-32602") && content.contains(why), "{content}");
        servers.close().await;
    }
}

#[tokio::test]
async fn outside_of_a_call_nobody_is_asked() {
    let peer = Peer::start(legacy(|seen| match (seen.method.as_str(), seen.is("tools/list")) {
        ("GET", _) => Some(Reply::part_of_stream(&ask("q0", NAME), true)),
        (_, true) => Some(seen.streamed(&[ask("q1", NAME)[6..].trim_end()], r#"{"tools":[]}"#)),
        _ => None,
    }))
    .await;
    let servers = servers(&peer.url(), "");
    servers.tools("app", &caller("one"), "s").await.unwrap();
    for id in ["q0", "q1"] {
        let refused = peer.until(|s| s.body.str("id") == Some(id)).await;
        assert!(refused.text.contains("while a call of a tool runs"), "{}", refused.text);
    }
    servers.close().await;
}

#[tokio::test]
async fn a_call_asks_so_often_and_no_more() {
    // All at once: as many as can wait are asked one after the other, the others are refused.
    let peer = Peer::start(legacy(|seen| {
        let call = seen.clone();
        let all: String = (0..6).map(|n| ask(&format!("q{n}"), NAME)).collect();
        seen.is("tools/call").then(|| {
            Reply::stream_until(&all, move |seen| {
                let heard: Vec<Value> = (0..6).filter_map(|n| answered(seen, &format!("q{n}"))).collect();
                (heard.len() == 6).then(|| result(&call, &Value::Array(heard).text()))
            })
        })
    }))
    .await;
    let servers = servers(&peer.url(), "");
    let mut outcome = servers.call(&caller("one"), &request("echo", "{}"), NEW).await;
    let mut rounds = 0;
    while let ToolOutcome::Asks(asked) = outcome {
        rounds += 1;
        outcome = answer(&servers, *asked, ToolReply::Decline).await;
    }
    let ToolOutcome::Done { content, .. } = outcome else { panic!("{outcome:?}") };
    assert!((1..6).contains(&rounds) && content.contains("Too much is asked"), "{rounds} {content}");
    servers.close().await;
    // One after the other: after eight nobody is asked any more.
    let peer = Peer::start(legacy(|seen| {
        let (call, told) = (seen.clone(), std::sync::atomic::AtomicUsize::new(0));
        let next = move |seen: &[Seen]| {
            let heard = (0..10).filter(|n| answered(seen, &format!("q{n}")).is_some()).count();
            if heard == 10 {
                return Some(result(&call, &answered(seen, "q9")?.text()));
            }
            // Asked once each.
            (told.swap(heard, Ordering::Relaxed) != heard).then(|| ask(&format!("q{heard}"), NAME))
        };
        seen.is("tools/call").then(|| Reply::stream_until(&ask("q0", NAME), next))
    }))
    .await;
    let servers = self::servers(&peer.url(), "");
    let mut outcome = servers.call(&caller("one"), &request("echo", "{}"), NEW).await;
    for _ in 0..8 {
        outcome = answer(&servers, asks(outcome), ToolReply::Decline).await;
    }
    assert_eq!(outcome, done(r#"{"action":"cancel"}"#));
    servers.close().await;
}
