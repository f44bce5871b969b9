//! Model servers that answer well, badly, late or not at all, seen from a run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::sync::{Arc, Mutex};

use mindset_core::json::Value;
use support::{Folder, Running, Server, kind, last, program, text};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const KEY: &str = "sk-a-very-secret-key";

/// A model server that gives every caller the same bytes and then hangs up, or, with
/// `stall`, keeps the line open.
struct Fake {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    async fn start(answer: &str, stall: bool) -> Fake {
        let answer = answer.to_owned();
        Fake::answering(move |_| answer.clone(), stall).await
    }

    /// The same with what it makes of each request.
    async fn answering(answer: impl Fn(&str) -> String + Send + 'static, stall: bool) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let request = read_request(&mut socket).await;
                let answer = answer(&request);
                seen.lock().unwrap().push(request);
                socket.write_all(answer.as_bytes()).await.unwrap();
                if stall {
                    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
                }
            }
        });
        Fake { address, requests }
    }

    fn request(&self) -> String {
        self.requests.lock().unwrap().last().unwrap().clone()
    }
}

async fn read_request(socket: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let n = socket.read(&mut buffer).await.unwrap();
        bytes.extend_from_slice(&buffer[..n]);
        let seen = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = seen.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|l| l.strip_prefix("content-length: ")).unwrap_or("0");
        if n == 0 || body.len() >= length.parse().unwrap() {
            return seen;
        }
    }
}

fn stream(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}

fn status(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn untyped(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}")
}

fn config(provider: &str, address: &str) -> String {
    format!(
        "[models.m]\nprovider = '{provider}'\nmodel = 'big'\nbase_url = 'http://{address}/base/'\napi_key = '{KEY}'\n\
         idle_timeout = '20s'\n[[apps]]\nuid = 'demo'\nallow_no_origin = true\n[[apps.agents]]\nuid = 'demo'\n\
         model = 'm'\nanonymous = true\ninstructions = 'Be kind. Never speak of the merger.'\n"
    )
}

/// What a visitor sees and what stands in the log, of one run that fails.
async fn told(provider: &str, answer: &str) -> (String, String) {
    let fake = Fake::start(answer, false).await;
    let folder = Folder::new();
    let mut command = program(&folder, &config(provider, &fake.address));
    let (running, server) = Running::start(command.env("MINDSET__SERVER__OPERATIONS", "off"));
    let (token, _) = server.anonymous().await;
    let events = server.finish(&token, "r1", "t1", "My password is swordfish.").await;
    assert_eq!(kind(last(&events)), "RUN_ERROR");
    (last(&events).to_string(), running.stop().replace(&fake.address, "HOST"))
}

