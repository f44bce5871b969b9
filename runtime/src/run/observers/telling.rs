//! What observers are told of the events of runs. Approvals and questions are never among it, and
//! neither are the calls of a page.

use std::collections::BTreeMap;

use mindset_core::agui::{Body, Event, Interrupt, Outcome};
use mindset_core::json::{Object, Value};
use mindset_core::object;

/// What an observer knows of the conversations that it observes.
#[derive(Debug)]
pub(super) struct Telling {
    /// Only beginnings, final replies and ends.
    brief: bool,
    /// The turns that have begun and are not over, by conversation.
    turns: BTreeMap<String, OpenTurn>,
}

#[derive(Debug)]
struct OpenTurn {
    id: String,
    /// Its last message, with its id.
    reply: Option<(String, String)>,
}

/// What an observer has heard of one run.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    /// Messages that are not over, by id.
    texts: Vec<(String, String)>,
    /// Tools that run: the call, and the tool.
    tools: Vec<(String, String)>,
    ended: bool,
}

/// How a turn ended.
struct End {
    status: &'static str,
    error: Option<Object>,
}

impl Telling {
    pub(super) fn new(brief: bool) -> Telling {
        Telling { brief, turns: BTreeMap::new() }
    }

    /// A run in the conversation `session` says `event`; what follows for the observer is added to
    /// `told`.
    pub(super) fn tell(
        &mut self,
        session: &str,
        hearing: &mut Hearing,
        event: &Event,
        told: &mut Vec<Object>,
    ) {
        // What an agent that was handed work says is not to be read.
        if event.subagent_run_id.is_some() {
            return;
        }
        match &event.body {
            // That of a run which waited comes before its turn and names no model.
            Body::RunStarted { .. } if event.mindset("model").is_some() => self.begin(session, event, told),
            Body::Custom { name, .. } if name == "mindset.turn_started" => self.begin(session, event, told),
            Body::Custom { name, value } if name == "mindset.tool_start" => {
                let named = (value.str("toolCallId"), value.str("toolName"));
                if let (Some(call), Some(tool)) = named {
                    hearing.tools.push((call.to_owned(), tool.to_owned()));
                    let tool = object! { "toolCallId": call, "toolName": tool };
                    self.progress(session, "tool.started", tool, told);
                }
            }
            Body::ToolCallResult { tool_call_id, .. } => {
                let at = hearing.tools.iter().position(|(call, _)| call == tool_call_id);
                if let Some((call, tool)) = at.map(|at| hearing.tools.remove(at)) {
                    let ok = event.mindset("ok").and_then(Value::as_bool).unwrap_or(true);
                    let tool = object! { "toolCallId": call, "toolName": tool, "ok": ok };
                    self.progress(session, "tool.finished", tool, told);
                }
            }
            // A text goes on under its id behind a call.
            Body::TextMessageStart { message_id: id, .. } if hearing.texts.iter().all(|(t, _)| t != id) => {
                hearing.texts.push((id.clone(), String::new()));
            }
            Body::TextMessageContent { message_id, delta } => {
                if let Some((_, text)) = hearing.texts.iter_mut().find(|(id, _)| id == message_id) {
                    text.push_str(delta);
                }
                self.progress(session, "text.delta", object! { "text": delta }, told);
            }
            Body::TextMessageEnd { message_id } => {
                let at = hearing.texts.iter().position(|(id, _)| id == message_id);
                if let Some(message) = at.map(|at| hearing.texts.remove(at)) {
                    self.commit(session, message, told);
                }
            }
            Body::RunFinished { outcome, .. } => {
                hearing.ended = true;
                if let Some(status) = over(event, outcome.as_ref()) {
                    self.finish(session, End { status, error: None }, told);
                }
            }
            Body::RunError { message, code, .. } => {
                hearing.ended = true;
                let mut error = object! { "message": message };
                error.insert_some("code", code.as_deref());
                error.insert_some("reason", event.mindset("reason").cloned());
                error.insert_some("retryable", event.mindset("retryable").cloned());
                self.finish(session, End { status: "error", error: Some(error) }, told);
            }
            _ => {}
        }
    }

    /// Nothing more comes of a run. One that has told no end was broken off.
    pub(super) fn ended(&mut self, session: &str, hearing: &Hearing, told: &mut Vec<Object>) {
        if !hearing.ended {
            let message = "The answer broke off. Read the conversation to see how it stands.";
            let error = object! { "message": message, "reason": "interrupted", "retryable": true };
            self.finish(session, End { status: "error", error: Some(error) }, told);
        }
    }

    /// The turn that waited in a conversation was stopped.
    pub(super) fn stopped(&mut self, session: &str, told: &mut Vec<Object>) {
        self.finish(session, End { status: "aborted", error: None }, told);
    }

    /// A conversation is gone.
    pub(super) fn forget(&mut self, session: &str) {
        self.turns.remove(session);
    }

    fn begin(&mut self, session: &str, event: &Event, told: &mut Vec<Object>) {
        // One that follows the first event of its run names no turn again.
        let Some(id) = event.mindset("turnId").and_then(Value::as_str) else { return };
        match self.turns.get(session) {
            Some(turn) if turn.id == id => return,
            Some(_) => self.stopped(session, told),
            None => {}
        }
        self.turns.insert(session.to_owned(), OpenTurn { id: id.to_owned(), reply: None });
        let mut more = Object::new();
        more.insert_some("model", event.mindset("model").cloned());
        self.say(session, "turn.started", more, told);
    }

    /// A message is whole.
    fn commit(&mut self, session: &str, message: (String, String), told: &mut Vec<Object>) {
        let (id, text) = &message;
        self.progress(session, "message.committed", object! { "messageId": id, "text": text }, told);
        if let Some(turn) = self.turns.get_mut(session) {
            turn.reply = Some(message);
        }
    }

    fn finish(&mut self, session: &str, end: End, told: &mut Vec<Object>) {
        let Some(reply) = self.turns.get_mut(session).map(|turn| turn.reply.take()) else { return };
        let mut more = object! { "status": end.status };
        if let Some((id, text)) = reply {
            if self.brief && end.status == "finished" {
                let message = object! { "messageId": id, "text": &text };
                self.say(session, "message.committed", message, told);
            }
            more.insert("text", text);
        }
        more.insert_some("error", end.error);
        self.say(session, "turn.finished", more, told);
        self.turns.remove(session);
    }

    fn progress(&self, session: &str, kind: &str, more: Object, told: &mut Vec<Object>) {
        if !self.brief {
            self.say(session, kind, more, told);
        }
    }

    fn say(&self, session: &str, kind: &str, more: Object, told: &mut Vec<Object>) {
        let turn = self.turns.get(session).map_or("", |turn| turn.id.as_str());
        let mut event = object! { "type": kind, "sessionId": session, "turnId": turn };
        for (key, value) in more.iter() {
            event.insert(key, value.clone());
        }
        told.push(event);
    }
}

/// How the turn of a run that finished so ended; `None`: it waits, and goes on with another run.
fn over(event: &Event, outcome: Option<&Outcome>) -> Option<&'static str> {
    let asks = |interrupt: &Interrupt| interrupt.reason == "input_required";
    match outcome {
        Some(Outcome::Success { pending_tool_call_ids }) if !pending_tool_call_ids.is_empty() => None,
        // Questions end a turn, an approval does not.
        Some(Outcome::Interrupt { interrupts }) if !interrupts.iter().all(asks) => None,
        Some(Outcome::Cancelled) if event.mindset("bound").is_none() => Some("aborted"),
        _ => Some("finished"),
    }
}
