//! One call over HTTP: request out, event stream in, failures in words that are
//! safe to show.
//!
//! The adapters are our own and not a client crate's, because what counts as a
//! failure is decided here: the crate that was the candidate (genai) reports no
//! error for a stream that ends without its end event, and its call chunks carry
//! the arguments so far instead of a delta, so a cut stream would pass for a
//! finished answer.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use mindset_core::event::Reason;
use mindset_core::json::{self, Value};
use mindset_core::turn::{ModelEvent, ModelFailure};

use super::Answer;
use crate::config::{ModelConfig, Secret};

/// The largest event of a provider's stream, in bytes.
pub(super) const MAX_EVENT: usize = 4 * 1024 * 1024;

/// How much of an error body is read.
const MAX_ERROR: usize = 64 * 1024;

/// How much of a provider's own words is passed on, in characters.
const MAX_WORDS: usize = 300;

/// A provider's stream to events.
pub(super) trait Decode: Send + Sync {
    /// Takes the next bytes, split anywhere.
    fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent>;

    /// The stream has ended.
    fn finish(&mut self) -> Vec<ModelEvent>;
}

/// What every adapter needs to call its provider.
#[derive(Debug)]
pub(super) struct Endpoint {
    client: Option<reqwest::Client>,
    url: String,
    host: String,
    idle: Duration,
    key: Option<Secret>,
}

impl Endpoint {
    pub(super) fn new(config: &ModelConfig, path: &str) -> Endpoint {
        let url = format!("{}{path}", config.base_url);
        let parsed = reqwest::Url::parse(&url).ok();
        let host = parsed.as_ref().and_then(|u| u.host_str()).unwrap_or("the model server").to_owned();
        let host = match parsed.as_ref().and_then(reqwest::Url::port) {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        // A later call finds a provider installed, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // No redirects: they would carry the key to a host nobody configured.
        let builder = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none());
        let near = ["127.0.0.1", "localhost", "[::1]"].iter().any(|h| host.starts_with(h));
        let builder = if near { builder.no_proxy() } else { builder };
        // Without TLS no root certificates are needed, and a machine may have none.
        let plain = parsed.is_some_and(|u| u.scheme() == "http");
        let builder = if plain { builder.tls_certs_only([]) } else { builder };
        let client = builder.build().inspect_err(|_| tracing::error!("no TLS for model calls")).ok();
        Endpoint { client, url, host, idle: config.idle_timeout, key: config.api_key.clone() }
    }

