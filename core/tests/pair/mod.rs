//! Both machines joined in memory: sessions of pages on one side, turns of one
//! server on the other, and between them nothing but the bytes that would go over
//! the network. The model is scripted, the clock simulated, so whole turns with
//! delays, cuts and time-outs take microseconds and always come out the same.

mod check;

mod model;
mod network;
mod page;
#[path = "../patterns/mod.rs"]
pub mod patterns;
mod requests;
mod server;

pub use check::Panel;
pub use model::{ScriptedModel, Step, call, text};
pub use network::{Cut, Lose, Network, Weather};
pub use page::{Heard, Page, object, tool};
pub use requests::check_request;
pub use server::{Canned, Server};

use std::collections::BTreeMap;

use mindset_core::error::ErrorInfo;
use mindset_core::event::{Decision, RuntimeEvent};
use mindset_core::json::parse;
use mindset_core::session::{
    self, Ask, AskId, Config, DomEvent, FetchFailure, FetchId, FetchPurpose, FetchRequest, PageTool, SendId,
    SendOptions, ToolRunId, TurnResult,
};
use mindset_core::turn::{Input, ModelEvent};

/// Steps of one [`Pair::drive`]; more means that two machines keep each other busy.
const MAX_STEPS: usize = 2_000_000;

/// Pages and a server.
pub struct Pair {
    pub now: u64,
    pub network: Network,
    pub server: Server,
    pub pages: Vec<Page>,
    /// Who each page is.
    clients: BTreeMap<usize, String>,
    /// Every request of every page, oldest first.
    pub requested: Vec<FetchRequest>,
    queue: BTreeMap<(u64, u64), Happening>,
    happenings: u64,
}

/// Something that is under way.
enum Happening {
    /// A request reaches the server.
    Request { page: usize, request: FetchRequest },
    /// A page has dropped a request.
    Dropped { page: usize, fetch: FetchId },
    /// Something of an answer reaches a page.
    Arrival { page: usize, fetch: FetchId, part: Part },
    /// Something of the page itself answers its session.
    Page { page: usize, answer: Answer },
    /// A page has asked its own server for a token.
    Token { page: usize, token: String },
    /// The model says something.
    Model { run: String, call: u64, event: ModelEvent },
    /// A tool of the server is done.
    Tool(server::ToolDone),
    /// A stream is due for a sign of life.
    Ping { run: String },
}

/// What a page answers its own session.
enum Answer {
    ToolDone(ToolRunId, Result<String, String>),
    Sentence(ToolRunId, Result<String, String>),
    Decision(String, Decision),
    Owner(bool),
    Changed,
}

/// A part of an answer.
#[derive(Clone)]
pub enum Part {
    Head { status: u16, content_type: &'static str },
    Bytes(Vec<u8>),
    End(Result<(), FetchFailure>),
}

/// What the server wants to happen.
pub enum Effect {
    /// After the network's delay.
    Send { page: usize, fetch: FetchId, part: Part },
    /// After `delay`.
    Model { delay: u64, run: String, call: u64, event: ModelEvent },
    /// After `delay`.
    Tool { delay: u64, done: server::ToolDone },
    /// After `delay`.
    Ping { delay: u64, run: String },
}

impl Pair {
    /// One page that has started against a server with this model.
    pub fn new(model: ScriptedModel) -> Pair {
        let mut pair = Pair::unstarted(model);
        pair.add_page(config());
        pair.drive();
        assert!(!pair.page().session.is_busy());
        pair
    }

    /// A server without pages.
    pub fn unstarted(model: ScriptedModel) -> Pair {
        Pair {
            now: 1_796_000_000_000,
            network: Network::default(),
            server: Server::new(model),
            pages: Vec::new(),
            clients: BTreeMap::new(),
            requested: Vec::new(),
            queue: BTreeMap::new(),
            happenings: 0,
        }
    }

    /// Opens a page and starts its session; gives the page's number.
    pub fn add_page(&mut self, config: Config) -> usize {
        let page = self.pages.len();
        self.pages.push(Page::new(page));
        self.clients.insert(page, config.client_id.clone());
        self.input(page, session::Input::Start(config)).expect("start is never refused");
        page
    }

    /// The first page.
    pub fn page(&self) -> &Page {
        &self.pages[0]
    }

