//! The order rules: one table that does not know which role it plays, so what we
//! send and what we receive are held to the same rules.
//!
//! A run begins with `RUN_STARTED` (or fails at once with `RUN_ERROR`) and nothing
//! follows its terminal event. Text messages, tool calls, reasoning messages,
//! steps and subagents start, go on and end under their id, any number at a time;
//! none may be open at `RUN_FINISHED`, all may at `RUN_ERROR`. Everything else,
//! the brackets around reasoning included, may stand anywhere in between.
//!
//! The table's letters ([`shapes`](super::shapes)): `t`ext message, tool `c`all,
//! `r`easoning message, `s`tep, sub`a`gent, `!` the run itself; `+` starts, `.`
//! goes on, `-` ends, `~` is a chunk: shorthand for all three, from producers that
//! learn where a message ends only when the next one begins.

use super::{Event, Reading, encode_event};
use crate::json::{Object, Value, concat, digits};

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
    /// Its letter.
    what: u8,
    id: String,
    /// The subagent it belongs to, empty for none.
    owner: String,
    /// Started by a chunk, so the end event is ours to make.
    chunked: bool,
}

fn noun(what: u8) -> &'static str {
    match what {
        b't' => "text message",
        b'c' => "tool call",
        b'r' => "reasoning message",
        b's' => "step",
        _ => "subagent",
    }
}

