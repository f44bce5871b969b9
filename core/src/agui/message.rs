//! Messages, roles and outcomes on the wire: the unions, whose members a newer
//! peer may add to. One that nobody knows is left out with a warning, in a list
//! as well as in an optional place.

use super::fields::{Field, Fields, Item, Notes, Record};
use super::{Content, Message, Outcome, Role, TextRole, ToolCall};
use crate::json::{Object, Value};

impl Item for Message {
    fn take(value: &Value, at: String, notes: &mut Notes) -> Option<Message> {
        let Value::Object(object) = value else {
            notes.fail(&at, "an object", value.kind());
            return None;
        };
        let mut f = Fields { object, path: at, notes };
        let Some(role) = object.str("role") else {
            f.fail("role", "a string");
            return None;
        };
        let Some(role) = Role::parse(role) else {
            f.notes.ignore(&f.path, "a message of an unknown role");
            return None;
        };
        Some(read_message(role, &mut f))
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

fn read_message(role: Role, f: &mut Fields<'_>) -> Message {
    let mut message = Message::text(String::read(f, "id"), role, "");
    message.content = None;
    message.metadata = Field::read(f, "metadata");
    if role == Role::Activity {
        message.activity_type = Some(Field::read(f, "activityType"));
        message.activity = Some(Field::read(f, "content"));
        return message;
    }
    message.content = match f.get("content") {
        None if role == Role::Assistant => None,
        Some(Value::Array(_)) if matches!(role, Role::User | Role::Tool) => {
            Some(Content::Parts(read_parts(f, "content")))
        }
        _ => Some(Content::Text(Field::read(f, "content"))),
    };
    message.encrypted_value = Field::read(f, "encryptedValue");
    match role {
        Role::Tool => {
            message.tool_call_id = Some(Field::read(f, "toolCallId"));
            message.error = Field::read(f, "error");
        }
        Role::Reasoning => {}
        _ => message.name = Field::read(f, "name"),
    }
    if role == Role::Assistant {
        message.tool_calls = Field::read(f, "toolCalls");
    }
    message
}

/// The content parts in the list `key`, those of unknown kinds left out.
pub(super) fn read_parts(f: &mut Fields<'_>, key: &str) -> Vec<Value> {
    if !matches!(f.get(key), Some(Value::Array(_))) {
        f.fail(key, "a string or an array");
    }
    let parts: Vec<Part> = Field::read(f, key);
    parts.into_iter().map(|part| part.0).collect()
}

struct Part(Value);

impl Item for Part {
    fn take(value: &Value, at: String, notes: &mut Notes) -> Option<Part> {
        let nothing = Object::new();
        let object = value.as_object().unwrap_or(&nothing);
        let mut f = Fields { object, path: at, notes };
        match String::read(&mut f, "type").as_str() {
            "text" => {
                String::read(&mut f, "text");
            }
            "image" | "audio" | "video" | "document" => {
                let object = Object::read(&mut f, "source");
                let path = f.at("source");
                let mut source = Fields { object: &object, path, notes: f.notes };
                String::read(&mut source, "value");
            }
            _ => {
                f.notes.ignore(&f.path, "a content part of an unknown kind");
                return None;
            }
        }
        Some(Part(value.clone()))
    }

    fn give(&self) -> Value {
        self.0.clone()
    }
}

impl Record for ToolCall {
    fn read(f: &mut Fields<'_>) -> ToolCall {
        let id = Field::read(f, "id");
        let object = Object::read(f, "function");
        let path = f.at("function");
        let mut function = Fields { object: &object, path, notes: f.notes };
        ToolCall {
            id,
            name: Field::read(&mut function, "name"),
            arguments: Field::read(&mut function, "arguments"),
        }
    }

    fn write(&self, o: &mut Object) {
        self.id.write(o, "id");
        o.insert("type", "function");
        o.insert("function", crate::object! { "name": &self.name, "arguments": &self.arguments });
    }
}

impl Field for Option<TextRole> {
    fn read(f: &mut Fields<'_>, key: &str) -> Option<TextRole> {
        let text = Option::<String>::read(f, key)?;
        let role = match text.as_str() {
            "developer" => TextRole::Developer,
            "system" => TextRole::System,
            "assistant" => TextRole::Assistant,
            "user" => TextRole::User,
            _ => {
                f.fail(key, "developer, system, assistant or user");
                return None;
            }
        };
        Some(role)
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, self.map(TextRole::as_str));
    }
}

impl Field for TextRole {
    fn read(f: &mut Fields<'_>, key: &str) -> TextRole {
        Option::read(f, key).unwrap_or_default()
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert(key, self.as_str());
    }
}

impl Field for Option<Outcome> {
    fn read(f: &mut Fields<'_>, key: &str) -> Option<Outcome> {
        let object = Option::<Object>::read(f, key)?;
        let path = f.at(key);
        let mut o = Fields { object: &object, path, notes: f.notes };
        match String::read(&mut o, "type").as_str() {
            "success" => {
                Some(Outcome::Success { pending_tool_call_ids: Field::read(&mut o, "pendingToolCallIds") })
            }
            "interrupt" => {
                let interrupts = Vec::read(&mut o, "interrupts");
                if interrupts.is_empty() {
                    o.fail("interrupts", "at least one interrupt");
                }
                Some(Outcome::Interrupt { interrupts })
            }
            "cancelled" => Some(Outcome::Cancelled),
            _ => {
                o.notes.ignore(&o.path, "an unknown outcome");
                None
            }
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
