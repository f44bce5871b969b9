//! rmcp's HTTP half over our reqwest: the session's headers on every request,
//! addresses as checked, no redirects but the configured ones, bounded answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use mindset_core::json::Value;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};
use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, ErrorData, ProtocolVersion, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::address;
use super::fault::HttpFault;
use super::stream::events;
use super::wire::{self, Expect};
use crate::config::McpServer;

/// The largest answer, and the largest event of a stream, in bytes.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// How much of an answer with an error status is read.
const MAX_ERROR: usize = 256 * 1024;

const MAX_REDIRECTS: usize = 3;

/// How long the question for the new revision may stay unanswered before the older
/// one is tried.
const DISCOVER_PATIENCE: Duration = Duration::from_secs(5);

/// The pause before an interrupted stream is asked for again, so that a server
/// that breaks each time is not asked without end.
const RESUME_PAUSE: Duration = Duration::from_millis(250);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const BOTH_KINDS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

type Fault = StreamableHttpError<HttpFault>;

/// The HTTP half of one connection.
#[derive(Clone)]
pub(super) struct Http(Arc<Inner>);

struct Inner {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    redirects: bool,
    limit: usize,
    patience: Duration,
}

impl Http {
    /// To `server`, with `headers` on every request.
    pub(super) fn new(server: &McpServer, headers: HeaderMap) -> Result<Http, HttpFault> {
        let url = Url::parse(&server.url).map_err(|_| HttpFault::Unreachable)?;
        let client = address::client(server)?;
        let (redirects, limit) = (server.redirects, MAX_ANSWER);
        let patience = DISCOVER_PATIENCE.min(server.connect_timeout / 2);
        Ok(Http(Arc::new(Inner { client, url, headers, redirects, limit, patience })))
    }

    /// Sends a request, and again to where a permitted redirect points.
    async fn send(
        &self,
        method: Method,
        own: &[(HeaderName, HeaderValue)],
        custom: HashMap<HeaderName, HeaderValue>,
        body: Option<&str>,
    ) -> Result<Response, HttpFault> {
        let mut headers: HeaderMap = custom.into_iter().collect();
        headers.extend(own.iter().cloned());
        // Last: nothing may stand in their place.
        for (name, value) in &self.0.headers {
            headers.insert(name, value.clone());
        }
        let mut url = self.0.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.0.client.request(method.clone(), url.clone()).headers(headers.clone());
            if let Some(body) = body {
                request = request.header(CONTENT_TYPE, JSON).body(body.to_owned());
            }
            let response = request.send().await.map_err(|e| HttpFault::of(&e))?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            url = self.target(&response).ok_or(HttpFault::Redirected)?;
        }
        Err(HttpFault::Redirected)
    }

    /// Where a redirect points, if it may be followed: with the same method and
    /// within the configured origin.
    fn target(&self, response: &Response) -> Option<Url> {
        let keeps_method =
            matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        let location = response.headers().get(LOCATION)?.to_str().ok()?;
        let target = self.0.url.join(location).ok()?;
        let may = self.0.redirects && keeps_method && target.origin() == self.0.url.origin();
        may.then_some(target)
    }

    async fn post(
        &self,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpFault> {
        let body = wire::outgoing(&message).ok_or(HttpFault::Unreachable)?;
        let mut own = vec![(ACCEPT, BOTH_KINDS)];
        let in_session = session.is_some();
        own.extend(session_header(session)?);
        let response = self.send(Method::POST, &own, custom, Some(&body)).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && in_session {
            return Err(HttpFault::Gone);
        }
        let (id, call) = (wire::id(&message), wire::call(&message));
        if !status.is_success() {
            return refused(response, &message, id.as_ref(), in_session).await;
        }
        let session = response.headers().get(SESSION).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let expect = Expect::of(&message);
        if kind(&response) == Some("text/event-stream") {
            return Ok(StreamableHttpPostResponse::Sse(
                events(response, expect, (id, call), self.0.limit),
                session,
            ));
        }
        // Nothing is expected after a notification, whatever came.
        let Some(id) = id else { return Ok(StreamableHttpPostResponse::Accepted) };
        if kind(&response) != Some("application/json") {
            return Err(HttpFault::Unreadable);
        }
        let text = read(response, self.0.limit).await?;
        let text = wire::incoming(&text, expect, Some(&id), call).ok_or(HttpFault::Unreadable)?;
        let message = serde_json::from_str(&text).map_err(|_| HttpFault::Unreadable)?;
        Ok(StreamableHttpPostResponse::Json(message, session))
    }
}

