//! One event of every type with every field set, one with none of the optional
//! ones, and an input with everything in it.

use mindset_core::agui::{
    Body, Content, Context, Event, Interrupt, Message, Outcome, ResumeEntry, Role, RunAgentInput, TextRole,
    TokenUsage, Tool, ToolCall,
};
use mindset_core::json::{Object, Value, parse};
use mindset_core::object;

fn s(text: &str) -> String {
    text.to_owned()
}

fn some(text: &str) -> Option<String> {
    Some(s(text))
}

fn json(text: &str) -> Value {
    parse(text).unwrap()
}

/// In the order of the schema, those of one type together.
pub(crate) fn events() -> Vec<Event> {
    let bodies = [text(), tools(), state(), other(), run(), reasoning(), subagents()].concat();
    bodies.into_iter().flat_map(with_base).collect()
}

/// The event alone, and with all that every event may have.
fn with_base(body: Body) -> [Event; 2] {
    let name = body.type_name();
    let attributable = !["RUN_", "SUBAGENT_", "MESSAGES_"].iter().any(|p| name.starts_with(p));
    let full = Event {
        body: body.clone(),
        timestamp: Some(1_796_001_162_452),
        metadata: Some(object! { "mindset": object! { "turnId": "t" }, "none": Value::Null }),
        subagent_run_id: attributable.then(|| s("sub")),
    };
    [Event::new(body), full]
}

fn text() -> Vec<Body> {
    let roles = [TextRole::Developer, TextRole::System, TextRole::Assistant, TextRole::User];
    let mut all: Vec<Body> = Vec::new();
    for role in roles {
        all.push(Body::TextMessageStart { message_id: s("m"), role, name: some("Ada") });
    }
    all.extend([
        Body::TextMessageStart { message_id: s("m"), role: TextRole::User, name: None },
        Body::TextMessageContent { message_id: s("m"), delta: s("\u{2028}🙂\n\"\\") },
        Body::TextMessageContent { message_id: s("m"), delta: s("") },
        Body::TextMessageEnd { message_id: s("m") },
        Body::TextMessageChunk {
            message_id: some("m"),
            role: Some(TextRole::Assistant),
            delta: some("d"),
            name: some("n"),
        },
        Body::TextMessageChunk { message_id: None, role: None, delta: None, name: None },
    ]);
    all
}

fn tools() -> Vec<Body> {
    vec![
        Body::ToolCallStart { tool_call_id: s("c"), tool_call_name: s("n"), parent_message_id: some("m") },
        Body::ToolCallStart { tool_call_id: s("c"), tool_call_name: s("n"), parent_message_id: None },
        Body::ToolCallArgs { tool_call_id: s("c"), delta: s("{\"a\":") },
        Body::ToolCallEnd { tool_call_id: s("c") },
        Body::ToolCallChunk {
            tool_call_id: some("c"),
            tool_call_name: some("n"),
            parent_message_id: some("m"),
            delta: some("{}"),
        },
        Body::ToolCallChunk {
            tool_call_id: None,
            tool_call_name: None,
            parent_message_id: None,
            delta: None,
        },
        Body::ToolCallResult { message_id: s("m"), tool_call_id: s("c"), content: "ok".into() },
        Body::ToolCallResult {
            message_id: s("m"),
            tool_call_id: s("c"),
            content: json(
                r#"[{"type":"text","text":"x"},{"type":"image","source":{"type":"url","value":"https://e.example/i"}}]"#,
            ),
        },
    ]
}

