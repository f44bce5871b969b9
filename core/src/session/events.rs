//! One event of a stream: what listeners hear of it and what the panel shows.

use super::Session;
use super::end::Ending;
use super::fault;
use super::state::Turn;
use super::stream::Stream;
use crate::Millis;
use crate::agui::{Body, Event, Outcome, TextRole, TokenUsage};
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{Author, Bound, Reason, RuntimeEvent};
use crate::json::{Object, Value};
use crate::view::{Activity, Patch};

/// How the server says a run ended.
pub(super) enum RunEnd {
    /// With an outcome; older peers name none.
    Finished { outcome: Option<Outcome>, bound: Option<Bound>, effects: Vec<Value> },
    /// With an error.
    Failed(Ending),
}

impl Session {
    /// Takes one event; gives the end of the run if this is it.
    pub(super) fn apply(
        &mut self,
        turn: &mut Turn,
        stream: &mut Stream,
        event: Event,
        now: Millis,
    ) -> Option<RunEnd> {
        let subagent = event.subagent_run_id.is_some();
        if let Body::TextMessageStart { message_id, role: TextRole::Assistant, .. } = &event.body {
            self.name_row(turn, stream, message_id);
        }
        if !subagent || !is_speech(&event.body) {
            stream.note(&event.body);
        }
        match &event.body {
            Body::RunStarted { .. } => self.run_started(turn, &event),
            Body::TextMessageContent { message_id, delta }
                if !subagent && !delta.is_empty() && !stream.is_muted(message_id) =>
            {
                self.say(stream.row_id(message_id), delta, now);
            }
            Body::ReasoningMessageContent { delta, .. } if !subagent && !delta.is_empty() => {
                self.out.activity(Activity::Thinking);
                self.out.runtime(RuntimeEvent::ThinkingDelta { content: delta.clone() });
            }
            Body::ToolCallStart { tool_call_id, tool_call_name, .. } => {
                self.out.activity(Activity::Waiting);
                self.out.runtime(RuntimeEvent::ToolAnnounce {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_call_name.clone(),
                });
            }
            Body::RunFinished { outcome, usage, .. } => {
                turn.usage.extend(usage.iter().map(usage_json));
                return Some(RunEnd::Finished {
                    outcome: outcome.clone(),
                    bound: event.mindset("bound").and_then(Bound::from_json),
                    effects: effects(&event),
                });
            }
            Body::RunError { message, code, .. } => {
                return Some(RunEnd::Failed(run_error(&event, message, code.as_deref())));
            }
            _ => {}
        }
        None
    }

    /// Tells the beginning of the turn, once.
    fn run_started(&mut self, turn: &mut Turn, event: &Event) {
        turn.started = true;
        if std::mem::replace(&mut turn.announced, true) {
            return;
        }
        let text = |key| event.mindset(key).and_then(Value::as_str).map(str::to_owned);
        let disclosure = text("disclosure");
        self.out.disclosure(disclosure.clone());
        self.out.runtime(RuntimeEvent::RunStarted {
            run_id: turn.id.clone(),
            conversation_id: self.transcript.thread_id.clone().unwrap_or_default(),
            model: text("model"),
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

fn is_speech(body: &Body) -> bool {
    matches!(
        body,
        Body::TextMessageStart { .. } | Body::TextMessageContent { .. } | Body::TextMessageEnd { .. }
    )
}

fn effects(event: &Event) -> Vec<Value> {
    event.mindset("effects").and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default()
}

fn run_error(event: &Event, message: &str, code: Option<&str>) -> Ending {
    let reason = event.mindset("reason").and_then(Value::as_str).and_then(Reason::parse);
    let effects = effects(event);
    if reason == Some(Reason::Cancelled) {
        return Ending::Stopped { effects };
    }
    let reason = reason.unwrap_or(Reason::ModelError);
    let code = code.and_then(ErrorCode::parse).unwrap_or_else(|| fault::code(reason));
    let mut error = ErrorInfo::new(code, message);
    if let Some(retryable) = event.mindset("retryable").and_then(Value::as_bool) {
        error.retryable = retryable;
    }
    Ending::Failed { error, reason, effects }
}

fn usage_json(usage: &TokenUsage) -> Value {
    let mut o = Object::new();
    o.insert_some("provider", usage.provider.as_deref());
    o.insert_some("model", usage.model.as_deref());
    for (key, tokens) in [
        ("inputTokens", usage.input_tokens),
        ("outputTokens", usage.output_tokens),
        ("totalTokens", usage.total_tokens),
        ("reasoningTokens", usage.reasoning_tokens),
        ("cachedInputTokens", usage.cached_input_tokens),
        ("cacheWriteInputTokens", usage.cache_write_input_tokens),
    ] {
        o.insert_some(key, tokens);
    }
    Value::Object(o)
}
