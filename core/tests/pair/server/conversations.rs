//! What the server knows of a conversation between two runs.

use std::collections::BTreeMap;

use mindset_core::agui::encode_interrupt;
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::{Author, ChatMessage, Feedback, Widget};
use mindset_core::json::{Object, Value, parse};
use mindset_core::object;
use mindset_core::passthrough::Passthrough;
use mindset_core::session::FetchRequest;
use mindset_core::turn::{Conversation, Input, StoredFile, StoredMessage, StoredRole};
use mindset_core::widget::{last_answer, read_action};

use super::super::Effect;
use super::Server;

/// Messages in one answer.
const MOST: usize = 200;

impl Server {
    /// `GET` of all conversations, the latest first, in pages if a test says how long they are.
    pub(super) fn list(&self, query: &str, request: &FetchRequest) -> Result<String, ErrorInfo> {
        self.authorize(request)?;
        let mut ids: Vec<_> = self.store.keys().collect();
        ids.sort_by_key(|id| self.store[*id].last().map(|message| message.created_at));
        let from = query.strip_prefix("cursor=").map_or(0, |cursor| cursor.parse().expect("our cursor"));
        let to = from + self.listed.unwrap_or(ids.len());
        let more = (to < ids.len()).then(|| to.to_string());
        let page = ids.into_iter().rev().skip(from).take(to - from);
        let list: Vec<_> = page.map(|id| Value::Object(self.summary(id))).collect();
        let mut answer = object! { "conversations": Value::Array(list) };
        answer.insert_some("next", more);
        Ok(answer.text())
    }

    fn summary(&self, id: &str) -> Object {
        object! { "id": id, "title": self.titles.get(id).map_or("", String::as_str), "agentUid": "demo" }
    }

    /// `GET` of a conversation: what the page may see, and the calls that are open.
    pub(super) fn conversation(
        &self,
        id: &str,
        query: &str,
        request: &FetchRequest,
    ) -> Result<String, ErrorInfo> {
        self.authorize(request)?;
        let before = query.strip_prefix("before=");
        Ok(self.conversation_json(id, before).ok_or_else(unknown)?.text())
    }

    /// The conversation as a page sees it: its newest messages, or those before one.
    pub(super) fn conversation_json(&self, id: &str, before: Option<&str>) -> Option<Object> {
        let messages = self.store.get(id)?;
        let told: Vec<_> =
            messages.iter().filter(|m| m.silent).filter_map(|m| read_action(&m.content)).collect();
        let shown: Vec<Value> =
            messages.iter().filter_map(|message| shown(message, &told, &self.feedback)).collect();
        let end = match before {
            Some(before) => shown.iter().position(|m| m.str("id") == Some(before))?,
            None => shown.len(),
        };
        let from = end.saturating_sub(MOST);
        let mut answer = self.summary(id);
        answer.insert("messages", Value::Array(shown[from..end].to_vec()));
        answer.insert_some("before", shown.get(from).filter(|_| from > 0).and_then(|m| m.str("id")));
        let mut open = Vec::new();
        self.add_runs(id, &mut answer);
        if answer.get("activeRun").is_none() {
            for call in self.conversation_of(id).open_calls() {
                let mut call = object! {
                    "toolCallId": &call.id, "toolName": &call.name, "arguments": &call.arguments, "runId": "",
                };
                call.insert_some("clientId", self.clients.get(id).map(String::as_str));
                open.push(Value::Object(call));
            }
        }
        answer.insert("openCalls", Value::Array(open));
        let asked = self.conversation_of(id).open_interrupts();
        let asked = if answer.get("activeRun").is_none() { asked } else { Vec::new() };
        answer.insert("openInterrupts", asked.iter().map(encode_interrupt).collect::<Vec<_>>());
        answer.insert("queue", self.queue_of(id));
        Some(answer)
    }

    /// `PATCH` of a conversation: its title.
    pub(super) fn rename(&mut self, id: &str, request: &FetchRequest) -> Result<String, ErrorInfo> {
        self.authorize(request)?;
        if !self.store.contains_key(id) {
            return Err(unknown());
        }
        let body = parse(request.body.as_deref().unwrap_or("")).expect("JSON");
        self.titles.insert(id.to_owned(), body.str("title").expect("a title").to_owned());
        Ok(self.summary(id).text())
    }

