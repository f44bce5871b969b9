//! A page: a session, and everything its listeners got.

use super::patterns::Plain;
use std::collections::{BTreeMap, BTreeSet};

use mindset_core::session::{DomEvent, FetchId, Output, SendId, Session, TurnResult};
use mindset_core::view::Patch;

pub struct Page {
    pub session: Session,
    /// In order, the promises too.
    pub events: Vec<Heard>,
    pub patches: Vec<Patch>,
    pub anonymous_key: Option<String>,
    /// Requests that have not ended.
    pub open: BTreeSet<FetchId>,
    /// Messages that were not refused at once.
    pub accepted: Vec<SendId>,
    results: BTreeMap<SendId, TurnResult>,
    sends: u32,
}

/// What a page hears.
#[derive(Debug, PartialEq)]
pub enum Heard {
    Event(DomEvent),
    Settled(SendId),
}

impl Page {
    /// The page with this number.
    pub fn new(number: usize) -> Page {
        let mut n = 0;
        let ids = move || {
            n += 1;
            format!("p{number}-{n}")
        };
        Page {
            session: Session::new(Box::new(ids), Box::new(Plain)),
            events: Vec::new(),
            patches: Vec::new(),
            anonymous_key: None,
            open: BTreeSet::new(),
            accepted: Vec::new(),
            results: BTreeMap::new(),
            sends: 0,
        }
    }

    pub fn next_send(&mut self) -> SendId {
        self.sends += 1;
        SendId(self.sends)
    }

    /// What a message came to.
    pub fn result(&self, send: SendId) -> &TurnResult {
        self.results.get(&send).unwrap_or_else(|| panic!("{send:?} has not settled"))
    }

    pub fn settled(&self, send: SendId) -> bool {
        self.results.contains_key(&send)
    }

    /// Performs an output that has nothing to do with the network.
    pub fn take(&mut self, output: Output) {
        match output {
            Output::Event(event) => self.events.push(Heard::Event(event)),
            Output::Patch(patch) => self.patches.push(patch),
            Output::StoreAnonymousKey(key) => self.anonymous_key = Some(key),
            Output::Settle { send, result } => {
                self.events.push(Heard::Settled(send));
                let before = self.results.insert(send, result);
                assert!(before.is_none(), "{send:?} settles twice");
            }
            other => panic!("not for the page: {other:?}"),
        }
    }

    /// The transcript in short: `role: text [status]`.
    pub fn transcript(&self) -> Vec<String> {
        self.session.messages().iter().map(|m| line(m.role.as_str(), &m.content, m.status)).collect()
    }

    /// The events in short, deltas left out.
    pub fn sketch(&self) -> Vec<String> {
        use mindset_core::event::RuntimeEvent as R;
        let name = |heard: &Heard| match heard {
            Heard::Settled(id) => Some(format!("settled {}", self.results[id].status.as_str())),
            Heard::Event(DomEvent::Runtime(R::TextDelta { .. } | R::ThinkingDelta { .. })) => None,
            Heard::Event(DomEvent::Runtime(event)) => Some(event.type_name().to_owned()),
            Heard::Event(DomEvent::Initializing) => Some("initializing".to_owned()),
            Heard::Event(DomEvent::Idle { .. }) => Some("idle".to_owned()),
            Heard::Event(DomEvent::Busy { .. }) => Some("busy".to_owned()),
            Heard::Event(DomEvent::Conversation { .. }) => Some("conversation".to_owned()),
            Heard::Event(DomEvent::Error(error)) => Some(format!("error {}", error.code.as_str())),
        };
        self.events.iter().filter_map(name).collect()
    }
}

pub fn line(role: &str, text: &str, status: Option<mindset_core::event::MessageStatus>) -> String {
    let status = status.map_or(String::new(), |s| format!(" [{}]", s.as_str()));
    format!("{role}: {text}{status}")
}
