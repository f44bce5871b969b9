//! Page tools over whole turns: from the model's call to the handler and back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use std::cell::RefCell;
use std::rc::Rc;

use mindset_core::event::{BoundReason, Decision, RuntimeEvent};
use mindset_core::session::{Confirm, Input, PageTool, TurnStatus};
use mindset_core::turn::{ModelEvent, ModelMessage, RunState};
use pair::{ID, Pair, Panel, ScriptedModel, Step, call, object, slow_call, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const ANY: &str = r#"{"type":"object","properties":{}}"#;

/// One step that calls, one that answers, for the tools of the page.
fn calls(events: Vec<ModelEvent>, tools: Vec<PageTool>) -> Pair {
    let mut pair = Pair::new(ScriptedModel::new([Step::events(events), Step::says("Done.")]));
    pair.set_tools(tools);
    pair
}

/// What the model was told of the calls so far.
fn told(pair: &Pair) -> Vec<(String, bool)> {
    let request = pair.server.model.requests.last().unwrap();
    let result = |message: &ModelMessage| match message {
        ModelMessage::Tool { content, failed, .. } => Some((content.clone(), *failed)),
        _ => None,
    };
    request.messages.iter().filter_map(result).collect()
}

fn tools_shown(pair: &Pair) -> Vec<String> {
    Panel::draw(&pair.page().patches).tools()
}

fn names(pair: &Pair) -> Vec<&'static str> {
    pair.page().runtime().iter().map(|event| event.type_name()).collect()
}

