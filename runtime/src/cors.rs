//! Which pages may read our answers. No cookies and no credentials mode: tokens
//! are sent by hand, so an origin is either let in by name or not at all.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use mindset_core::error::ErrorCode;

use crate::app::App;
use crate::error::ApiError;

/// Answers preflights of `/v1` and marks its answers for pages that are let in. A
/// preflight carries no token, so an origin passes if any app knows it.
pub(crate) async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if !path.starts_with("/v1/") {
        return next.run(request).await;
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    // The anonymous call checks the origin itself, and its refusal should reach
    // the page's developer as a sentence, not as a failed fetch.
    let open = path == "/v1/anonymous";
    let allowed = origin
        .as_ref()
        .is_some_and(|o| open || o.to_str().is_ok_and(|o| app.config().apps.iter().any(|a| a.allows(o))));
    let preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if !preflight {
        next.run(request).await
    } else if allowed {
        let mut response = StatusCode::NO_CONTENT.into_response();
        preflight_headers(response.headers_mut());
        response
    } else {
        ApiError::new(
            ErrorCode::OriginNotAllowed,
            "No app lets pages of this origin in. Add it to origins in the configuration.",
        )
        .into_response()
    };
    response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin.filter(|_| allowed) {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    response
}

fn preflight_headers(headers: &mut HeaderMap) {
    let fixed: [(HeaderName, &str); 3] = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, accept, last-event-id"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
