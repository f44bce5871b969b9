//! The events of one run, encoded once, read by any number of readers.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use futures_util::{Stream, stream};
use mindset_core::agui::{Event, encode_event};
use mindset_core::sse;
use mindset_core::turn::RunState;
use tokio::sync::watch;

use super::LiveRun;

/// Encoded events with dense numbers from 1.
#[derive(Debug)]
pub(crate) struct Log {
    run_id: String,
    frames: Mutex<Vec<Bytes>>,
    progress: watch::Sender<Progress>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    frames: usize,
    ended: Option<RunState>,
}

impl Log {
    /// An empty log.
    pub(crate) fn new(run_id: &str) -> Log {
        Log { run_id: run_id.to_owned(), frames: Mutex::default(), progress: watch::Sender::default() }
    }

    /// Appends an event.
    pub(super) fn append(&self, event: &Event) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let id = format!("{}:{}", self.run_id, frames.len() + 1);
        frames.push(sse::encode(&id, &encode_event(event).to_string()).into());
        let count = frames.len();
        self.progress.send_modify(|p| p.frames = count);
    }

    /// Nothing follows.
    pub(super) fn end(&self, state: RunState) {
        self.progress.send_modify(|p| {
            p.ended.get_or_insert(state);
        });
    }

    /// How the run ended, if it has.
    pub(crate) fn state(&self) -> Option<RunState> {
        self.progress.borrow().ended
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.progress.subscribe().wait_for(|p| p.ended.is_some()).await;
    }

    fn from(&self, at: usize) -> Vec<Bytes> {
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.get(at..).unwrap_or_default().to_vec()
    }
}

impl LiveRun {
    /// The run's events from the first to the last, as they come, with a comment
    /// line after every `heartbeat` of silence.
    pub(crate) fn read(
        self: Arc<Self>,
        heartbeat: Duration,
    ) -> impl Stream<Item = Result<Bytes, Infallible>> {
        let progress = self.log.progress.subscribe();
        stream::unfold((self, progress, 0), move |(run, mut progress, at)| async move {
            loop {
                let ended = progress.borrow_and_update().ended.is_some();
                let new = run.log.from(at);
                if !new.is_empty() {
                    let at = at + new.len();
                    let bytes = if let [one] = new.as_slice() { one.clone() } else { new.concat().into() };
                    return Some((Ok(bytes), (run, progress, at)));
                }
                if ended {
                    return None;
                }
                if tokio::time::timeout(heartbeat, progress.changed()).await.is_err() {
                    return Some((Ok(Bytes::from_static(b": \n\n")), (run, progress, at)));
                }
            }
        })
    }
}
