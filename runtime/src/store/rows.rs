//! Stored messages to rows and back.

use mindset_core::event::{Citation, MessageStatus, ToolSource, Widget};
use mindset_core::json::{self, Value};
use mindset_core::object;
use mindset_core::turn::{Ask, Effect, ModelUsage, StoredCall, StoredFile, StoredMessage, StoredRole};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::{StoreResult, unsigned, word};

/// The columns that [`message`] reads.
pub(super) const COLUMNS: &str =
    "id, run_id, role, content, silent, calls, call_id, status, provider_state, created_at, citations,
     effect, usage, widget, files, steered";

pub(super) fn message(row: &SqliteRow) -> StoreResult<StoredMessage> {
    let json_column = |name: &str| -> StoreResult<Option<Value>> {
        let text: Option<String> = row.try_get(name)?;
        let parsed = text.map(|text| json::parse(&text));
        // One broken column must not make the conversation unreadable.
        Ok(parsed.and_then(|parsed| {
            parsed
                .inspect_err(|error| tracing::warn!(column = name, %error, "a stored value is no JSON"))
                .ok()
        }))
    };
    let status: Option<String> = row.try_get("status")?;
    Ok(StoredMessage {
        id: row.try_get("id")?,
        run_id: row.try_get("run_id")?,
        role: word(row.try_get("role")?, StoredRole::parse)?,
        content: row.try_get("content")?,
        silent: row.try_get("silent")?,
        steered: row.try_get("steered")?,
        calls: json_column("calls")?.map(|v| read_calls(&v)).unwrap_or_default(),
        call_id: row.try_get("call_id")?,
        status: status.map(|s| word(&s, MessageStatus::parse)).transpose()?,
        provider_state: json_column("provider_state")?.and_then(|v| v.as_object().cloned()),
        citations: json_column("citations")?.map(|v| read_citations(&v)).unwrap_or_default(),
        effect: json_column("effect")?.and_then(|v| read_effect(&v)),
        usage: json_column("usage")?.map(|v| read_usage(&v)),
        widget: json_column("widget")?.and_then(|v| Widget::from_json(&v)),
        files: json_column("files")?.map(|v| StoredFile::read_list(&v)).unwrap_or_default(),
        created_at: unsigned(row.try_get("created_at")?),
    })
}

pub(super) fn calls(calls: &[StoredCall]) -> Option<String> {
    let call = |c: &StoredCall| {
        let mut call =
            object! { "id": c.id.as_str(), "name": c.name.as_str(), "arguments": c.arguments.as_str() };
        call.insert_some("ask", c.ask.as_ref().map(|ask| ask.to_json()));
        call
    };
    let calls: Vec<_> = calls.iter().map(call).collect();
    (!calls.is_empty()).then(|| Value::from(calls).to_string())
}

fn read_calls(value: &Value) -> Vec<StoredCall> {
    let text = |call: &Value, key| call.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    value
        .as_array()
        .unwrap_or_default()
        .iter()
        .map(|c| StoredCall {
            id: text(c, "id"),
            name: text(c, "name"),
            arguments: text(c, "arguments"),
            ask: c.get("ask").and_then(Ask::from_json).map(Box::new),
        })
        .collect()
}

pub(super) fn citations(message: &StoredMessage) -> Option<String> {
    let citations: Vec<_> = message.citations.iter().map(Citation::to_json).collect();
    (!citations.is_empty()).then(|| Value::from(citations).to_string())
}

fn read_citations(value: &Value) -> Vec<Citation> {
    value.as_array().unwrap_or_default().iter().filter_map(Citation::from_json).collect()
}

pub(super) fn effect(message: &StoredMessage) -> Option<String> {
    let effect = message.effect.as_ref()?;
    let columns = object! {
        "toolName": &effect.tool_name, "source": effect.source.as_str(), "unknown": effect.unknown,
    };
    Some(Value::from(columns).to_string())
}

fn read_effect(value: &Value) -> Option<Effect> {
    Some(Effect {
        tool_name: value.str("toolName")?.to_owned(),
        source: ToolSource::parse(value.str("source")?)?,
        unknown: value.get("unknown").and_then(Value::as_bool).unwrap_or(true),
    })
}

pub(super) fn usage(message: &StoredMessage) -> Option<String> {
    let usage = message.usage?;
    Some(Value::from(object! { "input": usage.input, "output": usage.output }).to_string())
}

fn read_usage(value: &Value) -> ModelUsage {
    let number = |key| value.get(key).and_then(Value::as_u64).unwrap_or(0);
    ModelUsage { input: number("input"), output: number("output") }
}

pub(super) fn files(message: &StoredMessage) -> Option<String> {
    StoredFile::list(&message.files).map(|list| list.to_string())
}

pub(super) fn widget(message: &StoredMessage) -> Option<String> {
    message.widget.as_ref().map(|widget| Value::from(widget.to_json()).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_column_holds_is_read_back() {
        let mut message = StoredMessage::new("m", "r", StoredRole::Tool, "done", 1);
        assert_eq!((effect(&message), usage(&message), widget(&message)), (None, None, None));
        let wanted = [("book_room", ToolSource::Mcp, true), ("paint \"it\"", ToolSource::Page, false)];
        for (name, source, unknown) in wanted {
            message.effect = Some(Effect { tool_name: name.to_owned(), source, unknown });
            let column = json::parse(&effect(&message).unwrap()).unwrap();
            assert_eq!(read_effect(&column), message.effect);
        }
        message.usage = Some(ModelUsage { input: 12, output: u64::MAX });
        assert_eq!(Some(read_usage(&json::parse(&usage(&message).unwrap()).unwrap())), message.usage);
        let doc = json::parse(r#"{"rows":[1.50,"x"]}"#).unwrap();
        message.widget = Some(Widget::new("table", doc, "Two rows"));
        let column = json::parse(&widget(&message).unwrap()).unwrap();
        assert_eq!(Widget::from_json(&column), message.widget);
    }
}
