//! The second listener, for those who run the server: `/readyz` and `/metrics`. It is up before
//! everything else and answers to this computer only, unless configured otherwise.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use mindset_core::json::Value;
use mindset_core::object;
use tokio::net::TcpListener;

use super::metrics;
use crate::app::App;

/// How long the database may take to prove that it can be written.
const PATIENCE: Duration = Duration::from_secs(2);

/// What operators can ask. Clones share one.
#[derive(Debug, Clone, Default)]
pub struct Operations(Arc<OnceLock<App>>);

impl Operations {
    /// Of an application that has not started yet.
    pub fn new() -> Operations {
        Operations::default()
    }

    /// The application has started.
    pub fn started(&self, app: &App) {
        // There is one application; the first is the one.
        let _ = self.0.set(app.clone());
    }

    /// Answers until the process ends.
    ///
    /// # Errors
    /// The listener failed.
    pub async fn serve(self, listener: TcpListener) -> std::io::Result<()> {
        let router = Router::new()
            .route("/readyz", get(ready))
            .route("/metrics", get(numbers))
            .fallback(async || (StatusCode::NOT_FOUND, "Here are /readyz and /metrics.\n"))
            .with_state(self);
        axum::serve(listener, router).await
    }
}

async fn ready(State(operations): State<Operations>) -> Response {
    let status = match operations.0.get() {
        None => "starting",
        Some(app) if app.is_stopping() => "stopping",
        Some(app) => match tokio::time::timeout(PATIENCE, app.store().check_writing()).await {
            Ok(Ok(())) => "ready",
            Ok(Err(_)) | Err(_) => "the database cannot be written",
        },
    };
    let code = if status == "ready" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (code, headers, Value::from(object! { "status": status }).to_string()).into_response()
}

async fn numbers() -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics::text()).into_response()
}
