//! OpenAI-compatible Chat Completions, at any base URL.
//!
//! Gateways bend this protocol in every direction, so the decoder trusts little:
//! a call is told apart by its id before its index, what was called counts and
//! not `finish_reason`, and only `[DONE]` or a finish reason is an end.

use std::sync::Arc;

use mindset_core::json::{Object, Value};
use mindset_core::object;
use mindset_core::turn::{ModelEvent, ModelMessage, ModelRequest, ModelUsage};

use super::failures::Failures;
use super::http::{Decode, Endpoint};
use super::{Answer, Model};
use crate::config::ModelConfig;

/// A model behind Chat Completions.
#[derive(Debug)]
pub(super) struct OpenAi {
    config: ModelConfig,
    endpoint: Endpoint,
}

impl OpenAi {
    pub(super) fn new(config: ModelConfig) -> OpenAi {
        OpenAi { endpoint: Endpoint::new(&config, "/chat/completions"), config }
    }

    fn body(&self, request: &ModelRequest) -> Object {
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(object! { "role": "system", "content": &request.system });
        }
        messages.extend(request.messages.iter().map(|m| message(m, self.endpoint.host())));
        let mut body = object! {
            "model": self.config.model.as_str(), "messages": messages, "stream": true,
            "stream_options": object! { "include_usage": true },
        };
        // The provider itself wants the newer name, most others know only the older one.
        let limit =
            if self.endpoint.host() == "api.openai.com" { "max_completion_tokens" } else { "max_tokens" };
        body.insert_some(limit, self.config.max_tokens);
        let tools: Vec<Object> = request
            .tools
            .iter()
            .map(|t| {
                let function = object! {
                    "name": &t.name, "description": &t.description, "parameters": t.parameters.flat(),
                };
                object! { "type": "function", "function": function }
            })
            .collect();
        if !tools.is_empty() {
            body.insert("tools", tools);
        }
        body
    }
}

impl Model for OpenAi {
    fn call(&self, request: ModelRequest) -> Answer {
        let key = self.config.api_key.as_ref();
        let headers: Vec<_> =
            key.map(|k| ("authorization", format!("Bearer {}", k.expose()))).into_iter().collect();
        let failures = self.endpoint.failures(&request);
        let decoder = Decoder::new(self.endpoint.host(), &failures);
        self.endpoint.call(&headers, self.body(&request).to_string(), decoder, &failures)
    }

    fn shown_name(&self) -> &str {
        &self.config.model
    }
}

fn message(message: &ModelMessage, host: &str) -> Object {
    match message {
        ModelMessage::User(text) => object! { "role": "user", "content": text },
        ModelMessage::Tool { call_id, content, failed, .. } => {
            let content = if *failed { format!("The tool failed: {content}") } else { content.clone() };
            object! { "role": "tool", "tool_call_id": call_id, "content": content }
        }
        ModelMessage::Assistant { text, calls, provider_state } => {
            let mut o = object! { "role": "assistant", "content": text };
            if calls.is_empty() {
                return o;
            }
            if text.is_empty() {
                o.insert("content", Value::Null);
            }
            let calls = calls.iter().map(|c| {
                let function = object! { "name": &c.name, "arguments": &c.arguments };
                object! { "id": &c.id, "type": "function", "function": function }
            });
            o.insert("tool_calls", calls.collect::<Vec<_>>());
            // Reasoning goes back to the host it came from, and only with calls:
            // there it is demanded, elsewhere some refuse it.
            if let Some(state) = provider_state.as_ref().filter(|s| s.str("host") == Some(host))
                && let (Some(field), Some(reasoning)) = (state.str("field"), state.str("text"))
            {
                o.insert(field, reasoning);
            }
            o
        }
    }
}

/// Events of the protocol to ours.
#[derive(Debug)]
pub(super) struct Decoder {
    failures: Arc<Failures>,
    host: String,
    calls: Vec<Call>,
    reasoning: Option<(&'static str, String)>,
    usage: Option<ModelUsage>,
    finished: bool,
    over: bool,
}

/// A call that is arriving.
#[derive(Debug, Default)]
struct Call {
    id: Option<String>,
    index: Option<u64>,
    name: String,
    /// Arguments that came before the name.
    held: String,
    started: bool,
}

impl Decoder {
    pub(super) fn new(host: &str, failures: &Arc<Failures>) -> Decoder {
        Decoder {
            failures: Arc::clone(failures),
            host: host.to_owned(),
            calls: Vec::new(),
            reasoning: None,
            usage: None,
            finished: false,
            over: false,
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) {
        for field in ["reasoning_content", "reasoning"] {
            let text = delta.get(field).and_then(Value::as_str).unwrap_or("");
            // Some send both names with the same text: the first one seen counts.
            if text.is_empty() || self.reasoning.as_ref().is_some_and(|(seen, _)| *seen != field) {
                continue;
            }
            self.reasoning.get_or_insert_with(|| (field, String::new())).1.push_str(text);
            out.push(ModelEvent::Thinking(text.to_owned()));
        }
        let text = match delta.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(|p| p.get("text").and_then(Value::as_str)).collect()
            }
            _ => String::new(),
        };
        if !text.is_empty() {
            out.push(ModelEvent::Text(text));
        }
        for call in delta.get("tool_calls").and_then(Value::as_array).unwrap_or_default() {
            self.call(call, out);
        }
    }

