//! `GET /v1/dev/conversations/{id}`: with `--dev`, what models and tools were told.

use axum::extract::{OriginalUri, State};
use axum::http::HeaderMap;
use axum::response::Response;
use mindset_core::object;

use super::{Segment, conversations, json};
use crate::app::App;
use crate::clock;
use crate::error::{ApiError, ApiResult};

/// `{ entries }` of the user's own conversation, oldest first.
pub(super) async fn read(
    State(app): State<App>,
    OriginalUri(uri): OriginalUri,
    Segment(id): Segment,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let recorder = app.runs().recorder().ok_or_else(|| ApiError::unknown_route(uri.path()))?;
    let user = app.tokens().bearer(&headers, clock::now())?;
    let row = app.store().conversation(&user, &id).await?.ok_or_else(conversations::unknown)?;
    Ok(json(object! { "entries": recorder.entries(row.key) }.into()))
}
