//! An observer, as tests use one.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use mindset_core::json::{self, Value};
use mindset_core::sse;

use super::support::Server;

/// An observer, and what it has heard and nobody has asked for.
pub(crate) struct Watch {
    response: reqwest::Response,
    decoder: sse::Decoder,
}

impl Watch {
    pub(crate) async fn open(server: &Server, token: &str, query: &str) -> Watch {
        let response = server.request("GET", &format!("/v1/observe?{query}")).bearer(token).open().await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Watch { response, decoder: sse::Decoder::new(1 << 20) }
    }

    /// The next event and its name; `None`: the stream is over.
    pub(crate) async fn frame(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(frame) = self.decoder.next_frame().unwrap() {
                return Some((frame.event, json::parse(&frame.data).unwrap()));
            }
            let chunk = tokio::time::timeout(Duration::from_secs(30), self.response.chunk()).await;
            self.decoder.push(&chunk.expect("nothing is heard").unwrap()?);
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        let (name, event) = self.frame().await.expect("it is over");
        assert_eq!(name, "message", "{event}");
        event
    }

    /// What is heard up to the end of a turn, in short, and its text.
    pub(crate) async fn turn(&mut self) -> (Vec<String>, String) {
        let mut heard = Vec::new();
        loop {
            let event = self.next().await;
            heard.push(short(&event));
            if event.str("type") == Some("turn.finished") {
                return (heard, event.str("text").unwrap_or("").to_owned());
            }
        }
    }

    /// Why it is over; nothing else is heard before.
    pub(crate) async fn end(mut self) -> String {
        let (name, event) = self.frame().await.expect("it breaks off");
        assert_eq!(name, "end", "{event}");
        assert!(self.frame().await.is_none());
        event.str("reason").unwrap().to_owned()
    }
}

pub(crate) fn short(event: &Value) -> String {
    let kind = event.str("type").unwrap();
    let what = ["model", "status", "toolName"].iter().find_map(|key| event.str(key)).unwrap_or("");
    format!("{} {} {kind} {what}", event.str("sessionId").unwrap(), event.str("turnId").unwrap())
        .trim()
        .to_owned()
}
