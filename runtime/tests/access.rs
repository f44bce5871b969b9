//! Who gets in: tokens, API keys, origins, and what strangers are told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use mindset_core::json::Value;
use support::{CONFIG, Folder, Server, input};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ANONYMOUS: &str = r#"{"appUid":"demo","agentUid":"demo"}"#;

#[tokio::test]
async fn a_backend_gets_tokens_for_its_users() {
    let server = Server::start().await;
    let path = "/api/v1/appuid/demo/sdkusers/auth";
    let ask = |key: &'static str, body: &'static str| server.post(path, body).header("x-api-key", key).send();
    for key in ["first-key", "second-key"] {
        let answer = ask(key, r#"{"externalId":"user_1-A","name":"Ada"}"#).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(answer.string("expiresAt").ends_with('Z'));
        assert_eq!(server.conversation(&answer.string("authToken"), "x").await.error().0, 404);
    }
    for key in ["", "wrong", "first-key2", "first-ke"] {
        assert_eq!(ask(key, r#"{"externalId":"a"}"#).await.error(), (401, "invalid-auth".into()));
    }
    let other = server.post("/api/v1/appuid/nobody/sdkusers/auth", r#"{"externalId":"a"}"#);
    assert_eq!(other.header("x-api-key", "first-key").send().await.error(), (401, "invalid-auth".into()));
    let long = format!(r#"{{"externalId":"{}"}}"#, "a".repeat(101));
    for body in ["{}", r#"{"externalId":7}"#, r#"{"externalId":""}"#, r#"{"externalId":"a b"}"#, "[]", &long]
    {
        let answer = server.post(path, body).header("x-api-key", "first-key").send().await;
        assert_eq!(answer.error(), (422, "invalid-request".into()), "{body}");
    }
    let broken = server.post(path, "{").header("x-api-key", "first-key").send().await;
    assert_eq!(broken.error(), (400, "invalid-request".into()));
}

#[tokio::test]
async fn one_external_id_is_one_user() {
    let server = Server::start().await;
    let token = async |id: &str| {
        let body = format!(r#"{{"externalId":"{id}"}}"#);
        let request = server.post("/api/v1/appuid/demo/sdkusers/auth", &body);
        request.header("x-api-key", "first-key").send().await.string("authToken")
    };
    server.finish(&token("ada").await, "r1", "t1", "hello").await;
    assert_eq!(server.conversation(&token("ada").await, "t1").await.status, 200);
    assert_eq!(server.conversation(&token("bob").await, "t1").await.error(), (404, "not-found".into()));
}

#[tokio::test]
async fn anonymous_users_come_back_with_their_key() {
    let server = Server::start().await;
    let (token, key) = server.anonymous().await;
    server.finish(&token, "r1", "t1", "hello").await;
    let body = format!(r#"{{"appUid":"demo","agentUid":"demo","anonymousKey":"{key}"}}"#);
    let again = server.post("/v1/anonymous", &body).send().await;
    assert_eq!(again.string("anonymousKey"), key);
    assert_eq!(server.conversation(&again.string("authToken"), "t1").await.status, 200);
    let unknown = server
        .post("/v1/anonymous", r#"{"appUid":"demo","agentUid":"demo","anonymousKey":"made-up"}"#)
        .send()
        .await;
    assert_eq!(unknown.status, 200);
    assert_ne!(unknown.string("anonymousKey"), "made-up");
    assert_eq!(server.conversation(&unknown.string("authToken"), "t1").await.status, 404);
}

#[tokio::test]
async fn anonymous_is_refused_with_a_reason() {
    let server = Server::start().await;
    for (body, expected) in [
        (r#"{"appUid":"demo","agentUid":"closed"}"#, (403, "anonymous-denied")),
        (r#"{"appUid":"demo","agentUid":"nobody"}"#, (404, "agent-not-found")),
        (r#"{"appUid":"nobody","agentUid":"demo"}"#, (404, "not-found")),
        (r#"{"appUid":"strict","agentUid":"demo"}"#, (403, "origin-not-allowed")),
        (r#"{"agentUid":"demo"}"#, (422, "invalid-request")),
        (r#"{"appUid":"demo","agentUid":"demo","anonymousKey":1}"#, (422, "invalid-request")),
    ] {
        let (status, code) = server.post("/v1/anonymous", body).send().await.error();
        assert_eq!((status, code.as_str()), expected, "{body}");
    }
}

#[tokio::test]
async fn origins() {
    let server = Server::start().await;
    for good in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8080", "https://shop.example"] {
        let answer = server.post("/v1/anonymous", ANONYMOUS).header("origin", good).send().await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, good));
        assert_eq!(answer.header("access-control-allow-credentials"), "");
    }
    for bad in ["null", "https://evil.example", "http://localhost.evil.example"] {
        let answer = server.post("/v1/anonymous", ANONYMOUS).header("origin", bad).send().await;
        assert_eq!(answer.error(), (403, "origin-not-allowed".into()));
        // The refusal itself may be read, so that a developer sees the sentence.
        assert_eq!(answer.header("access-control-allow-origin"), bad);
        assert!(bad != "null" || answer.text.contains("Serve it over HTTP"), "{}", answer.text);
    }
}

#[tokio::test]
async fn preflights() {
    let server = Server::start().await;
    let ask = |path: &'static str, origin: &'static str| {
        let request = server.request("OPTIONS", path).header("origin", origin);
        request.header("access-control-request-method", "POST").send()
    };
    let good = ask("/v1/agents/demo/runs", "http://localhost:5173").await;
    assert_eq!((good.status, good.header("access-control-allow-origin")), (204, "http://localhost:5173"));
    assert!(good.header("access-control-allow-headers").contains("authorization"));
    assert!(good.header("vary").contains("origin"));
    let bad = ask("/v1/agents/demo/runs", "https://evil.example").await;
    assert_eq!(bad.error(), (403, "origin-not-allowed".into()));
    assert_eq!(bad.header("access-control-allow-origin"), "");
    assert_eq!(ask("/v1/anonymous", "https://evil.example").await.status, 204);
    // Called by backends only: no page may read it.
    let backend = ask("/api/v1/appuid/demo/sdkusers/auth", "http://localhost:5173").await;
    assert_eq!((backend.status, backend.header("access-control-allow-origin")), (405, ""));
}

#[tokio::test]
async fn bad_tokens() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let cut = token.get(..token.len() - 1).unwrap();
    for bad in ["", "x", "a.b.c", cut, &format!("{token}.")] {
        let answer = server.post("/v1/agents/demo/runs", &input("r", "t", "hi")).bearer(bad).send().await;
        assert_eq!(answer.error(), (401, "invalid-auth".into()), "{bad}");
    }
    let bare = server.request("GET", "/v1/conversations").send().await;
    assert_eq!(bare.error(), (401, "invalid-auth".into()));
    let basic = server.request("GET", "/v1/conversations").header("authorization", "Basic eDp5").send().await;
    assert_eq!(basic.error(), (401, "invalid-auth".into()));
}

#[tokio::test]
async fn expired_tokens_say_so() {
    let server = Server::with(CONFIG, &[("MINDSET__SERVER__TOKEN_LIFETIME", "1s")]).await;
    let (token, _) = server.anonymous().await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let answer = server.conversation(&token, "x").await;
    assert_eq!(answer.error(), (401, "auth-expired".into()));
    let retryable = answer.body.get("error").and_then(|e| e.get("retryable")).and_then(Value::as_bool);
    assert_eq!(retryable, Some(true));
}

#[tokio::test]
async fn too_many_sessions() {
    let server = Server::with(CONFIG, &[("MINDSET__SERVER__ANONYMOUS_PER_MINUTE", "2")]).await;
    for _ in 0..2 {
        server.anonymous().await;
    }
    let answer = server.post("/v1/anonymous", ANONYMOUS).send().await;
    assert_eq!(answer.error(), (429, "rate-limited".into()));
    let wait: u64 = answer.header("retry-after").parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    let page = server.post("/v1/anonymous", ANONYMOUS).header("origin", "https://shop.example").send().await;
    assert_eq!(
        (page.status, page.header("access-control-expose-headers")),
        (429, "retry-after, x-request-id")
    );
}

#[tokio::test]
async fn refusals_use_up_no_sessions() {
    let server = Server::with(CONFIG, &[("MINDSET__SERVER__ANONYMOUS_PER_MINUTE", "1")]).await;
    for (body, origin, status) in [
        (ANONYMOUS, "https://evil.example", 403),
        (r#"{"appUid":"demo","agentUid":"closed"}"#, "https://shop.example", 403),
        (r#"{"appUid":"demo","agentUid":"nobody"}"#, "https://shop.example", 404),
        (r#"{"appUid":"nobody","agentUid":"demo"}"#, "https://shop.example", 404),
        ("{}", "https://shop.example", 422),
        (ANONYMOUS, "https://shop.example", 200),
        (ANONYMOUS, "https://shop.example", 429),
        (ANONYMOUS, "https://evil.example", 403),
    ] {
        let answer = server.post("/v1/anonymous", body).header("origin", origin).send().await;
        assert_eq!(answer.status, status, "{body} {origin}");
    }
}

#[tokio::test]
async fn an_anonymous_token_opens_no_closed_agent() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    for (agent, expected) in [
        ("closed", (403, "anonymous-denied")),
        ("nobody", (404, "agent-not-found")),
        ("demo::s1", (403, "anonymous-denied")),
    ] {
        let path = format!("/v1/agents/{agent}/runs");
        let (status, code) = server.post(&path, &input("r", "t", "hi")).bearer(&token).send().await.error();
        assert_eq!((status, code.as_str()), expected);
    }
}

/// A token of a user of the app `strict`, which lets no page in.
async fn strict_token(server: &Server) -> String {
    let path = "/api/v1/appuid/strict/sdkusers/auth";
    let request = server.post(path, r#"{"externalId":"ada"}"#).header("x-api-key", "strict-key");
    request.send().await.string("authToken")
}

#[tokio::test]
async fn a_token_is_good_only_on_pages_of_its_app() {
    let server = Server::with(CONFIG, &[("MINDSET__APPS__STRICT__API_KEYS", "strict-key")]).await;
    let (demo, _) = server.anonymous().await;
    let strict = strict_token(&server).await;
    let run =
        |token: &str, id: &str| server.post("/v1/agents/demo/runs", &input(id, id, "hello")).bearer(token);
    let shop = "https://shop.example";
    for (token, origin) in [(&strict, shop), (&demo, "https://evil.example"), (&demo, "null")] {
        let list = server.request("GET", "/v1/conversations").bearer(token);
        for request in [run(token, "r1"), list] {
            let answer = request.header("origin", origin).send().await;
            assert_eq!(answer.error(), (403, "origin-not-allowed".into()), "{origin}");
            assert_eq!(answer.header("access-control-allow-origin"), "");
        }
        assert_eq!(server.conversation(token, "r1").await.status, 404, "the run has not started");
    }
    let good = run(&demo, "r1").header("origin", shop).send().await;
    assert_eq!((good.status, good.header("access-control-allow-origin")), (200, shop));
    assert_eq!(run(&strict, "r1").send().await.status, 200, "servers and scripts send no origin");
    // An error that the page has to act on can be read by it.
    let expired = run("not.a.token", "r2").header("origin", shop).send().await;
    assert_eq!(expired.error(), (401, "invalid-auth".into()));
    assert_eq!(expired.header("access-control-allow-origin"), shop);
}

#[tokio::test]
async fn behind_a_proxy_every_visitor_has_their_own_limit() {
    let ask = async |server: &Server, from: &str| {
        server.post("/v1/anonymous", ANONYMOUS).header("x-forwarded-for", from).send().await.status
    };
    let limit = ("MINDSET__SERVER__ANONYMOUS_PER_MINUTE", "1");
    let trusting = Server::with(CONFIG, &[limit, ("MINDSET__SERVER__TRUSTED_PROXIES", "loopback")]).await;
    assert_eq!(ask(&trusting, "203.0.113.5").await, 200);
    assert_eq!(ask(&trusting, "203.0.113.6").await, 200);
    assert_eq!(ask(&trusting, "198.51.100.1, 203.0.113.5").await, 429, "made-up addresses do not help");
    let other = Server::with(CONFIG, &[limit]).await;
    assert_eq!(ask(&other, "203.0.113.5").await, 200);
    assert_eq!(ask(&other, "203.0.113.6").await, 429);
}

#[tokio::test]
async fn an_anonymous_user_opens_no_conversation_with_a_closed_agent() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let create = async |agent: &str| {
        let body = format!(r#"{{"agentUid":"{agent}"}}"#);
        server.post("/v1/conversations", &body).bearer(&token).send().await
    };
    assert_eq!(create("closed").await.error(), (403, "anonymous-denied".into()));
    assert_eq!(create("nobody").await.error(), (404, "agent-not-found".into()));
    assert_eq!(create("demo").await.status, 201);
}

#[tokio::test]
async fn addresses_that_are_not_utf8_are_refused_in_json() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    for (method, path) in [
        ("GET", "/v1/conversations/%ff"),
        ("POST", "/v1/agents/%ff/runs"),
        ("POST", "/v1/runs/%ff/cancel"),
        ("POST", "/api/v1/appuid/%ff/sdkusers/auth"),
    ] {
        let answer = server.request(method, path).bearer(&token).send().await;
        assert_eq!(answer.error(), (400, "invalid-request".into()), "{path}");
    }
}

#[tokio::test]
async fn requests_that_do_not_arrive_are_given_up() {
    let server = Server::with(CONFIG, &[("MINDSET__SERVER__REQUEST_TIMEOUT", "300ms")]).await;
    let address = server.url.strip_prefix("http://").unwrap();
    let head = "POST /v1/anonymous HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n";
    for (sent, answer) in [(head.to_owned(), ""), (format!("{head}\r\n{{"), "HTTP/1.1 408 ")] {
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        socket.write_all(sent.as_bytes()).await.unwrap();
        let mut seen = String::new();
        let read = socket.read_to_string(&mut seen);
        tokio::time::timeout(Duration::from_secs(5), read).await.expect("it stays open").unwrap();
        assert!(seen.starts_with(answer), "{seen}");
        assert_eq!(seen.contains(r#""code":"timeout""#), !answer.is_empty(), "{seen}");
    }
    // A stream that is being read is not a request that is late.
    let (token, _) = server.anonymous().await;
    let events = support::events(server.run(&token, "slow", ("r1", "t1"), "hello").await).await;
    assert_eq!(support::kind(support::last(&events)), "RUN_FINISHED");
}

#[tokio::test]
async fn a_sign_out_ends_every_token_so_far() {
    let folder = Folder::new();
    let server = Server::at(&folder.path("test.db"), CONFIG, &[]).await;
    let (first, second, bob) = (server.user("ada").await, server.user("ada").await, server.user("bob").await);
    let list = async |server: &Server, token: &str| {
        server.request("GET", "/v1/conversations").bearer(token).send().await
    };
    assert_eq!(list(&server, &first).await.status, 200);
    assert_eq!(server.post("/v1/signout", "").bearer(&first).send().await.status, 204);
    let third = server.user("ada").await;
    for token in [&first, &second] {
        assert_eq!(list(&server, token).await.error(), (401, "invalid-auth".into()));
        let again = server.post("/v1/signout", "").bearer(token).send().await;
        assert_eq!(again.error(), (401, "invalid-auth".into()));
    }
    assert_eq!([list(&server, &third).await.status, list(&server, &bob).await.status], [200, 200]);
    server.stop().await;
    let server = Server::at(&folder.path("test.db"), CONFIG, &[]).await;
    assert_eq!(list(&server, &second).await.error(), (401, "invalid-auth".into()), "after a restart too");
    assert_eq!(list(&server, &third).await.status, 200);
}

#[tokio::test]
async fn the_interface_describes_itself() {
    let server = Server::start().await;
    let answer = server.request("GET", "/openapi.json").send().await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, "*"));
    assert_eq!(answer.body.str("openapi"), Some("3.1.0"));
    assert_eq!(answer.body.get("info").and_then(|i| i.str("version")), Some(env!("CARGO_PKG_VERSION")));
    let wrong = server.request("PUT", "/v1/conversations").send().await;
    assert_eq!(wrong.error(), (405, "invalid-request".into()));
    assert!(wrong.text.contains("GET or POST"), "{}", wrong.text);
    assert_eq!(wrong.header("allow"), "GET,HEAD,POST");
}
