//! The log of each run: events are kept from the first on, whoever reads them, and read
//! again from any place.

use mindset_core::agui::{Body, Event, Order, decode_event, encode_event};
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::json::{Object, Value, parse};
use mindset_core::object;
use mindset_core::queue::told;
use mindset_core::session::{FetchId, FetchRequest};
use mindset_core::sse;
use mindset_core::turn::{Conversation, Turn, recover};

use super::super::network::{Network, Reader};
use super::super::{Effect, Part};
use super::{Server, answer};

/// A run and everything it said.
pub(super) struct Run {
    pub(super) turn: Option<Turn>,
    /// Whether it had a turn.
    pub(super) began: bool,
    pub(super) thread: String,
    /// The turn it belongs to, once it has said so.
    pub(super) turn_id: String,
    /// What was posted.
    pub(super) body: String,
    /// Which of the streams is its.
    pub(super) stream: usize,
    pub(super) readers: Vec<Reader>,
    order: Order,
    /// Its events as bytes, the first one first; `None` when the log is gone.
    log: Option<Vec<Vec<u8>>>,
    /// The same as they were said.
    said: Vec<Event>,
    seq: u64,
    /// Its last event.
    pub(super) end: Option<Value>,
    /// Which model call runs; events of others come too late.
    pub(super) call: u64,
    /// How often its tools were dropped; results from before come too late.
    pub(super) aborted_tools: u64,
}

impl Run {
    pub(super) fn new(turn: Option<Turn>, thread: String, body: String, stream: usize) -> Run {
        Run {
            began: turn.is_some(),
            turn,
            thread,
            turn_id: String::new(),
            body,
            stream,
            readers: Vec::new(),
            order: Order::new(),
            log: Some(Vec::new()),
            said: Vec::new(),
            seq: 0,
            end: None,
            call: 0,
            aborted_tools: 0,
        }
    }

    /// The event as bytes of the stream, kept in the log; on the way it is held to the
    /// protocol.
    pub(super) fn record(&mut self, id: &str, event: &Event) -> Vec<u8> {
        let json = encode_event(event);
        let (read, ignored) = decode_event(&json).expect("an event of ours decodes");
        assert_eq!((&read, ignored.len()), (event, 0));
        self.order.accept(read).expect("our own order");
        match &event.body {
            Body::RunStarted { .. } => {
                let turn = event.mindset("turnId").and_then(Value::as_str);
                self.turn_id = turn.unwrap_or(id).to_owned();
            }
            Body::RunFinished { .. } | Body::RunError { .. } => self.end = Some(json.clone()),
            _ => {}
        }
        self.said.push(event.clone());
        self.seq += 1;
        let bytes = sse::encode(&format!("{id}:{}", self.seq), &json.to_string()).into_bytes();
        if let Some(log) = &mut self.log {
            log.push(bytes.clone());
        }
        bytes
    }

    /// What tells the beginning of one that might have waited.
    pub(super) fn begins(&self, event: &Event) -> Option<Event> {
        let begins = matches!(event.body, Body::RunStarted { .. }) && self.said.is_empty();
        let now = event.timestamp.unwrap_or_default();
        (begins && self.body.contains("\"whenBusy\":")).then(|| told::turn_started(None, Object::new(), now))
    }

    /// The event as readers of one that has waited hear it: its beginning was told.
    pub(super) fn told(&mut self, id: &str, event: Event) -> Event {
        if !matches!(event.body, Body::RunStarted { .. }) || self.said.is_empty() {
            return event;
        }
        let mindset = event.metadata.as_ref().and_then(|m| m.get("mindset")?.as_object()).cloned();
        let turn = event.mindset("turnId").and_then(Value::as_str);
        self.turn_id = turn.unwrap_or(id).to_owned();
        told::turn_started(None, mindset.unwrap_or_default(), event.timestamp.unwrap_or_default())
    }

    /// Whether the same was posted, as far as that counts.
    fn is_same(&self, body: &str) -> bool {
        let essence = |body: &str| parse(body).ok()?.get("messages").map(Value::text);
        essence(&self.body) == essence(body)
    }
}

impl Server {
    /// Takes what a turn says; of one that has waited the beginning is told in another way.
    pub(super) fn tell_event(&mut self, id: &str, event: Event) -> Vec<Effect> {
        let Some(run) = self.runs.get_mut(id) else { return Vec::new() };
        let begins = run.begins(&event);
        let event = run.told(id, event);
        let mut out = self.record(id, &event);
        if let Some(begins) = begins {
            out.extend(self.record(id, &begins));
        }
        out
    }

    /// Takes an event of a run into its log, and to its readers.
    pub(super) fn record(&mut self, id: &str, event: &Event) -> Vec<Effect> {
        let mut out = Vec::new();
        let Some(run) = self.runs.get_mut(id) else { return out };
        let bytes = run.record(id, event);
        self.streams[run.stream].extend_from_slice(&bytes);
        for reader in &mut run.readers {
            reader.write(&bytes, &mut out);
        }
        out
    }

