//! Conversations: listed, renamed, deleted, left for others, and their older messages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, unused_imports)]
mod pair;

use mindset_core::error::ErrorCode;
use mindset_core::json::Value;
use mindset_core::session::{Ask, Config, DomEvent, FetchPurpose, Input, Protocol, SendOptions, TurnStatus};
use pair::{Canned, Heard, Pair, ScriptedModel, Step, config};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn says(answers: &[&str]) -> Pair {
    Pair::new(ScriptedModel::new(answers.iter().map(|answer| Step::says(answer))))
}

/// Asks from the first page and waits until all is quiet.
fn ask(pair: &mut Pair, ask: Ask) -> Result<Value, ErrorCode> {
    let id = pair.inquire(0, ask);
    pair.drive();
    pair.page().answer(id).clone().map_err(|error| error.code)
}

fn rename(id: &str, title: &str) -> Ask {
    Ask::Rename { id: id.to_owned(), title: title.to_owned() }
}

fn switch(id: &str) -> Ask {
    Ask::Switch { id: id.to_owned() }
}

fn delete(id: &str) -> Ask {
    Ask::Delete { id: id.to_owned() }
}

fn open_id(pair: &Pair) -> String {
    pair.page().session.conversation_id().expect("a conversation").to_owned()
}

/// Details of `conversation_id`, and the sizes of histories, in order.
fn told(pair: &Pair) -> Vec<String> {
    let word = |heard: &Heard| match heard {
        Heard::Event(DomEvent::Conversation { detail }) => {
            let [new, old, why] =
                ["conversationId", "replacedConversationId", "replacedBecause"].map(|key| detail.str(key));
            Some([new, old, why].map(|part| part.unwrap_or("-").to_owned()).join(" "))
        }
        Heard::Event(DomEvent::History { messages }) => Some(format!("history {}", messages.len())),
        _ => None,
    };
    pair.page().events.iter().filter_map(word).collect()
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|one| one.str("id").unwrap().to_owned()).collect()
}

#[test]
fn two_conversations() {
    let mut pair = says(&["One.", "Two.", "One again."]);
    pair.ask("first");
    let first = open_id(&pair);
    assert_eq!(pair.page().conversation.as_deref(), Some(first.as_str()));

    assert_eq!(ask(&mut pair, Ask::New), Ok(Value::Null));
    assert_eq!((pair.page().transcript().len(), pair.page().conversation.as_deref()), (0, None));
    assert_eq!(pair.page().session.conversation_id(), None, "none before its first completed turn");
    pair.ask("second");
    let second = open_id(&pair);

    assert_eq!(ask(&mut pair, rename(&second, "The second")), Ok(Value::Null));
    let list = ask(&mut pair, Ask::List).unwrap();
    assert_eq!(ids(&list), [second.clone(), first.clone()]);
    assert_eq!(list.as_array().unwrap()[0].str("title"), Some("The second"));
    let is_open = |list: &Value, at: usize| list.as_array().unwrap()[at].get("isOpen").cloned();
    assert_eq!([is_open(&list, 0), is_open(&list, 1)], [Some(Value::Bool(true)), None]);
    pair.server.listed = Some(1);
    assert_eq!(ask(&mut pair, Ask::List).unwrap(), list, "every page of it");

    assert_eq!(ask(&mut pair, switch(&first)), Ok(Value::Null));
    assert_eq!(open_id(&pair), first);
    assert_eq!(pair.page().conversation.as_deref(), Some(first.as_str()));
    assert_eq!(pair.page().transcript(), ["user: first", "assistant: One."]);
    pair.ask("and on");
    assert_eq!(pair.page().transcript().len(), 4);
    assert_eq!(
        told(&pair),
        [
            "history 0".to_owned(),
            format!("{first} - -"),
            "history 0".to_owned(),
            format!("{second} {first} switched"),
            format!("{first} {second} switched"),
            "history 2".to_owned(),
        ]
    );
    let idles = pair.page().sketch().iter().filter(|word| *word == "idle").count();
    assert_eq!(idles, 4, "the start and three turns: no idle without a turn before it");
}

