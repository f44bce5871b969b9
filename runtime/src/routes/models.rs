//! `GET /v1/models`, and which of them a run is answered by.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use mindset_core::agui::RunAgentInput;
use mindset_core::error::ErrorCode;
use mindset_core::json::{Object, Value};
use mindset_core::object;

use super::{agents, asked, body, json};
use crate::app::App;
use crate::auth::User;
use crate::clock;
use crate::config::Agent;
use crate::error::{ApiError, ApiResult};
use crate::model::Model;
use crate::store::ConversationRow;

/// The model that answers a run.
pub(super) struct Choice {
    /// What clients call it.
    pub(super) id: String,
    /// The run itself names it.
    pub(super) chosen: bool,
    /// The model.
    pub(super) model: Arc<dyn Model>,
}

/// `{ models: [{ id, name?, default? }] }`: those that a run of the user may name.
pub(super) async fn list(State(app): State<App>, headers: HeaderMap) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    app.permissions().check_either(&user)?;
    let config = asked::config(&app, &user)?;
    let usual = agents::default(config, &user).map(|agent| agent.model.as_str());
    let shown = |id: &str| {
        let mut model = object! { "id": id };
        model.insert_some("name", app.models().title(id));
        if usual == Some(id) {
            model.insert("default", true);
        }
        model
    };
    let models: Vec<Object> = offered(&app, &user).into_iter().map(shown).collect();
    Ok(json(object! { "models": models }.into()))
}

/// The models of the agents that the user may talk to, and those that the app offers besides.
fn offered<'a>(app: &'a App, user: &User) -> Vec<&'a str> {
    let Ok(config) = asked::config(app, user) else { return Vec::new() };
    let own = agents::open_to(config, user).map(|agent| agent.model.as_str());
    let mut offered = Vec::new();
    for id in own.chain(config.models.iter().map(String::as_str)) {
        if !offered.contains(&id) {
            offered.push(id);
        }
    }
    offered
}

/// The model that answers a run: the one that it names, else the one that was chosen last in its
/// conversation, else the agent's own.
///
/// # Errors
/// The user has no such model, it is not configured, or the database failed.
pub(super) async fn choose(
    app: &App,
    user: &User,
    agent: &Agent,
    input: &RunAgentInput,
) -> ApiResult<Choice> {
    let named = match input.mindset("model") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.as_str()),
        Some(other) => {
            let problem = format!("forwardedProps.mindset.model must be a text, not {}.", other.kind());
            return Err(body::field(&problem));
        }
    };
    let id = match named {
        Some(id) if offered(app, user).contains(&id) => id.to_owned(),
        Some(id) => return Err(unknown(id)),
        None => match app.store().conversation(user, &input.thread_id).await? {
            Some(row) => of(app, user, &row, agent).await?,
            None => agent.model.clone(),
        },
    };
    let model = app.models().get(&id).ok_or_else(|| {
        ApiError::new(
            ErrorCode::AgentMisconfigured,
            "The agent's model is not configured. The operator has to add it.",
        )
    })?;
    Ok(Choice { id, chosen: named.is_some(), model })
}

/// The model of a conversation, as clients call it: the one that was chosen last in it, as long as
/// it is offered.
///
/// # Errors
/// The database failed.
pub(super) async fn of(app: &App, user: &User, row: &ConversationRow, agent: &Agent) -> ApiResult<String> {
    let chosen = app.store().chosen_model(row.key).await?;
    let chosen = chosen.filter(|id| offered(app, user).contains(&id.as_str()));
    Ok(chosen.unwrap_or_else(|| agent.model.clone()))
}

fn unknown(id: &str) -> ApiError {
    let id: String = id.chars().take(200).collect();
    let message = "There is no model with this id for the user. Take one of GET /v1/models, or leave it out.";
    ApiError::new(ErrorCode::ModelNotFound, message).with("model", id)
}
