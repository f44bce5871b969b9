//! The order rules: one table that does not know which role it plays, so what we
//! send and what we receive are held to the same rules.
//!
//! A run begins with `RUN_STARTED` (or fails at once with `RUN_ERROR`) and nothing
//! follows its terminal event. Text messages, tool calls, reasoning messages,
//! steps and subagents start, go on and end under their id, any number at a time;
//! none may be open at `RUN_FINISHED`, all may at `RUN_ERROR`. Everything else,
//! the brackets around reasoning included, may stand anywhere in between.

use super::{Body, Event};

/// An event that must not stand where it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What is wrong, naming the event and the rule.
    pub message: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Violation {}

/// Follows one run, event by event.
#[derive(Debug, Default)]
pub struct Order {
    /// The run, once it has started.
    run: Option<String>,
    ended: bool,
    open: Vec<Open>,
    /// How many reasoning ids were made, and whether the last one's brackets are
    /// open.
    thoughts: u32,
    thinking: bool,
}

/// Something that has started and not ended.
#[derive(Debug)]
struct Open {
    kind: Kind,
    id: String,
    /// The subagent it belongs to.
    owner: Option<String>,
    /// Started by a chunk, so the end event is ours to make.
    chunked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Tool,
    Reasoning,
    Step,
    Subagent,
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Kind::Text => "text message",
            Kind::Tool => "tool call",
            Kind::Reasoning => "reasoning message",
            Kind::Step => "step",
            Kind::Subagent => "subagent",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Start,
    Go,
    End,
}

/// The table: what starts, goes on with or ends what.
fn place(body: &Body) -> Option<(Kind, Act, &str)> {
    Some(match body {
        Body::TextMessageStart { message_id, .. } => (Kind::Text, Act::Start, message_id),
        Body::TextMessageContent { message_id, .. } => (Kind::Text, Act::Go, message_id),
        Body::TextMessageEnd { message_id } => (Kind::Text, Act::End, message_id),
        Body::ToolCallStart { tool_call_id, .. } => (Kind::Tool, Act::Start, tool_call_id),
        Body::ToolCallArgs { tool_call_id, .. } => (Kind::Tool, Act::Go, tool_call_id),
        Body::ToolCallEnd { tool_call_id } => (Kind::Tool, Act::End, tool_call_id),
        Body::ReasoningMessageStart { message_id } => (Kind::Reasoning, Act::Start, message_id),
        Body::ReasoningMessageContent { message_id, .. } => (Kind::Reasoning, Act::Go, message_id),
        Body::ReasoningMessageEnd { message_id } => (Kind::Reasoning, Act::End, message_id),
        Body::StepStarted { step_name } => (Kind::Step, Act::Start, step_name),
        Body::StepFinished { step_name } => (Kind::Step, Act::End, step_name),
        Body::SubagentStarted { subagent_run_id, .. } => (Kind::Subagent, Act::Start, subagent_run_id),
        Body::SubagentFinished { subagent_run_id, .. } | Body::SubagentError { subagent_run_id, .. } => {
            (Kind::Subagent, Act::End, subagent_run_id)
        }
        _ => return None,
    })
}

impl Order {
    /// Before the first event.
    pub fn new() -> Order {
        Order::default()
    }

    /// Takes the next event. Chunk events come out as the start, content and end
    /// events they stand for; every other event comes out as itself, after the end
    /// events of what it closes.
    ///
    /// # Errors
    /// The rule it breaks; the run is over then.
    pub fn accept(&mut self, mut event: Event) -> Result<Vec<Event>, Violation> {
        self.check_run(&event.body)?;
        self.fill_id(&mut event.body);
        let mut out = Vec::new();
        match Chunk::of(&event.body) {
            Some(chunk) => self.accept_chunk(chunk, event, &mut out)?,
            None => {
                self.close_lanes(&event, &mut out);
                self.check(&event, false)?;
                out.push(event);
            }
        }
        Ok(out)
    }

    /// Whether the run's last event was accepted.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Whether `body` may stand at this point of the run at all.
    fn check_run(&mut self, body: &Body) -> Result<(), Violation> {
        let name = body.type_name();
        if self.ended {
            return violation(&[name, " after the end of the run"]);
        }
        match body {
            Body::RunStarted { .. } if self.run.is_some() => {
                return violation(&[name, " while a run is still active"]);
            }
            Body::RunStarted { run_id, .. } => self.run = Some(run_id.clone()),
            Body::RunError { .. } => self.ended = true,
            _ if self.run.is_none() => {
                return violation(&["First event must be RUN_STARTED, not ", name]);
            }
            _ => {}
        }
        Ok(())
    }

