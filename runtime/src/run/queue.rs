//! Who runs and who waits: the core's queue of every application and user, and the way to those
//! who wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_channel::mpsc;
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::queue::{Call, Caller, End, Input, Output, Place, Queue, Refusal};
use mindset_core::turn::{Steer, StoredMessage};

use super::closing;
use super::parked::Parked;
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::observe::metrics::{self, Open};
use crate::permissions::{Permission, Permissions};

/// What a run that waits is told.
#[derive(Debug)]
pub(super) enum Notice {
    /// Its place is this one now.
    Place(usize),
    /// It begins, with this message if it has one.
    Start(Option<Box<StoredMessage>>),
    /// A turn has read its message.
    Steered,
    /// It gave up its place.
    Withdrawn,
    /// The turn that has read its message failed before that was stored.
    Failed(ErrorInfo),
}

/// Whether a run begins.
#[derive(Debug)]
pub(super) enum Admission {
    /// Now.
    Start,
    /// Later; what becomes of it is told here.
    Wait(mpsc::UnboundedReceiver<Notice>),
}

/// A run that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Its handle in the store.
    pub(super) key: i64,
    /// Its message; `None`: it goes on with a turn.
    pub(super) message: Option<StoredMessage>,
    tell: mpsc::UnboundedSender<Notice>,
    /// For the metrics.
    _open: Open,
}

/// All queues.
#[derive(Debug)]
pub(super) struct Queues {
    permissions: Arc<Permissions>,
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
pub(super) struct Lines {
    users: BTreeMap<(String, String), Line>,
    /// What waited when an earlier process ended, by user and run.
    pub(super) parked: BTreeMap<super::RunKey, Parked>,
    closing: bool,
}

/// The queue of one application and user.
#[derive(Debug)]
pub(super) struct Line {
    queue: Queue,
    waiting: BTreeMap<String, Waiting>,
    /// Whose message was read by which run, until that is stored.
    read: Vec<(String, mpsc::UnboundedSender<Notice>)>,
}

impl Queues {
    /// Nobody waits.
    pub(super) fn new(permissions: Arc<Permissions>) -> Queues {
        Queues { permissions, lines: Mutex::default() }
    }

    pub(super) fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a run begin, or wait with its message.
    ///
    /// # Errors
    /// It may not, or finds no place.
    pub(super) fn accept(
        &self,
        user: &User,
        call: Call,
        (key, message): (i64, Option<StoredMessage>),
    ) -> ApiResult<Admission> {
        let mut lines = self.lines();
        if lines.closing {
            return Err(closing());
        }
        if call.caller == Caller::Application {
            // Here, so that no run slips through while its user switches the permission off.
            self.permissions.check(user, Permission::Run)?;
        }
        let slots = self.permissions.concurrency(&user.app);
        let line = lines.users.entry(user_key(user)).or_insert_with(|| Line::new(slots));
        let run = call.run.clone();
        let (tell, notices) = mpsc::unbounded();
        line.waiting.insert(run.clone(), Waiting { key, message, tell, _open: Open::one(&metrics::QUEUED) });
        line.queue.handle(Input::Accept(call));
        let admitted = line.drain(&run);
        lines.tidy(user);
        match admitted {
            Some(Err(refusal)) => Err(refused(refusal)),
            Some(Ok(())) => Ok(Admission::Start),
            None => Ok(Admission::Wait(notices)),
        }
    }

    /// A run is over, or could not begin.
    pub(super) fn ended(&self, user: &User, run: &str, end: End) {
        self.with(user, |line| {
            line.queue.handle(Input::Ended { run: run.to_owned(), end });
            line.tell_read(run, || {
                let message = "The server could not store the message. Send it again.";
                Notice::Failed(ErrorInfo::new(ErrorCode::ServerError, message))
            });
        });
    }

    /// A turn that waits for its client gives up its slot.
    pub(super) fn lapse(&self, user: &User, run: &str) {
        self.with(user, |line| line.queue.handle(Input::Lapse { run: run.to_owned() }));
    }

    /// The session's queue goes on.
    pub(super) fn resume(&self, user: &User, session: &str) {
        self.with(user, |line| line.queue.handle(Input::Resume { session: session.to_owned() }));
    }

    /// The run gives up its place; `false`: it does not wait.
    pub(super) fn withdraw(&self, user: &User, run: &str) -> bool {
        let mut waited = false;
        self.with(user, |line| {
            waited = line.waiting.contains_key(run);
            line.queue.handle(Input::Withdraw { run: run.to_owned() });
        });
        waited
    }

    /// What steers the turn with this run. It is the turn's from now on.
    pub(super) fn read(&self, user: &User, run: &str) -> Vec<Steer> {
        let mut steers = Vec::new();
        self.with(user, |line| {
            line.queue.handle(Input::Read { run: run.to_owned() });
            while let Some(output) = line.queue.poll_output() {
                let Output::Steered { run: read } = output else { continue };
                let Some(Waiting { message, tell, .. }) = line.waiting.remove(&read) else { continue };
                line.read.push((run.to_owned(), tell));
                steers.extend(message.map(|message| Steer { run_id: read, message }));
            }
        });
        steers
    }

