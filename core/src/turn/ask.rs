//! What a call waits for: that a person allows it, or answers what it asks. Stored with the
//! call, so that it is still there after a restart, and told as an interrupt of the run.

use crate::agui::{Interrupt, ResumeEntry};
use crate::event::ToolSource;
use crate::json::{Object, Value};
use crate::object;
use crate::passthrough::FullArgs;
use crate::questionnaire::{Questionnaire, StepAnswer};

use super::{ChildAsk, ServerTool, StoredCall, ToolQuestions};

/// A question to a person that a call waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The interrupt's id.
    pub id: String,
    /// What is asked.
    pub what: Asked,
    /// The client of the run has promised that somebody can answer.
    pub promised: bool,
    /// What was asked for the same call before, by id; it is answered.
    pub earlier: Vec<String>,
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Whether the call may run.
    Approval(Approval),
    /// What the model asks by the call.
    Questions(Questionnaire),
    /// What the tool asks while it runs.
    Tool(Box<ToolAsk>),
    /// What the agent asks that the call has handed work to.
    Child(Box<ChildAsk>),
}

/// What a tool that runs asks; it is called again as it was, with the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAsk {
    /// The call.
    pub call: Approval,
    /// The questions, and what the tool needs to go on.
    pub asked: ToolQuestions,
}

/// A call as a person is shown it before it runs; this and nothing else runs then.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// The tool, without its description and schema.
    pub tool: ServerTool,
    /// The agent's configuration names the tool; else it is one that may change something.
    pub named: bool,
    /// The arguments, what the page supplies masked.
    pub shown: Object,
    /// The names of what the page supplies.
    pub supplied: Vec<String>,
}

/// What a person has decided.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    Approved,
    Denied,
    Answered(Vec<StepAnswer>),
    /// They will not answer.
    Declined,
    /// They closed the questions.
    Dismissed,
    /// What they say to the agent that the call has handed work to.
    Passed(Vec<ResumeEntry>),
    /// They wrote something else instead.
    PassedOver,
    /// Nobody who could decide or answer was heard of.
    Unheard,
}

impl Ask {
    /// `{ id, promised, approval | questionnaire }`, for the store.
    pub fn to_json(&self) -> Object {
        let mut o = object! { "id": &self.id, "promised": self.promised };
        match &self.what {
            Asked::Approval(approval) => o.insert("approval", approval.to_json()),
            Asked::Questions(questions) => o.insert("questionnaire", questions.to_json()),
            Asked::Child(child) => o.insert("child", child.to_json()),
            Asked::Tool(tool) => {
                o.insert("questionnaire", tool.asked.questions.to_json());
                o.insert("call", tool.call.to_json());
                o.insert("state", tool.asked.state.clone());
                if tool.asked.live {
                    o.insert("live", true);
                }
            }
        }
        if !self.earlier.is_empty() {
            o.insert("earlier", self.earlier.iter().map(Value::from).collect::<Vec<_>>());
        }
        o
    }

    /// Reads what [`to_json`](Self::to_json) writes.
    pub fn from_json(value: &Value) -> Option<Ask> {
        let what = match (value.get("approval"), value.get("child")) {
            (Some(approval), _) => Asked::Approval(Approval::from_json(approval)?),
            (None, Some(child)) => Asked::Child(Box::new(ChildAsk::from_json(child)?)),
            (None, None) => {
                let questions = Questionnaire::from_json(value.get("questionnaire")?)?;
                match value.get("call") {
                    None => Asked::Questions(questions),
                    Some(call) => {
                        let state = value.get("state").cloned().unwrap_or_default();
                        let live = value.get("live").and_then(Value::as_bool).unwrap_or(false);
                        let asked = ToolQuestions { questions, state, live };
                        Asked::Tool(Box::new(ToolAsk { call: Approval::from_json(call)?, asked }))
                    }
                }
            }
        };
        let promised = value.get("promised").and_then(Value::as_bool).unwrap_or(false);
        let earlier = value.get("earlier").and_then(Value::as_array).unwrap_or_default();
        let earlier = earlier.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Some(Ask { id: value.str("id")?.to_owned(), what, promised, earlier })
    }

    /// Whether it is asked if the call may run.
    pub(super) fn is_approval(&self) -> bool {
        match &self.what {
            Asked::Child(child) => child.asks().any(Ask::is_approval),
            what => matches!(what, Asked::Approval(_)),
        }
    }

    /// The ids of its interrupts.
    pub(super) fn ids(&self) -> Vec<&str> {
        match &self.what {
            Asked::Child(child) => child.asks().flat_map(Ask::ids).collect(),
            _ => vec![&self.id],
        }
    }

    /// The questions, if it asks any.
    pub(super) fn questions(&self) -> Option<&Questionnaire> {
        match &self.what {
            Asked::Approval(_) | Asked::Child(_) => None,
            Asked::Questions(questions) => Some(questions),
            Asked::Tool(tool) => Some(&tool.asked.questions),
        }
    }

