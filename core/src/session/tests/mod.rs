//! Whole turns with scripted bytes. The bench plays adapter and server.

mod agui;
mod asks;
mod calls;
mod channels;
mod conversations;
mod credentials;
mod errors;
mod files;
mod greet;
mod hostile;
mod resume;
mod retry;
mod sending;
mod start;
mod stop;
mod tools;
mod tools_of_messages;

use super::*;
use crate::agui::{decode_input, encode_input};
use crate::event::RuntimeEvent;
use crate::json::{self, Object, Value};
use crate::view::{Activity, NoticeAction, Patch};

/// A session, its clock and everything it wanted done so far.
pub(super) struct Bench {
    pub(super) session: Session,
    pub(super) now: Millis,
    pub(super) out: Vec<Output>,
}

pub(super) const T0: Millis = 1_796_011_568_000;

pub(super) fn config() -> Config {
    Config {
        server: "https://agents.example".into(),
        app_uid: "acme".into(),
        agent_uid: "support".into(),
        client_id: "client".into(),
        ..Config::default()
    }
}

pub(super) fn agui_config() -> Config {
    let protocol = Protocol::AgUi;
    Config { server: "https://peer.example/run".into(), protocol, ..Config::default() }
}

impl Bench {
    /// Waits for `Start`.
    pub(super) fn new() -> Bench {
        let mut count = 0;
        let ids = move || {
            count += 1;
            format!("id{count}")
        };
        Bench {
            session: Session::new(Box::new(ids), Box::new(crate::patterns::Plain)),
            now: T0,
            out: Vec::new(),
        }
    }

