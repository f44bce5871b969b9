//! The HTTP interface: one file per resource.

mod agents;
mod agentsessions;
mod anonymous;
mod asked;
mod body;
mod conversations;
mod dev;
mod feedback;
mod models;
mod observe;
mod openapi;
mod permissions;
mod rest;
pub(crate) mod runs;
mod sdkusers;
mod signout;
mod surrogates;
mod table;
mod threads;
mod uploads;
mod watch;

use axum::Router;
use axum::extract::{FromRequestParts, MatchedPath, OriginalUri, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use mindset_core::error::ErrorCode;
use mindset_core::json::Value;

use table::ROUTES;

use crate::app::App;
use crate::cors;
use crate::error::{ApiError, ApiResult};

/// Every address of the server.
pub(crate) fn router(app: App) -> Router {
    let routes =
        ROUTES.iter().fold(Router::new(), |router, route| router.route(route.path, (route.answer)()));
    routes
        // Methods that are not there answer like every other error.
        .method_not_allowed_fallback(async |path: MatchedPath, method: Method| {
            let taken: Vec<&str> =
                ROUTES.iter().filter(|r| r.path == path.as_str()).map(|r| r.method).collect();
            ApiError::wrong_method(method.as_str(), &taken)
        })
        .fallback(other)
        .layer(middleware::from_fn_with_state(app.clone(), cors::layer))
        .layer(middleware::from_fn_with_state(app.clone(), watch::layer))
        .layer(middleware::map_request_with_state(app.clone(), rest::read))
        .with_state(app)
}

/// The variable part of an address, decoded.
struct Segment(String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Segment> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| not_utf8())?;
        Ok(Segment(text))
    }
}

/// Both variable parts of an address, decoded.
struct Segments(String, String);

impl<S: Send + Sync> FromRequestParts<S> for Segments {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Segments> {
        let parts = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((first, second)) = parts.map_err(|_| not_utf8())?;
        Ok(Segments(first, second))
    }
}

fn not_utf8() -> ApiError {
    let message = "The address is not UTF-8 once its % signs are decoded. Encode ids as UTF-8.";
    ApiError::new(ErrorCode::InvalidRequest, message).status(StatusCode::BAD_REQUEST)
}

/// The names and values of a query, decoded.
fn query(uri: &Uri) -> Vec<(String, String)> {
    // Only its query is looked at, so any base will do.
    let address = format!("http://localhost/?{}", uri.query().unwrap_or(""));
    let url = reqwest::Url::parse(&address);
    url.map(|url| url.query_pairs().into_owned().collect()).unwrap_or_default()
}

async fn healthz() -> Response {
    json(Value::from(mindset_core::object! { "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// Files, and everything that is nothing.
async fn other(State(app): State<App>, OriginalUri(uri): OriginalUri, request: Request) -> Response {
    let path = uri.path();
    if path.starts_with("/v1") || path.starts_with("/api") {
        return ApiError::unknown_route(path).into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let wrong = ApiError::wrong_method(request.method().as_str(), &["GET"]);
        return ([(header::ALLOW, "GET, HEAD")], wrong).into_response();
    }
    file(&app, &uri, request.headers())
}

fn file(app: &App, uri: &Uri, headers: &HeaderMap) -> Response {
    app.assets().answer(uri.path(), headers)
}

/// The head of an event stream.
const EVENT_STREAM: [(HeaderName, &str); 4] = [
    (header::CONTENT_TYPE, "text/event-stream"),
    (header::CACHE_CONTROL, "no-cache, no-transform"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Reverse proxies of the nginx family would gather events otherwise.
    (HeaderName::from_static("x-accel-buffering"), "no"),
];

/// A JSON answer that no cache keeps.
fn json(value: Value) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, value.to_string()).into_response()
}
