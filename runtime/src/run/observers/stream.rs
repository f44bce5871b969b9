//! One response that observes: the events of the agent API as they happen, one JSON object each.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use futures_util::{Stream, StreamExt};
use mindset_core::agui::decode_event;
use mindset_core::json::{self, Object};
use mindset_core::object;
use mindset_core::sse;

use super::telling::{Hearing, Telling};
use super::{LiveRun, Observed, Runs, Seat, Told};
use crate::error::ApiResult;
use crate::permissions::Permission;
use crate::run::follow::Follow;
use crate::run::silence::{SIGN, Silence};

/// Events that are told at once, about.
const TOGETHER: usize = 256;

/// The bytes of an observation. It lasts until its client goes, or is told that it is over.
pub(crate) struct Observer {
    runs: Arc<Runs>,
    seat: Seat,
    observed: Observed,
    telling: Telling,
    following: Vec<Following>,
    silence: Silence,
    begun: bool,
    over: bool,
}

/// What happens in a conversation next.
struct Following {
    session: String,
    source: Source,
}

enum Source {
    /// A run tells it; what it has told before the observer came, up to this number, is not told again.
    Run { follow: Follow, hearing: Hearing, old: u64 },
    /// The turn that waits there is stopped.
    Stop,
}

impl Observer {
    /// Observes from now on.
    ///
    /// # Errors
    /// The application may not.
    pub(crate) fn new(
        runs: &Arc<Runs>,
        seat: Seat,
        observed: Observed,
        heartbeat: Duration,
    ) -> ApiResult<Observer> {
        let mut observer = Observer {
            runs: Arc::clone(runs),
            telling: Telling::new(observed == Observed::All),
            seat,
            observed,
            following: Vec::new(),
            silence: Silence::new(heartbeat),
            begun: false,
            over: false,
        };
        // It has its place already, so no change after this is missed.
        observer.check()?;
        for run in runs.running_of(&observer.seat.user) {
            observer.follow(&run, run.log.last());
        }
        Ok(observer)
    }

    /// Whether the application may still observe this.
    fn check(&self) -> ApiResult<()> {
        let permissions = self.runs.permissions();
        match self.observed {
            Observed::Session { own: true, .. } => permissions.check_either(&self.seat.user),
            _ => permissions.check(&self.seat.user, Permission::Read),
        }
    }

    fn follow(&mut self, run: &LiveRun, old: u64) {
        let known = self.following.iter().any(|f| match &f.source {
            Source::Run { follow, .. } => follow.log().key == run.log.key,
            Source::Stop => false,
        });
        if known || !self.observed.includes(run) {
            return;
        }
        let follow = Follow::new(Arc::clone(self.runs.store.log()), Arc::clone(&run.log), 0);
        let source = Source::Run { follow, hearing: Hearing::default(), old };
        self.following.push(Following { session: run.conversation.clone(), source });
    }

    /// What the observer hears of; gives why it is over, if it is.
    fn hear(&mut self, told: Told) -> Option<&'static str> {
        match told {
            Told::Begun(run) => self.follow(&run, 0),
            Told::Stopped(session) => self.following.push(Following { session, source: Source::Stop }),
            Told::Switched if self.check().is_err() => return Some("forbidden"),
            Told::Deleted(id) if matches!(&self.observed, Observed::Session { id: own, .. } if *own == id) => {
                return Some("not-found");
            }
            Told::Deleted(session) => self.telling.forget(&session),
            Told::Switched => {}
            Told::Over(reason) => return Some(reason),
        }
        None
    }

    /// What has happened, in the order of each conversation.
    fn poll_happened(&mut self, cx: &mut Context<'_>) -> Vec<Object> {
        let (mut told, mut held) = (Vec::new(), BTreeSet::new());
        let telling = &mut self.telling;
        self.following.retain_mut(|Following { session, source }| {
            // An earlier run there has not said everything.
            if held.contains(session) {
                return true;
            }
            let Source::Run { follow, hearing, old } = source else {
                telling.stopped(session, &mut told);
                return false;
            };
            while told.len() < TOGETHER {
                let Poll::Ready(events) = follow.poll_events(cx) else { break };
                let Some(events) = events else {
                    telling.ended(session, hearing, &mut told);
                    return false;
                };
                let before = follow.at() - events.len() as u64;
                for (number, text) in (before + 1..).zip(events) {
                    let event = json::parse(&text).ok().and_then(|event| decode_event(&event).ok());
                    let Some((event, _)) = event else { continue };
                    let known = told.len();
                    telling.tell(session, hearing, &event, &mut told);
                    if number <= *old {
                        told.truncate(known);
                    }
                }
            }
            held.insert(session.clone());
            true
        });
        told
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.over {
            return Poll::Ready(None);
        }
        if !std::mem::replace(&mut self.begun, true) {
            // So that whoever stands between passes on the head.
            return Poll::Ready(Some(Bytes::from_static(SIGN.as_bytes())));
        }
        while let Poll::Ready(Some(told)) = self.seat.inbox.poll_next_unpin(cx) {
            if let Some(reason) = self.hear(told) {
                self.over = true;
                let end = object! { "reason": reason };
                return Poll::Ready(Some(format!("event: end\n{}", frame(end)).into()));
            }
        }
        let happened = self.poll_happened(cx);
        if !happened.is_empty() {
            self.silence.end();
            let frames: String = happened.into_iter().map(frame).collect();
            return Poll::Ready(Some(frames.into()));
        }
        ready!(self.silence.poll_too_long(cx));
        Poll::Ready(Some(Bytes::from_static(SIGN.as_bytes())))
    }
}

fn frame(event: Object) -> String {
    sse::encode("", &json::Value::Object(event).to_string())
}

impl Stream for Observer {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_bytes(cx).map(|bytes| bytes.map(Ok))
    }
}
