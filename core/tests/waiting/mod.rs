//! Turns that wait for people: an agent whose tools need a word, what was asked, and the run
//! that brings the answers.

use mindset_core::agui::{Body, Interrupt, Message, Outcome, ResumeEntry, RunAgentInput};
use mindset_core::event::ToolSource;
use mindset_core::json::{Object, Value, parse};
use mindset_core::object;
use mindset_core::turn::{Agent, Approvals, ModelEvent, ModelMessage, Refusal, ServerTool, ToolOutcome};

use crate::bench::{Bench, call, input, mindset, tool, user};

pub fn json(text: &str) -> Value {
    parse(text).unwrap()
}

pub fn object(text: &str) -> Object {
    json(text).as_object().unwrap().clone()
}

pub const PAY: &str = r#"{"type":"object","properties":{"to":{"type":"string"},"key":{"type":"string"}},"required":["to","key"]}"#;

pub fn mcp(name: &str, schema: &str, read_only: bool) -> ServerTool {
    ServerTool {
        source: ToolSource::Mcp,
        server: Some("bank".into()),
        name: name.into(),
        description: format!("Does {name}."),
        title: Some(format!("Title of {name}")),
        parameters: (!schema.is_empty()).then(|| json(schema)),
        read_only,
    }
}

/// `pay` needs an approval because it may change something, `secret` because it is named, `look_up`
/// and `log` need none.
pub fn agent() -> Agent {
    let log = ServerTool { server: Some("free".into()), ..mcp("log", "", true) };
    Agent {
        instructions: "Be kind.".into(),
        model: "test-1".into(),
        tools: vec![mcp("pay", PAY, false), mcp("look_up", "", true), mcp("secret", "", true), log],
        approvals: Approvals { named: vec!["bank.secret".into()], writes: true },
        ask_user: true,
        ..Agent::default()
    }
}

pub fn done(content: &str) -> ToolOutcome {
    ToolOutcome::Done { content: content.into(), sources: Vec::new(), widgets: Vec::new() }
}

/// A first run that posts `go` with a page tool, these props, and what the page supplies.
pub fn first(props: Option<&str>) -> Bench {
    let mut run = input("r1", vec![user("u1", "go")]);
    run.tools = vec![tool("look")];
    if let Some(props) = props {
        mindset(&mut run, object(props));
    }
    Bench::with(run, agent(), vec![]).unwrap()
}

pub const PROMISED: &str = r#"{"answers":true,"passthroughParams":{"key":"KEY-canary"}}"#;

pub fn interrupts(b: &Bench) -> Vec<Interrupt> {
    match &b.last().body {
        Body::RunFinished { outcome: Some(Outcome::Interrupt { interrupts }), .. } => interrupts.clone(),
        other => panic!("no interrupt: {other:?}"),
    }
}

pub fn asked<'a>(interrupt: &'a Interrupt, key: &str) -> &'a Value {
    let mindset = interrupt.metadata.as_ref().unwrap().get("mindset").unwrap();
    mindset.get(key).unwrap_or_else(|| panic!("no {key} in {mindset}"))
}

pub fn entry(interrupt: &Interrupt, status: &str, payload: &str) -> ResumeEntry {
    ResumeEntry {
        interrupt_id: interrupt.id.clone(),
        status: status.into(),
        payload: parse(payload).ok(),
        metadata: None,
    }
}

pub fn allow(interrupt: &Interrupt) -> ResumeEntry {
    entry(interrupt, "resolved", r#"{"approved":true}"#)
}

pub fn deny(interrupt: &Interrupt) -> ResumeEntry {
    entry(interrupt, "resolved", r#"{"approved":false}"#)
}

/// The next run of the conversation: what it brings, and what the page supplies now.
pub fn next_input(run: &str, resume: Vec<ResumeEntry>, messages: Vec<Message>, key: &str) -> RunAgentInput {
    let mut posted = input(run, messages);
    posted.tools = vec![tool("look")];
    posted.resume = resume;
    mindset(&mut posted, object! { "answers": true, "passthroughParams": object! { "key": key } });
    posted
}

pub fn next(
    before: &Bench,
    run: &str,
    resume: Vec<ResumeEntry>,
    messages: Vec<Message>,
) -> Result<Bench, Refusal> {
    Bench::with(next_input(run, resume, messages, "KEY-2"), agent(), before.store.clone())
}

pub fn told(b: &Bench, call: &str) -> (String, bool) {
    let of_call = |m: &ModelMessage| match m {
        ModelMessage::Tool { call_id, content, failed, .. } if call_id == call => {
            Some((content.clone(), *failed))
        }
        _ => None,
    };
    b.requests.last().unwrap().messages.iter().find_map(of_call).unwrap_or_else(|| panic!("no {call}"))
}

pub fn pay(key: u32, id: &str) -> [ModelEvent; 2] {
    call(key, Some(id), "bank__pay", r#"{"to":"Ann"}"#)
}
