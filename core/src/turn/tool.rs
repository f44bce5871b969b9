//! Tools that the runtime runs: MCP servers' and its own.

use crate::event::{Citation, ToolSource, Widget};
use crate::json::{Object, Value};
use crate::passthrough::{FullArgs, ToolName};
use crate::questionnaire::{Questionnaire, StepAnswer};

use super::{Delegated, ModelUsage, StoredCall};

/// A tool the runtime can run for the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerTool {
    /// Who runs it: `Mcp` or `Builtin`.
    pub source: ToolSource,
    /// The MCP server's uid.
    pub server: Option<String>,
    /// The name the server calls it by.
    pub name: String,
    /// What the model is told it does.
    pub description: String,
    /// What people are told while it runs and after, for example its title.
    pub title: Option<String>,
    /// The declared schema as the server gave it: usually an object, may be anything.
    pub parameters: Option<Value>,
    /// Whether it is known to change nothing.
    pub read_only: bool,
}

impl ServerTool {
    /// How pass-through keys name it.
    pub fn key_name(&self) -> ToolName<'_> {
        ToolName { server: self.server.as_deref(), tool: &self.name }
    }

    /// Its schema as an object; of anything else nothing is known.
    pub fn declared(&self) -> Object {
        self.parameters.as_ref().and_then(Value::as_object).cloned().unwrap_or_default()
    }
}

/// A call for the runtime to run, once.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRequest {
    /// The call.
    pub call_id: String,
    /// Who runs it.
    pub source: ToolSource,
    /// The MCP server's uid.
    pub server: Option<String>,
    /// The name the server calls it by.
    pub name: String,
    /// Its arguments, complete: for the tool and nobody else.
    pub arguments: FullArgs,
    /// What the person has answered, if the call asked something the last time.
    pub answer: Option<ToolAnswer>,
    /// The work that it hands to another agent.
    pub work: Option<Delegated>,
}

/// What a call asks before it goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolQuestions {
    /// The questions; their id is given by the turn.
    pub questions: Questionnaire,
    /// What the call needs to go on with the answers, by its own rules. It is stored.
    pub state: Value,
    /// The call runs on and waits for the answer, so nobody knows what it has done so far. It
    /// is not made again: the answer goes to the call that runs.
    pub live: bool,
}

/// The answer to [`ToolQuestions`].
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// What was asked.
    pub asked: ToolQuestions,
    /// What the person has said.
    pub reply: ToolReply,
}

/// What a person says to the questions of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolReply {
    /// The answers, one for each step.
    Answers(Vec<StepAnswer>),
    /// They will not answer.
    Decline,
    /// They closed the questions, or there is nobody.
    Cancel,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    /// It did what it should.
    Done {
        /// What the model is told.
        content: String,
        /// What the content rests on; the turn numbers them and puts the text behind
        /// `content`.
        sources: Vec<Source>,
        /// What the person is shown besides.
        widgets: Vec<Widget>,
    },
    /// It failed, in a way it reports itself.
    Failed(String),
    /// The connection broke: it may or may not have acted. Never repeated.
    Unknown(String),
    /// It asks the person something, and is to be called again with the answer; a live one
    /// runs on until then.
    Asks(Box<ToolQuestions>),
    /// The agent that it was handed to has done its work.
    Worked {
        /// What that said last.
        content: String,
        /// What its model calls cost.
        usage: ModelUsage,
    },
    /// That agent asks people something by these calls before it goes on.
    Waits(Vec<StoredCall>),
}

/// Something that was found and can be cited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its title.
    pub title: String,
    /// Where it can be read.
    pub url: Option<String>,
    /// What it says.
    pub text: String,
}

impl Source {
    /// The citation under `marker`.
    pub fn cited_as(&self, marker: String) -> Citation {
        Citation { marker, title: self.title.clone(), url: self.url.clone() }
    }
}
