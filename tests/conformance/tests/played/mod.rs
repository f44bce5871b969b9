//! A stream played to its end, and the messages it leaves: the smallest assembler
//! that the conformance streams need.

use mindset_core::agui::{Body, DecodeError, Event, Order, TextRole, decode_event, encode_event};
use mindset_core::json::{Object, Value};
use mindset_core::object;

/// What came of a stream.
#[derive(Default)]
pub(crate) struct Played {
    /// What ended it early.
    pub(crate) error: Option<String>,
    pub(crate) warnings: Vec<String>,
    /// Accepted events, chunks expanded.
    pub(crate) events: Vec<Event>,
    pub(crate) messages: Vec<Object>,
    /// Whether the terminal event was accepted.
    pub(crate) ended: bool,
}

impl Played {
    pub(crate) fn new(stream: &[Value]) -> Played {
        let mut played = Played::default();
        let mut order = Order::new();
        for value in stream {
            let event = match decode_event(value) {
                Ok((event, warnings)) => {
                    played.warnings.extend(warnings);
                    event
                }
                Err(DecodeError::Malformed(error)) => {
                    played.error = Some(error);
                    return played;
                }
                Err(unknown) => {
                    played.warnings.push(unknown.to_string());
                    continue;
                }
            };
            match order.accept(event) {
                Ok(events) => {
                    for event in events {
                        played.apply(&event);
                        played.events.push(event);
                    }
                }
                Err(violation) => {
                    played.error = Some(violation.message);
                    return played;
                }
            }
        }
        played.ended = order.is_ended();
        played
    }

    pub(crate) fn types(&self) -> Vec<&'static str> {
        self.events.iter().map(|e| e.body.type_name()).collect()
    }

    /// What stands at `2.delta.0.op` in the accepted events, as we would send them.
    pub(crate) fn event_at(&self, path: &str) -> Option<&'static Value> {
        let (index, path) = path.split_once('.').unwrap();
        let event = encode_event(&self.events[index.parse::<usize>().unwrap()]);
        let mut at: &'static Value = Box::leak(Box::new(event));
        for step in path.split('.') {
            at = match at {
                Value::Array(items) => items.get(step.parse::<usize>().unwrap())?,
                other => other.get(step)?,
            };
        }
        Some(at)
    }

    fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::TextMessageStart { message_id, role, .. } => self.message(message_id, role.as_str()),
            Body::ReasoningMessageStart { message_id } => self.message(message_id, "reasoning"),
            Body::TextMessageContent { message_id, delta }
            | Body::ReasoningMessageContent { message_id, delta } => {
                let message = self.messages.iter_mut().find(|m| m.str("id") == Some(message_id)).unwrap();
                let text = [message.str("content").unwrap_or_default(), delta].concat();
                message.insert("content", text);
            }
            Body::ToolCallStart { tool_call_id, parent_message_id, .. } => {
                self.message(
                    parent_message_id.as_ref().unwrap_or(tool_call_id),
                    TextRole::Assistant.as_str(),
                );
            }
            Body::ToolCallResult { message_id, tool_call_id, content } => {
                self.messages.push(object! {
                    "id": message_id, "role": "tool", "toolCallId": tool_call_id, "content": content.clone(),
                });
            }
            Body::MessagesSnapshot { .. } => {
                let encoded = encode_event(event);
                let messages = encoded.get("messages").unwrap().as_array().unwrap();
                self.messages = messages.iter().map(|m| m.as_object().unwrap().clone()).collect();
            }
            _ => {}
        }
    }

    /// A message, unless there is one of this id.
    fn message(&mut self, id: &str, role: &str) {
        if self.messages.iter().all(|m| m.str("id") != Some(id)) {
            self.messages.push(object! { "id": id, "role": role });
        }
    }
}
