//! A body on its way in chunks, as HTTP/1.1 has them.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;

use axum::body::Body;
use hyper::body::Body as _;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::socket::Socket;

/// Nothing follows.
const END: &[u8] = b"0\r\n\r\n";

/// Sends a body to its end. It takes no room while nothing is to be sent.
///
/// # Errors
/// The client has gone or takes nothing, or the body broke off.
pub(super) async fn send<S>(socket: &mut Socket<S>, mut body: Body) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let next = poll_fn(|cx| match socket.poll_gone(cx) {
            Poll::Ready(()) => Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into()))),
            Poll::Pending => Pin::new(&mut body).poll_frame(cx).map_err(io::Error::other),
        });
        let Some(frame) = next.await.transpose()? else { break };
        // An empty chunk would be the end.
        let Some(data) = frame.into_data().ok().filter(|data| !data.is_empty()) else { continue };
        socket.write_all(&chunk(&data)).await?;
    }
    socket.write_all(END).await
}

/// In one piece, so that it is one packet.
fn chunk(data: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", data.len()).into_bytes();
    chunk.reserve_exact(data.len() + 2);
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use futures_util::stream;
    use tokio::io::AsyncReadExt;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn chunks_and_their_end() {
        let (near, mut far) = tokio::io::duplex(7);
        let mut socket = Socket::new(near, PATIENCE, Arc::default());
        let pieces = ["data: 1\n\n", "", "0123456789abcdef"].map(Ok::<_, io::Error>);
        let sent = tokio::spawn(async move {
            send(&mut socket, Body::from_stream(stream::iter(pieces))).await.unwrap();
        });
        let mut read = String::new();
        far.read_to_string(&mut read).await.unwrap();
        sent.await.unwrap();
        assert_eq!(read, "9\r\ndata: 1\n\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
    }

    #[tokio::test]
    async fn who_has_gone_ends_it() {
        let (near, far) = tokio::io::duplex(64);
        let mut socket = Socket::new(near, PATIENCE, Arc::default());
        drop(far);
        let never = Body::from_stream(stream::pending::<io::Result<&str>>());
        let error = send(&mut socket, never).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_has_no_end() {
        let (near, mut far) = tokio::io::duplex(64);
        let mut socket = Socket::new(near, PATIENCE, Arc::default());
        let pieces = [Ok("x"), Err(io::Error::other("broken"))];
        assert!(send(&mut socket, Body::from_stream(stream::iter(pieces))).await.is_err());
        drop(socket);
        let mut read = String::new();
        far.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "1\r\nx\r\n");
    }
}
