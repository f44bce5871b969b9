//! What a tool wants shown: an embedded resource with a media type of its own.

use mindset_core::event::Widget;
use mindset_core::json::{Value, parse};
use mindset_core::widget::SHOWN;

/// The media type of the resource, whose text is `{ kind, doc, summary }` as JSON.
const MIME_TYPE: &str = "application/vnd.mindset.widget+json";

/// Bytes of the text. It is stored, and travels in one event.
const MAX_BYTES: usize = 256 * 1024;

/// Characters of the kind.
const MAX_KIND: usize = 100;

/// The widget in a content block. One that cannot be read is none: the model gets its
/// text then.
pub(super) fn widget(block: &Value) -> Option<Widget> {
    let resource = block.get("resource").filter(|_| block.str("type") == Some("resource"))?;
    let mime_type = resource.str("mimeType")?.split(';').next().unwrap_or("").trim();
    let text = resource.str("text").filter(|text| text.len() <= MAX_BYTES)?;
    if !mime_type.eq_ignore_ascii_case(MIME_TYPE) {
        return None;
    }
    // Only people answer.
    let widget = Widget { answer: None, ..Widget::from_json(&parse(text).ok()?)? };
    let known = !widget.kind.is_empty() && widget.kind.chars().count() <= MAX_KIND;
    (known && !widget.summary.trim().is_empty()).then_some(widget)
}

/// What the model is told of it.
pub(super) fn told(widget: &Widget) -> String {
    format!("{SHOWN}{}", widget.summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindset_core::object;

    fn block(mime_type: &str, text: &str) -> Value {
        let resource = object! { "uri": "ui://chart/1", "mimeType": mime_type, "text": text };
        object! { "type": "resource", "resource": resource }.into()
    }

    #[test]
    fn what_can_be_read_is_shown() {
        let text = r#"{"kind":"chart","doc":{"bars":[1,2.50]},"summary":"Two bars.","more":1}"#;
        for mime_type in [MIME_TYPE, "Application/VND.mindset.widget+json; charset=utf-8"] {
            let widget = widget(&block(mime_type, text)).unwrap();
            assert_eq!((widget.kind.as_str(), widget.summary.as_str()), ("chart", "Two bars."));
            assert_eq!(widget.doc.text(), r#"{"bars":[1,2.50]}"#);
            assert_eq!(told(&widget), "[shown to the person] Two bars.");
        }
    }

    #[test]
    fn what_cannot_be_read_is_text() {
        let long = format!(r#"{{"kind":"k","summary":"{}"}}"#, "x".repeat(MAX_BYTES));
        for text in [
            "",
            "not JSON",
            "[]",
            r#"{"kind":"chart","doc":{}}"#,
            r#"{"kind":"chart","summary":" "}"#,
            r#"{"kind":"","summary":"s"}"#,
            r#"{"summary":"s"}"#,
            long.as_str(),
        ] {
            assert_eq!(widget(&block(MIME_TYPE, text)), None, "{text:.80}");
        }
        let good = r#"{"kind":"chart","doc":{},"summary":"s"}"#;
        assert_eq!(widget(&block("application/json", good)), None);
        let link: Value = object! { "type": "resource_link", "mimeType": MIME_TYPE, "text": good }.into();
        assert_eq!(widget(&link), None);
    }
}
