//! Work that goes on in the background of the run that has handed it over: a run by itself, which
//! takes a slot. Readers of the conversation above hear how it stands, and what came of it is a note
//! that the model above gets with its next request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mindset_core::agui::{Interrupt, Message, Role, RunAgentInput, encode_interrupt};
use mindset_core::json::{Object, Value};
use mindset_core::object;
use mindset_core::result::{MAX_BYTES, cut};
use mindset_core::turn::{Conversation, Delegated, RunState, Steer, StoredMessage, StoredRole, ToolOutcome};

use super::child::{Handed, Hander};
use super::{Command, LiveRun, Runs};
use crate::auth::User;
use crate::clock;
use crate::error::ApiResult;
use crate::store::{ConversationRow, RunStatus, StoreError, note_id};

/// What came of work, for the next model request of the conversation above.
#[derive(Debug, Default)]
pub(super) struct Notes(Mutex<BTreeMap<i64, Vec<Steer>>>);

impl Notes {
    fn notes(&self) -> MutexGuard<'_, BTreeMap<i64, Vec<Steer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, parent: i64, message: StoredMessage) {
        self.notes().entry(parent).or_default().push(Steer { run_id: String::new(), message });
    }

    /// All of a conversation, which are its own from now on.
    pub(super) fn take(&self, parent: i64) -> Vec<Steer> {
        self.notes().remove(&parent).unwrap_or_default()
    }
}

