//! The place of one caller's connection to one server: opened when needed, once
//! for all who wait, and opened anew when the server has lost it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_channel::mpsc;
use mindset_core::json::{Object, Value};
use reqwest::header::HeaderMap;

use super::connection::Connection;
use super::fault::RequestFault;
use super::form::Retry;
use super::headers::Mask;
use super::live::Question;
use super::tools::Offered;
use crate::config::McpServer;

/// How long a server that could not be reached is left alone: calls of one step
/// must not wait for it one after the other.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(2);

/// How long a server that loses every session is left alone.
const LOST_PAUSE: Duration = Duration::from_secs(30);

/// One caller's connection to one server.
pub(super) struct Slot {
    server: Arc<McpServer>,
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
}

impl Slot {
    pub(super) fn new(server: Arc<McpServer>, headers: HeaderMap, mask: Mask) -> Slot {
        let used = std::sync::Mutex::new(Instant::now());
        Slot { server, headers, mask, used, state: tokio::sync::Mutex::default() }
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

    /// The server's tools.
    pub(super) async fn tools(&self) -> Result<Offered, RequestFault> {
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
        match Connection::open(&self.server, self.headers.clone()).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                let renewed = replaces.then(Instant::now);
                *state = State { connection: Some(Arc::clone(&connection)), failed: None, renewed };
                Ok(connection)
            }
            Err(fault) => {
                state.failed = Some((Instant::now(), fault.clone()));
                Err(fault)
            }
        }
    }

    fn touch(&self) {
        if let Ok(mut used) = self.used.lock() {
            *used = Instant::now();
        }
    }
}