    /// The call that waits, as it was shown; `None`: it is one of the model's questions.
    pub(super) fn call(&self) -> Option<&Approval> {
        match &self.what {
            Asked::Approval(approval) => Some(approval),
            Asked::Questions(_) => None,
            Asked::Tool(tool) => Some(&tool.call),
            Asked::Child(child) => Some(&child.call),
        }
    }

    /// The tool that asks, of a call that runs on meanwhile, or has begun work.
    pub(super) fn live(&self) -> Option<&ServerTool> {
        match &self.what {
            Asked::Child(child) => Some(&child.call.tool),
            Asked::Tool(tool) if tool.asked.live => Some(&tool.call.tool),
            _ => None,
        }
    }

    /// The interrupts of a run that asks this for `call`.
    pub(super) fn interrupts(&self, call: &StoredCall) -> Vec<Interrupt> {
        let (reason, message, schema, mut mindset) = match &self.what {
            Asked::Child(child) => return child.interrupts(call),
            Asked::Approval(approval) => approval.told(),
            Asked::Questions(questions) => questions_told(questions, object! { "toolName": &call.name }),
            Asked::Tool(tool) => questions_told(&tool.asked.questions, tool.call.name()),
        };
        if self.promised {
            mindset.insert("answers", true);
        }
        let interrupt = Interrupt {
            id: self.id.clone(),
            reason: reason.to_owned(),
            message: Some(message),
            tool_call_id: Some(call.id.clone()),
            response_schema: Some(schema),
            expires_at: None,
            metadata: Some(object! { "mindset": mindset }),
        };
        vec![interrupt]
    }

    /// What the answer of a client says.
    pub(super) fn decide(&self, entry: &ResumeEntry) -> Result<Decision, String> {
        if let Asked::Child(child) = &self.what {
            let asked = child.asks().find(|ask| ask.ids().contains(&entry.interrupt_id.as_str()));
            // Checked here as it will be there.
            asked.map_or(Ok(()), |ask| ask.decide(entry).map(|_| ()))?;
            return Ok(Decision::Passed(vec![entry.clone()]));
        }
        let payload = |key: &str| entry.payload.as_ref().and_then(|payload| payload.get(key));
        let flag = |key: &str| payload(key).and_then(Value::as_bool);
        if entry.status == "cancelled" && flag("unheard") == Some(true) {
            return Ok(Decision::Unheard);
        }
        match (self.questions(), entry.status.as_str()) {
            (None, "cancelled") => Ok(Decision::Denied),
            (Some(_), "cancelled") => Ok(Decision::Dismissed),
            (None, "resolved") => match flag("approved") {
                Some(true) => Ok(Decision::Approved),
                Some(false) => Ok(Decision::Denied),
                None => Err("payload must be { approved: true } or { approved: false }.".to_owned()),
            },
            (Some(_), "resolved") if flag("declined") == Some(true) => Ok(Decision::Declined),
            (Some(questions), "resolved") => {
                let answers = payload("answers").ok_or("payload must be { answers: [...] }.")?;
                questions.check(answers).map(Decision::Answered)
            }
            _ => Err("status must be \"resolved\" or \"cancelled\".".to_owned()),
        }
    }
}

impl Approval {
    /// A call of `tool`.
    pub(super) fn of(tool: ServerTool, named: bool, arguments: &FullArgs) -> Approval {
        let tool = ServerTool { description: String::new(), parameters: None, ..tool };
        let supplied = arguments.supplied().map(|(name, _)| name.to_owned()).collect();
        Approval { tool, named, shown: arguments.masked(), supplied }
    }

    /// Which tool, for people.
    fn name(&self) -> Object {
        let mut mindset = object! { "toolName": &self.tool.name, "source": self.tool.source.as_str() };
        mindset.insert_some("server", self.tool.server.as_deref());
        mindset.insert_some("description", self.tool.title.as_deref());
        mindset
    }

    pub(super) fn to_json(&self) -> Object {
        let mut o = object! { "source": self.tool.source.as_str(), "toolName": &self.tool.name };
        o.insert_some("server", self.tool.server.as_deref());
        o.insert_some("description", self.tool.title.as_deref());
        o.insert("readOnly", self.tool.read_only);
        o.insert("named", self.named);
        o.insert("toolInput", self.shown.clone());
        o.insert("supplied", self.supplied.iter().map(Value::from).collect::<Vec<_>>());
        o
    }

