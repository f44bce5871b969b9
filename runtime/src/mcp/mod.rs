//! Tools of MCP servers: Streamable HTTP, revision 2026-07-28 with fallback to
//! 2025-11-25, over the client of the crate `rmcp`.
//!
//! What rmcp leaves to others is here: who is connected (one connection per caller
//! and server, never shared), what happens when a server loses a session, and
//! which of a server's words may go on. Servers come only from the configuration.
//! A call is never sent twice unless the server has said that it did not run.

mod address;
mod connection;
mod fault;
mod form;
mod headers;
mod http;
mod live;
mod outcome;
mod slot;
mod stream;
#[cfg(test)]
mod tests;
mod tools;
mod widget;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use mindset_core::event::Widget;
use mindset_core::json::{self, Value};
use mindset_core::questionnaire::Questionnaire;
use mindset_core::turn::{ToolOutcome, ToolQuestions, ToolRequest};
use reqwest::header::{HeaderName, HeaderValue};

use self::fault::RequestFault;
use self::live::{Came, Kept};
use self::slot::Slot;
use crate::config::{Config, McpServer};
use crate::managed::{Service, Services};

pub(crate) use self::fault::McpFault;
pub(crate) use self::headers::Mask;
pub(crate) use self::live::LiveCall;
pub(crate) use self::tools::Offered;

/// Most connections of the process.
const MAX_CONNECTIONS: usize = 1024;

/// How long closing everything may take.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// How often unused connections are looked for, at most and at least.
const SWEEP: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(30));

/// Who a session is to MCP servers: equal callers share a connection, different
/// ones never do.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Caller {
    /// One name per app, user and agent session.
    pub(crate) session: String,
    /// The user: `x-user-id`.
    pub(crate) user: String,
    /// The app: `x-app-uid`.
    pub(crate) app: String,
    /// The runtime's own name for the user: `x-human-uid`.
    pub(crate) human: String,
    /// The session's tags: `x-session-tags`.
    pub(crate) tags: Vec<String>,
}

/// Whom it names stays out.
impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("app", &self.app).finish_non_exhaustive()
    }
}

/// All MCP connections of the process. Clones share them.
#[derive(Clone)]
pub(crate) struct Servers(Arc<Inner>);

struct Inner {
    /// By app and uid.
    servers: BTreeMap<(String, String), Arc<McpServer>>,
    services: Services,
    slots: Mutex<HashMap<(Caller, String), Arc<Slot>>>,
    /// Calls that wait for an answer.
    kept: Kept,
    sweeping: AtomicBool,
    closed: AtomicBool,
    most: usize,
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Servers").field("configured", &self.0.servers.len()).finish_non_exhaustive()
    }
}

impl Servers {
    /// The servers of all apps; connects to none yet.
    pub(crate) fn new(config: &Config) -> Servers {
        Servers::with_at_most(config, MAX_CONNECTIONS)
    }

    fn with_at_most(config: &Config, most: usize) -> Servers {
        let servers = config.apps.iter().flat_map(|app| {
            let of_app = |s: &McpServer| ((app.uid.clone(), s.uid.clone()), Arc::new(s.clone()));
            app.mcp_servers.iter().map(of_app)
        });
        Servers(Arc::new(Inner {
            servers: servers.collect(),
            services: Services::new(config),
            slots: Mutex::default(),
            kept: Kept::default(),
            sweeping: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            most,
        }))
    }

    /// A server's name for people: its title, else its uid.
    pub(crate) fn name<'s>(&'s self, app: &str, uid: &'s str) -> &'s str {
        let server = self.0.servers.get(&(app.to_owned(), uid.to_owned()));
        server.and_then(|s| s.title.as_deref()).unwrap_or(uid)
    }

    /// The tools of an app's server for `caller`. Connects when needed; the list is
    /// kept until the server says that it has changed, at most a minute.
    ///
    /// # Errors
    /// The server is not there, refuses, or does not speak MCP.
    pub(crate) async fn tools(&self, app: &str, caller: &Caller, server: &str) -> Result<Offered, McpFault> {
        let fault = |reason: String| McpFault { server: server.to_owned(), reason };
        let slot = self.slot(app, caller, server).map_err(fault)?;
        slot.tools().await.map_err(|e| fault(e.reason()))
    }

