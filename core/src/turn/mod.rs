//! The runtime's machine: one run of a turn, from the accepted input to the last
//! event. Model and client tools take turns until the model has nothing left to
//! ask, a bound is hit, or someone stops it.
//!
//! [`Turn::handle`] takes one [`Input`], then [`Turn::poll_output`] is drained.
//! The machine never learns who reads its events: a reader that goes away stops
//! nothing.

mod accept;
mod answer;
mod approvals;
mod arguments;
mod ask;
mod bounds;
mod calls;
mod citations;
mod conversation;
mod delegate;
mod ending;
mod files;
mod forward;
mod heard;
mod history;
mod model;
mod names;
mod page_tools;
mod prompt;
mod questions;
mod recover;
mod results;
mod resume;
mod running;
mod steer;
mod step;
mod tool;
mod toolset;

pub use approvals::{Approvals, fits};
pub use ask::{Approval, Ask, Asked, ToolAsk};
pub use bounds::{Bounds, Spend};
pub use conversation::{Conversation, Effect, StoredCall, StoredMessage, StoredRole};
pub use delegate::{ChildAsk, Delegate, Delegated};
pub use files::{FileLinks, MAX_FILES, StoredFile};
pub use model::{ModelCall, ModelEvent, ModelFailure, ModelMessage, ModelRequest, ModelTool, ModelUsage};
pub use recover::{Recovery, recover};
pub use steer::{Steer, Steers};
pub use tool::{ServerTool, Source, ToolAnswer, ToolOutcome, ToolQuestions, ToolReply, ToolRequest};

use crate::agui::{Event, RunAgentInput};
use crate::passthrough::Passthrough;
use crate::schema::Pattern;
use crate::{Millis, NextId};

/// What the agent is, for one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Agent {
    /// System prompt.
    pub instructions: String,
    /// The provider's name of the model, for the request and what it cost.
    pub model: String,
    /// What clients call it; empty: the same.
    pub model_id: String,
    /// Set when answers do not come from an AI; readers show it.
    pub disclosure: Option<String>,
    /// Limits.
    pub bounds: Bounds,
    /// What the runtime can run for the model in this run: the tools of the session's
    /// MCP servers and its own.
    pub tools: Vec<ServerTool>,
    /// Which of their calls a person has to allow.
    pub approvals: Approvals,
    /// Whether the model may ask the person something, by a tool called `ask_user`.
    pub ask_user: bool,
    /// Whether it may show them a plan for their word, by a tool called `review_plan`.
    pub plan_review: bool,
    /// Agents that the model may hand work to, by a tool called `delegate`.
    pub delegates: Vec<Delegate>,
    /// The run that has handed its work to this one.
    pub parent_run: Option<String>,
}

/// What the adapter lends a run.
pub struct Ports {
    /// Fresh ids.
    pub ids: Box<dyn NextId + Send>,
    /// Regular expressions for schemas.
    pub patterns: Box<dyn Pattern + Send>,
    /// Addresses of uploaded files.
    pub files: Box<dyn FileLinks + Send>,
    /// What is said to the turn while it runs.
    pub steers: Box<dyn Steers + Send>,
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ports")
    }
}

/// Everything that can happen to a run.
#[derive(Debug)]
pub enum Input {
    /// The model said something.
    Model(ModelEvent),
    /// A tool of [`Output::CallTool`] is done.
    Tool {
        /// The call.
        call_id: String,
        /// What came of it.
        outcome: ToolOutcome,
        /// How long it ran, in milliseconds.
        duration: u64,
    },
    /// An agent that work was handed to says this in its conversation.
    Child {
        /// The conversation.
        session: String,
        /// What.
        event: Box<Event>,
    },
    /// The page set its pass-through parameters anew; they count from the next call
    /// of a tool on.
    Passthrough(Passthrough),
    /// Someone stops the run.
    Cancel,
    /// The runtime is shutting down: end the run as interrupted, with what it has. The
    /// text is for people.
    Shutdown(String),
    /// Something of the runtime failed: end the run with this error.
    Fail(crate::error::ErrorInfo),
    /// Time passed.
    Tick,
}

/// What the run wants done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Call the model; its answer comes back as [`Input::Model`].
    CallModel(ModelRequest),
    /// Drop the running model call; nothing of it comes back.
    AbortModel,
    /// Run a tool, beside those that run already; it comes back as [`Input::Tool`].
    CallTool(ToolRequest),
    /// Drop every tool that runs; nothing of them comes back.
    AbortTools,
    /// Drop the stored message with this id and all that follow it.
    Truncate {
        /// The message.
        from: String,
    },
    /// Append messages to the stored conversation. Comes before the event that
    /// tells the reader.
    Store(Vec<StoredMessage>),
    /// The calls of a stored message wait for something else than before.
    StoreCalls {
        /// The message.
        message_id: String,
        /// All its calls.
        calls: Vec<StoredCall>,
    },
    /// Append an event to the run's log.
    Emit(Event),
    /// The run is over, and how. The last output.
    Done(RunState),
}

/// How a run ended, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// It ended well, or at a bound.
    Finished,
    /// It waits for the client's tools, or for a person.
    Waiting,
    /// It failed.
    Error,
    /// It was stopped.
    Cancelled,
}

/// Why an input cannot become a run. The adapter answers with the code's status.
pub type Refusal = crate::error::ErrorInfo;

/// One run of a turn.
pub struct Turn(running::Run);

impl Turn {
    /// Accepts `input` for the stored `conversation`, or says why not.
    ///
    /// # Errors
    /// A refusal with the code the adapter answers with; nothing was changed.
    pub fn start(
        input: RunAgentInput,
        agent: Agent,
        conversation: Conversation,
        ports: Ports,
        now: Millis,
    ) -> Result<Turn, Refusal> {
        running::Run::start(input, agent, conversation, ports, now).map(Turn)
    }

    /// Takes one input. Drain [`poll_output`](Self::poll_output) afterwards. After
    /// [`Output::Done`] inputs do nothing.
    pub fn handle(&mut self, input: Input, now: Millis) {
        self.0.handle(input, now);
    }

    /// The next effect, until there is none.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.0.poll_output()
    }

    /// When [`Input::Tick`] is due.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.0.poll_timeout()
    }
}

/// Without its content: prompts and messages do not belong in logs.
impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}
