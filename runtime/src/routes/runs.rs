//! `POST /v1/agents/{agentUid}/runs`, the events of a run, and what can be said to one under
//! way.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mindset_core::agui::{DecodeError, RunAgentInput, decode_input};
use mindset_core::error::ErrorCode;
use mindset_core::json::Value;
use mindset_core::object;
use mindset_core::passthrough::Passthrough;
use mindset_core::queue::WhenBusy;

use super::asked::{self, Asked};
use super::{EVENT_STREAM, Segment, body, conversations, json, models, surrogates};
use crate::app::App;
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::mcp::Caller;
use crate::permissions::Permission;
use crate::run::{Attached, Handed, Order, Reader};
use crate::{clock, ids};

/// Starts a run and streams its events; the same id and body finds the same run. With `Accept:
/// application/json` only `{ runId, state, position }`.
pub(super) async fn create(
    State(app): State<App>,
    Segment(agent_uid): Segment,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let text = body::read_text(body, &app.config().server).await?;
    let posted = body::parse(&text)?;
    let handed = app.runs().background(&user, posted.str("threadId").unwrap_or("")).await?;
    let asked = match &handed {
        Some(_) => asked::handed(&app, &user, &agent_uid)?,
        None => asked::find(&app, &user, &agent_uid).await?,
    };
    let input = decode_input(&posted).map_err(|error| {
        let why = match error {
            DecodeError::Malformed(text) => text,
            other => other.to_string(),
        };
        body::field(&format!("The body is no run input. {}.", why.trim_end_matches('.')))
    })?;
    surrogates::refuse_halves(&text, &["forwardedProps", "mindset", "passthroughParams"])?;
    let body_hash = body_hash(&agent_uid, &posted);
    let mut order = order(&app, (user, agent_uid), (asked, handed), (input, body_hash), &headers).await?;
    // It takes no message of anybody.
    order.handed = order.handed.take().filter(|_| order.continues());
    let (user, run_id) = (order.user.clone(), order.input.run_id.clone());
    let run = app.runs().start(order).await?;
    if !run.kept {
        return Err(gone(&app, &user, &run).await?);
    }
    if wants_json(&headers) {
        let place = app.runs().place(&user, &run.conversation, &run_id);
        let position = place.map_or(0, |follow_up| follow_up.position as u64);
        let body = object! { "runId": run_id, "state": run.status().as_str(), "position": position };
        return Ok((StatusCode::ACCEPTED, json(body.into())).into_response());
    }
    Ok(stream(&app, &run, 0))
}

/// What is ordered: a run of the user with whom they ask.
async fn order(
    app: &App,
    (user, agent_uid): (User, String),
    (Asked { agent, session }, handed): (Asked<'_>, Option<Handed>),
    (input, body_hash): (RunAgentInput, String),
    headers: &HeaderMap,
) -> ApiResult<Order> {
    let choice = models::choose(app, &user, agent, &input).await?;
    let (model, watch) = asked::watched(choice.model, agent, &input.thread_id, headers);
    let (agent_call, when_busy) = (body::agent_session(input.mindset("agentSession"))?, when_busy(&input)?);
    if agent_call {
        app.permissions().check(&user, Permission::Run)?;
    }
    let mut scope = asked::scope(app, &user, agent, session).await?;
    if let Some(handed) = &handed {
        // Its tools work for whom those above work, as when it began.
        let Asked { agent: above, session } = asked::find(app, &user, &handed.agent).await?;
        let caller = asked::scope(app, &user, above, session).await?.caller;
        scope.caller = Caller { session: agent.uid.clone(), ..caller };
    }
    Ok(Order {
        agent_call: agent_call || handed.as_ref().is_some_and(|handed| handed.agent_call),
        when_busy,
        handed,
        scope,
        agent: agent.clone(),
        body_hash,
        agent_uid,
        user,
        model,
        model_id: choice.id,
        model_chosen: choice.chosen,
        watch,
        input,
    })
}

/// The order of a run that the runtime itself begins, with whom the conversation is with.
///
/// # Errors
/// It cannot be.
pub(crate) async fn own_order(
    app: &App,
    user: User,
    agent_uid: String,
    input: RunAgentInput,
) -> ApiResult<Order> {
    let handed = app.runs().background(&user, &input.thread_id).await?;
    let asked = match &handed {
        Some(_) => asked::handed(app, &user, &agent_uid)?,
        None => asked::find(app, &user, &agent_uid).await?,
    };
    // The id is fresh, so nobody can post the same order again.
    let body_hash = ids::hash(input.run_id.as_bytes());
    order(app, (user, agent_uid), (asked, handed), (input, body_hash), &HeaderMap::new()).await
}

/// Somebody is there who can answer what the run asks.
pub(super) async fn seen(
    State(app): State<App>,
    Segment(run_id): Segment,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let run = app.store().run(&user, &run_id).await?.ok_or_else(unknown)?;
    app.runs().hear(run.conversation_key);
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// What the run wants if its conversation is busy.
fn when_busy(input: &RunAgentInput) -> ApiResult<Option<WhenBusy>> {
    let wish = match input.mindset("whenBusy") {
        None | Some(Value::Null) => return Ok(None),
        Some(wish) => wish.as_str().and_then(WhenBusy::parse),
    };
    let problem = || body::field("forwardedProps.mindset.whenBusy must be \"queue\" or \"steer\".");
    wish.map(Some).ok_or_else(problem)
}

/// The events of a run after `Last-Event-ID`, and then those to come. 204: there are none and
/// none will come; 410: they are not kept any more, and the conversation says how it stands.
pub(super) async fn events(
    State(app): State<App>,
    Segment(run_id): Segment,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let run = app.runs().attach_soon(&user, &run_id).await?.ok_or_else(unknown)?;
    app.runs().hear(run.conversation_key);
    if !run.kept {
        return Err(gone(&app, &user, &run).await?);
    }
    let after = position(&headers, &run_id, run.log.last());
    if after == run.log.last() && after > 0 && run.log.state().is_some() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(stream(&app, &run, after))
}

/// There is no such run, or it is another user's.
fn unknown() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "There is no run with this id. It may never have started.")
}