#[test]
fn the_open_one_is_deleted() {
    let mut pair = says(&["One.", "Two."]);
    pair.ask("first");
    let first = open_id(&pair);
    assert_eq!(ask(&mut pair, delete(&first)), Ok(Value::Null));
    assert!(pair.server.store.is_empty() && pair.page().transcript().is_empty());
    assert_eq!((pair.page().conversation.clone(), pair.page().session.conversation_id()), (None, None));
    pair.ask("second");
    let second = open_id(&pair);
    let story = [
        "history 0".to_owned(),
        format!("{first} - -"),
        "history 0".to_owned(),
        format!("{second} {first} switched"),
    ];
    assert_eq!(told(&pair), story);
    // Another one goes without a word.
    assert_eq!(ask(&mut pair, delete(&first)), Err(ErrorCode::NotFound));
    assert_eq!(open_id(&pair), second);
}

#[test]
fn one_that_was_deleted_on_another_device() {
    let mut pair = says(&["One.", "Two."]);
    pair.ask("first");
    let first = open_id(&pair);
    pair.server.store.clear();
    pair.server.deleted.push(first.clone());
    let send = pair.send("second");
    pair.drive();
    let result = pair.page().result(send).clone();
    let error = result.error.unwrap();
    assert_eq!((error.code, error.retryable), (ErrorCode::NotFound, true));
    // What is gone is not shown any more; the message is, and goes into a new conversation.
    assert_eq!(pair.page().transcript(), ["user: second"]);
    assert_eq!(pair.retry().text.as_deref(), Some("Two."));
    assert_eq!(pair.page().transcript(), pair.server.transcript());
    let second = open_id(&pair);
    assert_eq!(told(&pair).last(), Some(&format!("{second} {first} discarded")));
}

#[test]
fn another_one_is_deleted() {
    let mut pair = says(&["One.", "Two."]);
    pair.ask("first");
    let first = open_id(&pair);
    ask(&mut pair, Ask::New).unwrap();
    pair.ask("second");
    let before = told(&pair);
    ask(&mut pair, delete(&first)).unwrap();
    assert_eq!(told(&pair), before);
    assert_eq!(pair.page().transcript(), ["user: second", "assistant: Two."]);
    assert_eq!(pair.server.store.len(), 1);
}

#[test]
fn new_in_a_new_one_is_nothing() {
    let mut pair = says(&[]);
    for _ in 0..3 {
        assert_eq!(ask(&mut pair, Ask::New), Ok(Value::Null));
    }
    assert_eq!(told(&pair), ["history 0"]);
}

#[test]
fn an_unknown_one_is_refused_and_nothing_changes() {
    let mut pair = says(&["One.", "Two."]);
    pair.ask("first");
    let before = (told(&pair), pair.page().transcript(), open_id(&pair));
    for (wrong, code) in [
        (switch("nobody"), ErrorCode::NotFound),
        (delete("nobody"), ErrorCode::NotFound),
        (rename("nobody", "x"), ErrorCode::NotFound),
        (switch(""), ErrorCode::InvalidRequest),
        (delete(".."), ErrorCode::InvalidRequest),
        (rename(".", "x"), ErrorCode::InvalidRequest),
        (rename("x", ""), ErrorCode::InvalidRequest),
        (rename("x", " \t"), ErrorCode::InvalidRequest),
        (rename("x", &"é".repeat(201)), ErrorCode::InvalidRequest),
    ] {
        assert_eq!(ask(&mut pair, wrong), Err(code));
    }
    assert_eq!((told(&pair), pair.page().transcript(), open_id(&pair)), before);
    let id = open_id(&pair);
    ask(&mut pair, rename(&id, &"é".repeat(200))).unwrap();
    assert_eq!(ask(&mut pair, switch(&id)), Ok(Value::Null), "it is open already");
    assert_eq!(told(&pair), before.0);
    assert_eq!(pair.ask("second").text.as_deref(), Some("Two."));
}

#[test]
fn during_a_turn() {
    let slow = Step::says("a b c d").slowly(100);
    let mut pair = Pair::new(ScriptedModel::new([Step::says("One."), Step::says("Two."), slow]));
    pair.ask("first");
    let first = open_id(&pair);
    ask(&mut pair, Ask::New).unwrap();
    pair.ask("second");
    let second = open_id(&pair);
    let send = pair.send("slowly");
    pair.drive_for(150);
    let asked: Vec<_> =
        [Ask::New, switch(&first), delete(&second), Ask::List, rename(&first, "One"), delete(&first)]
            .map(|ask| pair.inquire(0, ask))
            .into();
    pair.drive_for(10);
    let codes: Vec<_> =
        asked.iter().map(|id| pair.page().answer(*id).as_ref().err().map(|error| error.code)).collect();
    let busy = Some(ErrorCode::Busy);
    assert_eq!(codes, [busy, busy, busy, None, None, None]);
    assert!(!pair.page().settled(send));
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("a b c d"));
    assert_eq!(pair.server.store.keys().collect::<Vec<_>>(), [&second]);
}

