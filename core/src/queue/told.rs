//! What a run that waits tells its readers before its turn begins, and how it ends if none does.

use crate::Millis;
use crate::agui::{Body, Event, Outcome, PROTOCOL_VERSION};
use crate::error::ErrorInfo;
use crate::json::{Object, Value};
use crate::object;

/// The first event of a run that waits, whose turn will have its own id; `parent` is the run that
/// has handed it its work.
pub fn run_started(thread_id: &str, run_id: &str, parent: Option<&str>, now: Millis) -> Event {
    let body = Body::RunStarted {
        thread_id: thread_id.to_owned(),
        run_id: run_id.to_owned(),
        protocol_version: Some(PROTOCOL_VERSION.to_owned()),
        parent_run_id: parent.map(str::to_owned),
    };
    event(body, object! { "turnId": run_id }, now)
}

/// The run waits, now at this place.
pub fn run_queued(position: usize, now: Millis) -> Event {
    custom("mindset.run_queued", object! { "position": position as u64 }, Object::new(), now)
}

/// The turn of the run begins, with this model; `mindset` is what the first event of a run that did
/// not wait says.
pub fn turn_started(model: Option<&str>, mindset: Object, now: Millis) -> Event {
    let mut value = Object::new();
    value.insert_some("model", model);
    custom("mindset.turn_started", value, mindset, now)
}

/// The running turn has read the run's message: the run is over, and that turn has its reply.
pub fn run_steered(thread_id: &str, run_id: &str, now: Millis) -> Event {
    let outcome = Outcome::Success { pending_tool_call_ids: Vec::new() };
    finished((thread_id, run_id), outcome, object! { "status": "steered" }, now)
}

/// The run gave up its place.
pub fn run_withdrawn(thread_id: &str, run_id: &str, now: Millis) -> Event {
    finished((thread_id, run_id), Outcome::Cancelled, Object::new(), now)
}

/// The run's turn could not begin.
pub fn run_failed(error: &ErrorInfo, now: Millis) -> Event {
    let body = Body::RunError {
        message: error.message.clone(),
        code: Some(error.code.as_str().to_owned()),
        usage: Vec::new(),
    };
    let mindset = object! { "reason": "internal", "retryable": error.retryable };
    event(body, mindset, now)
}

fn finished((thread_id, run_id): (&str, &str), outcome: Outcome, mindset: Object, now: Millis) -> Event {
    let body = Body::RunFinished {
        thread_id: thread_id.to_owned(),
        run_id: run_id.to_owned(),
        result: None,
        outcome: Some(outcome),
        usage: Vec::new(),
    };
    event(body, mindset, now)
}

fn custom(name: &str, value: Object, mindset: Object, now: Millis) -> Event {
    event(Body::Custom { name: name.to_owned(), value: Value::Object(value) }, mindset, now)
}

fn event(body: Body, mindset: Object, now: Millis) -> Event {
    let mut event = Event::new(body).with_mindset(mindset);
    event.timestamp = Some(now);
    event
}
