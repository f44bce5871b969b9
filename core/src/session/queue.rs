//! Messages that are sent: checked, and kept while something else comes first.

use super::state::State;
use super::transcript::UserMessage;
use super::{DomEvent, Protocol, Refused, SendId, SendOptions, Session, TurnResult, TurnStatus};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{Author, MessageStatus};
use crate::json::{concat, digits};
use crate::limits::MESSAGE;
use crate::queue::WhenBusy;
use crate::view::{Activity, Patch};

/// A message that waits for its turn.
pub(super) struct Kept {
    /// The promise of this page, if there is one.
    pub(super) send: Option<SendId>,
    pub(super) message: UserMessage,
    /// Whether its row is there already.
    pub(super) shown: bool,
    /// What it wants if the conversation is busy.
    pub(super) when_busy: Option<WhenBusy>,
}

impl Session {
    pub(super) fn handle_send(
        &mut self,
        send: SendId,
        text: &str,
        options: SendOptions,
        now: Millis,
    ) -> Result<(), Refused> {
        // They come with this message, or with none.
        let files = self.attached.take().filter(|_| !options.silent);
        if files.is_none() || !text.is_empty() {
            check_text(text)?;
        }
        let runtime = self.config.protocol == Protocol::Mindset;
        if options.when_busy == Some(WhenBusy::Steer) && !runtime {
            return Err(no_steering());
        }
        let when_busy = options.when_busy.filter(|_| runtime);
        if !options.when_idle && options.when_busy.is_none() && self.is_busy() {
            return Err(busy());
        }
        let message =
            UserMessage { id: self.ids.next_id(), text: text.to_owned(), silent: options.silent, files };
        let mut kept = Kept { send: Some(send), message, shown: false, when_busy };
        if matches!(self.state, State::Idle) {
            self.begin(kept, false, now);
            return Ok(());
        }
        if when_busy.is_some() && matches!(self.state, State::Running(_) | State::Stopping(_)) {
            self.line_up(kept, now);
            return Ok(());
        }
        // Before the first turn the person sees at once what was sent.
        if !self.is_busy() {
            self.show(&mut kept, now);
        }
        self.kept.push(kept);
        self.handle_reconnect(now);
        Ok(())
    }

    /// Adds the message's row, unless it is there already or nobody may see it.
    pub(super) fn show(&mut self, kept: &mut Kept, now: Millis) {
        if !kept.message.silent && !kept.shown {
            kept.shown = true;
            let (id, text) = (kept.message.id.clone(), kept.message.text.clone());
            self.transcript.add(&id, Author::User, &text, now);
            self.out.patch(Patch::AddMessage { id: id.clone(), role: Author::User, text });
            if let Some(files) = kept.message.files.clone() {
                if let Some(row) = self.transcript.row(&id) {
                    row.files = Some(files.clone());
                }
                self.out.patch(Patch::SetFiles { id, files });
            }
        }
    }

    /// Takes the rows of waiting messages away: something comes before them.
    pub(super) fn hide_kept(&mut self) {
        for kept in &mut self.kept {
            if std::mem::take(&mut kept.shown) {
                let id = kept.message.id.clone();
                self.transcript.rows.retain(|row| row.id != id);
                self.out.patch(Patch::RemoveMessage { id });
            }
        }
    }

    /// Whether a turn begins as soon as none runs.
    pub(super) fn goes_on(&self) -> bool {
        !self.kept.is_empty() || (!self.line.is_empty() && self.line_goes_on())
    }

    /// Nothing runs any more: the next message, or idle.
    pub(super) fn rest(&mut self, now: Millis) {
        if !self.line.is_empty() && self.line_goes_on() {
            return self.take_turn(now);
        }
        if !self.kept.is_empty() {
            let kept = self.kept.remove(0);
            return self.begin(kept, false, now);
        }
        self.state = State::Resting;
        self.out.activity(Activity::Idle);
        let conversation_id = self.conversation_id().map(str::to_owned);
        self.out.event(DomEvent::Idle { conversation_id });
    }

    /// Gives up what waits: because of `error`, or because somebody stopped it.
    pub(super) fn drop_kept(&mut self, error: Option<&ErrorInfo>) {
        let (result, row) = match error {
            Some(_) => (TurnStatus::Error, MessageStatus::Error),
            None => (TurnStatus::Aborted, MessageStatus::Stopped),
        };
        for kept in std::mem::take(&mut self.kept) {
            if kept.shown {
                self.mark(&kept.message.id, row);
            }
            let result = TurnResult {
                status: result,
                text: None,
                conversation_id: self.transcript.thread_id.clone().unwrap_or_default(),
                run_id: String::new(),
                error: error.cloned(),
                bound: None,
                pending: None,
            };
            if let Some(send) = kept.send {
                self.out.settle(send, result);
            }
        }
    }

    /// Shows how a message ended.
    pub(super) fn mark(&mut self, id: &str, status: MessageStatus) {
        self.transcript.set_status(id, status);
        self.out.patch(Patch::SetStatus { id: id.to_owned(), status: Some(status) });
    }
}

fn no_steering() -> Refused {
    let message = "With `protocol: 'ag-ui'` no message reaches a turn that runs. Use `whenBusy: 'queue'`.";
    ErrorInfo::new(ErrorCode::InvalidRequest, message)
}

pub(super) fn busy() -> Refused {
    ErrorInfo::new(
        ErrorCode::Busy,
        "The agent is still busy with another message. Wait for it, or use sendWhenIdle or `whenBusy`.",
    )
}

pub(super) fn check_text(text: &str) -> Result<(), Refused> {
    if text.chars().all(char::is_whitespace) {
        let message = "The message is empty. Send a text with at least one visible character.";
        return Err(ErrorInfo::new(ErrorCode::InvalidRequest, message));
    }
    // No text is longer in characters than in bytes.
    if text.len() <= MESSAGE {
        return Ok(());
    }
    let length = text.chars().count();
    if length <= MESSAGE {
        return Ok(());
    }
    let message = concat(&[
        "The message has ",
        &digits(length as u64),
        " characters and may have at most ",
        &digits(MESSAGE as u64),
        ". Shorten it.",
    ]);
    Err(ErrorInfo::new(ErrorCode::InvalidRequest, message))
}
