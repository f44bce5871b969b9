//! From the stored conversation to what a model may be sent. Providers refuse a
//! call without its result and a result without its call, for ever after, so
//! whatever is stored leaves here in order.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::MessageStatus;
use crate::result;

use super::conversation::CANCELLED;
use super::files;
use super::names::legal_name;
use super::results::SILENT_FAILURE;
use super::{ModelCall, ModelMessage, StoredCall, StoredMessage, StoredRole, arguments};

/// Places of stored results by call, oldest first.
type Results<'a> = BTreeMap<&'a str, Vec<usize>>;

/// How much of the turns before this one a model gets. A provider that finds a request
/// too long is asked again with less, because one huge result must not end the
/// conversation for good. Of this turn nothing is left out: the model would answer what
/// it has not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Earlier {
    /// Everything.
    #[default]
    Whole,
    /// Results only in short.
    ShortResults,
    /// Texts only in short, too.
    Short,
    /// Nothing.
    None,
}

impl Earlier {
    /// The next shorter form.
    pub(super) fn less(self) -> Option<Earlier> {
        match self {
            Earlier::Whole => Some(Earlier::ShortResults),
            Earlier::ShortResults => Some(Earlier::Short),
            Earlier::Short => Some(Earlier::None),
            Earlier::None => None,
        }
    }

    /// Bytes of a result.
    fn result(self) -> usize {
        match self {
            Earlier::Whole => result::MAX_BYTES,
            Earlier::ShortResults => 4 * 1024,
            Earlier::Short | Earlier::None => 1024,
        }
    }

    /// Bytes of a text, and of the arguments of a call.
    fn text(self) -> usize {
        match self {
            Earlier::Whole | Earlier::ShortResults => usize::MAX,
            Earlier::Short | Earlier::None => 2 * 1024,
        }
    }
}

/// The messages for the model: each call has exactly one result directly after
/// the message that makes it, no result stands alone, and no two calls share an id.
pub(super) fn model_messages(stored: &[StoredMessage], earlier: Earlier) -> Vec<ModelMessage> {
    let turn = stored.iter().rposition(StoredMessage::begins_turn).unwrap_or(0);
    let mut results = Results::new();
    for (at, message) in stored.iter().enumerate() {
        if let (StoredRole::Tool, Some(call)) = (message.role, &message.call_id) {
            results.entry(call).or_default().push(at);
        }
    }
    let mut used = BTreeSet::new();
    let mut out = Vec::new();
    for (at, message) in stored.iter().enumerate() {
        let earlier = if at < turn { earlier } else { Earlier::Whole };
        match message.role {
            _ if earlier == Earlier::None => {}
            StoredRole::User if message.content.trim().is_empty() && message.files.is_empty() => {}
            StoredRole::User => {
                let text = result::cut(&message.content, earlier.text());
                out.push(ModelMessage::User(files::told(&text, &message.files)));
            }
            StoredRole::Assistant if message.widget.is_some() => {}
            StoredRole::Assistant => {
                let stored_calls: &[StoredCall] = if message.status.is_none() { &message.calls } else { &[] };
                if message.content.trim().is_empty() && stored_calls.is_empty() {
                    continue;
                }
                let calls: Vec<_> = stored_calls.iter().map(|c| call(c, &mut used, earlier)).collect();
                let ids: Vec<String> = calls.iter().map(|c| c.id.clone()).collect();
                out.push(assistant(message, calls, earlier));
                for (call, id) in stored_calls.iter().zip(ids) {
                    let result = take_result(&mut results, call, at).and_then(|i| stored.get(i));
                    out.push(tool(call, id, result, earlier));
                }
            }
            StoredRole::Tool => {}
        }
    }
    out
}

fn assistant(message: &StoredMessage, calls: Vec<ModelCall>, earlier: Earlier) -> ModelMessage {
    // Half an answer has half a state, which its provider would refuse.
    let whole = message.status.is_none();
    ModelMessage::Assistant {
        text: result::cut(&message.content, earlier.text()),
        calls,
        provider_state: message.provider_state.clone().filter(|_| whole),
    }
}

fn call(stored: &StoredCall, used: &mut BTreeSet<String>, earlier: Earlier) -> ModelCall {
    let arguments = arguments::for_history(&stored.arguments);
    ModelCall {
        id: unused(&stored.id, used),
        name: legal_name(&stored.name),
        // Half an object is none.
        arguments: if arguments.len() > earlier.text() { "{}" } else { arguments }.to_owned(),
    }
}

