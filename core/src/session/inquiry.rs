//! Requests that are answered by JSON: made with today's credentials, once more with
//! new ones if those were refused, and waited for until a deadline.

use super::asks::Asked;
use super::exchange::{Arrival, CONVERSATION_LIMIT, Exchange};
use super::fault;
use super::line::Wish;
use super::request::Request;
use super::{FetchId, FetchPurpose, Session};
use crate::Millis;
use crate::error::ErrorInfo;
use crate::event::Feedback;
use crate::json::{self, Value};

/// A request that is under way or waits for credentials.
pub(super) struct Inquiry {
    subject: Subject,
    /// `None` while credentials are renewed.
    exchange: Option<Exchange>,
    /// When it has taken too long.
    until: Millis,
    renewed: bool,
}

/// What it is about.
pub(super) enum Subject {
    /// The conversation to begin with.
    Opening,
    /// The conversation as another page has changed it.
    Look,
    /// What is stored of a turn whose run cannot be read further.
    Stored { run_id: String },
    /// What somebody wants of conversations.
    Ask(Asked),
    /// New pass-through parameters for a run; `again` if they have changed since.
    Update { run_id: String, again: bool },
    /// A message that waits.
    Line { run_id: String, wish: Wish },
    /// What is paused in the conversation is to go on.
    Resume,
    /// What a person thinks of an answer, and what they thought before.
    Feedback { message: String, before: Option<Feedback> },
}

/// How an inquiry ended.
pub(super) struct Reply {
    /// 0 if there was no answer.
    pub(super) status: u16,
    pub(super) result: Result<Value, ErrorInfo>,
}

impl Session {
    /// Begins an inquiry that may take `time`.
    pub(super) fn inquire(&mut self, subject: Subject, time: u64, now: Millis) {
        let until = now.saturating_add(time);
        let mut inquiry = Inquiry { subject, exchange: None, until, renewed: false };
        self.send_inquiry(&mut inquiry);
        self.inquiries.push(inquiry);
    }

    fn send_inquiry(&mut self, inquiry: &mut Inquiry) {
        let request = self.inquiry_request(&inquiry.subject);
        let mut exchange = self.exchange(request, inquiry.until);
        exchange.limit = CONVERSATION_LIMIT;
        inquiry.exchange = Some(exchange);
    }

    fn inquiry_request(&self, subject: &Subject) -> Request {
        let config = &self.config;
        match subject {
            Subject::Opening => {
                let id = config.conversation_id.as_deref().unwrap_or("");
                Request::api(config, FetchPurpose::Conversation, "GET", &["conversations", id])
            }
            Subject::Look | Subject::Stored { .. } => {
                let id = self.transcript.thread_id.as_deref().unwrap_or("");
                Request::api(config, FetchPurpose::Conversation, "GET", &["conversations", id])
            }
            Subject::Ask(asked) => self.ask_request(asked),
            Subject::Line { run_id, wish } => self.line_request(run_id, wish),
            Subject::Resume => {
                let id = self.transcript.thread_id.as_deref().unwrap_or("");
                let place = ["conversations", id, "queue", "resume"];
                Request::api(config, FetchPurpose::Queue, "POST", &place)
            }
            Subject::Feedback { message, .. } => self.feedback_request(message),
            Subject::Update { run_id, .. } => {
                let place = ["runs", run_id, "passthrough-params"];
                let body = crate::object! { "passthroughParams": self.channels.leaving() };
                Request::api(config, FetchPurpose::Passthrough, "PUT", &place).with_body(&body)
            }
        }
    }

    /// Takes what comes for an inquiry; whether it was for one.
    #[inline(never)]
    pub(super) fn inquiry_arrival(&mut self, fetch: FetchId, arrival: &Arrival<'_>, now: Millis) -> bool {
        let is = |inquiry: &Inquiry| inquiry.exchange.as_ref().is_some_and(|e| e.fetch == fetch);
        let Some(at) = self.inquiries.iter().position(is) else { return false };
        let renewable = self.can_renew();
        let Some(inquiry) = self.inquiries.get_mut(at) else { return false };
        let Some(exchange) = &mut inquiry.exchange else { return false };
        let Some(result) = exchange.take(arrival.clone()) else { return true };
        let status = exchange.status;
        if status == 401 && renewable && !inquiry.renewed {
            inquiry.renewed = true;
            let token = exchange.token;
            inquiry.exchange = None;
            if !matches!(inquiry.subject, Subject::Opening) {
                inquiry.until = now.saturating_add(self.config.timing.give_up);
            }
            self.renew(token, now);
            return true;
        }
        let result = match result {
            Err(failure) => Err(fault::unreachable(&failure)),
            Ok(()) if (200..300).contains(&status) => read(exchange),
            Ok(()) => Err(exchange.refusal()),
        };
        let subject = self.inquiries.remove(at).subject;
        self.replied(subject, Reply { status, result }, now);
        true
    }

