//! The conversation that is shown: the one of an earlier page load, another one, or a
//! new one. Its turn is carried on if it waits for a page that is gone.

use super::end::Ending;
use super::events::last_ending;
use super::inquiry::{Reply, Subject};
use super::state::{Attempt, Opened, Opening, OpeningStage, State};
use super::step::Step;
use super::stored::ANOTHER_TAB;
use super::transcript::{Failed, UserMessage};
use super::{DomEvent, Output, Protocol, Session};
use crate::Millis;
use crate::agui::Reading;
use crate::event::ChatMessage;
use crate::json::Value;
use crate::view::{Notice, NoticeAction, Patch};

/// Messages that are shown at first; of more, the newest.
const MAX_ROWS: usize = 200;

impl Session {
    /// Credentials are there: the conversation that is named, or idle.
    pub(super) fn open(&mut self, attempt: Attempt, now: Millis) {
        match self.config.conversation_id.clone().filter(|id| !id.is_empty()) {
            None => {
                self.settle_history(Vec::new());
                self.ready(now);
            }
            // Such a server keeps nothing that could be shown, and nobody looks at a call.
            Some(_)
                if self.config.protocol == Protocol::AgUi
                    || self.config.call.as_ref().is_some_and(|call| !call.reads) =>
            {
                self.announce_named(Vec::new());
                self.ready(now);
            }
            Some(_) => {
                self.state = State::Opening(Box::new(Opening { stage: OpeningStage::Reading, attempt }));
                self.inquire(Subject::Opening, self.config.timing.history, now);
            }
        }
    }

    /// Tells which conversation this is, from now on, and which it takes the place of.
    pub(super) fn announce(&mut self) {
        self.transcript.announced = true;
        let id = self.transcript.thread_id.as_deref().unwrap_or("");
        let mut detail = crate::object! { "type": "conversation_id", "conversationId": id };
        if let Some((replaced, because)) = self.transcript.replaces.take() {
            detail.insert("replacedConversationId", replaced);
            detail.insert("replacedBecause", because);
        }
        self.out.event(DomEvent::Conversation { detail });
    }

    /// The conversation that is named is the one; `messages` are from before.
    fn announce_named(&mut self, messages: Vec<ChatMessage>) {
        self.transcript.thread_id.clone_from(&self.config.conversation_id);
        if !self.transcript.announced {
            self.announce();
        }
        self.settle_history(messages);
    }

    /// Tells what was said before, once for each conversation.
    fn settle_history(&mut self, messages: Vec<ChatMessage>) {
        if std::mem::replace(&mut self.history, Opened::Settled) != Opened::Unread {
            self.out.event(DomEvent::History { messages });
        }
    }

    /// When nobody is left waiting for what was said before. A read has its own time.
    pub(super) fn history_deadline(&self) -> Option<Millis> {
        match (self.history, &self.state) {
            (Opened::By(until), State::Starting(_) | State::Failed(_)) => Some(until),
            _ => None,
        }
    }

    /// The start takes too long, or will not come to its end.
    pub(super) fn history_due(&mut self, now: Millis) {
        if self.history_deadline().is_none_or(|until| until > now) {
            return;
        }
        if self.config.conversation_id.as_deref().is_some_and(|id| !id.is_empty()) {
            self.announce_named(Vec::new());
        } else {
            self.settle_history(Vec::new());
        }
        self.history = Opened::Unread;
    }

    /// The conversation to begin with was read, or cannot be.
    pub(super) fn conversation_read(&mut self, reply: Reply, now: Millis) {
        let State::Opening(opening) = &self.state else { return };
        let attempt = opening.attempt;
        match reply.result {
            Ok(body) if body.get("messages").is_some_and(|list| list.as_array().is_some()) => {
                self.opened(&body, now);
            }
            Err(error) if reply.status == 401 => self.start_failed(error, attempt, now),
            Err(_) if (400..500).contains(&reply.status) && !matches!(reply.status, 408 | 429) => {
                self.discard(now);
            }
            _ => self.go_on_unread(now),
        }
    }

    /// The conversation cannot be used: a new one takes its place.
    fn discard(&mut self, now: Millis) {
        self.out.push(Output::StoreConversation(None));
        self.transcript.thread_id = Some(self.ids.next_id());
        self.transcript.replaces = self.config.conversation_id.take().map(|id| (id, "discarded"));
        self.announce();
        self.history = Opened::Settled;
        self.settle_history(Vec::new());
        self.ready(now);
    }

