//! Observing: what applications hear of the conversations of their users, and what never.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "../src/mcp/tests/peer.rs"]
mod peer;
#[path = "support/scripted.rs"]
mod scripted;
mod support;
#[path = "support/watch.rs"]
mod watch;

use std::time::Duration;

use scripted::{ASK, MINDSET, UPDATE, asked, decided, posted};
use support::{Answer, CONFIG, Server, events, input, text};
use watch::{Watch, short};

/// `demo` may run one turn at once and read; `still` answers only until it is stopped.
fn config() -> String {
    let still = "[models.still]\nprovider = \"demo\"\ndelay = \"60s\"\n[[apps]]";
    let access =
        "uid = \"demo\"\nagent_access = [\"session.run\", \"session.read\"]\nagent_concurrency = 1\napi_keys";
    let agent = "[[apps.agents]]\nuid = \"still\"\nmodel = \"still\"\n[[apps.agents]]\nuid = \"closed\"";
    CONFIG.replacen("[[apps]]", still, 1).replacen("uid = \"demo\"\napi_keys", access, 1).replacen(
        "[[apps.agents]]\nuid = \"closed\"",
        agent,
        1,
    )
}

async fn put(server: &Server, token: &str, switches: &str) {
    let put =
        server.request("PUT", "/v1/me/permissions").bearer(token).header("content-type", "application/json");
    assert_eq!(put.body(switches).send().await.status, 200);
}

async fn refused(server: &Server, token: &str, query: &str) -> Answer {
    server.request("GET", &format!("/v1/observe?{query}")).bearer(token).send().await
}

fn application(body: &str) -> String {
    body.replace(r#""forwardedProps":{}"#, r#""forwardedProps":{"mindset":{"agentSession":true}}"#)
}

#[tokio::test]
async fn every_conversation_of_the_user_and_no_other() {
    let server = Server::with(&config(), &[]).await;
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    let mut all = Watch::open(&server, &ada, "all=true").await;
    // Another user's, and the application's own sessions, are not heard.
    server.finish(&bob, "b1", "his", "hello").await;
    let own = server.post("/v1/agents/demo/runs", &application(&input("a1", "own", "thanks"))).bearer(&ada);
    events(own.open().await).await;
    let said = server.finish(&ada, "r1", "mine", "thanks").await;
    let (heard, reply) = all.turn().await;
    assert_eq!(
        heard,
        ["mine r1 turn.started quick", "mine r1 message.committed", "mine r1 turn.finished finished"]
    );
    assert_eq!(reply, text(&said));
    // A turn of two runs is one turn; only its last message is told.
    let tools = r#""tools":[{"name":"set_color","description":"Paints the page","parameters":{"type":"object","properties":{"color":{"enum":["teal","pink"]}},"required":["color"]}}]"#;
    let body = input("r2", "mine", "make it teal").replace(r#""tools":[]"#, tools);
    let first = events(server.post("/v1/agents/demo/runs", &body).bearer(&ada).open().await).await;
    let call = first.iter().find_map(|e| e.str("toolCallId")).unwrap();
    let answer = format!(
        r#"{{"threadId":"mine","runId":"r3","state":{{}},"tools":[],"context":[],"forwardedProps":{{}},
        "messages":[{{"id":"result","role":"tool","toolCallId":"{call}","content":"painted"}}]}}"#
    );
    let second = events(server.post("/v1/agents/demo/runs", &answer).bearer(&ada).open().await).await;
    let (heard, reply) = all.turn().await;
    assert_eq!(
        heard,
        ["mine r2 turn.started quick", "mine r2 message.committed", "mine r2 turn.finished finished"]
    );
    assert_eq!(reply, text(&second));
    // A stop while it runs, and while it waits for its page.
    let open = server.run(&ada, "still", ("r4", "slow"), "hello").await;
    assert_eq!(short(&all.next().await), "slow r4 turn.started still");
    for run in ["r4", "r5"] {
        if run == "r5" {
            let body = body.replace("r2", "r5");
            events(server.post("/v1/agents/demo/runs", &body).bearer(&ada).open().await).await;
            assert_eq!(short(&all.next().await), "mine r5 turn.started quick");
        }
        let stop = server.post(&format!("/v1/runs/{run}/cancel"), "").bearer(&ada).send().await;
        assert_eq!(stop.string("state"), "cancelled");
        assert!(short(&all.next().await).ends_with(&format!("{run} turn.finished aborted")));
    }
    drop(open);
}

