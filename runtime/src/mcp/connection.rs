//! One MCP connection: the handshake, the list of tools, calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_channel::mpsc;
use mindset_core::json::{self, Object, Value};
use reqwest::header::HeaderMap;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ClientRequest, CustomRequest,
    CustomResult, ElicitationCapability, ErrorCode, Implementation, ListToolsRequest, PaginatedRequestParams,
    ProtocolVersion, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, RequestContext, RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};

use super::fault::{HttpFault, RequestFault};
use super::form::Retry;
use super::headers::Mask;
use super::http::Http;
use super::live::{Open, Question};
use super::tools::{Offered, offered};
use super::wire::{self, BESIDE, CALL, TOO_LARGE};
use crate::config::McpServer;

/// How long a list is good for when the server does not say so. One that knows
/// sessions also tells when it changes.
const LIST_KEEP: Duration = Duration::from_secs(60);

/// Most pages of one list.
const MAX_PAGES: usize = 64;

/// With more listed tools, offered or not, no further page is read.
const MAX_LISTED: usize = 4096;

/// How long a server may take to hear that the session is over.
const CLOSE_PATIENCE: Duration = Duration::from_millis(800);

/// One caller's connection to one server.
pub(super) struct Connection {
    service: RunningService<RoleClient, Handler>,
    /// The server has said that its tools are others now.
    changed: Arc<AtomicBool>,
    /// It has answered a request after the handshake.
    answered: AtomicBool,
    listed: tokio::sync::Mutex<Option<Listed>>,
    /// The calls that run.
    open: Arc<Open>,
}

struct Listed {
    offered: Offered,
    until: Instant,
}

impl Connection {
    /// Connects and agrees on a revision: the new one, else 2025-11-25.
    pub(super) async fn open(server: &McpServer, headers: HeaderMap) -> Result<Connection, RequestFault> {
        let http = Http::new(server, headers)?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str())
            // Not left to rmcp, which would hold every call until the slowest has ended.
            .reinit_on_expired_session(false)
            .max_concurrent_requests(64);
        let mut retries = ExponentialBackoff::default();
        retries.max_times = Some(3);
        config.retry_config = Arc::new(retries);
        let transport = StreamableHttpClientTransport::with_client(http, config);
        let changed = Arc::new(AtomicBool::new(false));
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let open = Arc::new(Open::default());
        let handler = Handler { changed: Arc::clone(&changed), open: Arc::clone(&open) };
        let opening = handler.serve_with_lifecycle(transport, lifecycle);
        let service = match tokio::time::timeout(server.connect_timeout, opening).await {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => return Err(not_opened(&error)),
            Err(_) => return Err(RequestFault::NotRun("the server does not answer".into())),
        };
        let (answered, listed) = (AtomicBool::new(false), tokio::sync::Mutex::new(None));
        Ok(Connection { service, changed, answered, listed, open })
    }

    /// Whether requests can be sent.
    pub(super) fn is_open(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// Whether the server has answered anything after the handshake.
    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// The tools, from memory while they are fresh.
    pub(super) async fn tools(&self, server: &McpServer, mask: &Mask) -> Result<Offered, RequestFault> {
        let mut listed = self.listed.lock().await;
        let changed = self.changed.swap(false, Ordering::Relaxed);
        if let Some(known) = listed.as_ref().filter(|known| !changed && Instant::now() < known.until) {
            return Ok(known.offered.clone());
        }
        *listed = None;
        let pages = self.pages();
        let (texts, unread, keep) = match tokio::time::timeout(server.timeout, pages).await {
            Ok(pages) => pages?,
            Err(_) => return Err(RequestFault::Unknown("the server does not answer".into())),
        };
        let offered = Offered { unread, ..offered(server, &texts, mask) };
        *listed = Some(Listed { offered: offered.clone(), until: Instant::now() + keep });
        Ok(offered)
    }

    /// The texts of all listed tools, whether there are more, and how long they are good for.
    async fn pages(&self) -> Result<(Vec<String>, bool, Duration), RequestFault> {
        let (mut texts, mut keep, mut cursor, mut unread) = (Vec::new(), LIST_KEEP, None, false);
        for _ in 0..MAX_PAGES {
            let params = Some(PaginatedRequestParams::default().with_cursor(cursor.clone()));
            let request = ListToolsRequest { params, ..Default::default() };
            let answer = self.service.peer().send_request(ClientRequest::ListToolsRequest(request)).await;
            let page = match self.answer(answer) {
                Ok(ServerResult::ListToolsResult(page)) => page,
                Ok(_) => return Err(HttpFault::Unreadable.into()),
                // A server without tools may not know the request.
                Err(RequestFault::Reported(code, _)) if code == i64::from(ErrorCode::METHOD_NOT_FOUND.0) => {
                    unread = false;
                    break;
                }
                Err(fault) => return Err(fault),
            };
            let text =
                |tool: rmcp::model::Tool| tool.meta.and_then(|m| m.get(BESIDE)?.as_str().map(str::to_owned));
            texts.extend(page.tools.into_iter().filter_map(text));
            keep = page.ttl_ms.map_or(keep, |ms| keep.min(Duration::from_millis(ms)));
            unread = page.next_cursor.is_some() && page.next_cursor != cursor;
            if !unread || texts.len() > MAX_LISTED {
                break;
            }
            cursor = page.next_cursor;
        }
        Ok((texts, unread, keep))
    }

    /// Calls a tool once. Dropped, it tells the server to stop. What the server asks meanwhile goes
    /// to `ask`; `limit` does not count then.
    pub(super) async fn call(
        &self,
        (name, arguments): (&str, &Object),
        retry: Option<&Retry>,
        ask: mpsc::Sender<Question>,
        limit: Duration,
    ) -> Result<Value, RequestFault> {
        if !self.is_open() {
            return Err(RequestFault::NotRun(HttpFault::Unreachable.to_string()));
        }
        let text = arguments.text();
        let mut params = CallToolRequestParams::new(name.to_owned());
        // For the headers that a tool's schema may ask for; what is sent is the text.
        params.arguments = Some(serde_json::from_str(&text).unwrap_or_default());
        let mut meta = rmcp::model::RequestMetaObject::default();
        meta.insert(BESIDE.to_owned(), serde_json::Value::String(text));
        let call = self.open.begin(ask);
        meta.insert(CALL.to_owned(), call.number.into());
        params.meta = Some(meta);
        if let Some(retry) = retry {
            let response = |(key, value): &(String, Value)| {
                (key.clone(), serde_json::from_str(&value.text()).unwrap_or_default())
            };
            params.input_responses = Some(retry.responses.iter().map(response).collect());
            params.request_state.clone_from(&retry.state);
        }
        let answer = self.service.peer().call_tool_once(params);
        let Some(answer) = call.clock.patiently(limit, answer).await else {
            return Err(RequestFault::Unknown("the server did not answer in time".into()));
        };
        let CallToolResponse::Complete(result) = self.answer(answer)? else {
            return Err(HttpFault::Unreadable.into());
        };
        let text = result.structured_content.as_ref().and_then(serde_json::Value::as_str);
        text.and_then(|text| json::parse(text).ok()).ok_or_else(|| HttpFault::Unreadable.into())
    }

    /// Closes it, and with it everything under way.
    pub(super) async fn close(self: Arc<Connection>) {
        let token = self.service.cancellation_token();
        match Arc::into_inner(self) {
            Some(mut last) => {
                let _ = last.service.close_with_timeout(CLOSE_PATIENCE).await;
            }
            None => token.cancel(),
        }
    }

    fn answer<T>(&self, answer: Result<T, ServiceError>) -> Result<T, RequestFault> {
        match answer {
            Ok(answer) => {
                self.answered.store(true, Ordering::Relaxed);
                Ok(answer)
            }
            Err(ServiceError::McpError(error)) => {
                self.answered.store(true, Ordering::Relaxed);
                if error.code.0 == TOO_LARGE && error.data.as_ref().is_some_and(|d| d == BESIDE) {
                    return Err(HttpFault::TooLarge.into());
                }
                Err(RequestFault::Reported(i64::from(error.code.0), error.message.into_owned()))
            }
            Err(ServiceError::TransportSend(error)) => Err(sent(error.error.as_ref())),
            Err(ServiceError::UnexpectedResponse) => Err(HttpFault::Unreadable.into()),
            Err(_) => Err(HttpFault::Broken.into()),
        }
    }
}

