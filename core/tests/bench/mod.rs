//! One turn without a browser: inputs in, everything that came out kept and held
//! to the rules every turn has to keep.

#[path = "../patterns/mod.rs"]
pub mod patterns;
#[path = "../pair/requests.rs"]
mod requests;

use mindset_core::NextId;
use mindset_core::agui::{Body, Event, Message, Order, Role, RunAgentInput, Tool};
use mindset_core::json::{Object, Value};
use mindset_core::turn::{
    Agent, Conversation, Input, ModelEvent, ModelFailure, ModelRequest, Output, Ports, Refusal, RunState,
    Steers, StoredMessage, ToolOutcome, ToolRequest, Turn,
};
use patterns::Plain;
pub use requests::check_request;

pub struct Bench {
    pub turn: Turn,
    pub now: u64,
    pub store: Vec<StoredMessage>,
    pub events: Vec<Event>,
    pub requests: Vec<ModelRequest>,
    pub aborted: u32,
    /// Calls that were made, and those of them that run still.
    pub calls: Vec<ToolRequest>,
    pub running: Vec<String>,
    pub aborted_tools: u32,
    pub done: Option<RunState>,
    order: Order,
}

/// Ids `prefix1`, `prefix2`…
pub fn ids(prefix: &str) -> Box<dyn NextId + Send> {
    let (prefix, mut n) = (prefix.to_owned(), 0);
    Box::new(move || {
        n += 1;
        format!("{prefix}{n}")
    })
}

pub fn input(run: &str, messages: Vec<Message>) -> RunAgentInput {
    RunAgentInput { thread_id: "c1".into(), run_id: run.into(), messages, ..RunAgentInput::default() }
}

pub fn user(id: &str, text: &str) -> Message {
    Message::text(id, Role::User, text)
}

pub fn result(call: &str, text: &str) -> Message {
    let mut m = Message::text(format!("result-{call}"), Role::Tool, text);
    m.tool_call_id = Some(call.into());
    m
}

pub fn tool(name: &str) -> Tool {
    Tool { name: name.into(), description: String::new(), parameters: None, metadata: None }
}

pub fn mindset(input: &mut RunAgentInput, fields: Object) {
    let props = mindset_core::object! { "mindset": fields };
    input.forwarded_props = Some(Value::Object(props));
}

pub fn text(piece: &str) -> ModelEvent {
    ModelEvent::Text(piece.into())
}

pub fn end() -> ModelEvent {
    ModelEvent::End { usage: None }
}

pub fn failed(reason: mindset_core::event::Reason) -> ModelEvent {
    ModelEvent::Failed(ModelFailure { reason, message: "It broke. Try again.".into(), retryable: true })
}

/// A whole call.
pub fn call(key: u32, id: Option<&str>, name: &str, arguments: &str) -> [ModelEvent; 2] {
    [
        ModelEvent::CallStart { key, id: id.map(str::to_owned), name: name.into() },
        ModelEvent::CallArguments { key, delta: arguments.into() },
    ]
}

impl Bench {
    pub fn start(input: RunAgentInput, stored: Vec<StoredMessage>) -> Result<Bench, Refusal> {
        let agent = Agent { instructions: "Be kind.".into(), model: "test-1".into(), ..Agent::default() };
        Bench::with(input, agent, stored)
    }

    pub fn with(input: RunAgentInput, agent: Agent, stored: Vec<StoredMessage>) -> Result<Bench, Refusal> {
        Bench::of(input, agent, stored, None)
    }

    /// The same in a conversation whose open calls belong to a client.
    pub fn of(
        input: RunAgentInput,
        agent: Agent,
        stored: Vec<StoredMessage>,
        client: Option<&str>,
    ) -> Result<Bench, Refusal> {
        let conversation = Conversation {
            id: input.thread_id.clone(),
            messages: stored,
            open_client: client.map(str::to_owned),
            ..Conversation::default()
        };
        Bench::on(input, agent, conversation)
    }

    /// The same in any conversation.
    pub fn on(input: RunAgentInput, agent: Agent, conversation: Conversation) -> Result<Bench, Refusal> {
        Bench::steered(input, agent, conversation, Box::new(Vec::new))
    }

    /// The same with what is said to the turn while it runs.
    pub fn steered(
        input: RunAgentInput,
        agent: Agent,
        conversation: Conversation,
        steers: Box<dyn Steers + Send>,
    ) -> Result<Bench, Refusal> {
        let ids = ids(&format!("{}-", input.run_id));
        let stored = conversation.messages.clone();
        let turn = Turn::start(
            input,
            agent,
            conversation,
            Ports { ids, patterns: Box::new(Plain), files: Box::new(str::to_owned), steers },
            1_000,
        )?;
        let mut bench = Bench {
            turn,
            now: 1_000,
            store: stored,
            events: Vec::new(),
            requests: Vec::new(),
            aborted: 0,
            calls: Vec::new(),
            running: Vec::new(),
            aborted_tools: 0,
            done: None,
            order: Order::new(),
        };
        bench.drain();
        Ok(bench)
    }

    pub fn handle(&mut self, input: Input) -> &mut Bench {
        self.turn.handle(input, self.now);
        self.drain();
        self
    }