#[test]
fn before_the_first_idle_everything_waits() {
    let mut pair = Pair::unstarted(ScriptedModel::new([Step::says("Hi.")]));
    pair.network.latency = 50;
    pair.add_page(config());
    let list = pair.inquire(0, Ask::List);
    let send = pair.send("hello");
    let new = pair.inquire(0, Ask::New);
    pair.drive_for(60);
    assert!(pair.page().answers.is_empty());
    pair.drive();
    // The message was there first: the new conversation comes behind its turn.
    assert_eq!(pair.page().result(send).status, TurnStatus::Finished);
    assert_eq!(ids(pair.page().answer(list).as_ref().unwrap()).len(), 1);
    assert_eq!(*pair.page().answer(new), Ok(Value::Null));
    assert!(pair.page().transcript().is_empty());
}

#[test]
fn a_start_that_fails_for_good() {
    let mut pair = Pair::unstarted(ScriptedModel::default());
    pair.add_page(Config { agent_uid: "nobody".into(), ..config() });
    let early = pair.inquire(0, Ask::List);
    pair.drive_for(100);
    let late = pair.inquire(0, Ask::New);
    for id in [early, late] {
        assert_eq!(pair.page().answer(id).as_ref().map_err(|error| error.code), Err(ErrorCode::NotReady));
    }
}

#[test]
fn what_is_sent_during_a_switch_goes_where_it_leads() {
    for (known, latency) in [(true, 0), (true, 40), (false, 40)] {
        let mut pair = says(&["One.", "Two.", "Three."]);
        pair.ask("first");
        let first = open_id(&pair);
        ask(&mut pair, Ask::New).unwrap();
        pair.ask("second");
        pair.network.latency = latency;
        let switched = pair.inquire(0, switch(if known { &first } else { "nobody" }));
        let send = pair.send("third");
        pair.drive();
        let result = pair.page().result(send);
        assert_eq!(pair.page().answer(switched).is_ok(), known);
        if known {
            let all = ["user: first", "assistant: One.", "user: third", "assistant: Three."];
            assert_eq!(
                (pair.page().transcript(), result.status),
                (all.map(str::to_owned).into(), TurnStatus::Finished)
            );
        } else {
            assert_eq!(result.error.as_ref().map(|error| error.code), Some(ErrorCode::NotFound));
            assert_eq!(pair.page().transcript().last().unwrap(), "user: third [error]");
            assert_eq!(pair.server.transcript().len(), 4, "it is said in no wrong conversation");
        }
    }
}

#[test]
fn one_change_after_the_other() {
    let mut pair = says(&["One.", "Two."]);
    pair.ask("first");
    let first = open_id(&pair);
    ask(&mut pair, Ask::New).unwrap();
    pair.ask("second");
    let second = open_id(&pair);
    pair.network.latency = 20;
    let asked = [switch(&first), switch(&second), Ask::New, switch(&first), delete(&first)]
        .map(|ask| pair.inquire(0, ask));
    pair.drive();
    for id in asked {
        assert_eq!(*pair.page().answer(id), Ok(Value::Null), "{id:?}");
    }
    assert!(pair.page().transcript().is_empty());
    assert_eq!(pair.server.store.keys().collect::<Vec<_>>(), [&second]);
    let histories = told(&pair).iter().filter(|word| word.starts_with("history")).count();
    assert_eq!(histories, 7, "one for each conversation that was shown");
}

/// A conversation of `count` messages that another page load opens.
fn long(count: usize) -> Pair {
    let mut pair = says(&["Hi.", "New.", "More."]);
    pair.ask("hello");
    let id = open_id(&pair);
    let stored = pair.server.store.get_mut(&id).unwrap();
    let (user, answer) = (stored[0].clone(), stored[1].clone());
    stored.clear();
    for n in 0..count {
        let mut message = if n % 2 == 0 { user.clone() } else { answer.clone() };
        message.id = format!("m{n}");
        message.content = format!("{n}");
        stored.push(message);
    }
    pair.leave(0);
    pair.pages.remove(0);
    pair.add_page(Config { conversation_id: Some(id), ..config() });
    pair.drive();
    pair
}

