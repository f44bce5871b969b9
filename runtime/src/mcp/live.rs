//! Calls that run on while a person thinks: a server of the revision 2025-11-25 asks over the
//! open connection of the call (`elicitation/create`) and waits there for the answer.
//!
//! The run that made the call ends with the questions, and the call is kept here, by its name in
//! what is stored of them. The answer goes to the call that runs; one that is not there any more,
//! because the runtime or its connection was lost, is never made again.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_channel::{mpsc, oneshot};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use mindset_core::json::{Object, Value};
use mindset_core::object;
use mindset_core::turn::ToolQuestions;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;

use super::fault::RequestFault;
use super::form::{self, Retry};
use super::slot::Slot;
use crate::ids;

/// Under this name the stored questions name their call.
const NAME: &str = "live";

/// Most questions that one call may ask, one after the other.
const MAX_QUESTIONS: usize = 8;

/// Questions of one call that may wait at the same time.
const MAX_WAITING: usize = 2;

/// Most calls that are kept, and how long: whoever has not answered until then does not.
const MAX_KEPT: usize = 512;
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// What a server asks while a call runs.
#[derive(Debug)]
pub(super) struct Question {
    asked: ToolQuestions,
    reply: oneshot::Sender<Value>,
}

/// How long a call has taken: while a person thinks its time stands still.
#[derive(Debug)]
pub(super) struct Clock(Mutex<(usize, Instant)>);

impl Clock {
    fn new() -> Clock {
        Clock(Mutex::new((0, Instant::now())))
    }

    fn lock(&self) -> MutexGuard<'_, (usize, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `answer`, but not longer than `limit` since nobody was asked any more.
    pub(super) async fn patiently<T>(&self, limit: Duration, answer: impl Future<Output = T>) -> Option<T> {
        let mut answer = std::pin::pin!(answer);
        loop {
            let left = self.left(limit);
            if let Ok(answer) = tokio::time::timeout(left, &mut answer).await {
                return Some(answer);
            }
            if self.left(limit).is_zero() {
                return None;
            }
        }
    }

    fn left(&self, limit: Duration) -> Duration {
        let (waiting, since) = *self.lock();
        if waiting > 0 { limit } else { limit.saturating_sub(since.elapsed()) }
    }
}

/// Stops a call's time as long as it lives.
struct Thinking(Arc<Clock>);

impl Thinking {
    fn new(clock: &Arc<Clock>) -> Thinking {
        clock.lock().0 += 1;
        Thinking(Arc::clone(clock))
    }
}

impl Drop for Thinking {
    fn drop(&mut self) {
        let mut clock = self.0.lock();
        *clock = (clock.0.saturating_sub(1), Instant::now());
    }
}

/// Where questions of each call go, and its time.
type Calls = BTreeMap<u64, (mpsc::Sender<Question>, Arc<Clock>)>;

/// The calls of one connection that run, by number.
#[derive(Debug, Default)]
pub(super) struct Open {
    calls: Mutex<Calls>,
    next: AtomicU64,
}

/// One of them, as long as it runs.
pub(super) struct OpenCall {
    open: Arc<Open>,
    pub(super) number: u64,
    pub(super) clock: Arc<Clock>,
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.open.lock().remove(&self.number);
    }
}

impl Open {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins; what its server asks goes to `ask`.
    pub(super) fn begin(self: &Arc<Open>, ask: mpsc::Sender<Question>) -> OpenCall {
        let (number, clock) = (self.next.fetch_add(1, Ordering::Relaxed), Arc::new(Clock::new()));
        self.lock().insert(number, (ask, Arc::clone(&clock)));
        OpenCall { open: Arc::clone(self), number, clock }
    }

