//! What is asked about conversations: taken up from the first idle on, each answered
//! once.

use super::inquiry::{Reply, Subject};
use super::request::Request;
use super::state::{OpeningStage, State};
use super::{Ask, AskId, FetchPurpose, Output, Protocol, Session, Token, fault, queue};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::json::Value;
use crate::limits::TITLE;

/// An ask that the server was asked about.
pub(super) struct Asked {
    id: AskId,
    ask: Ask,
    /// The conversation that was open.
    thread: Option<String>,
    /// Whether nothing else goes on in the conversation meanwhile.
    changes: bool,
    /// Of a list: what the answers so far held, and where the next one begins.
    listed: Vec<Value>,
    cursor: Option<String>,
}

/// No list is longer, whatever the server goes on to answer.
const MOST_LISTED: usize = 2_000;

impl Session {
    #[inline(never)]
    pub(super) fn handle_ask(&mut self, id: AskId, ask: Ask) {
        self.asked.push((id, ask));
    }

    /// Takes up what waits, as far as it may begin. Nothing overtakes what was asked before.
    pub(super) fn next_asks(&mut self, now: Millis) {
        for (id, ask) in std::mem::take(&mut self.asked) {
            let may = if self.asked.is_empty() { self.may_ask(&ask) } else { Ok(false) };
            match may {
                Ok(false) => self.asked.push((id, ask)),
                Ok(true) => self.begin_ask(id, ask, now),
                Err(error) => self.answer(id, Err(error)),
            }
        }
    }

    /// Whether it can begin now; `false` if it has to wait.
    fn may_ask(&self, ask: &Ask) -> Result<bool, ErrorInfo> {
        match &self.state {
            State::Unconfigured => return Ok(false),
            State::Failed(failed) if failed.until.is_none() => {
                let message = "The agent could not be started. Mend what its error names, then ask again.";
                return Err(ErrorInfo::new(ErrorCode::NotReady, message));
            }
            _ => {}
        }
        check(ask, self.config.protocol)?;
        if !self.was_idle {
            return Ok(false);
        }
        if self.changes(ask) && self.is_busy() {
            return Err(queue::busy());
        }
        let any_time = matches!(
            ask,
            Ask::List | Ask::Rename { .. } | Ask::Uploads | Ask::Bearer | Ask::Permissions { .. }
        );
        Ok(any_time || !matches!(self.state, State::Opening(_)))
    }

    /// Whether it takes the open conversation away.
    fn changes(&self, ask: &Ask) -> bool {
        match ask {
            Ask::New | Ask::Switch { .. } => true,
            Ask::Delete { id } => self.is_open(id),
            Ask::List
            | Ask::Rename { .. }
            | Ask::Earlier
            | Ask::Bearer
            | Ask::Uploads
            | Ask::Permissions { .. }
            | Ask::Greet { .. } => false,
        }
    }

    fn is_open(&self, id: &str) -> bool {
        self.transcript.thread_id.as_deref() == Some(id)
    }

    fn begin_ask(&mut self, id: AskId, ask: Ask, now: Millis) {
        let nothing_to_do = match &ask {
            Ask::New => {
                if self.transcript.thread_id.is_some() {
                    self.begin_new();
                }
                Some(Value::Null)
            }
            Ask::Switch { id } if self.is_open(id) => Some(Value::Null),
            Ask::Greet { question } if self.greet(id, question.as_deref(), now) => Some(Value::Null),
            Ask::Earlier if self.transcript.before.is_none() => Some(Value::Bool(false)),
            Ask::Bearer => Some(self.token.as_ref().map_or(Value::Null, |token| token.bearer().into())),
            _ => None,
        };
        if let Some(value) = nothing_to_do {
            return self.answer(id, Ok(value));
        }
        let changes = self.changes(&ask);
        if changes {
            self.hold(OpeningStage::Changing);
        }
        let thread = self.transcript.thread_id.clone();
        let asked = Asked { id, ask, thread, changes, listed: Vec::new(), cursor: None };
        self.inquire(Subject::Ask(asked), self.config.timing.request, now);
    }

    /// The request behind an ask.
    pub(super) fn ask_request(&self, asked: &Asked) -> Request {
        let api =
            |method, id: &str| Request::api(&self.config, FetchPurpose::Ask, method, &["conversations", id]);
        match &asked.ask {
            Ask::List | Ask::New | Ask::Bearer => {
                let list = Request::api(&self.config, FetchPurpose::Ask, "GET", &["conversations"]);
                match &asked.cursor {
                    Some(cursor) => list.with_query("cursor", cursor),
                    None => list,
                }
            }
            Ask::Uploads => Request::api(&self.config, FetchPurpose::Ask, "GET", &["uploads"])
                .with_query("agentUid", &self.config.agent_uid),
            Ask::Permissions { set } => {
                let method = if set.is_some() { "PUT" } else { "GET" };
                let request = Request::api(&self.config, FetchPurpose::Ask, method, &["me", "permissions"]);
                match set {
                    Some((run, read)) => request.with_body(&crate::object! { "run": *run, "read": *read }),
                    None => request,
                }
            }
            Ask::Greet { .. } => {
                Request::api(&self.config, FetchPurpose::Ask, "GET", &["agents", &self.config.agent_uid])
            }
            Ask::Rename { id, title } => {
                api("PATCH", id).with_body(&crate::object! { "title": title.as_str() })
            }
            Ask::Delete { id } => api("DELETE", id),
            Ask::Switch { id } => api("GET", id),
            Ask::Earlier => {
                let id = asked.thread.as_deref().unwrap_or("");
                api("GET", id).with_query("before", self.transcript.before.as_deref().unwrap_or(""))
            }
        }
    }