    fn replied(&mut self, subject: Subject, reply: Reply, now: Millis) {
        match subject {
            Subject::Opening => self.conversation_read(reply, now),
            Subject::Look => self.looked(reply, now),
            Subject::Stored { run_id } => self.stored_read(&run_id, reply, now),
            Subject::Ask(asked) => self.ask_replied(asked, reply, now),
            Subject::Line { run_id, wish } => self.line_replied(&run_id, wish, reply, now),
            Subject::Resume => self.queue_resumed(reply, now),
            Subject::Feedback { message, before } => self.feedback_stored(&message, before, &reply),
            Subject::Update { run_id, again } => self.updated(&run_id, again, reply.result.err(), now),
        }
    }

    /// The conversation is left: nobody looks at it any more.
    pub(super) fn stop_looking(&mut self) {
        let at = self.inquiries.iter().position(|inquiry| matches!(inquiry.subject, Subject::Look));
        if let Some(exchange) = at.and_then(|at| self.inquiries.remove(at).exchange) {
            self.out.abort(exchange.fetch);
        }
    }

    /// Whether the conversation is being looked at.
    pub(super) fn is_looking(&self) -> bool {
        self.inquiries.iter().any(|inquiry| matches!(inquiry.subject, Subject::Look))
    }

    /// The update under way, if there is one.
    pub(super) fn update_under_way(&mut self) -> Option<&mut bool> {
        self.inquiries.iter_mut().find_map(|inquiry| match &mut inquiry.subject {
            Subject::Update { again, .. } => Some(again),
            _ => None,
        })
    }

    /// Whether any waits for credentials.
    pub(super) fn inquiries_wait(&self) -> bool {
        self.inquiries.iter().any(|inquiry| inquiry.exchange.is_none())
    }

    /// New credentials: those that wait go out.
    pub(super) fn send_inquiries(&mut self, now: Millis) {
        let mut inquiries = std::mem::take(&mut self.inquiries);
        for inquiry in &mut inquiries {
            if inquiry.exchange.is_none() {
                if !matches!(inquiry.subject, Subject::Opening) {
                    inquiry.until = now.saturating_add(self.config.timing.request);
                }
                self.send_inquiry(inquiry);
            }
        }
        inquiries.append(&mut self.inquiries);
        self.inquiries = inquiries;
    }

    /// There will be no credentials for those that wait.
    pub(super) fn refuse_inquiries(&mut self, error: &ErrorInfo, now: Millis) {
        while let Some(at) = self.inquiries.iter().position(|inquiry| inquiry.exchange.is_none()) {
            let subject = self.inquiries.remove(at).subject;
            self.replied(subject, Reply { status: 401, result: Err(error.clone()) }, now);
        }
    }

    /// When the first of them has taken too long.
    pub(super) fn inquiry_deadline(&self) -> Option<Millis> {
        self.inquiries.iter().map(|inquiry| inquiry.until).min()
    }

    pub(super) fn inquiries_due(&mut self, now: Millis) {
        while let Some(at) = self.inquiries.iter().position(|inquiry| inquiry.until <= now) {
            let inquiry = self.inquiries.remove(at);
            if let Some(exchange) = inquiry.exchange {
                self.out.abort(exchange.fetch);
            }
            self.replied(inquiry.subject, Reply { status: 0, result: Err(fault::timed_out()) }, now);
        }
    }

    /// Nobody waits for any of them any more.
    pub(super) fn leave_inquiries(&mut self) {
        for inquiry in std::mem::take(&mut self.inquiries) {
            if let Some(exchange) = inquiry.exchange {
                self.out.abort(exchange.fetch);
            }
            if let Subject::Ask(asked) = &inquiry.subject {
                self.leave_ask(asked);
            }
        }
    }
}

/// The body of a good answer; none is `null`.
fn read(exchange: &Exchange) -> Result<Value, ErrorInfo> {
    if exchange.body.is_empty() {
        return Ok(Value::Null);
    }
    json::parse(&json::lossy(&exchange.body)).map_err(|_| exchange.refusal())
}