    /// Started, signed in and idle.
    pub(super) fn ready() -> Bench {
        let mut bench = Bench::new();
        bench.start(config());
        bench.answer_json(200, r#"{"authToken":"secret-1","expiresAt":"x","anonymousKey":"key-1"}"#);
        bench.out.clear();
        bench
    }

    /// Ready, speaking plain AG-UI.
    pub(super) fn agui() -> Bench {
        let mut bench = Bench::new();
        bench.start(agui_config());
        bench.out.clear();
        bench
    }

    pub(super) fn input(&mut self, input: Input<'_>) {
        self.try_input(input).unwrap();
    }

    pub(super) fn try_input(&mut self, input: Input<'_>) -> Result<(), Refused> {
        let result = self.session.handle(input, self.now);
        while let Some(output) = self.session.poll_output() {
            self.out.push(output);
        }
        result
    }

    pub(super) fn start(&mut self, config: Config) {
        self.input(Input::Start(config));
    }

    pub(super) fn send(&mut self, id: u32, text: &str) {
        self.try_send(id, text, SendOptions::default()).unwrap();
    }

    pub(super) fn try_send(&mut self, id: u32, text: &str, options: SendOptions) -> Result<(), Refused> {
        self.try_input(Input::Send { id: SendId(id), text, options })
    }

    pub(super) fn requests(&self) -> Vec<&FetchRequest> {
        self.out
            .iter()
            .filter_map(|o| match o {
                Output::Fetch(request) => Some(request),
                _ => None,
            })
            .collect()
    }

    pub(super) fn last(&self, purpose: FetchPurpose) -> FetchRequest {
        let requests = self.requests();
        (*requests.iter().rfind(|r| r.purpose == purpose).expect("a request")).clone()
    }

    /// The newest request that is no cancel.
    pub(super) fn fetch(&self) -> FetchId {
        self.requests().iter().rfind(|r| r.purpose != FetchPurpose::Cancel).expect("a request").id
    }

    pub(super) fn head(&mut self, status: u16, content_type: &str) {
        let fetch = self.fetch();
        self.input(Input::Head { fetch, status, content_type });
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let fetch = self.fetch();
        self.input(Input::Bytes { fetch, bytes });
    }

    pub(super) fn end(&mut self) {
        let fetch = self.fetch();
        self.input(Input::End { fetch, result: Ok(()) });
    }

    pub(super) fn fail(&mut self) {
        let fetch = self.fetch();
        self.input(Input::End { fetch, result: Err(FetchFailure { message: "Failed to fetch".into() }) });
    }

    /// Nothing can be reached any more, until the session gives the turn up.
    pub(super) fn break_down(&mut self) {
        while self.session.is_busy() {
            let fetch = self.fetch();
            let made = self.requests().len();
            self.fail();
            if self.session.is_busy() && self.requests().len() == made {
                self.now = self.session.poll_timeout().expect("a next try");
                self.input(Input::Tick);
            }
            assert!(self.fetch() != fetch || !self.session.is_busy(), "it does not try again");
        }
    }

    /// A whole answer that is no stream.
    pub(super) fn answer(&mut self, status: u16, content_type: &str, body: &str) {
        let fetch = self.fetch();
        self.input(Input::Head { fetch, status, content_type });
        self.input(Input::Bytes { fetch, bytes: body.as_bytes() });
        self.input(Input::End { fetch, result: Ok(()) });
    }

    pub(super) fn answer_json(&mut self, status: u16, body: &str) {
        self.answer(status, "application/json", body);
    }

    /// A whole stream of events.
    pub(super) fn stream(&mut self, events: &[&str]) {
        let fetch = self.fetch();
        self.head(200, "text/event-stream; charset=utf-8");
        for event in events {
            self.input(Input::Bytes { fetch, bytes: format!("data: {event}\n\n").as_bytes() });
        }
        self.input(Input::End { fetch, result: Ok(()) });
    }

    pub(super) fn event(&mut self, event: &str) {
        self.bytes(format!("data: {event}\n\n").as_bytes());
    }

    pub(super) fn pass(&mut self, time: Millis) {
        self.now += time;
        self.input(Input::Tick);
    }

    /// Lets time pass until nothing is due any more.
    pub(super) fn settle_down(&mut self) {
        for _ in 0..100 {
            let Some(at) = self.session.poll_timeout() else { return };
            self.now = self.now.max(at);
            self.input(Input::Tick);
        }
    }

    /// Events and settled promises so far, as short words.
    pub(super) fn story(&self) -> Vec<String> {
        self.out.iter().filter_map(word).collect()
    }

    pub(super) fn patches(&self) -> Vec<&Patch> {
        self.out
            .iter()
            .filter_map(|o| match o {
                Output::Patch(patch) => Some(patch),
                _ => None,
            })
            .collect()
    }

    pub(super) fn results(&self) -> Vec<(u32, &TurnResult)> {
        self.out
            .iter()
            .filter_map(|o| match o {
                Output::Settle { send, result } => Some((send.0, result)),
                _ => None,
            })
            .collect()
    }

    pub(super) fn result(&self) -> &TurnResult {
        self.results().last().expect("a settled promise").1
    }

    pub(super) fn errors(&self) -> Vec<&crate::error::ErrorInfo> {
        self.out
            .iter()
            .filter_map(|o| match o {
                Output::Event(DomEvent::Error(error)) => Some(error),
                _ => None,
            })
            .collect()
    }

    pub(super) fn run_error(&self) -> &crate::event::RunError {
        self.out
            .iter()
            .rev()
            .find_map(|o| match o {
                Output::Event(DomEvent::Runtime(RuntimeEvent::RunError(error))) => Some(error),
                _ => None,
            })
            .expect("a run_error")
    }

    pub(super) fn activity(&self) -> Activity {
        self.patches()
            .iter()
            .rev()
            .find_map(|p: &&Patch| match p {
                Patch::SetActivity(activity) => Some(*activity),
                _ => None,
            })
            .expect("an activity")
    }

    /// Text and button of the notice that stands there now.
    pub(super) fn notice(&self) -> Option<(String, Option<NoticeAction>)> {
        self.patches()
            .iter()
            .rev()
            .find_map(|p: &&Patch| match p {
                Patch::SetNotice(notice) => Some(notice.clone()),
                _ => None,
            })
            .flatten()
            .map(|n| (n.text, n.action))
    }

    pub(super) fn aborted(&self) -> Vec<FetchId> {
        self.out
            .iter()
            .filter_map(|o| match o {
                Output::Abort(id) => Some(*id),
                _ => None,
            })
            .collect()
    }
}

fn word(output: &Output) -> Option<String> {
    Some(match output {
        Output::Event(DomEvent::Initializing) => "initializing".into(),
        Output::Event(DomEvent::Idle { .. }) => "idle".into(),
        Output::Event(DomEvent::Busy { .. }) => "busy".into(),
        Output::Event(DomEvent::Conversation { .. }) => "conversation".into(),
        Output::Event(DomEvent::Error(e)) => format!("error {}", e.code.as_str()),
        Output::Event(DomEvent::Runtime(RuntimeEvent::TextDelta { content, .. })) => {
            format!("text {content}")
        }
        Output::Event(DomEvent::Runtime(RuntimeEvent::RunError(e))) => {
            format!("run_error {}", e.reason.as_str())
        }
        Output::Event(DomEvent::Runtime(event)) => event.type_name().into(),
        Output::Settle { send, result } => format!("settle {} {}", send.0, result.status.as_str()),
        _ => return None,
    })
}

pub(super) fn body(request: &FetchRequest) -> Value {
    let body = json::parse(request.body.as_deref().unwrap()).unwrap();
    if request.purpose == FetchPurpose::Run {
        // Written without the types, and still what the types would write.
        let typed = encode_input(&decode_input(&body).unwrap());
        let members = body.as_object().unwrap();
        for (name, value) in members.iter() {
            assert_eq!(typed.get(name).unwrap().text(), value.text(), "{name}");
        }
        assert_eq!(typed.as_object().unwrap().len(), members.len());
    }
    body
}

pub(super) const STARTED: &str =
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}"#;
pub(super) const FINISHED: &str =
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}"#;
pub(super) const SAY: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#;
pub(super) const HEL: &str = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hel"}"#;
pub(super) const LO: &str = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"lo"}"#;
pub(super) const SAID: &str = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;
/// A short answer: "Hello".
pub(super) const HELLO: &[&str] = &[STARTED, SAY, HEL, LO, SAID, FINISHED];
pub(super) const HELLO_STORY: &[&str] =
    &["busy", "run_started", "text Hel", "text lo", "complete", "run_finished"];
