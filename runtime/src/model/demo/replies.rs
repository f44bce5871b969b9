//! The rules: a request to what the demo model does.

use mindset_core::json::Value;
use mindset_core::turn::{ModelMessage, ModelRequest, ModelTool};

use super::Reply;
use super::arguments::{enum_texts, fill};
use super::words::{contains_phrase, cut, telling, words};
use super::{awareness, knowledge, results};

/// How a question for missing arguments begins; seeing it again tells that the
/// next message answers it.
const ASK: &str = "To do that I still need ";

/// How much a question must share with a tool to be more than a question.
const SURE: usize = 6;

/// What the rules say to a request.
pub(super) fn reply(request: &ModelRequest) -> Reply {
    let results = results::trailing(&request.messages);
    if !results.is_empty() {
        return Reply::Text(results::summary(&results));
    }
    let text = last_user_text(&request.messages).unwrap_or("");
    if asks_what_it_is(text) {
        return Reply::Text(WHAT_IT_IS.into());
    }
    if let Some(calls) = several(&request.tools, text) {
        return Reply::Calls(calls);
    }
    let whole = with_open_question(&request.messages, text);
    let picked = pick(&request.tools, &whole);
    if asks_for_help(text) && picked.is_none() {
        return Reply::Text(help(&request.tools));
    }
    let sure = picked.is_some_and(|(score, _)| score >= SURE);
    if let Some(answer) = awareness::answer(&request.system, text).filter(|_| !sure) {
        return Reply::Text(answer);
    }
    match (picked, knowledge::search(&request.tools, text)) {
        // A question that barely touches a tool is rather one to look up.
        (Some((score, tool)), search) if search.is_none() || score >= SURE => call_or_ask(tool, &whole),
        (_, Some(call)) => Reply::Calls(vec![call]),
        _ => Reply::Text(small_talk(text)),
    }
}

fn last_user_text(messages: &[ModelMessage]) -> Option<&str> {
    messages.iter().rev().find_map(|m| match m {
        ModelMessage::User(text) => Some(text.as_str()),
        _ => None,
    })
}

/// If the last thing said was our question for arguments, the message it was about
/// and the answer make one text.
fn with_open_question(messages: &[ModelMessage], text: &str) -> String {
    let mut earlier = messages.iter().rev().skip(1);
    let asked = matches!(earlier.next(), Some(ModelMessage::Assistant { text, .. }) if text.starts_with(ASK));
    match earlier.next() {
        Some(ModelMessage::User(before)) if asked => format!("{before}, {text}"),
        _ => text.to_owned(),
    }
}

/// The tool that shares the most with the text, and how much: words of its name and
/// values of its enums count three, words of its description and parameters one. At
/// least three are needed.
fn pick<'t>(tools: &'t [ModelTool], text: &str) -> Option<(usize, &'t ModelTool)> {
    let said = telling(text);
    let mut best: Option<(usize, &ModelTool)> = None;
    for tool in tools.iter().filter(|tool| tool.name != knowledge::TOOL) {
        let score = score(tool, text, &said);
        if score >= 3 && best.is_none_or(|(top, _)| score > top) {
            best = Some((score, tool));
        }
    }
    best
}

/// The calls of a message that asks for two or three things at once, each of another
/// tool and with everything it needs.
fn several(tools: &[ModelTool], text: &str) -> Option<Vec<(String, String)>> {
    let parts: Vec<&str> = text.split(" and ").flat_map(|part| part.split(" then ")).collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    let mut calls: Vec<(String, String)> = Vec::new();
    for part in parts {
        let (_, tool) = pick(tools, part)?;
        let filled = fill(tool, part);
        if !filled.missing.is_empty() || calls.iter().any(|(name, _)| *name == tool.name) {
            return None;
        }
        calls.push((tool.name.clone(), filled.arguments.to_string()));
    }
    Some(calls)
}

