//! What people say to a turn while it runs: it takes it in before its next model request.

use crate::Millis;
use crate::agui::Body;
use crate::json::{Object, Value};
use crate::object;

use super::running::Run;
use super::{StoredFile, StoredMessage};

/// The event that tells a reader of it.
const STEERED: &str = "mindset.steered";

/// A message to the running turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Steer {
    /// The run that was posted with it, which is over when the turn has read it; empty: nobody has
    /// said it, and it is taken in once.
    pub run_id: String,
    /// The message, of role `User`.
    pub message: StoredMessage,
}

/// Where a run takes in what steers it, before each model request. What was given belongs to the
/// turn and is never given again.
pub trait Steers {
    /// Everything that was said since the last time, oldest first.
    fn take(&mut self) -> Vec<Steer>;
}

impl<F: FnMut() -> Vec<Steer>> Steers for F {
    fn take(&mut self) -> Vec<Steer> {
        self()
    }
}

impl Run {
    /// Takes in what was said meanwhile: each is a message of the conversation, behind all that
    /// the turn has done so far.
    pub(super) fn read_steers(&mut self, now: Millis) {
        for Steer { run_id, mut message } in self.steers.take() {
            let (known, is_note) = (self.messages.iter().any(|m| m.id == message.id), run_id.is_empty());
            if known && is_note {
                continue;
            }
            if known {
                message.id = self.ids.next_id();
            }
            message.run_id.clone_from(&self.run_id);
            message.steered = true;
            message.created_at = now;
            if is_note {
                self.store([message]);
                continue;
            }
            let mut value = object! {
                "runId": run_id, "messageId": &message.id, "content": &message.content,
                "inputType": if message.silent { "PSEUDO_HUMAN" } else { "HUMAN" },
            };
            value.insert_some("files", StoredFile::list(&message.files));
            self.store([message]);
            let body = Body::Custom { name: STEERED.to_owned(), value: Value::Object(value) };
            self.emit(body, Object::new(), now);
        }
    }
}
