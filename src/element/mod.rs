//! `<mindset-agent>`: the handle that the element's class forwards to. One handle
//! lives from the element's arrival in the document to its real removal; moves
//! change nothing.

pub(crate) mod attributes;
mod channels;
mod methods;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mindset_core::json::concat;
use mindset_core::session::{Ask, Config, Input};
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use crate::driver::Driver;
use crate::effects::event;
use crate::effects::tool::Tools;
use crate::error::invalid_config;
use crate::host::Host;
use crate::page;
use attributes::Attributes;

/// One element in the document, or one UI-less client.
#[wasm_bindgen]
#[allow(missing_debug_implementations)]
pub struct Agent {
    pub(crate) driver: Rc<Driver>,
    started: Cell<bool>,
    config: RefCell<Option<Config>>,
    complaint: RefCell<Option<String>>,
    /// The attribute `conversation-id` as it stood last.
    conversation: RefCell<Option<String>>,
}

impl Agent {
    /// The handle of this host.
    pub(crate) fn of(host: Host, tools: Tools) -> Agent {
        Agent {
            driver: Driver::new(host, tools),
            started: Cell::new(false),
            config: RefCell::default(),
            complaint: RefCell::default(),
            conversation: RefCell::default(),
        }
    }
}

#[wasm_bindgen]
impl Agent {
    /// Takes the element over and draws it. Nothing is sent and no event is
    /// dispatched before [`start`](Self::start).
    #[wasm_bindgen(constructor)]
    pub fn new(host: HtmlElement, tools: Tools) -> Agent {
        let agent = Agent::of(Host::Element(host), tools);
        agent.refresh();
        agent
    }

    /// The document is parsed: tells it who is there, then begins. `first` is false
    /// for an element that was there before. A client begins.
    pub fn start(&self, first: bool) {
        self.started.set(true);
        match &self.driver.host {
            Host::Chat(chat) => self.driver.begin(chat.config()),
            Host::Element(element) => {
                if first {
                    event::registered(element, Attributes::read(element).headless);
                }
                self.refresh();
            }
        }
    }

    /// Attributes or the page's configuration may have changed. An equal value does
    /// nothing.
    pub fn refresh(&self) {
        let Host::Element(element) = &self.driver.host else { return };
        let new = Attributes::read(element);
        self.driver.view.show(&self.driver, &new);
        if self.started.get() {
            self.configure(&new);
        }
    }

    /// The element was moved: scroll position and focus go back to where they were.
    pub fn reattached(&self) {
        self.driver.view.reattached();
    }

    /// The element is gone, or the client was closed: requests, timers and listeners end.
    pub fn remove(&self) {
        self.driver.end();
    }

    fn configure(&self, attributes: &Attributes) {
        let last = self.config.borrow().clone();
        let server = last.as_ref().map(|config| config.server.as_str());
        let init = page::configuration();
        let Some((config, is_bad)) = attributes.config(init.as_deref(), server) else { return };
        let used = config.server.clone();
        // A panel that comes or goes is no other session.
        let known = last.map(|known| Config { can_ask: config.can_ask, ..known });
        let wanted = attributes.conversation_id.clone();
        let before = self.conversation.replace(wanted.clone());
        if known.as_ref() == Some(&config) {
            self.driver.feed(Input::SetCanAsk(config.can_ask));
            if let Some(id) = wanted.filter(|id| before.as_ref() != Some(id)) {
                self.driver.ask(None, Ask::Switch { id });
            }
        } else {
            self.config.replace(Some(config.clone()));
            self.driver.begin(Config { conversation_id: wanted, ..config });
        }
        // Once per mistake, not once per attribute.
        let bad = attributes.server.clone().filter(|_| is_bad);
        if self.complaint.replace(bad.clone()) != bad && is_bad {
            let message = concat(&[
                "The attribute `server` is no http or https URL: write it as https://host. Until then ",
                &used,
                " is used.",
            ]);
            event::report(&self.driver.host, &invalid_config(message));
        }
    }
}
