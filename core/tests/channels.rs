//! Awareness and pass-through over whole turns: who gets what, and who does not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::json::{Value, parse};
use mindset_core::session::Input;
use mindset_core::turn::ModelMessage;
use pair::{ID, Pair, ScriptedModel, Step, call, object, slow_call, tool};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// What the model was told of the calls so far.
fn told(pair: &Pair) -> Vec<(String, bool)> {
    let request = pair.server.model.requests.last().unwrap();
    let result = |message: &ModelMessage| match message {
        ModelMessage::Tool { content, failed, .. } => Some((content.clone(), *failed)),
        _ => None,
    };
    request.messages.iter().filter_map(result).collect()
}

#[test]
fn what_the_page_supplies_is_stripped_and_put_back() {
    let schema = r#"{"type":"object","properties":{"employee_id":{"type":"string"},"note":{"type":"string"}},"required":["employee_id","note"],"additionalProperties":false}"#;
    let first = Step::events(call(0, "update", r#"{"note":"n","employee_id":"model"}"#)).expects(|request| {
        let text = request.tools[0].parameters.as_object().text();
        assert!(!text.contains("employee_id"), "{text}");
    });
    let mut pair = Pair::new(ScriptedModel::new([first, Step::says("Done.")]));
    pair.set_tools(vec![tool("update", schema)]);
    let secret = "EMP \"4821\"\u{0}🙂\u{2028}".to_owned() + &"x".repeat(1_000_000);
    let mut values = object(r#"{"employee_id":"wild","unknown":"leaves the page"}"#);
    values.insert("update.employee_id", secret.as_str());
    pair.input(0, Input::SetPassthrough(values)).unwrap();
    pair.pages[0].handler = Box::new(|_| Some((0, Ok("true".to_owned()))));
    pair.ask("go");
    assert_eq!(pair.page().runs[0].arguments.expose().str("employee_id"), Some(secret.as_str()));
    for posted in &pair.server.posted {
        assert!(!posted.contains("4821"), "a targeted value stays in the page");
        let body = parse(posted).unwrap();
        let props = body.get("forwardedProps").unwrap().get("mindset").unwrap();
        let leaving = props.get("passthroughParams").unwrap().text();
        assert_eq!(leaving, r#"{"employee_id":"wild","unknown":"leaves the page"}"#);
    }
    assert!(!format!("{:?}", pair.server.store).contains("4821"));
    assert!(!format!("{:?}{:?}", pair.page().events, pair.page().patches).contains("4821"));
}

/// Nothing here is a template: what looks like one is text, everywhere.
#[test]
fn a_name_in_braces_stays_as_it_stands() {
    let literal = "{{name}} ${name} %s <%= name %>";
    let first = Step::events(call(0, "greet", "{}")).expects(move |request| {
        assert!(request.system.contains("Greet {{name}}."), "{}", request.system);
        assert!(request.system.contains(r#"{"name":"{{name}} ${name}"#), "{}", request.system);
        assert_eq!(request.tools[0].description, "{{tool}}");
        assert_eq!(request.messages, [ModelMessage::User(literal.to_owned())]);
    });
    let mut pair = Pair::unstarted(ScriptedModel::new([first, Step::says(literal)]));
    pair.server.agent.instructions = "Greet {{name}}.".to_owned();
    pair.add_page(pair::config());
    pair.drive();
    let mut greet = tool("greet", r#"{"type":"object","properties":{"who":{"type":"string"}}}"#);
    greet.description = "{{tool}}".to_owned();
    pair.set_tools(vec![greet]);
    let mut values = object("{}");
    values.insert("who", literal);
    pair.input(0, Input::SetPassthrough(values)).unwrap();
    let awareness = format!(r#"{{"name":"{literal}"}}"#);
    pair.input(0, Input::SetAwareness(&awareness)).unwrap();
    pair.pages[0].handler = Box::new(|_| Some((0, Ok("true".to_owned()))));
    assert_eq!(pair.ask(literal).text.as_deref(), Some(literal));
    assert_eq!(pair.page().runs[0].arguments.expose().str("who"), Some(literal));
    assert_eq!(pair.page().transcript(), [format!("user: {literal}"), format!("assistant: {literal}")]);
}

#[test]
fn values_of_today_count() {
    // Set since: the page's value wins.
    let mut pair = slow_call(ID, r#"{"id":"model","n":1}"#);
    pair.send("go");
    pair.drive_for(50);
    pair.input(0, Input::SetPassthrough(object(r#"{"act.id":"page"}"#))).unwrap();
    pair.drive();
    assert_eq!(told(&pair), [(r#"{"id":"page","n":1}"#.to_owned(), false)]);
    assert!(pair.server.changed.is_empty(), "nothing of it concerns the server");
    // Taken back since: not run.
    let mut pair = slow_call(ID, r#"{"n":1}"#);
    pair.input(0, Input::SetPassthrough(object(r#"{"act.id":"page"}"#))).unwrap();
    pair.send("go");
    pair.drive_for(50);
    pair.input(0, Input::SetPassthrough(object("{}"))).unwrap();
    pair.drive();
    assert!(pair.page().runs.is_empty());
    assert!(told(&pair)[0].0.contains("`id`"), "{:?}", told(&pair));
}

#[test]
fn a_running_run_is_told_of_new_values() {
    let mut pair = slow_call(ID, "{}");
    pair.network.latency = 20;
    pair.send("go");
    // Before the server has answered, while it streams, and twice in a row.
    pair.input(0, Input::SetPassthrough(object(r#"{"a":1}"#))).unwrap();
    pair.drive_for(100);
    pair.input(0, Input::SetPassthrough(object(r#"{"a":2}"#))).unwrap();
    pair.input(0, Input::SetPassthrough(object(r#"{"a":3}"#))).unwrap();
    pair.drive();
    let changed: Vec<_> = pair.server.changed.iter().map(|values| values.text()).collect();
    assert_eq!(changed, [r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":3}"#]);
    assert!(!pair.page().sketch().iter().any(|word| word.starts_with("error")), "{:?}", pair.page().sketch());
    let last = parse(pair.server.posted.last().unwrap()).unwrap();
    let props = last.get("forwardedProps").unwrap().get("mindset").unwrap();
    assert_eq!(props.get("passthroughParams").unwrap().text(), r#"{"a":3}"#);
}

#[test]
fn awareness_is_fresh_in_every_run_and_stored_nowhere() {
    let mut pair = slow_call(ID, "{}");
    pair.input(0, Input::SetAwareness(r#"{"page":"first-view"}"#)).unwrap();
    pair.send("go");
    pair.drive_for(50);
    pair.input(0, Input::SetAwareness(r#"{"page":"second-view"}"#)).unwrap();
    pair.drive();
    let prompts: Vec<_> = pair.server.model.requests.iter().map(|request| format!("{request:?}")).collect();
    assert!(prompts[0].contains("first-view") && !prompts[0].contains("second-view"));
    assert!(prompts[1].contains("second-view") && !prompts[1].contains("first-view"));
    assert!(!format!("{:?}", pair.server.store).contains("-view"));
    pair.input(0, Input::SetAwareness("{}")).unwrap();
    pair.server.model = ScriptedModel::new([Step::says("Nothing.")]);
    pair.ask("and now?");
    assert!(!format!("{:?}", pair.server.model.requests).contains("-view"));
    let context = parse(pair.server.posted.last().unwrap()).unwrap();
    assert_eq!(context.get("context").and_then(Value::as_array).map(<[Value]>::len), Some(0));
}
