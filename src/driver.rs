//! Moves one session: takes an input, performs every output, arms one timer.
//!
//! Two rules make it safe to call from anywhere. No borrow of the session is alive
//! while JavaScript runs. And the drain is not re-entrant: a listener that calls
//! back into the element has its input handled, and refused if need be, at once,
//! but the effects are performed by the drain that is already running, so every
//! listener sees events in the order in which they happened.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use js_sys::{Date, Function};
use mindset_core::Millis;
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::{Decision, Reason, RuntimeEvent};
use mindset_core::json::Value;
use mindset_core::session::{
    Ask, AskId, Config, DomEvent, Input, Output, Protocol, Refused, SendId, Session, Token,
};
use mindset_core::view::Patch;
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use crate::dom::View;
use crate::effects::event::Pieces;
use crate::effects::fetch::{self, Fetches};
use crate::effects::promise::Promises;
use crate::effects::storage::Place;
use crate::effects::timer::Timer;
use crate::effects::tool::{self, Tools};
use crate::effects::watch::Surroundings;
use crate::effects::{event, later, owner};
use crate::host::Host;
use crate::page;
use crate::pattern::Patterns;
use crate::{convert, error};

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    /// A random UUID, or one that was made for the session of this element before it began.
    #[wasm_bindgen(js_name = idFor)]
    fn id_for(host: Option<&HtmlElement>) -> String;
}

/// One session and everything its effects need.
pub(crate) struct Driver {
    /// Whose session it is.
    pub(crate) host: Host,
    /// Requests under way.
    pub(crate) fetches: Fetches,
    /// What is drawn.
    pub(crate) view: View,
    /// The page's handlers.
    pub(crate) tools: Tools,
    /// Which of the page's tokens the session got last.
    pub(crate) token_seen: Cell<u32>,
    tell: OnceCell<JsValue>,
    session: RefCell<Session>,
    draining: Cell<bool>,
    ended: Cell<bool>,
    /// Start-up has come to its end once.
    ready: Cell<bool>,
    /// Attribute or option name the conversation.
    is_named: Cell<bool>,
    timer: Timer,
    /// Waits for the page's session to say which agent it is for.
    held: RefCell<Option<Config>>,
    place: RefCell<Place>,
    /// The conversation as it is stored for the next page load.
    stored: RefCell<Option<String>>,
    promises: Promises,
    surroundings: Surroundings,
}

impl Driver {
    /// A driver whose session waits for its configuration.
    pub(crate) fn new(host: Host, tools: Tools) -> Rc<Driver> {
        let element = host.element().cloned();
        let ids = move || id_for(element.as_ref());
        Rc::new(Driver {
            host,
            tools,
            fetches: Fetches::new(),
            view: View::default(),
            token_seen: Cell::new(0),
            tell: OnceCell::new(),
            session: RefCell::new(Session::new(Box::new(ids), Box::new(Patterns))),
            draining: Cell::new(false),
            ended: Cell::new(false),
            ready: Cell::new(false),
            is_named: Cell::new(false),
            timer: Timer::default(),
            held: RefCell::new(None),
            place: RefCell::default(),
            stored: RefCell::default(),
            promises: Promises::default(),
            surroundings: Surroundings::default(),
        })
    }

    /// Through this the browser tells of ticks of the timer and of what a person asks for.
    /// False if it is refused or nobody waits for it.
    pub(crate) fn tell(self: &Rc<Driver>) -> &JsValue {
        self.tell.get_or_init(|| {
            let driver = Rc::downgrade(self);
            later::gate(&tell(move |name, value| {
                driver.upgrade().is_some_and(|driver| match name.as_str() {
                    "head" | "bytes" | "end" => fetch::told(&driver, &name, &value),
                    "tick" => driver.tick(),
                    "ran" => tool::ran(&driver, &value),
                    "uploads" => {
                        driver.ask(value.dyn_into().ok(), Ask::Uploads);
                        true
                    }
                    "permissions" | "permit-00" | "permit-01" | "permit-10" | "permit-11" => {
                        let set =
                            name.strip_prefix("permit-").map(|on| (on.starts_with('1'), on.ends_with('1')));
                        driver.ask(value.dyn_into().ok(), Ask::Permissions { set });
                        true
                    }
                    "begin" | "anew" => {
                        driver.greet(name == "begin");
                        true
                    }
                    "owner" => driver.feed(Input::Owner { gone: value.is_truthy() }),
                    "online" => driver.feed(Input::Online(value.is_truthy())),
                    "wake" => driver.feed(Input::Wake),
                    "changed" => driver.feed(Input::Changed),
                    _ => driver.view.told(&driver, &name, value.as_string().as_deref().unwrap_or_default()),
                })
            }))
        })
    }