    /// The host, for messages and for provider state that must go nowhere else.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Posts `body` and reads the answer through `decoder`.
    pub(super) fn call(
        &self,
        headers: &[(&'static str, String)],
        body: String,
        decoder: impl Decode + 'static,
    ) -> Answer {
        let Some(client) = &self.client else {
            let failed = failure(Reason::ModelError, "The server has no TLS for model calls.".into(), false);
            return stream::iter([ModelEvent::Failed(failed)]).boxed();
        };
        let mut request = client.post(&self.url).header("content-type", "application/json").body(body);
        for (name, value) in headers {
            let mut value = reqwest::header::HeaderValue::from_str(value)
                .unwrap_or_else(|_| reqwest::header::HeaderValue::from_static("unusable"));
            value.set_sensitive(true);
            request = request.header(*name, value);
        }
        let exchange = Exchange {
            step: Step::Send(request),
            decoder: Box::new(decoder),
            queue: VecDeque::new(),
            host: self.host.clone(),
            idle: self.idle,
            key: self.key.clone(),
        };
        stream::unfold(exchange, |mut exchange| async move { Some((exchange.next().await?, exchange)) })
            .boxed()
    }
}

enum Step {
    Send(reqwest::RequestBuilder),
    Read(reqwest::Response),
    Over,
}

struct Exchange {
    step: Step,
    decoder: Box<dyn Decode>,
    queue: VecDeque<ModelEvent>,
    host: String,
    idle: Duration,
    key: Option<Secret>,
}

impl Exchange {
    async fn next(&mut self) -> Option<ModelEvent> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                if matches!(event, ModelEvent::End { .. } | ModelEvent::Failed(_)) {
                    self.queue.clear();
                    self.step = Step::Over;
                }
                return Some(event);
            }
            match std::mem::replace(&mut self.step, Step::Over) {
                Step::Send(request) => self.send(request).await,
                Step::Read(response) => self.read(response).await,
                Step::Over => return None,
            }
        }
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) {
        let response = match tokio::time::timeout(self.idle, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let why = if error.is_connect() { "cannot be reached" } else { "broke off the call" };
                let text =
                    format!("The model server {} {why}. Check the address and the network.", self.host);
                return self.fail(failure(Reason::ModelError, text, true));
            }
            Err(_) => return self.fail(self.silence()),
        };
        let status = response.status().as_u16();
        let kind =
            response.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or("").to_owned();
        if !response.status().is_success() {
            let body = self.error_body(response).await;
            return self.fail(from_body(status, &body, &self.host, self.key.as_ref()));
        }
        if kind.starts_with("text/html") || kind.starts_with("application/json") {
            let body = self.error_body(response).await;
            if json::parse(&body).is_ok_and(|v| v.get("error").is_some()) {
                return self.fail(from_body(500, &body, &self.host, self.key.as_ref()));
            }
            let text =
                format!("The model server {} answered without a stream. Check the base_url.", self.host);
            return self.fail(failure(Reason::ModelError, text, false));
        }
        self.step = Step::Read(response);
    }

    async fn read(&mut self, mut response: reqwest::Response) {
        match tokio::time::timeout(self.idle, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                self.queue.extend(self.decoder.push(&bytes));
                self.step = Step::Read(response);
            }
            // A reset connection tells no more than a closed one: the end is missing.
            Ok(Ok(None) | Err(_)) => self.queue.extend(self.decoder.finish()),
            Err(_) => self.fail(self.silence()),
        }
        for event in &mut self.queue {
            if let ModelEvent::Failed(failed) = event {
                failed.message = safe(&failed.message, self.key.as_ref());
            }
        }
    }

    async fn error_body(&self, mut response: reqwest::Response) -> String {
        let mut body = Vec::new();
        while body.len() < MAX_ERROR {
            match tokio::time::timeout(self.idle, response.chunk()).await {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                _ => break,
            }
        }
        body.truncate(MAX_ERROR);
        String::from_utf8_lossy(&body).into_owned()
    }

    fn silence(&self) -> ModelFailure {
        let text = format!("The model server {} said nothing for {} s.", self.host, self.idle.as_secs());
        failure(Reason::Timeout, text, true)
    }

    fn fail(&mut self, failed: ModelFailure) {
        self.queue.push_back(ModelEvent::Failed(failed));
    }
}

pub(super) fn failure(reason: Reason, message: String, retryable: bool) -> ModelFailure {
    ModelFailure { reason, message, retryable }
}

/// The stream ended without its end.
pub(super) fn cut_off() -> ModelFailure {
    failure(Reason::Interrupted, "The model's answer broke off before its end. Try again.".into(), true)
}

/// An event over [`MAX_EVENT`].
pub(super) fn too_large() -> ModelFailure {
    failure(Reason::ModelError, "The model sent an event that is too large.".into(), false)
}

/// An HTTP error answer.
fn from_body(status: u16, body: &str, host: &str, key: Option<&Secret>) -> ModelFailure {
    if let 300..=399 = status {
        let text = format!("The model server {host} redirects. Put the final address into base_url.");
        return failure(Reason::ModelError, text, false);
    }
    let parsed = json::parse(body).unwrap_or_default();
    let error = parsed.get("error").unwrap_or(&parsed);
    let mut failed = from_error(error, Some(status));
    failed.message = safe(&failed.message, key);
    failed
}

