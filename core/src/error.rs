//! Error codes: one table for the SDK, the runtime and the documentation.

use crate::json::{Object, Value};

macro_rules! codes {
    ($( $(#[$doc:meta])* $variant:ident = $text:literal, $status:literal, $retryable:literal; )*) => {
        /// What went wrong, as a stable code that programs can branch on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode { $( $(#[$doc])* $variant, )* }

        impl ErrorCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &[ErrorCode] = &[ $( ErrorCode::$variant, )* ];

            /// The code as it stands in events, exceptions and HTTP bodies.
            pub fn as_str(self) -> &'static str {
                match self { $( ErrorCode::$variant => $text, )* }
            }

            /// The HTTP status the runtime answers with, 0 where the code never
            /// travels over HTTP.
            pub fn http_status(self) -> u16 {
                match self { $( ErrorCode::$variant => $status, )* }
            }

            /// Whether trying the same thing again later can help.
            pub fn retryable(self) -> bool {
                match self { $( ErrorCode::$variant => $retryable, )* }
            }

            /// The code written `text`, if there is one.
            pub fn parse(text: &str) -> Option<ErrorCode> {
                ErrorCode::ALL.iter().copied().find(|code| code.as_str() == text)
            }
        }
    };
}

codes! {
    /// An option, attribute or configuration value cannot be used.
    InvalidConfig = "invalid-config", 0, false;
    /// The request is malformed.
    InvalidRequest = "invalid-request", 422, false;
    /// The credentials are missing or wrong.
    InvalidAuth = "invalid-auth", 401, false;
    /// The token is past its end.
    AuthExpired = "auth-expired", 401, true;
    /// The agent is not open to anonymous users.
    AnonymousDenied = "anonymous-denied", 403, false;
    /// The page's origin is not on the agent's list.
    OriginNotAllowed = "origin-not-allowed", 403, false;
    /// The user may not do this.
    Forbidden = "forbidden", 403, false;
    /// There is no such thing.
    NotFound = "not-found", 404, false;
    /// There is no such agent.
    AgentNotFound = "agent-not-found", 404, false;
    /// There is no such model for the user.
    ModelNotFound = "model-not-found", 404, false;
    /// A turn is running already.
    Busy = "busy", 409, true;
    /// The request contradicts what is stored.
    Conflict = "conflict", 409, false;
    /// It was there once and is no more.
    Gone = "gone", 410, false;
    /// Over a size limit.
    TooLarge = "too-large", 413, false;
    /// Too many requests.
    RateLimited = "rate-limited", 429, true;
    /// The application observes as much as it may already.
    TooManySubscriptions = "too-many-subscriptions", 429, false;
    /// The server failed.
    ServerError = "server-error", 500, true;
    /// The agent's own configuration keeps it from working.
    AgentMisconfigured = "agent-misconfigured", 500, false;
    /// Start-up has failed, so the call cannot be served.
    NotReady = "not-ready", 0, true;
    /// Situational awareness over its limit.
    SituationalAwarenessTooLarge = "situational-awareness-too-large", 413, false;
    /// Pass-through parameters over their limit.
    PassthroughTooLarge = "passthrough-too-large", 413, false;
    /// The server cannot be reached.
    Network = "network", 0, true;
    /// No answer in time.
    Timeout = "timeout", 0, true;
    /// The answer is not what the protocol says.
    Protocol = "protocol", 0, true;
    /// The browser lacks something the element needs.
    UnsupportedBrowser = "unsupported-browser", 0, false;
    /// The WebAssembly module could not be loaded.
    WasmLoad = "wasm-load", 0, true;
    /// A fault of ours.
    Internal = "internal", 500, true;
}

impl ErrorCode {
    /// The code that fits an HTTP status when the body names none.
    pub fn from_status(status: u16) -> ErrorCode {
        match status {
            400 | 422 => ErrorCode::InvalidRequest,
            401 => ErrorCode::InvalidAuth,
            403 => ErrorCode::Forbidden,
            404 => ErrorCode::NotFound,
            408 | 504 => ErrorCode::Timeout,
            409 => ErrorCode::Conflict,
            410 => ErrorCode::Gone,
            413 => ErrorCode::TooLarge,
            429 => ErrorCode::RateLimited,
            500..=599 => ErrorCode::ServerError,
            _ => ErrorCode::Protocol,
        }
    }
}

/// An error as every reader sees it: in `mindset:error`, as a `MindsetError`, in
/// an HTTP body.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorInfo {
    /// The stable code.
    pub code: ErrorCode,
    /// What happened and what to do next, one or two sentences.
    pub message: String,
    /// Whether trying again later can help; the code's own value unless set.
    pub retryable: bool,
    /// Facts that help to find the place. Never a secret.
    pub context: Option<Object>,
}

impl ErrorInfo {
    /// An error with the code's own `retryable` and no context.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> ErrorInfo {
        ErrorInfo { code, message: message.into(), retryable: code.retryable(), context: None }
    }

    /// The same with one more fact.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> ErrorInfo {
        self.context.get_or_insert_with(Object::new).insert(key, value);
        self
    }

    /// `{ code, message, retryable, context? }`.
    pub fn to_json(&self) -> Value {
        let mut o = Object::new();
        o.insert("code", self.code.as_str());
        o.insert("message", self.message.as_str());
        o.insert("retryable", self.retryable);
        if let Some(context) = &self.context {
            o.insert("context", context.clone());
        }
        Value::Object(o)
    }

    /// Reads `{ error: { code, message, retryable?, context? } }` or the inner
    /// object; `None` if the text is neither.
    pub fn from_body(text: &str, status: u16) -> Option<ErrorInfo> {
        let body = crate::json::parse(text).ok()?;
        let error = body.get("error").filter(|e| e.is_object()).unwrap_or(&body);
        let message = error.str("message")?;
        let code =
            error.str("code").and_then(ErrorCode::parse).unwrap_or_else(|| ErrorCode::from_status(status));
        let mut info = ErrorInfo::new(code, message);
        if let Some(retryable) = error.get("retryable").and_then(Value::as_bool) {
            info.retryable = retryable;
        }
        info.context = error.get("context").and_then(Value::as_object).cloned();
        Some(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn every_code_reads_back() {
        for &code in ErrorCode::ALL {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(code));
        }
    }

    #[test]
    fn body_of_a_proxy_is_no_error_of_ours() {
        assert_eq!(ErrorInfo::from_body("<html>", 502), None);
        let info = ErrorInfo::from_body(r#"{"message":"x"}"#, 429);
        assert_eq!(info.map(|i| i.code), Some(ErrorCode::RateLimited));
    }
}
