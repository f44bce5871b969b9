//! Turns that ask people: questionnaires of the agent and of its tools, and plans.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod bench;
#[allow(dead_code)]
mod waiting;

use bench::{Bench, call, end, ids, input, mindset, text, tool, user};
use mindset_core::agui::ResumeEntry;
use mindset_core::error::ErrorCode;
use mindset_core::json::Value;
use mindset_core::questionnaire::Questionnaire;
use mindset_core::turn::{
    Agent, Conversation, RunState, StoredMessage, StoredRole, ToolOutcome, ToolQuestions, ToolReply,
};
use waiting::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const QUESTIONS: &str = r#"{"title":"A room","steps":[{"id":"room","question":"Which room?",
    "options":[{"id":"a","label":"Atrium"},{"id":"b","label":"Bay","recommended":true}]},
    {"id":"why","question":"Why?","required":false}]}"#;

fn questions() -> Bench {
    let mut b = first(Some(r#"{"answers":true,"passthroughParams":{"title":"FORGED-canary"}}"#));
    b.model(call(0, Some("q"), "ask_user", QUESTIONS)).model([end()]);
    b
}

#[test]
fn questions_are_asked_and_answered() {
    let b = questions();
    let asks = interrupts(&b);
    assert_eq!((asks[0].reason.as_str(), asks[0].tool_call_id.as_deref()), ("input_required", Some("q")));
    assert_eq!(asks[0].message.as_deref(), Some("A room"));
    let questionnaire = asked(&asks[0], "questionnaire");
    assert_eq!(questionnaire.str("id"), Some(asks[0].id.as_str()));
    assert_eq!(questionnaire.get("steps").unwrap().as_array().unwrap().len(), 2);
    assert!(!format!("{:?}", b.events).contains("canary"));

    let wrong = entry(&asks[0], "resolved", r#"{"answers":[{"stepId":"room","selectedOptionIds":["z"]}]}"#);
    let refused = next(&b, "r2", vec![wrong], vec![]).err().unwrap();
    assert_eq!(refused.code, ErrorCode::InvalidRequest);
    assert!(refused.message.contains("\"room\""), "{}", refused.message);

    let right = entry(&asks[0], "resolved", r#"{"answers":[{"stepId":"room","selectedOptionIds":["b"]}]}"#);
    let n = next(&b, "r2", vec![right], vec![]).unwrap();
    let expected = concat!(
        r#"{"answers":[{"stepId":"room","question":"Which room?","selectedOptionIds":["b"],"selected":["Bay"]},"#,
        r#"{"stepId":"why","question":"Why?","skipped":true}]}"#
    );
    assert_eq!(told(&n, "q"), (expected.into(), false));
    assert_eq!(n.result_of("q").mindset("toolName").and_then(Value::as_str), Some("ask_user"));
    let kept = n.customs("mindset.widget");
    assert_eq!((kept.len(), kept[0].str("kind")), (1, Some("questionnaire")));
    assert_eq!(kept[0].str("summary"), Some("Which room? Bay"));
    let of_model = format!("{:?}", n.requests[0].messages);
    assert!(!of_model.contains("Which room? Bay"), "the summary is for people: {of_model}");
}

#[test]
fn questions_can_be_dismissed_and_passed_over() {
    let b = questions();
    let asks = interrupts(&b);
    let n = next(&b, "r2", vec![entry(&asks[0], "cancelled", "")], vec![]).unwrap();
    assert!(told(&n, "q").1 && told(&n, "q").0.contains("dismissed"));
    assert_eq!(n.result_of("q").mindset("declined"), Some(&Value::Bool(true)));
    assert!(n.customs("mindset.widget").is_empty());

    let mut n = next(&b, "r2", vec![], vec![user("u2", "Never mind, any.")]).unwrap();
    assert!(told(&n, "q").0.contains("dismissed"));
    assert_eq!(n.events[0].mindset("turnId").and_then(Value::as_str), Some("r2"));
    n.model([text("All right."), end()]);
    assert_eq!(n.done, Some(RunState::Finished));
    let roles: Vec<_> = n.store.iter().map(|m| m.role).collect();
    use StoredRole::{Assistant, Tool, User};
    assert_eq!(roles, [User, Assistant, Tool, User, Assistant]);
}

#[test]
fn wrong_questions_are_data_for_the_model() {
    for (arguments, why) in [
        (r#"{"steps":[]}"#, "steps"),
        (r#"{"steps":[{"id":"a","question":"Q"},{"id":"a","question":"Q"}]}"#, "is there twice"),
        (r#"{"steps":"#, "not valid JSON"),
    ] {
        let mut b = first(Some(PROMISED));
        b.model(call(0, Some("q"), "ask_user", arguments)).model([end()]);
        assert_eq!((b.done, b.requests.len()), (None, 2), "{arguments}");
        assert!(told(&b, "q").1 && told(&b, "q").0.contains(why), "{}", told(&b, "q").0);
    }
    // Who is not to ask has no such tool.
    let mute = Agent { ask_user: false, ..agent() };
    let mut b = Bench::with(input("r1", vec![user("u1", "go")]), mute, vec![]).unwrap();
    b.model(call(0, Some("q"), "ask_user", QUESTIONS)).model([end()]);
    assert!(told(&b, "q").0.contains("There is no tool \"ask_user\""));
}

#[test]
fn a_plan_is_shown_for_a_word_and_allows_no_call() {
    let mut run = input("r1", vec![user("u1", "go")]);
    run.tools = vec![tool("look")];
    mindset(&mut run, object(PROMISED));
    let plans = Agent { plan_review: true, ..agent() };
    let plan = r#"{"plan":"1. Look\n2. Pay"}"#;
    let mut b = Bench::with(run.clone(), plans.clone(), vec![]).unwrap();
    b.model(call(0, Some("p"), "review_plan", plan)).model([end()]);
    let asks = interrupts(&b);
    let shown = asked(&asks[0], "questionnaire");
    let step = shown.get("steps").unwrap().as_array().unwrap()[0].clone();
    assert_eq!(step.str("description"), Some("1. Look\n2. Pay"));
    assert_eq!(asked(&asks[0], "toolName").as_str(), Some("review_plan"));
    let go_on = |entry: ResumeEntry| {
        Bench::with(next_input("r2", vec![entry], vec![], "KEY"), plans.clone(), b.store.clone()).unwrap()
    };
    let approve = r#"{"answers":[{"stepId":"plan","selectedOptionIds":["approve"]}]}"#;
    let mut n = go_on(entry(&asks[0], "resolved", approve));
    assert!(told(&n, "p").0.contains(r#""selected":["Approve"]"#));
    n.model(pay(0, "a")).model([end()]);
    assert_eq!(interrupts(&n)[0].reason, "tool_call", "what needs an approval still does");
    let n = go_on(entry(&asks[0], "resolved", r#"{"answers":[{"stepId":"plan","otherText":"Pay less."}]}"#));
    assert!(told(&n, "p").0.contains("Pay less."));
    let n = go_on(entry(&asks[0], "cancelled", ""));
    assert!(told(&n, "p").0.contains("not approved"));
    let mut b = Bench::with(run, plans.clone(), vec![]).unwrap();
    let long = format!(r#"{{"plan":"{}"}}"#, "x".repeat(2_001));
    b.model(call(0, Some("p"), "review_plan", &long)).model([end()]);
    assert!(told(&b, "p").0.contains("2000") || told(&b, "p").0.contains("2,000"), "{:?}", told(&b, "p"));
    let mut alone = input("r1", vec![user("u1", "go")]);
    mindset(&mut alone, object("{}"));
    let mut b = Bench::with(alone, plans, vec![]).unwrap();
    b.model(call(0, Some("p"), "review_plan", plan)).model([end()]);
    assert!(told(&b, "p").0.contains("Nobody can read the plan"));
}

fn form(live: bool) -> ToolOutcome {
    let questions = Questionnaire::read(&object(QUESTIONS), "").unwrap();
    ToolOutcome::Asks(Box::new(ToolQuestions { questions, state: json(r#"{"requestState":"s-1"}"#), live }))
}

/// A run whose tool was allowed, and asks something then.
fn asking(live: bool) -> Bench {
    let mut b = first(Some(PROMISED));
    b.model(pay(0, "a")).model([end()]);
    let mut n = next(&b, "r2", vec![allow(&interrupts(&b)[0])], vec![]).unwrap();
    n.tool("a", form(live));
    n
}

#[test]
fn a_call_that_runs_on_gets_the_answer_and_is_unknown_when_it_is_given_up() {
    let b = asking(true);
    let asks = interrupts(&b);
    let mut n = next(&b, "r3", vec![entry(&asks[0], "cancelled", "")], vec![]).unwrap();
    assert!(n.calls[0].answer.as_ref().unwrap().asked.live);
    n.tool("a", ToolOutcome::Unknown("The connection was lost.".into()));
    assert!(told(&n, "a").0.contains("Do not repeat the call"));
    let is_unknown = |messages: &[StoredMessage]| {
        let result = messages.iter().rfind(|m| m.call_id.as_deref() == Some("a")).unwrap();
        assert!(result.content.contains("Do not repeat the call"), "{}", result.content);
        assert!(result.effect.as_ref().unwrap().unknown);
    };
    is_unknown(&n.store);
    // Something else is written, it is stopped, or it cannot go on.
    let passed = next(&b, "r3", vec![], vec![user("u2", "Never mind.")]).unwrap();
    assert!(passed.calls.is_empty());
    is_unknown(&passed.store);
    let conversation = Conversation { messages: b.store.clone(), ..Conversation::default() };
    is_unknown(&conversation.cancel_open_calls("r2", &mut *ids("x"), 5));
    let gone = next_input("r3", vec![entry(&asks[0], "cancelled", "")], vec![], "KEY");
    let without = Agent { tools: vec![mcp("look_up", "", true)], ..agent() };
    let gone = Bench::with(gone, without, b.store.clone()).unwrap();
    assert!(gone.calls.is_empty());
    is_unknown(&gone.store);
}

#[test]
fn a_tool_asks_and_is_called_again_with_the_answer() {
    let b = asking(false);
    assert_eq!(b.done, Some(RunState::Waiting));
    let asks = interrupts(&b);
    assert_eq!((asks[0].reason.as_str(), asks[0].tool_call_id.as_deref()), ("input_required", Some("a")));
    assert_eq!(asked(&asks[0], "toolName").as_str(), Some("pay"));
    assert_eq!(asked(&asks[0], "questionnaire").str("id"), Some(asks[0].id.as_str()));
    let conversation = Conversation { messages: b.store.clone(), ..Conversation::default() };
    assert_eq!(conversation.open_interrupts(), asks, "it is stored");
    let before = ResumeEntry { interrupt_id: "r1-2".into(), ..allow(&asks[0]) };
    assert_eq!(next(&b, "r3", vec![before], vec![]).err().unwrap().code, ErrorCode::Conflict, "too late");
    let answers = r#"{"answers":[{"stepId":"room","selectedOptionIds":["b"]}]}"#;
    for (status, payload, reply) in [
        ("resolved", answers, None),
        ("resolved", r#"{"declined":true}"#, Some(ToolReply::Decline)),
        ("cancelled", "", Some(ToolReply::Cancel)),
    ] {
        let mut n = next(&b, "r3", vec![entry(&asks[0], status, payload)], vec![]).unwrap();
        let request = n.calls[0].clone();
        assert_eq!(request.arguments.expose(), &object(r#"{"to":"Ann","key":"KEY-2"}"#));
        let answer = request.answer.unwrap();
        assert_eq!(answer.asked.state.str("requestState"), Some("s-1"));
        match reply {
            Some(reply) => assert_eq!(answer.reply, reply),
            None => {
                assert!(matches!(answer.reply, ToolReply::Answers(answers) if answers[0].selected == ["b"]))
            }
        }
        n.tool("a", done("Paid."));
        assert_eq!(told(&n, "a"), ("Paid.".into(), false));
    }
    // What is written instead passes it over; an answer and a message at once are refused.
    let n = next(&b, "r3", vec![], vec![user("u2", "Never mind.")]).unwrap();
    assert!(n.calls.is_empty() && told(&n, "a").0.contains("dismissed"));
    let both = next(&b, "r3", vec![entry(&asks[0], "cancelled", "")], vec![user("u2", "And?")]);
    assert_eq!(both.err().unwrap().code, ErrorCode::Busy);
}

#[test]
fn a_tool_that_asks_nobody_hears_so_once() {
    let mut run = input("r1", vec![user("u1", "go")]);
    mindset(&mut run, object("{}"));
    let mut b = Bench::with(run, agent(), vec![]).unwrap();
    b.model(call(0, Some("a"), "bank__look_up", "{}")).model([end()]);
    b.tool("a", form(false));
    assert_eq!(b.calls[1].answer.as_ref().unwrap().reply, ToolReply::Cancel);
    b.tool("a", form(false));
    assert_eq!((b.calls.len(), b.requests.len()), (2, 2));
    assert!(told(&b, "a").0.contains("nobody can answer"));
}

/// The result of an application's call brings questions; approvals are heard by a listener only.
#[test]
fn an_application_without_a_listener_reads_questions_and_decides_nothing() {
    let props = r#"{"agentSession":true,"passthroughParams":{"key":"KEY"}}"#;
    let mut b = first(Some(props));
    b.model(call(0, Some("q"), "ask_user", QUESTIONS)).model(pay(1, "a")).model([end()]);
    let asks = interrupts(&b);
    assert_eq!((asks.len(), asks[0].reason.as_str()), (1, "input_required"));
    assert!(b.result_of("a").mindset("declined").is_none() && b.calls.is_empty());
    assert!(b.store.iter().any(|m| m.content.contains("Nobody can approve")), "{:?}", b.store);

    let mut b = first(Some(props));
    b.model(call(0, Some("f"), "bank__look_up", "{}")).model([end()]);
    b.tool("f", form(false));
    assert_eq!(interrupts(&b)[0].tool_call_id.as_deref(), Some("f"));
}
