//! Runs over HTTP: from the post to the end, and everything that can come between.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use mindset_core::json::Value;
use support::{CONFIG, Server, events, input, kind, last, text};

fn mindset<'a>(event: &'a Value, key: &str) -> &'a str {
    event
        .get("metadata")
        .and_then(|m| m.get("mindset"))
        .and_then(|m| m.get(key))
        .and_then(Value::as_str)
        .unwrap_or("")
}

fn messages(conversation: &Value) -> Vec<(String, String)> {
    let field = |m: &Value, key| m.get(key).and_then(Value::as_str).unwrap().to_owned();
    let list = conversation.get("messages").and_then(Value::as_array).unwrap();
    list.iter().map(|m| (field(m, "role"), field(m, "content"))).collect()
}

/// Waits until the conversation has no running run.
async fn settled(server: &Server, token: &str, id: &str) -> Value {
    for _ in 0..200 {
        let conversation = server.conversation(token, id).await.body;
        if conversation.get("activeRun").is_none() && conversation.get("id").is_some() {
            return conversation;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the run did not end");
}

#[tokio::test]
async fn from_the_first_event_to_the_last() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let events = server.finish(&token, "r1", "t1", "hello").await;
    assert_eq!(kind(&events[0]), "RUN_STARTED");
    assert_eq!(mindset(&events[0], "disclosure"), mindset_runtime::DISCLOSURE);
    assert_eq!(kind(last(&events)), "RUN_FINISHED");
    assert!(text(&events).starts_with("Hello!"));
    let conversation = server.conversation(&token, "t1").await.body;
    assert_eq!(messages(&conversation)[0], ("user".into(), "hello".into()));
    assert_eq!(messages(&conversation)[1], ("assistant".into(), text(&events)));
    assert_eq!(conversation.get("title").and_then(Value::as_str), Some("hello"));
    let list = server.request("GET", "/v1/conversations").bearer(&token).send().await;
    assert_eq!(list.body.get("conversations").and_then(Value::as_array).map(<[Value]>::len), Some(1));
}

#[tokio::test]
async fn silent_messages_are_answered_and_not_shown() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let body = input("r1", "t1", "hello")
        .replace(r#""forwardedProps":{}"#, r#""forwardedProps":{"mindset":{"inputType":"PSEUDO_HUMAN"}}"#);
    let response = server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await;
    assert!(text(&events(response).await).starts_with("Hello!"));
    let conversation = server.conversation(&token, "t1").await.body;
    assert_eq!(messages(&conversation).len(), 1);
    assert_eq!(conversation.get("title").and_then(Value::as_str), Some(""));
}

#[tokio::test]
async fn a_second_message_at_once_does_not_find_the_first_one_busy() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    for i in 0..20 {
        let events = server.finish(&token, &format!("r{i}"), "t1", "thanks").await;
        assert_eq!(kind(last(&events)), "RUN_FINISHED");
    }
    assert_eq!(messages(&server.conversation(&token, "t1").await.body).len(), 40);
}

#[tokio::test]
async fn a_reader_that_goes_away_stops_nothing() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let mut response = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    response.chunk().await.unwrap();
    drop(response);
    let conversation = settled(&server, &token, "t1").await;
    assert_eq!(
        messages(&conversation)[1].1,
        "You are welcome. Is there anything else you would like to try?"
    );
}

#[tokio::test]
async fn the_same_post_attaches_and_another_one_is_refused() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let first = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    let second = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    let (first, second) = tokio::join!(events(first), events(second));
    assert_eq!(first, second);
    // The log is still there: a late repeat reads it whole.
    assert_eq!(events(server.run(&token, "slow", ("r1", "t1"), "thanks").await).await, first);
    for (thread, said) in [("t1", "other words"), ("t2", "thanks")] {
        let request = server.post("/v1/agents/slow/runs", &input("r1", thread, said)).bearer(&token);
        assert_eq!(request.send().await.error(), (409, "conflict".into()));
    }
    assert_eq!(messages(&server.conversation(&token, "t1").await.body).len(), 2);
    // Another user's run of the same name is another run.
    let (other, _) = server.anonymous().await;
    assert_eq!(kind(last(&server.finish(&other, "r1", "t1", "hi").await)), "RUN_FINISHED");
}

