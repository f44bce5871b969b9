//! A page: a session, everything its listeners got, and the handlers of its tools.

use super::patterns::Plain;
use std::collections::{BTreeMap, BTreeSet};

use mindset_core::error::ErrorInfo;
use mindset_core::event::{Decision, RuntimeEvent};
use mindset_core::json::{Object, Value, parse};
use mindset_core::session::{
    AskId, DomEvent, FetchId, Output, PageTool, SendId, Session, TOOL_TIMEOUT, ToolRun, ToolRunId, TurnResult,
};
use mindset_core::view::Patch;

pub struct Page {
    pub session: Session,
    /// In order, the promises too.
    pub events: Vec<Heard>,
    pub patches: Vec<Patch>,
    pub anonymous_key: Option<String>,
    /// The conversation's id as the next page load finds it.
    pub conversation: Option<String>,
    /// Requests that have not ended.
    pub open: BTreeSet<FetchId>,
    /// Requests whose answer is a stream.
    pub streams: BTreeSet<FetchId>,
    /// Messages that were not refused at once.
    pub accepted: Vec<SendId>,
    /// The page was left.
    pub gone: bool,
    /// What handlers do.
    pub handler: Handler,
    /// What the person is asked, where the page's function says it.
    pub wording: Wording,
    /// What the person answers, and how long that takes; `None` never.
    pub decide: Person,
    /// Handlers that were run, in order.
    pub runs: Vec<ToolRun>,
    /// Handlers that were told that nobody waits for them.
    pub aborted: Vec<ToolRunId>,
    results: BTreeMap<SendId, TurnResult>,
    sends: u32,
    /// What was asked about conversations, and its answers.
    pub answers: BTreeMap<AskId, Result<Value, ErrorInfo>>,
    pub asks: u32,
}

/// After how many milliseconds a handler ends and how; `None` never.
pub type Handler = Box<dyn FnMut(&ToolRun) -> Option<(u64, Result<String, String>)>>;

/// What the person is asked about a call.
pub type Wording = Box<dyn FnMut(&ToolRun) -> Result<String, String>>;

/// After how many milliseconds a person says what about a tool; `None` never.
pub type Person = Box<dyn FnMut(&str) -> Option<(u64, Decision)>>;

/// What a page hears.
#[derive(Debug, PartialEq)]
pub enum Heard {
    Event(DomEvent),
    Settled(SendId),
}

/// A tool without extras.
pub fn tool(name: &str, parameters: &str) -> PageTool {
    PageTool {
        name: name.to_owned(),
        description: format!("Does {name}."),
        parameters: (!parameters.is_empty()).then(|| object(parameters)),
        running: None,
        completed: None,
        read_only: false,
        confirm: Default::default(),
        timeout: TOOL_TIMEOUT,
    }
}

pub fn object(text: &str) -> Object {
    parse(text).expect("JSON").as_object().expect("an object").clone()
}

impl Page {
    /// The page with this number.
    pub fn new(number: usize) -> Page {
        let mut n = 0;
        let ids = move || {
            n += 1;
            format!("p{number}-{n}")
        };
        Page {
            session: Session::new(Box::new(ids), Box::new(Plain)),
            events: Vec::new(),
            patches: Vec::new(),
            anonymous_key: None,
            conversation: None,
            open: BTreeSet::new(),
            streams: BTreeSet::new(),
            accepted: Vec::new(),
            gone: false,
            handler: Box::new(|run| Some((0, Ok(run.arguments.expose().text())))),
            wording: Box::new(|_| Ok("Really?".to_owned())),
            decide: Box::new(|_| None),
            runs: Vec::new(),
            aborted: Vec::new(),
            results: BTreeMap::new(),
            sends: 0,
            answers: BTreeMap::new(),
            asks: 0,
        }
    }

    pub fn next_send(&mut self) -> SendId {
        self.sends += 1;
        SendId(self.sends)
    }

