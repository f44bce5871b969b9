//! Who gets in: tokens, API keys, origins, and what strangers are told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use mindset_core::json::Value;
use support::{CONFIG, Server, input};

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
}

#[tokio::test]
async fn an_anonymous_token_opens_no_closed_agent() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    for (agent, expected) in [
        ("closed", (403, "anonymous-denied")),
        ("nobody", (404, "agent-not-found")),
        ("demo::s1", (404, "agent-not-found")),
    ] {
        let path = format!("/v1/agents/{agent}/runs");
        let (status, code) = server.post(&path, &input("r", "t", "hi")).bearer(&token).send().await.error();
        assert_eq!((status, code.as_str()), expected);
    }
}
