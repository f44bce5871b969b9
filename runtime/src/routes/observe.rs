//! `GET /v1/observe`: what happens in the user's conversations, for the application.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};

use super::{EVENT_STREAM, body, conversations, query};
use crate::app::App;
use crate::auth::User;
use crate::clock;
use crate::error::ApiResult;
use crate::permissions::Permission;
use crate::run::{Observed, Observer};
use crate::store::Owner;

/// `?all=true`, or `?sessionId=`: events of the agent API, until the client goes.
pub(super) async fn read(State(app): State<App>, headers: HeaderMap, uri: Uri) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let query = query(&uri);
    let named = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let observed = match (named("all"), named("sessionId")) {
        (Some("true"), None) => {
            app.permissions().check(&user, Permission::Read)?;
            Observed::All
        }
        (None, Some(id)) => session(&app, &user, id).await?,
        _ => return Err(body::field("`all` must be true, or `sessionId` the id of a conversation.")),
    };
    let seat = app.runs().observers().seat(&user)?;
    let observer = Observer::new(app.runs(), seat, observed, app.config().server.heartbeat)?;
    Ok((EVENT_STREAM, Body::from_stream(observer)).into_response())
}

async fn session(app: &App, user: &User, id: &str) -> ApiResult<Observed> {
    app.permissions().check_either(user)?;
    let row = app.store().conversation(user, id).await?.filter(|row| row.owner != Owner::Child);
    let row = row.ok_or_else(conversations::unknown)?;
    Ok(Observed::Session { id: row.id, own: row.owner == Owner::Application })
}
