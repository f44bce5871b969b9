//! The conversation as this page knows it: the transcript people see, and for a
//! server that stores nothing the whole history it must be sent.

use super::stream::message;
use crate::Millis;
use crate::event::{Author, ChatMessage, MessageStatus};
use crate::json::{self, Object, Value};

/// One conversation.
#[derive(Default)]
pub(super) struct Transcript {
    /// Its id, made with the first turn.
    pub(super) thread_id: Option<String>,
    /// Whether its id was told: after its first completed turn.
    pub(super) announced: bool,
    /// What people see, oldest first.
    pub(super) rows: Vec<ChatMessage>,
    /// What a server without a store is sent, oldest first.
    pub(super) history: Vec<Value>,
    /// The last turn, if it can be sent again.
    pub(super) failed: Option<Failed>,
    /// The run of a turn that ended here, while the server may still work on it.
    pub(super) given_up: Option<String>,
}

/// A turn that failed or was stopped.
pub(super) struct Failed {
    pub(super) message: UserMessage,
    /// Where its rows begin.
    pub(super) from: usize,
}

/// What a turn answers.
#[derive(Clone)]
pub(super) struct UserMessage {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) silent: bool,
}

impl Transcript {
    pub(super) fn add(&mut self, id: &str, role: Author, text: &str, now: Millis) {
        self.rows.push(ChatMessage {
            id: id.to_owned(),
            role,
            content: text.to_owned(),
            created_at: Some(iso_8601(now)),
            status: None,
        });
    }

    /// The row `id`; the newest ones are looked at first.
    pub(super) fn row(&mut self, id: &str) -> Option<&mut ChatMessage> {
        self.rows.iter_mut().rfind(|row| row.id == id)
    }

    /// Marks how the message `id` ended.
    pub(super) fn set_status(&mut self, id: &str, status: MessageStatus) {
        if let Some(row) = self.row(id) {
            row.status = Some(status);
        }
    }

    /// The last thing the agent said in rows from `from` on.
    pub(super) fn last_answer(&self, from: usize) -> Option<&ChatMessage> {
        self.rows.get(from..)?.iter().rfind(|row| row.role == Author::Assistant)
    }

    /// Takes the answer rows of a failed turn out and gives their ids.
    pub(super) fn remove_answers(&mut self, from: usize) -> Vec<String> {
        let mut removed = Vec::new();
        for (at, row) in std::mem::take(&mut self.rows).into_iter().enumerate() {
            if at >= from && row.role == Author::Assistant {
                removed.push(row.id);
            } else {
                self.rows.push(row);
            }
        }
        removed
    }

    /// Puts the user message of a turn into the history, in the place of an earlier
    /// attempt and all that followed it.
    pub(super) fn remember_user(&mut self, user: &UserMessage) {
        if let Some(at) = self.history.iter().rposition(|m| m.str("id") == Some(&user.id)) {
            self.history.truncate(at);
        }
        self.history.push(message(&user.id, "user", &user.text));
    }

    /// Puts what was said in a run, and the page's answers to its calls, into the
    /// history. A call without a result would make the server refuse every later
    /// message, so it is left out, and what is empty then as well.
    pub(super) fn remember_run(&mut self, said: Vec<Value>, answers: Vec<Value>) {
        let mut all = said;
        all.extend(answers);
        let mut answered = Object::new();
        for id in all.iter().filter_map(|message| message.str("toolCallId")) {
            answered.insert(id, true);
        }
        for mut message in all {
            let Value::Object(object) = &mut message else { continue };
            if let Some(Value::Array(calls)) = object.remove("toolCalls") {
                let mut kept = Vec::new();
                for call in calls {
                    if call.str("id").is_some_and(|id| answered.get(id).is_some()) {
                        kept.push(call);
                    }
                }
                if !kept.is_empty() {
                    object.insert("toolCalls", Value::Array(kept));
                }
            }
            if object.str("role") == Some("assistant") && object.str("content") == Some("") {
                object.remove("content");
            }
            if object.get("toolCalls").is_some() || object.get("content").is_some() {
                self.history.push(message);
            }
        }
    }
}

/// A moment as `2026-11-30T04:06:08.000Z`.
pub(super) fn iso_8601(at: Millis) -> String {
    let (days, in_day) = (at / 86_400_000, at % 86_400_000);
    let (year, month, day) = civil(days);
    let mut out = String::with_capacity(24);
    digits(&mut out, year, 4);
    for (mark, value, width) in [
        ('-', month, 2),
        ('-', day, 2),
        ('T', in_day / 3_600_000, 2),
        (':', in_day / 60_000 % 60, 2),
        (':', in_day / 1_000 % 60, 2),
        ('.', in_day % 1_000, 3),
    ] {
        out.push(mark);
        digits(&mut out, value, width);
    }
    out.push('Z');
    out
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian
/// calendar. Years begin in March here, so that the leap day is the last one.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

fn digits(out: &mut String, value: u64, width: usize) {
    let text = json::digits(value);
    for _ in text.len()..width {
        out.push('0');
    }
    out.push_str(&text);
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn moments() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (1_796_011_568_000, "2026-11-30T04:06:08.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso_8601(at), text);
        }
        assert!(iso_8601(Millis::MAX).ends_with('Z'));
    }

    #[test]
    fn a_call_without_a_result_is_not_remembered() {
        let said = crate::json::parse(
            r#"[{"id":"a","role":"assistant","content":"","toolCalls":[{"id":"c1"},{"id":"c2"}]},
                {"id":"t","role":"tool","content":"ok","toolCallId":"c2"}]"#,
        );
        let Ok(Value::Array(said)) = said else { unreachable!() };
        let mut transcript = Transcript::default();
        transcript.remember_run(said, Vec::new());
        let history: Vec<_> = transcript.history.iter().map(Value::text).collect();
        assert_eq!(
            history,
            [
                r#"{"id":"a","role":"assistant","toolCalls":[{"id":"c2"}]}"#,
                r#"{"id":"t","role":"tool","content":"ok","toolCallId":"c2"}"#
            ]
        );
    }
}
