//! What goes over the wire when a connection broke, and what is taken of the answer.

use super::*;
use crate::error::ErrorCode;
use crate::event::Reason;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A message was posted; gives the id of its run.
fn posted(bench: &mut Bench) -> String {
    bench.send(1, "hi");
    body(&bench.last(FetchPurpose::Run)).str("runId").unwrap().to_owned()
}

/// Event number `seq` of a run as the server writes it.
fn numbered(bench: &mut Bench, run: &str, seq: usize) {
    let event = HELLO[seq - 1];
    bench.bytes(format!("id: {run}:{seq}\ndata: {event}\n\n").as_bytes());
}

/// A turn with "Hel" on the screen, whose connection then breaks.
fn broken() -> (Bench, String) {
    let mut bench = Bench::ready();
    let run = posted(&mut bench);
    bench.head(200, "text/event-stream");
    for seq in 1..=3 {
        numbered(&mut bench, &run, seq);
    }
    bench.fail();
    (bench, run)
}

fn said(bench: &Bench) -> Vec<String> {
    bench.story().into_iter().filter(|word| word.starts_with("text ")).collect()
}

#[test]
fn the_rest_is_asked_for_by_the_last_event() {
    let (mut bench, run) = broken();
    let request = bench.last(FetchPurpose::Events);
    assert_eq!(request.method, "GET");
    assert_eq!(request.url, format!("https://agents.example/v1/runs/{run}/events"));
    let headers = [
        ("Accept", "text/event-stream".to_owned()),
        ("Last-Event-ID", format!("{run}:3")),
        ("Authorization", "Bearer secret-1".to_owned()),
    ];
    assert!(headers.iter().all(|header| request.headers.contains(header)), "{:?}", request.headers);
    assert_eq!(request.headers.len(), 3);
    assert_eq!(request.body, None);
    bench.head(200, "text/event-stream");
    for seq in 4..=6 {
        numbered(&mut bench, &run, seq);
    }
    assert_eq!(said(&bench), ["text Hel", "text lo"]);
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
}

#[test]
fn what_was_read_already_is_passed_over() {
    // A server that does not know the place begins with the first event.
    let (mut bench, run) = broken();
    bench.head(200, "text/event-stream");
    for seq in 1..=6 {
        numbered(&mut bench, &run, seq);
    }
    assert_eq!(said(&bench), ["text Hel", "text lo"]);
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
    assert_eq!(bench.story().iter().filter(|word| *word == "run_started").count(), 1);
}

#[test]
fn half_an_event_of_the_old_connection_is_none() {
    let mut bench = Bench::ready();
    let run = posted(&mut bench);
    bench.head(200, "text/event-stream");
    for seq in 1..=3 {
        numbered(&mut bench, &run, seq);
    }
    bench.bytes(format!("id: {run}:4\ndata: {}", &LO[..20]).as_bytes());
    bench.fail();
    let (_, last) =
        bench.last(FetchPurpose::Events).headers.into_iter().find(|h| h.0 == "Last-Event-ID").unwrap();
    assert_eq!(last, format!("{run}:3"));
    bench.head(200, "text/event-stream");
    for seq in 4..=6 {
        numbered(&mut bench, &run, seq);
    }
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
}

#[test]
fn ids_of_something_else_say_nothing() {
    let mut bench = Bench::ready();
    posted(&mut bench);
    bench.head(200, "text/event-stream");
    for (id, event) in ["other:1", "7", "other:2"].iter().zip(HELLO) {
        bench.bytes(format!("id: {id}\ndata: {event}\n\n").as_bytes());
    }
    bench.fail();
    assert_eq!(bench.run_error().reason, Reason::Interrupted);
    assert!(bench.requests().iter().all(|request| request.purpose != FetchPurpose::Events));
}