#[test]
fn older_messages() {
    let mut pair = long(450);
    assert!(told(&pair).contains(&"history 200".to_owned()));
    for (rows, more) in [(400, true), (450, false), (450, false)] {
        assert_eq!(ask(&mut pair, Ask::Earlier), Ok(Value::Bool(more)));
        let messages = pair.page().session.messages();
        assert_eq!(messages.len(), rows);
        let first = 450 - rows;
        assert!(messages.iter().enumerate().all(|(at, row)| row.id == format!("m{}", first + at)));
    }
    assert_eq!(told(&pair).len(), 2, "the history settles once");
    let mut short = long(200);
    assert_eq!(ask(&mut short, Ask::Earlier), Ok(Value::Bool(false)));
    assert_eq!(ask(&mut says(&[]), Ask::Earlier), Ok(Value::Bool(false)));
}

#[test]
fn older_messages_during_a_turn() {
    let mut pair = long(300);
    pair.server.model = ScriptedModel::new([Step::says("a b c").slowly(100), Step::says("d")]);
    let send = pair.send("and?");
    pair.drive_for(150);
    let (once, twice) = (pair.inquire(0, Ask::Earlier), pair.inquire(0, Ask::Earlier));
    pair.drive();
    assert_eq!(
        (pair.page().answer(once), pair.page().answer(twice)),
        (&Ok(Value::Bool(false)), &Ok(Value::Bool(false)))
    );
    assert_eq!(pair.page().result(send).text.as_deref(), Some("a b c"));
    assert_eq!(pair.page().session.messages().len(), 302);
    assert_eq!(pair.page().transcript(), pair.server.transcript());
    let turn = pair.page().runtime().iter().find_map(|event| {
        let detail = event.dom_detail();
        (detail.str("type") == Some("complete"))
            .then(|| detail.get("messages").unwrap().as_array().unwrap().len())
    });
    assert_eq!(turn, Some(2), "the DOM sees this turn only");
}

#[test]
fn older_messages_of_a_conversation_that_was_left() {
    let mut pair = long(300);
    let id = open_id(&pair);
    pair.network.latency = 20;
    let earlier = pair.inquire(0, Ask::Earlier);
    pair.drive_for(5);
    let new = pair.inquire(0, Ask::New);
    pair.drive();
    assert_eq!(pair.page().answer(earlier).as_ref().map_err(|error| error.code), Err(ErrorCode::Conflict));
    assert!(pair.page().answer(new).is_ok() && pair.page().transcript().is_empty());
    ask(&mut pair, switch(&id)).unwrap();
    assert_eq!(ask(&mut pair, Ask::Earlier), Ok(Value::Bool(false)));
    assert_eq!(pair.page().session.messages().len(), 300);
}

fn canned(pair: &mut Pair, purpose: FetchPurpose, status: u16, body: &'static str) {
    pair.server.canned.push_back(Canned { purpose, status, content_type: "application/json", body });
}

