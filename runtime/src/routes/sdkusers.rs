//! `POST /api/v1/appuid/{appUid}/sdkusers/auth`: a token for a user of the
//! customer, asked for by the customer's backend.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use mindset_core::object;
use mindset_core::time::iso_8601;

use super::{Segment, body, json};
use crate::app::App;
use crate::auth::User;
use crate::clock;
use crate::error::ApiResult;

/// `{ externalId, name? }` to `{ authToken, expiresAt }`; the user is found or
/// created.
pub(super) async fn auth(
    State(app): State<App>,
    Segment(app_uid): Segment,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    app.backend(&app_uid, &headers)?;
    let request = body::read_object(body, &app.config().server).await?;
    let external_id = body::external_id(&request, "externalId")?;
    let name = body::optional_text(&request, "name", 200)?;
    let id = app.store().user_by_external_id(&app_uid, external_id, name).await?;
    let token = app.tokens().issue(&User { app: app_uid, id, anonymous: false }, clock::now());
    let answer = object! { "authToken": token.text.expose(), "expiresAt": iso_8601(token.expires_at) };
    Ok(json(answer.into()))
}
