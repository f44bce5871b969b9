//! Who observes what an application's users say: their places, and what they are told of.
//!
//! Observers follow the logs of runs as other readers do. They take no slot, and no run waits for
//! them.

mod stream;
mod telling;

pub(crate) use stream::Observer;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_channel::mpsc;
use mindset_core::error::ErrorCode;

use super::queue::user_key;
use super::{LiveRun, Runs, closing};
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::observe::metrics::{self, Open};
use crate::store::Owner;

/// How many places an application has, for each user.
const PLACES: usize = 4;

/// What is observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Observed {
    /// Beginnings, replies and ends in every conversation of the user.
    All,
    /// What happens in one conversation.
    Session {
        /// Its id.
        id: String,
        /// The application has made it: either permission will do.
        own: bool,
    },
}

/// What an observer is told.
#[derive(Debug)]
enum Told {
    /// A run's turn begins or goes on.
    Begun(Arc<LiveRun>),
    /// The turn that waited in this conversation was stopped.
    Stopped(String),
    /// The user's switches have changed.
    Switched,
    /// This conversation is deleted.
    Deleted(String),
    /// It is over, for this reason.
    Over(&'static str),
}

/// All places that are taken.
#[derive(Debug, Default)]
pub(crate) struct Observers {
    seats: Mutex<Seats>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Seats {
    users: BTreeMap<(String, String), Vec<Taken>>,
    closing: bool,
}

/// The number of a place that is taken, and the way to who has it.
type Taken = (u64, mpsc::UnboundedSender<Told>);

/// A place that is taken, until it is dropped.
pub(crate) struct Seat {
    observers: Arc<Observers>,
    user: User,
    id: u64,
    inbox: mpsc::UnboundedReceiver<Told>,
    /// For the metrics.
    _open: Open,
}

impl Observers {
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place.
    ///
    /// # Errors
    /// All of them are taken, or the server goes down.
    pub(crate) fn seat(self: &Arc<Observers>, user: &User) -> ApiResult<Seat> {
        let mut seats = self.seats();
        if seats.closing {
            return Err(closing());
        }
        let taken = seats.users.entry(user_key(user)).or_default();
        if taken.len() >= PLACES {
            let message =
                "The application observes as much as it may for this user. End a subscription first.";
            return Err(ApiError::new(ErrorCode::TooManySubscriptions, message).with("limit", PLACES as u64));
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, inbox) = mpsc::unbounded();
        taken.push((id, tell));
        let open = Open::one(&metrics::OBSERVERS);
        Ok(Seat { observers: Arc::clone(self), user: user.clone(), id, inbox, _open: open })
    }

    fn tell(&self, user: &User, told: impl Fn() -> Told) {
        let seats = self.seats();
        for (_, tell) in seats.users.get(&user_key(user)).into_iter().flatten() {
            // A closed channel means that its observer is just leaving.
            let _ = tell.unbounded_send(told());
        }
    }

    /// A run of the user begins.
    pub(super) fn begun(&self, user: &User, run: &Arc<LiveRun>) {
        self.tell(user, || Told::Begun(Arc::clone(run)));
    }

    /// A turn that waited is over without another run.
    pub(super) fn stopped(&self, user: &User, conversation: &str) {
        self.tell(user, || Told::Stopped(conversation.to_owned()));
    }

    /// A conversation is deleted.
    pub(super) fn deleted(&self, user: &User, conversation: &str) {
        self.tell(user, || Told::Deleted(conversation.to_owned()));
    }

    /// The user has changed a switch: who may not observe any more is ended.
    pub(crate) fn switched(&self, user: &User) {
        self.tell(user, || Told::Switched);
    }

    /// The user has signed out: everything they had open is over.
    pub(crate) fn signed_out(&self, user: &User) {
        self.tell(user, || Told::Over("signed-out"));
    }

    /// The server goes down.
    pub(super) fn close(&self) {
        let mut seats = self.seats();
        seats.closing = true;
        for (_, tell) in seats.users.values().flatten() {
            let _ = tell.unbounded_send(Told::Over("closing"));
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.observers.seats();
        let key = user_key(&self.user);
        if let Some(taken) = seats.users.get_mut(&key) {
            taken.retain(|(id, _)| *id != self.id);
            if taken.is_empty() {
                seats.users.remove(&key);
            }
        }
    }
}

impl Observed {
    /// Whether this run is meant.
    fn includes(&self, run: &LiveRun) -> bool {
        match self {
            Observed::All => run.owner.get() == Some(&Owner::User),
            Observed::Session { id, .. } => *id == run.conversation,
        }
    }
}

impl Runs {
    /// Those who observe.
    pub(crate) fn observers(&self) -> &Arc<Observers> {
        &self.observers
    }

    /// The runs of the user that run now.
    fn running_of(&self, user: &User) -> Vec<Arc<LiveRun>> {
        let table = self.table();
        let from = super::key(user, "");
        let own = table.runs.range(from..).take_while(|(key, _)| key.0 == user.app && key.1 == user.id);
        own.map(|(_, run)| run).filter(|run| !run.waits()).cloned().collect()
    }
}
