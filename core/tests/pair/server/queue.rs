//! Runs that wait: behind the turn of their conversation, or to be read by it.

use std::sync::{Arc, Mutex, MutexGuard};

use mindset_core::agui::{Event, RunAgentInput};
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::json::{Value, parse};
use mindset_core::object;
use mindset_core::queue::told;
use mindset_core::session::FetchRequest;
use mindset_core::turn::{RunState, Steer, StoredMessage, StoredRole};

use super::super::Effect;
use super::events::Run;
use super::{Server, read_input};

/// A run that waits.
pub(super) struct Wait {
    run: String,
    thread: String,
    body: String,
    message: StoredMessage,
    steers: bool,
    paused: bool,
    /// Since an earlier process: it goes on when it is posted again.
    parked: bool,
}

/// All of them, in order, and those that a turn has read.
#[derive(Default)]
pub struct Line {
    waiting: Vec<Wait>,
    read: Vec<(String, String)>,
}

#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Line>>);

impl Shared {
    pub(super) fn borrow(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap()
    }
}

impl Line {
    fn of<'a>(&'a self, thread: &'a str) -> impl Iterator<Item = &'a Wait> {
        self.waiting.iter().filter(move |wait| wait.thread == thread)
    }

    fn find(&mut self, run: &str) -> Option<&mut Wait> {
        self.waiting.iter_mut().find(|wait| wait.run == run)
    }
}

/// What a turn of `thread` reads before it asks its model.
pub(super) fn steers(line: &Shared, thread: &str) -> Vec<Steer> {
    let mut line = line.borrow();
    let (read, rest) = std::mem::take(&mut line.waiting)
        .into_iter()
        .partition::<Vec<_>, _>(|wait| wait.steers && !wait.paused && wait.thread == thread);
    line.waiting = rest;
    line.read.extend(read.iter().map(|wait| (wait.run.clone(), wait.thread.clone())));
    read.into_iter().map(|wait| Steer { run_id: wait.run, message: wait.message }).collect()
}

fn missing() -> ErrorInfo {
    ErrorInfo::new(ErrorCode::Conflict, "The run does not wait any more. It has begun, or is over.")
}

impl Server {
    /// Lets a run wait if it may and must; `false`: it begins now.
    pub(super) fn waits(&mut self, input: &RunAgentInput, body: &str, now: u64) -> bool {
        let wish = input.mindset("whenBusy").and_then(Value::as_str).map(str::to_owned);
        let thread = &input.thread_id;
        let runs = |run: &Run| run.turn.is_some() && run.thread == *thread;
        let waiting = self.line.borrow().of(thread).any(|wait| !wait.paused && wait.run != input.run_id);
        let conversation = self.conversation_of(thread);
        let open = !conversation.open_calls().is_empty() || !conversation.open_interrupts().is_empty();
        let (Some(wish), true) = (wish, self.runs.values().any(runs) || waiting || open) else {
            return false;
        };
        let said = input.messages.last().expect("a message");
        let text = said.plain_text();
        let message = StoredMessage::new(&said.id, &input.run_id, StoredRole::User, text, now);
        let (run, thread, steers) = (input.run_id.clone(), thread.clone(), wish == "steer");
        let stream = self.streams.len();
        self.streams.push(Vec::new());
        self.runs.insert(run.clone(), Run::new(None, thread.clone(), body.to_owned(), stream));
        self.tell(&run, &told::run_started(&thread, &run, None, now));
        let body = body.to_owned();
        let place = self.line.borrow().of(&thread).count() + 1;
        let wait = Wait { run: run.clone(), thread, body, message, steers, paused: false, parked: false };
        self.line.borrow().waiting.push(wait);
        if !steers {
            self.tell(&run, &told::run_queued(place, now));
        }
        true
    }

    fn tell(&mut self, run: &str, event: &Event) {
        let effects = self.record(run, event);
        self.pending.extend(effects);
    }

    /// A run that waits was posted again: one of an earlier process goes on.
    pub(super) fn unpark(&mut self, run: &str, now: u64) -> Result<(), ErrorInfo> {
        let mut line = self.line.borrow();
        let Some(wait) = line.find(run).filter(|wait| wait.parked) else { return Ok(()) };
        (wait.parked, wait.paused) = (false, false);
        drop(line);
        self.next_turns(now)
    }

    /// Whether a run of an earlier process waits with the message of `body`.
    pub(super) fn is_parked(&self, run: &str, body: &str) -> bool {
        let text = read_input(body).ok().and_then(|input| Some(input.messages.last()?.plain_text()));
        let mut line = self.line.borrow();
        line.find(run).is_some_and(|wait| wait.parked && Some(&wait.message.content) == text.as_ref())
    }

    /// What waits in a conversation, as lists show it.
    pub(super) fn queue_of(&self, thread: &str) -> Value {
        let line = self.line.borrow();
        let item = |(at, wait): (usize, &Wait)| {
            let state = match (wait.paused, wait.steers) {
                (true, _) => "paused",
                (_, true) => "steering",
                _ => "queued",
            };
            Value::Object(object! {
                "runId": &wait.run, "messageId": &wait.message.id, "text": &wait.message.content,
                "inputType": if wait.message.silent { "PSEUDO_HUMAN" } else { "HUMAN" },
                "position": at as u64 + 1, "state": state,
            })
        };
        Value::Array(line.of(thread).enumerate().map(item).collect())
    }