    fn check(&mut self, event: &Event, chunked: bool) -> Result<(), Violation> {
        let name = event.body.type_name();
        if let Body::RunFinished { .. } = event.body {
            self.ended = true;
            if let Some(open) = self.open.first() {
                return violation(&[name, " while ", open.kind.noun(), " '", &open.id, "' is still active"]);
            }
        }
        let Some((kind, act, id)) = place(&event.body) else { return Ok(()) };
        // Steps have names, not ids: two subagents may be in a step of one name.
        let owner = &event.subagent_run_id;
        let is_it = |o: &Open| o.kind == kind && o.id == id && (kind != Kind::Step || o.owner == *owner);
        match (self.open.iter().position(is_it), act) {
            (Some(_), Act::Start) => {
                return violation(&[name, ": A ", kind.noun(), " with ID '", id, "' is already in progress"]);
            }
            (None, Act::Start) => {
                let owner = owner.clone();
                self.open.push(Open { kind, id: id.to_owned(), owner, chunked });
            }
            (Some(at), Act::End) => {
                self.open.remove(at);
            }
            (Some(_), Act::Go) => {}
            (None, _) if matches!(kind, Kind::Step | Kind::Subagent) => {
                return violation(&[name, " for ", kind.noun(), " '", id, "' that was not started"]);
            }
            (None, _) => {
                return violation(&[name, ": No active ", kind.noun(), " found with ID '", id, "'"]);
            }
        }
        Ok(())
    }

    /// `base` is the chunk event: its time, metadata and attribution go over to what
    /// comes out.
    fn accept_chunk(&mut self, chunk: Chunk, base: Event, out: &mut Vec<Event>) -> Result<(), Violation> {
        let Chunk { kind, id, delta, start } = chunk;
        let name = base.body.type_name();
        let lane = self.lane(kind, id.as_deref(), &base.subagent_run_id);
        let (id, owner) = match lane {
            Some(lane) => (lane.id.clone(), lane.owner.clone()),
            None => {
                let Some(id) = id else {
                    let field = if kind == Kind::Tool { "toolCallId" } else { "messageId" };
                    return violation(&["First ", name, " must have a ", field]);
                };
                let Some(start) = start else {
                    return violation(&["First ", name, " must have a toolCallName"]);
                };
                let owner = base.subagent_run_id.clone();
                self.close(|o| o.owner == owner, out);
                let start = Event { body: start, ..base.clone() };
                self.check(&start, true)?;
                out.push(start);
                (id, owner)
            }
        };
        // A chunk that brings nothing but metadata must still bring it.
        if delta.is_some() || (out.is_empty() && base.metadata.is_some()) {
            let body = go(kind, id, delta.unwrap_or_default());
            out.push(Event { body, subagent_run_id: owner, ..base });
        }
        Ok(())
    }

    /// What a chunk goes on with: what it names, or else what its subagent has
    /// open, or else the only one there is.
    fn lane(&self, kind: Kind, id: Option<&str>, owner: &Option<String>) -> Option<&Open> {
        let mut lanes = self.open.iter().filter(|o| o.chunked && o.kind == kind);
        if let Some(id) = id {
            return lanes.find(|o| o.id == id);
        }
        if let Some(own) = lanes.clone().find(|o| o.owner == *owner) {
            return Some(own);
        }
        let only = lanes.next().filter(|_| owner.is_none());
        if lanes.next().is_some() { None } else { only }
    }

    /// Ends what chunks opened and `event` shows to be over: everything at the
    /// end of the run, otherwise what the same subagent streamed before this.
    fn close_lanes(&mut self, event: &Event, out: &mut Vec<Event>) {
        let owner = &event.subagent_run_id;
        match &event.body {
            Body::RunFinished { .. } | Body::RunError { .. } => self.close(|_| true, out),
            Body::ToolCallResult { tool_call_id, .. } => {
                self.close(|o| o.owner == *owner || o.id == *tool_call_id, out);
            }
            Body::ReasoningStart { .. } | Body::ReasoningEnd { .. } => self.close(|o| o.owner == *owner, out),
            body => {
                if let Some((Kind::Text | Kind::Tool | Kind::Reasoning, _, id)) = place(body) {
                    self.close(|o| o.owner == *owner && o.id != id, out);
                }
            }
        }
    }

    /// Ends what chunks opened, as far as `which` holds.
    fn close(&mut self, which: impl Fn(&Open) -> bool, out: &mut Vec<Event>) {
        self.open.retain(|open| {
            let over = open.chunked && which(open);
            if over {
                let mut event = Event::new(end(open.kind, open.id.clone()));
                event.subagent_run_id.clone_from(&open.owner);
                out.push(event);
            }
            !over
        });
    }

