//! Clients that take nothing of their answer are cut off.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A connection that fails when it takes no byte for too long while there are some for it. It
/// costs a timer only while it is full.
#[derive(Debug)]
pub(super) struct Impatient<S> {
    socket: S,
    patience: Duration,
    full: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    /// Waits for at most `patience` until `socket` takes something.
    pub(super) fn new(socket: S, patience: Duration) -> Impatient<S> {
        Impatient { socket, patience, full: None }
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
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
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Instant;

    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(200);

    async fn pair() -> (Impatient<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Impatient::new(listener.accept().await.unwrap().0, PATIENCE), client)
    }

    async fn write<S: AsyncWrite + Unpin>(socket: &mut Impatient<S>) -> io::Result<usize> {
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
    /// `Impatient`, which is never due first: so nothing here depends on when the test gets to run.
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
        let mut server = Impatient::new(Slow::default(), PATIENCE);
        let begin = Instant::now();
        for _ in 0..6 {
            assert_eq!(write(&mut server).await.unwrap(), 1);
        }
        assert!(begin.elapsed() >= 2 * PATIENCE, "{:?}", begin.elapsed());
    }
}
