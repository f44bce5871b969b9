//! Servers that nobody here wrote, as recorded.

use super::*;
use crate::event::Reason;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/fixtures/ag-ui/", $name, ".sse"))
    };
}

/// The body without the recorded head.
fn recorded(text: &str) -> &str {
    text.split_once("\r\n\r\n")
        .or_else(|| text.split_once("\n\n"))
        .filter(|(head, _)| head.starts_with("HTTP/"))
        .map_or(text, |(_, body)| body)
}

/// A turn answered by each stream in turn.
fn turn(streams: &[&str]) -> Bench {
    let mut bench = Bench::agui();
    bench.send(1, "hi");
    for stream in streams {
        let fetch = bench.fetch();
        bench.head(200, "text/event-stream; charset=utf-8");
        bench.input(Input::Bytes { fetch, bytes: recorded(stream).as_bytes() });
        bench.input(Input::End { fetch, result: Ok(()) });
    }
    bench
}

fn history(bench: &Bench) -> Vec<String> {
    let run = bench.last(FetchPurpose::Run);
    assert_eq!(run.url, "https://peer.example/run");
    assert!(run.headers.iter().all(|(name, _)| *name != "Authorization"));
    let run = body(&run);
    let messages = run.get("messages").and_then(Value::as_array).unwrap();
    messages.iter().map(|m| m.get("role").and_then(Value::as_str).unwrap().to_owned()).collect()
}

#[test]
fn text() {
    let mut bench = turn(&[recorded!("pyd-fn-text")]);
    assert_eq!(bench.result().text.as_deref(), Some("Hello, wörld 🌍!"));
    assert_eq!(bench.story().last().unwrap(), "settle 1 finished");
    // The server keeps nothing, so it is sent everything.
    bench.send(2, "again");
    assert_eq!(history(&bench), ["user", "assistant", "user"]);
}

#[test]
fn calls_of_the_page() {
    for call in [
        recorded!("pyd-fn-frontend-tool"),
        recorded!("pyd-fn-pre1.0-client"),
        recorded!("pyd-test-frontend-tool"),
    ] {
        let mut bench = turn(&[call]);
        assert_eq!(history(&bench), ["user", "assistant", "tool"]);
        assert!(body(&bench.last(FetchPurpose::Run)).to_string().contains("no tool named `set_color`"));
        let fetch = bench.fetch();
        bench.head(200, "text/event-stream");
        bench.input(Input::Bytes { fetch, bytes: recorded(recorded!("pyd-fn-tool-result")).as_bytes() });
        assert_eq!(bench.result().text.as_deref(), Some("Tool returned: {\"ok\": true}"));
        bench.send(2, "and");
        assert_eq!(history(&bench), ["user", "assistant", "tool", "assistant", "user"]);
    }
}

#[test]
fn an_approval_of_another_server() {
    for (can_ask, status) in [(true, "resolved"), (false, "cancelled")] {
        let mut bench = Bench::agui();
        bench.input(Input::SetCanAsk(can_ask));
        bench.send(1, "hi");
        bench.answer(200, "text/event-stream", recorded(recorded!("pyd-approve-interrupt")));
        let asked = bench.out.iter().find_map(|output| match output {
            Output::Event(DomEvent::Runtime(RuntimeEvent::PermissionRequested { request_id, .. })) => {
                Some(request_id.clone())
            }
            _ => None,
        });
        assert_eq!(asked.is_some(), can_ask);
        if let Some(request_id) = &asked {
            let decision = crate::event::Decision::AllowOnce;
            bench.input(Input::Decide { reply: None, request_id, decision });
        }
        let run = body(&bench.last(FetchPurpose::Run));
        let resume = run.get("resume").and_then(Value::as_array).unwrap().to_vec();
        assert_eq!(resume.iter().map(|entry| entry.str("status").unwrap()).collect::<Vec<_>>(), [status]);
        bench.answer(200, "text/event-stream", recorded(recorded!("pyd-approve-resume")));
        assert_eq!(bench.result().status, TurnStatus::Finished, "{}", bench.story().join(" "));
    }
}

