//! Messages, roles and outcomes on the wire: the types whose shape depends on one
//! of their members.

use super::fields::{Field, Item, Record};
use super::{Content, Message, Outcome, Role, TextRole, ToolCall};
use crate::json::{Object, Value};

impl Item for Message {
    fn take(value: &Value) -> Option<Message> {
        let o = value.as_object()?;
        let role = Role::parse(o.str("role")?)?;
        let mut message = Message::text(o.str("id")?, role, "");
        message.content = None;
        message.metadata = Field::read(o, "metadata");
        match o.get("content") {
            Some(Value::Object(content)) => message.activity = Some(content.clone()),
            Some(Value::Array(parts)) => message.content = Some(Content::Parts(parts.clone())),
            content => {
                message.content = content.and_then(Value::as_str).map(|text| Content::Text(text.to_owned()));
            }
        }
        match role {
            Role::Activity => {
                message.activity_type = Field::read(o, "activityType");
                return Some(message);
            }
            Role::Tool => {
                message.tool_call_id = Field::read(o, "toolCallId");
                message.error = Field::read(o, "error");
            }
            Role::Assistant => message.tool_calls = Field::read(o, "toolCalls"),
            _ => {}
        }
        if !matches!(role, Role::Tool | Role::Reasoning) {
            message.name = Field::read(o, "name");
        }
        message.encrypted_value = Field::read(o, "encryptedValue");
        Some(message)
    }

    fn give(&self) -> Value {
        let mut o = Object::new();
        self.id.write(&mut o, "id");
        o.insert("role", self.role.as_str());
        match &self.content {
            Some(Content::Text(text)) => o.insert("content", text),
            Some(Content::Parts(parts)) => o.insert("content", parts.clone()),
            None => self.activity.write(&mut o, "content"),
        }
        self.activity_type.write(&mut o, "activityType");
        self.name.write(&mut o, "name");
        self.tool_calls.write(&mut o, "toolCalls");
        self.tool_call_id.write(&mut o, "toolCallId");
        self.error.write(&mut o, "error");
        self.encrypted_value.write(&mut o, "encryptedValue");
        self.metadata.write(&mut o, "metadata");
        Value::Object(o)
    }
}

impl Record for ToolCall {
    fn read(o: &Object) -> ToolCall {
        let function: Object = Field::read(o, "function");
        ToolCall {
            id: Field::read(o, "id"),
            name: Field::read(&function, "name"),
            arguments: Field::read(&function, "arguments"),
        }
    }

    fn write(&self, o: &mut Object) {
        self.id.write(o, "id");
        o.insert("type", "function");
        o.insert("function", crate::object! { "name": &self.name, "arguments": &self.arguments });
    }
}

impl Field for Option<TextRole> {
    fn read(o: &Object, key: &str) -> Option<TextRole> {
        match o.str(key)? {
            "developer" => Some(TextRole::Developer),
            "system" => Some(TextRole::System),
            "assistant" => Some(TextRole::Assistant),
            "user" => Some(TextRole::User),
            _ => None,
        }
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, self.map(TextRole::as_str));
    }
}

impl Field for TextRole {
    fn read(o: &Object, key: &str) -> TextRole {
        Option::read(o, key).unwrap_or_default()
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert(key, self.as_str());
    }
}

impl Field for Option<Outcome> {
    fn read(o: &Object, key: &str) -> Option<Outcome> {
        let o = o.get(key)?.as_object()?;
        match o.str("type")? {
            "success" => {
                Some(Outcome::Success { pending_tool_call_ids: Field::read(o, "pendingToolCallIds") })
            }
            "interrupt" => Some(Outcome::Interrupt { interrupts: Field::read(o, "interrupts") }),
            "cancelled" => Some(Outcome::Cancelled),
            _ => None,
        }
    }

    fn write(&self, o: &mut Object, key: &str) {
        let mut inner = Object::new();
        match self {
            None => return,
            Some(Outcome::Success { pending_tool_call_ids }) => {
                inner.insert("type", "success");
                pending_tool_call_ids.write(&mut inner, "pendingToolCallIds");
            }
            Some(Outcome::Interrupt { interrupts }) => {
                inner.insert("type", "interrupt");
                interrupts.write(&mut inner, "interrupts");
            }
            Some(Outcome::Cancelled) => inner.insert("type", "cancelled"),
        }
        o.insert(key, inner);
    }
}
