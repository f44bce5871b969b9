//! Anthropic Messages.

use std::sync::Arc;

use mindset_core::json::{self, Object, Value};
use mindset_core::object;
use mindset_core::turn::{ModelEvent, ModelMessage, ModelRequest, ModelUsage};

use super::failures::Failures;
use super::http::{Decode, Endpoint};
use super::{Answer, Model};
use crate::config::ModelConfig;

/// The longest answer unless configured; the provider demands a number.
const MAX_TOKENS: u64 = 4096;

/// A model behind the Messages API.
#[derive(Debug)]
pub(super) struct Anthropic {
    config: ModelConfig,
    endpoint: Endpoint,
}

impl Anthropic {
    pub(super) fn new(config: ModelConfig) -> Anthropic {
        let address = config.base_url.split(['?', '#']).next().unwrap_or("");
        let path = if address.trim_end_matches('/').ends_with("/v1") { "/messages" } else { "/v1/messages" };
        Anthropic { endpoint: Endpoint::new(&config, path), config }
    }

    fn body(&self, request: &ModelRequest) -> Object {
        let mut body = object! {
            "model": self.config.model.as_str(), "max_tokens": self.config.max_tokens.unwrap_or(MAX_TOKENS),
            "messages": messages(&request.messages), "stream": true,
        };
        if !request.system.is_empty() {
            body.insert("system", &request.system);
        }
        let tools: Vec<Object> = request
            .tools
            .iter()
            .map(|t| {
                object! { "name": &t.name, "description": &t.description, "input_schema": t.parameters.flat() }
            })
            .collect();
        if !tools.is_empty() {
            body.insert("tools", tools);
        }
        body
    }
}

impl Model for Anthropic {
    fn call(&self, request: ModelRequest) -> Answer {
        let mut headers = vec![("anthropic-version", "2023-06-01".to_owned())];
        headers.extend(self.config.api_key.as_ref().map(|k| ("x-api-key", k.expose().to_owned())));
        let failures = self.endpoint.failures(&request);
        self.endpoint.call(&headers, self.body(&request).to_string(), Decoder::new(&failures), &failures)
    }

    fn shown_name(&self) -> &str {
        &self.config.model
    }
}

/// Messages with blocks. Neighbours of one role are one message here, because the
/// protocol wants the roles to take turns and all results of a step together.
fn messages(messages: &[ModelMessage]) -> Vec<Object> {
    let mut grouped: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = blocks(message);
        match grouped.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            _ => grouped.push((role, blocks)),
        }
    }
    grouped.retain(|(_, blocks)| !blocks.is_empty());
    grouped.into_iter().map(|(role, blocks)| object! { "role": role, "content": blocks }).collect()
}

fn blocks(message: &ModelMessage) -> (&'static str, Vec<Value>) {
    let text_block = |text: &str| {
        // The protocol refuses blocks of nothing.
        (!text.trim().is_empty()).then(|| Value::from(object! { "type": "text", "text": text }))
    };
    match message {
        ModelMessage::User(text) => ("user", text_block(text).into_iter().collect()),
        ModelMessage::Tool { call_id, content, failed, .. } => {
            let mut block = object! { "type": "tool_result", "tool_use_id": call_id, "content": content };
            if *failed {
                block.insert("is_error", true);
            }
            ("user", vec![block.into()])
        }
        ModelMessage::Assistant { text, calls, provider_state } => {
            let thinking = provider_state.as_ref().and_then(|s| s.get("anthropic")).and_then(Value::as_array);
            let mut blocks = thinking.unwrap_or_default().to_vec();
            blocks.extend(text_block(text));
            blocks.extend(calls.iter().map(|c| {
                let input = json::parse(&c.arguments).ok().filter(Value::is_object);
                Value::from(object! {
                    "type": "tool_use", "id": &c.id, "name": &c.name,
                    "input": input.unwrap_or_else(|| Object::new().into()),
                })
            }));
            ("assistant", blocks)
        }
    }
}

/// Events of the protocol to ours.
#[derive(Debug)]
pub(super) struct Decoder {
    failures: Arc<Failures>,
    /// Index of the content block, and the key of the call it is.
    calls: Vec<(u64, u32)>,
    /// Thinking blocks with their signatures, to be sent back as they are.
    thinking: Vec<(u64, Object)>,
    usage: ModelUsage,
    over: bool,
}

impl Decoder {
    pub(super) fn new(failures: &Arc<Failures>) -> Decoder {
        Decoder {
            failures: Arc::clone(failures),
            calls: Vec::new(),
            thinking: Vec::new(),
            usage: ModelUsage::default(),
            over: false,
        }
    }

