//! A small agent runtime in memory: the routes a session calls, a store, and one
//! turn per run. It answers as the real one does.

mod conversations;
mod events;
mod queue;
mod tools;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mindset_core::agui::{DecodeError, RunAgentInput, Tool, decode_input};
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::Feedback;
use mindset_core::json::{Object, Value, parse};
use mindset_core::object;
use mindset_core::session::{FetchFailure, FetchId, FetchPurpose, FetchRequest};
use mindset_core::time::iso_8601;
use mindset_core::turn::{
    Agent, Input, ModelEvent, Output, Ports, RunState, StoredMessage, StoredRole, ToolRequest, Turn,
};

use super::model::ScriptedModel;
use super::network::Network;
use super::page::line;
use super::patterns::Plain;
use super::{Effect, Part};
use events::Run;
pub use tools::{Handler, ToolDone};

/// Where the server lives.
pub const BASE: &str = "https://runtime.example";

/// An answer that takes the place of the server's own.
pub struct Canned {
    pub purpose: FetchPurpose,
    /// 0 is no answer at all.
    pub status: u16,
    pub content_type: &'static str,
    pub body: &'static str,
}

pub struct Server {
    pub model: ScriptedModel,
    pub agent: Agent,
    /// Tools every run is taken to bring.
    pub tools: Vec<Tool>,
    /// What the agent's own tools do.
    pub handler: Handler,
    /// Calls of the agent's own tools, oldest first.
    pub called: Vec<ToolRequest>,
    /// Results that nobody waited for any more.
    pub late: u32,
    /// Milliseconds between signs of life on a stream; 0 for none.
    pub ping: u64,
    /// Answers for the next requests of their purpose.
    pub canned: VecDeque<Canned>,
    /// Tokens that are good.
    pub tokens: BTreeSet<String>,
    pub store: BTreeMap<String, Vec<StoredMessage>>,
    /// How the runs ended, oldest first.
    pub ended: Vec<RunState>,
    /// Bodies of the runs that were posted, oldest first.
    pub posted: Vec<String>,
    /// Bytes of the streams, oldest run first.
    pub streams: Vec<Vec<u8>>,
    /// What the model did not say after it was dropped.
    pub aborted: u32,
    /// Pass-through parameters that running runs were told of.
    pub changed: Vec<Object>,
    /// Open calls that were closed by a cancel.
    pub closed: usize,
    /// Whose the last run of each conversation was.
    clients: BTreeMap<String, String>,
    /// Titles of conversations that were renamed.
    pub titles: BTreeMap<String, String>,
    /// How many conversations an answer lists; all, unless a test says so.
    pub listed: Option<usize>,
    /// What is thought of answers.
    pub feedback: BTreeMap<String, Feedback>,
    /// Conversations that were deleted.
    pub deleted: Vec<String>,
    /// Milliseconds a token is good, told as its end; 0 tells none.
    pub token_life: u64,
    runs: BTreeMap<String, Run>,
    /// Runs that wait.
    line: queue::Shared,
    /// What follows from something besides an answer.
    pending: Vec<Effect>,
    /// Tokens that were handed out.
    pub issued: u32,
}

impl Server {
    pub fn new(model: ScriptedModel) -> Server {
        let agent = Agent { instructions: "Be kind.".into(), model: "scripted".into(), ..Agent::default() };
        Server {
            model,
            agent,
            tools: Vec::new(),
            handler: tools::echo(),
            called: Vec::new(),
            late: 0,
            ping: 15_000,
            canned: VecDeque::new(),
            tokens: BTreeSet::new(),
            store: BTreeMap::new(),
            ended: Vec::new(),
            posted: Vec::new(),
            streams: Vec::new(),
            aborted: 0,
            changed: Vec::new(),
            closed: 0,
            clients: BTreeMap::new(),
            titles: BTreeMap::new(),
            listed: None,
            feedback: BTreeMap::new(),
            deleted: Vec::new(),
            token_life: 0,
            runs: BTreeMap::new(),
            line: queue::Shared::default(),
            pending: Vec::new(),
            issued: 0,
        }
    }

    pub fn new_token(&mut self) -> String {
        self.issued += 1;
        let token = format!("token-{}", self.issued);
        self.tokens.insert(token.clone());
        token
    }

    /// What a page may see of the conversations, in short.
    pub fn transcript(&self) -> Vec<String> {
        let visible = |m: &&StoredMessage| {
            m.role == StoredRole::User && !m.silent
                || m.role == StoredRole::Assistant && !m.content.is_empty()
        };
        self.store
            .values()
            .flatten()
            .filter(visible)
            .map(|m| line(m.role.as_str(), &m.content, m.status))
            .collect()
    }

