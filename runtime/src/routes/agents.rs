//! `GET /v1/agents`: whom a user can talk to, and what a chat needs to know of one before the first
//! message.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use mindset_core::json::Object;
use mindset_core::object;

use super::{Segment, asked, json};
use crate::app::App;
use crate::auth::User;
use crate::clock;
use crate::config::{self, Agent};
use crate::error::ApiResult;

/// `{ agents: [{ agentUid, name?, description?, default? }] }`: those that the user may talk to.
pub(super) async fn list(State(app): State<App>, headers: HeaderMap) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    app.permissions().check_either(&user)?;
    let config = asked::config(&app, &user)?;
    let usual = default(config, &user).map(|agent| agent.uid.as_str());
    let shown = |agent: &Agent| {
        let mut shown = object! { "agentUid": &agent.uid, "name": &agent.name };
        shown.insert_some("description", agent.description.as_deref());
        if usual == Some(&agent.uid) {
            shown.insert("default", true);
        }
        shown
    };
    let agents: Vec<Object> = open_to(config, &user).map(shown).collect();
    Ok(json(object! { "agents": agents }.into()))
}

/// The agents that the user may talk to.
pub(super) fn open_to<'a>(app: &'a config::App, user: &User) -> impl Iterator<Item = &'a Agent> {
    let anonymous = user.anonymous;
    app.agents.iter().filter(move |agent| agent.anonymous || !anonymous)
}

/// The agent of those who name none: the app's `default_agent`, else the first; `None`: it is not
/// open to the user.
pub(super) fn default<'a>(app: &'a config::App, user: &User) -> Option<&'a Agent> {
    let mut open = open_to(app, user);
    match &app.default_agent {
        Some(uid) => open.find(|agent| agent.uid == *uid),
        None => open.next(),
    }
}

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
