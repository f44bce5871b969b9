//! What those who run the server see of it: `operations`, `log_format` and `[telemetry]`.

use std::net::SocketAddr;

use super::Secret;
use super::reader::{Node, Reader};

/// The listener of `/readyz` and `/metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationsListener {
    /// None.
    Off,
    /// [`OperationsListener::USUAL`]; where another program has that, any free port.
    Usual,
    /// This address and no other.
    At(SocketAddr),
}

impl OperationsListener {
    /// Where it is unless configured.
    pub const USUAL: &str = "127.0.0.1:9187";
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// `[telemetry]`.
#[derive(Debug, Clone)]
pub struct Telemetry {
    /// Where a collector takes OTLP over HTTP, without `/v1/traces`.
    pub otlp_endpoint: String,
    /// The whole `Authorization` header for it.
    pub authorization: Option<Secret>,
}

impl Reader<'_> {
    pub(super) fn operations(&mut self, node: &Node<'_>) -> OperationsListener {
        match self.text(node, "operations").as_deref() {
            None => OperationsListener::Usual,
            Some("off") => OperationsListener::Off,
            Some(text) => text.parse().map_or_else(
                |_| {
                    let remedy = format!("write it as \"{}\", or \"off\"", OperationsListener::USUAL);
                    self.fault(&node.path("operations"), "not an address with a port", &remedy);
                    OperationsListener::Off
                },
                OperationsListener::At,
            ),
        }
    }

    pub(super) fn log_format(&mut self, node: &Node<'_>) -> LogFormat {
        match self.text(node, "log_format").as_deref() {
            None | Some("text") => LogFormat::Text,
            Some("json") => LogFormat::Json,
            Some(word) => {
                let problem = format!("no format is called `{word}`");
                self.fault(&node.path("log_format"), &problem, "write \"text\" or \"json\"");
                LogFormat::Text
            }
        }
    }

    pub(super) fn telemetry(&mut self, node: &Node<'_>) -> Option<Telemetry> {
        self.known(node, &["otlp_endpoint", "authorization"]);
        let authorization = self.authorization(node);
        let Some(endpoint) = self.text(node, "otlp_endpoint") else {
            if authorization.is_some() {
                let remedy = "give the collector's address, such as \"http://127.0.0.1:4318\"";
                self.fault(&node.path("otlp_endpoint"), "missing", remedy);
            }
            return None;
        };
        let is_http = endpoint.starts_with("http://") || endpoint.starts_with("https://");
        let url = reqwest::Url::parse(&endpoint).ok().filter(|_| is_http);
        if url.as_ref().is_some_and(|url| !url.username().is_empty() || url.password().is_some()) {
            let remedy = "put the credentials into `authorization`";
            self.fault(&node.path("otlp_endpoint"), "holds a user name or password", remedy);
        }
        if url.is_none_or(|url| url.query().is_some() || url.fragment().is_some()) {
            let remedy = "write it as \"http://127.0.0.1:4318\", without /v1/traces";
            self.fault(&node.path("otlp_endpoint"), "not an http or https address", remedy);
        }
        let endpoint = endpoint.trim_end_matches('/');
        let endpoint = endpoint.strip_suffix("/v1/traces").unwrap_or(endpoint);
        Some(Telemetry { otlp_endpoint: endpoint.to_owned(), authorization })
    }
}
