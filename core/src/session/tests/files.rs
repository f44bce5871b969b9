//! Files that people attach to what they send.

use super::*;
use crate::error::ErrorCode;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const FILES: &str = r#"[{"id":"f1","name":"a.png","type":"image/png","size":3},{"id":"f2","name":"b.pdf","type":"application/pdf","size":4}]"#;

/// What the newest run names.
fn uploads(bench: &Bench) -> Option<String> {
    let sent = body(&bench.last(FetchPurpose::Run));
    Some(sent.get("forwardedProps")?.get("mindset")?.get("uploads")?.text())
}

#[test]
fn files_come_with_the_next_message_and_no_other() {
    let mut bench = Bench::ready();
    bench.input(Input::Attach(FILES));
    // Files alone are a message.
    bench.send(1, "");
    assert_eq!(uploads(&bench).as_deref(), Some(r#"["f1","f2"]"#));
    let row = bench.session.messages()[0].clone();
    assert_eq!(row.files.as_ref().map(Value::text).as_deref(), Some(FILES));
    let drawn = |patch: &&Patch| matches!(patch, Patch::SetFiles { id, .. } if *id == row.id);
    assert!(bench.patches().iter().any(drawn));
    assert!(bench.session.redraw().iter().any(|patch| drawn(&patch)));
    bench.stream(HELLO);
    bench.send(2, "again");
    assert_eq!(uploads(&bench), None);
    bench.stream(HELLO);
    // A silent message has none, and what is no list is nothing.
    for (files, options) in [
        (FILES, SendOptions { silent: true, when_idle: false, ..SendOptions::default() }),
        ("[]", SendOptions::default()),
        ("no JSON", SendOptions::default()),
    ] {
        bench.input(Input::Attach(files));
        let refused = bench.try_send(3, "", options).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest, "{files}");
    }
}

#[test]
fn a_second_try_has_the_same_files() {
    let mut bench = Bench::ready();
    bench.input(Input::Attach(FILES));
    bench.send(1, "look");
    bench.stream(&[STARTED, SAY, HEL, r#"{"type":"RUN_ERROR","message":"m"}"#]);
    bench.out.clear();
    bench.input(Input::Retry { id: SendId(2) });
    assert_eq!(uploads(&bench).as_deref(), Some(r#"["f1","f2"]"#));
}

#[test]
fn how_files_are_sent_is_asked_with_todays_credentials() {
    let mut bench = Bench::ready();
    bench.input(Input::Ask { id: AskId(1), ask: Ask::Uploads });
    let request = bench.last(FetchPurpose::Ask);
    assert_eq!(request.url, "https://agents.example/v1/uploads?agentUid=support");
    bench.answer_json(200, r#"{"enabled":true,"types":["image/png"],"maxBytes":5,"maxFiles":10}"#);
    let answer = bench.out.iter().find_map(|o| match o {
        Output::Answer { result: Ok(value), .. } => Some(value.text()),
        _ => None,
    });
    assert_eq!(
        answer.as_deref(),
        Some(
            r#"{"enabled":true,"types":["image/png"],"maxBytes":5,"maxFiles":10,"url":"https://agents.example/v1/uploads","authorization":"Bearer secret-1"}"#
        )
    );
    let mut bench = Bench::agui();
    bench.input(Input::Ask { id: AskId(1), ask: Ask::Uploads });
    assert!(bench.out.iter().any(|o| matches!(o, Output::Answer { result: Err(_), .. })));
}
