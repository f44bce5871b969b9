//! Request bodies: size, UTF-8, JSON, each refused with a sentence.

use axum::body::Body;
use axum::http::StatusCode;
use futures_util::StreamExt;
use mindset_core::error::ErrorCode;
use mindset_core::json::{self, Object, Value};

use crate::config::Server;
use crate::error::{ApiError, ApiResult};

/// How much of a body that is too large is read and thrown away, so that the
/// answer reaches a client that only listens after sending.
const DISCARD: usize = 64 * 1024 * 1024;

/// Reads a JSON body within the size and the time of the configuration.
pub(super) async fn read(body: Body, server: &Server) -> ApiResult<Value> {
    parse(&read_text(body, server).await?)
}

/// The same, not yet parsed.
pub(super) async fn read_text(body: Body, server: &Server) -> ApiResult<String> {
    let limit = usize::try_from(server.max_body).unwrap_or(usize::MAX);
    match tokio::time::timeout(server.request_timeout, read_all(body, limit)).await {
        Ok(read) => read,
        Err(_) => {
            let message = "The body took too long to arrive. Send the request again.";
            Err(ApiError::new(ErrorCode::Timeout, message).status(StatusCode::REQUEST_TIMEOUT))
        }
    }
}

async fn read_all(body: Body, limit: usize) -> ApiResult<String> {
    let mut bytes = Vec::new();
    let mut discarded = 0;
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| invalid("The body broke off. Send the request again.".into()))?;
        if discarded == 0 && bytes.len() + chunk.len() <= limit {
            bytes.extend_from_slice(&chunk);
            continue;
        }
        discarded += chunk.len();
        if discarded > DISCARD {
            break;
        }
    }
    if discarded > 0 {
        let message = format!("The body is larger than {limit} bytes. Send less.");
        return Err(ApiError::new(ErrorCode::TooLarge, message).with("limit", limit as u64));
    }
    String::from_utf8(bytes).map_err(|_| invalid("The body is not UTF-8. Send JSON.".into()))
}

/// The JSON value that a body is.
pub(super) fn parse(text: &str) -> ApiResult<Value> {
    json::parse(text).map_err(|e| {
        invalid(format!("The body is not JSON: {e}."))
            .with("line", e.line as u64)
            .with("column", e.column as u64)
    })
}

/// The same for a body that must be an object.
pub(super) async fn read_object(body: Body, server: &Server) -> ApiResult<Object> {
    object(read(body, server).await?)
}

/// A body that must be an object.
pub(super) fn object(value: Value) -> ApiResult<Object> {
    match value {
        Value::Object(object) => Ok(object),
        other => Err(field(&format!("The body must be a JSON object, not {}.", other.kind()))),
    }
}

/// A member that must be a text of 1 to `limit` characters.
pub(super) fn text<'o>(object: &'o Object, key: &str, limit: usize) -> ApiResult<&'o str> {
    optional_text(object, key, limit)?
        .ok_or_else(|| field(&format!("`{key}` is missing. It must be a text.")))
}

/// The same for one that may be missing or `null`.
pub(super) fn optional_text<'o>(object: &'o Object, key: &str, limit: usize) -> ApiResult<Option<&'o str>> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() || text.chars().count() > limit => {
            Err(field(&format!("`{key}` must have 1 to {limit} characters.")))
        }
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(field(&format!("`{key}` must be a text, not {}.", other.kind()))),
    }
}

/// A member that names one of the customer's users.
pub(super) fn external_id<'o>(object: &'o Object, key: &str) -> ApiResult<&'o str> {
    let id = text(object, key, 100)?;
    if !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
        return Err(field(&format!("`{key}` may hold A-Z, a-z, 0-9, _ and - only.")));
    }
    Ok(id)
}

/// A member that is a list of at most `most` texts, if it is there.
pub(super) fn texts(object: &Object, key: &str, most: usize) -> ApiResult<Option<Vec<String>>> {
    let items = match object.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(field(&format!("`{key}` must be a list, not {}.", other.kind()))),
    };
    if items.len() > most {
        return Err(field(&format!("`{key}` has {} entries, the limit is {most}. Send fewer.", items.len())));
    }
    let text = |(i, item): (usize, &Value)| {
        let problem = || field(&format!("`{key}[{i}]` must be a text, not {}.", item.kind()));
        item.as_str().map(str::to_owned).ok_or_else(problem)
    };
    items.iter().enumerate().map(text).collect::<ApiResult<Vec<_>>>().map(Some)
}

/// Whether the application itself asks, by its agent API.
pub(super) fn agent_session(given: Option<&Value>) -> ApiResult<bool> {
    match given {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(agent)) => Ok(*agent),
        Some(other) => Err(field(&format!("`agentSession` must be true or false, not {}.", other.kind()))),
    }
}

/// A body that is JSON but not what is expected.
pub(super) fn field(problem: &str) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, problem)
}

fn invalid(problem: String) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, problem).status(StatusCode::BAD_REQUEST)
}
