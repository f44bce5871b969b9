//! The listener and its connections. Our own loop and not axum's, because that one
//! waits for ever for the head of a request.

mod stalled;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

use stalled::Impatient;

/// Pause after the system refused a connection, for example for lack of files.
const REFUSED: Duration = Duration::from_millis(200);

/// What waits in memory for one connection at most, in bytes. It is also the largest head.
const BUFFER: usize = 64 * 1024;

/// How long a connection is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For the head of a request.
    pub(crate) head: Duration,
    /// For the client to take anything of what waits for it.
    pub(crate) reader: Duration,
}

/// Accepts connections until `stop` is ready; what comes back waits for those that
/// are open. One that keeps the server waiting for longer than `patience` is closed.
pub(crate) async fn until(
    stop: impl Future<Output = ()>,
    listener: TcpListener,
    router: Router,
    patience: Patience,
) -> GracefulShutdown {
    let connections = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => return connections,
        };
        match accepted {
            Ok((socket, peer)) => open(&connections, socket, peer, router.clone(), patience),
            // One that hung up while it waited says nothing about the next.
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
            Err(error) => {
                tracing::error!(%error, "no new connections");
                tokio::time::sleep(REFUSED).await;
            }
        }
    }
}

fn open(
    connections: &GracefulShutdown,
    socket: TcpStream,
    peer: SocketAddr,
    router: Router,
    patience: Patience,
) {
    // Small events must not wait for more to come.
    let _ = socket.set_nodelay(true);
    let service = router.map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.head)
        .max_buf_size(BUFFER)
        .serve_connection(
            TokioIo::new(Impatient::new(socket, patience.reader)),
            TowerToHyperService::new(service),
        );
    // A client that breaks off is no event, so nobody asks for what comes of it.
    tokio::spawn(connections.watch(connection));
}
