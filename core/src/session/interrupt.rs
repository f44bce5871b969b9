//! What a run asks of people before it goes on: AG-UI interrupts as they came, and the `resume`
//! that answers them.

use super::stream::Stream;
use super::{Session, fault};
use crate::json::{Object, Value, parse};

/// Something that people are asked.
pub(super) struct Interrupt {
    /// Names it: an approval's `requestId`, a questionnaire's `questionId`.
    pub(super) id: String,
    /// The call that waits for it; empty if none is named.
    pub(super) call: String,
    pub(super) what: Asks,
    /// What people say, once they have.
    pub(super) word: Option<Word>,
    /// From before AG-UI 1.0: answered by a `command` too.
    command: bool,
}

/// What is asked.
pub(super) enum Asks {
    /// Whether a call may run.
    Approval {
        /// The tool, and what people call it.
        name: String,
        label: String,
        reason: String,
        /// The arguments, masked.
        input: Option<Object>,
        /// The child's session that asks, if it is one's.
        session: Option<String>,
    },
    /// A questionnaire, and how its answers travel.
    Questions(Object, Form),
}

/// How answers travel.
pub(super) enum Form {
    /// `{ answers }`.
    Answers,
    /// The text of the one answer, as this member of an object; empty: as it is.
    Text(String),
}

/// What people say.
pub(super) enum Word {
    Dismissed,
    Payload(Value),
}

impl Interrupt {
    /// Reads one interrupt of a run.
    fn read(value: &Value, stream: Option<&Stream>) -> Interrupt {
        let call = value.str("toolCallId").unwrap_or("").to_owned();
        let mindset = value.get("metadata").and_then(|metadata| metadata.get("mindset"));
        let said = |key| mindset.and_then(|mindset| mindset.str(key));
        let message = value.str("message").unwrap_or("");
        let schema = value.get("responseSchema");
        let members = schema.and_then(|schema| schema.get("properties")?.as_object());
        let approves = value.str("reason") == Some("tool_call")
            || members.is_some_and(|members| members.get("approved").is_some());
        let questionnaire = mindset.and_then(|mindset| mindset.get("questionnaire")?.as_object());
        let what = if let Some(questionnaire) = questionnaire {
            Asks::Questions(questionnaire.clone(), Form::Answers)
        } else if approves {
            let called = stream.and_then(|stream| stream.call(&call)?.get("function"));
            let name = said("toolName").or(called.and_then(|called| called.str("name"))).unwrap_or("");
            let input = mindset.and_then(|mindset| mindset.get("toolInput")).cloned();
            let input = input.or_else(|| parse(called?.str("arguments")?).ok());
            Asks::Approval {
                name: name.to_owned(),
                label: said("description").unwrap_or(name).to_owned(),
                reason: fault::said(said("reason").unwrap_or(message)),
                input: input.as_ref().and_then(Value::as_object).cloned(),
                session: said("sessionId").map(str::to_owned),
            }
        } else {
            let member = members.and_then(|members| members.iter().next()).map_or("", |(name, _)| name);
            Asks::Questions(plain(message), Form::Text(member.to_owned()))
        };
        let id = value.str("id").unwrap_or("").to_owned();
        Interrupt { id, call, what, word: None, command: false }
    }

    /// Reads the value of an `on_interrupt`.
    fn older(id: String, value: &Value) -> Interrupt {
        let text = value.as_str().or_else(|| {
            let mut keys = ["question", "message", "prompt", "value"].iter();
            keys.find_map(|key| value.str(key))
        });
        let text = text.map_or_else(|| value.text(), str::to_owned);
        let what = Asks::Questions(plain(&text), Form::Text(String::new()));
        Interrupt { id, call: String::new(), what, word: None, command: true }
    }

    /// Reads those of a stored conversation.
    pub(super) fn read_list(list: Option<&Value>) -> Vec<Interrupt> {
        let mut all = Vec::new();
        for value in list.and_then(Value::as_array).unwrap_or_default() {
            all.push(Interrupt::read(value, None));
        }
        all
    }

    /// Whether nobody has said anything yet.
    pub(super) fn is_open(&self) -> bool {
        self.word.is_none()
    }

    /// Whether it is about a call.
    pub(super) fn is_approval(&self) -> bool {
        matches!(self.what, Asks::Approval { .. })
    }

    /// The person's answers as they travel.
    pub(super) fn payload(&self, answers: Value) -> Value {
        let Asks::Questions(_, Form::Text(member)) = &self.what else {
            return Value::Object(crate::object! { "answers": answers });
        };
        let first = answers.as_array().and_then(<[Value]>::first);
        let text = first.and_then(|answer| answer.str("otherText")).unwrap_or("");
        if member.is_empty() {
            return Value::from(text);
        }
        let mut payload = Object::new();
        payload.insert(member, text);
        Value::Object(payload)
    }

    /// The entry of `resume`; what is open is cancelled.
    fn resume(&self) -> Value {
        let mut entry = crate::object! { "interruptId": &self.id };
        match &self.word {
            Some(Word::Payload(payload)) => {
                entry.insert("status", "resolved");
                entry.insert("payload", payload.clone());
            }
            _ => entry.insert("status", "cancelled"),
        }
        Value::Object(entry)
    }

    /// `{ questionId, requestId, request }`.
    pub(super) fn pending(&self) -> Option<Object> {
        let Asks::Questions(questionnaire, _) = &self.what else { return None };
        let id = &self.id;
        Some(crate::object! { "questionId": id, "requestId": id, "request": questionnaire.clone() })
    }
}

/// One question that is answered by a text.
fn plain(question: &str) -> Object {
    let step = crate::object! {
        "id": "answer", "question": fault::said(question), "selectionMode": "single",
        "allowOther": true, "required": true,
    };
    crate::object! { "id": "answer", "steps": vec![Value::Object(step)] }
}

/// Puts into a run's input what people have said to `interrupts`.
#[inline(never)]
pub(super) fn answer(input: &mut Object, interrupts: &[Interrupt]) {
    let mut resume = Vec::new();
    for interrupt in interrupts {
        resume.push(interrupt.resume());
        if let (true, Some(Word::Payload(payload))) = (interrupt.command, &interrupt.word)
            && let Some(Value::Object(props)) = input.get_mut("forwardedProps")
        {
            props.insert("command", crate::object! { "resume": payload.clone() });
        }
    }
    input.insert("resume", Value::Array(resume));
}

impl Session {
    /// What a run that ended with `outcome` asks people.
    pub(super) fn interrupts(&mut self, outcome: Option<&Value>, stream: &Stream) -> Vec<Interrupt> {
        let mut all = Vec::new();
        match outcome.and_then(|outcome| outcome.str("type")) {
            Some("interrupt") => {
                let list = outcome.and_then(|outcome| outcome.get("interrupts")?.as_array());
                for value in list.unwrap_or_default() {
                    all.push(Interrupt::read(value, Some(stream)));
                }
            }
            Some("cancelled") => {}
            _ => {
                for value in &stream.asked {
                    all.push(Interrupt::older(self.ids.next_id(), value));
                }
            }
        }
        all
    }
}
