//! A conversation as it is stored.

use crate::Millis;
use crate::event::MessageStatus;
use crate::json::Object;

/// A stored conversation, loaded for one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    /// Its id; the wire calls it thread.
    pub id: String,
    /// Messages, oldest first, tool messages and silent ones included.
    pub messages: Vec<StoredMessage>,
}

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Unique in its conversation.
    pub id: String,
    /// The run that made it.
    pub run_id: String,
    /// Who speaks.
    pub role: StoredRole,
    /// The text, or a tool's result.
    pub content: String,
    /// Sent by the page, not shown in the transcript.
    pub silent: bool,
    /// Calls of an assistant message.
    pub calls: Vec<StoredCall>,
    /// The call a tool message answers.
    pub call_id: Option<String>,
    /// How it ended, if not well. With `Error` on a tool message the tool failed.
    pub status: Option<MessageStatus>,
    /// Opaque provider state, goes back only to that provider.
    pub provider_state: Option<Object>,
    /// When it was stored.
    pub created_at: Millis,
}

/// Who speaks in a stored message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredRole {
    /// The person, or the page in their name.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

impl StoredRole {
    /// The role as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            StoredRole::User => "user",
            StoredRole::Assistant => "assistant",
            StoredRole::Tool => "tool",
        }
    }

    /// The role stored as `text`.
    pub fn parse(text: &str) -> Option<StoredRole> {
        match text {
            "user" => Some(StoredRole::User),
            "assistant" => Some(StoredRole::Assistant),
            "tool" => Some(StoredRole::Tool),
            _ => None,
        }
    }
}

/// A call of a stored assistant message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCall {
    /// Unique in its conversation.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text, as the model wrote it.
    pub arguments: String,
}
