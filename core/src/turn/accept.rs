//! What of a client's input becomes part of the stored conversation. The store is
//! the truth: new messages of the person and results of the client's own open
//! calls are taken, everything else a client claims is not believed.

use std::collections::BTreeSet;

use crate::agui::{Content, Message, Role, RunAgentInput};
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{MessageStatus, ToolSource};
use crate::json::Value;
use crate::limits::MESSAGE;
use crate::{Millis, NextId};

use super::ask::Decision;
use super::conversation::{cancelled, open_calls};
use super::results::{INTERRUPTED, Told};
use super::resume::{Decided, decisions, settled};
use super::toolset::{Owner, Toolset};
use super::{Conversation, Effect, Refusal, StoredCall, StoredFile, StoredMessage, StoredRole};

/// Characters of an id.
const MAX_ID: usize = 200;

/// How long the page that left calls open is waited for, in milliseconds: what a page's
/// tool may take by default, and half a minute.
const OWNER_PATIENCE: Millis = 90_000;

/// The result of a call of another page, whatever this one says it was.
const GONE: &str = "The page was closed, or another page went on, before the result came. It is not known \
     whether the tool acted. Do not repeat the call by yourself.";

/// What the run does to the conversation before it calls the model.
pub(super) struct Accepted {
    /// The stored message to drop, with all that follow it.
    pub(super) truncate: Option<String>,
    /// What is stored and stays.
    pub(super) stored: Vec<StoredMessage>,
    /// What is to be stored.
    pub(super) new: Vec<StoredMessage>,
    /// What people have decided.
    pub(super) decided: Vec<Decided>,
}

/// Takes what can be taken, or says why there is nothing to run. `tools` says which
/// open calls are the runtime's own: those of a run that broke down.
pub(super) fn accept(
    input: &RunAgentInput,
    conversation: Conversation,
    tools: &Toolset,
    ids: &mut dyn NextId,
    now: Millis,
) -> Result<Accepted, Refusal> {
    check_id("threadId", &input.thread_id)?;
    check_id("runId", &input.run_id)?;
    let client = input.mindset("clientId").and_then(Value::as_str);
    let own = conversation.open_client.as_deref() == client;
    let broken = conversation.broken;
    let mut stored = conversation.messages;
    let unknown = stored.is_empty();
    let replaced = truncate(input, &mut stored)?;
    // What replaces a message keeps its files, unless it says itself which it has.
    let kept = replaced.as_ref().filter(|_| matches!(input.mindset("uploads"), None | Some(Value::Null)));
    let files = kept.map_or(conversation.files, |m| m.files.clone());
    let truncate = replaced.map(|m| m.id);
    let used = stored.iter().map(|m| m.id.clone()).collect();
    let mut reader = Reader { input, tools, ids, now, own, broken, used, files };
    let users = reader.users(unknown)?;
    let (asking, open): (Vec<_>, Vec<_>) =
        open_calls(&stored).into_iter().partition(|call| call.ask.is_some() && !broken);
    let mut decided = decisions(&input.resume, &stored, &asking)?;
    let mut new = reader.answers(&open)?;
    let answered = |call: &&StoredCall| new.iter().any(|m| m.call_id.as_ref() == Some(&call.id));
    let missing: Vec<_> = open.into_iter().filter(|call| !answered(call)).collect();
    let (lost, missing): (Vec<_>, Vec<_>) = missing.into_iter().partition(|call| reader.is_lost(call));
    let held = !own && !broken && conversation.open_client.is_some() && !missing.is_empty();
    if held && !users.is_empty() && now < last_call(&stored).saturating_add(OWNER_PATIENCE) {
        return Err(held_elsewhere());
    }
    let undecided = |call: &&StoredCall| decided.iter().all(|decided| decided.call.id != call.id);
    let unanswered: Vec<_> = asking.iter().copied().filter(undecided).collect();
    if users.is_empty() {
        let wanted: Vec<_> = missing.iter().chain(&unanswered).copied().collect();
        check_whole(input, &wanted, new.is_empty() && decided.is_empty())?;
    } else if asking.iter().any(waits) || decided.iter().any(Decided::runs) {
        return Err(undecided_yet());
    }
    let passed_over = |call: &StoredCall| Decided { call: call.clone(), decision: Decision::PassedOver };
    let unanswered: Vec<_> = unanswered.into_iter().map(passed_over).collect();
    decided.extend(unanswered);
    new.extend(lost.into_iter().filter_map(|call| reader.lost(call)));
    new.extend(missing.into_iter().map(|call| reader.given_up(call)));
    for decided in &decided {
        new.extend(settled(decided, &input.run_id, reader.ids, now));
    }
    new.extend(users);
    Ok(Accepted { truncate, stored, new, decided })
}

/// Whether the call waits for a person's approval.
fn waits(call: &&StoredCall) -> bool {
    call.ask.as_ref().is_some_and(|ask| ask.is_approval())
}