/// The id, or one like it if an earlier call has it already.
fn unused(id: &str, used: &mut BTreeSet<String>) -> String {
    let mut free = if id.is_empty() { "call".to_owned() } else { id.to_owned() };
    let mut n = 1_u64;
    while !used.insert(free.clone()) {
        n += 1;
        free = format!("{id}-{n}");
    }
    free
}

/// The first result of `call` after its message, each result once.
fn take_result(results: &mut Results<'_>, call: &StoredCall, after: usize) -> Option<usize> {
    let places = results.get_mut(call.id.as_str())?;
    let first = places.iter().position(|&at| at > after)?;
    Some(places.remove(first))
}

fn tool(
    call: &StoredCall,
    call_id: String,
    result: Option<&StoredMessage>,
    earlier: Earlier,
) -> ModelMessage {
    let failed = result.is_none_or(|m| m.status == Some(MessageStatus::Error));
    let content = match result {
        None => CANCELLED.to_owned(),
        Some(m) if failed && m.content.trim().is_empty() => SILENT_FAILURE.to_owned(),
        Some(m) => result::cut(&m.content, earlier.result()),
    };
    ModelMessage::Tool { call_id, name: legal_name(&call.name), content, failed }
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
                ask: None,
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
        model_messages(stored, Earlier::Whole).into_iter().map(line).collect()
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
        let states = model_messages(&stored, Earlier::Whole);
        assert!(states.iter().all(|m| !matches!(m, ModelMessage::Assistant { provider_state: Some(_), .. })));
    }

    #[test]
    fn huge_result_is_cut_between_characters() {
        let text = format!("x{}", "é".repeat(700_000));
        let stored = [asks("", &[("c1", "{}")]), result("c1", &text)];
        let messages = model_messages(&stored, Earlier::Whole);
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

    #[test]
    fn no_two_calls_share_an_id() {
        let stored = [
            message(StoredRole::User, "hi"),
            asks("", &[("c", "{}"), ("c", "{}"), ("", "{}")]),
            result("c", "one"),
            result("c", "two"),
            asks("", &[("c", "{}"), ("c-2", "{}")]),
            result("c", "three"),
        ];
        let sketch = sketch(&stored);
        assert_eq!(
            sketch[1..5],
            ["a:[c {},c-2 {},call {}]", "t:c=one", "t:c-2=two", "t:call=cancelled by the user!"]
        );
        assert_eq!(sketch[5..], ["a:[c-3 {},c-2-2 {}]", "t:c-3=three", "t:c-2-2=cancelled by the user!"]);
    }

    #[test]
    fn earlier_turns_in_short() {
        let long = "é".repeat(50_000);
        let arguments = format!("{{\"q\":\"{long}\"}}");
        let mut stored = vec![
            message(StoredRole::User, &long),
            asks(&long, &[("c1", &arguments)]),
            result("c1", &long),
            message(StoredRole::User, "just the first line"),
            asks("", &[("c2", &arguments)]),
            result("c2", &long),
        ];
        let size = |stored: &[StoredMessage], earlier| {
            let size = |m: &ModelMessage| match m {
                ModelMessage::User(text) => text.len(),
                ModelMessage::Assistant { text, calls, .. } => {
                    text.len() + calls.iter().map(|c| c.arguments.len()).sum::<usize>()
                }
                ModelMessage::Tool { content, .. } => content.len(),
            };
            model_messages(stored, earlier).iter().map(size).sum::<usize>()
        };
        let mut earlier = Some(Earlier::Whole);
        let mut last = usize::MAX;
        while let Some(now) = earlier {
            let messages = model_messages(&stored, now);
            assert!(messages.iter().any(|m| *m == ModelMessage::User("just the first line".into())));
            let kept = messages
                .iter()
                .filter(|m| matches!(m, ModelMessage::Tool { content, .. } if *content == long));
            assert!(kept.count() >= 1, "this turn is whole");
            assert!(size(&stored, now) < last, "{now:?}");
            last = size(&stored, now);
            earlier = now.less();
        }
        stored.truncate(4);
        assert_eq!(size(&stored, Earlier::None), "just the first line".len());
        assert!(size(&stored, Earlier::Short) < 8_000);
    }
}
