//! Widgets that a tool shows, and what a person does with them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::event::{ToolSource, Widget};
use mindset_core::json::{Value, parse};
use mindset_core::session::{Ask, Config, Input, SendId, TurnStatus};
use mindset_core::turn::{ModelMessage, ServerTool, ToolOutcome};
use mindset_core::widget::{MAX_ACTION, MAX_PAYLOAD};
use pair::{Pair, Panel, ScriptedModel, Step, call, config};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A conversation in which a tool has shown a form, and the form's id.
fn shown(next: impl IntoIterator<Item = Step>) -> (Pair, String) {
    let mut steps = vec![Step::events(call(0, "show", "{}")), Step::says("Please fill it in.")];
    steps.extend(next);
    let mut pair = Pair::new(ScriptedModel::new(steps));
    pair.server.agent.tools = vec![ServerTool {
        source: ToolSource::Builtin,
        server: None,
        name: "show".into(),
        description: String::new(),
        title: None,
        parameters: None,
        read_only: true,
    }];
    pair.server.handler = Box::new(|_| {
        let doc = parse(r#"{"title":"Room"}"#).unwrap();
        let widgets = vec![Widget::new("form", doc, "A form for a room.")];
        Some((10, ToolOutcome::Done { content: "Shown.".into(), sources: Vec::new(), widgets }))
    });
    assert_eq!(pair.ask("a room, please").status, TurnStatus::Finished);
    let row = pair.page().session.messages().iter().find(|row| row.widget.is_some()).unwrap();
    let id = row.id.clone();
    (pair, id)
}

fn act(pair: &mut Pair, page: usize, widget: &str, payload: &str) -> Result<SendId, ErrorInfo> {
    let id = pair.pages[page].next_send();
    pair.input(page, Input::WidgetAction { id, widget, action: "book", payload })?;
    pair.pages[page].accepted.push(id);
    Ok(id)
}

fn answer(pair: &Pair, page: usize, id: &str) -> Option<String> {
    let row = pair.pages[page].session.messages().iter().find(|row| row.id == id).unwrap();
    row.widget.as_ref().unwrap().answer.as_ref().map(Value::text)
}

const BOOKED: &str = r#"{"action":"book","payload":{"seats":2.50}}"#;

/// What the model was told last.
fn told(pair: &Pair) -> String {
    match pair.server.model.requests.last().unwrap().messages.last().unwrap() {
        ModelMessage::User(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_action_reaches_the_model_and_the_widget_shows_it() {
    let (mut pair, id) = shown([Step::says("Booked.")]);
    assert_eq!(answer(&pair, 0, &id), None);
    let send = act(&mut pair, 0, &id, r#"{"seats":2.50}"#).unwrap();
    assert_eq!(answer(&pair, 0, &id).as_deref(), Some(BOOKED), "at once");
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("Booked."));
    let text = format!(
        r#"[widget action] {{"widgetId":"{id}","kind":"form","summary":"A form for a room.","action":"book","payload":{{"seats":2.50}}}}"#
    );
    assert_eq!(told(&pair), text);
    let body = parse(pair.server.posted.last().unwrap()).unwrap();
    let mindset = body.get("forwardedProps").unwrap().get("mindset").unwrap();
    assert_eq!(mindset.str("inputType"), Some("PSEUDO_HUMAN"));
    let action = mindset.get("widgetAction").unwrap();
    assert_eq!((action.str("widgetId"), action.str("action")), (Some(&*id), Some("book")));
    // Nobody sees the message, and the panel drawn anew is the panel as it is.
    assert!(pair.page().transcript().iter().all(|line| !line.contains("widget action")));
    let drawn = Panel::draw(&pair.page().patches);
    let redrawn = pair.pages[0].session.redraw();
    assert_eq!(Panel::draw(&redrawn).rows, drawn.rows);
}

#[test]
fn a_page_that_comes_later_knows_what_was_done() {
    let (mut pair, id) = shown([Step::says("Booked."), Step::says("Again.")]);
    act(&mut pair, 0, &id, r#"{"seats":1}"#).unwrap();
    pair.drive();
    act(&mut pair, 0, &id, r#"{"seats":2.50}"#).unwrap();
    pair.drive();
    let conversation_id = pair.page().conversation.clone();
    let anonymous_key = pair.page().anonymous_key.clone();
    let page =
        pair.add_page(Config { conversation_id, client_id: "later".into(), anonymous_key, ..config() });
    pair.drive();
    assert_eq!(answer(&pair, page, &id).as_deref(), Some(BOOKED), "the last one counts");
    // Older messages that are loaded later know it too.
    let ask = pair.inquire(page, Ask::Earlier);
    pair.drive();
    assert!(pair.pages[page].answer(ask).is_ok());
}

#[test]
fn another_tab_shows_it_too() {
    let (mut pair, id) = shown([Step::says("Booked.").slowly(100)]);
    let conversation_id = pair.page().conversation.clone();
    let anonymous_key = pair.page().anonymous_key.clone();
    let other =
        pair.add_page(Config { conversation_id, client_id: "other".into(), anonymous_key, ..config() });
    pair.drive();
    assert_eq!(answer(&pair, other, &id), None);
    act(&mut pair, 0, &id, r#"{"seats":2.50}"#).unwrap();
    pair.drive();
    assert_eq!(answer(&pair, other, &id).as_deref(), Some(BOOKED));
    let redrawn = pair.pages[other].session.redraw();
    assert_eq!(Panel::draw(&redrawn).rows, Panel::draw(&pair.pages[other].patches).rows);
}

#[test]
fn what_cannot_be_done_is_refused_at_once() {
    let (mut pair, id) = shown([]);
    let posted = pair.server.posted.len();
    let user = pair.page().session.messages()[0].id.clone();
    let long = "x".repeat(MAX_PAYLOAD);
    for (widget, payload, what) in [
        ("nobody", "", "no widget with this id"),
        (&*user, "", "no widget with this id"),
        (&id, "{seats}", "no JSON"),
        (&id, "[1", "no JSON"),
        (&id, &*format!("\"{long}\""), "at most 32768"),
    ] {
        let refused = act(&mut pair, 0, widget, payload).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest, "{widget} {what}");
        assert!(refused.message.contains(what), "{} {what}", refused.message);
    }
    for action in [String::new(), "a".repeat(MAX_ACTION + 1)] {
        let id = pair.pages[0].next_send();
        let input = Input::WidgetAction { id, widget: &widget_id(&pair), action: &action, payload: "" };
        assert_eq!(pair.input(0, input).unwrap_err().code, ErrorCode::InvalidRequest);
    }
    pair.drive();
    assert_eq!((answer(&pair, 0, &id), pair.server.posted.len()), (None, posted));
}

fn widget_id(pair: &Pair) -> String {
    pair.page().session.messages().iter().find(|row| row.widget.is_some()).unwrap().id.clone()
}

#[test]
fn while_the_agent_is_busy_nothing_is_done() {
    let (mut pair, id) = shown([Step::says("Well.").slowly(500)]);
    pair.send("and?");
    let refused = act(&mut pair, 0, &id, "").unwrap_err();
    assert_eq!((refused.code, answer(&pair, 0, &id)), (ErrorCode::Busy, None));
    pair.drive();
}

#[test]
fn an_action_that_failed_is_told_again_as_it_was() {
    let (mut pair, id) =
        shown([Step::breaks("No", mindset_core::event::Reason::ModelError), Step::says("Booked.")]);
    let send = act(&mut pair, 0, &id, r#"{"seats":2.50}"#).unwrap();
    pair.drive();
    assert_eq!(pair.page().result(send).status, TurnStatus::Error);
    let first = told(&pair);
    assert_eq!(pair.retry().text.as_deref(), Some("Booked."));
    assert_eq!((told(&pair), answer(&pair, 0, &id).as_deref()), (first, Some(BOOKED)));
}
