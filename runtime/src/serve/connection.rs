//! One connection: requests and answers by hyper, and event streams without it.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower::ServiceExt;

use super::chunks;
use super::handover::{Asked, Handover, Noted, Stream};
use super::socket::Socket;
use super::{BUFFER, Patience};

/// A connection of a client.
pub(super) struct Connection {
    pub(super) peer: SocketAddr,
    pub(super) router: Router,
    pub(super) patience: Patience,
    /// Says when no more requests are taken; whoever holds it is waited for.
    pub(super) stop: watch::Receiver<bool>,
}

impl Connection {
    /// Answers until one of both sides closes it. A client that breaks off is no event.
    pub(super) async fn serve(mut self, socket: TcpStream) {
        let handover = Arc::<Handover>::default();
        let mut socket = Socket::new(socket, self.patience.reader, Arc::clone(&handover));
        loop {
            // In a box, because nothing of it stays with a stream.
            let left = Box::pin(self.answer(socket, &handover)).await;
            let Some((same, Stream { body, keeps })) = left else { return };
            socket = same;
            if chunks::send(&mut socket, body).await.is_err() {
                return;
            }
            if !keeps || *self.stop.borrow() {
                // What the client has said in vain must not take the end of the stream with it.
                let _ = socket.shutdown().await;
                return;
            }
        }
    }

    /// Answers requests until an event stream begins; `None`: the connection is closed.
    async fn answer(
        &mut self,
        socket: Socket<TcpStream>,
        handover: &Arc<Handover>,
    ) -> Option<(Socket<TcpStream>, Stream)> {
        let (peer, router) = (self.peer, &self.router);
        let service = service_fn(|request: Request<Incoming>| {
            let (router, handover) = (router.clone(), Arc::clone(handover));
            let asked = Asked::of(request.method(), request.version(), request.headers());
            let mut request = request.map(|body| Body::new(Noted::new(body, Arc::clone(&handover))));
            request.extensions_mut().insert(ConnectInfo(peer));
            async move { router.oneshot(request).await.map(|response| handover.part(asked, response)) }
        });
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.patience.head)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(socket), service);
        let mut stop = std::pin::pin!(self.stop.wait_for(|stop| *stop));
        let mut stopped = false;
        let stream = poll_fn(|cx| {
            if !stopped && stop.as_mut().poll(cx).is_ready() {
                stopped = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            match Pin::new(&mut connection).poll(cx) {
                Poll::Ready(_) => Poll::Ready(None),
                Poll::Pending => handover.take().map_or(Poll::Pending, |stream| Poll::Ready(Some(stream))),
            }
        });
        let stream = stream.await?;
        let parts = connection.into_parts();
        let mut socket = parts.io.into_inner();
        socket.give_back(&parts.read_buf);
        Some((socket, stream))
    }
}
