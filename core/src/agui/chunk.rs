//! Chunk events: shorthand for start, content and end, from producers that learn
//! where a message ends only when the next one begins.

use super::Body;
use super::order::Kind;

/// The three chunk events, seen as one.
pub(super) struct Chunk {
    pub(super) kind: Kind,
    pub(super) id: Option<String>,
    pub(super) delta: Option<String>,
    /// The start event it stands for if it is the first, `None` if it lacks what
    /// that needs.
    pub(super) start: Option<Body>,
}

impl Chunk {
    /// `None` if `body` is no chunk.
    pub(super) fn of(body: &Body) -> Option<Chunk> {
        let (kind, id, delta) = match body {
            Body::TextMessageChunk { message_id, delta, .. } => (Kind::Text, message_id, delta),
            Body::ToolCallChunk { tool_call_id, delta, .. } => (Kind::Tool, tool_call_id, delta),
            Body::ReasoningMessageChunk { message_id, delta } => (Kind::Reasoning, message_id, delta),
            _ => return None,
        };
        let known = id.clone().unwrap_or_default();
        let start = match body {
            Body::TextMessageChunk { role, name, .. } => Some(Body::TextMessageStart {
                message_id: known,
                role: role.unwrap_or_default(),
                name: name.clone(),
            }),
            Body::ToolCallChunk { tool_call_name, parent_message_id, .. } => {
                tool_call_name.clone().map(|tool_call_name| Body::ToolCallStart {
                    tool_call_id: known,
                    tool_call_name,
                    parent_message_id: parent_message_id.clone(),
                })
            }
            _ => Some(Body::ReasoningMessageStart { message_id: known }),
        };
        Some(Chunk { kind, id: id.clone(), delta: delta.clone(), start })
    }
}

/// The event that goes on with what a chunk opened.
pub(super) fn go(kind: Kind, id: String, delta: String) -> Body {
    match kind {
        Kind::Tool => Body::ToolCallArgs { tool_call_id: id, delta },
        Kind::Reasoning => Body::ReasoningMessageContent { message_id: id, delta },
        _ => Body::TextMessageContent { message_id: id, delta },
    }
}

/// The event that ends what a chunk opened.
pub(super) fn end(kind: Kind, id: String) -> Body {
    match kind {
        Kind::Tool => Body::ToolCallEnd { tool_call_id: id },
        Kind::Reasoning => Body::ReasoningMessageEnd { message_id: id },
        _ => Body::TextMessageEnd { message_id: id },
    }
}
