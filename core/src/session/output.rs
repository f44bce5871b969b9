//! What the session wants done.

use std::fmt;

use super::{AskId, ToolRun, ToolRunId};
use crate::error::ErrorInfo;
use crate::event::{Bound, ChatMessage, RuntimeEvent};
use crate::json::{Object, Value};
use crate::view::Patch;

/// Names a request among all of a session's; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FetchId(pub u32);

/// Names a promise that a `sendMessage` waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SendId(pub u32);

/// One effect. The adapter performs it and never calls the machine from inside.
#[derive(Clone, PartialEq)]
pub enum Output {
    /// Ask the page for a token; comes back as `Input::Token`. `fresh` means the
    /// last one was refused: a cached one will not do.
    NeedToken {
        /// Whether a cached token will not do.
        fresh: bool,
    },
    /// Start a request; comes back as `Head`, `Bytes`…, `End`.
    Fetch(FetchRequest),
    /// Drop a request; nothing of it comes back.
    Abort(FetchId),
    /// Dispatch an event.
    Event(DomEvent),
    /// Change the panel.
    Patch(Patch),
    /// Run a handler of the page; comes back as `Input::ToolDone`.
    RunTool(ToolRun),
    /// Ask the page's function what the person is to be asked about this call; comes
    /// back as `Input::ToolSentence`.
    AskTool(ToolRun),
    /// Tell a handler by its signal that nobody waits for it; nothing comes back, and
    /// what does is ignored. A handler that has ended, or was never run, is no fault.
    AbortTool(ToolRunId),
    /// Find out whether the page with this `clientId` is gone; comes back as
    /// `Input::Owner`.
    FindOwner(String),
    /// Keep the conversation's id in sessionStorage, for this server, app and agent;
    /// `None` forgets it.
    StoreConversation(Option<String>),
    /// Settle the promise of a `sendMessage`.
    Settle {
        /// The promise.
        send: SendId,
        /// With what.
        result: TurnResult,
    },
    /// Keep the anonymous key in sessionStorage, for this server, app and agent.
    StoreAnonymousKey(String),
    /// Tell the other pages of this browser that something has changed in the conversation
    /// with this id; comes to them as `Input::Changed`.
    Tell(String),
    /// Settle the promise of an `Input::Ask`.
    Answer {
        /// The promise.
        id: AskId,
        /// With what: `null` where there is nothing to say.
        result: Result<Value, ErrorInfo>,
    },
}

/// Without the anonymous key, which is a credential.
impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::NeedToken { fresh } => f.debug_struct("NeedToken").field("fresh", fresh).finish(),
            Output::Fetch(request) => f.debug_tuple("Fetch").field(request).finish(),
            Output::Abort(id) => f.debug_tuple("Abort").field(id).finish(),
            Output::Event(event) => f.debug_tuple("Event").field(event).finish(),
            Output::Patch(patch) => f.debug_tuple("Patch").field(patch).finish(),
            Output::RunTool(run) => f.debug_tuple("RunTool").field(run).finish(),
            Output::AskTool(run) => f.debug_tuple("AskTool").field(run).finish(),
            Output::AbortTool(id) => f.debug_tuple("AbortTool").field(id).finish(),
            Output::FindOwner(id) => f.debug_tuple("FindOwner").field(id).finish(),
            Output::StoreConversation(id) => f.debug_tuple("StoreConversation").field(id).finish(),
            Output::Settle { send, result } => {
                f.debug_struct("Settle").field("send", send).field("result", result).finish()
            }
            Output::StoreAnonymousKey(_) => f.write_str("StoreAnonymousKey(…)"),
            Output::Tell(id) => f.debug_tuple("Tell").field(id).finish(),
            Output::Answer { id, result } => {
                f.debug_struct("Answer").field("id", id).field("ok", &result.is_ok()).finish_non_exhaustive()
            }
        }
    }
}

