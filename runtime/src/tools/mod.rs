//! What the runtime can run for a model: the tools of MCP servers and the search in
//! the session's knowledge.

mod widgets;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mindset_core::error::ErrorCode;
use mindset_core::event::ToolSource;
use mindset_core::json::Value;
use mindset_core::limits::TOOLS;
use mindset_core::turn::{ServerTool, ToolOutcome, ToolRequest};

use crate::config::{App, Config, McpServer};
use crate::dev;
use crate::error::{ApiError, ApiResult};
use crate::knowledge::Knowledge;
use crate::mcp::{Caller, LiveCall, McpFault, Offered, Servers};

/// For whom the tools of a run work, and what they may reach.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// Who calls, as MCP servers learn it.
    pub(crate) caller: Caller,
    /// Contexts that can be searched.
    pub(crate) contexts: Vec<String>,
    /// MCP servers that can be called.
    pub(crate) mcp_servers: Vec<String>,
}

/// The tools of one run.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// What can be called.
    pub(crate) tools: Vec<ServerTool>,
    /// What readers should know, such as a server that does not answer.
    pub(crate) warnings: Vec<String>,
    /// How many tools servers have beyond those they may list here.
    left_out: usize,
    /// Whether a server has more tools than were read.
    unread: bool,
}

impl Listed {
    /// Says how many tools are left out beside `page` tools of the page. A turn counts what it
    /// was given only, so where servers have more, it is given no more than it takes.
    pub(crate) fn fit(&mut self, page: usize) {
        if self.left_out == 0 && !self.unread {
            return;
        }
        let room = TOOLS.saturating_sub(page);
        let left_out = self.left_out + self.tools.len().saturating_sub(room);
        self.tools.truncate(room);
        let count = match (self.unread, left_out) {
            (false, count) => count.to_string(),
            (true, 0) => "some".to_owned(),
            (true, count) => format!("at least {count}"),
        };
        self.warnings.push(format!(
            "The agent has more tools than it can use: {count} of them are left out. Whoever runs it can choose among \
             them in the configuration."
        ));
    }
}

/// How a run deals with a server.
#[derive(Debug)]
struct Terms {
    /// Whether the turn fails without it.
    required: bool,
    /// The service of the application that serves it.
    service: Option<String>,
    /// What it is for.
    description: Option<String>,
    /// How long it may take to say what tools it has.
    patience: Duration,
}

/// Every tool of the runtime.
#[derive(Debug)]
pub(crate) struct Tools {
    knowledge: Knowledge,
    servers: Servers,
    /// What runs need to know of each server, by app and uid.
    terms: BTreeMap<(String, String), Terms>,
}

impl Tools {
    /// The search in `knowledge` and the MCP servers of the configuration.
    pub(crate) fn new(knowledge: Knowledge, config: &Config) -> Tools {
        let terms = config.apps.iter().flat_map(|app| {
            app.mcp_servers.iter().map(|server| {
                let terms = Terms {
                    required: server.required,
                    service: server.mount.as_ref().map(|mount| mount.service.clone()),
                    description: server.description.clone(),
                    patience: patience(app, server),
                };
                ((app.uid.clone(), server.uid.clone()), terms)
            })
        });
        Tools { knowledge, servers: Servers::new(config), terms: terms.collect() }
    }

    /// The tools for a run of `scope`; all servers are asked at once, each as long as its
    /// configuration lets it take.
    ///
    /// # Errors
    /// `agent-misconfigured`: a server without which the agent must not answer is down.
    pub(crate) async fn list(&self, scope: &Scope) -> ApiResult<Listed> {
        let (caller, begin) = (&scope.caller, Instant::now());
        let answers = join_all(scope.mcp_servers.iter().map(|uid| self.ask(caller, uid))).await;
        let mut listed = Listed::default();
        for answer in answers {
            match answer {
                Ok(offered) => {
                    listed.tools.extend(offered.tools);
                    listed.left_out += offered.left_out;
                    listed.unread |= offered.unread;
                }
                Err(fault) => listed.warnings.push(self.without(&caller.app, &fault)?),
            }
        }
        listed.tools.extend(self.knowledge.tool(&caller.app, &scope.contexts));
        let duration = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(
            servers = scope.mcp_servers.len(),
            tools = listed.tools.len(),
            duration,
            "tools listed"
        );
        Ok(listed)
    }

