//! Spans to OTLP: JSON over HTTP, in batches. Written by hand because the few messages there are
//! take less than any exporter crate brings with it.

use std::time::Duration;

use mindset_core::json::{Object, Value};
use mindset_core::object;
use tokio::sync::mpsc;

use super::metrics;
use super::trace::{Fact, Message, Span};
use crate::config::{Secret, Telemetry};

/// Spans in one request.
const BATCH: usize = 512;

/// How long spans wait for others.
const PAUSE: Duration = Duration::from_millis(500);

/// How long the collector may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends spans to one collector.
#[derive(Debug)]
pub(super) struct Sender {
    client: Option<reqwest::Client>,
    address: String,
    authorization: Option<Secret>,
    failing: bool,
}

impl Sender {
    pub(super) fn new(config: &Telemetry) -> Sender {
        // One provider for the process; who came first does not matter.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder =
            reqwest::Client::builder().timeout(PATIENCE).redirect(reqwest::redirect::Policy::none());
        Sender {
            client: builder.build().ok(),
            address: format!("{}/v1/traces", config.otlp_endpoint),
            authorization: config.authorization.clone(),
            failing: false,
        }
    }

    /// Sends what comes, until the process ends.
    pub(super) async fn run(mut self, mut messages: mpsc::Receiver<Message>) {
        while let Some(first) = messages.recv().await {
            let mut batch = vec![first];
            if !matches!(batch.as_slice(), [Message::Flush(_)]) {
                let pause = tokio::time::sleep(PAUSE);
                tokio::pin!(pause);
                loop {
                    tokio::select! {
                        next = messages.recv() => match next {
                            Some(next) => {
                                let now = matches!(next, Message::Flush(_)) || batch.len() + 1 >= BATCH;
                                batch.push(next);
                                if now {
                                    break;
                                }
                            }
                            None => break,
                        },
                        () = &mut pause => break,
                    }
                }
            }
            let (mut spans, mut waiting) = (Vec::new(), Vec::new());
            for message in batch {
                match message {
                    Message::Span(span) => spans.push(*span),
                    Message::Flush(done) => waiting.push(done),
                }
            }
            self.send(&spans).await;
            for done in waiting {
                // Whoever asked may have gone on.
                let _ = done.send(());
            }
        }
    }

    async fn send(&mut self, spans: &[Span]) {
        if spans.is_empty() {
            return;
        }
        let problem = match self.post(spans).await {
            Ok(status) if status.is_success() => None,
            Ok(status) => Some(format!("it answers {}", status.as_u16())),
            Err(problem) => Some(problem.to_owned()),
        };
        if problem.is_some() {
            metrics::LOST_SPANS.add(&[], i64::try_from(spans.len()).unwrap_or(i64::MAX));
        }
        // Said once, not with every batch.
        if let Some(problem) = problem.as_ref().filter(|_| !self.failing) {
            tracing::warn!("traces do not reach their collector: {problem}; check telemetry.otlp_endpoint");
        }
        self.failing = problem.is_some();
    }

    async fn post(&self, spans: &[Span]) -> Result<reqwest::StatusCode, &'static str> {
        let client = self.client.as_ref().ok_or("no HTTP client could be made")?;
        let mut request =
            client.post(&self.address).header("content-type", "application/json").body(body(spans));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization.expose());
        }
        request
            .send()
            .await
            .map(|response| response.status())
            .map_err(|error| if error.is_timeout() { "it takes too long" } else { "it cannot be reached" })
    }
}

/// An `ExportTraceServiceRequest`.
fn body(spans: &[Span]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let facts = [
        ("service.name", Fact::Text("mindset-runtime".into())),
        ("service.version", Fact::Text(version.into())),
    ];
    let scope = object! { "name": "mindset-runtime", "version": version };
    let spans: Vec<Object> = spans.iter().map(span).collect();
    let scoped = object! { "scope": scope, "spans": spans };
    let resource =
        object! { "resource": object! { "attributes": attributes(&facts) }, "scopeSpans": vec![scoped] };
    Value::from(object! { "resourceSpans": vec![resource] }).to_string()
}

fn span(span: &Span) -> Object {
    let mut written = object! { "traceId": &span.context.trace, "spanId": &span.context.span };
    written.insert_some("parentSpanId", span.parent.as_deref());
    written.insert("name", span.name.as_str());
    // SPAN_KIND_CLIENT and SPAN_KIND_INTERNAL.
    written.insert("kind", if span.is_client { 3_u64 } else { 1 });
    written.insert("startTimeUnixNano", span.begun.to_string());
    written.insert("endTimeUnixNano", span.ended.max(span.begun).to_string());
    let mut facts = span.facts.clone();
    if let Some(error) = span.error {
        facts.push(("error.type", Fact::Text(error.to_owned())));
        // STATUS_CODE_ERROR.
        written.insert("status", object! { "code": 2_u64 });
    }
    written.insert("attributes", attributes(&facts));
    written
}

fn attributes(facts: &[(&'static str, Fact)]) -> Vec<Object> {
    let value = |fact: &Fact| match fact {
        Fact::Text(text) => object! { "stringValue": text.as_str() },
        // 64-bit numbers are texts in the JSON of protocol buffers.
        Fact::Number(number) => object! { "intValue": number.to_string() },
    };
    facts.iter().map(|(key, fact)| object! { "key": *key, "value": value(fact) }).collect()
}
