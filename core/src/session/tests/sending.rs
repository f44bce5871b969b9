//! Sending, and the turn that goes well.

use super::*;
use crate::error::ErrorCode;
use crate::event::Author;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const WHEN_IDLE: SendOptions = SendOptions { silent: false, when_idle: true, when_busy: None };

#[test]
fn a_message_and_its_answer() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    assert!(bench.session.is_busy());
    let run = bench.last(FetchPurpose::Run);
    assert_eq!(run.url, "https://agents.example/v1/agents/support/runs");
    let sent = body(&run);
    let text = |key: &str| sent.get(key).and_then(Value::as_str).unwrap();
    assert_eq!(text("protocolVersion"), "1.0");
    let message = &sent.get("messages").and_then(Value::as_array).unwrap()[0];
    assert_eq!(message.get("content").and_then(Value::as_str), Some("hi"));
    let props = sent.get("forwardedProps").unwrap().to_string();
    assert_eq!(props, r#"{"mindset":{"inputType":"HUMAN","clientId":"client"}}"#);
    assert_eq!(bench.activity(), Activity::Waiting);
    bench.stream(HELLO);
    let mut story: Vec<&str> = HELLO_STORY.to_vec();
    story.extend(["conversation", "idle", "settle 1 finished"]);
    assert_eq!(bench.story(), story);
    let result = bench.result();
    assert_eq!(result.text.as_deref(), Some("Hello"));
    assert_eq!((result.conversation_id.as_str(), result.run_id.as_str()), (text("threadId"), text("runId")));
    assert_eq!(bench.session.conversation_id(), Some(text("threadId")));
    assert!(!bench.session.is_busy());
    let rows = bench.session.messages();
    assert_eq!((rows[0].role, rows[0].content.as_str()), (Author::User, "hi"));
    assert_eq!((rows[1].role, rows[1].content.as_str()), (Author::Assistant, "Hello"));
    assert_eq!(rows[1].created_at.as_deref(), Some("2026-11-30T04:06:08.000Z"));
    assert_eq!(bench.session.poll_timeout(), None);
}

#[test]
fn the_panel_of_a_turn() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let thinking = r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"z","delta":"hm"}"#;
    bench.stream(&[STARTED, thinking, SAY, HEL, LO, SAID, FINISHED]);
    let user = bench.session.messages()[0].id.clone();
    let add = |id: &str, role, text: &str| Patch::AddMessage { id: id.into(), role, text: text.into() };
    let end = |id: &str| Patch::EndMessage { id: id.into() };
    assert_eq!(
        bench.patches(),
        [
            &add(&user, Author::User, "hi"),
            &Patch::SetActivity(Activity::Waiting),
            &Patch::SetActivity(Activity::Thinking),
            &Patch::Think { text: "hm".into() },
            &Patch::SetActivity(Activity::Answering),
            &add("m", Author::Assistant, "Hel"),
            &Patch::AppendText { id: "m".into(), text: "lo".into() },
            &end("m"),
            // Once more with the turn, however it ends.
            &end(&user),
            &end("m"),
            &Patch::SetActivity(Activity::Idle),
        ]
    );
}

#[test]
fn the_next_turn_keeps_the_conversation() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let first = body(&bench.last(FetchPurpose::Run));
    bench.stream(HELLO);
    bench.out.clear();
    bench.send(2, "again");
    let second = body(&bench.last(FetchPurpose::Run));
    assert_eq!(first.get("threadId"), second.get("threadId"));
    assert_ne!(first.get("runId"), second.get("runId"));
    assert_eq!(second.get("messages").and_then(Value::as_array).map(<[Value]>::len), Some(1));
    // The server gives its message the same id again: it is a row of its own.
    bench.stream(HELLO);
    let mut story: Vec<&str> = HELLO_STORY.to_vec();
    story.extend(["idle", "settle 2 finished"]);
    assert_eq!(bench.story(), story);
    let texts: Vec<_> = bench.session.messages().iter().map(|m| m.content.as_str()).collect();
    assert_eq!(texts, ["hi", "Hello", "again", "Hello"]);
    let complete = bench.out.iter().find_map(|o| match o {
        Output::Event(DomEvent::Runtime(RuntimeEvent::Complete { messages, turn_from, .. })) => {
            Some((messages.len(), *turn_from))
        }
        _ => None,
    });
    assert_eq!(complete, Some((4, 2)));
}

#[test]
fn a_silent_message_shows_only_the_answer() {
    let mut bench = Bench::ready();
    bench
        .try_send(1, "trigger", SendOptions { silent: true, when_idle: false, ..SendOptions::default() })
        .unwrap();
    let sent = body(&bench.last(FetchPurpose::Run)).to_string();
    assert!(sent.contains("PSEUDO_HUMAN") && sent.contains("trigger"));
    bench.stream(HELLO);
    let texts: Vec<_> = bench.session.messages().iter().map(|m| m.content.as_str()).collect();
    assert_eq!(texts, ["Hello"]);
    assert!(!format!("{:?}", bench.patches()).contains("trigger"));
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
}