    /// `PUT` of what is thought of an answer.
    pub(super) fn take_feedback(&mut self, id: &str, request: &FetchRequest) -> Result<String, ErrorInfo> {
        self.authorize(request)?;
        let is = |message: &StoredMessage| message.id == id && message.role == StoredRole::Assistant;
        if !self.store.values().flatten().any(is) {
            return Err(unknown());
        }
        let body = parse(request.body.as_deref().unwrap_or("")).expect("JSON");
        match Feedback::from_json(&body) {
            Some(feedback) => self.feedback.insert(id.to_owned(), feedback),
            None => self.feedback.remove(id),
        };
        Ok(String::new())
    }

    /// `DELETE` of a conversation; a run of it ends first.
    pub(super) fn delete(
        &mut self,
        id: &str,
        request: &FetchRequest,
        now: u64,
    ) -> Result<Vec<Effect>, ErrorInfo> {
        self.authorize(request)?;
        if !self.store.contains_key(id) {
            return Err(unknown());
        }
        let of_it = |(name, run): (&String, &super::Run)| (run.thread == id).then(|| name.clone());
        let runs: Vec<_> = self.runs.iter().filter_map(of_it).collect();
        let effects = runs.iter().flat_map(|run| self.input(run, Input::Cancel, now)).collect();
        self.store.remove(id);
        self.deleted.push(id.to_owned());
        self.titles.remove(id);
        self.runs.retain(|_, run| run.thread != id);
        Ok(effects)
    }

    /// The conversation as a run finds it.
    pub(super) fn conversation_of(&self, id: &str) -> Conversation {
        Conversation {
            id: id.to_owned(),
            messages: self.store.get(id).cloned().unwrap_or_default(),
            open_client: self.clients.get(id).cloned(),
            ..Conversation::default()
        }
    }

    /// A run that has ended with open calls is cancelled: they are closed.
    pub(super) fn close_waiting(&mut self, run: &str, now: u64) {
        let Some(state) = self.runs.get(run).filter(|state| state.turn.is_none()) else { return };
        let thread = state.thread.clone();
        let conversation = self.conversation_of(&thread);
        if conversation.messages.last().is_none_or(|message| message.run_id != run) {
            return;
        }
        let mut n = 0;
        let mut ids = move || {
            n += 1;
            format!("{thread}-closed-{now}-{n}")
        };
        let closed = conversation.cancel_open_calls(run, &mut ids, now);
        self.closed += closed.len();
        self.store.entry(conversation.id).or_default().extend(closed);
    }

    /// `PUT` of pass-through parameters for a run.
    pub(super) fn change_passthrough(
        &mut self,
        run: &str,
        request: &FetchRequest,
        now: u64,
    ) -> Result<Vec<Effect>, ErrorInfo> {
        self.authorize(request)?;
        if self.runs.get(run).is_none_or(|run| run.turn.is_none()) {
            return Err(ErrorInfo::new(ErrorCode::NotFound, "There is no such run."));
        }
        let body = parse(request.body.as_deref().unwrap_or("")).expect("JSON");
        let values: Object = body.get("passthroughParams").and_then(Value::as_object).expect("them").clone();
        self.changed.push(values.clone());
        let values = Passthrough::new(values)?;
        Ok(self.input(run, Input::Passthrough(values), now))
    }
}

fn unknown() -> ErrorInfo {
    ErrorInfo::new(ErrorCode::NotFound, "There is no conversation with this id.")
}

/// A message as the page sees it.
fn shown(message: &StoredMessage, told: &[Value], feedback: &BTreeMap<String, Feedback>) -> Option<Value> {
    let role = match message.role {
        StoredRole::User if !message.silent => Author::User,
        StoredRole::Assistant if !message.content.is_empty() => Author::Assistant,
        _ => return None,
    };
    let shown = ChatMessage {
        id: message.id.clone(),
        role,
        content: message.content.clone(),
        created_at: None,
        status: message.status,
        citations: message.citations.clone(),
        feedback: feedback.get(&message.id).cloned(),
        widget: message.widget.clone().map(|w| Widget { answer: last_answer(&message.id, told), ..w }),
        files: StoredFile::list(&message.files),
    };
    let mut shown = shown.to_json();
    if let Value::Object(shown) = &mut shown {
        shown.insert("runId", &message.run_id);
    }
    Some(shown)
}