    /// Sends a message from the first page.
    pub fn send(&mut self, text: &str) -> SendId {
        self.send_from(0, text, SendOptions::default()).expect("not busy")
    }

    pub fn send_from(&mut self, page: usize, text: &str, options: SendOptions) -> Result<SendId, ErrorInfo> {
        let id = self.pages[page].next_send();
        self.input(page, session::Input::Send { id, text, options })?;
        self.pages[page].accepted.push(id);
        Ok(id)
    }

    /// Asks something about conversations from a page.
    pub fn inquire(&mut self, page: usize, ask: Ask) -> AskId {
        self.pages[page].asks += 1;
        let id = AskId(self.pages[page].asks);
        self.input(page, session::Input::Ask { id, ask }).expect("asks are never refused at once");
        id
    }

    /// Sends a message from the first page and waits until all is quiet.
    pub fn ask(&mut self, text: &str) -> TurnResult {
        let send = self.send(text);
        self.drive();
        self.page().result(send).clone()
    }

    /// Sends the first page's last message again and waits until all is quiet.
    pub fn retry(&mut self) -> TurnResult {
        self.retry_from(0)
    }

    pub fn retry_from(&mut self, page: usize) -> TurnResult {
        let id = self.pages[page].next_send();
        self.input(page, session::Input::Retry { id }).expect("there is something to retry");
        self.pages[page].accepted.push(id);
        self.drive();
        self.pages[page].result(id).clone()
    }

    /// Gives a page's session an input, and the network what comes of it.
    pub fn input(&mut self, page: usize, input: session::Input<'_>) -> Result<(), ErrorInfo> {
        self.pages[page].session.handle(input, self.now)?;
        self.drain(page);
        Ok(())
    }

    fn drain(&mut self, page: usize) {
        while let Some(output) = self.pages[page].session.poll_output() {
            let at = self.now + self.network.latency;
            match output {
                session::Output::Fetch(request) => {
                    let reads = matches!(request.purpose, FetchPurpose::Run | FetchPurpose::Events);
                    if request.purpose == FetchPurpose::Events {
                        let open = &self.pages[page].open;
                        assert!(self.pages[page].streams.is_disjoint(open), "two streams are open");
                    }
                    if reads {
                        self.pages[page].streams.insert(request.id);
                    }
                    self.pages[page].open.insert(request.id);
                    self.requested.push(request.clone());
                    self.at(at, Happening::Request { page, request });
                }
                session::Output::Abort(fetch) => {
                    assert!(self.pages[page].open.remove(&fetch), "{fetch:?} is not open");
                    self.at(at, Happening::Dropped { page, fetch });
                }
                session::Output::NeedToken { .. } => {
                    let token = self.server.new_token();
                    self.at(at, Happening::Token { page, token });
                }
                session::Output::RunTool(run) => {
                    let id = run.id;
                    if let Some((time, result)) = self.pages[page].run(run) {
                        self.answer(page, time, Answer::ToolDone(id, result));
                    }
                }
                session::Output::AskTool(run) => {
                    let sentence = (self.pages[page].wording)(&run);
                    self.answer(page, 0, Answer::Sentence(run.id, sentence));
                }
                session::Output::FindOwner(client) => {
                    let gone = self.clients.iter().all(|(page, c)| *c != client || self.pages[*page].gone);
                    self.answer(page, 0, Answer::Owner(gone));
                }
                session::Output::Tell(id) => {
                    for other in (0..self.pages.len()).filter(|other| *other != page) {
                        if self.pages[other].session.conversation_id() == Some(&id) {
                            self.answer(other, 0, Answer::Changed);
                        }
                    }
                }
                other => {
                    if let session::Output::Event(DomEvent::Runtime(event)) = &other
                        && let RuntimeEvent::PermissionRequested { request_id, tool_name, .. } = event
                        && let Some((time, decision)) = (self.pages[page].decide)(tool_name)
                    {
                        self.answer(page, time, Answer::Decision(request_id.clone(), decision));
                    }
                    self.pages[page].take(other);
                }
            }
        }
    }

    fn answer(&mut self, page: usize, time: u64, answer: Answer) {
        self.at(self.now + time, Happening::Page { page, answer });
    }

