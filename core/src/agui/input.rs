//! What a client posts to start a run.

use crate::json::{Object, Value};

/// The request that starts a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunAgentInput {
    /// The conversation.
    pub thread_id: String,
    /// The run; also the idempotency key of the request.
    pub run_id: String,
    /// The version the client speaks; absent from clients older than 1.0.
    pub protocol_version: Option<String>,
    /// The run that spawned this one.
    pub parent_run_id: Option<String>,
    /// Agent state, carried without being understood.
    pub state: Option<Value>,
    /// Messages, oldest first.
    pub messages: Vec<Message>,
    /// Tools the client runs.
    pub tools: Vec<Tool>,
    /// What the model should know for this run only.
    pub context: Vec<Context>,
    /// What AG-UI lacks; ours stands under `mindset`.
    pub forwarded_props: Option<Value>,
    /// Answers to open interrupts.
    pub resume: Vec<ResumeEntry>,
}

impl RunAgentInput {
    /// The member `key` of `forwardedProps.mindset`.
    pub fn mindset(&self, key: &str) -> Option<&Value> {
        self.forwarded_props.as_ref()?.get("mindset")?.get(key)
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Unique in its conversation.
    pub id: String,
    /// Who speaks.
    pub role: Role,
    /// A string or a list of content parts; `None` where a message has only tool
    /// calls.
    pub content: Option<Content>,
    /// The speaker's name.
    pub name: Option<String>,
    /// Calls of an assistant message.
    pub tool_calls: Vec<ToolCall>,
    /// The call a tool message answers.
    pub tool_call_id: Option<String>,
    /// Why the tool failed.
    pub error: Option<String>,
    /// The kind of an activity message, whose content is in `activity`.
    pub activity_type: Option<String>,
    /// The content of an activity message.
    pub activity: Option<Object>,
    /// Opaque provider state.
    pub encrypted_value: Option<String>,
    /// Extra information; ours stands under `mindset`.
    pub metadata: Option<Object>,
}

impl Message {
    /// A message with text.
    pub fn text(id: impl Into<String>, role: Role, text: impl Into<String>) -> Message {
        Message {
            id: id.into(),
            role,
            content: Some(Content::Text(text.into())),
            name: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            error: None,
            activity_type: None,
            activity: None,
            encrypted_value: None,
            metadata: None,
        }
    }

    /// The text: the string, or the text parts one after the other.
    pub fn plain_text(&self) -> String {
        match &self.content {
            Some(Content::Text(text)) => text.clone(),
            Some(Content::Parts(parts)) => {
                parts.iter().filter_map(|p| p.get("text").and_then(Value::as_str)).collect()
            }
            None => String::new(),
        }
    }
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Role {
    Developer,
    System,
    Assistant,
    User,
    Tool,
    Activity,
    Reasoning,
}

impl Role {
    /// Every role with its name on the wire.
    pub const ALL: &[(Role, &str)] = &[
        (Role::Developer, "developer"),
        (Role::System, "system"),
        (Role::Assistant, "assistant"),
        (Role::User, "user"),
        (Role::Tool, "tool"),
        (Role::Activity, "activity"),
        (Role::Reasoning, "reasoning"),
    ];

    /// The role as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        Role::ALL.iter().find(|(role, _)| *role == self).map_or("user", |(_, name)| name)
    }

    /// The role written `text`.
    pub fn parse(text: &str) -> Option<Role> {
        Role::ALL.iter().find(|(_, name)| *name == text).map(|(role, _)| *role)
    }
}

/// What a message says.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Text and media parts, kept as they came.
    Parts(Vec<Value>),
}

/// A call that an assistant message makes.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Unique in its conversation.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text, as the model wrote it.
    pub arguments: String,
}

/// A tool that the client runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// What the model calls it.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Option<Value>,
    /// Extra information.
    pub metadata: Option<Object>,
}

/// Something the model should know for this run only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// What it is.
    pub description: String,
    /// The thing itself.
    pub value: String,
}

/// The answer to an open interrupt.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumeEntry {
    /// The interrupt.
    pub interrupt_id: String,
    /// `resolved` or `cancelled`.
    pub status: String,
    /// The answer.
    pub payload: Option<Value>,
    /// Extra information.
    pub metadata: Option<Object>,
}