#[test]
fn answers_that_are_none() {
    for (status, body, code) in [
        (500, "", ErrorCode::ServerError),
        (429, "", ErrorCode::RateLimited),
        (0, "", ErrorCode::Network),
        (200, "<html>", ErrorCode::Protocol),
        (200, "", ErrorCode::Protocol),
        (200, "[]", ErrorCode::Protocol),
        (200, r#"{"messages":{},"conversations":7}"#, ErrorCode::Protocol),
        (403, r#"{"error":{"code":"forbidden","message":"No. Ask somebody."}}"#, ErrorCode::Forbidden),
    ] {
        let mut pair = says(&["One.", "Two."]);
        pair.ask("first");
        let before = (told(&pair), pair.page().transcript(), open_id(&pair));
        for wanted in [Ask::List, switch("other")] {
            canned(&mut pair, FetchPurpose::Ask, status, body);
            assert_eq!(ask(&mut pair, wanted), Err(code), "{status} {body}");
        }
        assert_eq!((told(&pair), pair.page().transcript(), open_id(&pair)), before);
        assert_eq!(pair.ask("second").text.as_deref(), Some("Two."));
    }
}

#[test]
fn no_answer_in_time() {
    let mut pair = says(&["One."]);
    pair.ask("first");
    pair.network.latency = 20_000;
    let start = pair.now;
    let (list, away) = (pair.inquire(0, Ask::List), pair.inquire(0, switch("other")));
    pair.drive();
    for id in [list, away] {
        assert_eq!(pair.page().answer(id).as_ref().map_err(|error| error.code), Err(ErrorCode::Timeout));
    }
    assert_eq!(pair.now - start, 30_000 + 20_000, "the server hears of it");
}

#[test]
fn new_credentials_once_for_all() {
    let mut pair = says(&["One.", "Two."]);
    pair.ask("first");
    let id = open_id(&pair);
    pair.network.latency = 5;
    pair.server.tokens.clear();
    let issued = pair.server.issued;
    let asked = [Ask::List, rename(&id, "Title"), Ask::List].map(|ask| pair.inquire(0, ask));
    let send = pair.send("second");
    pair.drive();
    assert_eq!(pair.server.issued, issued + 1, "one sign-in for four requests");
    assert!(asked.iter().all(|id| pair.page().answer(*id).is_ok()));
    assert_eq!(pair.page().result(send).text.as_deref(), Some("Two."));
    // Once for each request.
    let expired = r#"{"error":{"code":"auth-expired","message":"Old."}}"#;
    for _ in 0..2 {
        canned(&mut pair, FetchPurpose::Ask, 401, expired);
    }
    assert_eq!(ask(&mut pair, Ask::List), Err(ErrorCode::AuthExpired));
    assert_eq!(pair.server.issued, issued + 2);
}

#[test]
fn credentials_before_their_end() {
    let mut pair = Pair::unstarted(ScriptedModel::new([Step::says("Hi.")]));
    pair.server.token_life = 3_600_000;
    pair.add_page(config());
    pair.drive_for(3_500_000);
    assert_eq!(pair.server.issued, 1);
    pair.drive_for(100_000);
    assert_eq!(pair.server.issued, 2, "a minute before");
    pair.drive_for(10 * 3_600_000);
    assert_eq!(pair.server.issued, 12);
    assert_eq!(pair.page().sketch(), ["initializing", "history", "idle"], "without a word");
}

#[test]
fn another_start_answers_what_was_asked() {
    let mut pair = says(&["One."]);
    pair.ask("first");
    pair.network.latency = 20;
    let asked = [Ask::List, switch("other"), Ask::New].map(|ask| pair.inquire(0, ask));
    pair.drive_for(10);
    pair.input(0, Input::Start(config())).unwrap();
    for id in &asked[..2] {
        assert_eq!(pair.page().answer(*id).as_ref().map_err(|error| error.code), Err(ErrorCode::NotReady));
    }
    pair.drive();
    // It had not begun: the new agent's turn.
    assert_eq!(*pair.page().answer(asked[2]), Ok(Value::Null));
}

#[test]
fn a_server_that_keeps_nothing() {
    let mut pair = says(&[]);
    let server = "https://peer.example/run".to_owned();
    pair.input(0, Input::Start(Config { protocol: Protocol::AgUi, server, ..Config::default() })).unwrap();
    for asked in [Ask::List, Ask::Earlier, switch("x"), delete("x"), rename("x", "y")] {
        assert_eq!(ask(&mut pair, asked), Err(ErrorCode::InvalidRequest));
    }
    assert_eq!(ask(&mut pair, Ask::New), Ok(Value::Null));
}

#[test]
fn strays_and_strange_values_are_passed_over() {
    let odd = r#"{"before":7,"activeRun":"x","openCalls":{"a":1},"lastRun":[1],"messages":[
        null,7,"x",[],{},{"id":"a"},{"id":"a","role":"tool","content":"x"},{"id":"","role":"user","content":"x"},
        {"id":"u","role":"user","content":"Hello","status":"melted","createdAt":5,"citations":"x","widget":{"kind":1}},
        {"id":"w","role":"assistant","content":{"no":"text"},"status":null},
        {"id":"v","role":"assistant","content":"A chart","widget":{"kind":"chart","doc":[1],"summary":"A chart"}},
        {"id":"u","role":"user","content":"Hello again"}]}"#;
    let mut pair = says(&["One."]);
    pair.ask("first");
    canned(&mut pair, FetchPurpose::Ask, 200, odd);
    assert_eq!(ask(&mut pair, switch("odd")), Ok(Value::Null));
    assert_eq!(pair.page().transcript(), ["assistant: ", "assistant: A chart", "user: Hello again"]);
    let history = pair.page().events.iter().rev().find_map(|heard| match heard {
        Heard::Event(DomEvent::History { messages }) => Some(messages.clone()),
        _ => None,
    });
    let widget = history.unwrap()[1].widget.clone().unwrap();
    assert_eq!((widget.kind.as_str(), widget.doc.text().as_str()), ("chart", "[1]"));
    pair.server.model.push(Step::says("Fine."));
    let send = pair.send_from(0, "on", SendOptions::default()).unwrap();
    pair.drive();
    assert_eq!(pair.page().result(send).text.as_deref(), Some("Fine."));
}
