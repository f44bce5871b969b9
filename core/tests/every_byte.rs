//! A turn with everything in it, its connections cut at every byte and in every way: what
//! comes out is what comes out of a whole one, and nothing runs twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod dice;
#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::event::{RuntimeEvent, ToolSource, Widget};
use mindset_core::json::{Object, Value};
use mindset_core::session::DomEvent;
use mindset_core::turn::{ModelEvent, ServerTool, ToolOutcome};
use pair::{Cut, Heard, Lose, Pair, ScriptedModel, Step, call, text, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// In a browser's engine some bytes stand for all.
const STEP: usize = if cfg!(target_arch = "wasm32") { 29 } else { 1 };

/// Text, thinking, two tools of the server at the same time one of which shows a widget,
/// a tool of the page, and the rest of the answer.
fn turn() -> Pair {
    let mut first = vec![ModelEvent::Thinking("Hm, hm.".into()), text("Grüße 🙂 "), text("at once:\n")];
    first.extend(call(0, "look", "{}"));
    first.extend(call(1, "book", "{\"room\": 7}"));
    let mut second = vec![text("Booked. ")];
    second.extend(call(0, "act", "{\"n\":1}"));
    let steps = [Step::events(first), Step::events(second), Step::says("All done."), Step::says("Next.")];
    let mut pair = Pair::new(ScriptedModel::new(steps));
    pair.server.agent.tools = ["look", "book"].map(server_tool).to_vec();
    pair.server.handler = Box::new(|request| {
        let mut widgets = Vec::new();
        if request.name == "book" {
            let summary = "Room 7, booked";
            widgets.push(Widget::new("card", Value::from("x"), summary));
        }
        let content = format!("{} is fine", request.name);
        let time = if request.name == "book" { 5 } else { 10 };
        Some((time, ToolOutcome::Done { content, sources: Vec::new(), widgets }))
    });
    pair.set_tools(vec![tool("act", r#"{"type":"object","properties":{"n":{"type":"number"}}}"#)]);
    pair
}

fn server_tool(name: &str) -> ServerTool {
    ServerTool {
        source: ToolSource::Builtin,
        server: None,
        name: name.into(),
        description: String::new(),
        title: None,
        parameters: None,
        read_only: name == "look",
    }
}

/// Everything a turn came to, but for the times and the names that ids happen to have.
#[derive(Debug, PartialEq)]
struct Outcome {
    events: Vec<String>,
    transcript: Vec<String>,
    stored: Vec<String>,
    panel: Vec<String>,
    page_tools: usize,
    server_tools: usize,
    /// How often each run was really begun.
    runs: usize,
}

fn outcome(pair: &Pair) -> Outcome {
    let page = pair.page();
    let mut names = Vec::new();
    Outcome {
        events: told(&page.events).iter().map(|event| named(event, &mut names)).collect(),
        transcript: page.transcript(),
        stored: pair.server.stored(),
        panel: pair::Panel::draw(&page.patches).tools(),
        page_tools: page.runs.len(),
        server_tools: pair.server.called.len(),
        runs: pair.server.posted.len(),
    }
}

/// The events with the pieces of each text as one, without those about the connection.
fn told(events: &[Heard]) -> Vec<String> {
    let mut told = Vec::new();
    let mut piece: Option<(String, String)> = None;
    for heard in events {
        let text = match heard {
            Heard::Event(DomEvent::Connection(_)) => continue,
            Heard::Event(DomEvent::Runtime(RuntimeEvent::TextDelta { message_id, content })) => {
                Some((format!("text of {message_id}: "), content))
            }
            Heard::Event(DomEvent::Runtime(RuntimeEvent::ThinkingDelta { content })) => {
                Some(("thought: ".to_owned(), content))
            }
            _ => None,
        };
        match (text, &mut piece) {
            (Some((of, more)), Some((open, all))) if of == *open => all.push_str(more),
            (Some((of, more)), piece) => {
                told.extend(piece.take().map(|(of, all)| of + &all));
                *piece = Some((of, more.clone()));
            }
            (None, piece) => {
                told.extend(piece.take().map(|(of, all)| of + &all));
                told.push(line(heard));
            }
        }
    }
    told
}

fn line(heard: &Heard) -> String {
    let Heard::Event(event) = heard else { return format!("{heard:?}") };
    let DomEvent::Runtime(event) = event else { return format!("{event:?}") };
    let mut json = event.to_json();
    without_times(&mut json);
    json.text()
}

fn without_times(object: &mut Object) {
    object.remove("createdAt");
    object.remove("durationMs");
    if let Some(Value::Array(messages)) = object.get_mut("messages") {
        for message in messages {
            if let Value::Object(message) = message {
                message.remove("createdAt");
            }
        }
    }
}

/// The text with each id of the page by the place at which it came up first.
fn named(text: &str, names: &mut Vec<String>) -> String {
    let mut out = String::new();
    for (at, part) in text.split("p0-").enumerate() {
        if at == 0 {
            out.push_str(part);
            continue;
        }
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let place = names.iter().position(|name| name == &part[..end]).unwrap_or_else(|| {
            names.push(part[..end].to_owned());
            names.len() - 1
        });
        out.push_str(&format!("#{place}{}", &part[end..]));
    }
    out
}

/// The turn over a network that `trouble` has spoiled.
fn play(trouble: impl FnOnce(&mut Pair)) -> Pair {
    let mut pair = turn();
    trouble(&mut pair);
    pair.ask("hello");
    pair
}

#[track_caller]
fn same(pair: &mut Pair, whole: &Outcome, what: &str) {
    let came = outcome(pair);
    assert_eq!(came, *whole, "{what}");
    assert!(pair.page().session.messages().iter().any(|message| message.widget.is_some()));
    assert!(pair.network.cut.is_none() && pair.network.lose.is_none(), "{what} has not happened");
}

#[test]
fn the_whole_turn() {
    let mut pair = play(|_| {});
    let whole = outcome(&pair);
    same(&mut pair, &whole, "nothing");
    assert_eq!((whole.page_tools, whole.server_tools, whole.runs), (1, 2, 2));
    let summary = ["assistant: Room 7, booked".to_owned()];
    assert!(whole.transcript.windows(1).any(|row| row == summary), "{:?}", whole.transcript);
    assert!(whole.events.iter().any(|event| event.contains("widget-payload")));
    assert_eq!(pair.ask("next").text.as_deref(), Some("Next."));
}

/// The ways to cut after so many bytes: one at each byte by turns, and all three when soaked. A
/// stream that just goes silent is noticed later, and a good end is one too early.
fn cuts(after: usize) -> Vec<Cut> {
    let all = [Cut::broken(after), Cut::clean(after), Cut::silent(after)];
    if dice::is_soaked() { all.to_vec() } else { vec![all[after % 3]] }
}

#[test]
fn streams_cut_at_every_byte() {
    let pair = play(|_| {});
    let whole = outcome(&pair);
    for (number, stream) in pair.server.streams.iter().enumerate() {
        for after in (0..stream.len()).step_by(STEP) {
            for cut in cuts(after) {
                let mut pair = play(|pair| (pair.network.spare, pair.network.cut) = (number, Some(cut)));
                same(&mut pair, &whole, &format!("stream {number}, {cut:?}"));
            }
        }
    }
}

#[test]
fn streams_cut_twice() {
    let pair = play(|_| {});
    let whole = outcome(&pair);
    let length = pair.server.streams[0].len();
    for first in (0..length).step_by(61 * STEP) {
        for second in (0..length - first).step_by(53 * STEP) {
            let mut pair = turn();
            let mut cuts = vec![Cut::silent(second), Cut::broken(first)];
            pair.network.weather = Some(Box::new(move || cuts.pop()));
            pair.ask("hello");
            same(&mut pair, &whole, &format!("after {first} and {second} more"));
        }
    }
}

#[test]
fn requests_cut_at_every_byte() {
    let pair = play(|_| {});
    let whole = outcome(&pair);
    for (number, body) in pair.server.posted.iter().enumerate() {
        for after in (0..body.len()).step_by(STEP).filter(|at| body.is_char_boundary(*at)) {
            let lose = Some(Lose::Request(after));
            let mut pair = play(|pair| (pair.network.spare_runs, pair.network.lose) = (number, lose));
            same(&mut pair, &whole, &format!("request {number} after {after}"));
        }
        let lose = Some(Lose::Answer);
        let mut pair = play(|pair| (pair.network.spare_runs, pair.network.lose) = (number, lose));
        same(&mut pair, &whole, &format!("the answer to request {number}"));
    }
}

#[test]
fn a_log_that_is_gone_leaves_the_stored_turn() {
    let pair = play(|_| {});
    let whole = outcome(&pair);
    let tools_of = |all: &Outcome| (all.page_tools, all.server_tools, all.runs);
    for (number, stream) in pair.server.streams.iter().enumerate() {
        for after in (1..stream.len()).step_by(3 * STEP) {
            let mut pair = turn();
            (pair.network.spare, pair.network.cut) = (number, Some(Cut::silent(after)));
            let send = pair.send("hello");
            pair.drive_for(1_000);
            pair.server.forget_logs();
            pair.drive();
            let came = outcome(&pair);
            assert_eq!(came.transcript, whole.transcript, "stream {number} after {after}");
            assert_eq!((&came.stored, tools_of(&came)), (&whole.stored, tools_of(&whole)));
            let spoken = |all: &Outcome| -> Vec<_> {
                all.events.iter().filter(|event| event.starts_with("text of")).cloned().collect()
            };
            assert_eq!(spoken(&came), spoken(&whole), "stream {number} after {after}");
            assert_eq!(pair.page().result(send).text.as_deref(), Some("All done."));
        }
    }
}