impl Runs {
    /// By whom the work of the user's conversation was handed over, if it goes on in the background.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn background(&self, user: &User, id: &str) -> Result<Option<Handed>, StoreError> {
        let row = self.store.background(user, id).await?;
        Ok(row.map(|row| Handed {
            conversation: row.parent,
            thread: row.parent_id,
            agent: row.parent_agent,
            run_id: row.run,
            above: row.above,
            agent_call: row.agent_call,
            background: true,
        }))
    }

    /// Begins work that goes on by itself; the model is told only that it has begun.
    pub(super) fn begin_work(
        self: &Arc<Runs>,
        hander: Hander,
        work: Delegated,
    ) -> BoxFuture<'static, ToolOutcome> {
        let runs = Arc::clone(self);
        async move { runs.begin_work_now(&hander, &work).await }.boxed()
    }

    async fn begin_work_now(self: &Arc<Runs>, hander: &Hander, work: &Delegated) -> ToolOutcome {
        let Some(known) = self.known_agent(&hander.user.app, &work.agent) else {
            return ToolOutcome::Failed("There is no such agent any more. Go on without it.".to_owned());
        };
        let order = hander.order(known, work);
        let (handed, run_id) = (order.handed.clone(), order.input.run_id.clone());
        let begun = match self.start(order).await {
            Ok(begun) => begun,
            Err(error) => {
                return ToolOutcome::Failed(format!("The work could not begin. {}", error.info().message));
            }
        };
        if let (Some(handed), RunStatus::Queued) = (&handed, begun.status()) {
            self.tell_child(&hander.user, handed, (&work.session, &run_id), ("queued", &[]));
        }
        let content = format!(
            "The work goes on in the background, in the session {}. You are told what came of it as soon as it is \
             over and you are asked again. Do not wait for it, and do not hand over the same again.",
            work.session
        );
        ToolOutcome::Done { content, sources: Vec::new(), widgets: Vec::new() }
    }

    /// Tells readers of the conversation above how work stands, if a run of it is read now.
    pub(super) fn tell_child(
        &self,
        user: &User,
        handed: &Handed,
        (session, run_id): (&str, &str),
        (state, asked): (&str, &[Interrupt]),
    ) {
        let Some(run) = self.running(handed.conversation).and_then(|id| self.live(user, &id)) else { return };
        let mut child = object! {
            "sessionId": session, "parentSessionId": &handed.thread, "runId": run_id, "state": state,
        };
        if !asked.is_empty() {
            child.insert("interrupts", asked.iter().map(encode_interrupt).collect::<Vec<_>>());
        }
        // A closed channel means that it has just ended.
        let _ = run.commands.unbounded_send(Command::Child(child));
    }

    /// A run of work in the background is over, or waits for people.
    pub(super) fn child_left(
        self: &Arc<Runs>,
        (user, handed): (&User, &Handed),
        run: &LiveRun,
        state: RunState,
        asked: &[Interrupt],
    ) {
        let (session, run_id) = (run.conversation.clone(), run.log.run_id.clone());
        let word = RunStatus::Ended(state).as_str();
        if state == RunState::Waiting {
            return self.tell_child(user, handed, (&session, &run_id), (word, asked));
        }
        let (runs, user, handed) = (Arc::clone(self), user.clone(), handed.clone());
        let key = run.conversation_key;
        tokio::spawn(async move {
            if let Err(error) = runs.note(handed.conversation, (&session, key), state).await {
                // The next start finds it.
                tracing::error!(%error, "what came of delegated work was not read");
            }
            runs.tell_child(&user, &handed, (&session, &run_id), (word, &[]));
        });
    }

    /// Notes for the conversation above what came of work.
    async fn note(
        &self,
        parent: i64,
        (session, key): (&str, i64),
        state: RunState,
    ) -> Result<(), StoreError> {
        let messages = self.store.messages(key).await?;
        let conversation = Conversation { messages, ..Conversation::default() };
        let came = match (state, conversation.outcome().0) {
            (RunState::Finished, Some(text)) => format!("is done. Its answer:\n\n{}", cut(text, MAX_BYTES)),
            (RunState::Finished, None) => "ended without an answer.".to_owned(),
            (RunState::Cancelled, _) => "was stopped before it was done.".to_owned(),
            _ => "was broken off before it was done. It is not known what it has done until then: do not repeat it by \
                  yourself."
                .to_owned(),
        };
        let text = format!("(Not from the person.) The work in the background, session {session}, {came}");
        let mut note = StoredMessage::new(note_id(session), "", StoredRole::User, text, clock::now());
        note.silent = true;
        self.notes.add(parent, note);
        Ok(())
    }

    /// What an earlier process left: what came of work that is over is noted, and work that waited
    /// for a slot begins.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn go_on_in_background(self: &Arc<Runs>) -> Result<(), StoreError> {
        for left in self.store.unreported().await? {
            let parked = self.parked(&left.user, &left.row.id);
            let ended = match self.store.last_run(left.row.key).await?.map(|last| last.status) {
                Some(RunStatus::Ended(state)) => Some(state).filter(|state| *state != RunState::Waiting),
                Some(_) => None,
                // It never began: it waits for a slot, or was taken out of the line.
                None => Some(RunState::Cancelled).filter(|_| parked.is_empty()),
            };
            if let Some(state) = ended {
                self.note(left.parent, (&left.row.id, left.row.key), state).await?;
            }
            for parked in parked {
                let (runs, user, row) = (Arc::clone(self), left.user.clone(), left.row.clone());
                tokio::spawn(async move {
                    if let Err(error) =
                        runs.begin_again(user, row, &parked.message(), &parked.row.run.id).await
                    {
                        tracing::warn!(error = error.info().message, "delegated work did not begin again");
                    }
                });
            }
        }
        Ok(())
    }

    async fn begin_again(
        self: Arc<Runs>,
        user: User,
        row: ConversationRow,
        message: &StoredMessage,
        run_id: &str,
    ) -> ApiResult<()> {
        let mindset: Object = object! { "whenBusy": "queue", "answers": true };
        let input = RunAgentInput {
            thread_id: row.id,
            run_id: run_id.to_owned(),
            messages: vec![Message::text(&message.id, Role::User, &message.content)],
            forwarded_props: Some(Value::Object(object! { "mindset": mindset })),
            ..RunAgentInput::default()
        };
        if let Some(order) = self.own_order(user, row.agent, input) {
            self.start(order.await?).await?;
        }
        Ok(())
    }
}
