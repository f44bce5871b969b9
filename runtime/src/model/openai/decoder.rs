//! Events of Chat Completions to ours.
//!
//! Gateways bend this protocol in every direction, so little is trusted: what was called
//! counts and not `finish_reason`, only `[DONE]` or a finish reason is an end, and an
//! error has many shapes.

use std::sync::Arc;

use mindset_core::json::{Object, Value, parse};
use mindset_core::object;
use mindset_core::turn::{ModelEvent, ModelUsage};

use super::super::failures::{Failures, error_in, is_error};
use super::super::http::{Decode, is_half, is_keep_alive};
use super::calls::Calls;

/// Reads one answer.
#[derive(Debug)]
pub(in super::super) struct Decoder {
    failures: Arc<Failures>,
    host: String,
    calls: Calls,
    reasoning: Option<(&'static str, String)>,
    /// What some providers want back beside the text of the reasoning.
    details: Vec<Object>,
    usage: Option<ModelUsage>,
    /// Something was said or called.
    said: bool,
    finished: bool,
    /// The provider stopped the answer at its limit.
    cut: bool,
    over: bool,
}

impl Decoder {
    pub(super) fn new(host: &str, failures: &Arc<Failures>) -> Decoder {
        Decoder {
            failures: Arc::clone(failures),
            host: host.to_owned(),
            calls: Calls::default(),
            reasoning: None,
            details: Vec::new(),
            usage: None,
            said: false,
            finished: false,
            cut: false,
            over: false,
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) {
        self.reasoning(delta, out);
        let text = match delta.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.str("text")).collect(),
            _ => String::new(),
        };
        // A refusal is what the model says instead.
        for text in [text.as_str(), delta.str("refusal").unwrap_or("")] {
            if !text.is_empty() {
                self.said = true;
                out.push(ModelEvent::Text(text.to_owned()));
            }
        }
        let listed = delta.get("tool_calls").and_then(Value::as_array).unwrap_or_default();
        let older = delta.get("function_call").filter(|call| call.is_object());
        for call in listed.iter().chain(older) {
            self.said = true;
            self.calls.take(call, out);
        }
    }

    fn reasoning(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) {
        for field in ["reasoning_content", "reasoning"] {
            let text = delta.str(field).unwrap_or("");
            // Some send both names with the same text: the first one seen counts.
            if text.is_empty() || self.reasoning.as_ref().is_some_and(|(seen, _)| *seen != field) {
                continue;
            }
            self.reasoning.get_or_insert_with(|| (field, String::new())).1.push_str(text);
            out.push(ModelEvent::Thinking(text.to_owned()));
        }
        for detail in delta.get("reasoning_details").and_then(Value::as_array).unwrap_or_default() {
            if let Some(detail) = detail.as_object() {
                self.detail(detail);
            }
        }
    }

    /// Puts the pieces of one detail together: same type and place, one after the other.
    fn detail(&mut self, piece: &Object) {
        let same =
            |last: &&mut Object| ["type", "index", "id"].iter().all(|key| last.get(key) == piece.get(key));
        let Some(last) = self.details.last_mut().filter(same) else {
            return self.details.push(piece.clone());
        };
        for (key, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
            let so_far = last.str(key).filter(|_| matches!(key, "text" | "summary" | "data")).unwrap_or("");
            match value.as_str() {
                Some(more) if !so_far.is_empty() => {
                    let joined = format!("{so_far}{more}");
                    last.insert(key, joined);
                }
                _ => last.insert(key, value.clone()),
            }
        }
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) {
        self.over = true;
        self.calls.end(self.cut, out);
        let mut state = object! { "host": self.host.as_str() };
        if let Some((field, text)) = self.reasoning.take() {
            state.insert("field", field);
            state.insert("text", text);
        }
        if !self.details.is_empty() {
            state.insert("details", std::mem::take(&mut self.details));
        }
        let extras = self.calls.extras();
        if !extras.is_empty() {
            state.insert("extras", extras);
        }
        if state.len() > 1 {
            out.push(ModelEvent::ProviderState(state));
        }
        out.push(ModelEvent::End { usage: self.usage });
    }

    fn fail(&mut self, error: &Value, out: &mut Vec<ModelEvent>) {
        self.over = true;
        out.push(ModelEvent::Failed(self.failures.of_error(error, None)));
    }

    fn choice(&mut self, choice: &Value, out: &mut Vec<ModelEvent>) {
        let reason = choice.str("finish_reason");
        if let Some(error) = choice.get("error").filter(|e| is_error(e)) {
            return self.fail(error, out);
        }
        if reason == Some("error") {
            return self.fail(&Value::Null, out);
        }
        match (choice.get("delta"), choice.get("message")) {
            // The whole message at once; behind its pieces it says nothing new.
            (None | Some(Value::Null), Some(message)) if !self.said => self.delta(message, out),
            (Some(delta), _) => self.delta(delta, out),
            _ => {}
        }
        self.cut |= reason == Some("length");
        self.finished |= choice.get("finish_reason").is_some_and(|r| !r.is_null());
    }
}

impl Decode for Decoder {
    fn frame(&mut self, event: &str, data: &str, out: &mut Vec<ModelEvent>) {
        let data = data.trim();
        if is_keep_alive(data) {
            return;
        }
        if data == "[DONE]" {
            return self.end(out);
        }
        let Ok(value) = parse(data) else {
            if matches!(event, "message" | "error") || is_half(data) {
                self.over = true;
                out.push(ModelEvent::Failed(self.failures.not_json()));
            }
            return;
        };
        let choice = value.get("choices").and_then(Value::as_array);
        if let Some(error) = error_in(event, &value, choice.is_some()) {
            return self.fail(error, out);
        }
        if let Some(usage) = value.get("usage").filter(|u| u.is_object()) {
            let count = |key| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
            self.usage =
                Some(ModelUsage { input: count("prompt_tokens"), output: count("completion_tokens") });
        }
        if let Some(choice) = choice.and_then(<[Value]>::first) {
            self.choice(choice, out);
        }
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) {
        if self.finished {
            return self.end(out);
        }
        self.over = true;
        out.push(ModelEvent::Failed(self.failures.cut_off()));
    }
}