    pub(super) fn from_json(value: &Value) -> Option<Approval> {
        let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(false);
        let supplied = value.get("supplied").and_then(Value::as_array).unwrap_or_default();
        Some(Approval {
            tool: ServerTool {
                source: ToolSource::parse(value.str("source")?)?,
                server: value.str("server").map(str::to_owned),
                name: value.str("toolName")?.to_owned(),
                description: String::new(),
                title: value.str("description").map(str::to_owned),
                parameters: None,
                read_only: flag("readOnly"),
            },
            named: flag("named"),
            shown: value.get("toolInput")?.as_object()?.clone(),
            supplied: supplied.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }

    fn told(&self) -> (&'static str, String, Object, Object) {
        let why = if self.named {
            "This tool needs your approval each time before it runs."
        } else {
            "This tool may change something, so it needs your approval before it runs."
        };
        let mut mindset = self.name();
        mindset.insert("reason", why);
        mindset.insert("toolInput", self.shown.clone());
        let schema = object! {
            "type": "object",
            "properties": object! { "approved": object! { "type": "boolean" } },
            "required": vec![Value::from("approved")],
        };
        ("tool_call", format!("The agent wants to run {}.", self.tool.name), schema, mindset)
    }
}

fn questions_told(questions: &Questionnaire, mut mindset: Object) -> (&'static str, String, Object, Object) {
    let first = questions.steps.first().map_or("", |step| step.question.as_str());
    let message = questions.title.as_deref().unwrap_or(first).to_owned();
    let texts = object! { "type": "array", "items": object! { "type": "string" } };
    let answer = object! {
        "type": "object",
        "properties": object! {
            "stepId": object! { "type": "string" },
            "selectedOptionIds": texts,
            "otherText": object! { "type": "string" },
            "skipped": object! { "type": "boolean" },
        },
        "required": vec![Value::from("stepId")],
    };
    let schema = object! {
        "type": "object",
        "properties": object! { "answers": object! { "type": "array", "items": answer } },
        "required": vec![Value::from("answers")],
    };
    mindset.insert("questionnaire", questions.to_json());
    ("input_required", message, schema, mindset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn approval() -> Ask {
        let text = r#"{"id":"i1","promised":true,"approval":{"source":"mcp","toolName":"pay","server":"bank",
            "description":"Pays","readOnly":false,"named":false,"toolInput":{"to":"Ann","key":"•••"},
            "supplied":["key"]}}"#;
        Ask::from_json(&parse(text).unwrap()).unwrap()
    }

    fn questions() -> Ask {
        let text = r#"{"id":"i2","questionnaire":{"id":"i2","steps":[{"id":"a","question":"Why?"}]}}"#;
        Ask::from_json(&parse(text).unwrap()).unwrap()
    }

    fn of_tool() -> Ask {
        let text = r#"{"id":"i3","questionnaire":{"id":"i3","steps":[{"id":"a","question":"Why?"}]},
            "call":{"source":"mcp","toolName":"pay","server":"bank","toolInput":{},"supplied":[]},
            "state":{"requestState":"x"},"live":true,"earlier":["i1"]}"#;
        Ask::from_json(&parse(text).unwrap()).unwrap()
    }

    #[test]
    fn what_is_stored_is_read_back() {
        for ask in [approval(), questions(), of_tool()] {
            let text = ask.to_json().text();
            assert_eq!(Ask::from_json(&parse(&text).unwrap()), Some(ask));
        }
        for broken in ["{}", r#"{"id":"i","approval":{}}"#, r#"{"approval":3}"#, r#"{"questionnaire":{}}"#] {
            assert_eq!(Ask::from_json(&parse(broken).unwrap()), None, "{broken}");
        }
    }

    #[test]
    fn decisions() {
        let entry = |status: &str, payload: &str| ResumeEntry {
            interrupt_id: "i".into(),
            status: status.into(),
            payload: parse(payload).ok(),
            metadata: None,
        };
        let decide = |ask: &Ask, status, payload| ask.decide(&entry(status, payload));
        let (approval, questions) = (approval(), questions());
        assert_eq!(decide(&approval, "resolved", r#"{"approved":true,"more":1}"#), Ok(Decision::Approved));
        assert_eq!(decide(&approval, "resolved", r#"{"approved":false}"#), Ok(Decision::Denied));
        assert_eq!(decide(&approval, "cancelled", r#"{"approved":true}"#), Ok(Decision::Denied));
        assert_eq!(decide(&questions, "cancelled", ""), Ok(Decision::Dismissed));
        for ask in [&approval, &questions] {
            assert_eq!(decide(ask, "cancelled", r#"{"unheard":true}"#), Ok(Decision::Unheard));
        }
        assert_eq!(decide(&of_tool(), "resolved", r#"{"declined":true}"#), Ok(Decision::Declined));
        let answers = r#"{"answers":[{"stepId":"a","otherText":"So."}]}"#;
        assert!(matches!(decide(&questions, "resolved", answers), Ok(Decision::Answered(_))));
        for (ask, status, payload) in [
            (&approval, "resolved", ""),
            (&approval, "resolved", "true"),
            (&approval, "resolved", r#"{"approved":"true"}"#),
            (&approval, "allowed", r#"{"approved":true}"#),
            (&questions, "resolved", r#"{"approved":true}"#),
            (&questions, "resolved", r#"{"answers":[]}"#),
        ] {
            assert!(decide(ask, status, payload).is_err(), "{status} {payload}");
        }
    }
}
