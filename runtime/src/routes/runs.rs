//! `POST /v1/agents/{agentUid}/runs`, and what can be said to a run under way.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mindset_core::agui::{DecodeError, decode_input};
use mindset_core::error::ErrorCode;
use mindset_core::json::Value;
use mindset_core::object;
use mindset_core::passthrough::Passthrough;

use super::asked::{self, Asked};
use super::{Segment, body, json, surrogates};
use crate::app::App;
use crate::error::ApiResult;
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
    let text = body::read_text(body, &app.config().server).await?;
    let posted = body::parse(&text)?;
    let Asked { agent, session } = asked::find(&app, &user, &agent_uid).await?;
    let input = decode_input(&posted).map_err(|error| {
        let why = match error {
            DecodeError::Malformed(text) => text,
            other => other.to_string(),
        };
        body::field(&format!("The body is no run input. {}.", why.trim_end_matches('.')))
    })?;
    surrogates::refuse_halves(&text, &["forwardedProps", "mindset", "passthroughParams"])?;
    let model = asked::model(&app, agent)?;
    let order = Order {
        scope: asked::scope(&app, &user, agent, session).await?,
        agent: agent.clone(),
        body_hash: body_hash(&agent_uid, &posted),
        agent_uid,
        user,
        model,
        input,
    };
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

/// `{ passthroughParams }`: what a running run injects from its next tool call on.
pub(super) async fn passthrough(
    State(app): State<App>,
    Segment(run_id): Segment,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let text = body::read_text(body, &app.config().server).await?;
    let request = body::object(body::parse(&text)?)?;
    surrogates::refuse_halves(&text, &["passthroughParams"])?;
    let values = match request.get("passthroughParams") {
        Some(Value::Object(values)) => values.clone(),
        None => return Err(body::field("`passthroughParams` is missing. It must be an object.")),
        Some(other) => {
            return Err(body::field(&format!(
                "`passthroughParams` must be an object, not {}.",
                other.kind()
            )));
        }
    };
    let values = Passthrough::new(values).map_err(|mut refused| {
        // A name is refused as part of a request here, not as a setting of a page.
        if refused.code == ErrorCode::InvalidConfig {
            refused.code = ErrorCode::InvalidRequest;
        }
        refused
    })?;
    app.runs().set_passthrough(&user, &run_id, values)?;
    Ok(StatusCode::NO_CONTENT.into_response())
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
