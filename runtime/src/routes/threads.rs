//! `POST /api/v1/appuid/{appUid}/threads`: the customer's backend begins a conversation for a
//! user who will come later.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use mindset_core::agui::decode_input;
use mindset_core::error::ErrorCode;
use mindset_core::json::{Object, Value};
use mindset_core::{limits, object};

use super::asked::{self, Asked};
use super::{Segment, body, json, models};
use crate::app::App;
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::ids;
use crate::run::Order;

/// `{ agentUid, externalUserId, message, messageType? }` to `{ conversationId, runId, state }`:
/// the agent answers the message, and the user finds both.
pub(super) async fn create(
    State(app): State<App>,
    Segment(app_uid): Segment,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    app.backend(&app_uid, &headers)?;
    let request = body::read_object(body, &app.config().server).await?;
    let agent_uid = body::text(&request, "agentUid", 200)?.to_owned();
    let external_id = body::external_id(&request, "externalUserId")?;
    let (conversation, run_id) = (ids::uuid(), ids::uuid());
    let posted = input(&request, &conversation, &run_id)?;
    let input = decode_input(&posted)
        .map_err(|_| ApiError::new(ErrorCode::Internal, "The message could not be read. Try again."))?;
    let id = app.store().user_by_external_id(&app_uid, external_id, None).await?;
    let user = User { app: app_uid, id, anonymous: false };
    let Asked { agent, session } = asked::find(&app, &user, &agent_uid).await?;
    let choice = models::choose(&app, &user, agent, &input).await?;
    let (model, watch) = asked::watched(choice.model, agent, &conversation, &headers);
    let scope = asked::scope(&app, &user, agent, session).await?;
    // The id is fresh, so nobody can post the same order again.
    let body_hash = ids::hash(posted.to_string().as_bytes());
    let agent = agent.clone();
    app.runs()
        .start(Order {
            user,
            agent,
            agent_uid,
            scope,
            model,
            model_id: choice.id,
            model_chosen: choice.chosen,
            watch,
            agent_call: false,
            when_busy: None,
            handed: None,
            input,
            body_hash,
        })
        .await?;
    let answer = object! { "conversationId": conversation, "runId": run_id, "state": "running" };
    Ok((StatusCode::CREATED, json(answer.into())).into_response())
}

/// The run input that the user's page would have posted.
fn input(request: &Object, conversation: &str, run_id: &str) -> ApiResult<Value> {
    let message = body::text(request, "message", limits::MESSAGE)?;
    let kind = body::optional_text(request, "messageType", 20)?.unwrap_or("HUMAN");
    if !matches!(kind, "HUMAN" | "PSEUDO_HUMAN") {
        return Err(body::field(
            "`messageType` must be HUMAN, or PSEUDO_HUMAN for a message that is not shown.",
        ));
    }
    let message = object! { "id": ids::uuid(), "role": "user", "content": message };
    let empty = || Value::Array(Vec::new());
    Ok(object! {
        "threadId": conversation, "runId": run_id, "state": Object::new(), "messages": vec![message],
        "tools": empty(), "context": empty(),
        "forwardedProps": object! { "mindset": object! { "inputType": kind } },
    }
    .into())
}
