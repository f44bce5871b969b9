//! Stored messages to rows and back.

use mindset_core::event::{Citation, MessageStatus};
use mindset_core::json::{self, Value};
use mindset_core::object;
use mindset_core::turn::{StoredCall, StoredMessage, StoredRole};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::{StoreResult, unsigned, word};

/// The columns that [`message`] reads.
pub(super) const COLUMNS: &str =
    "id, run_id, role, content, silent, calls, call_id, status, provider_state, created_at, citations";

pub(super) fn message(row: &SqliteRow) -> StoreResult<StoredMessage> {
    let json_column = |name: &str| -> StoreResult<Option<Value>> {
        let text: Option<String> = row.try_get(name)?;
        text.map(|t| json::parse(&t).map_err(|e| sqlx::Error::Decode(e.to_string().into()))).transpose()
    };
    let status: Option<String> = row.try_get("status")?;
    Ok(StoredMessage {
        id: row.try_get("id")?,
        run_id: row.try_get("run_id")?,
        role: word(row.try_get("role")?, StoredRole::parse)?,
        content: row.try_get("content")?,
        silent: row.try_get("silent")?,
        calls: json_column("calls")?.map(|v| read_calls(&v)).unwrap_or_default(),
        call_id: row.try_get("call_id")?,
        status: status.map(|s| word(&s, MessageStatus::parse)).transpose()?,
        provider_state: json_column("provider_state")?.and_then(|v| v.as_object().cloned()),
        citations: json_column("citations")?.map(|v| read_citations(&v)).unwrap_or_default(),
        effect: None,
        usage: None,
        widget: None,
        created_at: unsigned(row.try_get("created_at")?),
    })
}

pub(super) fn calls(message: &StoredMessage) -> Option<String> {
    let calls = message
        .calls
        .iter()
        .map(|c| object! { "id": c.id.as_str(), "name": c.name.as_str(), "arguments": c.arguments.as_str() });
    let calls: Vec<_> = calls.collect();
    (!calls.is_empty()).then(|| Value::from(calls).to_string())
}

fn read_calls(value: &Value) -> Vec<StoredCall> {
    let text = |call: &Value, key| call.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    value
        .as_array()
        .unwrap_or_default()
        .iter()
        .map(|c| StoredCall { id: text(c, "id"), name: text(c, "name"), arguments: text(c, "arguments") })
        .collect()
}

pub(super) fn citations(message: &StoredMessage) -> Option<String> {
    let citations: Vec<_> = message.citations.iter().map(Citation::to_json).collect();
    (!citations.is_empty()).then(|| Value::from(citations).to_string())
}

fn read_citations(value: &Value) -> Vec<Citation> {
    value.as_array().unwrap_or_default().iter().filter_map(Citation::from_json).collect()
}
