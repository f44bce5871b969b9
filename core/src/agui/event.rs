//! The events of a run.

use crate::json::{Object, Value};

use super::Message;

/// One event of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What happened.
    pub body: Body,
    /// When, in milliseconds since the epoch, if the producer says so.
    pub timestamp: Option<u64>,
    /// Extra information; ours stands under `mindset`.
    pub metadata: Option<Object>,
    /// The subagent invocation the event belongs to.
    pub subagent_run_id: Option<String>,
}

impl Event {
    /// An event without time and metadata.
    pub fn new(body: Body) -> Event {
        Event { body, timestamp: None, metadata: None, subagent_run_id: None }
    }

    /// The same with `metadata.mindset = fields`; an empty object adds nothing.
    #[must_use]
    pub fn with_mindset(mut self, fields: Object) -> Event {
        if !fields.is_empty() {
            self.metadata.get_or_insert_with(Object::new).insert("mindset", fields);
        }
        self
    }

    /// The member `key` of `metadata.mindset`.
    pub fn mindset(&self, key: &str) -> Option<&Value> {
        self.metadata.as_ref()?.get("mindset")?.get(key)
    }
}

/// What an event says. Field names are the protocol's in snake case.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Body {
    TextMessageStart {
        message_id: String,
        role: TextRole,
        name: Option<String>,
    },
    TextMessageContent {
        message_id: String,
        delta: String,
    },
    TextMessageEnd {
        message_id: String,
    },
    TextMessageChunk {
        message_id: Option<String>,
        role: Option<TextRole>,
        delta: Option<String>,
        name: Option<String>,
    },
    ToolCallStart {
        tool_call_id: String,
        tool_call_name: String,
        parent_message_id: Option<String>,
    },
    ToolCallArgs {
        tool_call_id: String,
        delta: String,
    },
    ToolCallEnd {
        tool_call_id: String,
    },
    ToolCallChunk {
        tool_call_id: Option<String>,
        tool_call_name: Option<String>,
        parent_message_id: Option<String>,
        delta: Option<String>,
    },
    /// `content` is a string or a list of content parts.
    ToolCallResult {
        message_id: String,
        tool_call_id: String,
        content: Value,
    },
    StateSnapshot {
        snapshot: Value,
    },
    /// A JSON Patch.
    StateDelta {
        delta: Vec<Value>,
    },
    MessagesSnapshot {
        messages: Vec<Message>,
    },
    ActivitySnapshot {
        message_id: String,
        activity_type: String,
        content: Object,
        replace: Option<bool>,
    },
    ActivityDelta {
        message_id: String,
        activity_type: String,
        patch: Vec<Value>,
    },
    Raw {
        event: Value,
        source: Option<String>,
    },
    Custom {
        name: String,
        value: Value,
    },
    RunStarted {
        thread_id: String,
        run_id: String,
        protocol_version: Option<String>,
        parent_run_id: Option<String>,
    },
    /// `outcome` is absent from peers older than 1.0.
    RunFinished {
        thread_id: String,
        run_id: String,
        result: Option<Value>,
        outcome: Option<Outcome>,
        usage: Vec<TokenUsage>,
    },
    RunError {
        message: String,
        code: Option<String>,
        usage: Vec<TokenUsage>,
    },
    StepStarted {
        step_name: String,
    },
    StepFinished {
        step_name: String,
    },
    ReasoningStart {
        message_id: String,
    },
    ReasoningMessageStart {
        message_id: String,
    },
    ReasoningMessageContent {
        message_id: String,
        delta: String,
    },
    ReasoningMessageEnd {
        message_id: String,
    },
    ReasoningMessageChunk {
        message_id: Option<String>,
        delta: Option<String>,
    },
    ReasoningEnd {
        message_id: String,
    },
    ReasoningEncryptedValue {
        subtype: String,
        entity_id: String,
        encrypted_value: String,
    },
    SubagentStarted {
        subagent_run_id: String,
        name: String,
        description: Option<String>,
        parent_subagent_run_id: Option<String>,
        parent_tool_call_id: Option<String>,
        parent_message_id: Option<String>,
    },
    SubagentFinished {
        subagent_run_id: String,
        result: Option<Value>,
        outcome: Option<Value>,
    },
    SubagentError {
        subagent_run_id: String,
        message: String,
        code: Option<String>,
    },
}

/// Who speaks in a streamed text message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum TextRole {
    Developer,
    System,
    #[default]
    Assistant,
    User,
}

impl TextRole {
    /// The role as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            TextRole::Developer => "developer",
            TextRole::System => "system",
            TextRole::Assistant => "assistant",
            TextRole::User => "user",
        }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is done, or waits for the client's tools named here.
    Success {
        /// Calls that the client must answer in the next run.
        pending_tool_call_ids: Vec<String>,
    },
    /// It waits for a person.
    Interrupt {
        /// What is asked.
        interrupts: Vec<Interrupt>,
    },
    /// It was stopped.
    Cancelled,
}

/// A question to a person that a run ended with.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Interrupt {
    pub id: String,
    pub reason: String,
    pub message: Option<String>,
    pub tool_call_id: Option<String>,
    pub response_schema: Option<Object>,
    pub expires_at: Option<String>,
    pub metadata: Option<Object>,
}

/// What a model call cost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct TokenUsage {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
    pub reasoning_tokens: Option<u64>,
    pub cached_input_tokens: Option<u64>,
    pub cache_write_input_tokens: Option<u64>,
}
