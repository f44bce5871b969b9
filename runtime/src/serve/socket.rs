//! The socket of a connection. Clients that take nothing of their answer are cut off.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::handover::Handover;

/// What is read at a time of a client that should say nothing.
const EARLY: usize = 256;

/// A connection that fails when it takes no byte for too long while there are some for it. It
/// costs a timer only while it is full.
#[derive(Debug)]
pub(super) struct Socket<S> {
    socket: S,
    patience: Duration,
    full: Option<Pin<Box<Sleep>>>,
    /// What was read already and is read again.
    early: Bytes,
    handover: Arc<Handover>,
}

impl<S> Socket<S> {
    /// Waits for at most `patience` until `socket` takes something, and tells `handover` when all
    /// was sent.
    pub(super) fn new(socket: S, patience: Duration, handover: Arc<Handover>) -> Socket<S> {
        Socket { socket, patience, full: None, early: Bytes::new(), handover }
    }

    /// Has these bytes read before all others.
    pub(super) fn give_back(&mut self, early: &[u8]) {
        // A copy: even an empty part of the buffer that it was read into would hold all of it.
        self.early = Bytes::copy_from_slice(early);
    }

    fn wait<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.full = None;
            return written;
        }
        let patience = self.patience;
        let timer = self.full.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        timer.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> Socket<S> {
    /// Ready when the client has gone. What it says meanwhile is read later, and after that it is
    /// not looked at any more.
    pub(super) fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.early.is_empty() {
            return Poll::Pending;
        }
        let mut bytes = [0; EARLY];
        let mut buffer = ReadBuf::new(&mut bytes);
        let read = ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buffer));
        self.early = Bytes::copy_from_slice(buffer.filled());
        if read.is_err() || self.early.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.wait(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, bytes);
        self.wait(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(cx);
        if flushed.is_ready() {
            self.handover.all_sent();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Socket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.early.is_empty() {
            return Pin::new(&mut self.socket).poll_read(cx, buffer);
        }
        let most = self.early.len().min(buffer.remaining());
        buffer.put_slice(&self.early.split_to(most));
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Instant;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(200);

    async fn pair() -> (Socket<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Socket::new(listener.accept().await.unwrap().0, PATIENCE, Arc::default()), client)
    }

    async fn write<S: AsyncWrite + Unpin>(socket: &mut Socket<S>) -> io::Result<usize> {
        let bytes = [7; 64 * 1024];
        poll_fn(|cx| Pin::new(&mut *socket).poll_write(cx, &bytes)).await
    }

    #[tokio::test]
    async fn who_takes_nothing_is_cut_off() {
        let (mut server, _client) = pair().await;
        let mut last = Instant::now();
        let error = loop {
            match write(&mut server).await {
                Ok(_) => last = Instant::now(),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(last.elapsed() >= PATIENCE, "{:?}", last.elapsed());
    }

    /// Takes one byte at a time, each after half the patience. Its timer is read before the one of
    /// `Socket`, which is never due first: so nothing here depends on when the test gets to run.
    #[derive(Default)]
    struct Slow {
        next: Option<Pin<Box<Sleep>>>,
    }

    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            _bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let next = self.next.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE / 2)));
            let taken = next.as_mut().poll(cx).map(|()| Ok(1));
            if taken.is_ready() {
                self.next = None;
            }
            taken
        }

        fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn who_takes_a_little_is_waited_for() {
        let mut server = Socket::new(Slow::default(), PATIENCE, Arc::default());
        let begin = Instant::now();
        for _ in 0..6 {
            assert_eq!(write(&mut server).await.unwrap(), 1);
        }
        assert!(begin.elapsed() >= 2 * PATIENCE, "{:?}", begin.elapsed());
    }

    #[tokio::test]
    async fn what_came_early_is_read_again_and_who_has_gone_is_noticed() {
        let (mut server, mut client) = pair().await;
        client.write_all(b"early").await.unwrap();
        server.socket.readable().await.unwrap();
        assert!(poll_fn(|cx| Poll::Ready(server.poll_gone(cx))).await.is_pending());
        let mut read = [0; 5];
        server.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"early");
        server.give_back(b"again");
        server.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"again");
        drop(client);
        poll_fn(|cx| server.poll_gone(cx)).await;
    }
}
