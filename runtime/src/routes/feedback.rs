//! `/v1/messages/{id}/feedback`: what the user thinks of an answer.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use mindset_core::error::ErrorCode;
use mindset_core::event::Feedback;
use mindset_core::json::{Object, Value};
use mindset_core::limits::COMMENT;

use super::{Segment, body};
use crate::app::App;
use crate::clock;
use crate::error::{ApiError, ApiResult};

/// `{ rating: 'up' | 'down' | null, comment? }`; it takes the place of what was thought before,
/// and `null` takes that back.
pub(super) async fn put(
    State(app): State<App>,
    Segment(id): Segment,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let request = body::read_object(body, &app.config().server).await?;
    let feedback = read(&request)?;
    if app.store().keep_feedback(&user, &id, feedback.as_ref()).await? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Err(ApiError::new(ErrorCode::NotFound, "There is no answer with this id. Name one of a conversation."))
}

fn read(request: &Object) -> ApiResult<Option<Feedback>> {
    let is_good = match request.get("rating") {
        Some(Value::Null) => None,
        Some(Value::String(word)) if word == "up" => Some(true),
        Some(Value::String(word)) if word == "down" => Some(false),
        _ => return Err(body::field("`rating` must be \"up\", \"down\" or null.")),
    };
    let comment = body::optional_text(request, "comment", COMMENT)?;
    Ok(is_good.map(|is_good| Feedback { is_good, comment: comment.map(str::to_owned) }))
}