/// The events are gone; the stored conversation says what came of them.
async fn gone(app: &App, user: &User, run: &Attached) -> ApiResult<ApiError> {
    let message = "This run has ended and its events are gone. Read the conversation instead.";
    let row = app.store().conversation(user, &run.conversation).await?.ok_or_else(unknown)?;
    Ok(ApiError::new(ErrorCode::Gone, message)
        .with("state", run.status().as_str())
        .with("conversationId", run.conversation.as_str())
        .conversation(conversations::whole(app, user, &row, None).await?))
}

/// The event after which a reader goes on, of `last`; 0 if what it names is none of this run.
fn position(headers: &HeaderMap, run_id: &str, last: u64) -> u64 {
    let id = headers.get("last-event-id").and_then(|id| std::str::from_utf8(id.as_bytes()).ok());
    let number = id.and_then(|id| id.trim().strip_prefix(run_id)?.strip_prefix(':'));
    // `+7` is a number to Rust, but no number of an event.
    let number = number.filter(|n| n.bytes().all(|b| b.is_ascii_digit())).and_then(|n| n.parse().ok());
    number.filter(|n| (1..=last).contains(n)).unwrap_or(0)
}

/// Whether the caller wants to hear only that the run is there.
fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("");
    accept.contains("application/json") && !accept.contains("text/event-stream")
}

fn stream(app: &App, run: &Attached, after: u64) -> Response {
    let store = Arc::clone(app.store().log());
    let events = Reader::new(store, Arc::clone(&run.log), after, app.config().server.heartbeat);
    (EVENT_STREAM, Body::from_stream(events)).into_response()
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

/// `{ text }`: a run that waits says something else when its turn comes.
pub(super) async fn edit(
    State(app): State<App>,
    Segment(run_id): Segment,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let request = body::read_object(body, &app.config().server).await?;
    let text = match request.get("text") {
        Some(Value::String(text)) => text,
        None => return Err(body::field("`text` is missing. It must be a text.")),
        Some(other) => return Err(body::field(&format!("`text` must be a text, not {}.", other.kind()))),
    };
    let follow_up = app.runs().edit(&user, &run_id, text).await?;
    Ok(json(conversations::follow_up(&follow_up).into()))
}

/// A run that waits gives up its place.
pub(super) async fn remove(
    State(app): State<App>,
    Segment(run_id): Segment,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    app.runs().remove(&user, &run_id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
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
        if !props.is_empty() {
            counted.insert("mindset", props);
        }
    }
    ids::hash(counted.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;
    use mindset_core::json;

    #[test]
    fn positions() {
        for (id, at) in [
            ("r:1", 1),
            ("r:7", 7),
            (" r:7 ", 7),
            ("r:8", 0),
            ("r:0", 0),
            ("r:+7", 0),
            ("r:-1", 0),
            ("r:", 0),
            ("r:99999999999999999999", 0),
            ("q:7", 0),
            ("r", 0),
            ("rr:7", 0),
            ("", 0),
        ] {
            let headers =
                HeaderMap::from_iter([(HeaderName::from_static("last-event-id"), id.parse().unwrap())]);
            assert_eq!(position(&headers, "r", 7), at, "{id}");
        }
        assert_eq!(position(&HeaderMap::new(), "r", 7), 0);
    }

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
