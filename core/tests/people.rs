//! What people decide, over whole turns: from the runtime's interrupts to cards and events, and
//! from a person's word to the next run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::error::ErrorCode;
use mindset_core::event::{Decision, RuntimeEvent, ToolSource};
use mindset_core::json::parse;
use mindset_core::session::{AskId, Config, Input, SendId, SendOptions, TurnResult, TurnStatus};
use mindset_core::turn::{Approvals, ModelEvent, ModelMessage, ServerTool};
use pair::{Pair, Panel, ScriptedModel, Step, call, config, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const PAY: &str = r#"{"type":"object","properties":{"to":{"type":"string"}}}"#;
const QUESTIONS: &str =
    r#"{"title":"Plan","steps":[{"id":"when","question":"When?","options":[{"id":"now","label":"Now"}]}]}"#;
const ANSWERS: &str = r#"[{"stepId":"when","selectedOptionIds":["now"]}]"#;

/// A model that makes these calls first, on a server whose tool `pay` needs an approval.
fn pair(events: Vec<ModelEvent>) -> Pair {
    let model = ScriptedModel::new([Step::events(events), Step::says("Done."), Step::says("More.")]);
    let mut pair = Pair::unstarted(model);
    pair.server.agent.tools = vec![ServerTool {
        source: ToolSource::Mcp,
        server: Some("bank".into()),
        name: "pay".into(),
        description: "Pays.".into(),
        title: None,
        parameters: parse(PAY).ok(),
        read_only: false,
    }];
    pair.server.agent.approvals = Approvals { named: Vec::new(), writes: true };
    pair.server.agent.ask_user = true;
    pair.add_page(config());
    pair.drive();
    pair
}

/// What the model was told of the calls so far.
fn told(pair: &Pair) -> Vec<String> {
    let request = pair.server.model.requests.last().unwrap();
    let result = |message: &ModelMessage| match message {
        ModelMessage::Tool { content, .. } => Some(content.clone()),
        _ => None,
    };
    request.messages.iter().filter_map(result).collect()
}

fn cards(pair: &Pair, page: usize) -> Vec<String> {
    let panel = Panel::draw(&pair.pages[page].patches);
    panel.questions.into_iter().map(|(id, ..)| id).chain(panel.questionnaires).collect()
}

fn requested(pair: &Pair, page: usize) -> Vec<String> {
    let request = |event: &RuntimeEvent| match event {
        RuntimeEvent::PermissionRequested { request_id, .. } => Some(request_id.clone()),
        RuntimeEvent::QuestionRequested { question_id, .. } => Some(question_id.clone()),
        _ => None,
    };
    pair.pages[page].runtime().into_iter().filter_map(request).collect()
}

fn start(pair: &mut Pair) -> SendId {
    let send = pair.send("go");
    pair.drive_for(1_000);
    send
}

fn pending(result: &TurnResult) -> String {
    result.pending.as_ref().unwrap().str("questionId").unwrap().to_owned()
}

fn answer(pair: &mut Pair, page: usize, id: &str) -> TurnResult {
    let send = SendId(900 + u32::try_from(page).unwrap());
    pair.input(page, Input::Answer { id: Some(send), question_id: id, answers: ANSWERS }).unwrap();
    pair.drive();
    pair.pages[page].result(send).clone()
}

#[test]
fn what_a_person_allows_runs_and_what_not_does_not() {
    for (decision, runs) in [(Decision::AllowOnce, 1), (Decision::Deny, 0)] {
        let mut pair = pair(call(0, "bank__pay", r#"{"to":"Ann"}"#));
        pair.pages[0].decide = Box::new(move |_| Some((90_000, decision)));
        let result = pair.ask("go");
        assert_eq!((result.status, result.text.as_deref()), (TurnStatus::Finished, Some("Done.")));
        assert_eq!(pair.server.called.len(), runs);
        assert_eq!(told(&pair)[0].contains("declined"), runs == 0);
        assert!(cards(&pair, 0).is_empty());
    }
}

#[test]
fn nobody_to_ask_is_no_interrupt() {
    let mut pair = pair(call(0, "bank__pay", r#"{"to":"Ann"}"#));
    pair.input(0, Input::SetCanAsk(false)).unwrap();
    let result = pair.ask("go");
    assert_eq!(result.text.as_deref(), Some("Done."));
    assert!(pair.server.called.is_empty() && requested(&pair, 0).is_empty());
}

#[test]
fn answers_go_to_the_model_and_stay_in_the_transcript() {
    let mut pair = pair(call(0, "ask_user", QUESTIONS));
    let result = pair.ask("go");
    let id = pending(&result);
    assert_eq!((result.status, cards(&pair, 0)), (TurnStatus::Finished, vec![id.clone()]));
    let result = answer(&mut pair, 0, &id);
    assert_eq!(result.text.as_deref(), Some("Done."));
    assert!(told(&pair)[0].contains("\"Now\""), "{:?}", told(&pair));
    assert!(pair.page().session.messages().iter().any(|row| row.content.contains("When? Now")));
}

#[test]
fn a_message_dismisses_questions_and_waits_for_approvals() {
    let mut questions = pair(call(0, "ask_user", QUESTIONS));
    questions.ask("go");
    let result = questions.ask("something else");
    assert_eq!((result.status, result.text.as_deref()), (TurnStatus::Finished, Some("Done.")));
    assert!(told(&questions)[0].contains("dismissed") && cards(&questions, 0).is_empty());

    let mut approval = pair(call(0, "bank__pay", "{}"));
    start(&mut approval);
    let refused = approval.send_from(0, "more", SendOptions::default()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Busy);
}

#[test]
fn one_run_carries_every_word_and_what_the_page_did() {
    let mut events = call(0, "look", "{}");
    events.extend(call(1, "bank__pay", r#"{"to":"Ann"}"#));
    events.extend(call(2, "ask_user", QUESTIONS));
    let mut pair = pair(events);
    pair.set_tools(vec![tool("look", "")]);
    pair.pages[0].decide = Box::new(|_| Some((10, Decision::AllowOnce)));
    let result = pair.ask("go");
    let result = answer(&mut pair, 0, &pending(&result));
    assert_eq!(result.text.as_deref(), Some("Done."));
    assert_eq!((told(&pair).len(), pair.server.called.len()), (3, 1));
}

/// The next load of the first page's tab, or another tab of it.
fn another(pair: &mut Pair) -> usize {
    let client_id = format!("client-{}", pair.pages.len());
    let conversation_id = pair.pages[0].conversation.clone();
    let anonymous_key = pair.page().anonymous_key.clone();
    let page = pair.add_page(Config { client_id, conversation_id, anonymous_key, ..config() });
    pair.drive_for(1_000);
    page
}

#[test]
fn a_reload_finds_what_is_asked() {
    let mut questions = pair(call(0, "ask_user", QUESTIONS));
    let id = pending(&questions.ask("go"));
    questions.leave(0);
    let page = another(&mut questions);
    assert_eq!(cards(&questions, page).join(" "), id);
    assert_eq!(answer(&mut questions, page, &id).text.as_deref(), Some("Done."));

    let mut approval = pair(call(0, "bank__pay", "{}"));
    start(&mut approval);
    approval.leave(0);
    let page = another(&mut approval);
    let id = requested(&approval, page).pop().unwrap();
    assert!(approval.pages[page].session.is_busy());
    let word = Input::Decide { reply: None, request_id: &id, decision: Decision::AllowOnce };
    approval.input(page, word).unwrap();
    approval.drive();
    assert_eq!(approval.server.called.len(), 1);
    assert!(!approval.pages[page].session.is_busy());
}

#[test]
fn the_first_of_two_tabs_wins() {
    let mut pair = pair(call(0, "bank__pay", "{}"));
    let send = start(&mut pair);
    let page = another(&mut pair);
    let id = requested(&pair, page).pop().unwrap();
    assert_eq!(requested(&pair, 0).join(" "), id);
    let word = |reply, decision| Input::Decide { reply: Some(AskId(reply)), request_id: &id, decision };
    for page in [0, page] {
        pair.pages[page].asks += 1;
    }
    // Both at the same time: one of them is told that it was too late.
    pair.input(0, word(901, Decision::Deny)).unwrap();
    pair.input(page, word(902, Decision::AllowOnce)).unwrap();
    pair.drive();
    let heard = |page: usize, ask: u32| pair.pages[page].answers[&AskId(ask)].is_ok();
    assert!(heard(0, 901) && !heard(page, 902));
    assert!(pair.server.called.is_empty());
    assert_eq!(pair.pages[0].result(send).text.as_deref(), Some("Done."));
    for page in [0, page] {
        assert!(cards(&pair, page).is_empty() && !pair.pages[page].session.is_busy());
    }
}

#[test]
fn stop_closes_what_is_asked_on_both_sides() {
    let mut approval = pair(call(0, "bank__pay", "{}"));
    let send = start(&mut approval);
    approval.input(0, Input::Stop).unwrap();
    approval.drive();
    assert_eq!(approval.pages[0].result(send).status, TurnStatus::Aborted);
    assert_eq!(approval.ask("again").text.as_deref(), Some("Done."));

    let mut questions = pair(call(0, "ask_user", QUESTIONS));
    questions.ask("go");
    questions.input(0, Input::Stop).unwrap();
    questions.drive();
    assert!(cards(&questions, 0).is_empty());
    assert_eq!(questions.ask("again").text.as_deref(), Some("Done."));
}
