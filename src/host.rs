//! Whose session it is: where its events go, and which configuration it has.

use std::rc::Rc;

use js_sys::Function;
use mindset_core::session::AgentCall;
use web_sys::HtmlElement;

use crate::page::{self, Init};

/// Who has a session.
pub(crate) enum Host {
    /// An element of the page: DOM events, which every script may read.
    Element(HtmlElement),
    /// A UI-less client: its own listener hears everything.
    Chat(Chat),
}

/// A UI-less client.
pub(crate) struct Chat {
    /// Hears every event, frozen; it does not throw.
    pub(crate) listener: Function,
    /// What it was made with.
    pub(crate) init: Rc<Init>,
    /// The agent; empty if the session is to name it.
    pub(crate) agent_uid: String,
    /// The conversation to go on with.
    pub(crate) conversation_id: Option<String>,
    /// Whether the page answers approvals.
    pub(crate) approvals: bool,
    /// Set for one call of the agent API.
    pub(crate) call: Option<AgentCall>,
}

impl Host {
    /// The configuration: the page's, or the client's own.
    pub(crate) fn init(&self) -> Option<Rc<Init>> {
        match self {
            Host::Element(_) => page::configuration(),
            Host::Chat(chat) => Some(chat.init.clone()),
        }
    }

    /// The element, if it is one.
    pub(crate) fn element(&self) -> Option<&HtmlElement> {
        match self {
            Host::Element(element) => Some(element),
            Host::Chat(_) => None,
        }
    }
}
