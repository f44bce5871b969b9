//! Work that a model hands to another agent of the configuration: the call of a built-in tool, which
//! the runtime carries out as a turn of that agent in a conversation of its own. What people are
//! asked in there are questions of the run that has handed it over.

use crate::Millis;
use crate::agui::{Body, Interrupt, ResumeEntry};
use crate::event::ToolSource;
use crate::json::{Object, Value};
use crate::object;

use super::results::Told;
use super::running::Run;
use super::step::Running;
use super::{Approval, Ask, ServerTool, StoredCall};

/// What the model calls the tool.
const NAME: &str = "delegate";

/// Characters of a task.
const TASK: u64 = 20_000;

/// An agent that work can be handed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegate {
    /// Its uid.
    pub uid: String,
    /// Its name for people, and for the model.
    pub name: String,
}

/// Work for another agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegated {
    /// The conversation in which it is done; its first run makes it.
    pub session: String,
    /// The agent's uid.
    pub agent: String,
    /// What it is to do: all that it learns of the conversation.
    pub task: String,
    /// The run that hands it over does not wait for it.
    pub background: bool,
    /// What people have decided since it stopped to ask; empty when it begins.
    pub resume: Vec<ResumeEntry>,
}

/// What work asks people before it goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildAsk {
    /// The call that has handed it over.
    pub call: Approval,
    /// The conversation of the work.
    pub session: String,
    /// Its calls that wait.
    pub open: Vec<StoredCall>,
}

/// The tool.
pub(super) fn tool(agents: &[Delegate]) -> ServerTool {
    let names: Vec<String> = agents.iter().map(|agent| [&*agent.uid, ": ", &*agent.name].concat()).collect();
    let description = [
        "Hands work to another agent and gives what it answers. It knows nothing of this conversation: put everything \
         it needs into the task, and what the answer must hold. With `background` it goes on by itself, and you are told \
         later what came of it. The agents are: ",
        &names.join("; "),
        ".",
    ];
    let uids: Vec<Value> = agents.iter().map(|agent| Value::from(agent.uid.as_str())).collect();
    let schema = object! {
        "type": "object",
        "properties": object! {
            "agent": object! { "type": "string", "enum": uids, "description": "Who does it" },
            "task": object! { "type": "string", "minLength": 1_u64, "maxLength": TASK, "description": "What to do" },
            "background": object! { "type": "boolean", "description": "Do not wait for the answer" },
        },
        "required": vec![Value::from("agent"), Value::from("task")],
        "additionalProperties": false,
    };
    ServerTool {
        source: ToolSource::Builtin,
        server: None,
        name: NAME.to_owned(),
        description: description.concat(),
        title: Some("Delegated work".to_owned()),
        parameters: Some(Value::Object(schema)),
        // What the other agent does may change something.
        read_only: false,
    }
}

/// Whether it is this tool.
pub(super) fn is(tool: &ServerTool) -> bool {
    tool.source == ToolSource::Builtin && tool.server.is_none() && tool.name == NAME
}

impl ChildAsk {
    pub(super) fn to_json(&self) -> Object {
        let call = |call: &StoredCall| {
            let mut o = object! { "id": &call.id, "name": &call.name };
            o.insert_some("ask", call.ask.as_ref().map(|ask| ask.to_json()));
            Value::Object(o)
        };
        object! {
            "call": self.call.to_json(), "session": &self.session,
            "open": self.open.iter().map(call).collect::<Vec<_>>(),
        }
    }

    pub(super) fn from_json(value: &Value) -> Option<ChildAsk> {
        let call = |call: &Value| {
            let ask = Ask::from_json(call.get("ask")?).map(Box::new);
            let (id, name) = (call.str("id")?.to_owned(), call.str("name")?.to_owned());
            Some(StoredCall { id, name, arguments: String::new(), ask })
        };
        Some(ChildAsk {
            call: Approval::from_json(value.get("call")?)?,
            session: value.str("session")?.to_owned(),
            open: value.get("open")?.as_array()?.iter().filter_map(call).collect(),
        })
    }

    /// What its calls ask.
    pub(super) fn asks(&self) -> impl Iterator<Item = &Ask> {
        self.open.iter().filter_map(|call| call.ask.as_deref())
    }

    /// Its interrupts, as those of the run that has handed the work over by `call`. They name the
    /// conversation that asks.
    pub(super) fn interrupts(&self, call: &StoredCall) -> Vec<Interrupt> {
        let own = self.open.iter().filter_map(|own| Some(own.ask.as_ref()?.interrupts(own)));
        let mut all: Vec<Interrupt> = own.flatten().collect();
        for interrupt in &mut all {
            interrupt.tool_call_id = Some(call.id.clone());
            let metadata = interrupt.metadata.get_or_insert_default();
            if let Some(Value::Object(mindset)) = metadata.get_mut("mindset")
                && mindset.get("sessionId").is_none()
            {
                mindset.insert("sessionId", self.session.as_str());
            }
        }
        all
    }
}

impl Run {
    /// The work that a call of the tool hands over.
    pub(super) fn hand_over(&mut self, arguments: &Object) -> Delegated {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Delegated {
            session: self.ids.next_id(),
            agent: text("agent"),
            task: text("task"),
            background: arguments.get("background").and_then(Value::as_bool) == Some(true),
            resume: Vec::new(),
        }
    }

    /// The tool of the call as people see it: it says who works. The panel knows these words, to say
    /// them in the person's language.
    pub(super) fn titled(&self, tool: ServerTool, work: Option<&Delegated>) -> ServerTool {
        let title = work.map(|work| ["Delegated to ", &*self.name_of(&work.agent)].concat());
        ServerTool { title: title.or(tool.title), ..tool }
    }

    /// What people know the agent by.
    fn name_of(&self, uid: &str) -> String {
        let known = self.agent.delegates.iter().find(|agent| agent.uid == uid);
        known.map_or(uid, |agent| agent.name.as_str()).to_owned()
    }

    /// Tells that the work of a call begins or goes on.
    pub(super) fn tell_work(&mut self, running: &Running, now: Millis) {
        let Some(work) = running.work.as_ref().filter(|work| !work.background) else { return };
        let body = Body::SubagentStarted {
            subagent_run_id: work.session.clone(),
            name: self.name_of(&work.agent),
            description: None,
            parent_subagent_run_id: None,
            parent_tool_call_id: Some(running.call_id.clone()),
            parent_message_id: None,
        };
        self.emit(body, Object::new(), now);
    }

    /// Tells that the work of a call is over.
    pub(super) fn tell_worked(&mut self, running: &Running, told: &Told, now: Millis) {
        let Some(work) = running.work.as_ref().filter(|work| !work.background) else { return };
        let subagent_run_id = work.session.clone();
        let body = if told.ok {
            Body::SubagentFinished { subagent_run_id, result: None, outcome: None }
        } else {
            Body::SubagentError { subagent_run_id, message: told.content.clone(), code: None }
        };
        self.emit(body, Object::new(), now);
    }

    /// Tells that the work of a call waits for people.
    pub(super) fn tell_suspended(&mut self, session: &str, ids: Vec<Value>, now: Millis) {
        let outcome = object! { "type": "suspended", "interruptIds": ids };
        let body = Body::SubagentFinished {
            subagent_run_id: session.to_owned(),
            result: None,
            outcome: Some(Value::Object(outcome)),
        };
        self.emit(body, Object::new(), now);
    }
}