#[tokio::test]
async fn a_providers_words_reach_no_visitor_and_no_log_if_they_repeat_the_request() {
    let repeated =
        "Bad prompt: \\\"My password is swordfish.\\\" system: Be kind. Never speak of the merger.";
    let error = |message: &str| format!(r#"{{"error":{{"message":"{message}","type":"bad_prompt"}}}}"#);
    let in_stream = |event: &str| {
        let typed = event.replacen('{', r#"{"type":"error","#, 1);
        stream(&format!("data: {typed}\n\n"))
    };
    for provider in ["openai", "anthropic"] {
        for answer in [status("400 Bad Request", &error(repeated)), in_stream(&error(repeated))] {
            let (shown, log) = told(provider, &answer).await;
            assert!(log.contains("WARN") && log.contains("HOST"), "{log}");
            for private in ["swordfish", "merger", "password", KEY] {
                assert!(!shown.contains(private) && !log.contains(private), "{private}: {shown} {log}");
            }
        }
        let (shown, log) = told(provider, &status("503 Unavailable", &error("capacity reached"))).await;
        assert!(log.contains("capacity reached") && !shown.contains("capacity"), "{shown} {log}");
        assert!(shown.contains("(bad_prompt)"), "{shown}");
        let (shown, log) = told(provider, &status("302 Found", "")).await;
        assert!(log.contains("base_url") && !shown.contains("base_url"), "{shown} {log}");
        assert!(!shown.contains("127.0.0.1"), "{shown}");
    }
}

async fn server(provider: &str, address: &str) -> Server {
    Server::with(&config(provider, address), &[]).await
}

/// One that does not wait long for a model.
async fn hasty(provider: &str, address: &str) -> Server {
    Server::with(&config(provider, address).replace("20s", "300ms"), &[]).await
}

/// One run against a server that answers with `answer`.
async fn run(provider: &str, answer: &str) -> Vec<Value> {
    let fake = Fake::start(answer, false).await;
    let server = server(provider, &fake.address).await;
    let (token, _) = server.anonymous().await;
    server.finish(&token, "r1", "t1", "hello").await
}

/// Reason and `retryable` of a failed run, after checking that it tells no secret.
fn failure(events: &[Value]) -> (String, bool) {
    let end = last(events);
    assert_eq!(kind(end), "RUN_ERROR", "{end}");
    assert!(!end.to_string().contains(KEY));
    let message = end.get("message").and_then(Value::as_str).unwrap();
    assert!(message.starts_with("The ") && message.ends_with('.'), "no sentence: {message}");
    let mindset = end.get("metadata").and_then(|m| m.get("mindset")).unwrap();
    let reason = mindset.get("reason").and_then(Value::as_str).unwrap().to_owned();
    (reason, mindset.get("retryable").and_then(Value::as_bool).unwrap())
}

#[tokio::test]
async fn openai() {
    let answer = stream(
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hi \"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"there\"},\
         \"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n\
         data: [DONE]\n\n",
    );
    let fake = Fake::start(&answer, true).await;
    let server = server("openai", &fake.address).await;
    let (token, _) = server.anonymous().await;
    let events = server.finish(&token, "r1", "t1", "hello").await;
    assert_eq!((kind(last(&events)), text(&events).as_str()), ("RUN_FINISHED", "Hi there"));
    let usage = last(&events).get("usage").and_then(Value::as_array).unwrap();
    assert_eq!(usage[0].get("inputTokens").and_then(Value::as_u64), Some(3));
    let request = fake.request();
    assert!(request.starts_with("POST /base/chat/completions HTTP/1.1"), "{request}");
    assert!(request.contains(&format!("authorization: Bearer {KEY}")));
    assert!(request.contains("Be kind.") && request.contains("\"model\":\"big\""));
}

#[tokio::test]
async fn anthropic() {
    let answer = stream(
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi there\"}}\n\n\
         data: {\"type\":\"message_stop\"}\n\n",
    );
    let fake = Fake::start(&answer, false).await;
    let server = server("anthropic", &fake.address).await;
    let (token, _) = server.anonymous().await;
    let events = server.finish(&token, "r1", "t1", "hello").await;
    assert_eq!((kind(last(&events)), text(&events).as_str()), ("RUN_FINISHED", "Hi there"));
    let request = fake.request();
    assert!(request.starts_with("POST /base/v1/messages HTTP/1.1"), "{request}");
    assert!(request.contains(&format!("x-api-key: {KEY}")) && request.contains("anthropic-version: "));
    assert!(!request.contains("authorization"));
}

#[tokio::test]
async fn refusals_of_the_provider() {
    let told = format!("{{\"error\":{{\"message\":\"wrong key {KEY}\"}}}}");
    for (answer, reason, retryable) in [
        (status("401 Unauthorized", &told), "model_error", false),
        (status("429 Too Many Requests", "{\"error\":{\"message\":\"slow down\"}}"), "rate_limited", true),
        (
            status("400 Bad Request", "{\"error\":{\"code\":\"context_length_exceeded\"}}"),
            "context_too_long",
            false,
        ),
        (status("400 Bad Request", &told), "model_error", false),
        (status("503 Service Unavailable", ""), "model_error", true),
        (status("302 Found", ""), "model_error", false),
        (status("200 OK", "{\"choices\":[]}"), "model_error", false),
        (status("200 OK", "{\"error\":{\"message\":\"capacity\"}}"), "model_error", true),
        (status("200 OK", "{\"error\":{\"message\":\"bad\",\"code\":400}}"), "model_error", false),
        (status("200 OK", "[{\"error\":{\"code\":429}}]"), "rate_limited", true),
        (status("413 Payload Too Large", ""), "context_too_long", false),
        // A body that says nothing of its type, or the wrong thing.
        (untyped("{\"error\":{\"message\":\"slow down\",\"code\":429}}"), "rate_limited", true),
        (stream("\n {\"object\":\"error\",\"message\":\"bad\",\"code\":400}"), "model_error", false),
        (untyped("<html>Bad gateway</html>"), "model_error", false),
        (untyped(""), "interrupted", true),
    ] {
        for provider in ["openai", "anthropic"] {
            let seen = run(provider, &answer).await;
            assert_eq!(failure(&seen), (reason.into(), retryable), "{provider} {answer}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_answer() {
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"Step one\"}}]}\n\n";
    let seen = run("openai", &stream(half)).await;
    assert_eq!(text(&seen), "Step one");
    assert_eq!(failure(&seen), ("interrupted".into(), true));
    // The same with a body that is shorter than its promise.
    let short =
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n{half}");
    assert_eq!(failure(&run("openai", &short).await), ("interrupted".into(), true));
}

#[tokio::test]
async fn silence_and_absence() {
    let fake = Fake::start(&stream("data: {\"choices\":[{\"delta\":{\"content\":\"Hm\"}}]}\n\n"), true).await;
    let quiet = hasty("openai", &fake.address).await;
    let (token, _) = quiet.anonymous().await;
    assert_eq!(failure(&quiet.finish(&token, "r1", "t1", "hello").await), ("timeout".into(), true));

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let absent = server("openai", &address).await;
    let (token, _) = absent.anonymous().await;
    let events = absent.finish(&token, "r1", "t1", "hello").await;
    assert_eq!(failure(&events), ("model_error".into(), true));
    let message = last(&events).get("message").and_then(Value::as_str).unwrap();
    assert!(message.contains("cannot be reached") && !message.contains("127.0.0.1"), "{message}");
    // The conversation takes the next message.
    assert_eq!(failure(&absent.finish(&token, "r2", "t1", "again").await), ("model_error".into(), true));
}

#[tokio::test]
async fn reasoning_goes_back_also_after_a_restart_and_is_never_shown() {
    const THOUGHT: &str = "They want the balance. I need the ledger tool.";
    let openai = stream(
        "data: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning_content\":\"They want the balance. \"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"I need the ledger tool.\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"function\":{\"name\":\"ledger\",\
         \"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n\n",
    );
    let anthropic = stream(&format!(
        "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"thinking\",\"thinking\":\"{THOUGHT}\",\
         \"signature\":\"s1\"}}}}\n\ndata: {{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{{\"type\":\"tool_use\",\
         \"id\":\"call_1\",\"name\":\"ledger\",\"input\":{{}}}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
    ));
    for (provider, answer, sent) in [
        ("openai", openai, format!("\"reasoning_content\":\"{THOUGHT}\"")),
        (
            "anthropic",
            anthropic,
            format!("{{\"type\":\"thinking\",\"thinking\":\"{THOUGHT}\",\"signature\":\"s1\"}}"),
        ),
    ] {
        let fake = Fake::start(&answer, false).await;
        let folder = Folder::new();
        let (path, config) = (folder.path("test.db"), config(provider, &fake.address));
        let server = Server::at(&path, &config, &[]).await;
        let (token, _) = server.anonymous().await;
        // Nobody has the tool: the model is told so, until the repetition ends the turn.
        let events = server.finish(&token, "r1", "t1", "How much is left?").await;
        assert_eq!(kind(last(&events)), "RUN_FINISHED", "{}", last(&events));
        assert_eq!(text(&events), "");
        assert!(fake.request().contains(&sent), "{}", fake.request());
        server.stop().await;

        let server = Server::at(&path, &config, &[]).await;
        server.finish(&token, "r2", "t1", "And now?").await;
        let requests = fake.requests.lock().unwrap().clone();
        let first = requests.iter().find(|r| r.contains("And now?")).unwrap();
        assert_eq!(first.matches(&sent).count(), 3, "{first}");
        let shown = server.conversation(&token, "t1").await.text;
        assert!(shown.contains("And now?") && !shown.contains("They want"), "{shown}");
    }
}

#[tokio::test]
async fn one_huge_result_does_not_end_the_conversation() {
    let call = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"look\",\
                \"arguments\":\"\"}}]}}]}\n\ndata: [DONE]\n\n";
    let words = "data: {\"choices\":[{\"delta\":{\"content\":\"First line.\"}}]}\n\ndata: [DONE]\n\n";
    let too_long = "{\"error\":{\"message\":\"prompt has 190000 tokens, limit is 128000\",\
                    \"code\":\"context_length_exceeded\"}}";
    let answer = move |request: &str| match request {
        long if long.len() > 200_000 => status("400 Bad Request", too_long),
        later if later.contains("\"role\":\"tool\"") => stream(words),
        _ => stream(call),
    };
    let fake = Fake::answering(answer, false).await;
    let server = server("openai", &fake.address).await;
    let (token, _) = server.anonymous().await;
    let run = |run: &str, message: String| {
        let body = format!(
            r#"{{"threadId":"t1","runId":"{run}","messages":[{message}],"context":[],"tools":[{{"name":"look","description":"","parameters":{{}}}}]}}"#
        );
        server.post("/v1/agents/demo/runs", &body).bearer(&token).open()
    };
    let said = |id: &str, text: &str| format!(r#"{{"id":"{id}","role":"user","content":"{text}"}}"#);
    let events = support::events(run("r1", said("u1", "Read it.")).await).await;
    assert_eq!(kind(last(&events)), "RUN_FINISHED");
    let huge = "é".repeat(200_000);
    let result = format!(r#"{{"id":"m1","role":"tool","toolCallId":"c1","content":"{huge}"}}"#);
    let events = support::events(run("r2", result).await).await;
    assert_eq!(failure(&events), ("context_too_long".into(), false));
    let events = support::events(run("r3", said("u2", "ok, just the first line please")).await).await;
    assert_eq!((kind(last(&events)), text(&events).as_str()), ("RUN_FINISHED", "First line."));
    for request in fake.requests.lock().unwrap().iter() {
        assert!(request.len() < 270_000 && !request.contains('\u{fffd}'), "{}", request.len());
    }
}