/// A run without a new message brings something, and answers everything its step has left open:
/// the calls `open`.
fn check_whole(input: &RunAgentInput, open: &[&StoredCall], nothing: bool) -> Result<(), Refusal> {
    if nothing {
        let answers = input.messages.last().is_some_and(|m| m.role == Role::Tool) || !input.resume.is_empty();
        return Err(nothing_new(open.len(), open.is_empty() && answers));
    }
    let names = |asks: bool| -> Vec<&str> {
        let of_kind = open.iter().filter(|call| call.ask.is_some() == asks);
        of_kind
            .flat_map(|call| call.ask.as_ref().map_or_else(|| vec![call.id.as_str()], |ask| ask.ids()))
            .collect()
    };
    let (calls, interrupts) = (names(false), names(true));
    if !calls.is_empty() {
        return Err(invalid(format!(
            "The run must answer every open call of its step; missing: {}. Send one tool message for each.",
            calls.join(", ")
        )));
    }
    if interrupts.is_empty() {
        return Ok(());
    }
    Err(invalid(format!(
        "The run must answer every open interrupt of its step; missing: {}. Send one `resume` entry for each.",
        interrupts.join(", ")
    )))
}

/// When the newest calls were made.
fn last_call(stored: &[StoredMessage]) -> Millis {
    let called = stored.iter().rfind(|m| m.is_answer());
    called.map_or(0, |m| m.created_at)
}

fn undecided_yet() -> Refusal {
    ErrorInfo::new(
        ErrorCode::Busy,
        "A tool of this conversation waits for a person's word. Allow, deny or answer it first, or cancel the run.",
    )
}

fn held_elsewhere() -> Refusal {
    ErrorInfo::new(
        ErrorCode::Busy,
        "A tool of this conversation still runs in another page. Wait for its end, or go on there.",
    )
}

/// Drops what `replaceFrom` names. A message that never reached the store needs
/// no dropping, so an unknown id is no mistake.
fn truncate(
    input: &RunAgentInput,
    stored: &mut Vec<StoredMessage>,
) -> Result<Option<StoredMessage>, Refusal> {
    let from = match input.mindset("replaceFrom") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(id)) => id,
        Some(other) => {
            return Err(invalid(format!(
                "forwardedProps.mindset.replaceFrom must be a message id, not {}.",
                other.kind()
            )));
        }
    };
    let Some(at) = stored.iter().position(|m| m.id == *from) else { return Ok(None) };
    if stored.get(at).is_some_and(|m| m.role != StoredRole::User) {
        return Err(invalid(format!(
            "forwardedProps.mindset.replaceFrom: \"{from}\" is no user message. Name the user message to replace."
        )));
    }
    let replaced = stored.get(at).cloned();
    stored.truncate(at);
    Ok(replaced)
}

struct Reader<'a> {
    input: &'a RunAgentInput,
    tools: &'a Toolset,
    ids: &'a mut dyn NextId,
    now: Millis,
    /// Whether the open calls are this client's own.
    own: bool,
    /// Nobody was asked for the results of the open calls.
    broken: bool,
    /// Message ids of the conversation.
    used: BTreeSet<String>,
    /// What comes with the last user message.
    files: Vec<StoredFile>,
}

