//! From the stored conversation to what a model may be sent. Providers refuse a
//! call without its result and a result without its call, for ever after, so
//! whatever is stored leaves here in order.

use std::collections::BTreeMap;

use crate::event::MessageStatus;
use crate::result;

use super::conversation::CANCELLED;
use super::names::legal_name;
use super::results::SILENT_FAILURE;
use super::{ModelCall, ModelMessage, StoredCall, StoredMessage, StoredRole, arguments};

/// Places of stored results by call, oldest first.
type Results<'a> = BTreeMap<&'a str, Vec<usize>>;

/// The messages for the model: each call has exactly one result directly after
/// the message that makes it, and no result stands alone.
pub(super) fn model_messages(stored: &[StoredMessage]) -> Vec<ModelMessage> {
    let mut results = Results::new();
    for (at, message) in stored.iter().enumerate() {
        if let (StoredRole::Tool, Some(call)) = (message.role, &message.call_id) {
            results.entry(call).or_default().push(at);
        }
    }
    let mut out = Vec::new();
    for (at, message) in stored.iter().enumerate() {
        match message.role {
            StoredRole::User if message.content.trim().is_empty() => {}
            StoredRole::User => out.push(ModelMessage::User(message.content.clone())),
            StoredRole::Assistant if message.widget.is_some() => {}
            StoredRole::Assistant => {
                let calls: &[StoredCall] = if message.status.is_none() { &message.calls } else { &[] };
                if message.content.trim().is_empty() && calls.is_empty() {
                    continue;
                }
                out.push(assistant(message, calls));
                for call in calls {
                    let result = take_result(&mut results, call, at).and_then(|i| stored.get(i));
                    out.push(tool(call, result));
                }
            }
            StoredRole::Tool => {}
        }
    }
    out
}

fn assistant(message: &StoredMessage, calls: &[StoredCall]) -> ModelMessage {
    // Half an answer has half a state, which its provider would refuse.
    let whole = message.status.is_none();
    ModelMessage::Assistant {
        text: message.content.clone(),
        calls: calls.iter().map(call).collect(),
        provider_state: message.provider_state.clone().filter(|_| whole),
    }
}

fn call(stored: &StoredCall) -> ModelCall {
    ModelCall {
        id: stored.id.clone(),
        name: legal_name(&stored.name),
        arguments: arguments::for_history(&stored.arguments).to_owned(),
    }
}

/// The first result of `call` after its message, each result once.
fn take_result(results: &mut Results<'_>, call: &StoredCall, after: usize) -> Option<usize> {
    let places = results.get_mut(call.id.as_str())?;
    let first = places.iter().position(|&at| at > after)?;
    Some(places.remove(first))
}

fn tool(call: &StoredCall, result: Option<&StoredMessage>) -> ModelMessage {
    let failed = result.is_none_or(|m| m.status == Some(MessageStatus::Error));
    let content = match result {
        None => CANCELLED.to_owned(),
        Some(m) if failed && m.content.trim().is_empty() => SILENT_FAILURE.to_owned(),
        Some(m) => result::cut(&m.content, result::MAX_BYTES),
    };
    ModelMessage::Tool { call_id: call.id.clone(), name: legal_name(&call.name), content, failed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn message(role: StoredRole, text: &str) -> StoredMessage {
        StoredMessage::new("m", "r", role, text, 0)
    }

    fn asks(text: &str, calls: &[(&str, &str)]) -> StoredMessage {
        let mut m = message(StoredRole::Assistant, text);
        m.calls = calls
            .iter()
            .map(|(id, arguments)| StoredCall {
                id: (*id).into(),
                name: "t".into(),
                arguments: (*arguments).into(),
            })
            .collect();
        m
    }

    fn result(call: &str, text: &str) -> StoredMessage {
        let mut m = message(StoredRole::Tool, text);
        m.call_id = Some(call.into());
        m
    }

    /// `u:text`, `a:text[id arguments]`, `t:id=text` with `!` after a failure.
    fn sketch(stored: &[StoredMessage]) -> Vec<String> {
        let line = |m: ModelMessage| match m {
            ModelMessage::User(text) => format!("u:{text}"),
            ModelMessage::Assistant { text, calls, .. } => {
                let calls: Vec<_> = calls.iter().map(|c| format!("{} {}", c.id, c.arguments)).collect();
                format!("a:{text}[{}]", calls.join(","))
            }
            ModelMessage::Tool { call_id, content, failed, .. } => {
                format!("t:{call_id}={content}{}", if failed { "!" } else { "" })
            }
        };
        model_messages(stored).into_iter().map(line).collect()
    }

    #[test]
    fn broken_conversation_is_repaired() {
        let stored = [
            message(StoredRole::User, "export both"),
            asks("", &[("c1", r#"{"t":"a"}"#), ("c2", "{\"t\":"), ("c3", "")]),
            result("c1", "done"),
            message(StoredRole::User, "never mind"),
            result("c9", "stray"),
            result("c3", "late"),
            result("c1", "twice"),
        ];
        assert_eq!(
            sketch(&stored),
            [
                "u:export both",
                r#"a:[c1 {"t":"a"},c2 {},c3 {}]"#,
                "t:c1=done",
                "t:c2=cancelled by the user!",
                "t:c3=late",
                "u:never mind"
            ]
        );
    }

    #[test]
    fn half_answers_are_text_and_empty_ones_are_nothing() {
        let mut half = asks("so far", &[("c1", "{}")]);
        half.status = Some(MessageStatus::Interrupted);
        half.provider_state = Some(object! { "signature": "x" });
        let mut nothing = half.clone();
        nothing.content = " ".into();
        let blank = message(StoredRole::User, "\n");
        let stored = [message(StoredRole::User, "hi"), blank, half, result("c1", "x"), nothing];
        assert_eq!(sketch(&stored), ["u:hi", "a:so far[]"]);
        let states = model_messages(&stored);
        assert!(states.iter().all(|m| !matches!(m, ModelMessage::Assistant { provider_state: Some(_), .. })));
    }

    #[test]
    fn huge_result_is_cut_between_characters() {
        let text = format!("x{}", "é".repeat(700_000));
        let stored = [asks("", &[("c1", "{}")]), result("c1", &text)];
        let messages = model_messages(&stored);
        let Some(ModelMessage::Tool { content, .. }) = messages.get(1) else { panic!("no result") };
        assert!(content.contains("the first 262015 of 1400001 bytes"), "{}", &content[262_000..]);
        assert!(content.len() <= result::MAX_BYTES);
    }

    #[test]
    fn failure_without_words_still_says_so() {
        let mut failed = result("c1", "");
        failed.status = Some(MessageStatus::Error);
        assert_eq!(
            sketch(&[asks("", &[("c1", "{}")]), failed])[1],
            "t:c1=The tool failed and did not say why.!"
        );
    }
}
