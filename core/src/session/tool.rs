//! The page's tools as the session knows them. Their handlers stay with the adapter.

use crate::Millis;
use crate::json::Object;
use crate::passthrough::FullArgs;

/// Milliseconds a handler may take unless its tool says otherwise.
pub const TOOL_TIMEOUT: Millis = 60_000;

/// A tool of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct PageTool {
    /// Letters, digits, `_` and `-`, 1 to 64 of them, unique in the list.
    pub name: String,
    /// What the model is told it does.
    pub description: String,
    /// JSON Schema of its arguments; `None` for a tool that takes none.
    pub parameters: Option<Object>,
    /// What people are told while it runs.
    pub running: Option<String>,
    /// What people are told when it is done.
    pub completed: Option<String>,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether the person is asked first.
    pub confirm: Confirm,
    /// How long the handler may take, in milliseconds.
    pub timeout: Millis,
}

/// How the person is asked before a tool runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Confirm {
    /// Not at all.
    #[default]
    Never,
    /// With a sentence of ours.
    Always,
    /// With this sentence.
    Sentence(String),
    /// With what the page's function says of the arguments:
    /// [`Output::AskTool`](super::Output::AskTool).
    PerCall,
}

/// Names one call of one tool, from the question to the handler's end; never used for
/// another call of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolRunId(pub u32);

/// A handler to run, or to ask about. Exactly one
/// [`Output::RunTool`](super::Output::RunTool) is ever made for one call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRun {
    /// Its number.
    pub id: ToolRunId,
    /// The tool: its handler of today.
    pub name: String,
    /// The model's id of the call.
    pub call_id: String,
    /// The conversation.
    pub conversation_id: String,
    /// What the handler is called with.
    pub arguments: FullArgs,
}
