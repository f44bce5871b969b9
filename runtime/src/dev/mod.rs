//! With `--dev`: what models and tools were told of late, in memory only, for the
//! person whose conversation it is. What did not come from the model is there as
//! name, length and hash.

mod entry;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use mindset_core::json::{Object, Value};

pub(crate) use entry::{masked, model_entry, tool_entry};

/// Entries of one conversation.
const ENTRIES: usize = 50;

/// Bytes of all entries of all conversations together.
const BYTES: usize = 32 * 1024 * 1024;

/// Bytes of one entry; of a larger one only its size is kept.
const ENTRY: usize = 4 * 1024 * 1024;

/// The entries, by conversation.
#[derive(Default)]
pub(crate) struct Recorder(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    conversations: BTreeMap<i64, VecDeque<String>>,
    /// The conversation of every entry, oldest first.
    order: VecDeque<i64>,
    bytes: usize,
}

/// Nothing of what it holds.
impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    /// Keeps an entry of a conversation; the oldest ones make room.
    pub(crate) fn add(&self, conversation: i64, mut entry: Object) {
        let mut text = entry.to_string();
        if text.len() > ENTRY {
            for heavy in ["messages", "tools", "system", "arguments"] {
                entry.remove(heavy);
            }
            entry.insert("tooLarge", text.len() as u64);
            text = entry.to_string();
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += text.len();
        kept.order.push_back(conversation);
        let own = kept.conversations.entry(conversation).or_default();
        own.push_back(text);
        if own.len() > ENTRIES {
            kept.drop_oldest_of(conversation);
        }
        while kept.bytes > BYTES {
            let Some(oldest) = kept.order.front().copied() else { break };
            kept.drop_oldest_of(oldest);
        }
    }

    /// The entries of a conversation, oldest first.
    pub(crate) fn entries(&self, conversation: i64) -> Vec<Value> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = kept.conversations.get(&conversation).into_iter().flatten();
        own.filter_map(|text| mindset_core::json::parse(text).ok()).collect()
    }

    /// Drops the entries of a conversation.
    pub(crate) fn forget(&self, conversation: i64) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.order.retain(|owner| *owner != conversation);
        let own = kept.conversations.remove(&conversation).unwrap_or_default();
        kept.bytes -= own.iter().map(String::len).sum::<usize>();
    }
}

impl Kept {
    fn drop_oldest_of(&mut self, conversation: i64) {
        if let Some(at) = self.order.iter().position(|&owner| owner == conversation) {
            self.order.remove(at);
        }
        let Some(own) = self.conversations.get_mut(&conversation) else { return };
        self.bytes -= own.pop_front().map_or(0, |text| text.len());
        if own.is_empty() {
            self.conversations.remove(&conversation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindset_core::object;

    #[test]
    fn it_is_a_ring_and_bounded() {
        let recorder = Recorder::default();
        for n in 0..60_u64 {
            recorder.add(1, object! { "n": n });
        }
        let entries = recorder.entries(1);
        assert_eq!(entries.len(), ENTRIES);
        assert_eq!(entries[0].get("n").and_then(Value::as_u64), Some(10));
        recorder.add(2, object! { "kind": "model", "system": "x".repeat(ENTRY) });
        let large = recorder.entries(2);
        assert!(large[0].get("tooLarge").is_some() && large[0].get("system").is_none());
        recorder.forget(2);
        assert!(recorder.entries(2).is_empty());
        for n in 3..20 {
            recorder.add(n, object! { "text": "y".repeat(3 * 1024 * 1024) });
        }
        assert!(recorder.entries(1).is_empty() && recorder.entries(19).len() == 1);
        let kept = recorder.0.lock().unwrap();
        assert!(kept.bytes <= BYTES);
        assert_eq!(kept.order.len(), kept.conversations.values().map(VecDeque::len).sum::<usize>());
    }
}