/// The start, content and end events that a chunk stands for.
fn expansion(what: u8) -> [&'static str; 3] {
    match what {
        b'c' => ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"],
        b'r' => ["REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END"],
        _ => ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"],
    }
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
    pub fn accept(&mut self, event: Event) -> Result<Vec<Event>, Violation> {
        let Value::Object(object) = encode_event(&event) else { return Ok(Vec::new()) };
        let read = self.accept_reading(Reading::known(event.body.type_name(), object))?;
        Ok(read.iter().map(Reading::to_event).collect())
    }

    /// The same for an event that is read and not taken apart.
    ///
    /// # Errors
    /// The rule it breaks; the run is over then.
    pub fn accept_reading(&mut self, mut event: Reading) -> Result<Vec<Reading>, Violation> {
        let mut out = Vec::new();
        self.take(&mut event, &mut out).map_err(|message| Violation { message })?;
        if event.place().1 != b'~' {
            out.push(event);
        }
        Ok(out)
    }

    /// Whether the run's last event was accepted.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    fn take(&mut self, event: &mut Reading, out: &mut Vec<Reading>) -> Result<(), String> {
        self.check_run(event)?;
        self.fill_id(event);
        if event.place().1 == b'~' {
            return self.take_chunk(event, out);
        }
        self.close_lanes(event, out);
        self.check(event, false)
    }

    /// Whether `event` may stand at this point of the run at all.
    fn check_run(&mut self, event: &Reading) -> Result<(), String> {
        let name = event.kind();
        if self.ended {
            return violation("% after the end of the run", name, "", "");
        }
        match name {
            "RUN_STARTED" if self.run.is_some() => violation("% while a run is still active", name, "", ""),
            "RUN_STARTED" => {
                self.run = Some(event.str("runId").to_owned());
                Ok(())
            }
            "RUN_ERROR" => {
                self.ended = true;
                Ok(())
            }
            _ if self.run.is_none() => violation("First event must be RUN_STARTED, not %", name, "", ""),
            _ => Ok(()),
        }
    }

    fn check(&mut self, event: &Reading, chunked: bool) -> Result<(), String> {
        let name = event.kind();
        if name == "RUN_FINISHED" {
            self.ended = true;
            if let Some(open) = self.open.first() {
                return violation("% while $ '@' is still active", name, noun(open.what), &open.id);
            }
        }
        let (what, act) = event.place();
        if !matches!(act, b'+' | b'.' | b'-') {
            return Ok(());
        }
        let (id, owner) = (event.str(event.id_key()), event.subagent().unwrap_or(""));
        // Steps have names, not ids: two subagents may be in a step of one name.
        let is_it = |o: &Open| o.what == what && o.id == id && (what != b's' || o.owner == owner);
        let rule = match (self.open.iter().position(is_it), act) {
            (Some(_), b'+') => "%: A $ with ID '@' is already in progress",
            (None, b'+') => {
                self.open.push(Open { what, id: id.to_owned(), owner: owner.to_owned(), chunked });
                return Ok(());
            }
            (Some(at), b'-') => {
                self.open.remove(at);
                return Ok(());
            }
            (Some(_), _) => return Ok(()),
            (None, _) if matches!(what, b's' | b'a') => "% for $ '@' that was not started",
            (None, _) => "%: No active $ found with ID '@'",
        };
        violation(rule, name, noun(what), id)
    }

    /// The time, metadata and attribution of a chunk go over to what comes out.
    fn take_chunk(&mut self, chunk: &mut Reading, out: &mut Vec<Reading>) -> Result<(), String> {
        let (name, key, (what, _)) = (chunk.kind(), chunk.id_key(), chunk.place());
        let [start, go, _] = expansion(what);
        let delta = chunk.take("delta");
        let owner = chunk.subagent().unwrap_or("").to_owned();
        let lane = self.lane(what, chunk.get(key).and_then(Value::as_str), &owner);
        let (id, owner) = match lane {
            Some(lane) => (lane.id.clone(), lane.owner.clone()),
            None => {
                for needed in [key, "toolCallName"] {
                    if chunk.get(needed).is_none() && (needed == key || what == b'c') {
                        return violation("First % must have a $", name, needed, "");
                    }
                }
                self.close(Some(&owner), None, None, out);
                let event = Reading::known(start, chunk.object_mut().clone());
                self.check(&event, true)?;
                out.push(event);
                (chunk.str(key).to_owned(), owner)
            }
        };
        // A chunk that brings nothing but metadata must still bring it.
        if delta.is_some() || (out.is_empty() && chunk.get("metadata").is_some()) {
            let mut object = std::mem::take(chunk.object_mut());
            object.insert(key, id);
            object.insert("delta", delta.unwrap_or_else(|| "".into()));
            attribute(&mut object, &owner);
            out.push(Reading::known(go, object));
        }
        Ok(())
    }

    /// What a chunk goes on with: what it names, or else what its subagent has
    /// open, or else the only one there is.
    fn lane(&self, what: u8, id: Option<&str>, owner: &str) -> Option<&Open> {
        let mut only = None;
        for lane in self.open.iter().filter(|o| o.chunked && o.what == what) {
            if id.map_or(lane.owner == owner, |id| lane.id == id) {
                return Some(lane);
            }
            only = if only.is_none() { Some(Some(lane)) } else { Some(None) };
        }
        only.flatten().filter(|_| id.is_none() && owner.is_empty())
    }

    /// Ends what chunks opened and `event` shows to be over: everything at the
    /// end of the run, otherwise what the same subagent streamed before this.
    fn close_lanes(&mut self, event: &Reading, out: &mut Vec<Reading>) {
        let owner = event.subagent().unwrap_or("");
        let id = event.str(event.id_key());
        match (event.kind(), event.place().0) {
            ("RUN_FINISHED" | "RUN_ERROR", _) => self.close(None, None, None, out),
            ("TOOL_CALL_RESULT", _) => self.close(Some(owner), None, Some(event.str("toolCallId")), out),
            ("REASONING_START" | "REASONING_END", _) => self.close(Some(owner), None, None, out),
            (_, b't' | b'c' | b'r') => self.close(Some(owner), Some(id), None, out),
            _ => {}
        }
    }

    /// Ends what chunks opened for `owner` or, if `None`, for anybody, `besides`
    /// excepted, and the call `call`.
    fn close(
        &mut self,
        owner: Option<&str>,
        besides: Option<&str>,
        call: Option<&str>,
        out: &mut Vec<Reading>,
    ) {
        for open in std::mem::take(&mut self.open) {
            let id = Some(open.id.as_str());
            let over = id == call || owner.is_none_or(|owner| open.owner == owner) && id != besides;
            if !(open.chunked && over) {
                self.open.push(open);
                continue;
            }
            let [_, _, end] = expansion(open.what);
            let mut event = Reading::known(end, Object::new());
            let key = event.id_key();
            event.object_mut().insert(key, open.id);
            attribute(event.object_mut(), &open.owner);
            out.push(event);
        }
    }

    /// Gives reasoning of older peers, which has no ids, one id per pair of
    /// brackets.
    fn fill_id(&mut self, event: &mut Reading) {
        let kind = event.kind();
        if kind == "REASONING_START" {
            self.thinking = false;
        }
        let own = kind.starts_with("REASONING_") && event.place().1 != b'~';
        if !own || event.get("messageId").and_then(Value::as_str) != Some("") {
            return;
        }
        if kind.ends_with("_START") && !self.thinking {
            self.thoughts += 1;
        }
        let run = self.run.as_deref().unwrap_or_default();
        let id = concat(&[run, ":thinking:", &digits(u64::from(self.thoughts))]);
        event.object_mut().insert("messageId", id);
        match kind {
            "REASONING_START" => self.thinking = true,
            "REASONING_END" => self.thinking = false,
            _ => {}
        }
    }
}

/// Says which subagent an event belongs to, if any.
fn attribute(object: &mut Object, owner: &str) {
    object.remove("subagentRunId");
    object.insert_some("subagentRunId", (!owner.is_empty()).then_some(owner));
}

/// A broken rule: `%` in its text is the event, `$` what it is about and `@` its id.
fn violation(rule: &str, event: &str, what: &str, id: &str) -> Result<(), String> {
    let mut out = String::new();
    for c in rule.chars() {
        match c {
            '%' => out.push_str(event),
            '$' => out.push_str(what),
            '@' => out.push_str(id),
            c => out.push(c),
        }
    }
    Err(out)
}

#[cfg(test)]
mod tests;
