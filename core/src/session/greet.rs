//! How a new conversation begins by itself: with the question that the page asks for the
//! person, or as the agent is configured.

use super::queue::{Kept, check_text};
use super::server_tool::offers;
use super::state::State;
use super::transcript::UserMessage;
use super::{AskId, DomEvent, Protocol, SendId, Session};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::json::{Value, concat};

impl Session {
    /// Begins the conversation if it is new; false if the agent has to be asked how.
    pub(super) fn greet(&mut self, id: AskId, question: Option<&str>, now: Millis) -> bool {
        if !self.is_new() {
            return true;
        }
        let Some(question) = question else {
            // Without a panel nobody sees what the agent begins with.
            return !self.config.can_ask || self.config.protocol == Protocol::AgUi;
        };
        match check_text(question) {
            Ok(()) => self.say_first(id, question, false, now),
            Err(error) => {
                let message = concat(&["The initial question was not sent. ", &error.message]);
                self.out.event(DomEvent::Error(ErrorInfo::new(ErrorCode::InvalidConfig, message)));
            }
        }
        true
    }

    /// The agent says how its conversations begin: `{ icebreaker?, starters }`.
    pub(super) fn greeted(&mut self, id: AskId, agent: &Value, now: Millis) {
        if !self.is_new() {
            return;
        }
        if let Some(text) = agent.str("icebreaker").filter(|text| check_text(text).is_ok()) {
            self.say_first(id, text, true, now);
        }
        let starters = offers(agent.get("starters"));
        if !starters.is_empty() {
            self.suggest(starters);
        }
    }

    fn say_first(&mut self, id: AskId, text: &str, silent: bool, now: Millis) {
        let message = UserMessage { id: self.ids.next_id(), text: text.to_owned(), silent, files: None };
        self.begin(Kept { send: Some(SendId(id.0)), message, shown: false, when_busy: None }, false, now);
    }

    /// Whether nothing was ever sent in this conversation.
    fn is_new(&self) -> bool {
        let is_named = self.config.conversation_id.as_deref().is_some_and(|id| !id.is_empty());
        let transcript = &self.transcript;
        let is_blank = transcript.rows.is_empty() && transcript.history.is_empty();
        matches!(self.state, State::Idle)
            && self.kept.is_empty()
            && is_blank
            && !(is_named || transcript.stored || transcript.failed.is_some())
    }
}