    /// The page is left: nothing of it goes on, and what it asked for is dropped.
    pub fn leave(&mut self, page: usize) {
        self.pages[page].gone = true;
        for fetch in std::mem::take(&mut self.pages[page].open) {
            self.at(self.now, Happening::Dropped { page, fetch });
        }
    }

    fn at(&mut self, time: u64, happening: Happening) {
        self.happenings += 1;
        self.queue.insert((time, self.happenings), happening);
    }

    /// Lets everything happen until nothing is under way and no timer is armed,
    /// then checks what must hold of a quiet pair.
    pub fn drive(&mut self) {
        self.drive_until(u64::MAX, |_| false);
        for page in self.pages.iter_mut().filter(|page| !page.gone) {
            check::quiet(page);
        }
        self.server.check_quiet();
    }

    /// Lets everything happen that happens in the next `time` milliseconds.
    pub fn drive_for(&mut self, time: u64) {
        let until = self.now + time;
        self.drive_until(until, |_| false);
        self.now = until;
    }

    /// Lets everything happen until the first page's message has settled; the
    /// server may be at work still.
    pub fn drive_to_result(&mut self, send: SendId) -> TurnResult {
        self.drive_until(u64::MAX, |pair| pair.page().settled(send));
        self.page().result(send).clone()
    }

    fn drive_until(&mut self, until: u64, enough: impl Fn(&Pair) -> bool) {
        for _ in 0..MAX_STEPS {
            if enough(self) {
                return;
            }
            let next = self.queue.keys().next().map(|(time, _)| *time);
            let pages = self.pages.iter().filter(|page| !page.gone);
            let timers = pages.map(|p| p.session.poll_timeout()).chain([self.server.poll_timeout()]);
            let timer = timers.flatten().min();
            match (next, timer) {
                (Some(time), timer) if time <= until && timer.is_none_or(|t| time <= t) => {
                    self.now = self.now.max(time);
                    if let Some((_, happening)) = self.queue.pop_first() {
                        self.happen(happening);
                    }
                }
                (_, Some(time)) if time <= until => {
                    self.now = self.now.max(time);
                    self.tick();
                }
                _ => return,
            }
        }
        panic!("the two sides do not come to rest");
    }

    fn tick(&mut self) {
        for page in 0..self.pages.len() {
            let due = self.pages[page].session.poll_timeout().is_some_and(|t| t <= self.now);
            if due && !self.pages[page].gone {
                self.input(page, session::Input::Tick).expect("ticks are never refused");
            }
        }
        let effects = self.server.tick(self.now);
        self.perform(effects);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Request { page, request } => self.request(page, &request),
            Happening::Dropped { page, fetch } => self.server.drop_reader(page, fetch),
            Happening::Token { page, .. } if self.pages[page].gone => {}
            Happening::Token { page, token } => {
                let token = Ok(session::Token::new(token));
                self.input(page, session::Input::Token(token)).expect("tokens are never refused");
            }
            Happening::Model { run, call, event } => {
                let effects = self.server.model_says(&run, call, event, self.now);
                self.perform(effects);
            }
            Happening::Tool(done) => {
                let effects = self.server.tool_done(done, self.now);
                self.perform(effects);
            }
            Happening::Ping { run } => {
                let effects = self.server.ping(&run);
                self.perform(effects);
            }
            Happening::Arrival { page, fetch, part } => self.arrive(page, fetch, part),
            Happening::Page { page, answer } if !self.pages[page].gone => {
                let input = match &answer {
                    Answer::ToolDone(id, result) => {
                        session::Input::ToolDone { id: *id, result: result.clone() }
                    }
                    Answer::Sentence(id, sentence) => {
                        session::Input::ToolSentence { id: *id, sentence: sentence.clone() }
                    }
                    Answer::Decision(id, decision) => {
                        session::Input::Decide { reply: None, request_id: id, decision: *decision }
                    }
                    Answer::Owner(gone) => session::Input::Owner { gone: *gone },
                    Answer::Changed => session::Input::Changed,
                };
                let late = matches!(answer, Answer::Decision(..));
                let heard = self.input(page, input);
                assert!(heard.is_ok() || late, "answers of the page are never refused: {heard:?}");
            }
            Happening::Page { .. } => {}
        }
    }