/// An error object of a provider, from a body or from inside a stream.
pub(super) fn from_error(error: &Value, status: Option<u16>) -> ModelFailure {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or("");
    let words = error.as_str().unwrap_or_else(|| text("message"));
    let code =
        error.get("code").and_then(|c| c.as_u64().map(|n| n.to_string()).or(c.as_str().map(str::to_owned)));
    let code = code.unwrap_or_default();
    let numeric = code.parse::<u16>().ok().filter(|n| (400..600).contains(n));
    let status = status.or(numeric).or_else(|| status_of(text("type"), &code));
    let said = |what: &str| match words.trim().trim_end_matches('.') {
        "" => format!("{what}."),
        words => format!("{what}: {words}."),
    };
    let too_long = code == "context_length_exceeded"
        || words.contains("maximum context length")
        || words.contains("prompt is too long");
    match status {
        _ if too_long => failure(
            Reason::ContextTooLong,
            "The conversation no longer fits the model. Start a new one.".into(),
            false,
        ),
        // Not the provider's words: some repeat the key.
        Some(401 | 403) => failure(
            Reason::Unauthorized,
            "The model provider refused the server's key. The operator has to check api_key.".into(),
            false,
        ),
        Some(429) => failure(Reason::RateLimited, said("The model provider asks to slow down"), true),
        Some(404) => {
            failure(Reason::ModelError, said("The model provider does not know this model or address"), false)
        }
        Some(408 | 500..=599) => failure(Reason::ModelError, said("The model provider failed"), true),
        Some(_) => failure(Reason::ModelError, said("The model provider refused the request"), false),
        None => failure(Reason::ModelError, said("The model provider reported an error"), true),
    }
}

fn status_of(kind: &str, code: &str) -> Option<u16> {
    let known = |word: &str| match word {
        "invalid_request_error" | "invalid_request" => Some(400),
        "authentication_error" | "permission_error" | "invalid_api_key" => Some(401),
        "not_found_error" | "model_not_found" => Some(404),
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" => Some(429),
        "server_error" | "api_error" | "internal_error" => Some(500),
        "overloaded_error" | "timeout_error" => Some(529),
        _ => None,
    };
    known(code).or_else(|| known(kind))
}

/// One line, limited, without the key.
fn safe(words: &str, key: Option<&Secret>) -> String {
    let mut words = words.to_owned();
    if let Some(key) = key.filter(|k| k.expose().len() >= 4) {
        words = words.replace(key.expose(), "***");
    }
    let line: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().count() <= MAX_WORDS {
        return line;
    }
    let cut: String = line.chars().take(MAX_WORDS).collect();
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_errors() {
        let key = Secret::new("sk-secret");
        for (status, body, reason, retryable) in [
            (
                401,
                r#"{"error":{"message":"Incorrect API key provided: sk-secret"}}"#,
                Reason::Unauthorized,
                false,
            ),
            (403, "<html>", Reason::Unauthorized, false),
            (429, r#"{"error":{"message":"slow down"}}"#, Reason::RateLimited, true),
            (
                400,
                r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
                Reason::ContextTooLong,
                false,
            ),
            (400, r#"{"error":{"message":"bad sk-secret\nvalue"}}"#, Reason::ModelError, false),
            (503, "", Reason::ModelError, true),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
                Reason::ModelError,
                true,
            ),
            (302, "", Reason::ModelError, false),
        ] {
            let failed = from_body(status, body, "api.example", Some(&key));
            assert_eq!((failed.reason, failed.retryable), (reason, retryable), "{status} {body}");
            assert!(
                !failed.message.contains("sk-secret") && !failed.message.contains('\n'),
                "{}",
                failed.message
            );
        }
        let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(10_000));
        assert!(from_body(500, &long, "h", None).message.chars().count() <= MAX_WORDS + 1);
    }
}