#[tokio::test]
async fn the_progress_of_one_conversation() {
    let server = Server::with(&config(), &[]).await;
    let ada = server.user("ada").await;
    let made = r#"{"agentUid":"slow","id":"own","agentSession":true}"#;
    assert_eq!(server.post("/v1/conversations", made).bearer(&ada).send().await.status, 201);
    let mut one = Watch::open(&server, &ada, "sessionId=own").await;
    server.finish(&ada, "r0", "other", "thanks").await;
    let body = application(&input("r1", "own", "Tell me something long."));
    let mut open = server.post("/v1/agents/slow/runs", &body).bearer(&ada).open().await;
    assert_eq!(short(&one.next().await), "own r1 turn.started slow");
    let delta = one.next().await;
    assert_eq!(short(&delta), "own r1 text.delta");
    let mut rest = Vec::new();
    while let Some(chunk) = open.chunk().await.unwrap() {
        rest.extend(chunk);
    }
    let mut said = delta.str("text").unwrap().to_owned();
    let committed = loop {
        let event = one.next().await;
        match event.str("type") {
            Some("text.delta") => said.push_str(event.str("text").unwrap()),
            Some("message.committed") => break event,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(committed.str("text"), Some(said.as_str()));
    let end = one.next().await;
    assert_eq!(
        (short(&end).as_str(), end.str("text")),
        ("own r1 turn.finished finished", Some(said.as_str()))
    );
    // Who comes in the middle hears what follows.
    let open = server.run(&ada, "still", ("r2", "slow"), "hello").await;
    let mut late = Watch::open(&server, &ada, "sessionId=slow").await;
    assert_eq!(server.post("/v1/runs/r2/cancel", "").bearer(&ada).send().await.status, 200);
    assert_eq!(late.turn().await.0, ["slow r2 turn.finished aborted"]);
    drop(open);
    assert!(String::from_utf8_lossy(&rest).contains("RUN_FINISHED"));
}

#[tokio::test]
async fn approvals_and_questions_are_never_heard() {
    let (hr, model) = (scripted::hr().await, scripted::model().await);
    let config = scripted::config(&model, &hr).replacen(
        "uid = \"demo\"",
        "uid = \"demo\"\nagent_access = [\"session.read\"]",
        1,
    );
    let server = Server::with(&config, &[]).await;
    let (ada, _) = server.anonymous().await;
    let run =
        async |body: &str| events(server.post("/v1/agents/demo/runs", body).bearer(&ada).open().await).await;
    let mut all = Watch::open(&server, &ada, "all=true").await;
    let asks = asked(&run(&posted("r1", Some(UPDATE), "", MINDSET)).await);
    // It has heard of its conversation when it is there.
    let mut one = Watch::open(&server, &ada, "sessionId=t").await;
    let allow = decided(&asks[0], r#"{"approved":true}"#);
    run(&posted("r2", None, &allow, MINDSET)).await;
    let (heard, reply) = all.turn().await;
    let wanted = ["t r1 turn.started scripted", "t r1 message.committed", "t r1 turn.finished finished"];
    assert_eq!((heard, reply.as_str()), (wanted.map(str::to_owned).to_vec(), "Done."));
    let (heard, _) = one.turn().await;
    assert_eq!(
        heard,
        [
            "t r1 turn.started scripted",
            "t r1 tool.started update",
            "t r1 tool.finished update",
            "t r1 text.delta",
            "t r1 message.committed",
            "t r1 turn.finished finished"
        ]
    );
    // A turn that asks questions is over; the answer is another one.
    let asks = asked(&run(&posted("r3", Some(ASK), "", MINDSET)).await);
    let wanted = ["t r3 turn.started scripted", "t r3 turn.finished finished"];
    assert_eq!(all.turn().await.0, wanted);
    assert_eq!(one.turn().await.0, wanted);
    let answer = decided(&asks[0], r#"{"answers":[{"stepId":"room","selectedOptionIds":["b"]}]}"#);
    run(&posted("r4", None, &answer, MINDSET)).await;
    let (heard, reply) = all.turn().await;
    let wanted = ["t r3 turn.started scripted", "t r3 message.committed", "t r3 turn.finished finished"];
    assert_eq!((heard, reply.as_str()), (wanted.map(str::to_owned).to_vec(), "Done."));
    let (heard, _) = one.turn().await;
    assert!(heard.iter().all(|line| !line.contains("question") && !line.contains("permission")), "{heard:?}");
}

#[tokio::test]
async fn four_at_once_without_a_slot() {
    let server = Server::with(&config(), &[]).await;
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    let mut four = Vec::new();
    for _ in 0..4 {
        four.push(Watch::open(&server, &ada, "all=true").await);
    }
    let fifth = refused(&server, &ada, "all=true").await;
    assert_eq!(fifth.error(), (429, "too-many-subscriptions".into()));
    let limit = fifth.body.get("error").and_then(|e| e.get("context")?.get("limit")?.as_u64());
    assert_eq!(limit, Some(4));
    drop(Watch::open(&server, &bob, "all=true").await);
    // The only slot is free.
    let run = server.post("/v1/agents/demo/runs", &application(&input("a1", "own", "thanks"))).bearer(&ada);
    let run = run.header("accept", "application/json").send().await;
    assert_eq!((run.status, run.string("state").as_str()), (202, "running"));
    server.finish(&ada, "r1", "mine", "thanks").await;
    for watch in &mut four {
        assert_eq!(watch.turn().await.0.len(), 3);
    }
    // Who goes leaves their place.
    four.pop();
    let mut tries = 0;
    while refused_or_open(&server, &ada).await != 200 {
        tries += 1;
        assert!(tries < 300, "the place stays taken");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn refused_or_open(server: &Server, token: &str) -> u16 {
    server.request("GET", "/v1/observe?all=true").bearer(token).open().await.status().as_u16()
}

#[tokio::test]
async fn what_ends_it() {
    let server = Server::with(&config(), &[]).await;
    let ada = server.user("ada").await;
    server.finish(&ada, "r1", "mine", "thanks").await;
    let made = r#"{"agentUid":"demo","id":"own","agentSession":true}"#;
    assert_eq!(server.post("/v1/conversations", made).bearer(&ada).send().await.status, 201);
    let queries = ["all=true", "sessionId=mine", "sessionId=own"];
    let open = async || {
        let mut open = Vec::new();
        for query in queries {
            open.push(Watch::open(&server, &ada, query).await);
        }
        open
    };
    // The switch for reading: its own session is read by the other permission, too.
    let mut watches = open().await;
    put(&server, &ada, r#"{"run":true,"read":false}"#).await;
    let own = watches.pop().unwrap();
    for watch in watches {
        assert_eq!(watch.end().await, "forbidden");
    }
    for query in &queries[..2] {
        let refused = refused(&server, &ada, query).await;
        assert_eq!(refused.error(), (403, "forbidden".into()));
        let context = refused.body.get("error").and_then(|e| e.get("context")).unwrap();
        assert_eq!(context.str("permission"), Some("session.read"));
    }
    put(&server, &ada, r#"{"run":false,"read":false}"#).await;
    assert_eq!(own.end().await, "forbidden");
    // On again, without a restart.
    put(&server, &ada, r#"{"run":true,"read":true}"#).await;
    let mut watches = open().await;
    server.finish(&ada, "r2", "mine", "thanks").await;
    assert_eq!(watches[0].turn().await.0.len(), 3);
    // A conversation that is deleted.
    let delete = server.request("DELETE", "/v1/conversations/own").bearer(&ada).send().await;
    assert_eq!(delete.status, 204);
    assert_eq!(watches.pop().unwrap().end().await, "not-found");
    drop(watches);
    let watch = Watch::open(&server, &ada, "all=true").await;
    assert_eq!(server.post("/v1/signout", "").bearer(&ada).send().await.status, 204);
    assert_eq!(watch.end().await, "signed-out");
    let ada = server.user("ada").await;
    let watch = Watch::open(&server, &ada, "all=true").await;
    let (took, reason) = tokio::join!(server.stop(), watch.end());
    assert_eq!(reason, "closing");
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[tokio::test]
async fn what_cannot_be_observed() {
    let server = Server::with(&config(), &[]).await;
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    server.finish(&bob, "r1", "his", "thanks").await;
    for query in ["", "all=false", "all=true&sessionId=x", "session=x"] {
        assert_eq!(refused(&server, &ada, query).await.error(), (422, "invalid-request".into()), "{query}");
    }
    for query in ["sessionId=his", "sessionId=none", "sessionId="] {
        assert_eq!(refused(&server, &ada, query).await.error(), (404, "not-found".into()), "{query}");
    }
    // Nothing is declared.
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    for query in ["all=true", "sessionId=x"] {
        assert_eq!(refused(&server, &token, query).await.error(), (403, "forbidden".into()));
    }
}
