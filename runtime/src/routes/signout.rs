//! `POST /v1/signout`: the tokens that a user has got so far are good no more.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::clock;
use crate::error::ApiResult;

/// Revokes them, the one of this request too. What runs goes on, what is observed ends, and new tokens can be got.
pub(super) async fn create(State(app): State<App>, headers: HeaderMap) -> ApiResult<Response> {
    let now = clock::now();
    let user = app.tokens().bearer(&headers, now)?;
    let from = app.tokens().revoke(&user, now);
    app.store().revoke_tokens(&user, from).await?;
    app.runs().observers().signed_out(&user);
    Ok(StatusCode::NO_CONTENT.into_response())
}