#[tokio::test]
async fn one_id_never_runs_twice() {
    let server = Server::with(CONFIG, &[("MINDSET__SERVER__LOG_KEEP", "1ms")]).await;
    let (token, _) = server.anonymous().await;
    server.finish(&token, "r1", "t1", "hello").await;
    let once_more = server.post("/v1/agents/demo/runs", &input("r1", "t1", "hello")).bearer(&token);
    let again = once_more.until(410).await;
    assert_eq!(again.error(), (410, "gone".into()));
    let state = again.body.get("error").and_then(|e| e.get("context")).and_then(|c| c.get("state"));
    assert_eq!(state.and_then(Value::as_str), Some("finished"));
    let other = server.post("/v1/agents/demo/runs", &input("r1", "t1", "else")).bearer(&token).send().await;
    assert_eq!(other.error(), (409, "conflict".into()));
}

#[tokio::test]
async fn busy_until_the_end() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let first = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    let busy = server.post("/v1/agents/slow/runs", &input("r2", "t1", "more")).bearer(&token).send().await;
    assert_eq!(busy.error(), (409, "busy".into()));
    let conversation = server.conversation(&token, "t1").await.body;
    let active = conversation.get("activeRun").and_then(|r| r.get("runId")).and_then(Value::as_str);
    assert_eq!(active, Some("r1"));
    // Another conversation of the same user is free.
    assert_eq!(kind(last(&server.finish(&token, "r3", "t2", "hi").await)), "RUN_FINISHED");
    events(first).await;
}

#[tokio::test]
async fn cancelled() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let mut response = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    while !String::from_utf8_lossy(&response.chunk().await.unwrap().unwrap()).contains("_CONTENT") {}
    let answer = server.post("/v1/runs/r1/cancel", "").bearer(&token).send().await;
    assert_eq!((answer.status, answer.string("state").as_str()), (200, "cancelled"));
    let mut rest = String::new();
    while let Some(bytes) = response.chunk().await.unwrap() {
        rest.push_str(&String::from_utf8_lossy(&bytes));
    }
    assert!(rest.contains("RUN_FINISHED") && rest.contains("cancelled"), "{rest}");
    let conversation = server.conversation(&token, "t1").await.body;
    let status = conversation.get("messages").and_then(Value::as_array).unwrap()[1].get("status");
    assert_eq!(status.and_then(Value::as_str), Some("stopped"));
    // Again changes nothing; the conversation takes the next message.
    let again = server.post("/v1/runs/r1/cancel", "").bearer(&token).send().await;
    assert_eq!(again.string("state"), "cancelled");
    let next = events(server.run(&token, "slow", ("r2", "t1"), "hi").await).await;
    assert_eq!(kind(last(&next)), "RUN_FINISHED");
    let (other, _) = server.anonymous().await;
    for (who, run) in [(&other, "r1"), (&token, "nothing")] {
        let answer = server.post(&format!("/v1/runs/{run}/cancel"), "").bearer(who).send().await;
        assert_eq!(answer.error(), (404, "not-found".into()));
    }
}

