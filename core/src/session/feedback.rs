//! What a person thinks of an answer: told, and stored where the server keeps conversations.

use super::inquiry::{Reply, Subject};
use super::request::Request;
use super::state::State;
use super::{DomEvent, FetchPurpose, Protocol, Refused, Session};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{Author, Feedback};
use crate::json::Value;
use crate::limits::COMMENT;
use crate::view::{Notice, Patch};

impl Session {
    /// Takes an opinion, or takes it back.
    #[inline(never)]
    pub(super) fn handle_feedback(
        &mut self,
        id: &str,
        feedback: Option<Feedback>,
        now: Millis,
    ) -> Result<(), Refused> {
        let invalid = |message: &str| Err(ErrorInfo::new(ErrorCode::InvalidRequest, message));
        let comment = feedback.as_ref().and_then(|feedback| feedback.comment.as_deref());
        if comment.is_some_and(|comment| comment.chars().count() > COMMENT) {
            return invalid("The comment is longer than 2,000 characters. Shorten it.");
        }
        let Some(row) = self.transcript.row(id).filter(|row| row.role == Author::Assistant) else {
            return invalid("There is no answer with this id in the conversation.");
        };
        let before = std::mem::replace(&mut row.feedback, feedback.clone());
        let mut detail = crate::object! {
            "conversationId": self.transcript.thread_id.as_deref().unwrap_or(""), "messageId": id,
        };
        match &feedback {
            None => detail.insert("rating", Value::Null),
            Some(feedback) => {
                for (name, value) in feedback.to_json().iter() {
                    detail.insert(name, value.clone());
                }
            }
        }
        self.out.patch(Patch::SetFeedback { id: id.to_owned(), feedback });
        self.out.event(DomEvent::Feedback { detail });
        if self.config.protocol == Protocol::Mindset {
            let message = id.to_owned();
            self.inquire(Subject::Feedback { message, before }, self.config.timing.request, now);
        }
        Ok(())
    }

    /// The request that stores what is thought of a message now.
    pub(super) fn feedback_request(&self, id: &str) -> Request {
        let row = self.transcript.rows.iter().find(|row| row.id == id);
        let body = match row.and_then(|row| row.feedback.as_ref()) {
            Some(feedback) => feedback.to_json(),
            None => crate::object! { "rating": Value::Null },
        };
        let place = ["messages", id, "feedback"];
        Request::api(&self.config, FetchPurpose::Feedback, "PUT", &place).with_body(&body)
    }

    /// What was not stored is not shown as if it were.
    pub(super) fn feedback_stored(&mut self, id: &str, before: Option<Feedback>, reply: &Reply) {
        if reply.result.is_ok() {
            return;
        }
        let Some(row) = self.transcript.row(id) else { return };
        row.feedback.clone_from(&before);
        self.out.patch(Patch::SetFeedback { id: id.to_owned(), feedback: before });
        if matches!(self.state, State::Idle | State::Resting) {
            let notice = Notice::remark("feedback", "The feedback could not be stored. Try again.");
            self.out.notice(Some(Notice { error: true, ..notice }));
        }
    }
}