    async fn ask(&self, caller: &Caller, uid: &str) -> Result<Offered, McpFault> {
        let patience = self.terms(&caller.app, uid).map_or(Duration::ZERO, |terms| terms.patience);
        let asking = self.servers.tools(&caller.app, caller, uid);
        tokio::time::timeout(patience, asking).await.unwrap_or_else(|_| {
            Err(McpFault { server: uid.to_owned(), reason: "the server does not answer in time".to_owned() })
        })
    }

    fn terms(&self, app: &str, uid: &str) -> Option<&Terms> {
        self.terms.get(&(app.to_owned(), uid.to_owned()))
    }

    /// What readers are told of a server that cannot be used.
    fn without(&self, app: &str, fault: &McpFault) -> ApiResult<String> {
        tracing::warn!(server = fault.server, reason = fault.reason, "an MCP server cannot be used");
        let name = self.servers.name(app, &fault.server);
        let Some(terms) = self.terms(app, &fault.server).filter(|terms| terms.required) else {
            return Ok(format!("The tools of `{name}` are not available now; the answer does without."));
        };
        let message = match &terms.service {
            Some(service) => explained(name, service, &fault.reason),
            None => format!(
                "The agent cannot answer without the tools of `{name}`, which are not available. The operator finds \
                 the reason in the log; try again later."
            ),
        };
        let error = ApiError::new(ErrorCode::AgentMisconfigured, message).with("server", &*fault.server);
        let more = [("service", &terms.service), ("description", &terms.description)];
        let more = more.into_iter().filter_map(|(key, text)| Some((key, text.as_deref()?)));
        Err(more.fold(error, |error, (key, text)| error.with(key, text)))
    }

    /// The headers that the server of a call got, as they may be shown.
    pub(crate) fn shown_headers(&self, scope: &Scope, request: &ToolRequest) -> Vec<Value> {
        match &request.server {
            Some(server) => self.servers.show_headers(&scope.caller, server, dev::masked),
            None => Vec::new(),
        }
    }

    /// The call that runs on and has asked what `request` answers.
    pub(crate) fn waiting(&self, request: &ToolRequest) -> Option<LiveCall> {
        self.servers.waiting(request)
    }

    /// Ends the calls of a conversation that wait for an answer: none will come.
    pub(crate) fn release(&self, conversation: i64) {
        self.servers.release(conversation);
    }

    /// Runs one call of a conversation, once, or has the one that waits go on.
    pub(crate) async fn call(
        &self,
        scope: &Scope,
        request: &ToolRequest,
        of: (i64, Option<LiveCall>),
    ) -> ToolOutcome {
        let app = scope.caller.app.as_str();
        let outcome = match (request.source, &request.server) {
            (ToolSource::Builtin, _) => self.knowledge.search(app, &scope.contexts, request).await,
            (ToolSource::Mcp, Some(server)) if scope.mcp_servers.contains(server) => {
                self.servers.call(&scope.caller, request, of).await
            }
            (ToolSource::Mcp | ToolSource::Page, _) => {
                ToolOutcome::Failed(format!("There is no tool {}. Go on without it.", request.name))
            }
        };
        widgets::checked(outcome, &request.name, request.server.as_deref())
    }

    /// Closes the connections to all servers.
    pub(crate) async fn close(&self) {
        self.servers.close().await;
    }

    /// Ends the processes that served some of them.
    pub(crate) async fn end_services(&self) {
        self.servers.end_services().await;
    }
}

/// How long a server may take to say what tools it has.
fn patience(app: &App, server: &McpServer) -> Duration {
    let asked = server.connect_timeout + server.timeout.min(server.connect_timeout);
    let service = server.mount.as_ref().and_then(|m| app.services.iter().find(|s| s.uid == m.service));
    // It may have to be started first, and once more after a crash.
    asked + service.map_or(Duration::ZERO, |service| service.start_timeout * 2 + service.backoff)
}

/// Why an agent does not answer without a server that the application serves itself: what is wrong
/// is in the application, so whoever asks may be the one who mends it.
fn explained(name: &str, service: &str, reason: &str) -> String {
    let (what, remedy) = match reason.split_once(';') {
        Some((what, remedy)) => (what, remedy.trim().to_owned()),
        None => (reason, format!("mend the service `{service}`, which serves them")),
    };
    let mut remedy = remedy;
    if let Some(first) = remedy.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("The agent cannot answer without the tools of `{name}`: {what}. {remedy}.")
}