    /// The headers of every request for `caller` to a server, each as `show` makes it
    /// of name and value.
    pub(crate) fn show_headers<T>(
        &self,
        caller: &Caller,
        server: &str,
        show: impl Fn(&str, &str) -> T,
    ) -> Vec<T> {
        let configured = self.0.servers.get(&(caller.app.clone(), server.to_owned()));
        let headers = configured.and_then(|server| headers::headers(caller, server).ok()).unwrap_or_default();
        let shown =
            |(name, value): (&HeaderName, &HeaderValue)| show(name.as_str(), value.to_str().unwrap_or(""));
        headers.iter().map(shown).collect()
    }

    /// The call that runs on and has asked what `request` answers, if it is still there.
    pub(crate) fn waiting(&self, request: &ToolRequest) -> Option<LiveCall> {
        let answer = request.answer.as_ref().filter(|answer| answer.asked.live)?;
        self.0.kept.take(&answer.asked)
    }

    /// Ends the calls of a conversation that wait for an answer: none will come.
    pub(crate) fn release(&self, conversation: i64) {
        self.0.kept.release(conversation);
    }

    /// Runs a call for a conversation, or has the one that waits go on. Dropped before it ends, it
    /// tells the server to stop.
    pub(crate) async fn call(
        &self,
        caller: &Caller,
        request: &ToolRequest,
        (conversation, waiting): (i64, Option<LiveCall>),
    ) -> ToolOutcome {
        let live = request.answer.as_ref().is_some_and(|answer| answer.asked.live);
        let retry = request.answer.as_ref().map(form::retry).transpose();
        let mut call = match (live, waiting, retry) {
            (true, None, _) => {
                return ToolOutcome::Unknown(
                    "The server asked the person something, and the connection over which it waited was lost."
                        .to_owned(),
                );
            }
            (true, Some(call), Err(mut again)) => {
                self.0.kept.keep(conversation, call, &mut again);
                return ToolOutcome::Asks(again);
            }
            (_, _, Err(again)) => return ToolOutcome::Asks(again),
            (true, Some(mut call), Ok(answer)) => {
                call.answer(&answer.unwrap_or_default());
                call
            }
            (false, _, Ok(retry)) => match self.begin(caller, request, retry) {
                Ok(call) => call,
                Err(reason) => return not_run(&reason),
            },
        };
        let slot = Arc::clone(&call.slot);
        let outcome = match call.next().await {
            Came::Done(Ok(result)) => outcome::outcome(&result),
            Came::Done(Err(fault)) => failed(fault),
            Came::Asks(mut asked) => {
                self.0.kept.keep(conversation, call, &mut asked);
                ToolOutcome::Asks(asked)
            }
        };
        let outcome = masked(outcome, slot.mask());
        match outcome {
            // What a tool does with its arguments is its own affair. An error that
            // recites them is an accident, and some of them are not for the model.
            ToolOutcome::Failed(_) => masked(outcome, &given(request)),
            outcome => outcome,
        }
    }

    /// The call, not yet sent.
    fn begin(
        &self,
        caller: &Caller,
        request: &ToolRequest,
        retry: Option<form::Retry>,
    ) -> Result<LiveCall, String> {
        let server = request.server.as_deref().unwrap_or_default();
        let slot = self.slot(&caller.app, caller, server)?;
        if !self
            .0
            .servers
            .get(&(caller.app.clone(), server.to_owned()))
            .is_some_and(|s| s.offers(&request.name))
        {
            return Err("the tool is not offered".to_owned());
        }
        Ok(LiveCall::new(slot, &request.name, request.arguments.expose(), retry))
    }

    /// Closes all connections, for good.
    pub(crate) async fn close(&self) {
        self.0.closed.store(true, Ordering::Relaxed);
        self.0.kept.clear();
        let slots: Vec<Arc<Slot>> = self.0.lock().drain().map(|(_, slot)| slot).collect();
        // One that is just being opened would be waited for.
        let closing = join_all(slots.iter().map(|slot| slot.close()));
        let _ = tokio::time::timeout(CLOSE_PATIENCE, closing).await;
    }

    /// Ends the services, for good. Connections to them are closed before.
    pub(crate) async fn end_services(&self) {
        self.0.services.end().await;
    }

