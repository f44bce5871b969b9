//! Calls of the page's tools, with scripted streams: what no well-behaved server does.

use super::channels::{object, tool};
use super::*;
use crate::view::ToolState;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn call(id: &str, name: &str, arguments: &str) -> Vec<String> {
    vec![
        format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"{id}","toolCallName":"{name}"}}"#),
        format!(
            r#"{{"type":"TOOL_CALL_ARGS","toolCallId":"{id}","delta":{}}}"#,
            Value::from(arguments).text()
        ),
        format!(r#"{{"type":"TOOL_CALL_END","toolCallId":"{id}"}}"#),
    ]
}

/// A stream that makes calls.
fn calling(calls: &[(&str, &str, &str)]) -> Vec<String> {
    let mut events = vec![STARTED.to_owned()];
    for (id, name, arguments) in calls {
        events.extend(call(id, name, arguments));
    }
    events.push(FINISHED.to_owned());
    events
}

fn play(bench: &mut Bench, events: &[String]) {
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    bench.stream(&events);
}

fn runs(bench: &Bench) -> Vec<ToolRun> {
    let run = |output: &Output| match output {
        Output::RunTool(run) => Some(run.clone()),
        _ => None,
    };
    bench.out.iter().filter_map(run).collect()
}

fn done(bench: &mut Bench, id: ToolRunId, result: &str) {
    bench.input(Input::ToolDone { id, result: Ok(result.to_owned()) });
}

/// The tool messages of the newest run, in short.
fn answers(bench: &Bench) -> Vec<String> {
    let run = body(&bench.last(FetchPurpose::Run));
    let messages = run.get("messages").and_then(Value::as_array).unwrap().to_vec();
    let answer = |m: &Value| {
        let failed = if m.get("error").is_some() { "!" } else { "" };
        Some(format!("{}={}{failed}", m.str("toolCallId")?, m.str("content")?))
    };
    messages.iter().filter_map(answer).collect()
}

/// A peer's page with two tools.
fn peer() -> Bench {
    let mut bench = Bench::agui();
    bench.input(Input::SetPageTools(vec![tool("look", ""), tool("act", "")]));
    bench.send(1, "hi");
    bench
}

#[test]
fn one_call_id_runs_once() {
    let mut bench = peer();
    // The same call twice in one stream, once more as a snapshot.
    let mut events = calling(&[("c1", "look", "{}")]);
    let snapshot = r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]}]}"#;
    events.insert(4, snapshot.to_owned());
    events.pop();
    events.push(
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["c1","c1"]}}"#
            .to_owned(),
    );
    play(&mut bench, &events);
    let run = runs(&bench)[0].clone();
    done(&mut bench, run.id, "1");
    done(&mut bench, run.id, "2");
    assert_eq!(answers(&bench), ["c1=1"]);
    // The server asks for it again: the answer that is known.
    play(&mut bench, &calling(&[("c1", "look", "{}")]));
    assert_eq!(answers(&bench), ["c1=1", "c1=1"]);
    // And for something else under its name: nothing is run.
    play(&mut bench, &calling(&[("c1", "act", "{}")]));
    assert!(
        answers(&bench)[2].starts_with("c1=The call was not run: its id was used"),
        "{:?}",
        answers(&bench)
    );
    play(&mut bench, &calling(&[("c2", "act", "{}")]));
    assert_eq!(runs(&bench).len(), 2);
    let starts = bench.story().iter().filter(|word| *word == "tool_start").count();
    assert_eq!(starts, 2);
}