    fn call(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) {
        let text = |v: Option<&Value>| v.and_then(Value::as_str).unwrap_or("").to_owned();
        let function = delta.get("function");
        let id = text(delta.get("id"));
        let name = text(function.and_then(|f| f.get("name")));
        let index = delta.get("index").and_then(Value::as_u64);
        let arguments = match function.and_then(|f| f.get("arguments")) {
            Some(Value::String(text)) => text.clone(),
            Some(value @ Value::Object(_)) => value.to_string(),
            _ => String::new(),
        };
        let at = self.place(&id, &name, index);
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.name.is_empty() {
            call.name = name;
        }
        call.held.push_str(&arguments);
        let key = u32::try_from(at).unwrap_or(u32::MAX);
        if !call.name.is_empty() {
            call.flow(key, out);
        }
    }

    /// Which call a delta belongs to; opens a new one if to none so far.
    fn place(&mut self, id: &str, name: &str, index: Option<u64>) -> usize {
        let known = if id.is_empty() {
            // By index; if that is unknown too, a nameless piece goes to the latest.
            let by_index = self.calls.iter().rposition(|c| index.is_some() && c.index == index);
            let latest = || self.calls.len().checked_sub(1);
            match by_index {
                Some(at) => self
                    .calls
                    .get(at)
                    .filter(|c| name.is_empty() || c.name == name || c.name.is_empty())
                    .map(|_| at),
                None if name.is_empty() => latest(),
                None => None,
            }
        } else {
            self.calls.iter().rposition(|c| c.id.as_deref() == Some(id))
        };
        known.unwrap_or_else(|| {
            let id = (!id.is_empty()).then(|| id.to_owned());
            self.calls.push(Call { id, index, ..Call::default() });
            self.calls.len() - 1
        })
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) {
        self.over = true;
        for (at, call) in self.calls.iter_mut().enumerate() {
            call.flow(u32::try_from(at).unwrap_or(u32::MAX), out);
        }
        if let Some((field, text)) = self.reasoning.take() {
            let state = object! { "host": self.host.as_str(), "field": field, "text": text };
            out.push(ModelEvent::ProviderState(state));
        }
        out.push(ModelEvent::End { usage: self.usage });
    }

    fn fail(&mut self, error: &Value, out: &mut Vec<ModelEvent>) {
        self.over = true;
        out.push(ModelEvent::Failed(self.failures.of_error(error, None)));
    }
}

impl Call {
    /// Tells the start once, then what is held.
    fn flow(&mut self, key: u32, out: &mut Vec<ModelEvent>) {
        if !self.started {
            self.started = true;
            out.push(ModelEvent::CallStart { key, id: self.id.clone(), name: self.name.clone() });
        }
        if !self.held.is_empty() {
            out.push(ModelEvent::CallArguments { key, delta: std::mem::take(&mut self.held) });
        }
    }
}

impl Decode for Decoder {
    fn frame(&mut self, event: &str, data: &str, out: &mut Vec<ModelEvent>) {
        let data = data.trim();
        // Keep-alives: empty, or a comment that went astray into `data`.
        if data.is_empty() || data.starts_with(':') {
            return;
        }
        if data == "[DONE]" {
            return self.end(out);
        }
        let Ok(value) = mindset_core::json::parse(data) else {
            if matches!(event, "message" | "error") {
                self.over = true;
                out.push(ModelEvent::Failed(self.failures.not_json()));
            }
            return;
        };
        if let Some(error) = value.get("error").filter(|e| !e.is_null()) {
            return self.fail(error, out);
        }
        if event == "error" {
            return self.fail(&value, out);
        }
        if let Some(usage) = value.get("usage").filter(|u| u.is_object()) {
            let count = |key| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
            self.usage =
                Some(ModelUsage { input: count("prompt_tokens"), output: count("completion_tokens") });
        }
        let Some(choice) = value.get("choices").and_then(Value::as_array).and_then(<[Value]>::first) else {
            return;
        };
        if let Some(delta) = choice.get("delta") {
            self.delta(delta, out);
        }
        self.finished |= choice.get("finish_reason").is_some_and(|r| !r.is_null());
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

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
