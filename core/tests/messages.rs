//! Tools of messages over whole turns: a message is changed and sent anew, an answer is judged,
//! the transcript is exported.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::{Author, Feedback, Reason};
use mindset_core::json::{Value, parse};
use mindset_core::session::{Config, DomEvent, Input, PageTool, TurnResult};
use mindset_core::turn::ModelMessage;
use pair::{Heard, Pair, Panel, ScriptedModel, Step, call, config, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const ANY: &str = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;

fn says(answers: &[&str]) -> Pair {
    Pair::new(ScriptedModel::new(answers.iter().map(|answer| Step::says(answer))))
}

/// The id of the row that reads so.
fn id(pair: &Pair, text: &str) -> String {
    let rows = pair.page().session.messages();
    rows.iter().find(|row| row.content == text).expect("the row").id.clone()
}

fn edit(pair: &mut Pair, message: &str, text: &str) -> Result<TurnResult, ErrorCode> {
    let send = pair.pages[0].next_send();
    pair.input(0, Input::Edit { id: send, message, text }).map_err(|error: ErrorInfo| error.code)?;
    pair.pages[0].accepted.push(send);
    pair.drive();
    Ok(pair.page().result(send).clone())
}

fn judge(pair: &mut Pair, message: &str, feedback: Option<Feedback>) -> Result<(), ErrorCode> {
    let result = pair.input(0, Input::Feedback { message, feedback }).map_err(|error| error.code);
    pair.drive();
    result
}

fn good(comment: Option<&str>) -> Option<Feedback> {
    Some(Feedback { is_good: true, comment: comment.map(str::to_owned) })
}

#[test]
fn a_changed_message_cuts_what_followed() {
    let last = Step::says("Three.").expects(|request| {
        let told = [ModelMessage::User("one".into()), ModelMessage::User("two, better".into())];
        assert_eq!([&request.messages[0], &request.messages[2]], [&told[0], &told[1]]);
        assert_eq!(request.messages.len(), 3);
    });
    let mut pair =
        Pair::new(ScriptedModel::new([Step::says("One."), Step::says("Two."), Step::says("Late."), last]));
    pair.ask("one");
    pair.ask("two");
    pair.ask("late");
    let second = id(&pair, "two");
    assert_eq!(edit(&mut pair, &second, "two, better").unwrap().text.as_deref(), Some("Three."));
    let all = ["user: one", "assistant: One.", "user: two, better", "assistant: Three."];
    assert_eq!(pair.server.stored(), all);
    assert_eq!(pair.page().transcript(), all);
    assert_eq!(id(&pair, "two, better"), second, "it is the same message");
}

#[test]
fn one_that_fails_is_retried_as_it_is_now() {
    for arrives in [true, false] {
        let steps = [Step::says("One."), Step::says("Late."), Step::breaks("Ha", Reason::Interrupted)];
        let mut pair = Pair::new(ScriptedModel::new(steps));
        if !arrives {
            pair.server.model = ScriptedModel::new([Step::says("One."), Step::says("Late.")]);
        }
        pair.server.model.push(Step::says("Whole."));
        pair.ask("one");
        pair.ask("late");
        let first = id(&pair, "one");
        pair.set_network(arrives);
        assert!(edit(&mut pair, &first, "other").unwrap().error.is_some());
        pair.set_network(true);
        assert_eq!(pair.retry().text.as_deref(), Some("Whole."));
        assert_eq!(pair.server.stored(), ["user: other", "assistant: Whole."]);
        assert_eq!(pair.page().transcript(), pair.server.stored());
    }
}

#[test]
fn only_messages_of_ones_own_are_changed() {
    let mut pair = says(&["One."]);
    pair.ask("one");
    let (own, answer) = (id(&pair, "one"), id(&pair, "One."));
    for (message, text) in [("nothing", "x"), (&*answer, "x"), (&*own, "  ")] {
        assert_eq!(edit(&mut pair, message, text).unwrap_err(), ErrorCode::InvalidRequest, "{message}");
    }
    assert_eq!(pair.page().transcript(), ["user: one", "assistant: One."]);
    pair.server.model.push(Step::says("Two."));
    pair.send("two");
    let busy = pair.input(0, Input::EditBegin { message: &own }).unwrap_err();
    assert_eq!(busy.code, ErrorCode::Busy);
    pair.drive();
    assert!(pair.input(0, Input::EditBegin { message: &own }).is_ok());
}

#[test]
fn what_was_done_is_named_before_it_is_cut() {
    let mut pair = Pair::new(ScriptedModel::new([
        Step::says("Hello."),
        Step::events(call(0, "open_panel", r#"{"name":"x"}"#)),
        Step::says("Done."),
    ]));
    let look = PageTool { read_only: true, ..tool("look", ANY) };
    pair.set_tools(vec![tool("open_panel", ANY), look]);
    pair.ask("first");
    pair.ask("open it");
    let notices = |pair: &Pair| format!("{:?}", Panel::draw(&pair.page().patches));
    for text in ["open it", "first"] {
        let message = id(&pair, text);
        pair.input(0, Input::EditBegin { message: &message }).unwrap();
        let notice = "Sending the message anew does not undo what was done. Done already: open_panel.";
        assert!(notices(&pair).contains(notice), "{text}");
    }
    pair.server.model.push(Step::says("Again."));
    let message = id(&pair, "first");
    edit(&mut pair, &message, "second").unwrap();
    assert_eq!(pair.page().transcript(), ["user: second", "assistant: Again."]);
    assert!(!notices(&pair).contains("Done already"));
    assert_eq!(Panel::draw(&pair.page().patches).tools(), ["Done open_panel"], "the call has happened");
    pair.input(0, Input::EditBegin { message: &message }).unwrap();
    assert!(!notices(&pair).contains("Done already"), "it would cut nothing that was done");
}

#[test]
fn opinions_are_told_stored_and_shown_again() {
    let mut pair = says(&["One."]);
    pair.ask("one");
    let answer = id(&pair, "One.");
    judge(&mut pair, &answer, good(Some("Clear."))).unwrap();
    assert_eq!(pair.server.feedback.get(&answer), good(Some("Clear.")).as_ref());
    let told = pair.page().events.iter().filter_map(|heard| match heard {
        Heard::Event(DomEvent::Feedback { detail }) => Some(detail.text()),
        _ => None,
    });
    let conversation = pair.page().session.conversation_id().unwrap().to_owned();
    let detail = format!(
        r#"{{"conversationId":"{conversation}","messageId":"{answer}","rating":"up","comment":"Clear."}}"#
    );
    assert_eq!(told.collect::<Vec<_>>(), [detail]);
    // A page load later.
    let page =
        pair.add_page(Config { conversation_id: Some(conversation), client_id: "b".into(), ..config() });
    pair.drive();
    assert_eq!(pair.pages[page].session.messages()[1].feedback, good(Some("Clear.")));
    judge(&mut pair, &answer, None).unwrap();
    assert!(pair.server.feedback.is_empty());
    assert_eq!(pair.page().session.messages()[1].feedback, None);
    for message in ["nothing", &*id(&pair, "one")] {
        assert_eq!(judge(&mut pair, message, good(None)), Err(ErrorCode::InvalidRequest));
    }
    let long = "x".repeat(2_001);
    assert_eq!(judge(&mut pair, &answer, good(Some(&long))), Err(ErrorCode::InvalidRequest));
}

#[test]
fn an_opinion_that_is_not_stored_is_not_shown() {
    let mut pair = says(&["One."]);
    pair.ask("one");
    let answer = id(&pair, "One.");
    pair.set_network(false);
    judge(&mut pair, &answer, good(None)).unwrap();
    assert_eq!(pair.page().session.messages()[1].feedback, None);
    assert!(format!("{:?}", Panel::draw(&pair.page().patches)).contains("could not be stored"));
}

#[test]
fn an_export_has_what_was_seen_and_nothing_else() {
    let mut pair = Pair::new(ScriptedModel::new([
        Step::events(call(0, "open_panel", r#"{"name":"secret argument"}"#)),
        Step::says("Done."),
    ]));
    pair.set_tools(vec![PageTool { completed: Some("Opened".into()), ..tool("open_panel", ANY) }]);
    pair.ask("open it");
    let answer = id(&pair, "Done.");
    judge(&mut pair, &answer, good(None)).unwrap();
    let export = parse(&pair.page().session.export().text()).unwrap();
    let list = export.get("messages").and_then(Value::as_array).unwrap();
    let brief = |m: &Value| [m.str("role"), m.str("content")].map(|part| part.unwrap_or("").to_owned());
    let all = [["user", "open it"], ["tool", "Opened"], ["assistant", "Done."]];
    assert_eq!(list.iter().map(brief).collect::<Vec<_>>(), all);
    assert_eq!(list[1].str("outcome"), Some("done"));
    assert_eq!(list[2].get("feedback").and_then(|f| f.str("rating")), Some("up"));
    assert_eq!(export.get("isWhole"), Some(&Value::Bool(true)));
    assert!(!export.text().contains("secret"), "{}", export.text());
    assert_eq!(pair.page().session.messages()[0].role, Author::User);
}