    /// Asks the person of the call what `params` say, and gives their answer. `number` is that of
    /// the call on whose stream the server asks.
    ///
    /// # Errors
    /// People cannot be asked that, or there is nobody to ask.
    pub(super) async fn ask(&self, number: Option<u64>, params: &Value) -> Result<Value, ErrorData> {
        if params.str("mode").is_some_and(|mode| mode != "form") {
            return Err(refused("Only forms can be shown to a person here, no addresses."));
        }
        let request = object! { "method": "elicitation/create", "params": params.clone() };
        let result = object! { "inputRequests": object! { "form": request } };
        let mut asked = form::questions(&Value::Object(result)).ok_or_else(|| {
            refused("The form cannot be shown: it has no fields, too many or too large ones, or such as are not plain.")
        })?;
        asked.live = true;
        let (reply, answer) = oneshot::channel();
        let _thinking = {
            let mut calls = self.lock();
            let only = if calls.len() == 1 { calls.keys().next().copied() } else { None };
            let (ask, clock) = number.or(only).and_then(|number| calls.get_mut(&number)).ok_or_else(|| {
                refused("A person can only be asked while a call of a tool runs, on the stream of its answer.")
            })?;
            ask.try_send(Question { asked, reply }).map_err(|_| refused("Too much is asked at once."))?;
            Thinking::new(clock)
        };
        Ok(answer.await.unwrap_or_else(|_| cancel()))
    }
}

fn refused(why: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_PARAMS, why, None)
}

fn cancel() -> Value {
    Value::Object(object! { "action": "cancel" })
}

/// What a call that runs came to.
pub(super) enum Came {
    /// It is over.
    Done(Result<Value, RequestFault>),
    /// It asks.
    Asks(Box<ToolQuestions>),
}

/// A call that runs. Dropped, it tells the server to stop.
pub(crate) struct LiveCall {
    pub(super) slot: Arc<Slot>,
    running: BoxFuture<'static, Result<Value, RequestFault>>,
    questions: mpsc::Receiver<Question>,
    /// Where the answer to its open question goes.
    reply: Option<oneshot::Sender<Value>>,
    asked: usize,
}

impl std::fmt::Debug for LiveCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveCall").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl LiveCall {
    /// Begins the call of a tool.
    pub(super) fn new(slot: Arc<Slot>, name: &str, arguments: &Object, retry: Option<Retry>) -> LiveCall {
        let (ask, questions) = mpsc::channel(MAX_WAITING - 1);
        let (own, name, arguments) = (Arc::clone(&slot), name.to_owned(), arguments.clone());
        let running = async move { own.call(&name, &arguments, retry.as_ref(), &ask).await }.boxed();
        LiveCall { slot, running, questions, reply: None, asked: 0 }
    }

    /// The answer to what it asks.
    pub(super) fn answer(&mut self, answer: &Retry) {
        if let Some(reply) = self.reply.take() {
            let answer = answer.responses.first().map_or_else(cancel, |(_, answer)| answer.clone());
            // A server that does not wait any more has said so in its result.
            let _ = reply.send(answer);
        }
    }

    /// Goes on until it asks, or is over.
    pub(super) async fn next(&mut self) -> Came {
        loop {
            tokio::select! {
                biased;
                result = &mut self.running => return Came::Done(result),
                Some(Question { asked, reply }) = self.questions.next() => {
                    self.asked += 1;
                    if self.asked > MAX_QUESTIONS {
                        let _ = reply.send(cancel());
                        continue;
                    }
                    self.reply = Some(reply);
                    return Came::Asks(Box::new(asked));
                }
            }
        }
    }
}

/// The calls that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<HashMap<String, KeptCall>>);

#[derive(Debug)]
struct KeptCall {
    call: LiveCall,
    conversation: i64,
    since: Instant,
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, KeptCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a call of the conversation; its questions name it from now on.
    pub(super) fn keep(&self, conversation: i64, call: LiveCall, asked: &mut ToolQuestions) {
        let name = ids::uuid();
        if let Value::Object(state) = &mut asked.state {
            state.insert(NAME, name.as_str());
        }
        let mut kept = self.lock();
        kept.retain(|_, kept| kept.since.elapsed() < MAX_AGE);
        if kept.len() >= MAX_KEPT {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.since).map(|(name, _)| name.clone());
            kept.remove(&oldest.unwrap_or_default());
        }
        kept.insert(name, KeptCall { call, conversation, since: Instant::now() });
    }

    /// The call that asked this, if it is still there.
    pub(super) fn take(&self, asked: &ToolQuestions) -> Option<LiveCall> {
        let name = asked.state.str(NAME)?;
        self.lock().remove(name).map(|kept| kept.call)
    }

    /// Ends every call of the conversation that waits.
    pub(super) fn release(&self, conversation: i64) {
        // Not dropped under the lock.
        let released: Vec<KeptCall> = self
            .lock()
            .extract_if(|_, kept| kept.conversation == conversation)
            .map(|(_, kept)| kept)
            .collect();
        drop(released);
    }

    /// Ends all.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }
}