    /// What was answered.
    pub fn answer(&self, ask: AskId) -> &Result<Value, ErrorInfo> {
        self.answers.get(&ask).unwrap_or_else(|| panic!("{ask:?} has no answer"))
    }

    /// What a message came to.
    pub fn result(&self, send: SendId) -> &TurnResult {
        self.results.get(&send).unwrap_or_else(|| panic!("{send:?} has not settled"))
    }

    pub fn settled(&self, send: SendId) -> bool {
        self.results.contains_key(&send)
    }

    /// Performs an output of which nothing comes back.
    pub fn take(&mut self, output: Output) {
        match output {
            Output::Event(event) => self.events.push(Heard::Event(event)),
            Output::Patch(patch) => self.patches.push(patch),
            Output::StoreAnonymousKey(key) => self.anonymous_key = Some(key),
            Output::StoreConversation(id) => self.conversation = id,
            Output::AbortTool(id) => {
                assert!(!self.aborted.contains(&id), "{id:?} is aborted twice");
                self.aborted.push(id);
            }
            Output::Tell(_) => {}
            Output::Answer { id, result } => {
                let before = self.answers.insert(id, result);
                assert!(before.is_none(), "{id:?} is answered twice");
            }
            Output::Settle { send, result } => {
                self.events.push(Heard::Settled(send));
                let before = self.results.insert(send, result);
                assert!(before.is_none(), "{send:?} settles twice");
            }
            other => panic!("not for the page: {other:?}"),
        }
    }

    /// Runs a handler; gives when it ends and how.
    pub fn run(&mut self, run: ToolRun) -> Option<(u64, Result<String, String>)> {
        let earlier = self.runs.iter().any(|earlier| earlier.call_id == run.call_id || earlier.id == run.id);
        assert!(!earlier, "a call runs twice: {run:?}");
        let ends = (self.handler)(&run);
        self.runs.push(run);
        ends
    }

    /// The transcript in short: `role: text [status]`.
    pub fn transcript(&self) -> Vec<String> {
        self.session.messages().iter().map(|m| line(m.role.as_str(), &m.content, m.status)).collect()
    }

    /// The runtime events, in order.
    pub fn runtime(&self) -> Vec<&RuntimeEvent> {
        let mut events = Vec::new();
        for heard in &self.events {
            if let Heard::Event(DomEvent::Runtime(event)) = heard {
                events.push(event);
            }
        }
        events
    }

    /// The events in short, deltas left out.
    pub fn sketch(&self) -> Vec<String> {
        use mindset_core::event::RuntimeEvent as R;
        let name = |heard: &Heard| match heard {
            Heard::Settled(id) => Some(format!("settled {}", self.results[id].status.as_str())),
            Heard::Event(DomEvent::Runtime(R::TextDelta { .. } | R::ThinkingDelta { .. })) => None,
            Heard::Event(DomEvent::Runtime(event)) => Some(event.type_name().to_owned()),
            Heard::Event(DomEvent::Initializing) => Some("initializing".to_owned()),
            Heard::Event(DomEvent::Idle { .. }) => Some("idle".to_owned()),
            Heard::Event(DomEvent::Busy { .. }) => Some("busy".to_owned()),
            Heard::Event(DomEvent::Conversation { .. }) => Some("conversation".to_owned()),
            Heard::Event(DomEvent::Error(error)) => Some(format!("error {}", error.code.as_str())),
            Heard::Event(DomEvent::History { .. }) => Some("history".to_owned()),
            Heard::Event(DomEvent::Feedback { .. }) => Some("feedback".to_owned()),
            Heard::Event(DomEvent::Connection(state)) => Some(state.as_str().to_owned()),
        };
        self.events.iter().filter_map(name).collect()
    }
}

pub fn line(role: &str, text: &str, status: Option<mindset_core::event::MessageStatus>) -> String {
    let status = status.map_or(String::new(), |s| format!(" [{}]", s.as_str()));
    format!("{role}: {text}{status}")
}
