//! Requests to an S3-compatible service, through the same HTTP client as everything else.

use std::error::Error;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};

use crate::config::S3;

/// How long connecting may take, and how long the service may say nothing.
const CONNECT: std::time::Duration = std::time::Duration::from_secs(10);
const SILENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The bucket of the configuration.
///
/// # Errors
/// What the configuration lacks, or that there is no TLS.
pub(super) fn open(s3: &S3) -> Result<AmazonS3, String> {
    let plain = s3.endpoint.as_deref().is_some_and(|endpoint| endpoint.starts_with("http:"));
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&s3.bucket)
        .with_region(&s3.region)
        .with_allow_http(plain)
        .with_http_connector(Ours { plain });
    if let Some(endpoint) = &s3.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some((id, key)) = &s3.keys {
        builder = builder.with_access_key_id(id.expose()).with_secret_access_key(key.expose());
    }
    builder.build().map_err(|error| error.to_string())
}

#[derive(Debug)]
struct Ours {
    plain: bool,
}

impl HttpConnector for Ours {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        // A later call finds a provider installed, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .redirect(reqwest::redirect::Policy::none());
        // Without TLS no root certificates are needed, and a machine may have none.
        let builder = if self.plain { builder.no_proxy().tls_certs_only([]) } else { builder };
        let client =
            builder.build().map_err(|e| object_store::Error::Generic { store: "S3", source: e.into() })?;
        Ok(HttpClient::new(Client(client)))
    }
}

#[derive(Debug)]
struct Client(reqwest::Client);

impl HttpService for Client {
    fn call<'life0, 'async_trait>(
        &'life0 self,
        request: HttpRequest,
    ) -> BoxFuture<'async_trait, Result<HttpResponse, HttpError>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        send(&self.0, request).boxed()
    }
}

async fn send(client: &reqwest::Client, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let request = client.request(head.method, head.uri.to_string()).headers(head.headers).body(body);
    let response: axum::http::Response<reqwest::Body> = request.send().await.map_err(fault)?.into();
    Ok(response.map(|body| HttpResponseBody::new(body.map_err(fault))))
}

/// What went wrong, as the store's retries want to know it. Addresses are signed, so they are left
/// out.
fn fault(error: reqwest::Error) -> HttpError {
    let kind = if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_decode() {
        HttpErrorKind::Decode
    } else if closed(&error) {
        HttpErrorKind::Request
    } else {
        HttpErrorKind::Unknown
    };
    HttpError::new(kind, error.without_url())
}

/// Whether the service closed a connection that was kept open for the next request.
fn closed(error: &reqwest::Error) -> bool {
    let mut source = error.source();
    while let Some(inner) = source {
        if inner.downcast_ref::<hyper::Error>().is_some_and(|e| e.is_closed() || e.is_incomplete_message()) {
            return true;
        }
        source = inner.source();
    }
    false
}