fn score(tool: &ModelTool, text: &str, said: &[String]) -> usize {
    let shared = |of: &str| telling(of).iter().filter(|w| said.contains(w)).count();
    let mut score = 3 * shared(&tool.name) + shared(&tool.description);
    let properties = tool.parameters.as_object().get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flat_map(|p| p.iter()) {
        score += shared(name);
        let values =
            enum_texts(schema).into_iter().chain(schema.get("items").map(enum_texts).unwrap_or_default());
        score += 3 * values.filter(|v| contains_phrase(text, v)).count();
    }
    score
}

fn call_or_ask(tool: &ModelTool, text: &str) -> Reply {
    let filled = fill(tool, text);
    if filled.missing.is_empty() {
        return Reply::Calls(vec![(tool.name.clone(), filled.arguments.to_string())]);
    }
    let properties = tool.parameters.as_object().get("properties");
    let wanted: Vec<String> = filled
        .missing
        .iter()
        .map(|name| {
            let values = properties.and_then(|p| p.get(name)).map(enum_texts).unwrap_or_default();
            if values.is_empty() { name.clone() } else { format!("{name} (one of {})", values.join(", ")) }
        })
        .collect();
    Reply::Text(format!(
        "{ASK}{} for {}. Put text in quotes, and I will go on.",
        wanted.join(" and "),
        results::plain_name(&tool.name)
    ))
}

const WHAT_IT_IS: &str = "I am a demo model, not an AI. My answers come from a handful of fixed rules, so that \
    this page works without a key and without a network.\n\nFor real answers, start the server with \
    OPENAI_API_KEY or ANTHROPIC_API_KEY set. Nothing else has to change.";

fn asks_what_it_is(text: &str) -> bool {
    let questions = [
        "are you an ai",
        "are you ai",
        "are you a bot",
        "are you a robot",
        "are you human",
        "are you real",
        "are you a person",
        "who are you",
        "what are you",
        "which model",
        "are you chatgpt",
        "are you claude",
    ];
    questions.iter().any(|q| contains_phrase(text, q))
}

fn asks_for_help(text: &str) -> bool {
    let questions = ["what can you do", "what do you do", "how can you help", "what can i ask", "help me"];
    questions.iter().any(|q| contains_phrase(text, q)) || words(text) == ["help"]
}

fn help(tools: &[ModelTool]) -> String {
    let mut answer = String::from(
        "I show how an agent lives in a page. Your message went to a real server, and this answer streams back \
         word by word. You can stop it at any time, and the conversation is kept.\n\n",
    );
    if tools.is_empty() {
        answer.push_str("This page has given me no tools, so talking is all I do here.");
    } else {
        answer.push_str("This page lets me use these tools: ");
        let names: Vec<&str> = tools.iter().map(|t| results::plain_name(&t.name)).collect();
        answer.push_str(&names.join(", "));
        answer.push_str(". Ask for one in plain words.");
    }
    answer.push_str("\n\nI am a demo model with fixed rules, not an AI.");
    answer
}

