//! `<mindset-agent>`: the handle that the element's class forwards to. One handle
//! lives from the element's arrival in the document to its real removal; moves
//! change nothing.

mod attributes;
mod methods;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mindset_core::session::Config;
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use crate::driver::Driver;
use crate::effects::event;
use crate::page;
use attributes::Attributes;

/// One element in the document.
#[wasm_bindgen]
#[allow(missing_debug_implementations)]
pub struct Agent {
    driver: Rc<Driver>,
    started: Cell<bool>,
    config: RefCell<Option<Config>>,
    complaint: RefCell<String>,
}

#[wasm_bindgen]
impl Agent {
    /// Takes the element over and draws it. Nothing is sent and no event is
    /// dispatched before [`start`](Self::start).
    #[wasm_bindgen(constructor)]
    pub fn new(host: HtmlElement) -> Agent {
        let agent = Agent {
            driver: Driver::new(host),
            started: Cell::new(false),
            config: RefCell::new(None),
            complaint: RefCell::default(),
        };
        agent.refresh();
        agent
    }

    /// The document is parsed: tells it who is there, then begins. `first` is false
    /// for an element that was there before.
    pub fn start(&self, first: bool) {
        if first {
            event::registered(&self.driver.host, Attributes::read(&self.driver.host).headless);
        }
        self.started.set(true);
        self.refresh();
    }

    /// Attributes or the page's configuration may have changed. An equal value does
    /// nothing.
    pub fn refresh(&self) {
        let new = Attributes::read(&self.driver.host);
        let (heading, placeholder) = (new.heading.as_deref(), new.placeholder.as_deref());
        self.driver.view.show(&self.driver, new.headless, heading, placeholder);
        if self.started.get() {
            self.configure(&new);
        }
    }

    /// The element was moved: scroll position and focus go back to where they were.
    pub fn reattached(&self) {
        self.driver.view.reattached();
    }

    /// The element is gone: requests, timers and listeners end.
    pub fn remove(&self) {
        self.driver.end();
    }

    fn configure(&self, attributes: &Attributes) {
        let config = attributes.config(page::configuration().as_deref());
        match config {
            Ok(Some(config)) => {
                self.complaint.take();
                if self.config.borrow().as_ref() != Some(&config) {
                    self.config.replace(Some(config.clone()));
                    if page::names_agent(&config) {
                        self.driver.start_when_named(config);
                    } else {
                        self.driver.start(config);
                    }
                }
            }
            Ok(None) => {}
            Err(error) => {
                // Once per mistake, not once per attribute.
                if self.complaint.replace(error.message.clone()) != error.message {
                    event::report(&self.driver.host, &error);
                }
            }
        }
    }
}