#[test]
fn a_call_that_is_said_again_is_the_same_call() {
    let mut bench = peer();
    let again = ("c1", "look", r#"{"a":1}"#);
    let events = calling(&[again, ("c2", "act", ""), again]);
    play(&mut bench, &events);
    let runs = runs(&bench);
    assert_eq!(runs.iter().map(|run| run.call_id.as_str()).collect::<Vec<_>>(), ["c1", "c2"]);
    assert_eq!(runs[0].arguments.expose().text(), r#"{"a":1}"#);
}

#[test]
fn a_page_that_never_says_what_to_ask_is_not_waited_for() {
    let mut bench = Bench::agui();
    bench.input(Input::SetCanAsk(true));
    bench.input(Input::SetPageTools(vec![PageTool {
        confirm: crate::session::Confirm::PerCall,
        timeout: 500,
        ..tool("act", "")
    }]));
    bench.send(1, "hi");
    play(&mut bench, &calling(&[("c1", "act", "")]));
    let due = bench.session.poll_timeout();
    bench.pass(499);
    assert!(answers(&bench).is_empty() && due.is_some());
    bench.pass(1);
    assert_eq!(
        answers(&bench),
        ["c1=The call was not run: the page did not say in time what to ask the person. Go on without it.!"]
    );
    assert!(bench.out.iter().any(|output| matches!(output, Output::AbortTool(_))));
}

#[test]
fn an_old_call_is_not_run_again_either() {
    let mut bench = peer();
    let id = |n: usize| format!("c{n}");
    for n in 0..20 {
        if n > 0 {
            bench.send(1, "on");
        }
        play(&mut bench, &calling(&[(&id(2 * n), "look", "{}"), (&id(2 * n + 1), "look", "{}")]));
        for run in runs(&bench).split_off(2 * n) {
            done(&mut bench, run.id, "1");
        }
        bench.stream(HELLO);
    }
    bench.send(1, "once more");
    play(&mut bench, &calling(&[("c0", "look", "{}"), ("c39", "look", "{}")]));
    let answers = answers(&bench);
    assert!(answers[answers.len() - 2].contains("answered before"), "{answers:?}");
    assert_eq!(answers.last().unwrap(), "c39=1");
    assert_eq!(runs(&bench).len(), 40);
}

#[test]
fn a_run_that_fails_runs_nothing() {
    let mut bench = peer();
    let mut events = calling(&[("c1", "look", "{}")]);
    events.pop();
    events.push(r#"{"type":"RUN_ERROR","message":"Broken."}"#.to_owned());
    play(&mut bench, &events);
    assert!(runs(&bench).is_empty());
    assert_eq!(bench.result().status, TurnStatus::Error);
}

#[test]
fn stop_leaves_a_peer_with_an_answer_for_every_call() {
    let mut bench = peer();
    play(&mut bench, &calling(&[("c1", "look", "{}"), ("c2", "act", "{}")]));
    let first = runs(&bench)[0].clone();
    done(&mut bench, first.id, "7");
    bench.input(Input::Stop);
    assert_eq!(bench.result().status, TurnStatus::Aborted);
    let late = runs(&bench)[1].clone();
    assert!(bench.out.contains(&Output::AbortTool(late.id)));
    done(&mut bench, late.id, "8");
    bench.send(2, "and now?");
    let answers = answers(&bench);
    assert_eq!(answers[0], "c1=7");
    assert!(answers[1].starts_with("c2=The person stopped") && answers[1].ends_with('!'), "{answers:?}");
    assert_eq!(bench.run_error().effects.len(), 2);
}

#[test]
fn a_listener_of_the_beginning_may_stop_it() {
    let mut bench = peer();
    bench.head(200, "text/event-stream");
    let (fetch, now) = (bench.fetch(), bench.now);
    let events: String =
        calling(&[("c1", "look", "{}")]).iter().map(|event| format!("data: {event}\n\n")).collect();
    bench.session.handle(Input::Bytes { fetch, bytes: events.as_bytes() }, now).unwrap();
    // `tool_start` is told, the handler has not begun.
    bench.input(Input::Stop);
    assert!(runs(&bench).is_empty());
    assert!(!bench.out.iter().any(|output| matches!(output, Output::AbortTool(_))));
    assert!(bench.run_error().effects.is_empty());
    bench.send(2, "next");
    assert!(answers(&bench)[0].contains("before this call was run"), "{:?}", answers(&bench));
}

/// The events of a tool of the server's, `[id, read only, ok]`.
fn served((id, read_only, ok): (&str, bool, bool)) -> [String; 4] {
    [
        format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"{id}","toolCallName":"crm__{id}"}}"#),
        format!(r#"{{"type":"TOOL_CALL_END","toolCallId":"{id}"}}"#),
        format!(
            r#"{{"type":"CUSTOM","name":"mindset.tool_start","value":{{"toolCallId":"{id}","toolName":"{id}","source":"mcp","readOnly":{read_only}}}}}"#
        ),
        format!(
            r#"{{"type":"TOOL_CALL_RESULT","messageId":"of-{id}","toolCallId":"{id}","content":"","metadata":{{"mindset":{{"ok":{ok}}}}}}}"#
        ),
    ]
}

#[test]
fn what_the_server_did_is_named_when_the_page_notices_the_failure() {
    let effects = |end: &str| {
        let mut bench = peer();
        let mut events = calling(&[("c1", "look", "{}")]);
        let all = [("done", false, true), ("read", true, true), ("broken", false, false)];
        events.splice(1..1, all.into_iter().flat_map(served));
        // One that has begun and of which no more is heard.
        events.splice(1..1, served(("lost", false, true)).into_iter().take(3));
        if !end.is_empty() {
            events.pop();
            events.push(end.to_owned());
            play(&mut bench, &events);
        } else {
            play(&mut bench, &events);
            let run = runs(&bench)[0].id;
            done(&mut bench, run, "1");
            bench.answer(500, "text/plain", "");
        }
        let told = &bench.run_error().effects;
        told.iter()
            .map(|e| format!("{} {}", e.str("toolName").unwrap(), e.str("outcome").unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(effects(""), ["look done", "done done", "broken unknown", "lost unknown"]);
    // What the server lists is all there is.
    let listed = r#"{"type":"RUN_ERROR","message":"Broken.","metadata":{"mindset":{"reason":"internal","effects":[
        {"toolCallId":"done","toolName":"done","source":"mcp","outcome":"done"}]}}}"#;
    assert_eq!(effects(&listed.replace('\n', "")), ["done done", "lost unknown"]);
}

#[test]
fn reading_is_no_effect() {
    let mut bench = Bench::agui();
    let look = PageTool { read_only: true, ..tool("look", "") };
    bench.input(Input::SetPageTools(vec![look, tool("act", "")]));
    bench.send(1, "hi");
    play(&mut bench, &calling(&[("c1", "look", "{}"), ("c2", "act", "{}")]));
    for run in runs(&bench) {
        done(&mut bench, run.id, "1");
    }
    bench.answer(500, "text/plain", "");
    let effects: Vec<_> = bench.run_error().effects.iter().map(Value::text).collect();
    assert_eq!(effects, [r#"{"toolCallId":"c2","toolName":"act","source":"page","outcome":"done"}"#]);
}

#[test]
fn an_answer_to_nothing_is_nothing() {
    let mut bench = peer();
    let id = ToolRunId(77);
    let strays = || {
        [
            Input::ToolDone { id, result: Ok("1".into()) },
            Input::ToolSentence { id, sentence: Ok("?".into()) },
            Input::Owner { gone: true },
        ]
    };
    let decision = crate::event::Decision::AllowOnce;
    let word = Input::Decide { reply: None, request_id: "id1", decision };
    assert_eq!(bench.try_input(word).unwrap_err().code, crate::error::ErrorCode::NotFound);
    for input in strays() {
        bench.input(input);
    }
    play(&mut bench, &calling(&[("c1", "look", "{}")]));
    for input in strays() {
        bench.input(input);
    }
    assert!(bench.session.is_busy());
    let run = runs(&bench)[0].clone();
    done(&mut bench, run.id, "1");
    bench.stream(HELLO);
    for input in strays() {
        bench.input(input);
    }
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
    assert!(!bench.session.is_busy());
}

#[test]
fn a_panel_drawn_in_between_has_everything_once() {
    let mut bench = Bench::agui();
    bench.input(Input::SetPageTools(vec![tool("look", "")]));
    bench.send(1, "hi");
    bench.head(200, "text/event-stream");
    let fetch = bench.fetch();
    let events = [STARTED, SAY, HEL].map(|event| format!("data: {event}\n\n")).concat();
    bench.session.handle(Input::Bytes { fetch, bytes: events.as_bytes() }, bench.now).unwrap();
    // Nobody has taken the patches yet.
    let drawn = bench.session.redraw();
    while let Some(output) = bench.session.poll_output() {
        assert!(!matches!(output, Output::Patch(_)), "{output:?}");
    }
    let texts: Vec<_> = drawn
        .iter()
        .filter_map(
            |patch| if let Patch::AddMessage { text, .. } = patch { Some(text.as_str()) } else { None },
        )
        .collect();
    assert_eq!((&drawn[0], texts), (&Patch::Clear, vec!["hi", "Hel"]));
    assert_eq!(drawn.last(), Some(&Patch::SetActivity(Activity::Answering)));
}

/// The runtime's own tool.
fn server_tool(result: &str) -> Bench {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let mut events = calling(&[("c1", "crm__find", "{}")]);
    let end = events.pop().unwrap();
    events.push(
        r#"{"type":"CUSTOM","name":"mindset.tool_start","value":{"toolCallId":"c1","toolName":"find","source":"mcp","server":"crm","description":"Looking…"}}"#
            .to_owned(),
    );
    events.push(result.to_owned());
    events.extend([SAY, HEL, LO, SAID].map(str::to_owned));
    events.push(
        r#"{"type":"CUSTOM","name":"mindset.citations","value":{"messageId":"m","items":[{"marker":"[1]","title":"Guide","url":"https://e.com"},{"marker":"[2]","title":"Bad","url":"javascript:alert(1)"},{"no":1}]}}"#
            .to_owned(),
    );
    events.push(end);
    play(&mut bench, &events);
    bench
}

fn event_texts(bench: &Bench) -> Vec<String> {
    let text = |output: &Output| match output {
        Output::Event(DomEvent::Runtime(event)) => Some(event.to_json().text()),
        _ => None,
    };
    bench.out.iter().filter_map(text).collect()
}

#[test]
fn tools_of_the_runtime_are_told_and_shown() {
    let result = r#"{"type":"TOOL_CALL_RESULT","messageId":"t","toolCallId":"c1","content":"secret rows","metadata":{"mindset":{"ok":true,"durationMs":12,"source":"mcp","server":"crm","toolName":"find","description":"Looked","readOnly":true}}}"#;
    let bench = server_tool(result);
    let events = event_texts(&bench);
    let start = r#"{"type":"tool_start","toolCallId":"c1","toolName":"find","source":"mcp","server":"crm","description":"Looking…"}"#;
    let end = r#"{"type":"tool_end","toolCallId":"c1","toolName":"find","ok":true,"description":"Looked","durationMs":12}"#;
    let cited = r#"{"type":"citations","messageId":"m","items":[{"marker":"[1]","title":"Guide","url":"https://e.com"},{"marker":"[2]","title":"Bad"}]}"#;
    for wanted in [start, end, cited] {
        assert!(events.iter().any(|event| event == wanted), "{wanted} of {events:?}");
    }
    assert!(!events.iter().any(|event| event.contains("secret rows")));
    let (id, state) = ("c1".to_owned(), ToolState::Running);
    assert!(bench.patches().contains(&&Patch::AddTool { id: id.clone(), state, label: "Looking…".into() }));
    assert!(bench.patches().contains(&&Patch::SetTool {
        id,
        state: ToolState::Done,
        label: "Looked".into()
    }));
    let answer = &bench.session.messages()[1];
    assert_eq!(answer.citations.len(), 2);
    assert!(answer.to_json().text().contains(r#""citations":[{"marker":"[1]""#));
    assert!(runs(&bench).is_empty());
    assert_eq!(bench.result().status, TurnStatus::Finished);
}

#[test]
fn every_beginning_has_an_end() {
    let start = r#"{"type":"CUSTOM","name":"mindset.tool_start","value":{"toolCallId":"c1","toolName":"find","source":"mcp","description":"Looking…"}}"#;
    let error = r#"{"type":"RUN_ERROR","message":"Broken."}"#;
    for way in ["stop", "error", "cut", "silence", "left"] {
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        bench.head(200, "text/event-stream");
        bench.event(STARTED);
        for event in call("c1", "crm__find", "{}") {
            bench.event(&event);
        }
        bench.event(start);
        bench.now += 5;
        match way {
            "stop" => {
                bench.input(Input::Stop);
                bench.event(error);
            }
            "error" => bench.event(error),
            "cut" => bench.end(),
            "silence" => bench.pass(45_000),
            _ => bench.start(config()),
        }
        let story = bench.story();
        let at =
            story.iter().position(|word| word == "tool_end").unwrap_or_else(|| panic!("{way}: {story:?}"));
        assert!(story[at + 1].starts_with("run_error"), "{way}: {story:?}");
        let stopped =
            Patch::SetTool { id: "c1".into(), state: ToolState::Stopped, label: "Looking…".into() };
        assert_eq!(bench.patches().contains(&&stopped), way != "left", "{way}");
    }
}

#[test]
fn a_failed_tool_of_the_runtime_says_why() {
    let result = r#"{"type":"TOOL_CALL_RESULT","messageId":"t","toolCallId":"c1","content":"no such table","metadata":{"mindset":{"ok":false,"error":"no such table","durationMs":3,"source":"mcp","server":"crm","toolName":"find","readOnly":false}}}"#;
    let bench = server_tool(result);
    let end = r#"{"type":"tool_end","toolCallId":"c1","toolName":"find","ok":false,"error":"no such table","durationMs":3}"#;
    assert!(event_texts(&bench).iter().any(|event| event == end), "{:?}", event_texts(&bench));
    let (id, label) = ("c1".to_owned(), "Looking…".to_owned());
    assert!(bench.patches().contains(&&Patch::SetTool { id, state: ToolState::Failed, label }));
}

#[test]
fn a_peers_own_tool_begins_and_ends_with_its_result() {
    let mut bench = peer();
    let mut events = calling(&[("c1", "weather", "{}")]);
    let end = events.pop().unwrap();
    events
        .push(r#"{"type":"TOOL_CALL_RESULT","messageId":"t","toolCallId":"c1","content":"sun"}"#.to_owned());
    events.extend([SAY, HEL, SAID].map(str::to_owned));
    events.push(end);
    play(&mut bench, &events);
    let story = bench.story();
    let at = story.iter().position(|word| word == "tool_start").unwrap();
    assert_eq!(story[at..=at + 1], ["tool_start", "tool_end"]);
    let events = event_texts(&bench);
    let start = r#"{"type":"tool_start","toolCallId":"c1","toolName":"weather","source":"builtin"}"#;
    assert!(events.iter().any(|event| event == start), "{events:?}");
    assert_eq!(bench.result().status, TurnStatus::Finished);
}

#[test]
fn a_peer_that_answers_for_the_page_is_not_taken_for_the_page() {
    let mut bench = peer();
    let mut events = calling(&[("c1", "act", "{}")]);
    let end = events.pop().unwrap();
    let result = r#"{"type":"TOOL_CALL_RESULT","messageId":"t","toolCallId":"c1","content":"interrupted by an error"}"#;
    events.extend([result.to_owned(), end]);
    play(&mut bench, &events);
    let events = event_texts(&bench);
    assert!(!events.iter().any(|event| event.contains("tool_start")), "{events:?}");
    let ends = events.iter().filter(|event| event.contains("tool_end") && event.contains(r#""ok":false"#));
    assert_eq!(ends.count(), 1, "{events:?}");
    assert!(runs(&bench).is_empty());
}

#[test]
fn a_warning_is_a_remark() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let warning = r#"{"type":"CUSTOM","name":"mindset.warning","value":{"message":"The CRM is down."}}"#;
    let unknown = r#"{"type":"CUSTOM","name":"else","value":null}"#;
    bench.stream(&[STARTED, warning, unknown, SAY, HEL, SAID, FINISHED]);
    assert_eq!(bench.notice(), Some(("The CRM is down.".to_owned(), None)));
    assert_eq!(bench.result().status, TurnStatus::Finished);
}

#[test]
fn stop_asks_the_server_to_close_the_calls() {
    for (status, ends) in [(Some(200), true), (Some(404), true), (None, false)] {
        let mut bench = Bench::ready();
        bench.input(Input::SetPageTools(vec![tool("look", "")]));
        bench.send(1, "hi");
        play(&mut bench, &calling(&[("c1", "look", "{}")]));
        assert!(bench.session.is_busy());
        bench.input(Input::Stop);
        let cancel = bench.last(FetchPurpose::Cancel);
        assert!(bench.session.is_busy() && bench.activity() == Activity::Stopping);
        if let Some(status) = status {
            bench.input(Input::Head { fetch: cancel.id, status, content_type: "application/json" });
        }
        assert_eq!(bench.session.is_busy(), !ends);
        bench.settle_down();
        assert_eq!(bench.result().status, TurnStatus::Aborted);
        assert!(!bench.session.is_busy());
    }
}

#[test]
fn arguments_that_are_no_text_are_read_all_the_same() {
    let mut bench = peer();
    let mut events = calling(&[("c1", "look", r#"{"name":"billing"}"#)]);
    play(&mut bench, &std::mem::take(&mut events));
    assert_eq!(*runs(&bench)[0].arguments.expose(), object(r#"{"name":"billing"}"#));
}