fn small_talk(text: &str) -> String {
    let said = words(text);
    let has = |list: &[&str]| said.iter().any(|w| list.contains(&w.as_str()));
    if said.is_empty() {
        return "That message had no words in it. Write a few, and I will answer.".into();
    }
    if has(&["time", "date", "today", "clock"]) && has(&["what", "which", "tell", "current"]) {
        return "I have no clock, so I cannot tell you the time or the date. I would rather say so than guess.".into();
    }
    if has(&["thanks", "thank", "thx", "danke"]) {
        return "You are welcome. Is there anything else you would like to try?".into();
    }
    if has(&["bye", "goodbye", "ciao", "farewell"]) {
        return "Goodbye! This conversation stays here, so you can come back to it.".into();
    }
    if has(&["hello", "hi", "hey", "hallo", "greetings", "morning", "evening"]) {
        return "Hello! Nice to meet you. I am the demo model of this page.\n\nThis answer came from a real server, \
                one word at a time. Ask me what I can do, or just write something."
            .into();
    }
    let count = if said.len() == 1 { "one word".to_owned() } else { format!("{} words", said.len()) };
    let kind = if text.trim_end().ends_with('?') { "a question" } else { "a message" };
    format!(
        "You wrote: “{}”. That is {kind} of {count}, and it reached the server in one piece.\n\nI am a demo model \
         with fixed rules, so I cannot say anything clever about it. With a real model behind the same page, the \
         answer would stream in exactly like this one.",
        cut(text, 200)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindset_core::json;
    use mindset_core::passthrough::VisibleSchema;

    fn tool(name: &str, description: &str, schema: &str) -> ModelTool {
        let parameters = json::parse(schema).unwrap().as_object().unwrap().clone();
        ModelTool {
            name: name.into(),
            description: description.into(),
            parameters: VisibleSchema::strip(&parameters, |_| false),
        }
    }

    fn request(messages: Vec<ModelMessage>) -> ModelRequest {
        let tools = vec![
            tool("list_orders", "Lists the orders of the customer", r#"{"properties":{}}"#),
            tool(
                "set_color",
                "Changes the colour of the page",
                r#"{"properties":{"color":{"enum":["teal","pink"]}},"required":["color"]}"#,
            ),
        ];
        ModelRequest { model: "demo".into(), system: String::new(), messages, tools }
    }

    fn user(text: &str) -> ModelMessage {
        ModelMessage::User(text.into())
    }

    fn assistant(text: &str) -> ModelMessage {
        ModelMessage::Assistant { text: text.into(), calls: vec![], provider_state: None }
    }

    fn text(messages: Vec<ModelMessage>) -> String {
        match reply(&request(messages)) {
            Reply::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tools_by_words_and_enum_values() {
        for (said, name, arguments) in [
            ("please list my orders", "list_orders", "{}"),
            ("please help me make the page teal", "set_color", r#"{"color":"teal"}"#),
        ] {
            let expected = Reply::Calls(vec![(name.into(), arguments.into())]);
            assert_eq!(reply(&request(vec![user(said)])), expected);
        }
    }

    #[test]
    fn asks_and_goes_on_with_the_answer() {
        let question = text(vec![user("change the color")]);
        assert!(question.starts_with(ASK) && question.contains("teal, pink"), "{question}");
        let answered =
            reply(&request(vec![user("change the color"), assistant(&question), user("the second: pink")]));
        assert_eq!(answered, Reply::Calls(vec![("set_color".into(), r#"{"color":"pink"}"#.into())]));
    }

    #[test]
    fn several_things_at_once() {
        assert_eq!(
            reply(&request(vec![user("list my orders and make the color teal")])),
            Reply::Calls(vec![
                ("list_orders".into(), "{}".into()),
                ("set_color".into(), r#"{"color":"teal"}"#.into())
            ])
        );
        // What one tool does is one call, and what lacks something is asked for.
        assert!(matches!(
            reply(&request(vec![user("make the color of the page teal and pink")])),
            Reply::Calls(calls) if calls.len() == 1
        ));
    }

    #[test]
    fn questions_are_looked_up() {
        let ask = |said: &str, with_search: bool| {
            let mut request = request(vec![user(said)]);
            if with_search {
                request.tools.push(tool(knowledge::TOOL, "Searches the handbook", r#"{"properties":{}}"#));
            }
            reply(&request)
        };
        let looked_up = |reply: Reply| matches!(reply, Reply::Calls(calls) if calls[0].0 == knowledge::TOOL);
        for said in
            ["How many days off do I have?", "what about orders for the office?", "Wie lange gilt das"]
        {
            assert!(looked_up(ask(said, true)), "{said}");
            assert!(!looked_up(ask(said, false)), "{said}");
        }
        for said in ["hello", "thanks", "list my orders, please", "What can you do?", "What time is it?"] {
            assert!(!looked_up(ask(said, true)), "{said}");
        }
    }

    #[test]
    fn honest_about_itself() {
        for question in ["Are you an AI?", "hello, who are you", "What can you do?", "help"] {
            assert!(text(vec![user(question)]).contains("not an AI"), "{question}");
        }
        assert!(text(vec![user("What time is it?")]).contains("no clock"));
        assert!(text(vec![user("hello")]).starts_with("Hello!"));
        assert!(text(vec![user("Tell me a story")]).contains("Tell me a story"));
        assert!(!text(vec![]).is_empty());
    }
}