    /// Everything stored of the only conversation, in short.
    pub fn stored(&self) -> Vec<String> {
        self.store.values().flatten().map(|m| line(m.role.as_str(), &m.content, m.status)).collect()
    }

    pub fn check_quiet(&self) {
        assert!(self.runs.values().all(|r| r.turn.is_none()), "a run has not ended");
        for messages in self.store.values() {
            let ids: BTreeSet<_> = messages.iter().map(|m| &m.id).collect();
            assert_eq!(ids.len(), messages.len(), "an id is stored twice");
        }
    }

    /// When a running turn is due for a tick.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.runs.values().filter_map(|r| r.turn.as_ref()?.poll_timeout()).min()
    }

    pub fn tick(&mut self, now: u64) -> Vec<Effect> {
        let due = |run: &Run| run.turn.as_ref().and_then(Turn::poll_timeout).is_some_and(|t| t <= now);
        let due: Vec<_> = self.runs.iter().filter(|(_, r)| due(r)).map(|(id, _)| id.clone()).collect();
        due.iter().flat_map(|id| self.input(id, Input::Tick, now)).collect()
    }

    pub fn input_all(&mut self, input: impl Fn() -> Input, now: u64) -> Vec<Effect> {
        let ids: Vec<_> = self.runs.keys().cloned().collect();
        ids.iter().flat_map(|id| self.input(id, input(), now)).collect()
    }

    pub fn model_says(&mut self, run: &str, call: u64, event: ModelEvent, now: u64) -> Vec<Effect> {
        if self.runs.get(run).is_none_or(|r| r.call != call) {
            self.aborted += 1;
            return Vec::new();
        }
        self.input(run, Input::Model(event), now)
    }

    pub fn ping(&mut self, run: &str) -> Vec<Effect> {
        let mut out = Vec::new();
        let Some(state) = self.runs.get_mut(run).filter(|r| r.turn.is_some()) else { return out };
        for reader in &mut state.readers {
            reader.write(b": still here\n\n", &mut out);
        }
        out.push(Effect::Ping { delay: self.ping, run: run.to_owned() });
        out
    }

    /// A page that goes away stops nothing.
    pub fn drop_reader(&mut self, page: usize, fetch: FetchId) {
        for run in self.runs.values_mut() {
            run.readers.retain(|r| r.page != page || r.fetch != fetch);
        }
    }

    pub fn handle(
        &mut self,
        page: usize,
        request: &FetchRequest,
        network: &mut Network,
        now: u64,
    ) -> Vec<Effect> {
        let canned = self.canned.iter().position(|c| c.purpose == request.purpose);
        if let Some(canned) = canned.and_then(|at| self.canned.remove(at)) {
            return answer(page, request.id, canned.status, canned.content_type, canned.body);
        }
        let path = request.url.strip_prefix(BASE).expect("the server's own address");
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let segments: Vec<_> = path.split('/').skip(1).collect();
        let answered = match (request.method, &segments[..]) {
            ("POST", ["v1", "anonymous"]) => self.sign_in(request, now),
            ("GET", ["v1", "conversations"]) => self.list(query, request),
            ("GET", ["v1", "conversations", id]) => self.conversation(id, query, request),
            ("PATCH", ["v1", "conversations", id]) => self.rename(id, request),
            ("DELETE", ["v1", "conversations", id]) => match self.delete(id, request, now) {
                Ok(mut effects) => {
                    effects.extend(answer(page, request.id, 204, "", ""));
                    return effects;
                }
                Err(error) => Err(error),
            },
            ("PUT", ["v1", "messages", id, "feedback"]) => self.take_feedback(id, request),
            ("PUT", ["v1", "runs", run, "passthrough-params"]) => {
                match self.change_passthrough(run, request, now) {
                    Ok(mut effects) => {
                        effects.extend(answer(page, request.id, 200, "application/json", "{}"));
                        return effects;
                    }
                    Err(error) => Err(error),
                }
            }
            ("POST", ["v1", "agents", agent, "runs"]) => match self.accept(agent, request, now) {
                Ok(run) => return self.accepted(&run, page, request, network),
                Err(error) => Err(error),
            },
            ("GET", ["v1", "runs", run, "events"]) => match self.events(run, page, request, network) {
                Ok(effects) => return effects,
                Err(error) => Err(error),
            },
            ("POST", ["v1", "runs", run, "cancel"]) => match self.cancel(run, request, now) {
                Ok((body, mut effects)) => {
                    effects.extend(answer(page, request.id, 200, "application/json", &body));
                    return effects;
                }
                Err(error) => Err(error),
            },
            (method, segments) => self.change_line(method, segments, request, now),
        };
        let (status, body) = match answered {
            Ok(body) => (200, body),
            Err(error) => {
                (error.code.http_status(), Value::Object(object! { "error": error.to_json() }).to_string())
            }
        };
        let mut effects = answer(page, request.id, status, "application/json", &body);
        effects.append(&mut self.pending);
        effects
    }

    /// The stream of a run that was posted, or only that it was taken.
    fn accepted(
        &mut self,
        run: &str,
        page: usize,
        request: &FetchRequest,
        network: &mut Network,
    ) -> Vec<Effect> {
        let wants = request.headers.iter().find(|(name, _)| *name == "Accept");
        let mut effects = if wants.is_some_and(|(_, accept)| accept == "application/json") {
            answer(page, request.id, 202, "application/json", &self.place_of(run))
        } else {
            self.stream(run, 0, (page, request.id), network)
        };
        effects.extend(self.drain(run));
        effects.append(&mut self.pending);
        effects
    }

    fn sign_in(&mut self, request: &FetchRequest, now: u64) -> Result<String, ErrorInfo> {
        let body = parse(request.body.as_deref().unwrap_or("")).expect("JSON");
        if body.get("agentUid").and_then(Value::as_str) != Some("demo") {
            return Err(ErrorInfo::new(ErrorCode::AgentNotFound, "There is no such agent. Check agent-uid."));
        }
        let key = body.get("anonymousKey").and_then(Value::as_str).unwrap_or("anonymous-1").to_owned();
        let token = self.new_token();
        let mut body = object! { "authToken": token, "anonymousKey": key };
        if self.token_life > 0 {
            body.insert("expiresAt", iso_8601(now + self.token_life));
        }
        Ok(body.to_string())
    }

    fn authorize(&self, request: &FetchRequest) -> Result<(), ErrorInfo> {
        let header = request.headers.iter().find(|(name, _)| *name == "Authorization");
        let token = header.and_then(|(_, value)| value.strip_prefix("Bearer "));
        match token {
            Some(token) if self.tokens.contains(token) => Ok(()),
            Some(_) => {
                Err(ErrorInfo::new(ErrorCode::AuthExpired, "The token is past its end. Get a new one."))
            }
            None => Err(ErrorInfo::new(ErrorCode::InvalidAuth, "There is no token. Sign in first.")),
        }
    }

    /// Starts the run of a request and gives its id.
    fn accept(&mut self, agent: &str, request: &FetchRequest, now: u64) -> Result<String, ErrorInfo> {
        self.authorize(request)?;
        if agent != "demo" {
            return Err(ErrorInfo::new(ErrorCode::AgentNotFound, "There is no such agent."));
        }
        let body = request.body.clone().unwrap_or_default();
        let input = read_input(&body)?;
        if self.posted_before(&input.run_id, &body)? {
            self.unpark(&input.run_id, now)?;
            return Ok(input.run_id);
        }
        if self.deleted.contains(&input.thread_id) {
            let message = "This conversation was deleted. Send the message again to begin a new one.";
            return Err(
                ErrorInfo::new(ErrorCode::NotFound, message).with("conversationId", input.thread_id.as_str())
            );
        }
        self.posted.push(body.clone());
        if self.waits(&input, &body, now) {
            return Ok(input.run_id);
        }
        let running = |r: &Run| r.turn.is_some() && r.thread == input.thread_id;
        if self.runs.values().any(running) {
            return Err(ErrorInfo::new(ErrorCode::Busy, "The agent is still busy. Try again in a moment."));
        }
        self.release(&input.thread_id);
        self.start(input, body, now)
    }

    fn start(&mut self, mut input: RunAgentInput, body: String, now: u64) -> Result<String, ErrorInfo> {
        let (id, thread) = (input.run_id.clone(), input.thread_id.clone());
        input.tools.extend(self.tools.iter().cloned());
        let conversation = self.conversation_of(&thread);
        let client = input.mindset("clientId").and_then(Value::as_str).map(str::to_owned);
        let (mut n, prefix) = (0, format!("{id}-s"));
        let ids = Box::new(move || {
            n += 1;
            format!("{prefix}{n}")
        });
        let (line, of) = (queue::Shared::clone(&self.line), thread.clone());
        let turn = Turn::start(
            input,
            self.agent.clone(),
            conversation,
            Ports {
                ids,
                patterns: Box::new(Plain),
                files: Box::new(str::to_owned),
                steers: Box::new(move || queue::steers(&line, &of)),
            },
            now,
        )?;
        let stream = self.streams.len();
        self.streams.push(Vec::new());
        match client {
            Some(client) => drop(self.clients.insert(thread.clone(), client)),
            None => drop(self.clients.remove(&thread)),
        }
        match self.runs.get_mut(&id) {
            // It has waited.
            Some(run) => (run.turn, run.stream, run.began) = (Some(turn), stream, true),
            None => drop(self.runs.insert(id.clone(), Run::new(Some(turn), thread, body, stream))),
        }
        Ok(id)
    }

    fn cancel(
        &mut self,
        id: &str,
        request: &FetchRequest,
        now: u64,
    ) -> Result<(String, Vec<Effect>), ErrorInfo> {
        self.authorize(request)?;
        if !self.runs.contains_key(id) {
            return Err(ErrorInfo::new(ErrorCode::NotFound, "There is no such run."));
        }
        self.close_waiting(id, now);
        let effects = self.input(id, Input::Cancel, now);
        Ok((object! { "state": "cancelled" }.to_string(), effects))
    }

    fn input(&mut self, id: &str, input: Input, now: u64) -> Vec<Effect> {
        match self.runs.get_mut(id).and_then(|run| run.turn.as_mut()) {
            Some(turn) => turn.handle(input, now),
            None => return Vec::new(),
        }
        let mut effects = self.drain(id);
        self.tell_steered(now);
        self.next_turns(now).expect("what waits can begin");
        effects.append(&mut self.pending);
        effects
    }

    /// Performs what a turn wants done.
    fn drain(&mut self, id: &str) -> Vec<Effect> {
        let mut out = Vec::new();
        while let Some(run) = self.runs.get_mut(id)
            && let Some(output) = run.turn.as_mut().and_then(Turn::poll_output)
        {
            let stored = self.store.entry(run.thread.clone()).or_default();
            match output {
                Output::CallModel(request) => {
                    run.call += 1;
                    let mut delay = 0;
                    for (pause, event) in self.model.call(request) {
                        delay += pause;
                        let (run, call) = (id.to_owned(), run.call);
                        out.push(Effect::Model { delay, run, call, event });
                    }
                }
                Output::AbortModel => run.call += 1,
                Output::CallTool(request) => {
                    let again = self.called.iter().any(|earlier| earlier.call_id == request.call_id);
                    assert!(!again || request.answer.is_some(), "a call runs twice: {request:?}");
                    if let Some((delay, outcome)) = (self.handler)(&request) {
                        let done = ToolDone {
                            run: id.to_owned(),
                            epoch: run.aborted_tools,
                            call_id: request.call_id.clone(),
                            duration: delay,
                            outcome,
                        };
                        out.push(Effect::Tool { delay, done });
                    }
                    self.called.push(request);
                }
                Output::AbortTools => run.aborted_tools += 1,
                Output::Truncate { from } => {
                    let at = stored.iter().position(|m| m.id == from).expect("a stored message");
                    stored.truncate(at);
                }
                Output::Store(messages) => stored.extend(messages),
                Output::StoreCalls { message_id, calls } => {
                    let message = stored.iter_mut().find(|m| m.id == message_id).expect("a stored message");
                    message.calls = calls;
                }
                Output::Emit(event) => out.extend(self.tell_event(id, event)),
                Output::Done(state) => {
                    self.ended.push(state);
                    run.turn = None;
                    for mut reader in std::mem::take(&mut run.readers) {
                        reader.end(Ok(()), &mut out);
                    }
                    let thread = run.thread.clone();
                    self.over(&thread, state);
                }
            }
        }
        out
    }
}

fn read_input(body: &str) -> Result<RunAgentInput, ErrorInfo> {
    let invalid = |message: String| ErrorInfo::new(ErrorCode::InvalidRequest, message);
    let value = parse(body).map_err(|e| invalid(format!("The body is no JSON: {e}.")))?;
    decode_input(&value).map_err(|e| match e {
        DecodeError::Malformed(what) | DecodeError::UnknownType(what) => invalid(what),
    })
}

fn answer(page: usize, fetch: FetchId, status: u16, content_type: &'static str, body: &str) -> Vec<Effect> {
    let send = |part| Effect::Send { page, fetch, part };
    if status == 0 {
        let failure = FetchFailure { message: "Failed to fetch".to_owned() };
        return vec![send(Part::End(Err(failure)))];
    }
    vec![
        send(Part::Head { status, content_type }),
        send(Part::Bytes(body.as_bytes().to_vec())),
        send(Part::End(Ok(()))),
    ]
}