#[tokio::test]
async fn page_tools_wait_for_their_page() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let tools = r#""tools":[{"name":"set_color","description":"Paints the page","parameters":{"type":"object","properties":{"color":{"enum":["teal","pink"]}},"required":["color"]}}]"#;
    let with_tools = |body: String| body.replace(r#""tools":[]"#, tools);
    let post = async |body: String| {
        events(server.post("/v1/agents/demo/runs", &with_tools(body)).bearer(&token).open().await).await
    };
    let first = post(input("r1", "t1", "make it teal")).await;
    assert!(first.iter().any(|e| kind(e) == "TOOL_CALL_START"));
    let call = first.iter().find_map(|e| e.get("toolCallId").and_then(Value::as_str)).unwrap().to_owned();
    let conversation = server.conversation(&token, "t1").await.body;
    let open = conversation.get("openCalls").and_then(Value::as_array).unwrap();
    assert_eq!(open[0].get("toolCallId").and_then(Value::as_str), Some(call.as_str()));
    let result = format!(
        r#"{{"threadId":"t1","runId":"r2","state":{{}},"tools":[],"context":[],"forwardedProps":{{}},
        "messages":[{{"id":"result","role":"tool","toolCallId":"{call}","content":"painted"}}]}}"#
    );
    let second = post(result).await;
    assert_eq!(text(&second), "Done: set_color answered painted");
    let conversation = server.conversation(&token, "t1").await.body;
    assert!(conversation.get("openCalls").and_then(Value::as_array).unwrap().is_empty());
    assert!(conversation.get("activeRun").is_none());
    // One that nobody answers is closed by a cancel.
    post(input("r3", "t1", "now pink")).await;
    let answer = server.post("/v1/runs/r3/cancel", "").bearer(&token).send().await;
    assert_eq!(answer.string("state"), "cancelled");
    let conversation = server.conversation(&token, "t1").await.body;
    assert!(conversation.get("openCalls").and_then(Value::as_array).unwrap().is_empty());
}

