//! Traces of runs, for a collector that speaks OTLP over HTTP. The few spans there are follow the
//! GenAI conventions; `otlp` writes and sends them.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use tokio::sync::mpsc;

use super::metrics;
use super::otlp::Sender;
use crate::config::Telemetry;
use crate::ids;

/// Spans that wait to be sent; what comes beyond is lost.
const WAITING: usize = 4096;

static SPANS: OnceLock<mpsc::Sender<Message>> = OnceLock::new();

/// What the sender gets.
#[derive(Debug)]
pub(super) enum Message {
    /// A span that has ended.
    Span(Box<Span>),
    /// Send what there is, and say so.
    Flush(tokio::sync::oneshot::Sender<()>),
}

/// Sends traces from now on, if the configuration says where to.
pub(crate) fn start(config: Option<&Telemetry>) {
    let Some(config) = config else { return };
    let (sender, receiver) = mpsc::channel(WAITING);
    if SPANS.set(sender).is_ok() {
        tokio::spawn(Sender::new(config).run(receiver));
    }
}

/// Waits until what has ended is sent.
pub(crate) async fn flush() {
    let Some(spans) = SPANS.get() else { return };
    let (done, sent) = tokio::sync::oneshot::channel();
    if spans.send(Message::Flush(done)).await.is_ok() {
        // A sender that is gone has nothing left to send.
        let _ = sent.await;
    }
}

/// Where a span stands: its trace, and its own id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Context {
    /// 32 hexadecimal digits.
    pub(super) trace: String,
    /// 16 hexadecimal digits.
    pub(super) span: String,
    sampled: bool,
}

impl Context {
    /// The caller's, from the `traceparent` header of W3C Trace Context.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Context> {
        let text = headers.get("traceparent")?.to_str().ok()?;
        let parts: Vec<&str> = text.split('-').collect();
        let [version, trace, span, flags, ..] = parts.as_slice() else { return None };
        let hex = |text: &str, len: usize| {
            text.len() == len && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        let is_one = hex(version, 2) && hex(trace, 32) && hex(span, 16) && hex(flags, 2);
        let is_set = trace.bytes().any(|b| b != b'0') && span.bytes().any(|b| b != b'0');
        let known = *version != "ff" && (*version != "00" || parts.len() == 4);
        let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        let context = || Context { trace: (*trace).to_owned(), span: (*span).to_owned(), sampled };
        (is_one && is_set && known).then(context)
    }
}

/// What a span says about itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fact {
    Text(String),
    Number(u64),
}

/// A span.
#[derive(Debug)]
pub(crate) struct Span {
    pub(super) context: Context,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    /// Whether it is a call of another server.
    pub(super) is_client: bool,
    pub(super) begun: u128,
    pub(super) ended: u128,
    pub(super) facts: Vec<(&'static str, Fact)>,
    /// A word for what went wrong.
    pub(super) error: Option<&'static str>,
}

impl Span {
    /// A span below `parent`, or of a trace of its own. `None`: nobody wants to know.
    pub(super) fn begin(parent: Option<&Context>, name: String) -> Option<Span> {
        if SPANS.get().is_none() || parent.is_some_and(|parent| !parent.sampled) {
            return None;
        }
        let hex = |len: usize| ids::uuid().replace('-', "").chars().take(len).collect::<String>();
        let trace = parent.map_or_else(|| hex(32), |parent| parent.trace.clone());
        let (context, parent) =
            (Context { trace, span: hex(16), sampled: true }, parent.map(|p| p.span.clone()));
        let (begun, facts) = (nanos(), Vec::new());
        Some(Span { context, parent, name, is_client: false, begun, ended: 0, facts, error: None })
    }

    pub(super) fn text(&mut self, key: &'static str, value: &str) {
        self.facts.push((key, Fact::Text(value.to_owned())));
    }

    pub(super) fn number(&mut self, key: &'static str, value: u64) {
        self.facts.push((key, Fact::Number(value)));
    }

    /// It has ended.
    pub(super) fn end(mut self) {
        self.ended = nanos();
        let sent = SPANS.get().is_some_and(|spans| spans.try_send(Message::Span(Box::new(self))).is_ok());
        if !sent {
            metrics::LOST_SPANS.add(&[], 1);
        }
    }
}

fn nanos() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_a_trace_context() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", text.parse().unwrap());
            Context::of(&headers)
        };
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let good = of(&format!("00-{trace}-{span}-01")).unwrap();
        assert_eq!((good.trace.as_str(), good.span.as_str(), good.sampled), (trace, span, true));
        assert!(!of(&format!("00-{trace}-{span}-00")).unwrap().sampled);
        assert!(of(&format!("01-{trace}-{span}-01-later")).is_some());
        for bad in [
            String::new(),
            "00".into(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-x"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}x-{span}-01"),
        ] {
            assert_eq!(of(&bad), None, "{bad}");
        }
    }
}
