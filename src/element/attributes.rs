//! The attributes of an element and the session's configuration that follows from
//! them and from the page's.

use mindset_core::session::{Config, Timing};
use web_sys::HtmlElement;

use crate::convert;
use crate::page::{self, Init};

/// The attributes as they stand. A kebab-case spelling wins over a camelCase one.
pub(crate) struct Attributes {
    /// `agent-uid`.
    pub(crate) agent_uid: Option<String>,
    /// `app-uid`.
    pub(crate) app_uid: Option<String>,
    /// `server`.
    pub(crate) server: Option<String>,
    /// `headless`.
    pub(crate) headless: bool,
    /// `approvals`: the page answers them itself.
    pub(crate) approvals: bool,
    /// `heading`.
    pub(crate) heading: Option<String>,
    /// `placeholder`.
    pub(crate) placeholder: Option<String>,
    /// `conversation-id`.
    pub(crate) conversation_id: Option<String>,
    /// `disabled`: why nothing can be written, blank without a reason.
    pub(crate) closed: Option<String>,
    /// `forget-drafts`.
    pub(crate) forget_drafts: bool,
}

impl Attributes {
    /// Reads them all, by the properties of the element's class.
    pub(crate) fn read(element: &HtmlElement) -> Attributes {
        let filled = |name: &str| {
            let text = convert::text(element, name)?;
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let is_set = |name: &str| convert::member(element, name).is_truthy();
        let reason = || {
            let text = element.get_attribute("disabled").unwrap_or_default();
            let text = text.trim();
            if matches!(text, "true" | "disabled") { String::new() } else { text.to_owned() }
        };
        Attributes {
            agent_uid: filled("agentUid"),
            app_uid: filled("appUid"),
            server: filled("server"),
            headless: is_set("headless"),
            approvals: filled("approvals").as_deref() == Some("ask"),
            heading: filled("heading"),
            placeholder: filled("placeholder"),
            conversation_id: filled("conversationId"),
            closed: is_set("disabled").then(reason),
            forget_drafts: is_set("forgetDrafts"),
        }
    }

    /// What the session needs, or `None` while neither `init` nor an `app-uid` has
    /// said which application this is.
    ///
    /// Of an attribute that does not parse the value before it holds, `last`, or the
    /// default; true beside it tells. Without any server the session says that
    /// one is missing.
    pub(crate) fn config(&self, init: Option<&Init>, last: Option<&str>) -> Option<(Config, bool)> {
        let protocol = init.map(|init| init.protocol).unwrap_or_default();
        let app_uid = self.app_uid.clone().or_else(|| init.map(|init| init.app_uid.clone()))?;
        let agent_uid = self.agent_uid.clone().unwrap_or_default();
        let given = self.server.as_deref().map(|text| page::absolute(text, protocol));
        let is_bad = given == Some(None);
        let server = given
            .flatten()
            .or_else(|| last.filter(|_| is_bad).map(str::to_owned))
            .or_else(|| init.map(|init| init.server.clone()))
            .or_else(page::default_server)
            .unwrap_or_default();
        let is_bad = is_bad && !server.is_empty();
        let page_auth = init.is_some_and(|init| init.app_uid == app_uid && init.trusts(&server));
        let config = Config {
            server,
            protocol,
            app_uid,
            agent_uid,
            page_auth,
            anonymous_key: None,
            conversation_id: None,
            extended_awareness: init.is_some_and(|init| init.extended_awareness),
            can_ask: !self.headless || self.approvals,
            client_id: page::client_id(),
            timing: init.map_or_else(Timing::default, |init| init.timing),
            call: None,
        };
        Some((config, is_bad))
    }
}
