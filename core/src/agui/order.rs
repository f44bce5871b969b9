//! The order rules: one table that does not know which role it plays, so what we
//! send and what we receive are held to the same rules.
//!
//! A run begins with `RUN_STARTED` (or fails at once with `RUN_ERROR`) and nothing
//! follows its terminal event. Text messages, tool calls, reasoning messages,
//! steps and subagents start, go on and end under their id, any number at a time;
//! none may be open at `RUN_FINISHED`, all may at `RUN_ERROR`. Everything else,
//! the brackets around reasoning included, may stand anywhere in between.

use super::chunk::{Chunk, end, go};
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
pub(super) enum Kind {
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
                let mut event = Event::new(start);
                event.timestamp = base.timestamp;
                event.metadata.clone_from(&base.metadata);
                event.subagent_run_id.clone_from(&owner);
                self.check(&event, true)?;
                out.push(event);
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

fn violation(parts: &[&str]) -> Result<(), Violation> {
    Err(Violation { message: parts.concat() })
}

#[cfg(test)]
mod tests;
