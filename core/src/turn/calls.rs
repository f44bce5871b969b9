//! The calls of one answer while they arrive.

use std::collections::BTreeSet;

use crate::NextId;
use crate::agui::Body;

use super::answer::pieces;
use super::{StoredCall, StoredMessage, arguments};

/// Characters of a provider's call id; longer ones are replaced.
const MAX_ID: usize = 200;

/// Every call id of the conversation. Some providers send none, and some the same
/// ones in every answer.
#[derive(Debug)]
pub(super) struct CallIds {
    taken: BTreeSet<String>,
    /// Those of providers are not taken: the calls are told beside those of another conversation.
    own: bool,
}

impl CallIds {
    /// The ids in stored messages.
    pub(super) fn of(messages: &[StoredMessage], own: bool) -> CallIds {
        CallIds { taken: messages.iter().flat_map(|m| &m.calls).map(|c| c.id.clone()).collect(), own }
    }

    /// The provider's id if it can be used, else a fresh one.
    pub(super) fn take(&mut self, given: Option<String>, ids: &mut dyn NextId) -> String {
        let usable = |id: &String| {
            !self.own
                && !id.is_empty()
                && id.len() <= MAX_ID
                && !id.chars().any(char::is_control)
                && !self.taken.contains(id)
        };
        let id = given.filter(usable).unwrap_or_else(|| ids.next_id());
        self.taken.insert(id.clone());
        id
    }
}

/// A call that is arriving.
#[derive(Debug)]
pub(super) struct Call {
    /// The provider adapter's handle.
    pub(super) key: u32,
    /// Unique in the conversation.
    pub(super) id: String,
    /// What the model calls the tool.
    pub(super) name: String,
    /// JSON text so far.
    pub(super) arguments: String,
    /// Readers have seen the arguments so far. They wait until an object has
    /// begun, because `null`, `[]` and nothing reach readers as `{}`.
    told: bool,
}

impl Call {
    pub(super) fn new(key: u32, id: String, name: String) -> Call {
        Call { key, id, name, arguments: String::new(), told: false }
    }

    /// `shown` is the tool's name for readers.
    pub(super) fn start(&self, message_id: &str, shown: &str) -> Body {
        Body::ToolCallStart {
            tool_call_id: self.id.clone(),
            tool_call_name: shown.to_owned(),
            parent_message_id: Some(message_id.to_owned()),
        }
    }

    pub(super) fn take_arguments(&mut self, delta: &str, out: &mut Vec<Body>) {
        self.arguments.push_str(delta);
        if self.told {
            self.tell(delta, out);
        } else if self.arguments.trim_start().starts_with('{') {
            self.told = true;
            self.tell(&self.arguments, out);
        }
    }

    /// The arguments are whole: readers get what they have not seen.
    pub(super) fn settle(&mut self, out: &mut Vec<Body>) {
        if !std::mem::replace(&mut self.told, true) {
            self.tell(arguments::normalise(&self.arguments), out);
        }
    }

    pub(super) fn end(&self) -> Body {
        Body::ToolCallEnd { tool_call_id: self.id.clone() }
    }

    pub(super) fn stored(&self) -> StoredCall {
        StoredCall {
            id: self.id.clone(),
            name: self.name.clone(),
            arguments: arguments::normalise(&self.arguments).to_owned(),
            ask: None,
        }
    }

    fn tell(&self, text: &str, out: &mut Vec<Body>) {
        out.extend(
            pieces(text)
                .map(|delta| Body::ToolCallArgs { tool_call_id: self.id.clone(), delta: delta.to_owned() }),
        );
    }
}