    /// Gives reasoning of older peers, which has no ids, one id per pair of
    /// brackets.
    fn fill_id(&mut self, body: &mut Body) {
        let (id, opens) = match body {
            Body::ReasoningStart { message_id } => {
                self.thinking = false;
                (message_id, true)
            }
            Body::ReasoningMessageStart { message_id } => (message_id, true),
            Body::ReasoningMessageContent { message_id, .. }
            | Body::ReasoningMessageEnd { message_id }
            | Body::ReasoningEnd { message_id } => (message_id, false),
            _ => return,
        };
        if !id.is_empty() {
            return;
        }
        if opens && !self.thinking {
            self.thoughts += 1;
        }
        let run = self.run.as_deref().unwrap_or_default();
        *id = [run, ":thinking:", &self.thoughts.to_string()].concat();
        match body {
            Body::ReasoningStart { .. } => self.thinking = true,
            Body::ReasoningEnd { .. } => self.thinking = false,
            _ => {}
        }
    }
}

/// The three chunk events, seen as one.
struct Chunk {
    kind: Kind,
    id: Option<String>,
    delta: Option<String>,
    /// The start event it stands for if it is the first, `None` if it lacks what
    /// that needs.
    start: Option<Body>,
}

impl Chunk {
    fn of(body: &Body) -> Option<Chunk> {
        let (kind, id, delta) = match body {
            Body::TextMessageChunk { message_id, delta, .. } => (Kind::Text, message_id, delta),
            Body::ToolCallChunk { tool_call_id, delta, .. } => (Kind::Tool, tool_call_id, delta),
            Body::ReasoningMessageChunk { message_id, delta } => (Kind::Reasoning, message_id, delta),
            _ => return None,
        };
        let known = id.clone().unwrap_or_default();
        let start = match body {
            Body::TextMessageChunk { role, name, .. } => Some(Body::TextMessageStart {
                message_id: known,
                role: role.unwrap_or_default(),
                name: name.clone(),
            }),
            Body::ToolCallChunk { tool_call_name, parent_message_id, .. } => {
                tool_call_name.clone().map(|tool_call_name| Body::ToolCallStart {
                    tool_call_id: known,
                    tool_call_name,
                    parent_message_id: parent_message_id.clone(),
                })
            }
            _ => Some(Body::ReasoningMessageStart { message_id: known }),
        };
        Some(Chunk { kind, id: id.clone(), delta: delta.clone(), start })
    }
}

fn go(kind: Kind, id: String, delta: String) -> Body {
    match kind {
        Kind::Tool => Body::ToolCallArgs { tool_call_id: id, delta },
        Kind::Reasoning => Body::ReasoningMessageContent { message_id: id, delta },
        _ => Body::TextMessageContent { message_id: id, delta },
    }
}

fn end(kind: Kind, id: String) -> Body {
    match kind {
        Kind::Tool => Body::ToolCallEnd { tool_call_id: id },
        Kind::Reasoning => Body::ReasoningMessageEnd { message_id: id },
        _ => Body::TextMessageEnd { message_id: id },
    }
}

