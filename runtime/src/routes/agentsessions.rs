//! `/api/v1/appuid/{appUid}/agentsessions`: what a customer's backend settles for
//! one user and agent before they talk.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use mindset_core::error::ErrorCode;
use mindset_core::json::{Object, Value};
use mindset_core::object;
use mindset_core::time::iso_8601;

use super::{Segment, Segments, asked, body, json, query};
use crate::app::App;
use crate::config::{self, Agent};
use crate::error::{ApiError, ApiResult};
use crate::ids;
use crate::store::AgentSession;

/// Characters of a tag.
const TAG: usize = 60;

/// `{ agentUid, externalUserId, tags?, contextUids?, mcpserverUids? }` to the session.
pub(super) async fn create(
    State(app): State<App>,
    Segment(app_uid): Segment,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let config = app.backend(&app_uid, &headers)?;
    let request = body::read_object(body, &app.config().server).await?;
    let agent_uid = body::text(&request, "agentUid", 200)?;
    let agent = config.agent(agent_uid).ok_or_else(|| asked::unknown_agent(agent_uid))?;
    let external_id = body::external_id(&request, "externalUserId")?.to_owned();
    let tags = body::texts(&request, "tags", 10)?.unwrap_or_default();
    for (i, tag) in tags.iter().enumerate() {
        if tag.is_empty() || tag.chars().count() > TAG {
            return Err(body::field(&format!("`tags[{i}]` must have 1 to {TAG} characters.")));
        }
    }
    let contexts = uids(&request, ("contextUids", 30), &agent.contexts)?;
    let mcpservers = uids(&request, ("mcpserverUids", 5), &agent.mcp_servers)?;
    let user = app.store().user_by_external_id(&app_uid, &external_id, None).await?;
    let mut session = AgentSession {
        uid: ids::uuid(),
        agent: agent.uid.clone(),
        user,
        external_id,
        tags,
        contexts,
        mcpservers,
        created_at: 0,
    };
    app.store().add_agent_session(&app_uid, &mut session).await?;
    Ok((StatusCode::CREATED, json(shown(&session, config).into())).into_response())
}

/// The sessions, the latest first: `?externalUserId=` those of one user, `?next=` the
/// page that an earlier answer named.
pub(super) async fn list(
    State(app): State<App>,
    Segment(app_uid): Segment,
    headers: HeaderMap,
    uri: Uri,
) -> ApiResult<Response> {
    let config = app.backend(&app_uid, &headers)?;
    let query = query(&uri);
    let named = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let before = named("next").map(str::parse::<i64>).transpose().map_err(|_| {
        body::field("`next` is not one that this list has given. Leave it out to begin again.")
    })?;
    let (sessions, next) = app.store().agent_sessions(&app_uid, named("externalUserId"), before).await?;
    let list: Vec<Object> = sessions.iter().map(|session| shown(session, config)).collect();
    let mut answer = object! { "agentSessions": list };
    answer.insert_some("next", next.map(|key| key.to_string()));
    Ok(json(answer.into()))
}

/// One session.
pub(super) async fn read(
    State(app): State<App>,
    Segments(app_uid, uid): Segments,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let config = app.backend(&app_uid, &headers)?;
    let session = app.store().agent_session(&app_uid, &uid).await?.ok_or_else(unknown)?;
    Ok(json(shown(&session, config).into()))
}

/// Ends a session: nothing new starts in it. What runs goes on.
pub(super) async fn delete(
    State(app): State<App>,
    Segments(app_uid, uid): Segments,
    headers: HeaderMap,
) -> ApiResult<Response> {
    app.backend(&app_uid, &headers)?;
    if !app.store().delete_agent_session(&app_uid, &uid).await? {
        return Err(unknown());
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "There is no agent session with this uid. It may have been deleted.")
}

/// A list of uids that are all among the agent's own; `None` if the request has none.
fn uids(request: &Object, (key, most): (&str, usize), own: &[String]) -> ApiResult<Option<Vec<String>>> {
    let Some(given) = body::texts(request, key, most)? else { return Ok(None) };
    for (i, uid) in given.iter().enumerate() {
        if !own.contains(uid) {
            let known = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
            let message = format!("`{key}[{i}]` is not one of the agent's. The agent has: {known}.");
            return Err(body::field(&message));
        }
        if given.iter().take(i).any(|earlier| earlier == uid) {
            return Err(body::field(&format!("`{key}[{i}]` is there twice. Name each uid once.")));
        }
    }
    Ok(Some(given))
}

fn shown(session: &AgentSession, app: &config::App) -> Object {
    let agent = app.agent(&session.agent);
    let or_own = |chosen: &Option<Vec<String>>, own: fn(&Agent) -> &[String]| {
        let own = || agent.map(|a| own(a).to_vec()).unwrap_or_default();
        chosen.clone().unwrap_or_else(own)
    };
    let list = |texts: Vec<String>| texts.into_iter().map(Value::from).collect::<Vec<_>>();
    object! {
        "uid": &session.uid, "agentSessionUid": format!("{}::{}", session.agent, session.uid),
        "agentUid": &session.agent, "externalUserId": &session.external_id,
        "tags": list(session.tags.clone()),
        "contextUids": list(or_own(&session.contexts, |a| &a.contexts)),
        "mcpserverUids": list(or_own(&session.mcpservers, |a| &a.mcp_servers)),
        "createdAt": iso_8601(session.created_at),
    }
}