#[test]
fn what_a_run_says_of_itself() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.stream(&[
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","metadata":{"mindset":{"model":"demo","disclosure":"No AI."}}}"#,
        r#"{"type":"SOMETHING_NEW","x":1}"#,
        r#"{"type":"CUSTOM","name":"mindset.new","value":1}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"u","role":"user"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"u","delta":"echo"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"u"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"},"usage":[{"model":"demo","inputTokens":3}]}"#,
    ]);
    assert!(bench.patches().contains(&&Patch::SetDisclosure(Some("No AI.".into()))));
    let json: Vec<String> = bench
        .out
        .iter()
        .filter_map(|o| match o {
            Output::Event(DomEvent::Runtime(event)) => Some(event.to_json().to_string()),
            _ => None,
        })
        .collect();
    assert!(json[0].contains(r#""model":"demo","disclosure":"No AI.""#));
    assert!(json[1].contains(r#""usage":[{"model":"demo","inputTokens":3}]"#));
    assert!(!json.concat().contains("echo"));
}

#[test]
fn a_bound_is_a_finished_turn() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let end = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"},"metadata":{"mindset":{"bound":{"reason":"step_limit","limit":25}}}}"#;
    bench.stream(&[STARTED, SAY, HEL, SAID, end]);
    assert_eq!(bench.story().last().unwrap(), "settle 1 finished");
    assert_eq!(bench.result().bound.map(|b| b.limit), Some(25));
}

#[test]
fn calls_that_the_page_cannot_answer() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let call = [
        STARTED,
        r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"set_color"}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}"#,
        r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["c"]}}"#,
    ];
    let first = body(&bench.last(FetchPurpose::Run));
    bench.stream(&call);
    let next = body(&bench.last(FetchPurpose::Run));
    assert_eq!(first.get("threadId"), next.get("threadId"));
    assert_ne!(first.get("runId"), next.get("runId"));
    let tool = &next.get("messages").and_then(Value::as_array).unwrap()[0];
    assert_eq!(tool.get("toolCallId").and_then(Value::as_str), Some("c"));
    assert!(tool.get("content").and_then(Value::as_str).unwrap().contains("set_color"));
    bench.stream(HELLO);
    let story = bench.story();
    assert_eq!(story[..3], ["busy", "run_started", "tool_announce"]);
    assert_eq!(story.iter().filter(|w| *w == "run_started" || *w == "busy").count(), 2);
    assert_eq!(first.get("runId").and_then(Value::as_str), Some(bench.result().run_id.as_str()));
    // An agent that never stops calling is stopped.
    bench.send(2, "loop");
    for _ in 0..25 {
        bench.stream(&call);
    }
    assert_eq!(bench.result().bound.map(|b| b.limit), Some(25));
    assert!(!bench.session.is_busy());
}

#[test]
fn refused_at_once() {
    let mut bench = Bench::ready();
    let long = "é".repeat(100_000);
    for (text, code) in [
        ("", Some(ErrorCode::InvalidRequest)),
        (" \n\u{3000}", Some(ErrorCode::InvalidRequest)),
        (&format!("{long}x"), Some(ErrorCode::InvalidRequest)),
        (&long, None),
    ] {
        let refused = bench.try_send(1, text, SendOptions::default()).err();
        assert_eq!(refused.as_ref().map(|r| r.code), code);
        assert!(text.len() < 200_001 || refused.unwrap().message.contains("100001"));
    }
    let before = bench.out.len();
    let refused = bench.try_send(2, "second", SendOptions::default()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Busy);
    assert!(refused.message.contains("sendWhenIdle"));
    assert_eq!(bench.out.len(), before);
}

