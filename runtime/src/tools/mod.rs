//! What the runtime can run for a model: the tools of MCP servers and the search in
//! the session's knowledge.

use mindset_core::event::ToolSource;
use mindset_core::json::Value;
use mindset_core::turn::{ServerTool, ToolOutcome, ToolRequest};

use crate::dev;
use crate::error::ApiResult;
use crate::knowledge::Knowledge;

/// For whom the tools of a run work, and what they may reach.
#[derive(Clone)]
pub(crate) struct Scope {
    /// The app.
    pub(crate) app: String,
    /// `agentUid::sessionUid`, or the plain agent uid.
    pub(crate) session: String,
    /// What the customer's backend calls the user; for an anonymous one the store's id.
    pub(crate) user: String,
    /// The user's id in the store.
    pub(crate) human: String,
    /// The session's tags.
    pub(crate) tags: Vec<String>,
    /// Contexts that can be searched.
    pub(crate) contexts: Vec<String>,
    /// MCP servers that can be called.
    pub(crate) mcpservers: Vec<String>,
}

/// Without the person and the tags.
impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").field("app", &self.app).finish_non_exhaustive()
    }
}

/// The tools of one run.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// What can be called.
    pub(crate) tools: Vec<ServerTool>,
    /// What readers should know, such as a server that does not answer.
    pub(crate) warnings: Vec<String>,
}

/// Every tool of the runtime.
#[derive(Debug)]
pub(crate) struct Tools {
    knowledge: Knowledge,
}

impl Tools {
    /// Tools over these.
    pub(crate) fn new(knowledge: Knowledge) -> Tools {
        Tools { knowledge }
    }

    /// The tools for a run of `scope`.
    ///
    /// # Errors
    /// `agent-misconfigured`: a server without which the agent must not answer is down.
    pub(crate) async fn list(&self, scope: &Scope) -> ApiResult<Listed> {
        let mut listed = Listed::default();
        listed.tools.extend(self.knowledge.tool(&scope.app, &scope.contexts));
        Ok(listed)
    }

    /// The headers that the server of a call got, as they may be shown.
    pub(crate) fn shown_headers(&self, scope: &Scope, request: &ToolRequest) -> Vec<Value> {
        if request.source != ToolSource::Mcp {
            return Vec::new();
        }
        vec![dev::header("x-user-id", &scope.user), dev::header("x-human-uid", &scope.human)]
    }

    /// Runs one call, once.
    pub(crate) async fn call(&self, scope: &Scope, request: &ToolRequest) -> ToolOutcome {
        match request.source {
            ToolSource::Builtin => self.knowledge.search(&scope.app, &scope.contexts, request).await,
            ToolSource::Page | ToolSource::Mcp => {
                ToolOutcome::Failed(format!("There is no tool {}. Go on without it.", request.name))
            }
        }
    }
}
