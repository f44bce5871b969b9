//! Which addresses a server may have: the connection is made to the very address
//! that was checked, so a name that answers differently the second time gains
//! nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::fault::HttpFault;
use crate::config::{McpServer, is_private};

/// Servers commonly close a connection after five quiet seconds; a call sent into
/// the closing would have an unknown outcome.
const POOL_IDLE: Duration = Duration::from_secs(3);

/// A client for `server`.
///
/// # Errors
/// The system has no root certificates.
pub(super) fn client(server: &McpServer) -> Result<reqwest::Client, HttpFault> {
    // A later call finds a provider installed, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(server.connect_timeout)
        .pool_idle_timeout(POOL_IDLE)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        // A proxy would look names up itself, past the check.
        .no_proxy();
    if !server.allow_private {
        builder = builder.dns_resolver(Arc::new(PublicOnly));
    }
    if server.url.starts_with("http:") {
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|_| HttpFault::Unreachable)
}

/// Resolves names to public addresses only. Addresses written into the URL never
/// get here; the configuration has checked those.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let public: Vec<SocketAddr> = found.into_iter().filter(|a| !is_private(a.ip())).collect();
            if public.is_empty() {
                return Err(HttpFault::Private.into());
            }
            let addresses: Addrs = Box::new(public.into_iter());
            Ok(addresses)
        })
    }
}
