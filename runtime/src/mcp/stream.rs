//! A server's event stream: its messages as rmcp can take them, each bounded.

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use mindset_core::json::Value;
use mindset_core::sse;
use reqwest::Response;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;

use super::fault::HttpFault;
use super::wire::{self, Expect};

/// The messages of a stream.
pub(super) fn events(
    response: Response,
    expect: Expect,
    (id, call): (Option<Value>, Option<u64>),
    limit: usize,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let reading = Reading { response, decoder: sse::Decoder::new(limit), expect, id, call, over: false };
    stream::unfold(reading, |mut reading| async move {
        loop {
            if reading.over {
                return None;
            }
            if let Some(message) = reading.next_message() {
                return Some((message, reading));
            }
            match reading.response.chunk().await {
                Ok(Some(bytes)) => reading.decoder.push(&bytes),
                Ok(None) => return None,
                Err(_) => {
                    reading.over = true;
                    return Some((Err(SseError::Body(Box::new(HttpFault::Broken))), reading));
                }
            }
        }
    })
    .boxed()
}

struct Reading {
    response: Response,
    decoder: sse::Decoder,
    expect: Expect,
    id: Option<Value>,
    /// The number of the call that it answers.
    call: Option<u64>,
    over: bool,
}

impl Reading {
    /// The next message in the bytes that are there.
    fn next_message(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            let frame = match self.decoder.next_frame() {
                Ok(frame) => frame?,
                Err(_) => {
                    self.over = true;
                    let fault = || SseError::Body(Box::new(HttpFault::TooLarge));
                    let told = self.id.as_ref().map(|id| Sse::default().data(wire::too_large(id)));
                    return Some(told.ok_or_else(fault));
                }
            };
            let id = (!frame.id.is_empty()).then_some(frame.id);
            let data = match frame.event.as_str() {
                "" | "message" => wire::incoming(&frame.data, self.expect, None, self.call),
                _ => None,
            };
            if id.is_some() || data.is_some() {
                return Some(Ok(Sse { event: None, data, id, retry: self.decoder.retry() }));
            }
        }
    }
}
