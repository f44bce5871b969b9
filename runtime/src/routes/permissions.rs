//! `/v1/me/permissions`: what the user lets the application do.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use mindset_core::json::{Object, Value};
use mindset_core::object;

use super::{body, json};
use crate::app::App;
use crate::auth::User;
use crate::clock;
use crate::error::ApiResult;
use crate::store::Switches;

/// `{ run, read, declared: { run, read } }`.
pub(super) async fn read(State(app): State<App>, headers: HeaderMap) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    Ok(json(answer(&app, &user).into()))
}

/// `{ run, read }`, at once: with running off what the application runs is stopped, with reading
/// off what it observes ends.
pub(super) async fn put(State(app): State<App>, headers: HeaderMap, body: Body) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let request = body::read_object(body, &app.config().server).await?;
    let switch = |key: &str| match request.get(key) {
        Some(Value::Bool(on)) => Ok(*on),
        _ => Err(body::field(&format!("`{key}` must be true or false."))),
    };
    let switches = Switches { run: switch("run")?, read: switch("read")? };
    app.permissions().set(&user, switches).await?;
    app.runs().observers().switched(&user);
    if !switches.run {
        app.runs().end_agent_calls(&user).await?;
    }
    Ok(json(answer(&app, &user).into()))
}

fn answer(app: &App, user: &User) -> Object {
    let (now, declared) = (app.permissions().switches(user), app.permissions().declared(user));
    object! {
        "run": now.run, "read": now.read,
        "declared": object! { "run": declared.run, "read": declared.read },
    }
}
