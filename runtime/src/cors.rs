//! Which pages may read our answers. No cookies and no credentials mode: tokens
//! are sent by hand, so an origin is either let in by name or not at all. Who may ask is also
//! asked here whether they ask too often, so that a page can read the refusal.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use mindset_core::error::ErrorCode;

use crate::app::App;
use crate::auth::User;
use crate::clock;
use crate::error::ApiError;

/// Answers preflights of `/v1`, keeps out pages that the token's app does not let
/// in, and marks the answers for those it does. Without an `Origin` header nothing
/// is checked: servers and scripts send none.
pub(crate) async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if !path.starts_with("/v1/") {
        return next.run(request).await;
    }
    // The anonymous call checks the origin itself, and its refusal should reach
    // the page's developer as a sentence, not as a failed fetch.
    let open = path == "/v1/anonymous";
    let origin = request.headers().get(header::ORIGIN).cloned();
    let preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let text = origin.as_ref().map(|o| o.to_str().unwrap_or(""));
    let user = app.tokens().bearer(request.headers(), clock::now()).ok();
    let allowed = text.is_some_and(|o| open || allows(&app, user.as_ref(), o));
    let mut response = if preflight && allowed {
        let mut response = StatusCode::NO_CONTENT.into_response();
        preflight_headers(response.headers_mut());
        response
    } else if preflight || (origin.is_some() && !allowed) {
        not_allowed(text.unwrap_or("")).into_response()
    } else {
        match user.map_or(Ok(()), |user| app.limits().user(&user)) {
            Ok(()) => next.run(request).await,
            Err(limited) => limited.into_response(),
        }
    };
    response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin.filter(|_| allowed) {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let readable = HeaderValue::from_static("retry-after, x-request-id");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, readable);
    }
    response
}

/// Whether the app of the request's token lets the page in. A preflight carries no
/// token, and one that is not good gets an error that the page has to read: then
/// any app counts.
fn allows(app: &App, user: Option<&User>, origin: &str) -> bool {
    match user {
        Some(user) => app.config().app(&user.app).is_some_and(|a| a.allows(origin)),
        None => app.config().apps.iter().any(|a| a.allows(origin)),
    }
}

/// The page may not use the app.
pub(crate) fn not_allowed(origin: &str) -> ApiError {
    let message = if origin == "null" {
        "The page has no origin, as pages opened as a file do. Serve it over HTTP."
    } else {
        "Pages of this origin may not use the app. Add it to origins in the configuration."
    };
    let origin: String = origin.chars().take(200).collect();
    ApiError::new(ErrorCode::OriginNotAllowed, message).with("origin", origin)
}

fn preflight_headers(headers: &mut HeaderMap) {
    let fixed: [(HeaderName, &str); 3] = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, accept, last-event-id, traceparent, tracestate",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