    /// The server has answered, or will not.
    pub(super) fn ask_replied(&mut self, mut asked: Asked, reply: Reply, now: Millis) {
        let result = reply.result.and_then(|body| self.carry_out(&mut asked, &body, now));
        if asked.cursor.is_some() && result.is_ok() {
            return self.inquire(Subject::Ask(asked), self.config.timing.request, now);
        }
        if asked.changes
            && let Err(error) = &result
        {
            // It stays as it was. What was sent meanwhile was meant for another conversation.
            self.state = State::Idle;
            self.drop_kept(Some(error));
        }
        self.answer(asked.id, result);
    }

    fn carry_out(&mut self, asked: &mut Asked, body: &Value, now: Millis) -> Result<Value, ErrorInfo> {
        match &asked.ask {
            Ask::List => {
                let list = body.get("conversations").and_then(Value::as_array).ok_or_else(no_answer)?;
                for conversation in list {
                    let Value::Object(conversation) = conversation else { continue };
                    let Some(id) = conversation.str("id") else { continue };
                    let mut conversation = conversation.clone();
                    if self.is_open(id) {
                        conversation.insert("isOpen", true);
                    }
                    asked.listed.push(Value::Object(conversation));
                }
                let goes_on = !list.is_empty() && asked.listed.len() < MOST_LISTED;
                asked.cursor = body.str("next").filter(|_| goes_on).map(str::to_owned);
                if asked.cursor.is_none() {
                    return Ok(Value::Array(std::mem::take(&mut asked.listed)));
                }
            }
            Ask::Delete { id } => {
                if asked.changes || self.is_open(id) && matches!(self.state, State::Idle) {
                    self.begin_new();
                    self.ready(now);
                }
                self.out.push(Output::Tell(id.clone()));
            }
            Ask::Switch { id } => {
                body.get("messages").and_then(Value::as_array).ok_or_else(no_answer)?;
                self.switch(id, body, now);
            }
            Ask::Earlier if self.transcript.thread_id != asked.thread => {
                let message = "Another conversation was opened meanwhile. Ask again.";
                return Err(ErrorInfo::new(ErrorCode::Conflict, message));
            }
            Ask::Earlier => return self.show_earlier(body).map(Value::Bool).ok_or_else(no_answer),
            Ask::Permissions { .. } => return Ok(body.clone()),
            Ask::Uploads => return self.upload_terms(body).ok_or_else(no_answer),
            Ask::Greet { .. } => self.greeted(asked.id, body, now),
            Ask::Rename { .. } | Ask::New | Ask::Bearer => {}
        }
        Ok(Value::Null)
    }

    /// The limits, with where and as whom files are sent now.
    fn upload_terms(&self, body: &Value) -> Option<Value> {
        let mut terms = body.as_object()?.clone();
        let request = Request::api(&self.config, FetchPurpose::Ask, "POST", &["uploads"]);
        terms.insert("url", request.url());
        terms.insert_some("authorization", self.token.as_ref().map(Token::bearer));
        Some(Value::Object(terms))
    }

    pub(super) fn answer(&mut self, id: AskId, result: Result<Value, ErrorInfo>) {
        self.out.push(Output::Answer { id, result });
    }

    /// The session that was asked is over.
    pub(super) fn leave_ask(&mut self, asked: &Asked) {
        let message = "Another agent was set meanwhile. Ask again.";
        self.answer(asked.id, Err(ErrorInfo::new(ErrorCode::NotReady, message)));
    }
}

/// What can be said without the server.
fn check(ask: &Ask, protocol: Protocol) -> Result<(), ErrorInfo> {
    let invalid = |message: &str| Err(ErrorInfo::new(ErrorCode::InvalidRequest, message));
    let (id, title) = match ask {
        Ask::New | Ask::Greet { .. } => return Ok(()),
        _ if protocol == Protocol::AgUi => {
            return invalid(
                "With `protocol: 'ag-ui'` the server keeps no conversations. Only a new one can be begun.",
            );
        }
        Ask::List | Ask::Earlier | Ask::Uploads | Ask::Bearer | Ask::Permissions { .. } => return Ok(()),
        Ask::Delete { id } | Ask::Switch { id } => (id, None),
        Ask::Rename { id, title } => (id, Some(title)),
    };
    // As part of an address these are no names.
    if matches!(id.as_str(), "" | "." | "..") {
        return invalid("This is no conversation's id. Give one that `conversations()` lists.");
    }
    if title.is_some_and(|title| title.trim().is_empty() || title.chars().count() > TITLE) {
        return invalid("A title has 1 to 200 characters. Give another one.");
    }
    Ok(())
}

fn no_answer() -> ErrorInfo {
    fault::not_the_protocol("application/json", "")
}
