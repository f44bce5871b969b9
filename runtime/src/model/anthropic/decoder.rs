//! Events of the Messages API to ours.

use std::sync::Arc;

use mindset_core::json::{self, Object, Value};
use mindset_core::object;
use mindset_core::turn::{ModelEvent, ModelUsage};

use super::super::failures::{Failures, error_in};
use super::super::http::{Decode, is_half, is_keep_alive};

/// Reads one answer.
#[derive(Debug)]
pub(in super::super) struct Decoder {
    failures: Arc<Failures>,
    host: String,
    calls: Vec<Call>,
    /// Thinking blocks with their signatures, to be sent back as they are.
    thinking: Vec<(Option<u64>, Object)>,
    usage: Option<ModelUsage>,
    /// Why the provider stopped, once it said so.
    stopped: Option<String>,
    over: bool,
}

/// A call that is arriving.
#[derive(Debug)]
struct Call {
    /// Index of its content block.
    index: Option<u64>,
    /// Arguments that came whole with the start; pieces behind it count instead.
    whole: Option<String>,
    /// Arguments came.
    given: bool,
}

impl Decoder {
    pub(super) fn new(host: &str, failures: &Arc<Failures>) -> Decoder {
        Decoder {
            failures: Arc::clone(failures),
            host: host.to_owned(),
            calls: Vec::new(),
            thinking: Vec::new(),
            usage: None,
            stopped: None,
            over: false,
        }
    }

    fn block_start(&mut self, index: Option<u64>, block: &Object, out: &mut Vec<ModelEvent>) {
        self.settle(out);
        match block.str("type").unwrap_or("") {
            "text" => text(block.str("text"), ModelEvent::Text, out),
            "tool_use" => {
                let id = block.str("id").filter(|id| !id.is_empty()).map(str::to_owned);
                let name = block.str("name").unwrap_or("").to_owned();
                out.push(ModelEvent::CallStart { key: key(self.calls.len()), id, name });
                // Usually empty here and streamed later; some gateways send it whole, and
                // some as text.
                let whole = match block.get("input") {
                    None | Some(Value::Null) => None,
                    Some(Value::Object(input)) if input.is_empty() => None,
                    Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
                    Some(other) => Some(other.text()),
                };
                self.calls.push(Call { index, whole, given: false });
            }
            "thinking" | "redacted_thinking" => {
                text(block.str("thinking"), ModelEvent::Thinking, out);
                self.thinking.push((index, block.clone()));
            }
            _ => {}
        }
    }

    fn block_delta(&mut self, index: Option<u64>, delta: &Object, out: &mut Vec<ModelEvent>) {
        match delta.str("type").unwrap_or("") {
            "text_delta" => text(delta.str("text"), ModelEvent::Text, out),
            "input_json_delta" => self.arguments(index, delta.str("partial_json").unwrap_or(""), out),
            kind @ ("thinking_delta" | "signature_delta") => {
                let field = if kind == "thinking_delta" { "thinking" } else { "signature" };
                let piece = delta.str(field).unwrap_or("");
                if field == "thinking" {
                    text(Some(piece), ModelEvent::Thinking, out);
                }
                let last = self.thinking.len().saturating_sub(1);
                let at = self.thinking.iter().rposition(|(i, _)| *i == index).unwrap_or(last);
                if let Some((_, block)) = self.thinking.get_mut(at) {
                    let so_far = format!("{}{piece}", block.str(field).unwrap_or(""));
                    block.insert(field, so_far);
                }
            }
            _ => {}
        }
    }

    /// A piece of arguments goes to the call with its index, or the latest if there is
    /// none: dropping it would run the tool with something else.
    fn arguments(&mut self, index: Option<u64>, piece: &str, out: &mut Vec<ModelEvent>) {
        let last = self.calls.len().saturating_sub(1);
        let at = self.calls.iter().rposition(|call| call.index == index).unwrap_or(last);
        let Some(call) = self.calls.get_mut(at).filter(|_| !piece.is_empty()) else { return };
        call.whole = None;
        call.given |= !piece.trim().is_empty();
        out.push(ModelEvent::CallArguments { key: key(at), delta: piece.to_owned() });
    }

    /// Tells arguments that came whole and were not followed by pieces.
    fn settle(&mut self, out: &mut Vec<ModelEvent>) {
        for (at, call) in self.calls.iter_mut().enumerate() {
            if let Some(delta) = call.whole.take() {
                call.given = true;
                out.push(ModelEvent::CallArguments { key: key(at), delta });
            }
        }
    }

    fn count(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        let read = |key| usage.get(key).and_then(Value::as_u64);
        let sum = self.usage.get_or_insert_default();
        let input = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        if read("input_tokens").is_some() {
            sum.input = input.iter().filter_map(|key| read(key)).sum();
        }
        sum.output = read("output_tokens").unwrap_or(sum.output);
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) {
        self.over = true;
        self.settle(out);
        let bare = self.calls.last().is_some_and(|call| !call.given);
        if bare && self.stopped.as_deref() == Some("max_tokens") {
            // No arguments mean `{}`. Here they were still to come: half an object makes
            // the turn tell the model so, instead of running the tool with nothing.
            out.push(ModelEvent::CallArguments { key: key(self.calls.len() - 1), delta: "{".to_owned() });
        }
        if !self.thinking.is_empty() {
            let blocks: Vec<Object> = self.thinking.drain(..).map(|(_, block)| block).collect();
            let state = object! { "host": self.host.as_str(), "anthropic": blocks };
            out.push(ModelEvent::ProviderState(state));
        }
        out.push(ModelEvent::End { usage: self.usage });
    }

    fn fail(&mut self, error: &Value, out: &mut Vec<ModelEvent>) {
        self.over = true;
        out.push(ModelEvent::Failed(self.failures.of_error(error, None)));
    }

    fn message_delta(&mut self, value: &Value) {
        self.count(value.get("usage"));
        if let Some(reason) = value.get("delta").and_then(|delta| delta.str("stop_reason")) {
            self.stopped = Some(reason.to_owned());
        }
    }
}

fn key(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn text(piece: Option<&str>, event: fn(String) -> ModelEvent, out: &mut Vec<ModelEvent>) {
    out.extend(piece.filter(|p| !p.is_empty()).map(|p| event(p.to_owned())));
}

/// Whether an event's name is one of the protocol's, so that its data must be JSON.
fn is_known(event: &str) -> bool {
    matches!(event, "message" | "error")
        || event.starts_with("message_")
        || event.starts_with("content_block_")
}

impl Decode for Decoder {
    fn frame(&mut self, event: &str, data: &str, out: &mut Vec<ModelEvent>) {
        let data = data.trim();
        if is_keep_alive(data) {
            return;
        }
        if data == "[DONE]" {
            // Another protocol's end: only behind this one's own word.
            if self.stopped.is_some() {
                self.end(out);
            }
            return;
        }
        let Ok(value) = json::parse(data) else {
            if is_known(event) || is_half(data) {
                self.over = true;
                out.push(ModelEvent::Failed(self.failures.not_json()));
            }
            return;
        };
        let kind = value.str("type").unwrap_or(event);
        let answers = kind.starts_with("message_") || kind.starts_with("content_block_");
        if let Some(error) = error_in(event, &value, answers) {
            return self.fail(error, out);
        }
        let index = value.get("index").and_then(Value::as_u64);
        match kind {
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
            "content_block_stop" => self.settle(out),
            "message_delta" => self.message_delta(&value),
            "message_stop" => self.end(out),
            // ping, and what may come later
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