fn state() -> Vec<Body> {
    let patch = || {
        let text = r#"[{"op":"add","path":"/a~0b/-","value":null},{"op":"remove","path":"/x","value":"left over"},
            {"op":"replace","path":"","value":1},{"op":"move","from":"/a","path":"/b"},
            {"op":"copy","from":"/a","path":"/b"},{"op":"test","path":"/b","value":[]}]"#;
        json(text).as_array().unwrap().to_vec()
    };
    vec![
        Body::StateSnapshot { snapshot: json(r#"{"n":12345678901234567890}"#) },
        Body::StateSnapshot { snapshot: Value::Null },
        Body::StateDelta { delta: patch() },
        Body::StateDelta { delta: Vec::new() },
        Body::MessagesSnapshot { messages: messages() },
        Body::MessagesSnapshot { messages: Vec::new() },
        Body::ActivitySnapshot {
            message_id: s("m"),
            activity_type: s("plan"),
            content: object! { "k": Value::Null },
            replace: Some(false),
        },
        Body::ActivitySnapshot {
            message_id: s("m"),
            activity_type: s("plan"),
            content: Object::new(),
            replace: None,
        },
        Body::ActivityDelta { message_id: s("m"), activity_type: s("plan"), patch: patch() },
    ]
}

fn other() -> Vec<Body> {
    vec![
        Body::Raw { event: json("[1]"), source: some("provider") },
        Body::Raw { event: Value::Null, source: None },
        Body::Custom { name: s("mindset.run_queued"), value: json(r#"{"position":1}"#) },
    ]
}

fn run() -> Vec<Body> {
    let finished = |outcome, result: Option<&str>, usage| Body::RunFinished {
        thread_id: s("t"),
        run_id: s("r"),
        result: result.map(json),
        outcome,
        usage,
    };
    let full = Interrupt {
        id: s("i"),
        reason: s("tool_call"),
        message: some("may I?"),
        tool_call_id: some("c"),
        response_schema: Some(object! { "type": "object" }),
        expires_at: some("2026-12-01T00:00:00Z"),
        metadata: Some(object! { "mindset": object! { "k": 1_u64 } }),
    };
    let bare = Interrupt {
        id: s("j"),
        reason: s("input_required"),
        message: None,
        tool_call_id: None,
        response_schema: None,
        expires_at: None,
        metadata: None,
    };
    vec![
        Body::RunStarted {
            thread_id: s("t"),
            run_id: s("r"),
            protocol_version: some("1.0"),
            parent_run_id: some("p"),
        },
        Body::RunStarted { thread_id: s("t"), run_id: s("r"), protocol_version: None, parent_run_id: None },
        finished(None, None, Vec::new()),
        finished(Some(Outcome::Success { pending_tool_call_ids: Vec::new() }), Some("1"), usage()),
        finished(Some(Outcome::Success { pending_tool_call_ids: vec![s("c"), s("d")] }), None, usage()),
        finished(Some(Outcome::Interrupt { interrupts: vec![full, bare] }), None, Vec::new()),
        finished(Some(Outcome::Cancelled), Some("{\"a\":null}"), Vec::new()),
        Body::RunError { message: s("no"), code: some("busy"), usage: usage() },
        Body::RunError { message: s(""), code: None, usage: Vec::new() },
        Body::StepStarted { step_name: s("s") },
        Body::StepFinished { step_name: s("s") },
    ]
}

fn usage() -> Vec<TokenUsage> {
    let full = TokenUsage {
        provider: some("p"),
        model: some("m"),
        input_tokens: Some(1),
        output_tokens: Some(2),
        total_tokens: Some(3),
        reasoning_tokens: Some(4),
        cached_input_tokens: Some(5),
        cache_write_input_tokens: Some(6),
    };
    vec![full, TokenUsage::default()]
}

fn reasoning() -> Vec<Body> {
    vec![
        Body::ReasoningStart { message_id: s("m") },
        Body::ReasoningMessageStart { message_id: s("m") },
        Body::ReasoningMessageContent { message_id: s("m"), delta: s("hm") },
        Body::ReasoningMessageEnd { message_id: s("m") },
        Body::ReasoningMessageChunk { message_id: some("m"), delta: some("hm") },
        Body::ReasoningMessageChunk { message_id: None, delta: None },
        Body::ReasoningEnd { message_id: s("m") },
        Body::ReasoningEncryptedValue {
            subtype: s("tool-call"),
            entity_id: s("c"),
            encrypted_value: s("opaque"),
        },
    ]
}

fn subagents() -> Vec<Body> {
    vec![
        Body::SubagentStarted {
            subagent_run_id: s("sub"),
            name: s("n"),
            description: some("d"),
            parent_subagent_run_id: some("parent"),
            parent_tool_call_id: some("c"),
            parent_message_id: some("m"),
        },
        Body::SubagentStarted {
            subagent_run_id: s("sub"),
            name: s("n"),
            description: None,
            parent_subagent_run_id: None,
            parent_tool_call_id: None,
            parent_message_id: None,
        },
        Body::SubagentFinished { subagent_run_id: s("sub"), result: None, outcome: None },
        Body::SubagentFinished {
            subagent_run_id: s("sub"),
            result: Some(json("[]")),
            outcome: Some(json(r#"{"type":"suspended","interruptIds":["i"]}"#)),
        },
        Body::SubagentError { subagent_run_id: s("sub"), message: s("no"), code: some("c") },
        Body::SubagentError { subagent_run_id: s("sub"), message: s("no"), code: None },
    ]
}

fn messages() -> Vec<Message> {
    let mut assistant = Message::text("a", Role::Assistant, "");
    assistant.content = None;
    assistant.name = some("Ada");
    assistant.encrypted_value = some("opaque");
    assistant.metadata = Some(object! { "k": 1_u64 });
    assistant.tool_calls = vec![ToolCall { id: s("c"), name: s("n"), arguments: s("{not json") }];
    let mut tool = Message::text("t", Role::Tool, "done");
    tool.tool_call_id = some("c");
    tool.error = some("half");
    let mut parts = Message::text("u", Role::User, "");
    let text = r#"[{"type":"text","text":"look"},{"type":"image","source":{"type":"data","value":"AA==",
        "mimeType":"image/png"}}]"#;
    parts.content = Some(Content::Parts(json(text).as_array().unwrap().to_vec()));
    let mut activity = Message::text("p", Role::Activity, "");
    activity.content = None;
    activity.activity_type = some("plan");
    activity.activity = Some(object! { "steps": Vec::<Value>::new() });
    vec![
        Message::text("d", Role::Developer, "be kind"),
        Message::text("s", Role::System, "be brief"),
        Message::text("u0", Role::User, "hello"),
        Message::text("r", Role::Reasoning, "hm"),
        assistant,
        tool,
        parts,
        activity,
    ]
}

/// An input with everything in it.
pub(crate) fn input() -> RunAgentInput {
    let tool = |parameters: Option<&str>| Tool {
        name: s("paint"),
        description: s("Paints."),
        parameters: parameters.map(json),
        metadata: parameters.map(|_| object! { "k": true }),
    };
    let resume = |status: &str, payload: Option<&str>| ResumeEntry {
        interrupt_id: s("i"),
        status: s(status),
        payload: payload.map(json),
        metadata: payload.map(|_| Object::new()),
    };
    RunAgentInput {
        thread_id: s("t"),
        run_id: s("r"),
        protocol_version: some("1.0"),
        parent_run_id: some("p"),
        state: Some(json("[1]")),
        messages: messages(),
        tools: vec![tool(Some(r#"{"type":"object"}"#)), tool(None)],
        context: vec![Context { description: s("situational_awareness"), value: s("{}") }],
        forwarded_props: Some(json(r#"{"mindset":{"inputType":"HUMAN"}}"#)),
        resume: vec![resume("resolved", Some(r#"{"approved":true}"#)), resume("cancelled", None)],
    }
}