    /// A request comes to the server, or what the network leaves of it.
    fn request(&mut self, page: usize, request: &FetchRequest) {
        let fetch = request.id;
        let lost = if self.network.dead {
            Some(Lose::Request(0))
        } else if request.purpose != FetchPurpose::Run {
            None
        } else if let Some(spare) = self.network.spare_runs.checked_sub(1) {
            self.network.spare_runs = spare;
            None
        } else {
            self.network.lose.take()
        };
        let mut effects = Vec::new();
        match lost {
            // Whatever the server makes of half a body, it is no run.
            Some(Lose::Request(after)) => {
                let body = request.body.as_deref().unwrap_or("");
                assert!(after == 0 || parse(body.get(..after).unwrap_or("")).is_err(), "{after}");
            }
            _ => effects = self.server.handle(page, request, &mut self.network, self.now),
        }
        if lost.is_some() {
            effects.retain(|effect| !matches!(effect, Effect::Send { fetch: to, .. } if *to == fetch));
            let failure = FetchFailure { message: "Failed to fetch".to_owned() };
            effects.push(Effect::Send { page, fetch, part: Part::End(Err(failure)) });
        }
        self.perform(effects);
        if lost.is_some() {
            self.server.drop_reader(page, fetch);
        }
    }

    /// The server's process dies and is there again at once.
    pub fn crash(&mut self) {
        self.server.crash(self.now);
        self.break_connections();
    }

    /// The network is gone, with all that is under way, or there again.
    pub fn set_network(&mut self, works: bool) {
        self.network.dead = !works;
        if !works {
            self.break_connections();
        }
    }

    fn break_connections(&mut self) {
        for page in 0..self.pages.len() {
            for fetch in self.pages[page].open.clone() {
                self.server.drop_reader(page, fetch);
                let failure = FetchFailure { message: "network error".to_owned() };
                self.arrive(page, fetch, Part::End(Err(failure)));
            }
        }
    }

    fn arrive(&mut self, page: usize, fetch: FetchId, part: Part) {
        if !self.pages[page].open.contains(&fetch) {
            return;
        }
        let result = match part {
            Part::Head { status, content_type } => {
                self.input(page, session::Input::Head { fetch, status, content_type })
            }
            Part::Bytes(bytes) => self.input(page, session::Input::Bytes { fetch, bytes: &bytes }),
            Part::End(result) => {
                self.pages[page].open.remove(&fetch);
                self.input(page, session::Input::End { fetch, result })
            }
        };
        result.expect("answers are never refused");
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { page, fetch, part } => {
                    let at = self.now + self.network.latency;
                    self.at(at, Happening::Arrival { page, fetch, part });
                }
                Effect::Model { delay, run, call, event } => {
                    self.at(self.now + delay, Happening::Model { run, call, event });
                }
                Effect::Tool { delay, done } => self.at(self.now + delay, Happening::Tool(done)),
                Effect::Ping { delay, run } => self.at(self.now + delay, Happening::Ping { run }),
            }
        }
    }

    /// Sets the first page's tools.
    pub fn set_tools(&mut self, tools: Vec<PageTool>) {
        self.input(0, session::Input::SetPageTools(tools)).expect("good tools");
    }

    /// Stops the turn of the first page.
    pub fn stop(&mut self) {
        self.input(0, session::Input::Stop).expect("stop is never refused");
    }

    /// Gives the running turns of the server an input.
    pub fn server_input(&mut self, input: impl Fn() -> Input) {
        let effects = self.server.input_all(input, self.now);
        self.perform(effects);
    }
}

/// A turn whose first answer takes a while, so that something can happen meanwhile.
pub fn slow_call(parameters: &str, arguments: &str) -> Pair {
    let slowly = Step::events(call(0, "act", arguments)).slowly(100);
    let mut pair = Pair::new(ScriptedModel::new([slowly, Step::says("Done.")]));
    pair.set_tools(vec![tool("act", parameters)]);
    pair
}

/// Parameters of [`slow_call`].
pub const ID: &str = r#"{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"number"}}}"#;

/// A page with an anonymous user of the agent `demo`.
pub fn config() -> Config {
    Config {
        server: server::BASE.to_owned(),
        app_uid: "app".to_owned(),
        agent_uid: "demo".to_owned(),
        client_id: "client".to_owned(),
        can_ask: true,
        ..Config::default()
    }
}