#[test]
fn round_trip() {
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;
    let open = PageTool {
        running: Some("Opening…".into()),
        completed: Some("Opened".into()),
        ..tool("open_panel", schema)
    };
    let mut pair = calls(call(0, "open_panel", r#"{"name":"billing"}"#), vec![open]);
    let result = pair.ask("open it");
    assert_eq!((result.status, result.text.as_deref()), (TurnStatus::Finished, Some("Done.")));
    assert_eq!(told(&pair), [(r#"{"name":"billing"}"#.to_owned(), false)]);
    assert_eq!(
        pair.page().sketch()[3..],
        [
            "busy",
            "run_started",
            "tool_announce",
            "tool_start",
            "tool_end",
            "complete",
            "run_finished",
            "conversation",
            "idle",
            "settled finished"
        ]
    );
    assert_eq!(tools_shown(&pair), ["Done Opened"]);
    let events: Vec<_> = pair.page().runtime().iter().map(|event| event.to_json().text()).collect();
    let id = &pair.page().runs[0].call_id;
    let start = format!(
        r#"{{"type":"tool_start","toolCallId":"{id}","toolName":"open_panel","source":"page","description":"Opening…"}}"#
    );
    let end = format!(
        r#"{{"type":"tool_end","toolCallId":"{id}","toolName":"open_panel","ok":true,"description":"Opened","durationMs":0}}"#
    );
    assert!(events.contains(&start) && events.contains(&end), "{events:?}");
    assert!(!events.iter().any(|event| event.contains("billing")), "results are for the model only");
    assert_eq!(pair.server.ended, [RunState::Waiting, RunState::Finished]);
}

#[test]
fn calls_without_an_id_get_one_of_their_own() {
    let mut pair = calls(call(0, "open_panel", r#"{"n":1}"#), vec![tool("open_panel", ANY)]);
    pair.ask("one");
    pair.server.model.push(Step::events(call(0, "open_panel", r#"{"n":2}"#)));
    pair.server.model.push(Step::says("Again."));
    pair.ask("two");
    let runs = &pair.page().runs;
    assert_eq!(runs.len(), 2);
    assert_ne!(runs[0].call_id, runs[1].call_id);
    assert_eq!(told(&pair), [(r#"{"n":1}"#.into(), false), (r#"{"n":2}"#.into(), false)]);
}

#[test]
fn what_counts_as_no_arguments_and_what_never_runs() {
    for text in ["", "  ", "null", "null ", "[]", "{}", "{\"a\":\"\\u0000\"}"] {
        let mut pair = calls(call(0, "snap_view", text), vec![tool("snap_view", "")]);
        assert_eq!(pair.ask("go").status, TurnStatus::Finished);
        let expected = if text.contains('a') { text } else { "{}" };
        assert_eq!(told(&pair), [(expected.to_owned(), false)], "{text:?}");
    }
    for text in ["{\"q\": ", "\"foo\"", "3", "[1]", "{\"a\":1}{\"b\":2}", "true"] {
        let mut pair = calls(call(0, "snap_view", text), vec![tool("snap_view", "")]);
        assert_eq!(pair.ask("go").status, TurnStatus::Finished, "{text:?}");
        assert!(pair.page().runs.is_empty(), "{text:?}");
        let told = told(&pair);
        assert!(told[0].1 && told[0].0.starts_with("The call was not run"), "{told:?}");
        assert!(!names(&pair).contains(&"tool_start"));
        assert!(tools_shown(&pair)[0].starts_with("Failed"), "{:?}", tools_shown(&pair));
    }
}

#[test]
fn arguments_that_do_not_fit_are_told_with_their_place() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}"#;
    for (arguments, says) in [
        (r#"{"n":0}"#, "/n"),
        ("{}", "`n`"),
        (r#"{"n":9007199254740993}"#, "/n is too large for the page to hold exactly. Send it as text."),
        (r#"{"n":1,"deep":[{"id":12345678901234567890}]}"#, "/deep/0/id is too large"),
    ] {
        let mut pair = calls(call(0, "count", arguments), vec![tool("count", schema)]);
        pair.ask("go");
        let told = told(&pair);
        assert!(told[0].1 && told[0].0.contains(says), "{arguments}: {told:?}");
        assert!(pair.page().runs.is_empty());
    }
    let mut pair = calls(call(0, "count", r#"{"n":9007199254740991}"#), vec![tool("count", schema)]);
    pair.ask("go");
    assert_eq!(told(&pair), [(r#"{"n":9007199254740991}"#.into(), false)]);
}

#[test]
fn busy_until_the_slow_handler_is_done() {
    let mut pair = calls(call(0, "slow", ""), vec![tool("slow", ANY)]);
    pair.pages[0].handler = Box::new(|_| Some((5_000, Ok(String::new()))));
    let send = pair.send("go");
    pair.drive_for(4_999);
    assert!(pair.page().session.is_busy());
    assert!(!names(&pair).contains(&"tool_end"));
    assert_eq!(tools_shown(&pair), ["Running slow"]);
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Finished);
    assert_eq!(told(&pair), [("null".to_owned(), false)]);
    assert_eq!(names(&pair).iter().filter(|name| **name == "run_finished").count(), 1);
    let durations: Vec<_> = pair
        .page()
        .runtime()
        .iter()
        .filter_map(
            |e| if let RuntimeEvent::ToolEnd { duration_ms, .. } = e { Some(*duration_ms) } else { None },
        )
        .collect();
    assert_eq!(durations, [5_000]);
}

#[test]
fn endless_calls_hit_a_bound() {
    let same = || {
        ScriptedModel::improvising(|_| {
            call(0, "look", "{}").into_iter().map(|e| (0, e)).chain(end()).collect()
        })
    };
    fn end() -> [(u64, ModelEvent); 1] {
        [(0, ModelEvent::End { usage: None })]
    }
    let mut pair = Pair::new(same());
    pair.set_tools(vec![tool("look", ANY)]);
    let result = pair.ask("go");
    assert_eq!(result.status, TurnStatus::Finished);
    let bound = result.bound.expect("a bound");
    assert!(matches!(bound.reason, BoundReason::Repetition | BoundReason::StepLimit), "{bound:?}");
    assert!(pair.page().runs.len() <= 25, "{}", pair.page().runs.len());
    // A new message is taken.
    pair.server.model = ScriptedModel::new([Step::says("Hello.")]);
    assert_eq!(pair.ask("and now?").text.as_deref(), Some("Hello."));
}

#[test]
fn arguments_arrive_whole_however_the_stream_is_cut() {
    let arguments = r#"{"addresses":[{"a":"1🙂"},{"a":"2"},{"a":"3"}]}"#;
    for chunk in 1..80 {
        let mut pair = calls(call(0, "save", arguments), vec![tool("save", ANY)]);
        pair.network.chunk = chunk;
        pair.ask("go");
        assert_eq!(told(&pair), [(arguments.to_owned(), false)]);
        assert_eq!(pair.page().runs.len(), 1);
    }
}

#[test]
fn a_page_sees_what_the_model_wrote() {
    let seen = r#"{"filter":{"status":"open","tags":["a",null]},"none":null,"n":0,"s":"","b":false,"deep":{"a":{"b":{"c":[{}]}}},"__proto__x":1,"constructor":"c","__proto__":{"polluted":true}}"#;
    let mut pair = calls(call(0, "echo", seen), vec![tool("echo", ANY)]);
    pair.ask("go");
    assert_eq!(pair.page().runs[0].arguments.expose().text(), seen);
    assert_eq!(told(&pair), [(seen.to_owned(), false)]);
}

#[test]
fn every_end_of_a_handler_is_a_definite_result() {
    for (ends, content, failed) in [
        (Ok(String::new()), "null", false),
        (Ok("{\"ok\":true}".to_owned()), "{\"ok\":true}", false),
        (Err("no access".to_owned()), "no access", true),
        (Err(" ".to_owned()), "The tool failed and did not say why.", true),
        (
            Err("the result cannot be sent: /self is a cycle".to_owned()),
            "the result cannot be sent: /self is a cycle",
            true,
        ),
    ] {
        let mut pair = calls(call(0, "act", ""), vec![tool("act", ANY)]);
        pair.pages[0].handler = Box::new(move |_| Some((3, ends.clone())));
        assert_eq!(pair.ask("go").status, TurnStatus::Finished, "a failed tool is no failed turn");
        assert_eq!(told(&pair), [(content.to_owned(), failed)]);
        assert_eq!(tools_shown(&pair), [if failed { "Failed act" } else { "Done act" }]);
    }
}

#[test]
fn a_huge_result_is_cut_and_says_so() {
    let mut pair = calls(call(0, "export", ""), vec![tool("export", ANY)]);
    let huge = format!("\"{}\"", "é".repeat(5_000_000));
    let full = huge.len();
    pair.pages[0].handler = Box::new(move |_| Some((0, Ok(huge.clone()))));
    pair.ask("go");
    let told = told(&pair);
    assert!(told[0].0.len() <= 256 * 1024, "{}", told[0].0.len());
    assert!(told[0].0.ends_with(&format!("of {full} bytes are shown.]")));
}

#[test]
fn a_handler_that_never_ends_times_out_and_its_late_result_is_nothing() {
    let quick = PageTool { timeout: 1_500, ..tool("hang", ANY) };
    let mut pair = calls(call(0, "hang", ""), vec![quick]);
    pair.pages[0].handler = Box::new(|_| Some((10_000, Ok("late".to_owned()))));
    let send = pair.send("go");
    pair.drive_for(20_000);
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Finished);
    let why = "The tool did not answer within 1.5 s. It is not known whether it acted.";
    assert_eq!(told(&pair), [(why.to_owned(), true)]);
    assert_eq!(pair.page().aborted, [pair.page().runs[0].id]);
    assert_eq!(names(&pair).iter().filter(|name| **name == "tool_end").count(), 1);
}

#[test]
fn calls_of_one_step_run_at_the_same_time() {
    let mut events = call(0, "a", r#"{"n":1}"#);
    events.extend(call(1, "b", r#"{"n":2}"#));
    events.extend(call(2, "missing", "{}"));
    events.extend(call(3, "a", r#"{"n":3}"#));
    for times in [[5, 5, 5], [9, 1, 5], [0, 0, 0]] {
        let mut pair = calls(events.clone(), vec![tool("a", ANY), tool("b", ANY)]);
        let mut at = 0;
        pair.pages[0].handler = Box::new(move |run| {
            at += 1;
            Some((times[at - 1], Ok(run.arguments.expose().text())))
        });
        pair.ask("go");
        let starts = names(&pair);
        let first_end = starts.iter().rposition(|name| *name == "tool_start").unwrap();
        assert!(starts[first_end..].iter().filter(|name| **name == "tool_end").count() >= 3, "{starts:?}");
        let told = told(&pair);
        assert_eq!(told[0], (r#"{"n":1}"#.to_owned(), false));
        assert_eq!(told[1], (r#"{"n":2}"#.to_owned(), false));
        assert!(told[2].1, "{told:?}");
        assert_eq!(told[3], (r#"{"n":3}"#.to_owned(), false));
        assert_eq!(pair.page().runs.len(), 3);
    }
}

#[test]
fn stop_while_a_handler_runs() {
    let mut events = call(0, "quick", "");
    events.extend(call(1, "slow", ""));
    let mut pair = calls(events, vec![tool("quick", ANY), tool("slow", ANY)]);
    pair.network.latency = 10;
    pair.pages[0].handler =
        Box::new(|run| Some((if run.name == "slow" { 500 } else { 0 }, Ok("1".to_owned()))));
    let send = pair.send("go");
    pair.drive_for(200);
    pair.stop();
    pair.drive();
    let result = pair.page().result(send).clone();
    assert_eq!(result.status, TurnStatus::Aborted);
    let slow = &pair.page().runs[1];
    assert_eq!(pair.page().aborted, [slow.id]);
    assert_eq!(tools_shown(&pair), ["Done quick", "Stopped slow"]);
    let effects: Vec<String> = pair
        .page()
        .runtime()
        .iter()
        .find_map(|e| if let RuntimeEvent::RunError(e) = e { Some(e.effects.clone()) } else { None })
        .unwrap()
        .iter()
        .map(|effect| format!("{} {}", effect.str("toolName").unwrap(), effect.str("outcome").unwrap()))
        .collect();
    assert_eq!(effects, ["quick done", "slow unknown"]);
    assert_eq!(pair.server.closed, 2, "the server closed the open calls");
    // The conversation takes the next message, and the late result is nothing.
    pair.server.model = ScriptedModel::new([Step::says("Here.")]);
    assert_eq!(pair.ask("and now?").text.as_deref(), Some("Here."));
    assert_eq!(pair.page().runs.len(), 2);
}

#[test]
fn stop_in_the_middle_of_a_call_leaves_a_sendable_conversation() {
    // B20: the call is half there.
    for time in [0, 1, 5, 15, 25, 35, 45] {
        let slowly = Step::events(call(0, "act", r#"{"a":1}"#)).slowly(10);
        let mut pair = Pair::new(ScriptedModel::new([slowly, Step::says("Done.")]));
        pair.set_tools(vec![tool("act", ANY)]);
        let send = pair.send("go");
        pair.drive_for(time);
        pair.stop();
        pair.drive();
        assert!(pair.page().settled(send));
        pair.server.model = ScriptedModel::new([Step::says("Here.")]);
        assert_eq!(pair.ask("next").text.as_deref(), Some("Here."), "{time}");
    }
}

fn asked(confirm: Confirm) -> Pair {
    let ask = PageTool {
        confirm,
        running: Some("Paying…".into()),
        ..tool("pay", r#"{"type":"object","properties":{"sum":{"type":"number"},"card":{"type":"string"}}}"#)
    };
    let mut pair = calls(call(0, "pay", r#"{"sum":5}"#), vec![ask]);
    pair.input(0, Input::SetPassthrough(object(r#"{"pay.card":"4111-secret"}"#))).unwrap();
    pair.server.model =
        ScriptedModel::new([Step::events(call(0, "pay", r#"{"sum":5}"#)), Step::says("Done.")]);
    pair
}

#[test]
fn the_person_is_asked_first() {
    for (confirm, question) in [
        (Confirm::Always, "May the agent use “pay”?"),
        (Confirm::Sentence("Pay 5?".into()), "Pay 5?"),
        (Confirm::PerCall, "Really?"),
    ] {
        let mut pair = asked(confirm);
        pair.pages[0].decide = Box::new(|_| Some((90_000, Decision::AllowOnce)));
        let send = pair.send("pay");
        pair.drive_for(80_000);
        assert!(pair.page().session.is_busy() && pair.page().runs.is_empty());
        let panel = Panel::draw(&pair.page().patches);
        assert_eq!(panel.tools(), ["Asking Paying…"]);
        let (_, text, details) = &panel.questions[0];
        assert_eq!(text, question);
        assert_eq!(details, &[("sum".to_owned(), "5".to_owned()), ("card".to_owned(), "•••".to_owned())]);
        // One that is drawn now shows the same.
        assert_eq!(Panel::draw(&pair.pages[0].session.redraw()), panel);
        pair.drive();
        assert_eq!(pair.page().result(send).status, TurnStatus::Finished);
        let expose = pair.page().runs[0].arguments.expose().text();
        assert_eq!(expose, r#"{"sum":5,"card":"4111-secret"}"#);
        let events: Vec<_> = pair.page().runtime().iter().map(|event| event.to_json().text()).collect();
        assert!(!events.iter().any(|event| event.contains("4111")), "{events:?}");
        let story = names(&pair);
        let from = story.iter().position(|name| *name == "permission_requested").unwrap();
        assert_eq!(
            story[from..from + 4],
            ["permission_requested", "permission_resolved", "tool_start", "tool_end"]
        );
    }
}

#[test]
fn no_is_no() {
    let mut pair = asked(Confirm::Always);
    pair.pages[0].decide = Box::new(|_| Some((10, Decision::Deny)));
    assert_eq!(pair.ask("pay").status, TurnStatus::Finished);
    assert!(pair.page().runs.is_empty());
    let told = told(&pair);
    assert!(told[0].1 && told[0].0.contains("did not allow it"), "{told:?}");
    assert_eq!(tools_shown(&pair), ["Stopped Paying…"]);
    assert!(!names(&pair).contains(&"tool_start"));
}

#[test]
fn a_page_that_cannot_say_what_to_ask_runs_nothing() {
    let mut pair = asked(Confirm::PerCall);
    pair.pages[0].wording = Box::new(|_| Err("sum is not defined".to_owned()));
    pair.ask("pay");
    assert!(pair.page().runs.is_empty());
    assert!(told(&pair)[0].0.contains("sum is not defined"), "{:?}", told(&pair));
}

#[test]
fn nobody_to_ask_is_no() {
    for confirm in [Confirm::Always, Confirm::Sentence("Pay?".into()), Confirm::PerCall] {
        let mut pair = asked(confirm);
        pair.input(0, Input::SetCanAsk(false)).unwrap();
        assert_eq!(pair.ask("pay").status, TurnStatus::Finished);
        assert!(pair.page().runs.is_empty());
        let told = told(&pair);
        assert!(told[0].1 && told[0].0.contains("nobody could be asked"), "{told:?}");
        assert!(!names(&pair).contains(&"permission_requested"));
    }
    // The panel goes while the question is open.
    let mut pair = asked(Confirm::Always);
    let send = pair.send("pay");
    pair.drive_for(100);
    pair.input(0, Input::SetCanAsk(false)).unwrap();
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Finished);
    assert!(told(&pair)[0].0.contains("nobody could be asked"));
}

#[test]
fn stop_while_a_question_is_open() {
    let mut pair = asked(Confirm::Always);
    let send = pair.send("pay");
    pair.drive_for(1_000);
    pair.stop();
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Aborted);
    assert!(pair.page().runs.is_empty());
    assert_eq!(tools_shown(&pair), ["Stopped Paying…"]);
    assert!(names(&pair).contains(&"permission_resolved"));
    pair.server.model = ScriptedModel::new([Step::says("Fine.").expects(|request| {
        let cancelled = |m: &ModelMessage| matches!(m, ModelMessage::Tool { failed: true, .. });
        assert!(request.messages.iter().any(cancelled), "{request:?}");
    })]);
    assert_eq!(pair.ask("never mind").text.as_deref(), Some("Fine."));
}

#[test]
fn tools_may_be_set_again_while_they_run() {
    // With another handler: that of today runs.
    let mut pair = slow_call(ID, r#"{"n":1}"#);
    pair.send("go");
    pair.drive_for(50);
    let again = PageTool { completed: Some("Acted".into()), ..tool("act", ID) };
    pair.set_tools(vec![again, tool("more", ANY)]);
    pair.drive();
    assert_eq!(told(&pair), [(r#"{"n":1}"#.to_owned(), false)]);
    assert_eq!(tools_shown(&pair), ["Done Acted"]);
    // Taken back while the model calls it.
    let mut pair = slow_call(ID, r#"{"n":1}"#);
    pair.send("go");
    pair.drive_for(50);
    pair.set_tools(Vec::new());
    pair.drive();
    assert!(told(&pair)[0].0.contains("no tool named `act`"), "{:?}", told(&pair));
    // Taken back while it runs: its result counts.
    let mut pair = calls(call(0, "act", ""), vec![tool("act", ANY)]);
    pair.pages[0].handler = Box::new(|_| Some((1_000, Ok("7".to_owned()))));
    pair.send("go");
    pair.drive_for(500);
    pair.set_tools(Vec::new());
    pair.drive();
    assert_eq!(told(&pair), [("7".to_owned(), false)]);
    assert!(pair.server.model.requests.last().unwrap().tools.is_empty(), "the next run offers what is there");
    // The name is another tool now, with another schema: the model's words are checked
    // against what it saw.
    let mut pair = slow_call(ID, r#"{"n":1}"#);
    pair.send("go");
    pair.drive_for(50);
    pair.set_tools(vec![tool("act", r#"{"type":"object","required":["x"]}"#)]);
    pair.drive();
    assert_eq!(told(&pair), [(r#"{"n":1}"#.to_owned(), false)]);
}

#[test]
fn a_handler_may_do_anything_with_its_session() {
    // It sends, stops and sets tools; the driver hands these in right behind.
    let log = Rc::new(RefCell::new(Vec::new()));
    let mut pair = calls(call(0, "act", ""), vec![tool("act", ANY)]);
    let heard = Rc::clone(&log);
    pair.pages[0].handler = Box::new(move |run| {
        heard.borrow_mut().push(run.conversation_id.clone());
        Some((10, Ok("1".to_owned())))
    });
    let send = pair.send("go");
    pair.drive_for(5);
    pair.set_tools(vec![tool("act", ANY), tool("other", ANY)]);
    assert!(pair.send_from(0, "no", Default::default()).is_err(), "busy");
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Finished);
    assert_eq!(log.borrow().as_slice(), [pair.page().session.conversation_id().unwrap().to_owned()]);
    assert_eq!(pair.page().conversation.as_ref(), log.borrow().first());
}

#[test]
fn leaving_ends_the_handlers() {
    let mut pair = calls(call(0, "act", ""), vec![tool("act", ANY)]);
    pair.pages[0].handler = Box::new(|_| Some((1_000, Ok("1".to_owned()))));
    let send = pair.send("go");
    pair.drive_for(100);
    pair.input(0, Input::Start(pair::config())).unwrap();
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Aborted);
    assert_eq!(pair.page().aborted.len(), 1);
    assert_eq!(names(&pair).iter().filter(|name| name.starts_with("tool_")).count(), 3, "{:?}", names(&pair));
    pair.server.model = ScriptedModel::new([Step::says("Hello.")]);
    assert_eq!(pair.ask("hi").text.as_deref(), Some("Hello."));
}
