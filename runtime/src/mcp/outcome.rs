//! What a call gave, in the model's words.

use mindset_core::json::Value;
use mindset_core::turn::ToolOutcome;

use super::form;
use super::widget::{told, widget};
use super::wire::bounded;

const NOTHING: &str = "The tool returned nothing.";
const BARE_FAILURE: &str = "The tool reported an error and did not say which.";

/// The longest text that is quoted of a question.
const MAX_QUESTION: usize = 500;

/// The outcome of a result of any shape.
pub(super) fn outcome(result: &Value) -> ToolOutcome {
    let Value::Object(members) = result else {
        let content = if result.is_null() { NOTHING.to_owned() } else { result.text() };
        return ToolOutcome::Done { content, sources: Vec::new(), widgets: Vec::new() };
    };
    match members.str("resultType") {
        Some("input_required") => {
            return match form::questions(result) {
                Some(questions) => ToolOutcome::Asks(Box::new(questions)),
                None => ToolOutcome::Failed(question(result)),
            };
        }
        Some("task") => return background(),
        _ => {}
    }
    if members.get("task").is_some_and(Value::is_object) && members.get("content").is_none() {
        return background();
    }
    let failed = members.get("isError").and_then(Value::as_bool) == Some(true);
    let blocks = members.get("content").and_then(Value::as_array).unwrap_or_default();
    // Of a call that failed people get the error and nothing else.
    let shown = |block: &Value| widget(block).filter(|_| !failed);
    let widgets: Vec<_> = blocks.iter().filter_map(shown).collect();
    let text = |b: &Value| shown(b).map_or_else(|| block(b), |widget| told(&widget));
    let mut content =
        blocks.iter().map(text).filter(|t| !t.trim().is_empty()).collect::<Vec<_>>().join("\n\n");
    // Notes of what cannot be shown are no data.
    if !blocks.iter().any(|block| shown(block).is_none() && has_text(block))
        && let Some(structured) = members.get("structuredContent").filter(|s| !s.is_null())
    {
        if !content.is_empty() {
            content.push_str("\n\n");
        }
        content.push_str(&structured.text());
    }
    match (failed, content.is_empty()) {
        (true, true) => ToolOutcome::Failed(BARE_FAILURE.into()),
        (true, false) => ToolOutcome::Failed(content),
        (false, true) => ToolOutcome::Done { content: NOTHING.into(), sources: Vec::new(), widgets },
        (false, false) => ToolOutcome::Done { content, sources: Vec::new(), widgets },
    }
}

fn background() -> ToolOutcome {
    ToolOutcome::Unknown(
        "The server goes on with the call in the background, which cannot be followed here.".into(),
    )
}

fn question(result: &Value) -> String {
    let asked = result.get("inputRequests").and_then(Value::as_object).and_then(|requests| {
        requests.iter().find_map(|(_, r)| r.get("params")?.str("message").map(str::to_owned))
    });
    let mut text =
        "The call was not completed: the server asks for more input first, and nobody can be asked here."
            .to_owned();
    if let Some(asked) = asked {
        text.push_str(" It asks: ");
        text.push_str(&bounded(&asked, MAX_QUESTION));
    }
    text
}

/// Whether a content block holds text to read.
fn has_text(block: &Value) -> bool {
    let text = match block.str("type") {
        Some("text") => block.str("text"),
        Some("resource") => block.get("resource").and_then(|r| r.str("text")),
        Some(_) => None,
        None => block.as_str(),
    };
    text.is_some_and(|text| !text.trim().is_empty())
}

/// One content block as text; what is no text as a short note.
fn block(block: &Value) -> String {
    let text = |key: &str| block.str(key).unwrap_or_default();
    match block.str("type") {
        Some("text") => text("text").to_owned(),
        Some(kind @ ("image" | "audio")) => note(kind, block, text("data")),
        Some("resource") => resource(block.get("resource").unwrap_or(&Value::Null)),
        Some("resource_link") => {
            let name = block.str("title").or_else(|| block.str("name")).unwrap_or_default();
            let description = block.str("description").map(|d| format!(": {d}")).unwrap_or_default();
            format!("[link: {name} <{}>{description}]", text("uri"))
        }
        Some(kind) => format!("[content of the kind \"{}\", which cannot be shown]", bounded(kind, 64)),
        None => block.as_str().unwrap_or_default().to_owned(),
    }
}

fn resource(resource: &Value) -> String {
    let uri = resource.str("uri").unwrap_or_default();
    match resource.str("text") {
        Some(text) => format!("[resource {uri}]\n{text}"),
        None => format!("{} {uri}", note("resource", resource, resource.str("blob").unwrap_or_default())),
    }
}

