//! Work that a model hands to another agent: what the runtime is asked, what readers are told, and
//! what people decide on the way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod bench;

use bench::{Bench, call, end, input, mindset, text, user};
use mindset_core::agui::{
    Body, Event, Interrupt, Outcome, ResumeEntry, RunAgentInput, decode_event, encode_event,
};
use mindset_core::error::ErrorCode;
use mindset_core::json::{Object, parse};
use mindset_core::turn::{
    Agent, Approvals, Bounds, Conversation, Delegate, Input, ModelMessage, ModelUsage, RunState, Spend,
    StoredCall, ToolOutcome, recover,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn object(text: &str) -> Object {
    parse(text).unwrap().as_object().unwrap().clone()
}

fn agent() -> Agent {
    let delegate = |uid: &str| Delegate { uid: uid.into(), name: format!("The {uid}") };
    Agent {
        instructions: "Be kind.".into(),
        model: "test-1".into(),
        delegates: vec![delegate("clerk"), delegate("cook")],
        ..Agent::default()
    }
}

fn posted(run: &str, resume: Vec<ResumeEntry>, said: Option<&str>) -> RunAgentInput {
    let messages = said.map(|said| user(&format!("u-{run}"), said)).into_iter().collect();
    let mut posted = input(run, messages);
    posted.resume = resume;
    mindset(&mut posted, object(r#"{"answers":true,"passthroughParams":{"task":"CANARY"}}"#));
    posted
}

/// A run whose model has handed work over.
fn handed(agent: Agent) -> Bench {
    let mut b = Bench::with(posted("r1", vec![], Some("go")), agent, vec![]).unwrap();
    b.model(call(0, Some("a"), "delegate", r#"{"agent":"clerk","task":"Count."}"#)).model([end()]);
    b
}

/// The calls of a clerk whose run asks for an approval, and a question.
fn open() -> Vec<StoredCall> {
    let mut clerk = Bench::with(
        posted("c1", vec![], Some("Count.")),
        Agent {
            tools: vec![mindset_core::turn::ServerTool {
                source: mindset_core::event::ToolSource::Mcp,
                server: Some("hr".into()),
                name: "update".into(),
                description: String::new(),
                title: None,
                parameters: None,
                read_only: false,
            }],
            approvals: Approvals { named: vec![], writes: true },
            ask_user: true,
            delegates: vec![],
            ..agent()
        },
        vec![],
    )
    .unwrap();
    let ask = r#"{"steps":[{"id":"why","question":"Why?"}]}"#;
    clerk
        .model(call(0, Some("x"), "hr__update", "{}"))
        .model(call(1, Some("y"), "ask_user", ask))
        .model([end()]);
    assert_eq!(clerk.done, Some(RunState::Waiting));
    let conversation = Conversation { messages: clerk.store.clone(), ..Conversation::default() };
    conversation.asking().into_iter().cloned().collect()
}

fn interrupts(b: &Bench) -> Vec<Interrupt> {
    match &b.last().body {
        Body::RunFinished { outcome: Some(Outcome::Interrupt { interrupts }), .. } => interrupts.clone(),
        other => panic!("no interrupt: {other:?}"),
    }
}

fn entry(interrupt: &Interrupt, payload: &str) -> ResumeEntry {
    ResumeEntry {
        interrupt_id: interrupt.id.clone(),
        status: "resolved".into(),
        payload: parse(payload).ok(),
        metadata: None,
    }
}

fn told(b: &Bench) -> String {
    let last = b.requests.last().unwrap().messages.last().unwrap();
    match last {
        ModelMessage::Tool { content, .. } => content.clone(),
        other => panic!("no result: {other:?}"),
    }
}

fn subagents(b: &Bench) -> Vec<&'static str> {
    let name = |body: &Body| match body {
        Body::SubagentStarted { .. } => Some("started"),
        Body::SubagentFinished { outcome: None, .. } => Some("finished"),
        Body::SubagentFinished { .. } => Some("suspended"),
        Body::SubagentError { .. } => Some("error"),
        _ => None,
    };
    b.events.iter().filter_map(|e| name(&e.body)).collect()
}

const WORKED: ModelUsage = ModelUsage { input: 60, output: 50 };

/// What a clerk's run says, in which it calls a tool and hands something on.
fn said() -> Vec<Event> {
    let bodies = [
        r#"{"type":"RUN_STARTED","threadId":"s","runId":"c1"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hm."}"#,
        r#"{"type":"TOOL_CALL_START","toolCallId":"k","toolCallName":"read"}"#,
        r#"{"type":"TOOL_CALL_END","toolCallId":"k"}"#,
        r#"{"type":"CUSTOM","name":"mindset.tool_start","value":{"toolCallId":"k"}}"#,
        r#"{"type":"CUSTOM","name":"mindset.suggestions","value":{"items":[]}}"#,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"below","name":"The cook"}"#,
        r#"{"type":"TOOL_CALL_START","toolCallId":"d","toolCallName":"stir","subagentRunId":"below"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"s","runId":"c1"}"#,
    ];
    bodies.iter().map(|text| decode_event(&parse(text).unwrap()).unwrap().0).collect()
}

/// An event's type, and whose it is.
fn whose(event: &Event, session: &str) -> String {
    let whose = match event.subagent_run_id.as_deref() {
        None => "",
        Some("below") => "below",
        Some(own) => {
            assert_eq!(own, session);
            "own"
        }
    };
    format!("{} {whose}", encode_event(event).str("type").unwrap()).trim().to_owned()
}

#[test]
fn what_the_work_says_is_told_as_a_subagents() {
    for stopped in [false, true] {
        let mut b = handed(agent());
        let session = b.calls[0].work.clone().unwrap().session;
        let from = b.events.len();
        for event in said() {
            b.handle(Input::Child { session: session.clone(), event: Box::new(event) });
        }
        // Not from work of other calls, or after its end.
        let stray = |b: &mut Bench, session: &str| {
            b.handle(Input::Child { session: session.to_owned(), event: Box::new(said()[2].clone()) });
        };
        stray(&mut b, "other");
        if stopped {
            b.handle(Input::Cancel);
        } else {
            b.tool("a", ToolOutcome::Worked { content: "Twelve.".into(), usage: WORKED });
        }
        stray(&mut b, &session);
        let all: Vec<String> = b.events[from..].iter().map(|event| whose(event, &session)).collect();
        let expected = [
            "TEXT_MESSAGE_START own",
            "TEXT_MESSAGE_CONTENT own",
            "TOOL_CALL_START own",
            "TOOL_CALL_END own",
            "CUSTOM own",
            "SUBAGENT_STARTED",
            "TOOL_CALL_START below",
            // What is open ends, the innermost first.
            "TOOL_CALL_END below",
            "SUBAGENT_ERROR",
            "TEXT_MESSAGE_END own",
            if stopped { "SUBAGENT_ERROR" } else { "SUBAGENT_FINISHED" },
            "TOOL_CALL_RESULT",
        ];
        assert_eq!(all[..expected.len()], expected);
        let below = b.events.iter().find_map(|event| match &event.body {
            Body::SubagentStarted { subagent_run_id, parent_subagent_run_id, .. }
                if subagent_run_id == "below" =>
            {
                parent_subagent_run_id.clone()
            }
            _ => None,
        });
        assert_eq!(below.as_ref(), Some(&session));
        assert!(b.store.iter().all(|m| !m.content.contains("Hm.")), "it is stored where the work is done");
    }
}

#[test]
fn a_crash_finds_nothing_of_what_work_has_said() {
    let mut b = handed(agent());
    let (session, from) = (b.calls[0].work.clone().unwrap().session, b.events.len());
    for event in said() {
        b.handle(Input::Child { session: session.clone(), event: Box::new(event) });
    }
    let conversation =
        Conversation { id: "t".into(), messages: b.store[..2].to_vec(), ..Conversation::default() };
    let mut n = 0;
    let mut ids = || {
        n += 1;
        format!("id-{n}")
    };
    assert!(b.events.len() > from);
    let rest = recover(&conversation, "r1", &b.events, &mut ids, 9);
    assert!(rest.store.iter().all(|m| !m.content.contains("Hm.")));
    assert_eq!(rest.state, RunState::Error);
}

#[test]
fn calls_of_work_have_ids_of_their_own() {
    let child = Agent { parent_run: Some("r1".into()), ..agent() };
    let mut b = Bench::with(posted("c1", vec![], Some("go")), child, vec![]).unwrap();
    b.model(call(0, Some("a"), "delegate", r#"{"agent":"cook","task":"Cook."}"#)).model([end()]);
    assert_ne!(b.calls[0].call_id, "a", "the run above may have one with this id");
}

#[test]
fn work_comes_back_as_the_result_and_costs_what_it_costs() {
    let spend = Bounds { spend: Some(Spend::Tokens(100)), ..Bounds::default() };
    for (bounds, goes_on) in [(Bounds::default(), true), (spend, false)] {
        let mut b = handed(Agent { bounds, ..agent() });
        let work = b.calls[0].work.clone().unwrap();
        assert_eq!((work.agent.as_str(), work.task.as_str()), ("clerk", "Count."), "no page supplies a task");
        assert!(work.resume.is_empty() && !work.session.is_empty());
        b.tool("a", ToolOutcome::Worked { content: "Twelve.".into(), usage: WORKED });
        assert_eq!(subagents(&b), ["started", "finished"]);
        assert_eq!(b.done.is_none(), goes_on);
        if goes_on {
            assert_eq!(told(&b), "Twelve.");
        }
    }
    for (arguments, why) in [
        (r#"{"agent":"boss","task":"x"}"#, "agent"),
        (r#"{"agent":"clerk"}"#, "task"),
        (r#"{"agent":"clerk","task":""}"#, "task"),
    ] {
        let mut b = Bench::with(posted("r1", vec![], Some("go")), agent(), vec![]).unwrap();
        b.model(call(0, Some("a"), "delegate", arguments)).model([end()]);
        assert!(b.calls.is_empty() && told(&b).contains(why), "{}", told(&b));
    }
}

#[test]
fn what_it_asks_is_asked_here_and_the_answers_go_there() {
    let mut b = handed(agent());
    let session = b.calls[0].work.clone().unwrap().session;
    b.tool("a", ToolOutcome::Waits(open()));
    assert_eq!((b.done, subagents(&b)), (Some(RunState::Waiting), vec!["started", "suspended"]));
    let asks = interrupts(&b);
    assert_eq!(asks.len(), 2);
    for ask in &asks {
        let mindset = ask.metadata.as_ref().unwrap().get("mindset").unwrap();
        assert_eq!(mindset.str("sessionId"), Some(session.as_str()));
        assert_eq!(ask.tool_call_id.as_deref(), Some("a"));
    }
    let conversation = Conversation { messages: b.store.clone(), ..Conversation::default() };
    assert_eq!(conversation.open_interrupts(), asks);
    assert_eq!(conversation.waiting_children(), [session.as_str()]);
    let next = |resume, said| Bench::with(posted("r2", resume, said), agent(), b.store.clone());
    let allow = entry(&asks[0], r#"{"approved":true}"#);
    let answer = entry(&asks[1], r#"{"answers":[{"stepId":"why","otherText":"So."}]}"#);
    // All of them, and such as fit.
    let missing = next(vec![allow.clone()], None).err().unwrap();
    assert!(
        missing.code == ErrorCode::InvalidRequest && missing.message.contains(&asks[1].id),
        "{missing:?}"
    );
    let wrong = entry(&asks[1], r#"{"approved":true}"#);
    assert_eq!(next(vec![allow.clone(), wrong], None).err().unwrap().code, ErrorCode::InvalidRequest);
    assert_eq!(next(vec![], Some("And?")).err().unwrap().code, ErrorCode::Busy);

    let all = vec![allow, answer];
    let mut n = next(all.clone(), None).unwrap();
    let work = n.calls[0].work.clone().unwrap();
    assert_eq!((work.session, work.resume), (session, all.clone()));
    n.tool("a", ToolOutcome::Worked { content: "Twelve.".into(), usage: WORKED });
    assert_eq!((told(&n).as_str(), subagents(&n)), ("Twelve.", vec!["started", "finished"]));
    n.model([text("Done.")]).model([end()]);
    let late = Bench::with(posted("r3", all, None), agent(), n.store.clone());
    assert_eq!(late.err().unwrap().code, ErrorCode::Conflict);
}

#[test]
fn work_that_is_given_up_is_unknown() {
    let is_unknown = |b: &Bench| {
        let result = b.store.iter().rfind(|m| m.call_id.is_some()).unwrap();
        assert!(result.effect.as_ref().unwrap().unknown && result.content.contains("Do not repeat"));
    };
    let mut b = handed(agent());
    b.handle(Input::Cancel);
    assert_eq!(subagents(&b), ["started", "error"]);
    is_unknown(&b);
    // Questions alone are passed over.
    let mut b = handed(agent());
    let question = open().into_iter().filter(|call| call.id == "y").collect();
    b.tool("a", ToolOutcome::Waits(question));
    let n = Bench::with(posted("r2", vec![], Some("Never mind.")), agent(), b.store.clone()).unwrap();
    assert!(n.calls.is_empty());
    is_unknown(&n);
    // So is it when the agent may hand nothing over any more.
    let asks = interrupts(&b);
    let answer = entry(&asks[0], r#"{"answers":[{"stepId":"why","otherText":"So."}]}"#);
    let without = Agent { delegates: vec![], ..agent() };
    let n = Bench::with(posted("r2", vec![answer], None), without, b.store.clone()).unwrap();
    assert!(n.calls.is_empty());
    is_unknown(&n);
}

#[test]
fn an_agent_that_needs_approvals_asks_before_it_hands_work_over() {
    let careful = Agent { approvals: Approvals { named: vec![], writes: true }, ..agent() };
    let mut b = Bench::with(posted("r1", vec![], Some("go")), careful.clone(), vec![]).unwrap();
    b.model(call(0, Some("a"), "delegate", r#"{"agent":"clerk","task":"Count."}"#)).model([end()]);
    assert!(b.calls.is_empty());
    let allow = entry(&interrupts(&b)[0], r#"{"approved":true}"#);
    let n = Bench::with(posted("r2", vec![allow], None), careful, b.store.clone()).unwrap();
    assert_eq!(n.calls[0].work.as_ref().unwrap().task, "Count.");
}
