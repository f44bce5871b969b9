//! The place of one caller's connection to one server: opened when needed, once
//! for all who wait, and opened anew when the server has lost it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_channel::mpsc;
use mindset_core::json::{Object, Value};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::connection::Connection;
use super::fault::RequestFault;
use super::form::Retry;
use super::headers::Mask;
use super::live::Question;
use super::tools::Offered;
use crate::config::McpServer;
use crate::managed::{Place, Service};

/// How long a server that could not be reached is left alone: calls of one step
/// must not wait for it one after the other.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(2);

/// How long a server that loses every session is left alone.
const LOST_PAUSE: Duration = Duration::from_secs(30);

/// The pause before a service that has just begun to listen is asked again.
const SETTLING: Duration = Duration::from_millis(50);

/// What the runtime proves itself to a service with.
const TOKEN: HeaderName = HeaderName::from_static("x-mindset-token");

/// One caller's connection to one server.
pub(super) struct Slot {
    server: Arc<McpServer>,
    /// The service that serves it.
    service: Option<Service>,
    headers: HeaderMap,
    mask: Mask,
    used: std::sync::Mutex<Instant>,
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    failed: Option<(Instant, RequestFault)>,
    /// When the connection took the place of one that was lost.
    renewed: Option<Instant>,
    /// The process of the service that all this is about.
    generation: u64,
}

impl Slot {
    pub(super) fn new(
        server: Arc<McpServer>,
        service: Option<Service>,
        headers: HeaderMap,
        mask: Mask,
    ) -> Slot {
        let used = std::sync::Mutex::new(Instant::now());
        Slot { server, service, headers, mask, used, state: tokio::sync::Mutex::default() }
    }

    /// What must not come back.
    pub(super) fn mask(&self) -> &Mask {
        &self.mask
    }

    /// How long it was not used.
    pub(super) fn unused(&self) -> Duration {
        self.used.lock().map_or(Duration::ZERO, |used| used.elapsed())
    }

    /// Whether it is longer unused than the server's configuration lets it be.
    pub(super) fn is_idle(&self) -> bool {
        self.unused() >= self.server.idle
    }

    /// The server's tools. The list of a process that is gone is asked for again, of the next one.
    pub(super) async fn tools(&self) -> Result<Offered, RequestFault> {
        let tools = self.list().await;
        let Some(service) = self.service.as_ref().filter(|_| tools.is_err()) else { return tools };
        let generation = self.state.lock().await.generation;
        if generation > 0 && service.is_gone(generation).await {
            return self.list().await;
        }
        tools.map_err(|fault| self.unusable(fault))
    }

    async fn list(&self) -> Result<Offered, RequestFault> {
        let connection = self.connection(None).await?;
        let mut tools = connection.tools(&self.server, &self.mask).await;
        if tools == Err(RequestFault::Gone) {
            let renewed = self.connection(Some(&connection)).await?;
            tools = renewed.tools(&self.server, &self.mask).await;
        }
        self.touch();
        tools
    }

    /// Calls a tool: once, and once more only if the server has said that the first
    /// call did not run. What it asks meanwhile goes to `ask`.
    pub(super) async fn call(
        &self,
        name: &str,
        arguments: &Object,
        retry: Option<&Retry>,
        ask: &mpsc::Sender<Question>,
    ) -> Result<Value, RequestFault> {
        let connection = self.connection(None).await?;
        let limit = self.server.timeout;
        let mut result = connection.call((name, arguments), retry, ask.clone(), limit).await;
        if result == Err(RequestFault::Gone) {
            let renewed = self.connection(Some(&connection)).await?;
            result = renewed.call((name, arguments), retry, ask.clone(), limit).await;
        }
        self.touch();
        result
    }

    /// Closes the connection.
    pub(super) async fn close(&self) {
        let connection = self.state.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// The open connection, or a new one; never `lost`.
    async fn connection(&self, lost: Option<&Arc<Connection>>) -> Result<Arc<Connection>, RequestFault> {
        self.touch();
        let mut state = self.state.lock().await;
        let place = match &self.service {
            Some(service) => Some(service.ready().await.map_err(RequestFault::NoService)?),
            None => None,
        };
        let generation = place.as_ref().map_or(0, |place| place.generation);
        if state.generation != generation {
            // What was agreed with another process is nothing to this one.
            *state = State { generation, ..State::default() };
        }
        let is_lost = |c: &Arc<Connection>| lost.is_some_and(|lost| Arc::ptr_eq(lost, c));
        if let Some(connection) = &state.connection {
            if !is_lost(connection) && connection.is_open() {
                return Ok(Arc::clone(connection));
            }
            let lately = state.renewed.is_some_and(|at| at.elapsed() < LOST_PAUSE);
            if is_lost(connection) && lately && !connection.has_answered() {
                return Err(RequestFault::Gone);
            }
        }
        if let Some((at, fault)) = &state.failed
            && at.elapsed() < UNREACHABLE_PAUSE
        {
            return Err(fault.clone());
        }
        let replaces = state.connection.take().is_some_and(|c| is_lost(&c));
        match self.open(place.as_ref()).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                let renewed = replaces.then(Instant::now);
                *state =
                    State { connection: Some(Arc::clone(&connection)), failed: None, renewed, generation };
                Ok(connection)
            }
            Err(fault) => {
                state.failed = Some((Instant::now(), fault.clone()));
                Err(fault)
            }
        }
    }

    /// Connects; to a service that has just begun to listen, more than once.
    async fn open(&self, place: Option<&Place>) -> Result<Connection, RequestFault> {
        let (Some(place), Some(service)) = (place, &self.service) else {
            return Connection::open(&self.server, self.headers.clone()).await;
        };
        let (server, headers) = self.at(place)?;
        loop {
            let opened = Connection::open(&server, headers.clone()).await;
            let Err(fault) = opened else { return opened };
            if Instant::now() >= place.settled || !service.is(place.generation) {
                return Err(fault);
            }
            tokio::time::sleep(SETTLING).await;
        }
    }

    /// The server at the place where its service listens now.
    fn at(&self, place: &Place) -> Result<(McpServer, HeaderMap), RequestFault> {
        let (mut server, mut headers) = (McpServer::clone(&self.server), self.headers.clone());
        let path = server.mount.as_ref().map_or("", |mount| mount.path.as_str());
        server.url = format!("http://127.0.0.1:{}{path}", place.port);
        let token = HeaderValue::from_str(place.token.expose());
        let mut token = token.map_err(|_| RequestFault::NotRun("the token cannot be sent".into()))?;
        token.set_sensitive(true);
        headers.insert(TOKEN, token);
        Ok((server, headers))
    }

    /// A fault of a service that listens, with its place and the remedy.
    fn unusable(&self, fault: RequestFault) -> RequestFault {
        let Some(mount) = self.server.mount.as_ref().filter(|_| !matches!(fault, RequestFault::NoService(_)))
        else {
            return fault;
        };
        let reason = fault.reason();
        let reason = reason.split(';').next().unwrap_or(&reason);
        RequestFault::NotRun(format!(
            "the service `{}` does not serve MCP at {} ({reason}); mend what it serves there, or correct \
             `mcp_endpoints` in [[apps.services]] `{}`",
            mount.service, mount.path, mount.service
        ))
    }

    fn touch(&self) {
        if let Ok(mut used) = self.used.lock() {
            *used = Instant::now();
        }
    }
}