    /// `{ runId, state, position }`.
    pub(super) fn place_of(&self, run: &str) -> String {
        let line = self.line.borrow();
        let thread = line.waiting.iter().find(|wait| wait.run == run).map(|wait| wait.thread.as_str());
        let place = thread.and_then(|thread| line.of(thread).position(|wait| wait.run == run));
        let state = if place.is_some() { "queued" } else { "running" };
        object! { "runId": run, "state": state, "position": place.map_or(0, |at| at as u64 + 1) }.text()
    }

    /// What is asked about runs that wait.
    pub(super) fn change_line(
        &mut self,
        method: &str,
        segments: &[&str],
        request: &FetchRequest,
        now: u64,
    ) -> Result<String, ErrorInfo> {
        match (method, segments) {
            ("PATCH" | "DELETE", ["v1", "runs", run]) => self.change_run(run, request, now),
            ("POST", ["v1", "conversations", id, "queue", "resume"]) => self.resume_queue(id, request, now),
            _ => Err(ErrorInfo::new(ErrorCode::NotFound, "There is no such route.")),
        }
    }

    /// `PATCH`, `DELETE` of a run that waits.
    fn change_run(&mut self, run: &str, request: &FetchRequest, now: u64) -> Result<String, ErrorInfo> {
        self.authorize(request)?;
        let mut line = self.line.borrow();
        let wait = line.find(run).ok_or_else(missing)?;
        if request.method == "PATCH" {
            let body = parse(request.body.as_deref().unwrap_or("")).expect("JSON");
            body.str("text").expect("a text").clone_into(&mut wait.message.content);
            return Ok("{}".to_owned());
        }
        let thread = wait.thread.clone();
        line.waiting.retain(|wait| wait.run != run);
        drop(line);
        self.end_waiting(run, &told::run_withdrawn(&thread, run, now));
        self.next_turns(now)?;
        Ok(String::new())
    }

    /// `POST …/queue/resume`.
    fn resume_queue(&mut self, thread: &str, request: &FetchRequest, now: u64) -> Result<String, ErrorInfo> {
        self.authorize(request)?;
        for wait in self.line.borrow().waiting.iter_mut().filter(|wait| wait.thread == thread && !wait.parked)
        {
            wait.paused = false;
        }
        self.next_turns(now)?;
        Ok(object! { "queue": self.queue_of(thread) }.text())
    }

    fn end_waiting(&mut self, run: &str, event: &Event) {
        self.tell(run, event);
        let mut out = Vec::new();
        if let Some(run) = self.runs.get_mut(run) {
            for mut reader in std::mem::take(&mut run.readers) {
                reader.end(Ok(()), &mut out);
            }
        }
        self.pending.extend(out);
    }

    /// What a turn has read is over.
    pub(super) fn tell_steered(&mut self, now: u64) {
        let read = std::mem::take(&mut self.line.borrow().read);
        for (run, thread) in read {
            self.end_waiting(&run, &told::run_steered(&thread, &run, now));
        }
    }

    /// A run is over: after a stop the queue is paused.
    pub(super) fn over(&mut self, thread: &str, state: RunState) {
        if state == RunState::Waiting {
            return;
        }
        for wait in self.line.borrow().waiting.iter_mut().filter(|wait| wait.thread == thread) {
            wait.paused |= state == RunState::Cancelled;
            wait.steers = false;
        }
    }

    /// The process is another one: what waits is paused.
    pub(super) fn park(&mut self) {
        for wait in &mut self.line.borrow().waiting {
            (wait.parked, wait.paused, wait.steers) = (true, true, false);
        }
    }

    /// The user says something new: what was paused goes on behind it.
    pub(super) fn release(&mut self, thread: &str) {
        for wait in self.line.borrow().waiting.iter_mut().filter(|wait| wait.thread == thread && !wait.parked)
        {
            wait.paused = false;
        }
    }

    /// Begins what can begin.
    pub(super) fn next_turns(&mut self, now: u64) -> Result<(), ErrorInfo> {
        loop {
            let next = {
                let line = self.line.borrow();
                let free = |wait: &&Wait| {
                    let busy = self.runs.values().any(|run| run.turn.is_some() && run.thread == wait.thread);
                    let conversation = self.conversation_of(&wait.thread);
                    let open =
                        !conversation.open_calls().is_empty() || !conversation.open_interrupts().is_empty();
                    !wait.paused && !busy && !open
                };
                line.waiting.iter().position(|wait| free(&wait))
            };
            let Some(at) = next else { return Ok(()) };
            let wait = self.line.borrow().waiting.remove(at);
            let mut input = read_input(&wait.body)?;
            if let Some(last) = input.messages.last_mut() {
                last.content = Some(mindset_core::agui::Content::Text(wait.message.content.clone()));
            }
            let run = self.start(input, wait.body, now)?;
            let effects = self.drain(&run);
            self.pending.extend(effects);
        }
    }
}
