//! `POST /v1/anonymous`: a token for a visitor whom nobody vouches for.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use mindset_core::error::ErrorCode;
use mindset_core::object;
use mindset_core::time::iso_8601;

use super::{asked, body, json};
use crate::app::App;
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::{client, clock, ids};
use crate::{config, cors};

/// `{ appUid, agentUid, anonymousKey? }` to `{ authToken, expiresAt, anonymousKey }`.
/// A known key brings its user back; an unknown one is answered with a new user
/// and a new key.
pub(super) async fn create(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let request = body::read_object(body, &app.config().server).await?;
    let app_uid = body::text(&request, "appUid", 64)?;
    let agent_uid = body::text(&request, "agentUid", 200)?;
    let given = body::optional_text(&request, "anonymousKey", 200)?;
    let config = app.config().app(app_uid).ok_or_else(|| {
        ApiError::new(
            ErrorCode::NotFound,
            "There is no app with this uid. Compare app-uid with the configuration.",
        )
        .with("appUid", app_uid)
    })?;
    check_agent(config, agent_uid)?;
    check_origin(config, &headers)?;
    // Last: a page that may not ask at all must not use up what others may.
    let address = client::address(peer.ip(), &headers, &app.config().server.trusted_proxies);
    app.limits().address(address)?;
    let known = match given {
        Some(key) => app.store().anonymous_user(app_uid, key).await?.map(|id| (id, key.to_owned())),
        None => None,
    };
    let (id, key) = match known {
        Some(known) => known,
        None => {
            let key = ids::key::<16>();
            (app.store().add_anonymous_user(app_uid, &key).await?, key)
        }
    };
    let user = User { app: app_uid.to_owned(), id, anonymous: true };
    let token = app.tokens().issue(&user, clock::now());
    let answer = object! {
        "authToken": token.text.expose(), "expiresAt": iso_8601(token.expires_at), "anonymousKey": key,
    };
    Ok(json(answer.into()))
}

fn check_agent(app: &config::App, agent_uid: &str) -> ApiResult<()> {
    let plain = agent_uid.split_once("::").map_or(agent_uid, |(agent, _)| agent);
    let agent = app.agent(plain).ok_or_else(|| asked::unknown_agent(agent_uid))?;
    if plain != agent_uid {
        return Err(asked::not_for_anonymous());
    }
    if agent.anonymous { Ok(()) } else { Err(denied()) }
}

/// The agent wants users with a token of the customer's backend.
pub(super) fn denied() -> ApiError {
    ApiError::new(
        ErrorCode::AnonymousDenied,
        "This agent is not open to anonymous users. Give init a fetchAuthentication, or set anonymous for the agent.",
    )
}

fn check_origin(app: &config::App, headers: &HeaderMap) -> ApiResult<()> {
    let Some(origin) = headers.get(header::ORIGIN) else {
        if app.allow_no_origin {
            return Ok(());
        }
        let message = "The request has no Origin header. Set allow_no_origin for the app to let scripts in.";
        return Err(ApiError::new(ErrorCode::OriginNotAllowed, message));
    };
    let origin = origin.to_str().unwrap_or("");
    if app.allows(origin) { Ok(()) } else { Err(cors::not_allowed(origin)) }
}
