//! Approvals and questionnaires, with scripted servers.

use super::channels::tool;
use super::*;
use crate::event::Decision;
use crate::view::ToolState;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const APPROVAL: &str = r#"{"id":"a1","reason":"tool_call","message":"The agent wants to run pay.","toolCallId":"c1","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}}},"metadata":{"mindset":{"toolName":"pay","reason":"It costs.","toolInput":{"to":"Ann"}}}}"#;
const SECOND: &str = r#"{"id":"a2","reason":"tool_call","toolCallId":"c2","metadata":{"mindset":{"toolName":"pay","reason":"","toolInput":{}}}}"#;
const QUESTIONS: &str = r#"{"id":"q1","reason":"input_required","message":"Which?","toolCallId":"c3","metadata":{"mindset":{"questionnaire":{"id":"q1","steps":[{"id":"s","question":"Which?"}]}}}}"#;

fn start(id: &str, name: &str) -> String {
    format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"{id}","toolCallName":"{name}"}}"#)
}

fn end(id: &str) -> String {
    format!(r#"{{"type":"TOOL_CALL_END","toolCallId":"{id}"}}"#)
}

fn finished(interrupts: &[&str]) -> String {
    let list = interrupts.join(",");
    format!(
        r#"{{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{{"type":"interrupt","interrupts":[{list}]}}}}"#
    )
}

/// A run that calls and asks.
fn asking(calls: &[(&str, &str)], interrupts: &[&str]) -> Vec<String> {
    let mut events = vec![STARTED.to_owned()];
    for (id, name) in calls {
        events.extend([start(id, name), end(id)]);
    }
    events.push(finished(interrupts));
    events
}

fn play(bench: &mut Bench, events: &[String]) {
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    bench.stream(&events);
}

/// A page whose person can answer, and which has sent "hi".
fn sent(config: Config) -> Bench {
    let mut bench = Bench::new();
    let ours = config.protocol == Protocol::Mindset;
    bench.start(Config { can_ask: true, ..config });
    if ours {
        bench.answer_json(200, r#"{"authToken":"secret-1"}"#);
    }
    bench.out.clear();
    bench.send(1, "hi");
    bench
}

fn decide(bench: &mut Bench, id: &str, decision: Decision) -> Result<(), Refused> {
    bench.try_input(Input::Decide { reply: Some(AskId(9)), request_id: id, decision })
}

fn answer(bench: &mut Bench, id: u32, question: &str, answers: &str) -> Result<(), Refused> {
    bench.try_input(Input::Answer { id: Some(SendId(id)), question_id: question, answers })
}

fn resume(bench: &Bench) -> String {
    let run = body(&bench.last(FetchPurpose::Run));
    run.get("resume").map(Value::text).unwrap_or_default()
}

fn replies(bench: &Bench) -> Vec<bool> {
    let reply = |output: &Output| match output {
        Output::Answer { result, .. } => Some(result.is_ok()),
        _ => None,
    };
    bench.out.iter().filter_map(reply).collect()
}

/// The cards that stand there.
fn cards(bench: &Bench) -> Vec<String> {
    let mut cards: Vec<String> = Vec::new();
    for patch in bench.patches() {
        match patch {
            Patch::AddQuestion { id, .. } | Patch::AddQuestionnaire { id, .. } => {
                assert!(!cards.contains(id), "two cards {id}");
                cards.push(id.clone());
            }
            Patch::RemoveQuestion { id } => {
                assert!(cards.contains(id), "no card {id}");
                cards.retain(|known| known != id);
            }
            Patch::Clear => cards.clear(),
            _ => {}
        }
    }
    cards
}

const Q: &str = r#"[{"stepId":"s","otherText":"This one"}]"#;

#[test]
fn an_approval_keeps_the_turn_waiting_and_its_word_goes_into_the_next_run() {
    for (decision, approved) in [(Decision::AllowOnce, true), (Decision::Deny, false)] {
        let mut bench = sent(config());
        assert!(bench.last(FetchPurpose::Run).body.unwrap().contains(r#""answers":true"#));
        play(&mut bench, &asking(&[("c1", "pay")], &[APPROVAL]));
        assert!(bench.session.is_busy());
        assert_eq!(bench.activity(), Activity::Asking);
        let asked = bench.out.iter().find_map(|o| match o {
            Output::Event(DomEvent::Runtime(event @ RuntimeEvent::PermissionRequested { .. })) => Some(event),
            _ => None,
        });
        assert_eq!(
            asked.unwrap().to_json().text(),
            r#"{"type":"permission_requested","requestId":"a1","toolCallId":"c1","toolName":"pay","reason":"It costs.","toolInput":{"to":"Ann"}}"#
        );
        let card = Patch::AddQuestion {
            id: "a1".into(),
            tool: Some("pay".into()),
            text: "It costs.".into(),
            details: vec![("to".into(), "Ann".into())],
        };
        assert!(bench.patches().contains(&&card));
        // Nothing else gets in.
        assert!(bench.try_send(2, "more", SendOptions::default()).is_err());
        decide(&mut bench, "a1", decision).unwrap();
        assert_eq!(cards(&bench), [""; 0]);
        assert_eq!(
            resume(&bench),
            format!(r#"[{{"interruptId":"a1","status":"resolved","payload":{{"approved":{approved}}}}}]"#)
        );
        assert_eq!(replies(&bench), [true; 0], "not before the server has taken it");
        // A second word does not count.
        assert!(decide(&mut bench, "a1", Decision::AllowOnce).is_err());
        bench.stream(HELLO);
        assert_eq!(replies(&bench), [true]);
        assert!(
            bench.story().ends_with(
                &[
                    "permission_resolved",
                    "text Hel",
                    "text lo",
                    "complete",
                    "run_finished",
                    "conversation",
                    "idle",
                    "settle 1 finished"
                ]
                .map(String::from)
            ),
            "{:?}",
            bench.story()
        );
        let state = if approved { ToolState::Running } else { ToolState::Stopped };
        assert!(
            bench
                .patches()
                .iter()
                .any(|p| matches!(p, Patch::SetTool { id, state: s, .. } if id == "c1" && *s == state))
        );
    }
}

#[test]
fn the_next_run_carries_all_words_and_the_results_of_the_page() {
    let mut bench = Bench::new();
    bench.start(Config { can_ask: true, ..config() });
    bench.answer_json(200, r#"{"authToken":"secret-1"}"#);
    bench.input(Input::SetPageTools(vec![tool("look", "")]));
    bench.send(1, "hi");
    let calls = [("c1", "pay"), ("c2", "pay"), ("c4", "look"), ("c3", "ask_user")];
    play(&mut bench, &asking(&calls, &[APPROVAL, SECOND, QUESTIONS]));
    assert_eq!(cards(&bench), ["a1", "a2", "q1"]);
    let runs = |bench: &Bench| bench.requests().iter().filter(|r| r.purpose == FetchPurpose::Run).count();
    decide(&mut bench, "a2", Decision::Deny).unwrap();
    assert_eq!(replies(&bench), [true], "it is kept");
    decide(&mut bench, "a1", Decision::AllowOnce).unwrap();
    assert_eq!((runs(&bench), bench.session.is_busy()), (1, true));
    let run = bench.out.iter().find_map(|o| match o {
        Output::RunTool(run) => Some(run.id),
        _ => None,
    });
    bench.input(Input::ToolDone { id: run.unwrap(), result: Ok("1".into()) });
    // Only the questionnaire is left: the turn rests.
    assert_eq!((runs(&bench), bench.session.is_busy()), (1, false));
    assert!(bench.result().pending.is_some());
    answer(&mut bench, 2, "q1", Q).unwrap();
    let sent = body(&bench.last(FetchPurpose::Run));
    let messages: Vec<_> =
        sent.get("messages").and_then(Value::as_array).unwrap().iter().map(|m| m.str("toolCallId")).collect();
    assert_eq!(messages, [Some("c4")]);
    assert_eq!(
        resume(&bench),
        concat!(
            r#"[{"interruptId":"a1","status":"resolved","payload":{"approved":true}},"#,
            r#"{"interruptId":"a2","status":"resolved","payload":{"approved":false}},"#,
            r#"{"interruptId":"q1","status":"resolved","payload":{"answers":[{"stepId":"s","otherText":"This one"}]}}]"#
        )
    );
}

#[test]
fn a_questionnaire_lets_the_turn_rest_and_its_answers_let_it_go_on() {
    let mut bench = sent(config());
    play(&mut bench, &asking(&[("c3", "ask_user")], &[QUESTIONS]));
    assert_eq!(
        bench.story()[2..],
        [
            "tool_announce",
            "question_requested",
            "complete",
            "run_finished",
            "conversation",
            "idle",
            "settle 1 finished"
        ]
    );
    let result = bench.result().to_json();
    assert_eq!(
        result.get("pendingQuestion").unwrap().text(),
        r#"{"questionId":"q1","requestId":"q1","request":{"id":"q1","steps":[{"id":"s","question":"Which?"}]}}"#
    );
    let run_id = result.str("runId").unwrap().to_owned();
    assert_eq!(cards(&bench), ["q1"]);
    assert_eq!(bench.notice(), None);
    // The panel that comes now shows it too.
    let drawn = bench.session.redraw();
    assert!(drawn.iter().any(|patch| matches!(patch, Patch::AddQuestionnaire { id, .. } if id == "q1")));
    for (id, answers) in [("q2", Q), ("q1", "no list")] {
        assert!(answer(&mut bench, 2, id, answers).is_err());
    }
    answer(&mut bench, 2, "q1", Q).unwrap();
    assert!(bench.session.is_busy() && cards(&bench).is_empty());
    assert!(answer(&mut bench, 3, "q1", Q).is_err(), "once");
    let told = bench.story().len();
    bench.stream(HELLO);
    assert_eq!(bench.story()[told..told + 2], ["run_started", "text Hel"]);
    let result = bench.result();
    assert_eq!((result.text.as_deref(), &result.run_id), (Some("Hello"), &run_id));
    assert_eq!(result.pending, None);
}

#[test]
fn a_questionnaire_is_dismissed_by_its_card_or_by_a_message() {
    let mut bench = sent(config());
    play(&mut bench, &asking(&[("c3", "ask_user")], &[QUESTIONS]));
    bench.input(Input::Answer { id: None, question_id: "q1", answers: "" });
    assert_eq!(resume(&bench), r#"[{"interruptId":"q1","status":"cancelled"}]"#);

    let mut bench = sent(config());
    play(&mut bench, &asking(&[("c3", "ask_user")], &[QUESTIONS]));
    bench.send(2, "something else");
    let run = body(&bench.last(FetchPurpose::Run));
    assert_eq!(run.get("resume").unwrap().text(), r#"[{"interruptId":"q1","status":"cancelled"}]"#);
    assert_eq!(run.get("messages").unwrap().as_array().unwrap().len(), 1);
    assert!(cards(&bench).is_empty());
    bench.stream(HELLO);
    bench.send(3, "and on");
    assert_eq!(resume(&bench), "");
}

#[test]
fn stop_closes_what_is_asked() {
    for (interrupt, busy) in [(APPROVAL, true), (QUESTIONS, false)] {
        let mut bench = sent(config());
        let run = body(&bench.last(FetchPurpose::Run)).str("runId").unwrap().to_owned();
        play(&mut bench, &asking(&[("c1", "pay"), ("c3", "ask_user")], &[interrupt]));
        bench.input(Input::Stop);
        assert!(cards(&bench).is_empty());
        let cancel = bench.last(FetchPurpose::Cancel);
        assert!(cancel.url.contains(&run), "{} {run}", cancel.url);
        assert_eq!(bench.story().contains(&"permission_resolved".to_owned()), busy);
        assert!(decide(&mut bench, "a1", Decision::AllowOnce).is_err());
        assert!(answer(&mut bench, 2, "q1", Q).is_err());
    }
}

/// What the store says of the conversation while it waits.
fn stored(calls: &str, interrupts: &[&str]) -> String {
    let list = interrupts.join(",");
    format!(
        r#"{{"id":"conv","messages":[{{"id":"u","role":"user","content":"hi","runId":"turn"}}],"openCalls":[{calls}],"openInterrupts":[{list}],"activeRun":{{"runId":"run","turnId":"turn","state":"waiting"}},"lastRun":{{"runId":"run","turnId":"turn","state":"waiting","end":{}}}}}"#,
        finished(interrupts)
    )
}

fn reloaded(calls: &str, interrupts: &[&str]) -> Bench {
    let mut bench = Bench::new();
    let conversation_id = Some("conv".to_owned());
    bench.start(Config { can_ask: true, conversation_id, ..config() });
    bench.answer_json(200, r#"{"authToken":"secret-1"}"#);
    bench.answer_json(200, &stored(calls, interrupts));
    bench
}

#[test]
fn a_reload_brings_them_back() {
    let mut bench = reloaded("", &[QUESTIONS]);
    assert_eq!(bench.story(), ["initializing", "conversation", "question_requested", "idle"]);
    assert_eq!(cards(&bench), ["q1"]);
    answer(&mut bench, 1, "q1", Q).unwrap();
    bench.stream(HELLO);
    let result = bench.result();
    assert_eq!((result.text.as_deref(), &*result.run_id), (Some("Hello"), "turn"));

    let mut bench = reloaded("", &[APPROVAL]);
    assert_eq!(
        bench.story(),
        ["initializing", "conversation", "busy", "run_started", "permission_requested"]
    );
    assert!(bench.session.is_busy());
    decide(&mut bench, "a1", Decision::Deny).unwrap();
    bench.stream(HELLO);
    assert_eq!(
        bench.story()[5..],
        ["permission_resolved", "text Hel", "text lo", "complete", "run_finished", "idle"]
    );
    // A stop ends the run that waits.
    let mut bench = reloaded("", &[APPROVAL]);
    bench.input(Input::Stop);
    assert!(bench.last(FetchPurpose::Cancel).url.ends_with("/runs/run/cancel"));
}

#[test]
fn calls_of_a_page_that_is_gone_are_answered_with_what_people_say() {
    let call = r#"{"toolCallId":"c4","toolName":"look","arguments":"{}","runId":"run","clientId":"other"}"#;
    let mut bench = reloaded(call, &[APPROVAL]);
    assert!(cards(&bench).is_empty(), "its page is asked for first");
    bench.input(Input::Owner { gone: true });
    assert_eq!(cards(&bench), ["a1"]);
    decide(&mut bench, "a1", Decision::AllowOnce).unwrap();
    let run = body(&bench.last(FetchPurpose::Run));
    let told = run.get("messages").unwrap().as_array().unwrap()[0].str("content").unwrap().to_owned();
    assert!(told.starts_with("The page that ran this call is gone."), "{told}");
    assert!(resume(&bench).contains("\"approved\":true"));
}

#[test]
fn the_first_answer_wins_and_the_second_hears_it() {
    // The server refuses the word: somebody else's run is under way.
    let mut bench = sent(config());
    play(&mut bench, &asking(&[("c1", "pay")], &[APPROVAL]));
    decide(&mut bench, "a1", Decision::Deny).unwrap();
    bench.answer_json(409, r#"{"error":{"code":"conflict","message":"No.","retryable":false}}"#);
    assert_eq!(replies(&bench), [false]);
    let turn = bench.story();
    assert!(!turn.contains(&"run_error conflict".to_owned()) && bench.session.is_busy());
    let first = body(&bench.requests().into_iter().find(|r| r.purpose == FetchPurpose::Run).unwrap().clone());
    let turn = first.str("runId").unwrap();
    bench.answer_json(
        200,
        &format!(r#"{{"messages":[],"openCalls":[],"openInterrupts":[],"activeRun":{{"runId":"next","turnId":"{turn}","state":"running"}}}}"#),
    );
    assert!(bench.last(FetchPurpose::Events).url.ends_with("/runs/next/events"));
    bench.stream(HELLO);
    assert_eq!(bench.result().text.as_deref(), Some("Hello"));
}

#[test]
fn a_card_closes_when_another_page_has_answered() {
    let mut bench = sent(config());
    let first = body(&bench.last(FetchPurpose::Run)).str("runId").unwrap().to_owned();
    play(&mut bench, &asking(&[("c1", "pay")], &[APPROVAL]));
    bench.input(Input::Changed);
    let still = stored("", &[APPROVAL]);
    bench.answer_json(200, &still);
    assert_eq!(cards(&bench), ["a1"], "still open");
    bench.input(Input::Wake);
    bench.answer_json(
        200,
        &format!(r#"{{"messages":[],"openCalls":[],"openInterrupts":[],"activeRun":{{"runId":"next","turnId":"{first}","state":"running"}}}}"#),
    );
    assert!(cards(&bench).is_empty());
    assert!(decide(&mut bench, "a1", Decision::Deny).is_err());
    let ran = r#"{"type":"CUSTOM","name":"mindset.tool_start","value":{"toolCallId":"c1","toolName":"pay","source":"mcp"}}"#;
    let events = [STARTED, ran, FINISHED].map(String::from);
    play(&mut bench, &events);
    let word = bench.out.iter().find_map(|o| match o {
        Output::Event(DomEvent::Runtime(RuntimeEvent::PermissionResolved { decision, .. })) => {
            Some(*decision)
        }
        _ => None,
    });
    assert_eq!(word, Some(Decision::AllowOnce), "what became of the call shows it");

    // A turn at rest: its card goes as well.
    let mut bench = sent(config());
    play(&mut bench, &asking(&[("c3", "ask_user")], &[QUESTIONS]));
    bench.input(Input::Changed);
    bench.answer_json(200, r#"{"messages":[],"openCalls":[],"openInterrupts":[]}"#);
    assert!(cards(&bench).is_empty());
    assert!(answer(&mut bench, 2, "q1", Q).is_err());
}

#[test]
fn the_server_hears_that_somebody_is_there() {
    let mut bench = sent(config());
    play(&mut bench, &asking(&[("c1", "pay")], &[APPROVAL]));
    let looks = |bench: &Bench| {
        bench.requests().iter().filter(|r| r.method == "GET" && r.url.contains("/conversations/")).count()
    };
    for n in 1..=3 {
        let before = looks(&bench);
        bench.pass(45_000);
        assert_eq!(looks(&bench), before + 1);
        bench.answer_json(200, &stored("", &[APPROVAL]));
        assert_eq!(cards(&bench), ["a1"], "{n}");
    }
    // When it is decided nothing is left to look for.
    decide(&mut bench, "a1", Decision::Deny).unwrap();
    bench.stream(HELLO);
    assert_eq!(bench.session.poll_timeout(), None);
}

#[test]
fn another_page_of_the_conversation_shows_them_too() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    bench.stream(HELLO);
    bench.out.clear();
    bench.input(Input::Changed);
    bench.answer_json(200, &stored("", &[QUESTIONS]));
    assert_eq!(cards(&bench), ["q1"]);
    answer(&mut bench, 2, "q1", Q).unwrap();
    assert!(resume(&bench).contains("q1"));
}

#[test]
fn answers_that_do_not_arrive_are_asked_for_again() {
    let mut bench = sent(config());
    play(&mut bench, &asking(&[("c3", "ask_user")], &[QUESTIONS]));
    answer(&mut bench, 2, "q1", "[]").unwrap();
    bench
        .answer_json(422, r#"{"error":{"code":"invalid-request","message":"Answer it.","retryable":false}}"#);
    assert_eq!(bench.result().status, TurnStatus::Error);
    assert_eq!(cards(&bench), ["q1"]);
    answer(&mut bench, 3, "q1", Q).unwrap();
    bench.stream(HELLO);
    assert_eq!(bench.result().status, TurnStatus::Finished);

    let mut bench = sent(config());
    play(&mut bench, &asking(&[("c1", "pay")], &[APPROVAL]));
    decide(&mut bench, "a1", Decision::AllowOnce).unwrap();
    bench.answer_json(403, r#"{"error":{"code":"forbidden","message":"No.","retryable":false}}"#);
    assert_eq!((replies(&bench), cards(&bench)), (vec![false], vec!["a1".to_owned()]));
    assert!(bench.session.is_busy());
    decide(&mut bench, "a1", Decision::AllowOnce).unwrap();
    bench.stream(HELLO);
    assert!(!bench.session.is_busy());
}

#[test]
fn nobody_to_ask_is_said_and_a_panel_that_goes_takes_its_approvals_along() {
    let bench = {
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        bench
    };
    assert!(!bench.last(FetchPurpose::Run).body.unwrap().contains("answers"));
    let mut bench = sent(config());
    play(&mut bench, &asking(&[("c1", "pay")], &[APPROVAL]));
    bench.input(Input::SetCanAsk(false));
    assert!(cards(&bench).is_empty());
    assert_eq!(resume(&bench), r#"[{"interruptId":"a1","status":"cancelled"}]"#);
}

#[test]
fn other_servers_ask_too() {
    // What AG-UI says of approvals is enough.
    let mut bench = sent(agui_config());
    let approval = r#"{"id":"x","reason":"tool_call","message":"Send it?","toolCallId":"c1","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}}}}"#;
    let mut events = asking(&[("c1", "send_mail"), ("c2", "other")], &[approval]);
    events.insert(2, r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"to\":\"Bob\"}"}"#.into());
    play(&mut bench, &events);
    assert_eq!(cards(&bench), ["x"]);
    let runs = |bench: &Bench| bench.out.iter().filter(|o| matches!(o, Output::RunTool(_))).count();
    assert_eq!(runs(&bench), 0, "its own calls are its own");
    decide(&mut bench, "x", Decision::AllowOnce).unwrap();
    assert_eq!(resume(&bench), r#"[{"interruptId":"x","status":"resolved","payload":{"approved":true}}]"#);
    let run = body(&bench.last(FetchPurpose::Run));
    let history = run.get("messages").unwrap().text();
    assert!(history.contains("send_mail") && !history.contains("other"), "{history}");
    // A question without a questionnaire of ours is one for a text.
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;
    let question =
        format!(r#"{{"id":"y","reason":"input_required","message":"Your name?","responseSchema":{schema}}}"#);
    play(&mut bench, &asking(&[], &[&question]));
    assert_eq!(cards(&bench), ["y"]);
    answer(&mut bench, 2, "y", r#"[{"stepId":"answer","otherText":"Ann"}]"#).unwrap();
    assert_eq!(resume(&bench), r#"[{"interruptId":"y","status":"resolved","payload":{"name":"Ann"}}]"#);
}

#[test]
fn servers_from_before_interrupts_are_answered_by_a_command() {
    let mut bench = sent(agui_config());
    let ask = |value: &str| format!(r#"{{"type":"CUSTOM","name":"on_interrupt","value":{value}}}"#);
    let over = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
    let events = [STARTED.to_owned(), ask(r#"{"question":"Go on?"}"#), over.to_owned()];
    play(&mut bench, &events);
    let pending = bench.result().pending.clone().unwrap();
    let id = pending.str("questionId").unwrap().to_owned();
    assert!(pending.text().contains("Go on?"));
    answer(&mut bench, 2, &id, r#"[{"stepId":"answer","otherText":"yes"}]"#).unwrap();
    let run = body(&bench.last(FetchPurpose::Run));
    let props = run.get("forwardedProps").unwrap();
    assert_eq!(props.get("command").unwrap().text(), r#"{"resume":"yes"}"#);
    assert!(resume(&bench).contains(r#""payload":"yes""#));
    bench.stream(HELLO);
    // A message instead needs no word of the old question.
    play_again(&mut bench, &events);
}

fn play_again(bench: &mut Bench, events: &[String]) {
    bench.send(3, "again");
    play(bench, events);
    bench.send(4, "something else");
    let run = body(&bench.last(FetchPurpose::Run));
    assert!(run.get("forwardedProps").unwrap().get("command").is_none());
    assert!(cards(bench).is_empty());
}
