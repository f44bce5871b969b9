//! How the last turn of a stored conversation ended, and conversations that change elsewhere.

use super::*;
use crate::session::{Ask, AskId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Idle in a stored conversation.
fn opened(body: &str) -> Bench {
    let mut bench = Bench::new();
    bench.start(Config { conversation_id: Some("c".into()), ..config() });
    bench.answer_json(200, r#"{"authToken":"secret-1","anonymousKey":"key-1"}"#);
    bench.answer_json(200, body);
    bench
}

fn ended(end: &str) -> String {
    let user = r#"{"id":"u","role":"user","content":"Book it","runId":"r1"}"#;
    let answer = r#"{"id":"a","role":"assistant","content":"So","status":"error","runId":"r1"}"#;
    format!(
        r#"{{"messages":[{user},{answer}],"openCalls":[],"lastRun":{{"runId":"r2","turnId":"r1","state":"error","end":{end}}}}}"#
    )
}

const EFFECTS: &str = r#""effects":[{"toolCallId":"1","toolName":"book_room","source":"mcp","outcome":"done"},
    {"toolCallId":"2","toolName":"pay","source":"mcp","outcome":"unknown"}]"#;

#[test]
fn how_the_last_turn_ended() {
    let failed = |retryable: bool| {
        format!(
            r#"{{"type":"RUN_ERROR","message":"It broke.","metadata":{{"mindset":{{"reason":"interrupted","retryable":{retryable},{EFFECTS}}}}}}}"#
        )
    };
    let stopped = |effects: &str| {
        format!(
            r#"{{"type":"RUN_FINISHED","threadId":"c","runId":"r2","outcome":{{"type":"cancelled"}},"metadata":{{"mindset":{{{effects}}}}}}}"#
        )
    };
    let bound = r#"{"type":"RUN_FINISHED","threadId":"c","runId":"r2","outcome":{"type":"cancelled"},"metadata":{"mindset":{"bound":{"reason":"deadline","limit":5}}}}"#;
    let named = " Done already: book_room. May have acted: pay.";
    let retry = Some(NoticeAction::Retry);
    for (end, notice) in [
        (failed(true), Some((["It broke.", named].concat(), retry))),
        (failed(false), Some((["It broke.", named].concat(), None))),
        (stopped(EFFECTS), Some((["Stopped.", named].concat(), retry))),
        (stopped(""), None),
        (FINISHED.to_owned(), None),
        ("{}".to_owned(), None),
        ("null".to_owned(), None),
        ("7".to_owned(), None),
        (r#"{"type":"RUN_ERROR"}"#.to_owned(), None),
    ] {
        let bench = opened(&ended(&end));
        assert_eq!(bench.notice(), notice, "{end}");
        assert_eq!(bench.story(), ["initializing", "conversation", "idle"]);
    }
    assert_eq!(opened(&ended(bound)).notice().unwrap().1, Some(NoticeAction::Continue));
}

#[test]
fn its_message_can_be_sent_again() {
    let end = format!(
        r#"{{"type":"RUN_ERROR","message":"It broke.","metadata":{{"mindset":{{"reason":"interrupted","retryable":true,{EFFECTS}}}}}}}"#
    );
    let mut bench = opened(&ended(&end));
    bench.input(Input::Retry { id: SendId(1) });
    let run = body(&bench.last(FetchPurpose::Run));
    let mindset = run.get("forwardedProps").and_then(|props| props.get("mindset")).unwrap();
    assert_eq!(mindset.str("replaceFrom"), Some("u"));
    let rows: Vec<_> = bench.session.messages().iter().map(|row| row.id.as_str()).collect();
    assert_eq!((rows, bench.notice()), (vec!["u"], None));
    bench.stream(HELLO);
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
}

#[test]
fn a_message_that_is_not_shown_cannot() {
    // The last one that is shown belongs to a turn before.
    let body = ended(r#"{"type":"RUN_ERROR","message":"It broke."}"#);
    for body in [
        body.replace(r#""turnId":"r1""#, r#""turnId":"r0""#),
        body.replace(r#""turnId":"r1","#, ""),
        body.replace(r#","runId":"r1""#, ""),
        body.replace(r#""role":"user""#, r#""role":"system""#),
    ] {
        let mut bench = opened(&body);
        assert_eq!(bench.notice(), Some(("It broke.".to_owned(), None)), "{body}");
        assert!(bench.try_input(Input::Retry { id: SendId(1) }).is_err());
    }
}

#[test]
fn a_message_that_waits_goes_first() {
    let mut bench = Bench::new();
    bench.start(Config { conversation_id: Some("c".into()), ..config() });
    bench.send(1, "hi");
    bench.answer_json(200, r#"{"authToken":"secret-1"}"#);
    bench.answer_json(200, &ended(r#"{"type":"RUN_ERROR","message":"It broke."}"#));
    assert_eq!(bench.notice(), None);
    bench.stream(HELLO);
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
}

#[test]
fn one_that_another_page_deleted() {
    let mut bench = opened(r#"{"messages":[{"id":"u","role":"user","content":"Hi"}]}"#);
    bench.out.clear();
    bench.input(Input::Changed);
    bench.answer_json(404, r#"{"error":{"code":"not-found","message":"There is none. Begin anew."}}"#);
    assert!(bench.session.messages().is_empty() && bench.session.conversation_id().is_none());
    assert!(bench.out.contains(&Output::StoreConversation(None)));
    bench.send(1, "hi");
    bench.stream(HELLO);
    let detail = bench.out.iter().find_map(|output| match output {
        Output::Event(DomEvent::Conversation { detail }) => Some(detail.text()),
        _ => None,
    });
    assert!(detail.unwrap().ends_with(r#""replacedConversationId":"c","replacedBecause":"switched"}"#));
}

#[test]
fn a_look_at_one_that_was_left_is_of_no_interest() {
    let mut bench = opened(r#"{"messages":[{"id":"u","role":"user","content":"Hi"}]}"#);
    bench.input(Input::Changed);
    let look = bench.fetch();
    bench.input(Input::Ask { id: AskId(1), ask: Ask::New });
    bench.input(Input::Head { fetch: look, status: 200, content_type: "application/json" });
    bench.input(Input::Bytes {
        fetch: look,
        bytes: br#"{"messages":[{"id":"u","role":"user","content":"Hi"}]}"#,
    });
    bench.input(Input::End { fetch: look, result: Ok(()) });
    assert!(bench.session.messages().is_empty());
}