impl StreamableHttpClient for Http {
    type Error = HttpFault;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let question = discover(&message);
        let answer = self.post(message, session, custom);
        let Some(question) = question else { return answer.await.map_err(Fault::Client) };
        match tokio::time::timeout(self.0.patience, answer).await {
            Ok(Ok(answer)) if goes_on(&answer) => Ok(answer),
            // Nothing, or that it knows older revisions only, or what a server says that
            // answers everything alike.
            Err(_) | Ok(Ok(_) | Err(HttpFault::Unreadable)) => {
                Ok(StreamableHttpPostResponse::Json(older(question), None))
            }
            Ok(Err(fault)) => Err(Fault::Client(fault)),
        }
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session: Arc<str>,
        _auth: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        let own = session_header(Some(session)).map_err(Fault::Client)?;
        // A server that keeps the session loses it by itself in time.
        self.send(Method::DELETE, own.as_slice(), custom, None).await.map(|_| ()).map_err(Fault::Client)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        let mut own = vec![(ACCEPT, HeaderValue::from_static("text/event-stream"))];
        own.extend(session_header(session).map_err(Fault::Client)?);
        if let Some(last) = last_event {
            tokio::time::sleep(RESUME_PAUSE).await;
            let last = HeaderValue::from_str(&last).map_err(|_| Fault::Client(HttpFault::Unreadable))?;
            own.push((LAST_EVENT, last));
        }
        let response = self.send(Method::GET, &own, custom, None).await.map_err(Fault::Client)?;
        if !response.status().is_success() || kind(&response) != Some("text/event-stream") {
            return Err(Fault::ServerDoesNotSupportSse);
        }
        Ok(events(response, Expect::Any, (None, None), self.0.limit))
    }
}

fn session_header(session: Option<Arc<str>>) -> Result<Option<(HeaderName, HeaderValue)>, HttpFault> {
    let Some(session) = session else { return Ok(None) };
    let value = HeaderValue::from_str(&session).map_err(|_| HttpFault::Unreadable)?;
    Ok(Some((SESSION, value)))
}

/// The id of the question for the new revision, if `message` is that.
fn discover(message: &ClientJsonRpcMessage) -> Option<rmcp::model::RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request)
            if matches!(request.request, rmcp::model::ClientRequest::DiscoverRequest(_)) =>
        {
            Some(request.id.clone())
        }
        _ => None,
    }
}

/// Whether it is an answer to the question for the new revision that rmcp can go on with.
fn goes_on(answer: &StreamableHttpPostResponse) -> bool {
    let new = ProtocolVersion::V_2026_07_28;
    match answer {
        StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Response(response), _) => {
            matches!(&response.result, ServerResult::DiscoverResult(d) if d.supported_versions.contains(&new))
        }
        StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), _) => {
            let known = error.error.data.as_ref().and_then(|d| d.get("supported")?.as_array());
            error.error.code != ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
                || known.is_some_and(|known| known.iter().any(|v| v == new.as_str()))
        }
        StreamableHttpPostResponse::Accepted => false,
        _ => true,
    }
}

/// The answer that says: an older revision.
fn older(question: rmcp::model::RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "older", None), Some(question))
}

/// An answer with an error status: the MCP error in it, or the status. Servers of
/// older revisions refuse the question for the new one in many ways.
async fn refused(
    response: Response,
    message: &ClientJsonRpcMessage,
    id: Option<&Value>,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, HttpFault> {
    let status = response.status();
    let fault = HttpFault::Status(status.as_u16());
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS) {
        return Err(fault);
    }
    let question = discover(message);
    let is_json = kind(&response) == Some("application/json");
    let text = if is_json { read(response, MAX_ERROR).await.unwrap_or_default() } else { String::new() };
    let text = wire::incoming(&text, Expect::of(message), id, None);
    let answer = text.and_then(|text| serde_json::from_str(&text).ok());
    if in_session && status == StatusCode::BAD_REQUEST && answer.as_ref().is_some_and(blames_session) {
        return Err(HttpFault::Gone);
    }
    match (answer, question) {
        (Some(error @ ServerJsonRpcMessage::Error(_)), _) => {
            Ok(StreamableHttpPostResponse::Json(error, None))
        }
        (_, Some(question)) => Ok(StreamableHttpPostResponse::Json(older(question), None)),
        _ => Err(fault),
    }
}

/// Whether an error is about the session. Instead of the 404 that the protocol asks
/// for, some servers, the reference server among them, answer 400 and say so in words.
fn blames_session(answer: &ServerJsonRpcMessage) -> bool {
    match answer {
        ServerJsonRpcMessage::Error(error) => {
            let text = error.error.message.to_ascii_lowercase();
            text.contains("session") && error.error.code != ErrorCode::INVALID_PARAMS
        }
        _ => false,
    }
}

/// The media type of an answer.
fn kind(response: &Response) -> Option<&'static str> {
    let value = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    let bare = value.split(';').next().unwrap_or_default().trim();
    ["application/json", "text/event-stream"].into_iter().find(|kind| bare.eq_ignore_ascii_case(kind))
}

async fn read(mut response: Response, limit: usize) -> Result<String, HttpFault> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|e| HttpFault::of(&e))? {
        if body.len() + bytes.len() > limit {
            return Err(HttpFault::TooLarge);
        }
        body.extend_from_slice(&bytes);
    }
    String::from_utf8(body).map_err(|_| HttpFault::Unreadable)
}
