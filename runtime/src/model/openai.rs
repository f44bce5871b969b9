//! OpenAI-compatible Chat Completions, at any base URL.

mod calls;
mod decoder;

use mindset_core::json::{Object, Value};
use mindset_core::object;
use mindset_core::turn::{ModelMessage, ModelRequest};

use self::decoder::Decoder;
use super::http::Endpoint;
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

    fn provider(&self) -> &'static str {
        "openai"
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
            // What a provider wants back goes to the host it came from, and only with calls:
            // there it is demanded, elsewhere some refuse it.
            let state = provider_state.as_ref().filter(|s| s.str("host") == Some(host));
            let extras = state.and_then(|s| s.get("extras")).and_then(Value::as_array).unwrap_or_default();
            let calls = calls.iter().enumerate().map(|(at, c)| {
                let function = object! { "name": &c.name, "arguments": &c.arguments };
                let mut call = object! { "id": &c.id, "type": "function", "function": function };
                call.insert_some("extra_content", extras.get(at).filter(|e| !e.is_null()).cloned());
                call
            });
            o.insert("tool_calls", calls.collect::<Vec<_>>());
            let Some(state) = state else { return o };
            if let (Some(field), Some(reasoning)) = (state.str("field"), state.str("text")) {
                o.insert(field, reasoning);
            }
            o.insert_some("reasoning_details", state.get("details").cloned());
            o
        }
    }
}

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
