//! One event of a stream: what listeners hear of it and what the panel shows.

use super::end::Ending;
use super::fault;
use super::state::Turn;
use super::stream::{Stream, is_agents};
use super::{Protocol, Session};
use crate::Millis;
use crate::agui::Reading;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{Author, Bound, Reason, RuntimeEvent};
use crate::json::Value;
use crate::view::{Activity, Patch};

/// How the server says a run ended.
pub(super) enum RunEnd {
    /// With an outcome; older peers name none.
    Finished { outcome: Option<Value>, bound: Option<Bound>, effects: Vec<Value> },
    /// Its message was read by the turn that was under way.
    Steered,
    /// With an error.
    Failed(Ending),
}

impl Session {
    /// Takes one event; gives the end of the run if this is it.
    pub(super) fn apply(
        &mut self,
        turn: &mut Turn,
        stream: &mut Stream,
        event: Reading,
        now: Millis,
    ) -> Option<RunEnd> {
        let subagent = event.subagent().is_some();
        if subagent && self.config.protocol == Protocol::Mindset {
            self.child_says(&event);
            return None;
        }
        let (kind, id, delta) = (event.kind(), event.str("messageId"), event.str("delta"));
        if kind == "TEXT_MESSAGE_START" && is_agents(&event) {
            if turn.found {
                if stream.is_new(id) {
                    self.make_place(turn, id);
                }
            } else {
                self.name_row(turn, stream, id);
            }
        }
        if !subagent || !kind.starts_with("TEXT_MESSAGE_") {
            stream.note(&event);
        }
        match kind {
            "RUN_STARTED" => {
                turn.started = true;
                if turn.decided.take().is_some() {
                    self.settle_replies(None);
                }
                // A run that waits names no model before its turn begins.
                if self.may_wait(turn) && event.mindset("model").is_none() {
                    note_agent(turn, &event);
                } else {
                    self.turn_begins(turn, &event, now);
                }
            }
            "TEXT_MESSAGE_CONTENT" if !subagent && !delta.is_empty() && !stream.is_muted(id) => {
                self.say(stream.row_id(id), delta, now);
            }
            "TEXT_MESSAGE_END" if !subagent => {
                self.out.patch(Patch::EndMessage { id: stream.row_id(id).to_owned() });
            }
            "REASONING_MESSAGE_CONTENT" if !subagent && !delta.is_empty() => {
                self.out.activity(Activity::Thinking);
                self.out.patch(Patch::Think { text: delta.to_owned() });
                self.out.runtime(RuntimeEvent::ThinkingDelta { content: delta.to_owned() });
            }
            "TOOL_CALL_START" => {
                self.out.activity(Activity::Waiting);
                let name = event.str("toolCallName");
                self.out.runtime(RuntimeEvent::ToolAnnounce {
                    tool_call_id: event.str("toolCallId").to_owned(),
                    tool_name: name.to_owned(),
                    description: self.channels.tool(name).and_then(|tool| tool.running.clone()),
                });
            }
            "TOOL_CALL_RESULT" => self.server_tool_ended(turn, stream, &event, now),
            "CUSTOM" => self.custom(turn, stream, &event, now),
            "RUN_FINISHED" => return Some(run_finished(turn, event)),
            "RUN_ERROR" => {
                // It lists what the whole turn did.
                turn.seen.clear();
                return Some(RunEnd::Failed(run_error(&event)));
            }
            _ => {}
        }
        None
    }

    /// Tells the beginning of the turn, once.
    pub(super) fn tell_started(&mut self, turn: &mut Turn, event: Option<&Reading>) {
        if std::mem::replace(&mut turn.announced, true) {
            return;
        }
        if let Some(event) = event {
            note_agent(turn, event);
        }
        let disclosure = turn.disclosure.take();
        if event.is_some() {
            self.out.disclosure(disclosure.clone());
        }
        self.out.runtime(RuntimeEvent::RunStarted {
            run_id: turn.id.clone(),
            conversation_id: self.transcript.thread_id.clone().unwrap_or_default(),
            model: turn.model.take(),
            disclosure,
        });
    }

    /// A message gets its own row even from a server that gives an id twice.
    fn name_row(&mut self, turn: &Turn, stream: &mut Stream, id: &str) {
        let earlier = self.transcript.rows.get(..turn.run_from).unwrap_or_default();
        let taken = id == turn.message.id || earlier.iter().any(|row| row.id == id);
        if taken && stream.row_id(id) == id {
            stream.alias(id, self.ids.next_id());
        }
    }

    /// A piece of the answer.
    fn say(&mut self, id: &str, delta: &str, now: Millis) {
        self.out.activity(Activity::Answering);
        let row = self.transcript.row(id).map(|row| row.content.push_str(delta));
        let (id, text) = (id.to_owned(), delta.to_owned());
        self.out.patch(match row {
            Some(()) => Patch::AppendText { id: id.clone(), text: text.clone() },
            None => {
                self.transcript.add(&id, Author::Assistant, &text, now);
                Patch::AddMessage { id: id.clone(), role: Author::Assistant, text: text.clone() }
            }
        });
        self.out.runtime(RuntimeEvent::TextDelta { message_id: id, content: text });
    }
}

/// Who answers, as the beginning of a run says it.
fn note_agent(turn: &mut Turn, event: &Reading) {
    let text = |key| event.mindset(key).and_then(Value::as_str).map(str::to_owned);
    turn.model = text("model").or_else(|| turn.model.take());
    turn.disclosure = text("disclosure").or_else(|| turn.disclosure.take());
}

fn run_finished(turn: &mut Turn, mut event: Reading) -> RunEnd {
    if let Some(Value::Array(usage)) = event.take("usage") {
        turn.usage.extend(usage);
    }
    if event.mindset("status").and_then(Value::as_str) == Some("steered") {
        return RunEnd::Steered;
    }
    let outcome = event.take("outcome");
    if outcome.as_ref().and_then(|outcome| outcome.str("type")) == Some("cancelled") {
        turn.seen.clear();
    }
    let bound = event.mindset("bound").and_then(Bound::from_json);
    RunEnd::Finished { outcome, bound, effects: effects(&event) }
}

pub(super) fn effects(event: &Reading) -> Vec<Value> {
    event.mindset("effects").and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default()
}

/// How a turn ended by the last event of its last run, if not well.
pub(super) fn last_ending(event: &Reading) -> Option<Ending> {
    if event.kind() == "RUN_ERROR" {
        return Some(run_error(event));
    }
    let bound = event.mindset("bound").and_then(Bound::from_json);
    let cancelled = event.get("outcome").and_then(|outcome| outcome.str("type")) == Some("cancelled");
    match bound {
        None if cancelled => Some(Ending::Stopped { effects: effects(event) }),
        None => None,
        bound => Some(Ending::Finished { bound }),
    }
}

fn run_error(event: &Reading) -> Ending {
    let reason = event.mindset("reason").and_then(Value::as_str).and_then(Reason::parse);
    let effects = effects(event);
    if reason == Some(Reason::Cancelled) {
        return Ending::Stopped { effects };
    }
    let reason = reason.unwrap_or(Reason::ModelError);
    let code = ErrorCode::parse(event.str("code")).unwrap_or_else(|| fault::code(reason));
    let mut error = ErrorInfo::new(code, fault::said(event.str("message")));
    if let Some(retryable) = event.mindset("retryable").and_then(Value::as_bool) {
        error.retryable = retryable;
    }
    Ending::Failed { error, reason, effects }
}
