//! A message of the person's own is changed and sent anew: what was said from it on is cut,
//! here and on the server.

use super::queue::{self, Kept};
use super::state::State;
use super::transcript::UserMessage;
use super::{Refused, SendId, Session, end};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::Author;
use crate::json::Value;
use crate::view::Patch;

impl Session {
    /// Cuts the conversation at a message and sends `text` in its place.
    #[inline(never)]
    pub(super) fn handle_edit(
        &mut self,
        send: SendId,
        message: &str,
        text: &str,
        now: Millis,
    ) -> Result<(), Refused> {
        queue::check_text(text)?;
        let at = self.own_row(message)?;
        let files = self.transcript.rows.get(at).and_then(|row| row.files.clone());
        for row in self.transcript.rows.split_off(at) {
            self.out.patch(Patch::RemoveMessage { id: row.id });
        }
        // The lines stay: the calls have happened.
        for line in &mut self.transcript.lines {
            line.behind = line.behind.min(at);
        }
        // It keeps its id, so that whatever arrives of both attempts replaces the first one.
        let message = UserMessage { id: message.to_owned(), text: text.to_owned(), silent: false, files };
        self.begin(Kept { send: Some(send), message, shown: false, when_busy: None }, true, now);
        Ok(())
    }

    /// Somebody is about to change a message: says what stays done of all that would be cut.
    ///
    /// # Errors
    /// `busy`, or `invalid-request` for a message that is not the person's own.
    #[inline(never)]
    pub(super) fn handle_edit_begin(&mut self, message: &str) -> Result<(), Refused> {
        let at = self.own_row(message)?;
        let mut effects: Vec<Value> = Vec::new();
        for line in &self.transcript.lines {
            effects.extend(line.effect.clone().filter(|_| line.behind > at));
        }
        if !effects.is_empty() {
            self.out.notice(Some(end::stays_done(&effects)));
        }
        Ok(())
    }

    /// Where a message of the person's own stands that can be changed now.
    fn own_row(&self, id: &str) -> Result<usize, Refused> {
        if self.is_busy() {
            return Err(queue::busy());
        }
        if !matches!(self.state, State::Idle) {
            let message = "The conversation is not open yet. Wait for `agent-idle`, then change the message.";
            return Err(ErrorInfo::new(ErrorCode::NotReady, message));
        }
        let own = |row: &crate::event::ChatMessage| row.id == id && row.role == Author::User;
        self.transcript.rows.iter().rposition(own).ok_or_else(|| {
            let message = "There is no message of the user's own with this id in the conversation. Take the id of one that is shown.";
            ErrorInfo::new(ErrorCode::InvalidRequest, message)
        })
    }
}