/// A note in place of base64 data.
fn note(what: &str, block: &Value, data: &str) -> String {
    let kind = block.str("mimeType").unwrap_or("unknown type");
    format!("[{what}, {}, {} bytes, which cannot be shown]", bounded(kind, 64), data.len() / 4 * 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindset_core::json::parse;

    fn done(content: &str) -> ToolOutcome {
        ToolOutcome::Done { content: content.into(), sources: Vec::new(), widgets: Vec::new() }
    }

    #[test]
    fn results_of_every_shape() {
        for (result, expected) in [
            (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, done("a\n\nb")),
            (
                r#"{"content":[],"structuredContent":{"rooms":[{"id":"r1"}],"count":12}}"#,
                done(r#"{"rooms":[{"id":"r1"}],"count":12}"#),
            ),
            (
                r#"{"content":[{"type":"text","text":" "}],"structuredContent":{"count":12},"isError":false}"#,
                done(r#"{"count":12}"#),
            ),
            (r#"{"structuredContent":{"ok":true}}"#, done(r#"{"ok":true}"#)),
            (
                r#"{"content":[{"type":"image","data":"AAAA"}],"structuredContent":{"n":1}}"#,
                done("[image, unknown type, 3 bytes, which cannot be shown]\n\n{\"n\":1}"),
            ),
            (
                r#"{"content":[{"type":"text","text":"{\"count\":12}"}],"structuredContent":{"count":12}}"#,
                done(r#"{"count":12}"#),
            ),
            (r#"{"structuredContent":[1,2.50,99999999999999999999]}"#, done("[1,2.50,99999999999999999999]")),
            (r#"{"structuredContent":null}"#, done(NOTHING)),
            (r#"{"content":null}"#, done(NOTHING)),
            (r#"{"content":"text"}"#, done(NOTHING)),
            (r#"{"content":["bare"]}"#, done("bare")),
            ("{}", done(NOTHING)),
            ("null", done(NOTHING)),
            ("[1]", done("[1]")),
            (r#""x""#, done("\"x\"")),
        ] {
            assert_eq!(outcome(&parse(result).unwrap()), expected, "{result}");
        }
    }

    #[test]
    fn failures_of_every_shape() {
        let failed = |text: &str| ToolOutcome::Failed(text.into());
        for (result, expected) in [
            (
                r#"{"content":[{"type":"text","text":"no such table: ordrs"}],"isError":true}"#,
                failed("no such table: ordrs"),
            ),
            (r#"{"content":[],"isError":true}"#, failed(BARE_FAILURE)),
            (r#"{"isError":true}"#, failed(BARE_FAILURE)),
            (r#"{"isError":true,"structuredContent":{"code":7}}"#, failed(r#"{"code":7}"#)),
        ] {
            assert_eq!(outcome(&parse(result).unwrap()), expected, "{result}");
        }
    }

    #[test]
    fn blocks_of_every_kind() {
        for (result, expected) in [
            (
                r#"{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}"#,
                done("[image, image/png, 3 bytes, which cannot be shown]"),
            ),
            (
                r#"{"content":[{"type":"audio","data":"AAAAAAAA"}]}"#,
                done("[audio, unknown type, 6 bytes, which cannot be shown]"),
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"uri":"f:///a","text":"hello"}}]}"#,
                done("[resource f:///a]\nhello"),
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"uri":"f:///a","blob":"AAAA","mimeType":"a/b"}}]}"#,
                done("[resource, a/b, 3 bytes, which cannot be shown] f:///a"),
            ),
            (
                r#"{"content":[{"type":"resource_link","uri":"f:///a","name":"A","description":"d"}]}"#,
                done("[link: A <f:///a>: d]"),
            ),
            (
                r#"{"content":[{"type":"hologram","x":1}]}"#,
                done("[content of the kind \"hologram\", which cannot be shown]"),
            ),
            (
                r#"{"content":[{"type":"text"},{"type":"resource"},7]}"#,
                done("[resource, unknown type, 0 bytes, which cannot be shown] "),
            ),
        ] {
            assert_eq!(outcome(&parse(result).unwrap()), expected, "{result}");
        }
    }

    #[test]
    fn widgets_are_shown_and_the_model_is_told_of_them() {
        let resource = r#"{"type":"resource","resource":{"uri":"ui://1","mimeType":"application/vnd.mindset.widget+json","text":"{\"kind\":\"chart\",\"doc\":[1],\"summary\":\"One bar.\"}"}}"#;
        let text = r#"{"type":"text","text":"Drawn."}"#;
        for (rest, expected) in [
            (format!(r#"{{"content":[{text},{resource}]}}"#), "Drawn.\n\n[shown to the person] One bar."),
            (format!(r#"{{"content":[{resource}]}}"#), "[shown to the person] One bar."),
            (
                format!(r#"{{"content":[{resource}],"structuredContent":{{"n":1}}}}"#),
                "[shown to the person] One bar.\n\n{\"n\":1}",
            ),
        ] {
            let ToolOutcome::Done { content, widgets, .. } = outcome(&parse(&rest).unwrap()) else {
                panic!()
            };
            assert_eq!((content.as_str(), widgets.len()), (expected, 1));
            assert_eq!(widgets[0].kind, "chart");
        }
        let failed = format!(r#"{{"content":[{resource}],"isError":true}}"#);
        assert!(
            matches!(outcome(&parse(&failed).unwrap()), ToolOutcome::Failed(text) if text.contains("One bar."))
        );
    }

    #[test]
    fn what_waits_for_somebody_is_told() {
        let asks = parse(r#"{"resultType":"input_required","inputRequests":{"c":{"method":"elicitation/create","params":{"message":"Book 4A?"}}}}"#).unwrap();
        assert!(matches!(outcome(&asks), ToolOutcome::Failed(text) if text.contains("Book 4A?")));
        for task in [r#"{"resultType":"task","taskId":"1"}"#, r#"{"task":{"taskId":"1"}}"#] {
            assert!(matches!(outcome(&parse(task).unwrap()), ToolOutcome::Unknown(_)), "{task}");
        }
    }
}