    /// Whether `body` posts a run that is known: an error if it is another one.
    pub(super) fn posted_before(&self, id: &str, body: &str) -> Result<bool, ErrorInfo> {
        match self.runs.get(id) {
            Some(run) if !run.is_same(body) && !self.is_parked(id, body) => {
                Err(ErrorInfo::new(ErrorCode::Conflict, "Another run was posted with this id."))
            }
            run => Ok(run.is_some()),
        }
    }

    /// The log of every run that has ended is gone.
    pub fn forget_logs(&mut self) {
        for run in self.runs.values_mut().filter(|run| run.turn.is_none()) {
            run.log = None;
        }
    }

    /// The process is another one that has only the stored messages: of the runs that were
    /// under way, and of all logs, nothing is known.
    pub fn forget_runs(&mut self) {
        self.runs.clear();
        self.line = Default::default();
    }

    /// The process died and is there again: what ran is ended by what is stored and logged.
    pub fn crash(&mut self, now: u64) {
        self.park();
        for (id, run) in &mut self.runs {
            if run.turn.take().is_none() {
                continue;
            }
            run.readers.clear();
            run.call += 1;
            let stored = self.store.entry(run.thread.clone()).or_default();
            let conversation =
                Conversation { id: run.thread.clone(), messages: stored.clone(), ..Conversation::default() };
            let (mut n, prefix) = (0, format!("{id}-r"));
            let mut ids = move || {
                n += 1;
                format!("{prefix}{n}")
            };
            let recovery = recover(&conversation, id, &run.said.clone(), &mut ids, now);
            stored.extend(recovery.store);
            for event in &recovery.emit {
                let bytes = run.record(id, event);
                self.streams[run.stream].extend_from_slice(&bytes);
            }
            self.ended.push(recovery.state);
        }
    }

    /// `GET` of a run's events.
    pub(super) fn events(
        &mut self,
        id: &str,
        page: usize,
        request: &FetchRequest,
        network: &mut Network,
    ) -> Result<Vec<Effect>, ErrorInfo> {
        self.authorize(request)?;
        let run = self.runs.get(id);
        let run = run.ok_or_else(|| ErrorInfo::new(ErrorCode::NotFound, "There is no such run."))?;
        let position = request.headers.iter().find(|(name, _)| *name == "Last-Event-ID");
        let seq = position.and_then(|(_, at)| at.strip_prefix(id)?.strip_prefix(':')?.parse().ok());
        let seq = seq.filter(|seq| *seq <= run.seq).unwrap_or(0);
        if seq == run.seq && run.turn.is_none() && seq > 0 {
            return Ok(answer(page, request.id, 204, "", ""));
        }
        Ok(self.stream(id, seq, (page, request.id), network))
    }

    /// The stream of a run behind its event number `seq`, or that there is none any more.
    pub(super) fn stream(
        &mut self,
        id: &str,
        seq: u64,
        (page, fetch): (usize, FetchId),
        network: &mut Network,
    ) -> Vec<Effect> {
        let log = self.runs.get(id).and_then(|run| run.log.clone());
        let Some(log) = log else { return self.gone(id, page, fetch) };
        let head = Part::Head { status: 200, content_type: "text/event-stream" };
        let mut out = vec![Effect::Send { page, fetch, part: head }];
        let mut reader = Reader::new(page, fetch, network);
        reader.write(b"", &mut out);
        for event in log.iter().skip(usize::try_from(seq).unwrap()) {
            reader.write(event, &mut out);
        }
        if let Some(run) = self.runs.get_mut(id) {
            if run.end.is_some() {
                reader.end(Ok(()), &mut out);
            } else {
                run.readers.push(reader);
            }
        }
        if self.ping > 0 && seq == 0 {
            out.push(Effect::Ping { delay: self.ping, run: id.to_owned() });
        }
        out.extend(self.drain(id));
        out
    }

    fn gone(&self, id: &str, page: usize, fetch: FetchId) -> Vec<Effect> {
        let error = ErrorInfo::new(ErrorCode::Gone, "The events of this run are gone.");
        let mut body = object! { "error": error.to_json() };
        let thread = self.runs.get(id).map(|run| run.thread.clone()).unwrap_or_default();
        if let Some(conversation) = self.conversation_json(&thread, None) {
            body.insert("conversation", conversation);
        }
        answer(page, fetch, 410, "application/json", &body.text())
    }

    /// `activeRun` and `lastRun` of a conversation.
    pub(super) fn add_runs(&self, thread: &str, answer: &mut Object) {
        let runs = self.runs.iter().filter(|(_, run)| run.thread == thread && run.began);
        let Some((id, run)) = runs.max_by_key(|(_, run)| run.stream) else { return };
        let mut named = object! { "runId": id, "turnId": &run.turn_id };
        match &run.end {
            None => {
                named.insert("state", "running");
                answer.insert("activeRun", named);
            }
            Some(end) => {
                named.insert("state", "finished");
                named.insert("end", end.clone());
                answer.insert("lastRun", named);
            }
        }
    }
}
