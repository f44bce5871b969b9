//! One call over HTTP: request out, event stream in.
//!
//! The adapters are our own and not a client crate's, because what counts as a
//! failure is decided here: the crate that was the candidate (genai) reports no
//! error for a stream that ends without its end event, and its call chunks carry
//! the arguments so far instead of a delta, so a cut stream would pass for a
//! finished answer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use mindset_core::json;
use mindset_core::sse;
use mindset_core::turn::{ModelEvent, ModelFailure, ModelRequest};

use super::Answer;
use super::failures::{Failures, error_in, private_texts};
use crate::config::{ModelConfig, Secret};

/// The largest event of a provider's stream, in bytes.
pub(super) const MAX_EVENT: usize = 4 * 1024 * 1024;

/// How much of an error body is read.
const MAX_ERROR: usize = 64 * 1024;

/// A provider's events to ours.
pub(super) trait Decode: Send + Sync {
    /// Takes one event of the stream.
    fn frame(&mut self, event: &str, data: &str, out: &mut Vec<ModelEvent>);

    /// Whether the answer has ended or failed; nothing is read after that.
    fn is_over(&self) -> bool;

    /// The stream has ended.
    fn finish(&mut self, out: &mut Vec<ModelEvent>);
}

/// Whether `data` only keeps the line open: nothing, or a comment that went astray.
pub(super) fn is_keep_alive(data: &str) -> bool {
    const WORDS: [&str; 5] = ["ping", "[ping]", "keep-alive", "keepalive", "heartbeat"];
    data.is_empty() || data.starts_with(':') || WORDS.iter().any(|word| data.eq_ignore_ascii_case(word))
}

/// Whether `data`, which is no JSON, was meant to be: something is missing, whatever the event
/// is called.
pub(super) fn is_half(data: &str) -> bool {
    data.starts_with(['{', '['])
}

/// A provider's bytes to events, split anywhere.
#[derive(Debug)]
pub(super) struct Reading<D> {
    frames: sse::Decoder,
    decoder: D,
    failures: Arc<Failures>,
    broken: bool,
}

impl<D: Decode> Reading<D> {
    pub(super) fn new(decoder: D, failures: &Arc<Failures>) -> Reading<D> {
        let failures = Arc::clone(failures);
        Reading { frames: sse::Decoder::new(MAX_EVENT), decoder, failures, broken: false }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        self.frames.push(bytes);
        while !self.broken && !self.decoder.is_over() {
            match self.frames.next_frame() {
                Ok(Some(frame)) => self.decoder.frame(&frame.event, &frame.data, &mut out),
                Ok(None) => break,
                Err(_) => {
                    self.broken = true;
                    out.push(ModelEvent::Failed(self.failures.too_large()));
                }
            }
        }
        out
    }

    /// The stream has ended.
    pub(super) fn finish(&mut self) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        if !self.broken && !self.decoder.is_over() {
            self.decoder.finish(&mut out);
        }
        out
    }
}

/// What every adapter needs to call its provider.
pub(super) struct Endpoint {
    client: Option<reqwest::Client>,
    url: String,
    host: String,
    idle: Duration,
    /// Keys and passwords: the key's, and those of the address.
    secrets: Vec<String>,
}

/// The address may hold a password.
impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// `path` is added to that of the configured address, whose query stays.
    pub(super) fn new(config: &ModelConfig, path: &str) -> Endpoint {
        let mut parsed = reqwest::Url::parse(&config.base_url).ok();
        if let Some(url) = &mut parsed {
            let whole = format!("{}{path}", url.path().trim_end_matches('/'));
            url.set_path(&whole);
        }
        let url = parsed.as_ref().map(ToString::to_string).unwrap_or_default();
        let host = parsed.as_ref().and_then(|u| u.host_str()).unwrap_or("the model server").to_owned();
        let host = match parsed.as_ref().and_then(reqwest::Url::port) {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        let mut secrets: Vec<String> = config.api_key.iter().map(|k| Secret::expose(k).to_owned()).collect();
        if let Some(url) = &parsed {
            secrets.extend(url.password().map(str::to_owned));
            secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        }
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
        Endpoint { client, url, host, idle: config.idle_timeout, secrets }
    }

    /// The host, for messages and for provider state that must go nowhere else.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// The failures of a call that sends `request`.
    pub(super) fn failures(&self, request: &ModelRequest) -> Arc<Failures> {
        let mut private = private_texts(request);
        private.extend(self.secrets.iter().cloned());
        Arc::new(Failures::new(&self.host, &private))
    }

    /// Posts `body` and reads the answer through `decoder`.
    pub(super) fn call<D: Decode + 'static>(
        &self,
        headers: &[(&'static str, String)],
        body: String,
        decoder: D,
        failures: &Arc<Failures>,
    ) -> Answer {
        let Some(client) = &self.client else {
            return stream::iter([ModelEvent::Failed(failures.unreachable(true))]).boxed();
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
            reading: Reading::new(decoder, failures),
            queue: VecDeque::new(),
            failures: Arc::clone(failures),
            idle: self.idle,
            begun: false,
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

struct Exchange<D> {
    step: Step,
    reading: Reading<D>,
    queue: VecDeque<ModelEvent>,
    failures: Arc<Failures>,
    idle: Duration,
    /// The body has begun, and as an event stream does.
    begun: bool,
}

impl<D: Decode> Exchange<D> {
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
            Ok(Err(error)) => return self.fail(self.failures.unreachable(error.is_connect())),
            Err(_) => return self.fail(self.failures.silence(self.idle.as_secs())),
        };
        let status = response.status().as_u16();
        let kind =
            response.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or("").to_owned();
        if !response.status().is_success() {
            let body = self.error_body(Vec::new(), response).await;
            return self.fail(self.failures.of_answer(status, &body));
        }
        if kind.starts_with("text/html") || kind.starts_with("application/json") {
            return self.no_stream(Vec::new(), response).await;
        }
        self.step = Step::Read(response);
    }

    /// A good status and yet no stream: an error, or something else altogether.
    async fn no_stream(&mut self, start: Vec<u8>, response: reqwest::Response) {
        let body = json::parse(&self.error_body(start, response).await).unwrap_or_default();
        let failure = match error_in("", &body, body.get("choices").is_some()) {
            Some(error) => self.failures.of_error(error, None),
            None => self.failures.no_stream(),
        };
        self.fail(failure);
    }

    async fn read(&mut self, mut response: reqwest::Response) {
        match tokio::time::timeout(self.idle, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                let first = bytes.iter().find(|b| !b.is_ascii_whitespace()).filter(|_| !self.begun);
                self.begun |= first.is_some();
                // No line of an event stream begins like JSON or a page.
                if matches!(first, Some(b'{' | b'[' | b'<')) {
                    return self.no_stream(bytes.to_vec(), response).await;
                }
                self.queue.extend(self.reading.push(&bytes));
                self.step = Step::Read(response);
            }
            // A reset connection tells no more than a closed one: the end is missing.
            Ok(Ok(None) | Err(_)) => self.queue.extend(self.reading.finish()),
            Err(_) => self.fail(self.failures.silence(self.idle.as_secs())),
        }
    }

    async fn error_body(&self, start: Vec<u8>, mut response: reqwest::Response) -> String {
        let mut body = start;
        while body.len() < MAX_ERROR {
            match tokio::time::timeout(self.idle, response.chunk()).await {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                _ => break,
            }
        }
        body.truncate(MAX_ERROR);
        String::from_utf8_lossy(&body).into_owned()
    }

    fn fail(&mut self, failed: ModelFailure) {
        self.queue.push_back(ModelEvent::Failed(failed));
    }
}