    /// Handles one input and performs what follows from it.
    ///
    /// # Errors
    /// What the session refuses; nothing was changed then.
    pub(crate) fn step(self: &Rc<Driver>, input: Input<'_>) -> Result<(), Refused> {
        if self.ended.get() {
            return Ok(());
        }
        self.session.borrow_mut().handle(input, now())?;
        self.drain();
        Ok(())
    }

    /// [`step`](Self::step) for inputs that no session refuses; true.
    pub(crate) fn feed(self: &Rc<Driver>, input: Input<'_>) -> bool {
        // Only calls of the page are refused; an effect's answer has no caller.
        let _ = self.step(input);
        true
    }

    /// Starts, or starts again with another configuration; if the page's session is to say
    /// which agent this is, as soon as it has.
    pub(crate) fn begin(self: &Rc<Driver>, config: Config) {
        self.surroundings.begin(self.tell());
        self.is_named.set(config.conversation_id.is_some());
        let is_named = !config.agent_uid.is_empty() || !config.page_auth;
        match self.host.init() {
            Some(init) if init.is_session && !is_named && config.protocol == Protocol::Mindset => {
                self.held.replace(Some(config));
                page::need_token(self, false);
            }
            _ => self.start(config),
        }
    }

    fn start(self: &Rc<Driver>, mut config: Config) {
        self.held.take();
        // The place before is free first.
        self.place.take();
        let place = Place::take(&config, self.host.element().is_some());
        config.anonymous_key = place.anonymous_key();
        // What the page names goes before what this tab had.
        config.conversation_id = config.conversation_id.or_else(|| place.last_conversation());
        self.place.replace(place);
        self.stored.replace(config.conversation_id.clone());
        self.feed(Input::Start(config));
        self.draft_moved();
    }

    /// The page handed out a token, or could not.
    pub(crate) fn take_token(self: &Rc<Driver>, mut result: Result<Token, ErrorInfo>, generation: u32) {
        self.token_seen.set(generation);
        if let Ok(token) = &mut result
            && self.is_named.get()
        {
            token.conversation_id = None;
        }
        let Some(mut config) = self.held.take() else {
            self.feed(Input::Token(result));
            return;
        };
        match result {
            Ok(_) => {
                let named = self.host.init().and_then(|init| init.session_agent());
                config.agent_uid = named.unwrap_or_default();
                self.start(config);
            }
            Err(error) if !self.ended.get() => {
                event::report(&self.host, &error);
                if error.retryable {
                    let now = now();
                    let due = now.saturating_add(config.timing.backoff_max);
                    self.timer.arm(self.tell(), Some(due), now, true);
                    self.held.replace(Some(config));
                }
            }
            Err(_) => {}
        }
    }

