//! Anthropic Messages.

mod decoder;

use std::collections::BTreeMap;

use mindset_core::json::{self, Object, Value};
use mindset_core::object;
use mindset_core::turn::{ModelMessage, ModelRequest};

use self::decoder::Decoder;
use super::http::Endpoint;
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
            "messages": messages(&request.messages, self.endpoint.host()), "stream": true,
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
        let decoder = Decoder::new(self.endpoint.host(), &failures);
        self.endpoint.call(&headers, self.body(&request).to_string(), decoder, &failures)
    }

    fn shown_name(&self) -> &str {
        &self.config.model
    }

    fn provider(&self) -> &'static str {
        "anthropic"
    }
}

/// Messages with blocks. Neighbours of one role are one message here, because the
/// protocol wants the roles to take turns and all results of a step together.
fn messages(messages: &[ModelMessage], host: &str) -> Vec<Object> {
    let mut grouped: Vec<(&str, Vec<Value>)> = Vec::new();
    let ids = legal_ids(messages);
    for message in messages {
        let (role, blocks) = blocks(message, host, &ids);
        match grouped.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            _ => grouped.push((role, blocks)),
        }
    }
    grouped.retain(|(_, blocks)| !blocks.is_empty());
    grouped.into_iter().map(|(role, blocks)| object! { "role": role, "content": blocks }).collect()
}

/// The ids of calls as the protocol takes them: letters, digits, `_` and `-`. Calls of
/// an earlier model can have others.
fn legal_ids(messages: &[ModelMessage]) -> BTreeMap<&str, String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let calls = messages.iter().flat_map(|message| match message {
        ModelMessage::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    let mut ids = BTreeMap::new();
    for (at, call) in calls.enumerate() {
        if !call.id.chars().all(legal) {
            let id: String = call.id.chars().map(|c| if legal(c) { c } else { '_' }).collect();
            // The number keeps two apart that differ in nothing else.
            ids.insert(call.id.as_str(), format!("{id}_{at}"));
        }
    }
    ids
}

fn blocks(message: &ModelMessage, host: &str, ids: &BTreeMap<&str, String>) -> (&'static str, Vec<Value>) {
    let legal = |id: &String| ids.get(id.as_str()).unwrap_or(id).clone();
    let text_block = |text: &str| {
        // The protocol refuses blocks of nothing.
        (!text.trim().is_empty()).then(|| Value::from(object! { "type": "text", "text": text }))
    };
    match message {
        ModelMessage::User(text) => ("user", text_block(text).into_iter().collect()),
        ModelMessage::Tool { call_id, content, failed, .. } => {
            let mut block =
                object! { "type": "tool_result", "tool_use_id": legal(call_id), "content": content };
            if *failed {
                block.insert("is_error", true);
            }
            ("user", vec![block.into()])
        }
        ModelMessage::Assistant { text, calls, provider_state } => {
            // Signatures of another host would be refused.
            let own = |state: &&Object| state.str("host").is_none_or(|of| of == host);
            let state = provider_state.as_ref().filter(own);
            let thinking = state.and_then(|s| s.get("anthropic")).and_then(Value::as_array);
            let mut blocks = thinking.unwrap_or_default().to_vec();
            blocks.extend(text_block(text));
            blocks.extend(calls.iter().map(|c| {
                let input = json::parse(&c.arguments).ok().filter(Value::is_object);
                Value::from(object! {
                    "type": "tool_use", "id": legal(&c.id), "name": &c.name,
                    "input": input.unwrap_or_else(|| Object::new().into()),
                })
            }));
            ("assistant", blocks)
        }
    }
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
