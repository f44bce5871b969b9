//! `GET /v1/agents/{agentUid}`: what a chat needs to know of its agent before the first message.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use mindset_core::object;

use super::{Segment, asked, json};
use crate::app::App;
use crate::clock;
use crate::error::ApiResult;

/// `{ icebreaker?, starters }`.
pub(super) async fn read(
    State(app): State<App>,
    Segment(uid): Segment,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let agent = asked::find(&app, &user, &uid).await?.agent;
    let starters: Vec<&str> = agent.starters.iter().map(String::as_str).collect();
    let mut answer = object! { "starters": starters };
    answer.insert_some("icebreaker", agent.icebreaker.as_deref());
    Ok(json(answer.into()))
}