#[test]
fn another_agui_server_cannot_go_on() {
    let mut bench = Bench::agui();
    let run = posted(&mut bench);
    bench.head(200, "text/event-stream");
    for seq in 1..=3 {
        numbered(&mut bench, &run, seq);
    }
    let requests = bench.requests().len();
    bench.pass(30_000);
    bench.input(Input::Wake);
    bench.input(Input::Online(false));
    bench.input(Input::Online(true));
    assert!(bench.session.is_busy(), "its stream may be quiet for as long as it likes");
    bench.fail();
    assert_eq!(bench.requests().len(), requests);
    assert_eq!(bench.run_error().reason, Reason::Interrupted);
    assert_eq!(bench.result().error.as_ref().map(|error| error.code), Some(ErrorCode::Network));
}

#[test]
fn a_post_without_an_answer_is_made_again_as_it_was() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let first = bench.last(FetchPurpose::Run);
    bench.input(Input::SetAwareness(r#"{"page":2}"#));
    bench.fail();
    let second = bench.last(FetchPurpose::Run);
    assert_ne!(first.id, second.id);
    assert_eq!((&first.body, &first.url), (&second.body, &second.url));
    bench.stream(HELLO);
    assert_eq!(bench.story().last().unwrap(), "settle 1 finished");
}

#[test]
fn pauses_grow_and_are_never_in_step() {
    let (mut bench, _) = broken();
    let mut pauses = Vec::new();
    for _ in 0..9 {
        let before = bench.now;
        bench.fail();
        bench.now = bench.session.poll_timeout().unwrap();
        pauses.push(bench.now - before);
        bench.input(Input::Tick);
    }
    for (pause, most) in pauses.iter().zip([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
        assert!(*pause <= most, "{pauses:?}");
    }
    pauses.sort_unstable();
    pauses.dedup();
    assert!(pauses.len() > 5, "{pauses:?}");
}

#[test]
fn a_widget_stands_in_the_transcript_by_its_summary() {
    let widget = |id: &str, summary: &str| {
        format!(
            r#"{{"type":"CUSTOM","name":"mindset.widget","value":{{"widgetId":"{id}","kind":"card","doc":{{"a":1}},"summary":"{summary}"}}}}"#
        )
    };
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let (whole, empty) = (widget("w1", "A card"), widget("w2", ""));
    // Told twice it is one, and one without a summary is none.
    bench.stream(&[STARTED, &whole, &whole, &empty, SAY, HEL, LO, SAID, FINISHED]);
    let rows: Vec<_> =
        bench.session.messages()[1..].iter().map(|row| (row.id.as_str(), row.content.as_str())).collect();
    assert_eq!(rows, [("w1", "A card"), ("m", "Hello")]);
    let row = bench.session.messages()[1].to_json();
    assert_eq!(row.get("widget").unwrap().text(), r#"{"kind":"card","doc":{"a":1},"summary":"A card"}"#);
    let event = bench.out.iter().find_map(|output| match output {
        Output::Event(DomEvent::Runtime(event @ RuntimeEvent::WidgetPayload { .. })) => {
            Some(event.to_json().text())
        }
        _ => None,
    });
    let json = r#"{"type":"widget-payload","widgetId":"w1","kind":"card","doc":{"a":1},"summary":"A card"}"#;
    assert_eq!(event.as_deref(), Some(json));
    assert!(
        bench
            .patches()
            .iter()
            .any(|patch| matches!(patch, Patch::AddMessage { text, .. } if text == "A card"))
    );
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
}

#[test]
fn other_pages_are_told_of_each_run_and_of_the_end() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let thread = body(&bench.last(FetchPurpose::Run)).str("threadId").unwrap().to_owned();
    let told = |bench: &Bench| {
        let tell = |output: &&Output| matches!(output, Output::Tell(id) if *id == thread);
        bench.out.iter().filter(tell).count()
    };
    assert_eq!(told(&bench), 0, "nobody has taken it yet");
    bench.head(200, "text/event-stream");
    assert_eq!(told(&bench), 1);
    for event in HELLO {
        bench.event(event);
    }
    assert_eq!(told(&bench), 2);
    let mut bench = Bench::agui();
    bench.send(1, "hi");
    bench.stream(HELLO);
    assert!(!bench.out.iter().any(|output| matches!(output, Output::Tell(_))));
}