#[test]
fn every_recorded_stream_ends_as_it_says() {
    for (stream, status) in [
        (recorded!("pyd-fn-text"), TurnStatus::Finished),
        (recorded!("pyd-fn-tool-result"), TurnStatus::Finished),
        (recorded!("pyd-state"), TurnStatus::Finished),
        (recorded!("pyd-approve-resume"), TurnStatus::Finished),
        (recorded!("pyd-approve-resume-bad"), TurnStatus::Error),
    ] {
        let bench = turn(&[stream]);
        assert_eq!(bench.result().status, status, "{}", bench.story().join(" "));
        assert!(!bench.session.is_busy());
    }
}

#[test]
fn every_recorded_stream_may_be_cut_anywhere() {
    for stream in [recorded!("pyd-fn-text"), recorded!("pyd-fn-frontend-tool"), recorded!("pyd-state")] {
        let whole = recorded(stream).as_bytes();
        // Nothing at all is another fault: `errors.rs`.
        for cut in 1..whole.len() {
            let mut bench = Bench::agui();
            bench.send(1, "hi");
            bench.head(200, "text/event-stream");
            let fetch = bench.fetch();
            bench.input(Input::Bytes { fetch, bytes: &whole[..cut] });
            bench.input(Input::End { fetch, result: Ok(()) });
            let ended = whole.len() - cut < 2;
            assert_eq!(bench.session.is_busy(), ended && bench.requests().len() > 1);
            if !ended {
                assert_eq!(bench.run_error().reason, Reason::Interrupted);
            }
        }
    }
}

#[test]
fn calls_and_results_only_in_a_snapshot() {
    let snapshot = |tool: &str| {
        format!(
            r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{{"id":"u","role":"user","content":"hi"}},{{"id":"a","role":"assistant","toolCalls":[{{"id":"c","type":"function","function":{{"name":"look","arguments":"{{}}"}}}}]}}{tool}]}}"#
        )
    };
    let end = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
    let started = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
    let mut bench = Bench::agui();
    bench.send(1, "hi");
    bench.stream(&[started, &snapshot(""), end]);
    assert_eq!(history(&bench), ["user", "assistant", "tool"]);
    // The server's own tool, answered by the server.
    let mut bench = Bench::agui();
    bench.send(1, "hi");
    bench.stream(&[
        started,
        &snapshot(r#",{"id":"t","role":"tool","toolCallId":"c","content":"seen"}"#),
        end,
    ]);
    assert_eq!(bench.result().status, TurnStatus::Finished);
}

#[test]
fn a_stopped_or_broken_answer_leaves_a_history_that_can_go_on() {
    let call = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"look","parentMessageId":"m"}"#;
    let mut bench = Bench::agui();
    bench.send(1, "hi");
    bench.head(200, "text/event-stream");
    for event in [STARTED, SAY, HEL, SAID, call] {
        bench.event(event);
    }
    bench.input(Input::Stop);
    bench.send(2, "go on");
    assert_eq!(history(&bench), ["user", "assistant", "user"]);
    assert!(!body(&bench.last(FetchPurpose::Run)).to_string().contains("toolCalls"));
}

#[test]
fn an_own_sign_in_of_the_page() {
    let mut bench = Bench::new();
    bench.start(Config { page_auth: true, ..agui_config() });
    bench.input(Input::Token(Ok(Token::new("one"))));
    bench.send(1, "hi");
    assert!(bench.last(FetchPurpose::Run).headers.contains(&("Authorization", "Bearer one".into())));
    // Without one a refusal is the end.
    let mut bench = Bench::agui();
    bench.send(1, "hi");
    bench.answer(401, "", "");
    assert_eq!(bench.run_error().reason, Reason::Unauthorized);
}
