//! The end of runs that did not reach it themselves: their process was killed, their task broke,
//! or the database failed.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use mindset_core::agui::{Event, decode_event, encode_event};
use mindset_core::json;
use mindset_core::turn::{self, Conversation, Recovery};

use super::Runs;
use crate::store::{Entry, LostRun, Part, StoreError};
use crate::{clock, ids};

/// Runs that are recovered at the same time.
const TOGETHER: usize = 16;

impl Runs {
    /// Ends every run that an earlier process left behind, and finds those that waited. To be called before anybody is
    /// served.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn recover(&self) -> Result<(), StoreError> {
        let lost = self.store.running_runs().await?;
        if !lost.is_empty() {
            tracing::info!(runs = lost.len(), "runs were interrupted and are being ended");
        }
        let ended = stream::iter(lost).map(|run| self.recover_one(run)).buffer_unordered(TOGETHER);
        let failed: Vec<StoreError> = ended.filter_map(async |ended| ended.err()).collect().await;
        failed.into_iter().next().map_or(Ok(()), Err)?;
        self.park().await
    }

    /// Remembers a run that could not be ended.
    pub(super) fn lose(&self, run: LostRun) {
        self.table().lost.push(run);
    }

    /// Ends what was lost in a conversation, before anything else happens there.
    ///
    /// # Errors
    /// The database failed.
    pub(super) async fn settle(&self, conversation: i64) -> Result<(), StoreError> {
        self.settle_some(|run| run.conversation_key == conversation).await
    }

    /// Ends everything that was lost.
    ///
    /// # Errors
    /// The database failed.
    pub(super) async fn settle_all(&self) -> Result<(), StoreError> {
        self.settle_some(|_| true).await
    }

    async fn settle_some(&self, wanted: impl Fn(&LostRun) -> bool) -> Result<(), StoreError> {
        let lost: Vec<LostRun> = {
            let mut table = self.table();
            let all = std::mem::take(&mut table.lost);
            let (lost, others) = all.into_iter().partition(|run| wanted(run));
            table.lost = others;
            lost
        };
        let mut failed = Ok(());
        for run in lost {
            if let Err(error) = self.recover_one(run.clone()).await {
                self.lose(run);
                failed = Err(error);
            }
        }
        failed
    }

    async fn recover_one(&self, run: LostRun) -> Result<(), StoreError> {
        let texts = self.whole_log(run.key).await?;
        let events: Vec<Event> = texts.iter().filter_map(|text| read(text)).collect();
        let messages = self.store.messages(run.conversation_key).await?;
        let conversation = Conversation { id: run.conversation, messages, ..Conversation::default() };
        let Recovery { store, emit, state } =
            turn::recover(&conversation, &run.id, &events, &mut ids::uuid, clock::now());
        let told: Vec<Arc<str>> = emit.iter().map(|event| encode_event(event).to_string().into()).collect();
        let terminal = told.last().or(texts.last()).cloned();
        let mut entries = Vec::new();
        if !store.is_empty() {
            entries.push(Entry::Messages(store));
        }
        entries.extend(told.into_iter().map(Entry::Event));
        entries.push(Entry::End { state, terminal });
        let first = texts.len() as u64 + 1;
        let part = Part { run: run.key, conversation: run.conversation_key, first, entries };
        self.store.log().append(part).await
    }

    async fn whole_log(&self, run: i64) -> Result<Vec<Arc<str>>, StoreError> {
        let mut events = Vec::new();
        loop {
            let page = self.store.log().page(run, events.len() as u64).await?;
            if page.is_empty() {
                return Ok(events);
            }
            events.extend(page);
        }
    }
}

fn read(text: &str) -> Option<Event> {
    decode_event(&json::parse(text).ok()?).ok().map(|(event, _)| event)
}
