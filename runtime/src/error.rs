//! Every HTTP error body is made here: `{ "error": { code, message, retryable,
//! context? }, conversation? }` with the codes of `mindset_core::error`.

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::json::Object;
use mindset_core::object;

use crate::store::StoreError;

/// An answer that says what went wrong and what to do next.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    info: ErrorInfo,
    /// How the conversation stands of which something is gone.
    conversation: Option<Object>,
    /// Seconds after which it is worth another try.
    retry_after: Option<u64>,
}

/// What a handler gives back.
pub(crate) type ApiResult<T = Response> = Result<T, ApiError>;

impl ApiError {
    /// An error with the code's own status.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> ApiError {
        ApiError::from(ErrorInfo::new(code, message))
    }

    /// The same with another status.
    #[must_use]
    pub(crate) fn status(mut self, status: StatusCode) -> ApiError {
        self.status = status;
        self
    }

    /// The same with a `Retry-After`, rounded up to whole seconds.
    #[must_use]
    pub(crate) fn retry_after(mut self, wait: Duration) -> ApiError {
        self.retry_after = Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        self
    }

    /// The same with one more fact. Never a secret.
    #[must_use]
    pub(crate) fn with(mut self, key: &str, value: impl Into<mindset_core::json::Value>) -> ApiError {
        self.info = self.info.with(key, value);
        self
    }

    /// The same with how the conversation stands, beside the error.
    #[must_use]
    pub(crate) fn conversation(mut self, conversation: Object) -> ApiError {
        self.conversation = Some(conversation);
        self
    }

    /// What went wrong.
    pub(crate) fn info(&self) -> &ErrorInfo {
        &self.info
    }

    /// Nothing has this address.
    pub(crate) fn unknown_route(path: &str) -> ApiError {
        let path: String = path.chars().take(200).collect();
        ApiError::new(
            ErrorCode::NotFound,
            "Nothing has this address. Compare it with the HTTP API in the documentation.",
        )
        .with("path", path)
    }

    /// The address exists, the method does not; `taken` are those that do.
    pub(crate) fn wrong_method(method: &str, taken: &[&str]) -> ApiError {
        let method: String = method.chars().take(20).collect();
        let message = format!("This address does not take {method}. Use {}.", taken.join(" or "));
        ApiError::new(ErrorCode::InvalidRequest, message).status(StatusCode::METHOD_NOT_ALLOWED)
    }
}

impl From<ErrorInfo> for ApiError {
    fn from(info: ErrorInfo) -> ApiError {
        let status =
            StatusCode::from_u16(info.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        ApiError { status, info, conversation: None, retry_after: None }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        tracing::error!(%error, "the database failed");
        ApiError::new(
            ErrorCode::ServerError,
            "The server could not reach its database. Try again in a moment.",
        )
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut body = object! { "error": self.info.to_json() };
        body.insert_some("conversation", self.conversation);
        let code = self.info.code;
        let headers = [
            (header::CONTENT_TYPE, "application/json"),
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        let mut response = (self.status, headers, body.to_string()).into_response();
        // For the metrics.
        response.extensions_mut().insert(code);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_never_travel_become_500() {
        let error = ApiError::new(ErrorCode::Network, "x");
        assert_eq!(error.into_response().status(), 500);
        assert_eq!(ApiError::wrong_method("PUT", &["GET"]).into_response().status(), 405);
    }
}
