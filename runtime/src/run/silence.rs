//! Signs of life in a stream in which nothing happens.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// A sign of life: a comment. An empty line after it would be an event to some readers.
pub(super) const SIGN: &str = ":\n";

/// How long nothing was given.
pub(super) struct Silence {
    heartbeat: Duration,
    given: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    /// It begins now, and is too long after every `heartbeat`.
    pub(super) fn new(heartbeat: Duration) -> Silence {
        Silence { heartbeat, given: Instant::now(), timer: None }
    }

    /// Something was given.
    pub(super) fn end(&mut self) {
        self.given = Instant::now();
    }

    /// Ready when nothing was given for too long. The timer is not set back by every event: it
    /// looks, when it fires, how much is left.
    pub(super) fn poll_too_long(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = self.given + self.heartbeat;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        loop {
            ready!(timer.as_mut().poll(cx));
            let now = Instant::now();
            let silent = now >= due;
            timer.as_mut().reset(if silent { now + self.heartbeat } else { due });
            if silent {
                self.given = now;
                return Poll::Ready(());
            }
        }
    }
}
