//! One stream: what is asked, what must come, and when it came.

use std::sync::Arc;

use mindset_core::json::{self, Value};
use mindset_core::object;
use mindset_core::sse::Decoder;
use tokio::time::Instant;

use crate::http;
use crate::plan::{Kind, Plan};

/// The largest event that is read.
const LARGEST: usize = 1 << 20;

/// What came of one stream.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// When each timed event came, and when it should have been sent.
    pub(crate) delays: Vec<(Instant, Instant)>,
    /// How late the client itself was with its request.
    pub(crate) started: Option<(Instant, Instant)>,
    /// When its last event came.
    pub(crate) ended: Option<Instant>,
    /// Why it does not count.
    pub(crate) problem: Option<String>,
}

impl Outcome {
    pub(crate) fn failed(problem: String) -> Outcome {
        Outcome { problem: Some(problem), ..Outcome::default() }
    }
}

/// A token for the user of a stream.
///
/// # Errors
/// The server gave none.
pub(crate) async fn token(plan: &Plan, number: usize) -> Result<String, String> {
    let path = format!("/api/v1/appuid/{}/sdkusers/auth", plan.app);
    let body = object! { "externalId": format!("load-{number}") }.to_string();
    let answer = http::post(&plan.address, &path, &format!("x-api-key: {}\r\n", plan.key), &body).await?;
    let status = answer.status;
    let text = answer.text().await?;
    let value = json::parse(&text).map_err(|error| error.to_string())?;
    let token = value.str("authToken").map(str::to_owned);
    token.ok_or_else(|| format!("sign-in was answered with {status}: {text}"))
}

/// Opens the stream when it is due and reads it to its end.
pub(crate) async fn run(plan: Arc<Plan>, number: usize, token: Option<String>, due: Instant) -> Outcome {
    tokio::time::sleep_until(due).await;
    let mut outcome = Outcome { started: Some((Instant::now(), due)), ..Outcome::default() };
    if let Err(problem) = read(&plan, number, token, due, &mut outcome).await {
        outcome.problem = Some(problem);
    }
    outcome
}

async fn read(
    plan: &Plan,
    number: usize,
    token: Option<String>,
    due: Instant,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let headers = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    let (path, body) = request(plan, number);
    let mut answer = http::post(&plan.address, &path, &headers, &body).await?;
    if answer.status != 200 {
        let status = answer.status;
        return Err(format!("status {status}: {}", answer.text().await?));
    }
    let mut decoder = Decoder::new(LARGEST);
    let mut text = String::new();
    while let Some(bytes) = answer.next().await? {
        let now = Instant::now();
        decoder.push(&bytes);
        while let Some(frame) = decoder.next_frame().map_err(|error| error.to_string())? {
            if frame.is_keep_alive() || frame.data == "[DONE]" {
                continue;
            }
            let event = json::parse(&frame.data).map_err(|error| error.to_string())?;
            match said(plan.kind, &event) {
                Said::Text(delta) => {
                    text.push_str(delta);
                    let count = u32::try_from(outcome.delays.len() + 1).unwrap_or(u32::MAX);
                    outcome.delays.push((now, due + plan.pace * count));
                }
                Said::End => outcome.ended = Some(now),
                Said::Other => {}
                Said::Failure => return Err(format!("the stream failed: {}", frame.data)),
            }
        }
    }
    check(plan, number, &text, outcome)
}

/// All that was asked for came, once and in its order.
fn check(plan: &Plan, number: usize, text: &str, outcome: &Outcome) -> Result<(), String> {
    let wanted = words(plan.events, number);
    if text != wanted {
        return Err(format!("the text reads {text:?}, expected {wanted:?}"));
    }
    if outcome.delays.len() != plan.events {
        return Err(format!("{} pieces came, expected {}", outcome.delays.len(), plan.events));
    }
    if outcome.ended.is_none() {
        return Err("the stream has no end".to_owned());
    }
    Ok(())
}

enum Said<'a> {
    Text(&'a str),
    End,
    Other,
    Failure,
}

fn said(kind: Kind, event: &Value) -> Said<'_> {
    let delta = || event.str("delta").map_or(Said::Other, Said::Text);
    match (kind, event.str("type").unwrap_or_default()) {
        (Kind::Mindset, "TEXT_MESSAGE_CONTENT") | (Kind::Ai, "text-delta") => delta(),
        (Kind::Mindset, "RUN_FINISHED") | (Kind::Ai, "finish") => Said::End,
        (Kind::Mindset, "RUN_ERROR") | (Kind::Ai, "error") => Said::Failure,
        (Kind::Plain, _) if event.get("done").is_some() => Said::End,
        (Kind::Plain, _) => delta(),
        _ => Said::Other,
    }
}

/// What the built-in demo model says, a word at a time, when it is asked what it sees and
/// sees a note: the words of the note make the number of events right, and the stream's
/// number in it tells the streams apart. The peers are told to say the same.
fn words(events: usize, number: usize) -> String {
    let (note, ahead) = (note(events, number), "The page has told me what you see: note");
    format!("{ahead} “{note}”.")
}

fn note(events: usize, number: usize) -> String {
    // Nine words stand before the note.
    let mut words = vec![format!("{number}")];
    words.extend((1..events.saturating_sub(9)).map(|place| char::from(b'a' + place as u8 % 26).to_string()));
    words.join(" ")
}

fn request(plan: &Plan, number: usize) -> (String, String) {
    if plan.kind != Kind::Mindset {
        let body = object! { "text": words(plan.events, number), "pace": plan.pace.as_millis() as u64 };
        return ("/".to_owned(), body.to_string());
    }
    // Ids must be new for each server that keeps its database, so they carry the process.
    let id = |what: &str| format!("{what}-{}-{number}", std::process::id());
    let context = object! {
        "description": "situational_awareness",
        "value": object! { "note": note(plan.events, number) }.to_string(),
    };
    let message = object! { "id": id("m"), "role": "user", "content": "What do you see?" };
    let body = object! {
        "threadId": id("t"),
        "runId": id("r"),
        "state": object! {},
        "messages": Value::Array(vec![message.into()]),
        "tools": Value::Array(Vec::new()),
        "context": Value::Array(vec![context.into()]),
        "forwardedProps": object! {},
    };
    (format!("/v1/agents/{}/runs", plan.agent), body.to_string())
}
