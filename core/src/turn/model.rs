//! What is said to a model and what comes back, the same for every provider.

use crate::event::Reason;
use crate::json::Object;
use crate::passthrough::VisibleSchema;

/// One model call. Everything of the conversation that the model may know is in
/// here, and nothing else reaches it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The model's name.
    pub model: String,
    /// Instructions, then the awareness block.
    pub system: String,
    /// Messages, oldest first. Each call has exactly one result directly after the
    /// message that makes it, and no result stands alone.
    pub messages: Vec<ModelMessage>,
    /// Tools the model may call.
    pub tools: Vec<ModelTool>,
}

/// A message as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelMessage {
    /// The person, or the page in their name.
    User(String),
    /// The model itself, earlier.
    Assistant {
        /// What it said.
        text: String,
        /// What it called.
        calls: Vec<ModelCall>,
        /// What its provider wants back with the message, understood only by that
        /// provider's adapter.
        provider_state: Option<Object>,
    },
    /// The result of a call.
    Tool {
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
        /// What came out.
        content: String,
        /// Whether it failed.
        failed: bool,
    },
}

/// A call the model makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// Unique in the conversation.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text. Empty arguments are `{}` here.
    pub arguments: String,
}

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTool {
    /// What the model calls it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What its arguments are, without what the page supplies.
    pub parameters: VisibleSchema,
}

/// A piece of a model's answer, as the provider adapters tell it. After
/// [`End`](Self::End) or [`Failed`](Self::Failed) nothing follows.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// A piece of the answer.
    Text(String),
    /// A piece of the thinking, for display.
    Thinking(String),
    /// A call begins. `key` is the adapter's own handle, unique in this answer.
    CallStart {
        /// The adapter's handle.
        key: u32,
        /// The provider's id, if it gave one.
        id: Option<String>,
        /// The tool.
        name: String,
    },
    /// A piece of a call's arguments.
    CallArguments {
        /// The adapter's handle.
        key: u32,
        /// JSON text.
        delta: String,
    },
    /// What the provider wants back with this message.
    ProviderState(Object),
    /// The answer is whole; sent only when the provider said so.
    End {
        /// What it cost.
        usage: Option<ModelUsage>,
    },
    /// The call failed or broke off.
    Failed(ModelFailure),
}

/// Why a model call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFailure {
    /// `ModelError`, `RateLimited`, `ContextTooLong`, `Timeout`, `Interrupted` (the
    /// stream just ended) or `Unauthorized` (the key is refused).
    pub reason: Reason,
    /// What happened, safe to show: no key, no prompt.
    pub message: String,
    /// Whether trying again can help.
    pub retryable: bool,
}

/// What a model call cost, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelUsage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

impl ModelUsage {
    /// Counts another call in.
    pub fn add(&mut self, more: ModelUsage) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
    }
}