/// A request.
#[derive(Clone, PartialEq)]
pub struct FetchRequest {
    /// Its id.
    pub id: FetchId,
    /// What it is for; decides nothing in the adapter, helps in logs and tests.
    pub purpose: FetchPurpose,
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// Absolute URL.
    pub url: String,
    /// Headers, credentials included: not for logs.
    pub headers: Vec<(&'static str, String)>,
    /// JSON text.
    pub body: Option<String>,
}

/// Without the values of headers and the body, which hold credentials and what
/// people wrote.
impl fmt::Debug for FetchRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchRequest")
            .field("id", &self.id)
            .field("purpose", &self.purpose)
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &self.headers.iter().map(|(name, _)| *name).collect::<Vec<_>>())
            .field("body_bytes", &self.body.as_ref().map(String::len))
            .finish()
    }
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchPurpose {
    /// Anonymous sign-in.
    SignIn,
    /// A run; the answer is a stream.
    Run,
    /// Cancel of a run.
    Cancel,
    /// A conversation as it is stored.
    Conversation,
    /// The rest of a run's stream.
    Events,
    /// Something about conversations.
    Ask,
    /// New pass-through parameters for a run.
    Passthrough,
    /// What a person thinks of an answer.
    Feedback,
    /// A message that waits, or what becomes of it.
    Queue,
}

/// Why a request failed before its body ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchFailure {
    /// What the browser says, for people.
    pub message: String,
}

/// An event for listeners, made from a state that is already the new one.
#[derive(Debug, Clone, PartialEq)]
pub enum DomEvent {
    /// `mindset:agent-initializing`.
    Initializing,
    /// `mindset:agent-idle`.
    Idle {
        /// The conversation, once there is one.
        conversation_id: Option<String>,
    },
    /// `mindset:agent-busy`.
    Busy {
        /// The run.
        run_id: String,
    },
    /// `mindset:runtime-event`, and the event by its own name right after.
    Runtime(RuntimeEvent),
    /// `mindset:conversation`, and `mindset:thread-changed` right after.
    Conversation {
        /// `{ type: "conversation_id", conversationId, … }`.
        detail: Object,
    },
    /// `mindset:error`.
    Error(ErrorInfo),
    /// `mindset:feedback`.
    Feedback {
        /// `{ conversationId, messageId, rating, comment? }`.
        detail: Object,
    },
    /// `history_settled`, once for each conversation. Only for readers that may see everything,
    /// never on the DOM.
    History {
        /// The newest messages from before, oldest first.
        messages: Vec<ChatMessage>,
    },
    /// `connection`: how the session's connection stands. Not on the DOM.
    Connection(Connection),
}

/// How a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// It works.
    Online,
    /// It broke and is tried again.
    Reconnecting,
    /// It broke and the browser has no network.
    Offline,
}

impl Connection {
    /// The word in `connection`.
    pub fn as_str(self) -> &'static str {
        match self {
            Connection::Online => "online",
            Connection::Reconnecting => "reconnecting",
            Connection::Offline => "offline",
        }
    }
}

/// What `sendMessage` resolves to.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnResult {
    /// How the turn ended.
    pub status: TurnStatus,
    /// The last assistant message of the turn.
    pub text: Option<String>,
    /// The conversation.
    pub conversation_id: String,
    /// The run.
    pub run_id: String,
    /// What went wrong, with `error`.
    pub error: Option<ErrorInfo>,
    /// The limit that stopped the turn.
    pub bound: Option<Bound>,
    /// What the turn waits for: `{ questionId, requestId, request }`.
    pub pending: Option<Object>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStatus {
    /// The answer is whole, or a bound was hit.
    Finished,
    /// It failed.
    Error,
    /// Someone stopped it.
    Aborted,
    /// The turn that was under way has read the message, and has the reply.
    Steered,
}

impl TurnStatus {
    /// The word in `TurnResult.status`.
    pub fn as_str(self) -> &'static str {
        match self {
            TurnStatus::Finished => "finished",
            TurnStatus::Error => "error",
            TurnStatus::Aborted => "aborted",
            TurnStatus::Steered => "steered",
        }
    }
}

impl TurnResult {
    /// `{ status, text?, conversationId, runId, error?, bound?, pendingQuestion? }`.
    pub fn to_json(&self) -> Object {
        let mut o = crate::object! { "status": self.status.as_str() };
        o.insert_some("text", self.text.as_deref());
        o.insert("conversationId", &self.conversation_id);
        o.insert("runId", &self.run_id);
        o.insert_some("error", self.error.as_ref().map(ErrorInfo::to_json));
        o.insert_some("bound", self.bound.map(Bound::to_json));
        o.insert_some("pendingQuestion", self.pending.clone());
        o
    }
}
