//! The listener and its connections. Our own loop and not axum's, because that one
//! waits for ever for the head of a request.

mod chunks;
mod connection;
mod handover;
mod socket;

use std::io::ErrorKind;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;

use connection::Connection;

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

/// The connections that are open.
#[derive(Debug)]
pub(crate) struct Open(watch::Sender<bool>);

impl Open {
    /// Lets every answer under way come to its end, and closes.
    pub(crate) async fn shutdown(self) {
        self.0.send_replace(true);
        self.0.closed().await;
    }
}

/// Accepts connections until `stop` is ready; what comes back waits for those that
/// are open. One that keeps the server waiting for longer than `patience` is closed.
pub(crate) async fn until(
    stop: impl Future<Output = ()>,
    listener: TcpListener,
    router: Router,
    patience: Patience,
) -> Open {
    let open = Open(watch::Sender::new(false));
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => return open,
        };
        match accepted {
            Ok((socket, peer)) => {
                // Small events must not wait for more to come.
                let _ = socket.set_nodelay(true);
                let connection =
                    Connection { peer, router: router.clone(), patience, stop: open.0.subscribe() };
                tokio::spawn(connection.serve(socket));
            }
            // One that hung up while it waited says nothing about the next.
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
            Err(error) => {
                tracing::error!(%error, "no new connections");
                tokio::time::sleep(REFUSED).await;
            }
        }
    }
}
