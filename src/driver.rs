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
use mindset_core::error::ErrorInfo;
use mindset_core::session::{Config, Input, Output, Refused, SendId, Session, Token};
use mindset_core::view::Patch;
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use crate::convert;
use crate::dom::View;
use crate::effects::fetch::{self, Fetches};
use crate::effects::storage::{self, Place};
use crate::effects::timer::Timer;
use crate::effects::tool::{self, Tools};
use crate::effects::{event, owner};
use crate::page;
use crate::pattern::Patterns;

/// One element's session and everything its effects need.
pub(crate) struct Driver {
    /// The element.
    pub(crate) host: HtmlElement,
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
    timer: Timer,
    /// Waits for the page's session to say which agent it is for.
    held: RefCell<Option<Config>>,
    place: RefCell<Place>,
    next_send: Cell<u32>,
    sends: RefCell<Vec<(SendId, Function)>>,
    stops: RefCell<Vec<Function>>,
}

impl Driver {
    /// A driver whose session waits for its configuration.
    pub(crate) fn new(host: HtmlElement, tools: Tools) -> Rc<Driver> {
        Rc::new(Driver {
            host,
            tools,
            fetches: Fetches::default(),
            view: View::default(),
            token_seen: Cell::new(0),
            tell: OnceCell::new(),
            session: RefCell::new(Session::new(Box::new(page::random_id), Box::new(Patterns))),
            draining: Cell::new(false),
            ended: Cell::new(false),
            timer: Timer::default(),
            held: RefCell::new(None),
            place: RefCell::default(),
            next_send: Cell::new(0),
            sends: RefCell::default(),
            stops: RefCell::default(),
        })
    }

    /// Through this the browser tells of ticks of the timer and of what a person asks for.
    /// False if it is refused or nobody waits for it.
    pub(crate) fn tell(self: &Rc<Driver>) -> &JsValue {
        self.tell.get_or_init(|| {
            let driver = Rc::downgrade(self);
            tell(move |name, value| {
                driver.upgrade().is_some_and(|driver| match name.as_str() {
                    "tick" => {
                        driver.tick();
                        true
                    }
                    "ran" => {
                        tool::ran(&driver, &value);
                        true
                    }
                    "owner" => {
                        driver.feed(Input::Owner { gone: value.is_truthy() });
                        true
                    }
                    _ => driver.view.told(&driver, &name, value.as_string().as_deref().unwrap_or_default()),
                })
            })
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

    /// [`step`](Self::step) for inputs that no session refuses.
    pub(crate) fn feed(self: &Rc<Driver>, input: Input<'_>) {
        // Only calls of the page are refused; an effect's answer has no caller.
        let _ = self.step(input);
    }

    /// Starts, or starts again with another configuration.
    pub(crate) fn start(self: &Rc<Driver>, mut config: Config) {
        self.held.take();
        // The place before is free first.
        self.place.take();
        let place = Place::take(&config);
        config.anonymous_key = storage::read(&place.key);
        config.conversation_id = storage::read(&place.conversation);
        self.place.replace(place);
        self.feed(Input::Start(config));
    }

    /// Starts when the page's session has said which agent it is for.
    pub(crate) fn start_when_named(self: &Rc<Driver>, config: Config) {
        self.held.replace(Some(config));
        page::need_token(self, false);
    }

    /// The page handed out a token, or could not.
    pub(crate) fn take_token(self: &Rc<Driver>, result: Result<Token, ErrorInfo>, generation: u32) {
        self.token_seen.set(generation);
        let Some(mut config) = self.held.take() else { return self.feed(Input::Token(result)) };
        match result {
            Ok(_) => {
                config.agent_uid = page::session_agent().unwrap_or_default();
                self.start(config);
            }
            Err(error) if !self.ended.get() => {
                event::report(&self.host, &error);
                if error.retryable {
                    let now = now();
                    self.timer.arm(self.tell(), Some(now.saturating_add(config.timing.backoff_max)), now);
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
        let id = SendId(self.next_send.get());
        self.next_send.set(id.0.wrapping_add(1));
        if let Some(settle) = settle {
            self.sends.borrow_mut().push((id, settle));
        }
        let result = self.step(input(id));
        if result.is_err() {
            self.sends.borrow_mut().retain(|(kept, _)| *kept != id);
        }
        result
    }

    fn tick(self: &Rc<Driver>) {
        self.timer.fired();
        if self.held.borrow().is_some() {
            page::need_token(self, false);
        } else {
            self.feed(Input::Tick);
        }
    }

    /// Ends the running turn; `settle` is called when no turn runs any more.
    pub(crate) fn stop(self: &Rc<Driver>, settle: Option<Function>) {
        self.stops.borrow_mut().extend(settle);
        self.feed(Input::Stop);
    }

    /// Whether a turn runs or a sent message waits for one.
    pub(crate) fn is_busy(&self) -> bool {
        self.session.borrow().is_busy()
    }

    /// What draws the panel as it stands.
    pub(crate) fn redraw(&self) -> Vec<Patch> {
        self.session.borrow_mut().redraw()
    }

    /// The element is gone: drops requests, timer and panel, settles what waits.
    pub(crate) fn end(&self) {
        if self.ended.replace(true) {
            return;
        }
        self.fetches.abort_all();
        tool::abort(&self.tools, None);
        self.timer.disarm();
        self.view.remove();
        self.place.take();
        let gone = mindset_core::object! { "status": "aborted", "conversationId": "", "runId": "" };
        for (_, settle) in self.sends.take() {
            call(&settle, &convert::plain(&gone));
        }
        for settle in self.stops.take() {
            call(&settle, &JsValue::UNDEFINED);
        }
    }

    // Nothing in here may return early past the flag.
    fn drain(self: &Rc<Driver>) {
        if self.draining.replace(true) {
            return;
        }
        while let Some(output) = self.poll() {
            self.perform(output);
        }
        self.draining.set(false);
        if !self.stops.borrow().is_empty() && !self.is_busy() {
            for settle in self.stops.take() {
                call(&settle, &JsValue::UNDEFINED);
            }
        }
        if !self.ended.get() {
            let due = self.session.borrow().poll_timeout();
            self.timer.arm(self.tell(), due, now());
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
            Output::Abort(id) => self.fetches.abort(id),
            Output::Event(event) => event::dispatch(&self.host, &event),
            Output::Patch(patch) => self.view.apply(patch),
            Output::RunTool(run) => tool::start(self, &run, false),
            Output::AskTool(run) => tool::start(self, &run, true),
            Output::AbortTool(id) => tool::abort(&self.tools, Some(id)),
            Output::FindOwner(client_id) => owner::find(&client_id, self.tell()),
            Output::StoreConversation(id) => {
                storage::write(&self.place.borrow().conversation, id.as_deref());
            }
            Output::Settle { send, result } => {
                let settle = {
                    let mut sends = self.sends.borrow_mut();
                    sends.iter().position(|(id, _)| *id == send).map(|at| sends.swap_remove(at).1)
                };
                if let Some(settle) = settle {
                    call(&settle, &convert::plain(&result.to_json()));
                }
            }
            Output::StoreAnonymousKey(value) => storage::write(&self.place.borrow().key, Some(&value)),
            // Nothing asks for them yet.
            Output::Tell(_) | Output::Answer { .. } => {}
        }
    }
}

fn call(function: &Function, argument: &JsValue) {
    // A promise's own resolve function: it does not throw.
    let _ = function.call1(&JsValue::UNDEFINED, argument);
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