    /// What the turn with this run has read is stored.
    pub(super) fn tell_read(&self, user: &User, run: &str) {
        self.with(user, |line| line.tell_read(run, || Notice::Steered));
    }

    /// What waits in a session: its place, and its message.
    pub(super) fn waiting(&self, user: &User, session: &str) -> Vec<(Place, StoredMessage)> {
        let lines = self.lines();
        let Some(line) = lines.users.get(&user_key(user)) else { return Vec::new() };
        let message = |run: &str| line.waiting.get(run).and_then(|waiting| waiting.message.clone());
        let places = line.queue.waiting(session).into_iter();
        places.filter_map(|place| message(&place.run).map(|message| (place, message))).collect()
    }

    /// The runs that the application has for the user, those of turns first.
    pub(super) fn of_application(&self, user: &User) -> Vec<String> {
        let lines = self.lines();
        lines.users.get(&user_key(user)).map(|line| line.queue.of_application()).unwrap_or_default()
    }

    /// Gives a run that waits another text; gives its handle, `None`: it does not wait.
    pub(super) fn edit(&self, user: &User, run: &str, text: &str) -> Option<i64> {
        let mut lines = self.lines();
        if let Some(parked) = lines.parked.get_mut(&super::key(user, run)) {
            text.clone_into(&mut parked.row.run.text);
            return Some(parked.row.key);
        }
        let waiting = lines.users.get_mut(&user_key(user))?.waiting.get_mut(run)?;
        text.clone_into(&mut waiting.message.as_mut()?.content);
        Some(waiting.key)
    }

    /// From now on nothing begins; what waits is left to the store.
    pub(super) fn close(&self) {
        let mut lines = self.lines();
        lines.closing = true;
        lines.users.clear();
    }

    /// Whether nothing begins any more.
    pub(super) fn is_closed(&self) -> bool {
        self.lines().closing
    }

    /// Changes a user's line, if there is one, and tells everyone what follows.
    fn with(&self, user: &User, change: impl FnOnce(&mut Line)) {
        let mut lines = self.lines();
        if let Some(line) = lines.users.get_mut(&user_key(user)) {
            change(line);
            line.drain("");
        }
        lines.tidy(user);
    }
}

impl Lines {
    /// Forgets the line of a user who has nothing running and nothing waiting.
    fn tidy(&mut self, user: &User) {
        let key = user_key(user);
        if self.users.get(&key).is_some_and(|line| line.queue.is_empty() && line.read.is_empty()) {
            self.users.remove(&key);
        }
    }
}

impl Line {
    fn new(slots: usize) -> Line {
        Line { queue: Queue::new(slots), waiting: BTreeMap::new(), read: Vec::new() }
    }

    /// Tells everyone what has changed for them; gives what became of `own` at once.
    fn drain(&mut self, own: &str) -> Option<Result<(), Refusal>> {
        let mut admitted = None;
        while let Some(output) = self.queue.poll_output() {
            match output {
                Output::Start { run } => {
                    let waiting = self.waiting.remove(&run);
                    if run == own {
                        admitted = Some(Ok(()));
                    } else if let Some(Waiting { message, tell, .. }) = waiting {
                        // A closed channel means that its task is gone, and says so itself.
                        let _ = tell.unbounded_send(Notice::Start(message.map(Box::new)));
                    }
                }
                Output::Refuse { run, refusal } => {
                    self.waiting.remove(&run);
                    admitted = Some(Err(refusal));
                }
                Output::Position { run, position } => {
                    if let Some(waiting) = self.waiting.get(&run) {
                        let _ = waiting.tell.unbounded_send(Notice::Place(position));
                    }
                }
                Output::Withdrawn { run } => {
                    if let Some(waiting) = self.waiting.remove(&run) {
                        let _ = waiting.tell.unbounded_send(Notice::Withdrawn);
                    }
                }
                Output::Steers { .. } | Output::Steered { .. } => {}
            }
        }
        // Nobody waits, nearly always, and an empty map still has its first node.
        if self.waiting.is_empty() {
            self.waiting = BTreeMap::new();
        }
        admitted
    }

    fn tell_read(&mut self, by: &str, notice: impl Fn() -> Notice) {
        self.read.retain(|(run, tell)| {
            if run == by {
                let _ = tell.unbounded_send(notice());
            }
            run != by
        });
    }
}

pub(super) fn user_key(user: &User) -> (String, String) {
    (user.app.clone(), user.id.clone())
}

fn refused(refusal: Refusal) -> ApiError {
    match refusal {
        Refusal::Busy { run } if run.is_empty() => ApiError::new(
            ErrorCode::Busy,
            "Messages wait in this conversation. Let them go on or remove them, or wait behind them with whenBusy.",
        ),
        Refusal::Busy { run } => ApiError::new(
            ErrorCode::Busy,
            "The conversation is answering already. Wait for the end or cancel that run.",
        )
        .with("runId", run),
        Refusal::Full { limit } => ApiError::new(
            ErrorCode::RateLimited,
            "Too many runs wait already. Wait until some of them are over, or remove some.",
        )
        .with("reason", "queue-full")
        .with("limit", limit as u64),
    }
}