#[tokio::test]
async fn quiet_streams_get_comments() {
    let config = CONFIG.replace(r#"delay = "100ms""#, r#"delay = "900ms""#);
    let server = Server::with(&config, &[]).await;
    let (token, _) = server.anonymous().await;
    let mut response = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    let mut seen = String::new();
    while !seen.contains("\n\n:\n") {
        let chunk = response.chunk().await.unwrap().unwrap_or_else(|| panic!("no comment: {seen}"));
        seen.push_str(&String::from_utf8_lossy(&chunk));
    }
}

#[tokio::test]
async fn bad_bodies() {
    let server = Server::with(CONFIG, &[("MINDSET__SERVER__MAX_BODY", "20000")]).await;
    let (token, _) = server.anonymous().await;
    let post = |body: &str| server.post("/v1/agents/demo/runs", body).bearer(&token).send();
    let broken = post("{\"threadId\": \"t\",\n  oops}").await;
    assert_eq!(broken.error(), (400, "invalid-request".into()));
    assert!(broken.text.contains("line 2 column 3"), "{}", broken.text);
    for body in [
        r#"{"threadId":7}"#,
        "[]",
        "{}",
        r#"{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[]}"#,
    ] {
        let answer = post(body).await;
        assert!(matches!(answer.error().0, 409 | 422), "{body}: {}", answer.text);
    }
    assert_eq!(post(&input("", "t", "hi")).await.error().0, 422);
    assert_eq!(post(&input("r", "", "hi")).await.error().0, 422);
    assert_eq!(post(&input("r", "t", "  ")).await.error().0, 422);
    let large = post(&input("r", "t", &"x".repeat(20_000))).await;
    assert_eq!(large.error(), (413, "too-large".into()));
    let much_larger = post(&"x".repeat(3_000_000)).await;
    assert_eq!(much_larger.error(), (413, "too-large".into()));
    // Nothing of all this left a conversation behind.
    let list = server.request("GET", "/v1/conversations").bearer(&token).send().await;
    assert_eq!(list.text, r#"{"conversations":[]}"#);
}

#[tokio::test]
async fn conversations_can_be_made_first() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let post = |body: &str| server.post("/v1/conversations", body).bearer(&token).send();
    let made = post(r#"{"agentUid":"demo","id":"mine","title":"Plans"}"#).await;
    assert_eq!((made.status, made.string("id"), made.string("title")), (201, "mine".into(), "Plans".into()));
    assert_eq!(post(r#"{"agentUid":"demo","id":"mine"}"#).await.status, 200);
    assert_eq!(post(r#"{"agentUid":"demo"}"#).await.string("id").len(), 36);
    assert_eq!(post(r#"{"agentUid":"nobody"}"#).await.error(), (404, "agent-not-found".into()));
    assert_eq!(post("{}").await.error(), (422, "invalid-request".into()));
    server.finish(&token, "r1", "mine", "hello").await;
    assert_eq!(server.conversation(&token, "mine").await.string("title"), "Plans");
    // Another agent's conversation is not this agent's.
    let wrong = server.post("/v1/agents/slow/runs", &input("r2", "mine", "hi")).bearer(&token).send().await;
    assert_eq!(wrong.error(), (409, "conflict".into()));
    // To another user the id means nothing, and can be theirs too.
    let (other, _) = server.anonymous().await;
    assert_eq!(server.conversation(&other, "mine").await.error(), (404, "not-found".into()));
    server.finish(&other, "r1", "mine", "hello").await;
    assert_eq!(messages(&server.conversation(&other, "mine").await.body).len(), 2);
}

#[tokio::test]
async fn going_down_ends_what_runs() {
    let folder = support::Folder::new();
    let database = folder.path("down.db");
    let server = Server::at(&database, CONFIG, &[]).await;
    let (token, _) = server.anonymous().await;
    let response = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    let reading = tokio::spawn(events(response));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(server.stop().await < Duration::from_secs(15));
    let seen = reading.await.unwrap();
    assert_eq!((kind(last(&seen)), mindset(last(&seen), "reason")), ("RUN_ERROR", "interrupted"));
    let server = Server::at(&database, CONFIG, &[]).await;
    let next = events(server.run(&token, "slow", ("r2", "t1"), "hi").await).await;
    assert_eq!(kind(last(&next)), "RUN_FINISHED");
}

#[tokio::test]
async fn a_run_id_belongs_to_its_agent() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    server.finish(&token, "r1", "t1", "hello").await;
    let posted = server.post("/v1/agents/slow/runs", &input("r1", "t1", "hello")).bearer(&token);
    assert_eq!(posted.send().await.error(), (409, "conflict".into()));
}

const PAGE_TOOL: &str =
    r#""tools":[{"name":"list_orders","description":"Lists orders","parameters":{"type":"object"}}]"#;

#[tokio::test]
async fn open_calls_name_the_page_they_wait_for() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    for (run, props, client) in
        [("r1", r#"{"mindset":{"clientId":"page-1"}}"#, Some("page-1")), ("r2", "{}", None)]
    {
        let body = input(run, run, "list my orders")
            .replace(r#""tools":[]"#, PAGE_TOOL)
            .replace(r#""forwardedProps":{}"#, &format!(r#""forwardedProps":{props}"#));
        events(server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await).await;
        let conversation = server.conversation(&token, run).await.body;
        let open = conversation.get("openCalls").and_then(Value::as_array).unwrap();
        assert_eq!((open.len(), open[0].str("clientId")), (1, client), "{conversation}");
        assert_eq!((open[0].str("toolName"), open[0].str("runId")), (Some("list_orders"), Some(run)));
    }
}

#[tokio::test]
async fn results_count_from_the_page_that_was_asked() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    for (answering, said) in [("page-1", "seven orders"), ("page-2", "not known")] {
        let props = |page: &str| format!(r#""forwardedProps":{{"mindset":{{"clientId":"{page}"}}}}"#);
        let (ask, reply) = (format!("ask-{answering}"), format!("reply-{answering}"));
        let body = input(&ask, &ask, "list my orders")
            .replace(r#""tools":[]"#, PAGE_TOOL)
            .replace(r#""forwardedProps":{}"#, &props("page-1"));
        events(server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await).await;
        let conversation = server.conversation(&token, &ask).await.body;
        let open = conversation.get("openCalls").and_then(Value::as_array).unwrap();
        let call = open[0].str("toolCallId").unwrap();
        let body = format!(
            r#"{{"threadId":"{ask}","runId":"{reply}","tools":[],"context":[],{},"messages":[
            {{"id":"result","role":"tool","toolCallId":"{call}","content":"seven orders"}}]}}"#,
            props(answering)
        );
        let answer = events(server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await).await;
        let answer = text(&answer);
        assert!(answer.contains(said), "{answering}: {answer}");
        assert_eq!(answer.contains("seven"), answering == "page-1", "{answer}");
    }
}

/// Whichever comes first counts: a turn that is said to be cancelled does not go on.
#[tokio::test]
async fn a_cancel_and_the_answers_at_once() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    for n in 0..40 {
        let ask = format!("ask-{n}");
        let body = input(&ask, &ask, "list my orders").replace(r#""tools":[]"#, PAGE_TOOL);
        events(server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await).await;
        let conversation = server.conversation(&token, &ask).await.body;
        let call =
            conversation.get("openCalls").and_then(Value::as_array).unwrap()[0].str("toolCallId").unwrap();
        let body = format!(
            r#"{{"threadId":"{ask}","runId":"reply-{n}","tools":[],"context":[],"messages":[
            {{"id":"result","role":"tool","toolCallId":"{call}","content":"seven orders"}}]}}"#
        );
        let answer = server.post("/v1/agents/demo/runs", &body).bearer(&token).send();
        let cancel = async {
            tokio::time::sleep(Duration::from_millis(n % 4)).await;
            server.post(&format!("/v1/runs/{ask}/cancel"), "").bearer(&token).send().await
        };
        let (answer, cancel) = tokio::join!(answer, cancel);
        let expected = if answer.status == 200 { "finished" } else { "cancelled" };
        assert_eq!(cancel.string("state"), expected, "{}", answer.text);
        let last = server.conversation(&token, &ask).await.body;
        assert_eq!(last.get("lastRun").unwrap().str("state"), Some(expected));
    }
}

#[tokio::test]
async fn a_running_run_takes_new_passthrough_parameters() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let (other, _) = server.anonymous().await;
    let put = async |token: &str, run: &str, body: &str| {
        let request = server.request("PUT", &format!("/v1/runs/{run}/passthrough-params"));
        request.header("content-type", "application/json").bearer(token).body(body).send().await
    };
    let values = r#"{"passthroughParams":{"tool.a":1,"b":{"c":"x"}}}"#;
    assert_eq!(put(&token, "r1", values).await.error(), (404, "not-found".into()));
    let running = server.run(&token, "slow", ("r1", "t1"), "hello").await;
    let taken = put(&token, "r1", values).await;
    assert_eq!((taken.status, taken.text.as_str()), (204, ""));
    assert_eq!(put(&token, "r1", r#"{"passthroughParams":{}}"#).await.status, 204);
    assert_eq!(put(&other, "r1", values).await.error(), (404, "not-found".into()));
    for body in [
        "{}",
        r#"{"passthroughParams":[]}"#,
        r#"{"passthroughParams":{"__proto__":1}}"#,
        r#"{"passthroughParams":{"t.constructor":1}}"#,
        r#"{"passthroughParams":{"uploaded_file_urls":[]}}"#,
        r#"{"passthroughParams":{"half":{"x":["\ud800"]}}}"#,
    ] {
        assert_eq!(put(&token, "r1", body).await.error(), (422, "invalid-request".into()), "{body}");
    }
    let halved = put(&token, "r1", r#"{"passthroughParams":{"half":"canary\ud800"}}"#).await;
    assert!(halved.text.contains("`half`") && !halved.text.contains("canary"), "{}", halved.text);
    let large = format!(r#"{{"passthroughParams":{{"x":"{}"}}}}"#, "y".repeat(4 * 1024 * 1024));
    assert_eq!(put(&token, "r1", &large).await.error(), (413, "passthrough-too-large".into()));
    events(running).await;
    assert_eq!(put(&token, "r1", values).await.error(), (404, "not-found".into()));
}

#[tokio::test]
async fn a_run_does_not_begin_with_half_a_character() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let run = async |id: &str, message: &str, values: &str| {
        let props = format!(r#""forwardedProps":{{"mindset":{{"passthroughParams":{values}}}}}"#);
        let body = input(id, id, message).replace(r#""forwardedProps":{}"#, &props);
        server.post("/v1/agents/demo/runs", &body).bearer(&token).send().await
    };
    for values in [r#"{"half":"x\ud800"}"#, r#"{"half":{"\udc00":1}}"#, r#"{"half":[["\ud83d \ude00"]]}"#] {
        let answer = run("r1", "hello", values).await;
        assert_eq!(answer.error(), (422, "invalid-request".into()), "{values}");
        assert!(answer.text.contains("`half`"), "{}", answer.text);
    }
    assert_eq!(server.conversation(&token, "r1").await.status, 404);
    assert_eq!(run("r1", "hello", r#"{"whole":"\ud83d\ude00"}"#).await.status, 200);
}