#[test]
fn one_message_is_kept_before_ready() {
    let mut bench = Bench::new();
    bench.send(1, "first");
    assert_eq!(bench.try_send(2, "second", SendOptions::default()).unwrap_err().code, ErrorCode::Busy);
    bench.try_send(3, "third", WHEN_IDLE).unwrap();
    assert!(bench.session.is_busy() && bench.requests().is_empty());
    assert_eq!(bench.session.messages().len(), 1);
    bench.start(config());
    bench.answer_json(200, r#"{"authToken":"t"}"#);
    bench.stream(HELLO);
    bench.stream(HELLO);
    let mut story = vec!["initializing"];
    story.extend(HELLO_STORY);
    story.extend(["conversation", "settle 1 finished"]);
    story.extend(HELLO_STORY);
    story.extend(["idle", "settle 3 finished"]);
    assert_eq!(bench.story(), story);
    let texts: Vec<_> = bench.session.messages().iter().map(|m| m.content.as_str()).collect();
    assert_eq!(texts, ["first", "Hello", "third", "Hello"]);
}

#[test]
fn messages_for_idle_go_out_in_order() {
    let mut bench = Bench::ready();
    bench.try_send(1, "a", WHEN_IDLE).unwrap();
    bench.try_send(2, "b", WHEN_IDLE).unwrap();
    bench.try_send(3, "c", WHEN_IDLE).unwrap();
    // A turn that fails does not hold up the others.
    bench.answer_json(500, "{}");
    bench.stream(HELLO);
    assert_eq!(bench.try_send(4, "d", SendOptions::default()).unwrap_err().code, ErrorCode::Busy);
    bench.stream(HELLO);
    let settled: Vec<u32> = bench.results().iter().map(|(id, _)| *id).collect();
    assert_eq!(settled, [1, 2, 3]);
    assert_eq!(bench.story().iter().filter(|w| *w == "idle").count(), 1);
    let texts: Vec<_> = bench.session.messages().iter().map(|m| m.content.as_str()).collect();
    assert_eq!(texts, ["a", "b", "Hello", "c", "Hello"]);
}

#[test]
fn a_listener_sends_inside_idle() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.head(200, "text/event-stream");
    for event in &HELLO[..5] {
        bench.event(event);
    }
    let fetch = bench.fetch();
    let last = format!("data: {FINISHED}\n\n");
    bench.session.handle(Input::Bytes { fetch, bytes: last.as_bytes() }, T0).unwrap();
    while let Some(output) = bench.session.poll_output() {
        if matches!(output, Output::Event(DomEvent::Idle { .. })) {
            let options = SendOptions::default();
            bench.session.handle(Input::Send { id: SendId(2), text: "next", options }, T0).unwrap();
        }
        bench.out.push(output);
    }
    let story = bench.story();
    assert_eq!(story[story.len() - 3..], ["idle", "settle 1 finished", "busy"]);
    bench.stream(HELLO);
    assert_eq!(bench.story().last().unwrap(), "settle 2 finished");
}

#[test]
fn a_stream_that_stays_open_after_the_end_is_dropped() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.head(200, "text/event-stream");
    for event in HELLO {
        bench.event(event);
    }
    assert_eq!(bench.story().last().unwrap(), "settle 1 finished");
    let fetch = bench.fetch();
    bench.pass(3_000);
    assert_eq!((bench.aborted(), bench.session.poll_timeout()), (vec![fetch], None));
}

/// Polls until the output whose word is `wanted` is taken.
fn poll_to(bench: &mut Bench, wanted: &str) {
    loop {
        let output = bench.session.poll_output().unwrap();
        bench.out.push(output);
        if bench.story().last().is_some_and(|word| word == wanted) {
            return;
        }
    }
}

fn hear_the_end(bench: &mut Bench) {
    let whole: String = HELLO.iter().map(|e| format!("data: {e}\n\n")).collect();
    let fetch = bench.fetch();
    bench.session.handle(Input::Bytes { fetch, bytes: whole.as_bytes() }, T0).unwrap();
}

#[test]
fn busy_until_idle_is_told() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.head(200, "text/event-stream");
    hear_the_end(&mut bench);
    let send = |bench: &mut Bench, when_idle| {
        let options = SendOptions { when_idle, silent: false, ..SendOptions::default() };
        bench.session.handle(Input::Send { id: SendId(2), text: "more", options }, T0)
    };
    for word in ["complete", "run_finished"] {
        poll_to(&mut bench, word);
        assert!(bench.session.is_busy());
        assert_eq!(send(&mut bench, false).map_err(|e| e.code), Err(ErrorCode::Busy));
    }
    poll_to(&mut bench, "idle");
    assert!(!bench.session.is_busy());
    assert!(send(&mut bench, false).is_ok());
}

#[test]
fn no_idle_when_a_listener_of_the_last_events_sends_more() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.head(200, "text/event-stream");
    hear_the_end(&mut bench);
    poll_to(&mut bench, "complete");
    bench.out.clear();
    let options = SendOptions { when_idle: true, silent: false, ..SendOptions::default() };
    bench.session.handle(Input::Send { id: SendId(2), text: "more", options }, T0).unwrap();
    bench.session.handle(Input::Stop, T0).unwrap();
    bench.input(Input::Tick);
    let story = bench.story();
    assert!(!story.contains(&"idle".to_owned()), "{story:?}");
    let at = |word: &str| story.iter().position(|w| w.starts_with(word));
    assert!(at("settle 1 finished") < at("busy") && at("busy").is_some(), "{story:?}");
    bench.stream(HELLO);
    assert_eq!(bench.story().last().unwrap(), "settle 2 finished");
}

#[test]
fn an_answer_of_nothing_is_said() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.stream(&[HELLO[0], HELLO[HELLO.len() - 1]]);
    assert_eq!(bench.result().status, TurnStatus::Finished);
    assert_eq!(bench.notice(), Some(("The agent gave no answer.".to_owned(), None)));
}