/// What a failed sending means.
fn sent(error: &(dyn std::error::Error + Send + Sync + 'static)) -> RequestFault {
    match error.downcast_ref::<StreamableHttpError<HttpFault>>() {
        Some(StreamableHttpError::Client(fault)) => (*fault).into(),
        _ => HttpFault::Broken.into(),
    }
}

/// Why the handshake failed. Nothing has run by then.
fn not_opened(error: &ClientInitializeError) -> RequestFault {
    let reason = match error {
        ClientInitializeError::TransportError { error, .. } => sent(error.error.as_ref()).reason(),
        ClientInitializeError::JsonRpcError(error) => {
            format!("the server answered the handshake with the MCP error {}", error.code.0)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return not_opened(fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "the server speaks no revision of MCP that is known here".to_owned()
        }
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            HttpFault::Unreadable.to_string()
        }
        _ => "the server ended the handshake".to_owned(),
    };
    RequestFault::NotRun(reason)
}

/// What the server may ask of us while it works: what a person can be asked in a form. Everything
/// else is refused, by what rmcp does unless told otherwise.
struct Handler {
    changed: Arc<AtomicBool>,
    open: Arc<Open>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("mindset-runtime", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        ClientConfig::new(capabilities, own)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let Some((number, params)) = wire::question(&request) else {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Not known here.", None));
        };
        let asked = self.open.ask(number, &params);
        let answer = tokio::select! {
            answer = asked => answer?,
            // The server does not wait any more; nothing is sent for this.
            () = context.ct.cancelled() => Value::Null,
        };
        Ok(CustomResult(serde_json::from_str(&answer.text()).unwrap_or_default()))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}