    fn block_start(&mut self, index: u64, block: &Object, out: &mut Vec<ModelEvent>) {
        match block.str("type").unwrap_or("") {
            "text" => text(block.str("text"), ModelEvent::Text, out),
            "tool_use" => {
                let key = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
                self.calls.push((index, key));
                let id = block.str("id").filter(|id| !id.is_empty()).map(str::to_owned);
                out.push(ModelEvent::CallStart { key, id, name: block.str("name").unwrap_or("").to_owned() });
                // Usually empty here and streamed later; some gateways send it whole.
                let whole = block.get("input").and_then(Value::as_object).filter(|i| !i.is_empty());
                if let Some(input) = whole {
                    out.push(ModelEvent::CallArguments { key, delta: input.to_string() });
                }
            }
            "thinking" | "redacted_thinking" => {
                text(block.str("thinking"), ModelEvent::Thinking, out);
                self.thinking.push((index, block.clone()));
            }
            _ => {}
        }
    }

    fn block_delta(&mut self, index: u64, delta: &Object, out: &mut Vec<ModelEvent>) {
        match delta.str("type").unwrap_or("") {
            "text_delta" => text(delta.str("text"), ModelEvent::Text, out),
            "input_json_delta" => {
                let key = self.calls.iter().rev().find(|(i, _)| *i == index).map(|(_, key)| *key);
                if let (Some(key), Some(piece)) = (key, delta.str("partial_json").filter(|p| !p.is_empty())) {
                    out.push(ModelEvent::CallArguments { key, delta: piece.to_owned() });
                }
            }
            kind @ ("thinking_delta" | "signature_delta") => {
                let field = if kind == "thinking_delta" { "thinking" } else { "signature" };
                let piece = delta.str(field).unwrap_or("");
                if field == "thinking" {
                    text(Some(piece), ModelEvent::Thinking, out);
                }
                if let Some((_, block)) = self.thinking.iter_mut().rev().find(|(i, _)| *i == index) {
                    let so_far = format!("{}{piece}", block.str(field).unwrap_or(""));
                    block.insert(field, so_far);
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, usage: Option<&Value>) {
        let read = |key| usage.and_then(|u| u.get(key)).and_then(Value::as_u64);
        let input = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        if read("input_tokens").is_some() {
            self.usage.input = input.iter().filter_map(|key| read(key)).sum();
        }
        self.usage.output = read("output_tokens").unwrap_or(self.usage.output);
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) {
        self.over = true;
        if !self.thinking.is_empty() {
            let blocks: Vec<Object> = self.thinking.drain(..).map(|(_, block)| block).collect();
            out.push(ModelEvent::ProviderState(object! { "anthropic": blocks }));
        }
        out.push(ModelEvent::End { usage: Some(self.usage) });
    }

    fn fail(&mut self, error: &Value, out: &mut Vec<ModelEvent>) {
        self.over = true;
        out.push(ModelEvent::Failed(self.failures.of_error(error, None)));
    }
}

fn text(piece: Option<&str>, event: fn(String) -> ModelEvent, out: &mut Vec<ModelEvent>) {
    out.extend(piece.filter(|p| !p.is_empty()).map(|p| event(p.to_owned())));
}

impl Decode for Decoder {
    fn frame(&mut self, event: &str, data: &str, out: &mut Vec<ModelEvent>) {
        let data = data.trim();
        if data.is_empty() || data.starts_with(':') {
            return;
        }
        let Ok(value) = json::parse(data) else {
            if matches!(event, "ping" | "message") && data == "[DONE]" {
                return;
            }
            self.over = true;
            out.push(ModelEvent::Failed(self.failures.not_json()));
            return;
        };
        let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
        match value.get("type").and_then(Value::as_str).unwrap_or(event) {
            "message_start" => self.count(value.get("message").and_then(|m| m.get("usage"))),
            "content_block_start" => {
                if let Some(block) = value.get("content_block").and_then(Value::as_object) {
                    self.block_start(index, block, out);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = value.get("delta").and_then(Value::as_object) {
                    self.block_delta(index, delta, out);
                }
            }
            "message_delta" => self.count(value.get("usage")),
            "message_stop" => self.end(out),
            "error" => self.fail(value.get("error").unwrap_or(&value), out),
            // ping, content_block_stop, and what may come later
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) {
        self.over = true;
        out.push(ModelEvent::Failed(self.failures.cut_off()));
    }
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