    /// The place of the connection for `caller`.
    fn slot(&self, app: &str, caller: &Caller, server: &str) -> Result<Arc<Slot>, String> {
        let configured = self.0.servers.get(&(app.to_owned(), server.to_owned()));
        let configured = configured.ok_or("no such server is configured")?;
        let mut slots = self.0.lock();
        if self.0.closed.load(Ordering::Relaxed) {
            return Err("the runtime is going down".into());
        }
        let key = (caller.clone(), server.to_owned());
        if let Some(slot) = slots.get(&key) {
            return Ok(Arc::clone(slot));
        }
        let headers = headers::headers(caller, configured)?;
        if slots.len() >= self.0.most {
            let unused = slots.iter().filter(|(_, slot)| Arc::strong_count(slot) == 1);
            let oldest = unused.max_by_key(|(_, slot)| slot.unused()).map(|(key, _)| key.clone());
            slots.remove(&oldest.ok_or("there are too many connections to MCP servers")?);
        }
        let service = self.service(app, configured)?;
        let mask = Mask::new(caller, configured);
        let slot = Arc::new(Slot::new(Arc::clone(configured), service, headers, mask));
        slots.insert(key, Arc::clone(&slot));
        drop(slots);
        self.sweep_from_now();
        Ok(slot)
    }

    /// The service that serves a server, if one does.
    fn service(&self, app: &str, server: &McpServer) -> Result<Option<Service>, String> {
        let Some(mount) = &server.mount else { return Ok(None) };
        let service = self.0.services.get(app, &mount.service).cloned();
        service.map(Some).ok_or_else(|| format!("there is no service `{}`", mount.service))
    }

    /// Closes unused connections from time to time, as long as there are servers.
    fn sweep_from_now(&self) {
        if self.0.sweeping.swap(true, Ordering::Relaxed) {
            return;
        }
        let idle = self.0.servers.values().map(|s| s.idle).min().unwrap_or(SWEEP.1);
        let pause = (idle / 4).clamp(SWEEP.0, SWEEP.1);
        let inner = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(inner) = inner.upgrade() else { return };
                // Nobody else can get at a slot while the list is locked.
                inner.lock().retain(|_, slot| Arc::strong_count(slot) > 1 || !slot.is_idle());
            }
        });
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, HashMap<(Caller, String), Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The texts and numbers among the arguments that did not come from the model.
fn given(request: &ToolRequest) -> Mask {
    let mut texts = Vec::new();
    let mut open: Vec<&Value> = request.arguments.supplied().map(|(_, value)| value).collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => texts.push(text.clone()),
            Value::Number(_) => texts.push(value.text()),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.iter().map(|(_, member)| member)),
            _ => {}
        }
    }
    Mask::of(texts)
}

/// What the model is told; what the operator can do about it stays in the log.
fn not_run(reason: &str) -> ToolOutcome {
    let reason = reason.split(';').next().unwrap_or(reason);
    ToolOutcome::Failed(format!("The call was not carried out: {reason}."))
}

fn failed(fault: RequestFault) -> ToolOutcome {
    match fault {
        RequestFault::Reported(code, text) if text.trim().is_empty() => {
            ToolOutcome::Failed(format!("The server reported the error {code} and said no more."))
        }
        RequestFault::Reported(_, text) => ToolOutcome::Failed(text),
        RequestFault::Unknown(reason) => {
            ToolOutcome::Unknown(format!("It is not known whether the call was carried out: {reason}."))
        }
        fault => not_run(&fault.reason()),
    }
}

fn masked(outcome: ToolOutcome, mask: &Mask) -> ToolOutcome {
    match outcome {
        ToolOutcome::Done { content, sources, widgets } => {
            let shown = |widget: Widget| {
                // Masking leaves strings strings, so what was JSON stays JSON.
                let doc = json::parse(&mask.apply(widget.doc.text())).unwrap_or_default();
                Widget::new(widget.kind, doc, mask.apply(widget.summary))
            };
            let widgets = widgets.into_iter().map(shown).collect();
            ToolOutcome::Done { content: mask.apply(content), sources, widgets }
        }
        ToolOutcome::Failed(text) => ToolOutcome::Failed(mask.apply(text)),
        ToolOutcome::Unknown(text) => ToolOutcome::Unknown(mask.apply(text)),
        // No server's.
        ToolOutcome::Worked { .. } | ToolOutcome::Waits(_) => outcome,
        // What goes back to the server stays as it is.
        ToolOutcome::Asks(asked) => {
            let shown = mask.apply(asked.questions.to_json().text());
            let questions = json::parse(&shown).ok().and_then(|shown| Questionnaire::from_json(&shown));
            let ToolQuestions { state, live, .. } = *asked;
            match questions {
                Some(questions) => ToolOutcome::Asks(Box::new(ToolQuestions { questions, state, live })),
                None => ToolOutcome::Failed("The tool asks what cannot be shown.".to_owned()),
            }
        }
    }
}