    /// A tool is done.
    pub fn tool(&mut self, call: &str, outcome: ToolOutcome) -> &mut Bench {
        self.running.retain(|id| id != call);
        self.handle(Input::Tool { call_id: call.to_owned(), outcome, duration: 7 })
    }

    pub fn model(&mut self, events: impl IntoIterator<Item = ModelEvent>) -> &mut Bench {
        for event in events {
            self.handle(Input::Model(event));
        }
        self
    }

    fn drain(&mut self) {
        while let Some(output) = self.turn.poll_output() {
            assert_eq!(self.done, None, "nothing after the end: {output:?}");
            match output {
                Output::CallModel(request) => {
                    check_request(&request);
                    assert!(self.running.is_empty(), "the model is asked while tools run");
                    self.requests.push(request);
                }
                Output::AbortModel => self.aborted += 1,
                Output::CallTool(request) => {
                    let before = self.calls.iter().any(|c| c.call_id == request.call_id);
                    assert!(!before || request.answer.is_some(), "a call runs twice");
                    self.running.push(request.call_id.clone());
                    self.calls.push(request);
                }
                Output::AbortTools => {
                    self.running.clear();
                    self.aborted_tools += 1;
                }
                Output::Truncate { from } => {
                    let at = self.store.iter().position(|m| m.id == from).unwrap();
                    self.store.truncate(at);
                }
                Output::Store(messages) => {
                    for message in messages {
                        assert!(self.store.iter().all(|m| m.id != message.id), "id twice: {}", message.id);
                        self.store.push(message);
                    }
                }
                Output::StoreCalls { message_id, calls } => {
                    let message = self.store.iter_mut().find(|m| m.id == message_id).unwrap();
                    assert_eq!(message.calls.len(), calls.len());
                    message.calls = calls;
                }
                Output::Emit(event) => {
                    assert_eq!(event.timestamp, Some(self.now));
                    if let Err(violation) = self.order.accept(event.clone()) {
                        panic!("{}", violation.message);
                    }
                    self.events.push(event);
                }
                Output::Done(state) => {
                    assert!(self.running.is_empty(), "tools run after the end");
                    self.done = Some(state);
                }
            }
        }
        assert_eq!(self.turn.poll_timeout().is_none(), self.done.is_some());
    }

    /// The events in short: `type`, and what it is about.
    pub fn sketch(&self) -> Vec<String> {
        self.events.iter().map(|e| sketch(&e.body)).collect()
    }

    /// The stored messages in short.
    pub fn stored(&self) -> Vec<String> {
        self.store.iter().map(stored).collect()
    }

    /// The values of the custom events with this name.
    pub fn customs(&self, wanted: &str) -> Vec<&Value> {
        let value = |e: &'_ Event| matches!(&e.body, Body::Custom { name, .. } if name == wanted);
        let events = self.events.iter().filter(|e| value(e));
        events
            .filter_map(|e| if let Body::Custom { value, .. } = &e.body { Some(value) } else { None })
            .collect()
    }

    /// The event that tells the result of a call.
    pub fn result_of(&self, call: &str) -> &Event {
        let is =
            |e: &&Event| matches!(&e.body, Body::ToolCallResult { tool_call_id, .. } if tool_call_id == call);
        self.events.iter().find(is).unwrap_or_else(|| panic!("no result of {call}"))
    }

    pub fn last(&self) -> &Event {
        self.events.last().unwrap()
    }
}

pub fn stored(m: &StoredMessage) -> String {
    let calls: Vec<_> = m.calls.iter().map(|c| format!(" {}({})", c.name, c.arguments)).collect();
    let status = m.status.map_or(String::new(), |s| format!(" [{}]", s.as_str()));
    format!("{}: {}{}{status}", m.role.as_str(), m.content, calls.concat())
}

fn sketch(body: &Body) -> String {
    match body {
        Body::RunStarted { .. } => "started".into(),
        Body::TextMessageStart { .. } => "text(".into(),
        Body::TextMessageContent { delta, .. } => delta.clone(),
        Body::TextMessageEnd { .. } => ")text".into(),
        Body::ReasoningMessageStart { .. } => "think(".into(),
        Body::ReasoningMessageContent { delta, .. } => delta.clone(),
        Body::ReasoningMessageEnd { .. } => ")think".into(),
        Body::ReasoningStart { .. } => "reason(".into(),
        Body::ReasoningEnd { .. } => ")reason".into(),
        Body::ToolCallStart { tool_call_id, tool_call_name, .. } => {
            format!("call {tool_call_id} {tool_call_name}(")
        }
        Body::ToolCallArgs { delta, .. } => delta.clone(),
        Body::ToolCallEnd { tool_call_id } => format!(")call {tool_call_id}"),
        Body::ToolCallResult { tool_call_id, .. } => format!("result {tool_call_id}"),
        Body::Custom { name, .. } => name.clone(),
        Body::RunFinished { outcome, .. } => format!("finished {outcome:?}"),
        Body::RunError { message, code, .. } => format!("error {} {message}", code.as_deref().unwrap_or("")),
        other => format!("{other:?}"),
    }
}