    /// What was said before is not known: the conversation goes on all the same.
    fn go_on_unread(&mut self, now: Millis) {
        self.transcript.unread = true;
        self.announce_named(Vec::new());
        self.ready(now);
        self.notice_unread();
    }

    /// Offers to read the messages from before once more.
    pub(super) fn notice_unread(&mut self) {
        if matches!(self.state, State::Resting | State::Idle) {
            let text = "The messages from before could not be loaded.";
            let notice = Notice::remark("history", text).offers(Some(NoticeAction::Reconnect));
            self.out.notice(Some(notice));
        }
    }

    /// Leaves the conversation for a new one.
    pub(super) fn begin_new(&mut self) {
        self.leave_conversation();
        self.config.conversation_id = None;
        self.out.push(Output::StoreConversation(None));
        self.settle_history(Vec::new());
        self.draw_anew();
    }

    /// Leaves the conversation for another one, which was read.
    pub(super) fn switch(&mut self, id: &str, body: &Value, now: Millis) {
        self.leave_conversation();
        self.config.conversation_id = Some(id.to_owned());
        self.transcript.stored = true;
        self.out.push(Output::StoreConversation(Some(id.to_owned())));
        self.opened(body, now);
    }

    /// What was sent in the meantime goes along.
    fn leave_conversation(&mut self) {
        self.stop_looking();
        self.drop_line();
        let left = std::mem::take(&mut self.transcript);
        self.transcript.replaces = match left.thread_id {
            Some(id) if left.announced => Some((id, "switched")),
            _ => left.replaces,
        };
        for row in left.rows {
            if self.kept.iter().any(|kept| kept.message.id == row.id) {
                self.transcript.rows.push(row);
            }
        }
        self.out.notice(None);
        self.out.disclosure(None);
    }

    /// The conversation was deleted elsewhere: what it held goes, and the message that found
    /// out can be sent again in a new one.
    pub(super) fn conversation_is_gone(&mut self) {
        if !matches!(self.state, State::Resting) {
            return;
        }
        self.drop_line();
        let left = std::mem::take(&mut self.transcript);
        self.transcript.replaces = left.thread_id.map(|id| (id, "discarded"));
        let failed = left.failed.map(|failed| Failed { from: 0, ..failed });
        for row in left.rows {
            if failed.as_ref().is_some_and(|failed| failed.message.id == row.id) {
                self.transcript.rows.push(row);
            }
        }
        self.transcript.failed = failed;
        self.config.conversation_id = None;
        self.out.push(Output::StoreConversation(None));
        self.settle_history(Vec::new());
        self.draw_anew();
    }

    /// Draws all of the conversation once more.
    #[inline(never)]
    pub(super) fn draw_anew(&mut self) {
        for patch in self.redraw() {
            self.out.patch(patch);
        }
    }

    /// Shows a conversation as it is stored.
    fn opened(&mut self, body: &Value, now: Millis) {
        // What the person has sent in the meantime comes behind.
        let sent = std::mem::take(&mut self.transcript.rows);
        let (rows, before) = stored_rows(body);
        self.transcript.before = before;
        self.announce_named(rows.clone());
        self.transcript.rows = rows;
        self.transcript.rows.extend(sent);
        self.draw_anew();
        self.sync_line(body);
        self.take_up(body, now);
    }

    /// Takes up what the conversation has left open, or rests.
    fn take_up(&mut self, body: &Value, now: Millis) {
        let active = body.get("activeRun").filter(|run| run.str("state") == Some("running"));
        if let Some(active) = active
            && let Some(run) = active.str("runId")
        {
            return self.attach(run, active.str("turnId").unwrap_or(""), now);
        }
        let Some(left) = self.ask_owner(body) else {
            let step = Step::stored(body);
            if step.asks.is_empty() {
                self.ready(now);
                return self.tell_last(body);
            }
            return self.begin_asked(Box::new(step), now);
        };
        let until = now.saturating_add(self.config.timing.request);
        self.hold(OpeningStage::Owner { left, until });
    }

