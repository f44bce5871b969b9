//! What outlives a page load in this tab's sessionStorage: the anonymous key, the
//! conversation's id and the draft of its composer, nothing else. A page whose storage is closed works too, as
//! somebody new after each reload.

use std::cell::RefCell;

use mindset_core::json::{concat, digits};
use mindset_core::session::Config;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    /// A value of an earlier page load of this tab.
    #[wasm_bindgen(js_name = readStorage)]
    fn read(key: &str) -> Option<String>;

    /// Keeps a value for the next page load of this tab, or forgets it.
    #[wasm_bindgen(js_name = writeStorage)]
    fn write(key: &str, value: Option<&str>);
}

const CONVERSATION: &str = "mindset:conversation:";
const DRAFT: &str = "mindset:draft:";

thread_local! {
    /// Places that elements have now.
    static TAKEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Where one session's values are kept: by server, application and agent, and the
/// conversation by the element's place among those of the same agent too, so that two
/// elements never open the same one.
#[derive(Default)]
pub(crate) struct Place {
    /// Of the anonymous key.
    key: String,
    /// Of the conversation's id; empty for a client, which keeps it itself.
    conversation: String,
    /// What the names of channels begin with.
    channel: String,
}

impl Place {
    /// The first place that is free; without `keeps` the conversation has none.
    pub(crate) fn take(config: &Config, keeps: bool) -> Place {
        let app = concat(&[&config.server, "|", &config.app_uid]);
        let agent = concat(&[&app, "|", &config.agent_uid]);
        Place {
            key: concat(&["mindset:anonymous:", &agent]),
            conversation: if keeps { free(&agent) } else { String::new() },
            channel: concat(&["mindset:", &app, "|"]),
        }
    }

    /// The anonymous key of an earlier page load.
    pub(crate) fn anonymous_key(&self) -> Option<String> {
        read(&self.key)
    }

    /// Keeps the anonymous key for the next page load.
    pub(crate) fn keep_anonymous_key(&self, key: &str) {
        write(&self.key, Some(key));
    }

    /// The conversation that this place had last.
    pub(crate) fn last_conversation(&self) -> Option<String> {
        if self.conversation.is_empty() { None } else { read(&self.conversation) }
    }

    /// Keeps the conversation for the next page load, or forgets it.
    pub(crate) fn keep_conversation(&self, id: Option<&str>) {
        if !self.conversation.is_empty() {
            write(&self.conversation, id);
        }
    }

    /// The name under which the panel keeps what is being written in a conversation, or in one
    /// that has no id yet; empty where nothing is kept.
    pub(crate) fn draft(&self, conversation: Option<&str>) -> String {
        match self.conversation.strip_prefix(CONVERSATION) {
            Some(place) => concat(&[DRAFT, place, "|", conversation.unwrap_or_default()]),
            None => String::new(),
        }
    }

    /// Whoever wrote this is gone, or the conversation is.
    pub(crate) fn forget_draft(&self, conversation: Option<&str>) {
        write(&self.draft(conversation), None);
    }

    /// The channel on which pages talk about a conversation. Its name says which one it is,
    /// what is sent says nothing.
    pub(crate) fn channel(&self, conversation: &str) -> String {
        concat(&[&self.channel, conversation])
    }
}

/// The first place for a conversation with this agent that no element has, taken.
fn free(agent: &str) -> String {
    TAKEN.with(|taken| {
        let mut taken = taken.borrow_mut();
        let mut at = 0;
        loop {
            let name = concat(&[CONVERSATION, agent, "|", &digits(at)]);
            if !taken.contains(&name) {
                taken.push(name.clone());
                return name;
            }
            at += 1;
        }
    })
}

impl Drop for Place {
    fn drop(&mut self) {
        TAKEN.with(|taken| taken.borrow_mut().retain(|name| *name != self.conversation));
    }
}