fn violation(parts: &[&str]) -> Result<(), Violation> {
    Err(Violation { message: parts.concat() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agui::{decode_event, encode_event};
    use crate::json::{Value, parse};
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Plays events written as `TYPE id`, with `~subagent` and `=delta` behind, and
    /// gives back what comes out, or the violation.
    fn play(events: &str) -> String {
        let mut order = Order::new();
        let mut out = Vec::new();
        for event in events.split(", ") {
            match order.accept(read(event)) {
                Ok(events) => out.extend(events.iter().map(shown)),
                Err(violation) => return violation.message,
            }
        }
        assert_eq!(order.is_ended(), events.contains("RUN_FINISHED") || events.contains("RUN_ERROR"));
        out.join(", ")
    }

    fn read(event: &str) -> Event {
        let (event, owner) = event.split_once('~').unwrap_or((event, ""));
        let (event, delta) = event.split_once('=').unwrap_or((event, ""));
        let (kind, id) = event.split_once(' ').unwrap_or((event, ""));
        let mut o = crate::object! { "type": kind };
        for (key, value) in [("subagentRunId", owner), ("delta", delta)] {
            o.insert_some(key, (!value.is_empty()).then_some(value));
        }
        let chunk = kind.contains("CHUNK");
        for key in ["messageId", "toolCallId", "stepName", "threadId", "runId", "message", "name"] {
            let named = kind == "SUBAGENT_STARTED" && key == "name";
            o.insert_some(key, ((!chunk || !id.is_empty()) && (key != "name" || named)).then_some(id));
        }
        if kind.starts_with("SUBAGENT") {
            o.insert("subagentRunId", id);
        }
        if kind == "TOOL_CALL_START" || kind == "TOOL_CALL_CHUNK" && id != "nameless" {
            o.insert("toolCallName", "tool");
        }
        if kind == "TOOL_CALL_RESULT" {
            o.insert("content", "");
        }
        if delta.is_empty() && (kind.ends_with("CONTENT") || kind.ends_with("ARGS")) {
            o.insert("delta", "");
        }
        decode_event(&Value::Object(o)).unwrap().0
    }

    fn shown(event: &Event) -> String {
        let o = encode_event(event);
        let text = |key| o.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
        let id = place(&event.body).map_or("", |(_, _, id)| id);
        let mut out = [event.body.type_name(), " ", id].concat().trim_end().to_owned();
        for (mark, key) in [("=", "delta"), ("~", "subagentRunId")] {
            if !text(key).is_empty() && text(key) != id {
                out = [out.as_str(), mark, &text(key)].concat();
            }
        }
        out
    }

    #[test]
    fn accepted_as_they_are() {
        for events in [
            "RUN_STARTED, RUN_FINISHED",
            "RUN_ERROR",
            "RUN_STARTED, TEXT_MESSAGE_START a, TEXT_MESSAGE_CONTENT a, TEXT_MESSAGE_END a, RUN_FINISHED",
            "RUN_STARTED, TEXT_MESSAGE_START a, TOOL_CALL_START b, TEXT_MESSAGE_START c, TOOL_CALL_ARGS b, \
             TEXT_MESSAGE_END a, TEXT_MESSAGE_END c, TOOL_CALL_END b, TOOL_CALL_RESULT, RUN_FINISHED",
            "RUN_STARTED, TEXT_MESSAGE_START a, TOOL_CALL_START a, STEP_STARTED a, SUBAGENT_STARTED a, RUN_ERROR",
            "RUN_STARTED, STEP_STARTED a, STEP_STARTED a~s, STEP_FINISHED a~s, STEP_FINISHED a, RUN_FINISHED",
            "RUN_STARTED, TEXT_MESSAGE_START a, TEXT_MESSAGE_END a, TEXT_MESSAGE_START a, TEXT_MESSAGE_END a",
            "RUN_STARTED, SUBAGENT_STARTED s, TEXT_MESSAGE_START a~s, TEXT_MESSAGE_END a~s, SUBAGENT_ERROR s",
        ] {
            assert_eq!(play(events), events);
        }
    }

    #[test]
    fn refused_with_the_rule() {
        for (events, rule) in [
            ("TEXT_MESSAGE_START a", "First event must be RUN_STARTED, not TEXT_MESSAGE_START"),
            ("RUN_STARTED, RUN_STARTED", "RUN_STARTED while a run is still active"),
            ("RUN_STARTED, RUN_FINISHED, RUN_STARTED", "RUN_STARTED after the end of the run"),
            ("RUN_STARTED, RUN_ERROR, RUN_FINISHED", "RUN_FINISHED after the end of the run"),
            (
                "RUN_STARTED, TEXT_MESSAGE_CONTENT a",
                "TEXT_MESSAGE_CONTENT: No active text message found with ID 'a'",
            ),
            ("RUN_STARTED, TOOL_CALL_END a", "TOOL_CALL_END: No active tool call found with ID 'a'"),
            (
                "RUN_STARTED, REASONING_MESSAGE_CONTENT a",
                "REASONING_MESSAGE_CONTENT: No active reasoning message found with ID 'a'",
            ),
            (
                "RUN_STARTED, TOOL_CALL_START a, TOOL_CALL_START a",
                "TOOL_CALL_START: A tool call with ID 'a' is already in progress",
            ),
            ("RUN_STARTED, STEP_FINISHED a", "STEP_FINISHED for step 'a' that was not started"),
            (
                "RUN_STARTED, STEP_STARTED a~s, STEP_FINISHED a",
                "STEP_FINISHED for step 'a' that was not started",
            ),
            ("RUN_STARTED, SUBAGENT_ERROR s", "SUBAGENT_ERROR for subagent 's' that was not started"),
            (
                "RUN_STARTED, TEXT_MESSAGE_START a, RUN_FINISHED",
                "RUN_FINISHED while text message 'a' is still active",
            ),
            ("RUN_STARTED, STEP_STARTED a, RUN_FINISHED", "RUN_FINISHED while step 'a' is still active"),
            ("RUN_STARTED, TEXT_MESSAGE_CHUNK", "First TEXT_MESSAGE_CHUNK must have a messageId"),
            ("RUN_STARTED, TOOL_CALL_CHUNK", "First TOOL_CALL_CHUNK must have a toolCallId"),
            ("RUN_STARTED, TOOL_CALL_CHUNK nameless", "First TOOL_CALL_CHUNK must have a toolCallName"),
            (
                "RUN_STARTED, TEXT_MESSAGE_CHUNK a~s, TEXT_MESSAGE_CHUNK b~t, TEXT_MESSAGE_CHUNK",
                "First TEXT_MESSAGE_CHUNK must have a messageId",
            ),
        ] {
            assert_eq!(play(events), rule, "{events}");
        }
    }

    #[test]
    fn chunks_stand_for_start_content_and_end() {
        for (events, expanded) in [
            (
                "TEXT_MESSAGE_CHUNK a=x, STATE_SNAPSHOT, TEXT_MESSAGE_CHUNK=y, TEXT_MESSAGE_CHUNK b, RUN_FINISHED",
                "TEXT_MESSAGE_START a, TEXT_MESSAGE_CONTENT a=x, STATE_SNAPSHOT, TEXT_MESSAGE_CONTENT a=y, \
                 TEXT_MESSAGE_END a, TEXT_MESSAGE_START b, TEXT_MESSAGE_END b, RUN_FINISHED",
            ),
            (
                "REASONING_MESSAGE_CHUNK r=x, TOOL_CALL_CHUNK c={, TOOL_CALL_RESULT c, RUN_ERROR",
                "REASONING_MESSAGE_START r, REASONING_MESSAGE_CONTENT r=x, REASONING_MESSAGE_END r, \
                 TOOL_CALL_START c, TOOL_CALL_ARGS c={, TOOL_CALL_END c, TOOL_CALL_RESULT, RUN_ERROR",
            ),
            (
                "TEXT_MESSAGE_CHUNK a=x~s, TEXT_MESSAGE_CHUNK b=y, TEXT_MESSAGE_CHUNK=z~s, TEXT_MESSAGE_END a~s, \
                 TEXT_MESSAGE_CHUNK=w, TEXT_MESSAGE_START c, RUN_ERROR",
                "TEXT_MESSAGE_START a~s, TEXT_MESSAGE_CONTENT a=x~s, TEXT_MESSAGE_START b, \
                 TEXT_MESSAGE_CONTENT b=y, TEXT_MESSAGE_CONTENT a=z~s, TEXT_MESSAGE_END a~s, \
                 TEXT_MESSAGE_CONTENT b=w, TEXT_MESSAGE_END b, TEXT_MESSAGE_START c, RUN_ERROR",
            ),
            (
                "TEXT_MESSAGE_CHUNK a~s, TEXT_MESSAGE_CHUNK=x, RUN_ERROR",
                "TEXT_MESSAGE_START a~s, TEXT_MESSAGE_CONTENT a=x~s, TEXT_MESSAGE_END a~s, RUN_ERROR",
            ),
        ] {
            assert_eq!(
                play(&["RUN_STARTED, ", events].concat()),
                ["RUN_STARTED, ", expanded].concat(),
                "{events}"
            );
        }
    }

    #[test]
    fn metadata_of_a_chunk_without_text_is_kept() {
        let mut order = Order::new();
        let mut accept = |text: &str| order.accept(decode_event(&parse(text).unwrap()).unwrap().0).unwrap();
        accept(r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#);
        accept(r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"a"}"#);
        let out = accept(r#"{"type":"TEXT_MESSAGE_CHUNK","metadata":{"k":1}}"#);
        assert_eq!(out.len(), 1);
        assert_eq!(
            encode_event(&out[0]).to_string(),
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"","metadata":{"k":1}}"#
        );
    }

    #[test]
    fn reasoning_of_older_peers_gets_ids() {
        let mut order = Order::new();
        let mut ids = Vec::new();
        for kind in [
            "RUN_STARTED",
            "START",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "END",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_END",
        ] {
            let kind = if kind == "RUN_STARTED" { kind.to_owned() } else { ["THINKING_", kind].concat() };
            let o = crate::object! { "type": kind, "threadId": "t", "runId": "r", "delta": "x" };
            for event in order.accept(decode_event(&Value::Object(o)).unwrap().0).unwrap() {
                ids.extend(encode_event(&event).get("messageId").and_then(Value::as_str).map(str::to_owned));
            }
        }
        let first = "r:thinking:1";
        assert_eq!(ids, [first, first, first, first, first, "r:thinking:2", "r:thinking:2"]);
    }
}
