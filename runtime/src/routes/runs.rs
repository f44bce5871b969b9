//! `POST /v1/agents/{agentUid}/runs` and `POST /v1/runs/{runId}/cancel`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use mindset_core::agui::{DecodeError, decode_input};
use mindset_core::error::ErrorCode;
use mindset_core::json::Value;
use mindset_core::object;

use super::{Segment, anonymous, body, json};
use crate::app::App;
use crate::auth::User;
use crate::config::Agent;
use crate::error::{ApiError, ApiResult};
use crate::run::Order;
use crate::{clock, ids};

/// Starts a run and streams its events; the same id and body finds the same run.
pub(super) async fn create(
    State(app): State<App>,
    Segment(agent_uid): Segment,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let posted = body::read(body, &app.config().server).await?;
    let agent = agent(&app, &user, &agent_uid)?;
    let input = decode_input(&posted).map_err(|error| {
        let why = match error {
            DecodeError::Malformed(text) => text,
            other => other.to_string(),
        };
        body::field(&format!("The body is no run input. {}.", why.trim_end_matches('.')))
    })?;
    let model = app.models().get(&agent.model).ok_or_else(|| {
        ApiError::new(
            ErrorCode::AgentMisconfigured,
            "The agent's model is not configured. The operator has to add it.",
        )
    })?;
    let order = Order { agent: agent.clone(), user, model, input, body_hash: body_hash(&agent.uid, &posted) };
    let run = app.runs().start(order).await?;
    let events = Arc::clone(&run).read(app.config().server.heartbeat);
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Reverse proxies of the nginx family would gather events otherwise.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(events)).into_response())
}

/// Stops a run; `{ state }` says how it stands.
pub(super) async fn cancel(
    State(app): State<App>,
    Segment(run_id): Segment,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let status = app.runs().cancel(user, run_id).await?;
    Ok(json(object! { "state": status.as_str() }.into()))
}

/// The agent, if the user may talk to it.
///
/// # Errors
/// It is not there, or not for them.
pub(super) fn agent<'a>(app: &'a App, user: &User, uid: &str) -> ApiResult<&'a Agent> {
    let config = app.config().app(&user.app).ok_or_else(|| {
        ApiError::new(
            ErrorCode::InvalidAuth,
            "The token is for an app that is no longer configured. Get a new one.",
        )
    })?;
    if let Some((_, session)) = uid.split_once("::") {
        let session: String = session.chars().take(200).collect();
        let message = "There is no agent session with this uid. Use the plain agent uid.";
        return Err(ApiError::new(ErrorCode::AgentNotFound, message).with("session", session));
    }
    let agent = config.agent(uid).ok_or_else(|| unknown_agent(uid))?;
    if user.anonymous && !agent.anonymous {
        return Err(anonymous::denied());
    }
    Ok(agent)
}

/// The app has no such agent.
pub(super) fn unknown_agent(uid: &str) -> ApiError {
    let uid: String = uid.chars().take(200).collect();
    let message = "The app has no agent with this uid. Compare agent-uid with the configuration.";
    ApiError::new(ErrorCode::AgentNotFound, message).with("agentUid", uid)
}

/// What makes two posts of one `runId` the same order: the agent, messages, resume, and our
/// own props without what changes from page to page.
fn body_hash(agent: &str, posted: &Value) -> String {
    let mut counted = object! { "agent": agent };
    counted.insert_some("messages", posted.get("messages").cloned());
    counted.insert_some("resume", posted.get("resume").cloned());
    let props = posted.get("forwardedProps").and_then(|p| p.get("mindset")).and_then(Value::as_object);
    if let Some(mut props) = props.cloned() {
        props.remove("passthroughParams");
        props.remove("clientId");
        counted.insert("mindset", props);
    }
    ids::hash(counted.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindset_core::json;

    #[test]
    fn what_counts_as_the_same_body() {
        let hash = |text: &str| body_hash("demo", &json::parse(text).unwrap());
        let first = hash(
            r#"{"messages":[{"id":"1"}],"forwardedProps":{"mindset":{"clientId":"a","inputType":"HUMAN"}}}"#,
        );
        let again = r#"{"context":[1],"tools":[2],"messages":[{"id":"1"}],
            "forwardedProps":{"mindset":{"inputType":"HUMAN","clientId":"b","passthroughParams":{"x":1}},"other":3}}"#;
        assert_eq!(hash(again), first);
        assert_ne!(
            hash(r#"{"messages":[{"id":"2"}],"forwardedProps":{"mindset":{"inputType":"HUMAN"}}}"#),
            first
        );
    }
}
