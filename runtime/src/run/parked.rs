//! Runs that waited when an earlier process ended. They are paused: one goes on when a client
//! posts its id again, which brings awareness, tools and pass-through parameters anew, or is removed.

use std::sync::Arc;

use mindset_core::agui::{Event, encode_event};
use mindset_core::queue::told;
use mindset_core::turn::{RunState, StoredMessage, StoredRole};

use super::{Log, Runs, key};
use crate::auth::User;
use crate::clock;
use crate::store::{Entry, Part, StoreError, WaitingRow};

/// A run that is paused since a restart.
#[derive(Debug, Clone)]
pub(super) struct Parked {
    /// What is stored of it.
    pub(super) row: WaitingRow,
    /// What its readers follow.
    pub(super) log: Arc<Log>,
}

impl Parked {
    /// Its message, as it is stored.
    pub(super) fn message(&self) -> StoredMessage {
        let run = &self.row.run;
        let mut message =
            StoredMessage::new(&run.message_id, &run.id, StoredRole::User, &run.text, clock::now());
        message.silent = run.silent;
        message
    }
}

impl Runs {
    /// Finds what waited. Of a message that a turn has read the run is over; one that only went on
    /// with a turn has lost what it brought.
    ///
    /// # Errors
    /// The database failed.
    pub(super) async fn park(&self) -> Result<(), StoreError> {
        for row in self.store.waiting_runs().await? {
            let last = self.store.log().last(row.key).await?;
            let log = Arc::new(Log::going_on(&row.run.id, row.key, last));
            let (user, run) = (row.run.user.clone(), row.run.id.clone());
            let parked = Parked { row, log };
            let thread = &parked.row.conversation;
            if parked.row.read {
                let event = told::run_steered(thread, &run, clock::now());
                self.end_parked(&parked, RunState::Finished, &event).await?;
            } else if parked.row.run.message_id.is_empty() {
                let event = told::run_withdrawn(thread, &run, clock::now());
                self.end_parked(&parked, RunState::Cancelled, &event).await?;
            } else {
                self.queues.lines().parked.insert(key(&user, &run), parked);
            }
        }
        Ok(())
    }

    /// Takes a paused run away; `false`: there is none.
    ///
    /// # Errors
    /// The database failed.
    pub(super) async fn withdraw_parked(&self, user: &User, run: &str) -> Result<bool, StoreError> {
        let parked = self.queues.lines().parked.remove(&key(user, run));
        let Some(parked) = parked else { return Ok(false) };
        let event = told::run_withdrawn(&parked.row.conversation, run, clock::now());
        self.end_parked(&parked, RunState::Cancelled, &event).await?;
        Ok(true)
    }

    async fn end_parked(&self, parked: &Parked, state: RunState, event: &Event) -> Result<(), StoreError> {
        let text: Arc<str> = encode_event(event).to_string().into();
        let entries = vec![
            Entry::Unwait,
            Entry::Event(Arc::clone(&text)),
            Entry::End { state, terminal: Some(Arc::clone(&text)) },
        ];
        let Parked { row, log } = parked;
        let part = Part { run: row.key, conversation: row.conversation_key, first: log.last() + 1, entries };
        self.store.log().append(part).await?;
        log.publish([text]);
        log.end(state);
        Ok(())
    }

    /// The paused runs of a conversation, in their places.
    pub(super) fn parked(&self, user: &User, conversation: &str) -> Vec<Parked> {
        let lines = self.queues.lines();
        let own = |parked: &&Parked| {
            let row = &parked.row;
            row.conversation == conversation && row.run.user.app == user.app && row.run.user.id == user.id
        };
        let mut own: Vec<Parked> = lines.parked.values().filter(own).cloned().collect();
        own.sort_by_key(|parked| parked.row.key);
        own
    }
}