    /// Gives the session an input that ends in a [`TurnResult`], to be handed to
    /// `settle`.
    ///
    /// [`TurnResult`]: mindset_core::session::TurnResult
    ///
    /// # Errors
    /// What the session refuses; `settle` is not kept then.
    pub(crate) fn send<'a>(
        self: &Rc<Driver>,
        settle: Option<Function>,
        input: impl FnOnce(SendId) -> Input<'a>,
    ) -> Result<(), Refused> {
        let id = self.promises.keep(settle);
        let result = self.step(input(SendId(id)));
        if result.is_err() {
            self.promises.take(id);
        }
        result
    }

    /// Asks for something about conversations.
    pub(crate) fn ask(self: &Rc<Driver>, settle: Option<Function>, ask: Ask) {
        let id = self.promises.keep(settle);
        if let Err(refused) = self.step(Input::Ask { id: AskId(id), ask }) {
            self.promises.settle(id, &JsValue::UNDEFINED, &error::mindset_error(&refused));
        }
    }

    /// A person's word about an approval, for one who waits to hear whether it counts.
    pub(crate) fn reply(self: &Rc<Driver>, settle: Function, request_id: &str, decision: Decision) {
        let id = self.promises.keep(Some(settle));
        if let Err(refused) = self.step(Input::Decide { reply: Some(AskId(id)), request_id, decision }) {
            self.promises.settle(id, &JsValue::UNDEFINED, &error::mindset_error(&refused));
        }
    }

    /// A new conversation may begin by itself. The page's question is asked in the first one.
    fn greet(self: &Rc<Driver>, first: bool) {
        let own = self.host.element().and_then(|element| convert::text(element, "initialQuestion"));
        let question = own.or_else(|| self.host.init()?.initial_question.clone());
        let question = question.filter(|text| !text.trim().is_empty());
        if first || question.is_none() {
            self.ask(None, Ask::Greet { question });
        }
    }

    fn tick(self: &Rc<Driver>) -> bool {
        if self.timer.fired(now()) {
            self.feed(Input::Wake);
        }
        if self.held.borrow().is_some() {
            page::need_token(self, false);
            return true;
        }
        self.feed(Input::Tick)
    }

    /// Ends the running turn; `settle` is called when no turn runs any more.
    pub(crate) fn stop(self: &Rc<Driver>, settle: Option<Function>) {
        self.promises.keep_stop(settle);
        self.feed(Input::Stop);
    }

    /// The conversation, once it is known.
    pub(crate) fn conversation_id(&self) -> Option<String> {
        self.session.borrow().conversation_id().map(str::to_owned)
    }

    /// The name under which the draft is kept; empty while there is no session.
    pub(crate) fn draft(&self) -> String {
        self.place.borrow().draft(self.stored.borrow().as_deref())
    }

    /// The draft belongs to another conversation.
    fn draft_moved(&self) {
        let keeps =
            self.host.element().is_some_and(|element| !convert::member(element, "forgetDrafts").is_truthy());
        self.view.set_draft(&self.draft(), keeps);
    }

    /// The transcript as JSON, oldest first.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let mut list = Vec::new();
        for message in self.session.borrow().messages() {
            list.push(message.to_json());
        }
        list
    }

    /// The transcript for people to keep.
    pub(crate) fn transcript(&self) -> JsValue {
        convert::plain(&Value::Object(self.session.borrow().export()))
    }

    /// Whether a turn runs or a sent message waits for one.
    pub(crate) fn is_busy(&self) -> bool {
        self.session.borrow().is_busy()
    }

    /// What draws the panel as it stands.
    pub(crate) fn redraw(&self) -> Vec<Patch> {
        self.session.borrow_mut().redraw()
    }

    /// The element is gone, or the client was closed: drops requests, timer and panel,
    /// settles what waits.
    pub(crate) fn end(&self) {
        if self.ended.replace(true) {
            return;
        }
        self.fetches.abort(None);
        tool::abort(&self.tools, None);
        self.timer.disarm();
        self.surroundings.end();
        self.view.remove();
        self.place.take();
        self.promises.end();
    }

    // Nothing in here may return early past the flag.
    fn drain(self: &Rc<Driver>) {
        if self.draining.replace(true) {
            return;
        }
        let mut pieces = Pieces::default();
        loop {
            match self.poll() {
                Some(Output::Event(event)) if pieces.take(&self.host, &event) => {}
                // Nobody but the panel sees it, and not before the next frame.
                Some(Output::Patch(patch @ Patch::AppendText { .. })) => self.view.apply(patch),
                Some(output) => {
                    pieces.tell(&self.host);
                    self.perform(output);
                }
                None if pieces.tell(&self.host) => {}
                None => break,
            }
        }
        self.draining.set(false);
        let is_busy = self.is_busy();
        if !is_busy {
            self.promises.stopped();
        }
        if !self.ended.get() {
            let due = self.session.borrow().poll_timeout();
            let is_needed = is_busy || !self.ready.get() || self.promises.any();
            self.timer.arm(self.tell(), due, now(), is_needed);
        }
    }

    fn poll(&self) -> Option<Output> {
        if self.ended.get() {
            return None;
        }
        self.session.borrow_mut().poll_output()
    }

    fn perform(self: &Rc<Driver>, output: Output) {
        match output {
            Output::NeedToken { fresh } => page::need_token(self, fresh),
            Output::Fetch(request) => fetch::start(self, &request),
            Output::Abort(id) => self.fetches.abort(Some(id)),
            Output::Event(event) => self.hear(&event),
            Output::Patch(patch) => self.view.apply(patch),
            Output::RunTool(run) => tool::start(self, &run, false),
            Output::AskTool(run) => tool::start(self, &run, true),
            Output::AbortTool(id) => tool::abort(&self.tools, Some(id)),
            Output::FindOwner(client_id) => owner::find(&client_id, self.tell()),
            Output::StoreConversation(id) => {
                self.place.borrow().keep_conversation(id.as_deref());
                if id.is_none() && self.ready.get() {
                    later::prepare(self.tell(), "anew");
                }
                self.stored.replace(id);
                self.draft_moved();
            }
            Output::StoreAnonymousKey(value) => self.place.borrow().keep_anonymous_key(&value),
            Output::Tell(conversation) => {
                let channel = self.place.borrow().channel(&conversation);
                self.surroundings.tell(&channel);
            }
            Output::Settle { send, result } => {
                let value = convert::plain(&Value::Object(result.to_json()));
                self.promises.settle(send.0, &value, &JsValue::UNDEFINED);
            }
            Output::Answer { id, result: Ok(value) } => {
                self.promises.settle(id.0, &convert::plain(&value), &JsValue::UNDEFINED);
            }
            Output::Answer { id, result: Err(error) } => {
                self.promises.settle(id.0, &JsValue::UNDEFINED, &error::mindset_error(&error));
            }
        }
    }

    /// As far as can be seen from here: the next person must not read the draft.
    fn signed_out(&self) {
        self.place.borrow().forget_draft(self.stored.borrow().as_deref());
    }

    fn hear(self: &Rc<Driver>, event: &DomEvent) {
        if let DomEvent::Runtime(RuntimeEvent::Complete { .. } | RuntimeEvent::RunError(_)) = event {
            // Whoever hears of the whole answer finds it drawn.
            self.view.flush();
        }
        match event {
            DomEvent::Idle { .. } => {
                self.ready.set(true);
                later::prepare(self.tell(), "begin");
            }
            DomEvent::Conversation { detail } => {
                let place = self.place.borrow();
                if detail.str("replacedBecause") == Some("discarded") {
                    place.forget_draft(detail.str("replacedConversationId"));
                }
                let conversation = detail.str("conversationId").unwrap_or_default();
                self.surroundings.follow(&place.channel(conversation));
            }
            // Its other pages are heard from its first turn on.
            DomEvent::Runtime(RuntimeEvent::RunStarted { conversation_id, .. }) => {
                self.surroundings.follow(&self.place.borrow().channel(conversation_id));
            }
            DomEvent::Error(error)
                if matches!(error.code, ErrorCode::InvalidAuth | ErrorCode::AuthExpired) =>
            {
                self.signed_out();
            }
            DomEvent::Runtime(RuntimeEvent::RunError(error)) if error.reason == Reason::Unauthorized => {
                self.signed_out();
            }
            _ => {}
        }
        event::dispatch(&self.host, event);
    }
}

/// The adapter's clock.
pub(crate) fn now() -> Millis {
    Date::now() as Millis
}

/// A function that the browser calls with a name and a value. It lives until
/// JavaScript forgets it, so that a late call finds a function and not a fault.
pub(crate) fn tell(hear: impl Fn(String, JsValue) -> bool + 'static) -> JsValue {
    let hear: Box<dyn Fn(String, JsValue) -> bool> = Box::new(hear);
    Closure::wrap(hear).into_js_value()
}
