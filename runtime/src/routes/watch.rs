//! Around every request: its id, its log lines, its place in the metrics.

use std::net::SocketAddr;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;
use mindset_core::error::ErrorCode;
use tracing::Instrument;

use super::table::ROUTES;
use crate::app::App;
use crate::ids;
use crate::observe::metrics::{self, Open};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives the request an id, which is in its log lines and its answer, and counts it.
pub(super) async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = given(&app, &request).unwrap_or_else(ids::key::<9>);
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "other".to_owned());
    let method = ROUTES.iter().map(|r| r.method).find(|m| *m == request.method().as_str()).unwrap_or("other");
    let span = tracing::error_span!("request", id);
    let mut response = next.run(request).instrument(span.clone()).await;
    let (status, taken) = (response.status(), begun.elapsed());
    metrics::HTTP_SECONDS.observe(&[method, &route, status.as_str()], taken);
    if let Some(code) = response.extensions().get::<ErrorCode>() {
        metrics::REJECTED.add(&[code.as_str()], 1);
    }
    let duration = u64::try_from(taken.as_millis()).unwrap_or(u64::MAX);
    span.in_scope(|| tracing::debug!(method, route, status = status.as_u16(), duration, "answered"));
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    if response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream") {
        return counted(response);
    }
    response
}

/// The id that a proxy of ours has given.
fn given(app: &App, request: &Request) -> Option<String> {
    let id = request.headers().get(REQUEST_ID)?.to_str().ok()?;
    let ConnectInfo(peer) = request.extensions().get::<ConnectInfo<SocketAddr>>()?;
    let trusted = app.config().server.trusted_proxies.iter().any(|network| network.contains(peer.ip()));
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
    (trusted && (1..=64).contains(&id.len()) && id.bytes().all(plain)).then(|| id.to_owned())
}

/// The stream is open until nobody holds it any more.
fn counted(response: Response) -> Response {
    let open = Open::one(&metrics::STREAMS);
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |bytes| {
            let _ = &open;
            bytes
        }))
    })
}