    /// Says how the last turn ended, if not well. Its message can be sent again if it is
    /// shown.
    fn tell_last(&mut self, body: &Value) {
        let run = body.get("lastRun");
        let end = run.and_then(|run| Reading::new(run.get("end")?.clone()).ok());
        let ending = end.and_then(|(end, _)| last_ending(&end));
        let (Some(run), Some(ending), State::Resting | State::Idle) = (run, ending, &self.state) else {
            return;
        };
        let turn = run.str("turnId").filter(|turn| !turn.is_empty());
        let messages = body.get("messages").and_then(Value::as_array).unwrap_or_default();
        let message = messages.iter().rfind(|message| message.str("role") == Some("user"));
        let message = message.filter(|message| turn.is_some() && message.str("runId") == turn);
        let id = message.and_then(|message| message.str("id"));
        let from = self.transcript.rows.iter().position(|row| Some(&*row.id) == id);
        if let Some(row) = from.and_then(|at| self.transcript.rows.get(at))
            && !matches!(ending, Ending::Finished { .. })
        {
            let message = UserMessage {
                id: row.id.clone(),
                text: row.content.clone(),
                silent: false,
                files: row.files.clone(),
            };
            let from = from.unwrap_or_default();
            self.transcript.failed = Some(Failed { message, from });
            if matches!(ending, Ending::Stopped { .. }) {
                self.mark_unanswered(from);
            }
        }
        if let Some(notice) = ending.notice(self.transcript.failed.is_some()) {
            self.out.notice(Some(notice));
        }
    }

    /// Nothing begins until a conversation is there.
    pub(super) fn hold(&mut self, stage: OpeningStage) {
        let attempt = self.first_attempt();
        self.state = State::Opening(Box::new(Opening { stage, attempt }));
    }

    /// Puts older messages before those that are shown; whether there are more still.
    pub(super) fn show_earlier(&mut self, body: &Value) -> Option<bool> {
        body.get("messages")?.as_array()?;
        let (mut rows, before) = stored_rows(body);
        rows.retain(|row| self.transcript.row(&row.id).is_none());
        let count = rows.len();
        match &mut self.state {
            State::Running(running) => running.turn.shift(count),
            State::Stopping(stopping) => stopping.turn.shift(count),
            _ => {}
        }
        self.transcript.put_before(rows.clone());
        self.transcript.before = before;
        if count > 0 {
            self.out.patch(Patch::Earlier(rows));
        }
        Some(self.transcript.before.is_some())
    }

    /// It is known whether the page is gone that open calls wait for.
    #[inline(never)]
    pub(super) fn handle_owner(&mut self, gone: bool, now: Millis) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Opening(opening) => match opening.stage {
                OpeningStage::Owner { left, .. } if gone => {
                    self.out.notice(None);
                    self.begin_orphaned(left, now);
                }
                OpeningStage::Owner { .. } => self.wait_for_owner(now),
                _ => self.state = State::Opening(opening),
            },
            other => {
                self.state = other;
                self.owner_of_turn(gone, now);
            }
        }
    }

    /// The calls are another page's, and it is there.
    fn wait_for_owner(&mut self, now: Millis) {
        self.ready(now);
        self.out.notice(Some(Notice::remark("another-tab", ANOTHER_TAB)));
    }

    /// Whether the page is gone was not to be found out in time.
    pub(super) fn opening_timed_out(&mut self, opening: Box<Opening>, now: Millis) {
        match opening.stage {
            OpeningStage::Owner { .. } => self.wait_for_owner(now),
            _ => self.state = State::Opening(opening),
        }
    }
}

/// The newest messages of an answer, oldest first, and where older ones begin if there
/// are any. What is no message of a transcript is passed over.
pub(super) fn stored_rows(body: &Value) -> (Vec<ChatMessage>, Option<String>) {
    let list = body.get("messages").and_then(Value::as_array).unwrap_or_default();
    let mut rows: Vec<ChatMessage> = Vec::new();
    let mut more = false;
    for message in list.iter().rev() {
        let Some(row) = ChatMessage::from_json(message) else { continue };
        if rows.len() == MAX_ROWS {
            more = true;
            break;
        }
        if !row.id.is_empty() && rows.iter().all(|known| known.id != row.id) {
            rows.push(row);
        }
    }
    rows.reverse();
    let before = match rows.first() {
        Some(first) if more => Some(&*first.id),
        _ => body.str("before"),
    };
    let before = before.map(str::to_owned);
    (rows, before)
}
