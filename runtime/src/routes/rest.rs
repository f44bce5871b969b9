//! What of a request nobody reads: it is read and thrown away, so that an early answer, such as 401
//! to a large file, reaches a client that only listens after sending.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use futures_util::StreamExt;

use crate::app::App;

/// How much is read at most.
const MOST: usize = 64 * 1024 * 1024;

/// A body whose rest is thrown away when nobody wants it any more.
struct Whole {
    body: Body,
    patience: Duration,
}

/// From now on the request is read to its end.
pub(super) async fn read(State(app): State<App>, request: Request) -> Request {
    let patience = app.config().server.request_timeout;
    request.map(|body| if body.is_end_stream() { body } else { Body::new(Whole { body, patience }) })
}

impl HttpBody for Whole {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        let rest = std::mem::take(&mut self.body);
        if rest.is_end_stream() {
            return;
        }
        // Without a runtime the server is gone.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(tokio::time::timeout(self.patience, discard(rest)));
    }
}

async fn discard(body: Body) {
    let (mut pieces, mut left) = (body.into_data_stream(), MOST);
    while let Some(Ok(piece)) = pieces.next().await {
        left = left.saturating_sub(piece.len());
        if left == 0 {
            return;
        }
    }
}
