//! Whom a caller asks: `agentUid`, or `agentUid::sessionUid` for what the customer's
//! backend has settled.

use std::sync::Arc;

use axum::http::HeaderMap;
use mindset_core::error::ErrorCode;

use super::{anonymous, body};
use crate::app::App;
use crate::auth::User;
use crate::config::{self, Agent};
use crate::error::{ApiError, ApiResult};
use crate::mcp::Caller;
use crate::model::Model;
use crate::observe::RunWatch;
use crate::observe::trace::Context;
use crate::store::AgentSession;
use crate::tools::Scope;

/// The agent, and the session it is asked in.
pub(super) struct Asked<'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: Option<AgentSession>,
}

/// Finds whom `uid` names, if the user may talk to them. The session of another user,
/// or of another agent, answers like one that is not there.
///
/// # Errors
/// It is not there, or not for them.
pub(super) async fn find<'a>(app: &'a App, user: &User, uid: &str) -> ApiResult<Asked<'a>> {
    let config = config(app, user)?;
    let (plain, session_uid) = match uid.split_once("::") {
        Some((plain, session)) => (plain, Some(session)),
        None => (uid, None),
    };
    let agent = config.agent(plain).ok_or_else(|| unknown_agent(uid))?;
    match session_uid {
        Some(_) if user.anonymous => Err(not_for_anonymous()),
        None if user.anonymous && !agent.anonymous => Err(anonymous::denied()),
        None => Ok(Asked { agent, session: None }),
        Some(session_uid) => {
            let found = app.store().agent_session(&user.app, session_uid).await?;
            let own = found.filter(|s| s.user == user.id && s.agent == plain);
            Ok(Asked { agent, session: Some(own.ok_or_else(|| unknown_session(session_uid))?) })
        }
    }
}

/// The agent that goes on with work which was handed to it; the user need not be allowed to talk to it.
///
/// # Errors
/// The app has none with this uid.
pub(super) fn handed<'a>(app: &'a App, user: &User, uid: &str) -> ApiResult<Asked<'a>> {
    let agent = config(app, user)?.agent(uid).ok_or_else(|| unknown_agent(uid))?;
    Ok(Asked { agent, session: None })
}

/// The user's app.
///
/// # Errors
/// It is no longer configured.
pub(super) fn config<'a>(app: &'a App, user: &User) -> ApiResult<&'a config::App> {
    app.config().app(&user.app).ok_or_else(|| {
        ApiError::new(
            ErrorCode::InvalidAuth,
            "The token is for an app that is no longer configured. Get a new one.",
        )
    })
}

/// Whether it is the application that asks, by its agent API: `?agentSession=true`.
///
/// # Errors
/// It is neither `true` nor `false`.
pub(super) fn by_application(query: &[(String, String)]) -> ApiResult<bool> {
    match query.iter().find(|(name, _)| name == "agentSession").map(|(_, value)| value.as_str()) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(body::field("`agentSession` must be true or false.")),
    }
}

/// A run's model, and who watches the run that it answers in.
pub(super) fn watched(
    model: Arc<dyn Model>,
    agent: &Agent,
    conversation: &str,
    headers: &HeaderMap,
) -> (Arc<dyn Model>, Arc<RunWatch>) {
    let watch = RunWatch::new(&agent.uid, conversation, model.as_ref(), Context::of(headers));
    (watch.model(model), watch)
}

/// For whom the tools of a run work: what the session names and the agent still has.
///
/// # Errors
/// The database failed.
pub(super) async fn scope(
    app: &App,
    user: &User,
    agent: &Agent,
    session: Option<AgentSession>,
) -> ApiResult<Scope> {
    let limited = |chosen: Option<Vec<String>>, own: &[String]| match chosen {
        Some(mut chosen) => {
            chosen.retain(|uid| own.contains(uid));
            chosen
        }
        None => own.to_vec(),
    };
    let caller = Caller {
        session: agent.uid.clone(),
        user: user.id.clone(),
        app: user.app.clone(),
        human: user.id.clone(),
        tags: Vec::new(),
    };
    let mut scope =
        Scope { caller, contexts: agent.contexts.clone(), mcp_servers: agent.mcp_servers.clone() };
    match session {
        Some(session) => {
            scope.caller.session = format!("{}::{}", agent.uid, session.uid);
            scope.caller.user = session.external_id;
            scope.caller.tags = session.tags;
            scope.contexts = limited(session.contexts, &agent.contexts);
            scope.mcp_servers = limited(session.mcpservers, &agent.mcp_servers);
        }
        None => {
            if let Some(external_id) = app.store().external_id(user).await? {
                scope.caller.user = external_id;
            }
        }
    }
    Ok(scope)
}

/// The app has no such agent.
pub(super) fn unknown_agent(uid: &str) -> ApiError {
    let uid: String = uid.chars().take(200).collect();
    let message = "The app has no agent with this uid. Compare agent-uid with the configuration.";
    ApiError::new(ErrorCode::AgentNotFound, message).with("agentUid", uid)
}

fn unknown_session(uid: &str) -> ApiError {
    let uid: String = uid.chars().take(200).collect();
    let message = "The user has no agent session with this uid; it may have been deleted. Make a new one, or \
                   use the plain agent uid.";
    ApiError::new(ErrorCode::AgentNotFound, message).with("session", uid)
}

/// Nobody has settled anything for a visitor without a name.
pub(super) fn not_for_anonymous() -> ApiError {
    let message = "Agent sessions are for users with a token of your backend. Give init a \
                   fetchAuthentication, or use the plain agent uid.";
    ApiError::new(ErrorCode::AnonymousDenied, message)
}