impl Reader<'_> {
    /// The last user message if it is new; with a conversation nobody knows, the
    /// ones before it too.
    fn users(&mut self, unknown: bool) -> Result<Vec<StoredMessage>, Refusal> {
        let input = self.input;
        let of_user = |(_, m): &(usize, &Message)| m.role == Role::User;
        let Some((last, message)) = input.messages.iter().enumerate().rfind(of_user) else {
            return Ok(Vec::new());
        };
        if self.used.contains(&message.id) {
            return Ok(Vec::new());
        }
        let files = std::mem::take(&mut self.files);
        let mut taken = self.user(last, message, files)?;
        taken.silent = input.mindset("inputType").and_then(Value::as_str) == Some("PSEUDO_HUMAN");
        let mut users = Vec::new();
        if unknown {
            for (at, message) in input.messages.iter().enumerate().take(last).filter(of_user) {
                if !self.used.contains(&message.id) {
                    users.push(self.user(at, message, Vec::new())?);
                }
            }
        }
        users.push(taken);
        Ok(users)
    }

    fn user(
        &mut self,
        at: usize,
        message: &Message,
        files: Vec<StoredFile>,
    ) -> Result<StoredMessage, Refusal> {
        check_id(&format!("messages[{at}].id"), &message.id)?;
        let text = text(at, message)?;
        let size = text.chars().count();
        if size > MESSAGE {
            let problem = format!(
                "messages[{at}]: the message has {size} characters, the limit is {MESSAGE}. Send a shorter one."
            );
            return Err(ErrorInfo::new(ErrorCode::TooLarge, problem));
        }
        if text.trim().is_empty() && files.is_empty() {
            return Err(invalid(format!("messages[{at}]: the message has no text. Send some.")));
        }
        self.used.insert(message.id.clone());
        let stored = StoredMessage::new(&message.id, &self.input.run_id, StoredRole::User, text, self.now);
        Ok(StoredMessage { files, ..stored })
    }

    /// Results of open calls; of two for one call the first counts.
    fn answers(&mut self, open: &[&StoredCall]) -> Result<Vec<StoredMessage>, Refusal> {
        let mut answers: Vec<StoredMessage> = Vec::new();
        for (at, message) in self.input.messages.iter().enumerate().filter(|(_, m)| m.role == Role::Tool) {
            let Some(call) = open.iter().find(|c| Some(&c.id) == message.tool_call_id.as_ref()) else {
                continue;
            };
            if answers.iter().any(|m| m.call_id.as_ref() == Some(&call.id)) {
                continue;
            }
            match self.lost(call) {
                Some(lost) => answers.push(lost),
                None => answers.push(self.answer(at, message, call)?),
            }
        }
        Ok(answers)
    }

    /// The result of a call that the conversation goes on without. What another page does
    /// nobody has given up.
    fn given_up(&mut self, call: &StoredCall) -> StoredMessage {
        let mut message = cancelled(call, &self.input.run_id, self.ids.next_id(), self.now);
        if !self.own {
            gone(&mut message, &call.name);
        }
        message
    }

    /// Whether it is a call of the runtime's own, whose run broke down. One of a tool that
    /// is not there today counts: its server may be down, and may have run it.
    fn is_lost(&self, call: &StoredCall) -> bool {
        match self.tools.owner(&call.name) {
            Owner::Server(_) => true,
            Owner::Nobody => self.broken,
            Owner::Page => false,
        }
    }

    /// The result of such a call; `None` for calls of the client.
    fn lost(&mut self, call: &StoredCall) -> Option<StoredMessage> {
        if !self.is_lost(call) {
            return None;
        }
        let acts = !matches!(self.tools.owner(&call.name), Owner::Server(tool) if tool.read_only);
        let told = Told::unknown(INTERRUPTED, acts, 0);
        let mut message = told.message(self.ids.next_id(), &self.input.run_id, &call.id, self.now);
        message.effect = match self.tools.owner(&call.name) {
            Owner::Server(tool) => told.effect(tool),
            // A server that is not there today; nobody else's calls break down.
            _ => Some(Effect { tool_name: call.name.clone(), source: ToolSource::Mcp, unknown: true }),
        };
        Some(message)
    }

    fn answer(&mut self, at: usize, message: &Message, call: &StoredCall) -> Result<StoredMessage, Refusal> {
        let mut content = text(at, message)?;
        if let (true, Some(error)) = (content.is_empty(), &message.error) {
            content.clone_from(error);
        }
        let id = match check_id("", &message.id) {
            Ok(()) if !self.used.contains(&message.id) => message.id.clone(),
            _ => self.ids.next_id(),
        };
        self.used.insert(id.clone());
        let mut answer = StoredMessage::new(id, &self.input.run_id, StoredRole::Tool, content, self.now);
        answer.call_id = Some(call.id.clone());
        answer.status = message.error.is_some().then_some(MessageStatus::Error);
        if !self.own {
            gone(&mut answer, &call.name);
        }
        Ok(answer)
    }
}

/// The result of a call of another page: only that page knew whether its tool acted.
fn gone(message: &mut StoredMessage, tool: &str) {
    GONE.clone_into(&mut message.content);
    message.status = Some(MessageStatus::Error);
    message.effect = Some(Effect { tool_name: tool.to_owned(), source: ToolSource::Page, unknown: true });
}

/// The text of a message that has nothing but text.
fn text(at: usize, message: &Message) -> Result<String, Refusal> {
    if let Some(Content::Parts(parts)) = &message.content {
        for (i, part) in parts.iter().enumerate() {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or("unknown");
            if kind != "text" {
                let kind: String = kind.chars().take(40).collect();
                return Err(invalid(format!(
                    "messages[{at}].content[{i}] is of type \"{kind}\". Only text is taken here. Upload files and \
                     name their ids in forwardedProps.mindset.uploads."
                )));
            }
        }
    }
    Ok(message.plain_text())
}

/// Ids stand in URLs and SSE fields.
fn check_id(place: &str, id: &str) -> Result<(), Refusal> {
    if !id.is_empty() && id.chars().count() <= MAX_ID && !id.chars().any(char::is_control) {
        return Ok(());
    }
    Err(invalid(format!("{place} must be 1 to {MAX_ID} printable characters, for example a UUID.")))
}

fn nothing_new(open: usize, late: bool) -> Refusal {
    if late {
        // People read this in the page whose tool was slower than they.
        let message = "The conversation has gone on without these results, perhaps in another tab or window. \
             Send a new message to go on here.";
        return ErrorInfo::new(ErrorCode::Conflict, message);
    }
    let rest = if open == 0 {
        "Send a user message with an id of its own."
    } else {
        "Send a user message with an id of its own, or what the open calls and interrupts wait for."
    };
    ErrorInfo::new(ErrorCode::Conflict, format!("The run brings nothing new to the conversation. {rest}"))
}

fn invalid(message: String) -> Refusal {
    ErrorInfo::new(ErrorCode::InvalidRequest, message)
}
