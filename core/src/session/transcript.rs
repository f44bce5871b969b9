//! The conversation as this page knows it: the transcript people see, and for a
//! server that stores nothing the whole history it must be sent.

use super::board::ToolLine;
use super::call::{Answer, Call};
use super::step::Step;
use super::stream::message;
use crate::Millis;
use crate::event::{Author, ChatMessage, MessageStatus};
use crate::json::{Object, Value};
use crate::time::iso_8601;

/// One conversation.
#[derive(Default)]
pub(super) struct Transcript {
    /// Its id, made with the first turn.
    pub(super) thread_id: Option<String>,
    /// Whether its id was told: after its first completed turn.
    pub(super) announced: bool,
    /// The conversation it takes the place of, and why, until that is told.
    pub(super) replaces: Option<(String, &'static str)>,
    /// Where messages begin that are older than those shown, if there are any.
    pub(super) before: Option<String>,
    /// Whether what was said before this page load could not be read.
    pub(super) unread: bool,
    /// Whether the page load after this one knows of it.
    pub(super) stored: bool,
    /// What people see, oldest first.
    pub(super) rows: Vec<ChatMessage>,
    /// What the panel says of tool calls, between the rows.
    pub(super) lines: Vec<ToolLine>,
    /// What the agent suggests to say next.
    pub(super) suggestions: Vec<String>,
    /// Calls that the page has answered. None is ever run again.
    answered: Vec<Answered>,
    /// What a server without a store is sent, oldest first.
    pub(super) history: Vec<Value>,
    /// The last turn, if it can be sent again.
    pub(super) failed: Option<Failed>,
    /// The turn that rests until its questionnaires are answered.
    pub(super) paused: Option<Box<Step>>,
    /// Whether calls of the history wait for people.
    waits: bool,
    /// The run of a turn that ended here, while the server may still work on it.
    pub(super) given_up: Option<String>,
}

/// Of so many calls the answers are kept whole; of all others that there was one.
const REMEMBERED: usize = 32;

const FORGOTTEN: &str = "The call was run and answered before; it was not run again.";

/// A call that the page has answered.
struct Answered {
    id: String,
    name: String,
    arguments: String,
    answer: Answer,
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
    /// What the person attached: `[{ id, name, type, size }]`.
    pub(super) files: Option<Value>,
}

impl Transcript {
    pub(super) fn add(&mut self, id: &str, role: Author, text: &str, now: Millis) {
        self.rows.push(ChatMessage {
            id: id.to_owned(),
            role,
            content: text.to_owned(),
            created_at: Some(iso_8601(now)),
            status: None,
            citations: Vec::new(),
            widget: None,
            files: None,
            feedback: None,
        });
    }

    /// Puts older rows before all others.
    pub(super) fn put_before(&mut self, mut rows: Vec<ChatMessage>) {
        let count = rows.len();
        for line in &mut self.lines {
            line.behind += count;
        }
        if let Some(failed) = &mut self.failed {
            failed.from += count;
        }
        rows.append(&mut self.rows);
        self.rows = rows;
    }

    /// Keeps what a call was answered with, once.
    pub(super) fn keep_answer(&mut self, call: &Call, answer: &Answer) {
        if self.answered.iter().all(|known| known.id != call.id) {
            let (id, name, arguments) = (call.id.clone(), call.name.clone(), call.arguments.clone());
            self.answered.push(Answered { id, name, arguments, answer: answer.clone() });
        }
        let old = self.answered.len().checked_sub(REMEMBERED + 1);
        if let Some(old) = old.and_then(|at| self.answered.get_mut(at)) {
            old.answer = Answer::failed(FORGOTTEN.to_owned());
        }
    }

    /// Whether the page has answered the call `id`.
    pub(super) fn is_answered(&self, id: &str) -> bool {
        self.answered.iter().any(|known| known.id == id)
    }

    /// The answer to a call whose id was answered before.
    pub(super) fn answer_before(&self, call: &Call) -> Option<Answer> {
        let known = self.answered.iter().find(|known| known.id == call.id)?;
        let same = known.name == call.name && known.arguments == call.arguments;
        Some(if same {
            known.answer.clone()
        } else {
            let why = "The call was not run: its id was used by an earlier call. Make the call again.";
            Answer::failed(why.to_owned())
        })
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

    /// Takes the row at `at` out.
    pub(super) fn remove(&mut self, at: usize) {
        self.rows.remove(at);
        for line in &mut self.lines {
            line.behind -= usize::from(line.behind > at);
        }
    }

    /// Takes the answer rows of a failed turn out and gives their ids.
    pub(super) fn remove_answers(&mut self, from: usize) -> Vec<String> {
        let mut removed = Vec::new();
        for (at, row) in std::mem::take(&mut self.rows).into_iter().enumerate() {
            if at >= from && row.role == Author::Assistant {
                for line in &mut self.lines {
                    line.behind -= usize::from(line.behind > self.rows.len());
                }
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
        if std::mem::take(&mut self.waits) {
            let all = std::mem::take(&mut self.history);
            self.remember_run(all, Vec::new(), &[]);
        }
        if let Some(at) = self.history.iter().rposition(|m| m.str("id") == Some(&user.id)) {
            self.history.truncate(at);
        }
        self.history.push(message(&user.id, "user", &user.text));
    }

    /// Puts what was said in a run, and the page's answers to its calls, into the
    /// history. A call without a result would make the server refuse every later
    /// message, so it is left out, and what is empty then as well. The calls `open` wait for
    /// people and stay until the next message.
    pub(super) fn remember_run(&mut self, said: Vec<Value>, answers: Vec<Value>, open: &[&str]) {
        let mut all = said;
        all.extend(answers);
        let mut answered = Object::new();
        for id in open {
            self.waits = true;
            answered.insert(id, true);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_call_without_a_result_is_not_remembered() {
        let said = crate::json::parse(
            r#"[{"id":"a","role":"assistant","content":"","toolCalls":[{"id":"c1"},{"id":"c2"}]},
                {"id":"t","role":"tool","content":"ok","toolCallId":"c2"}]"#,
        );
        let Ok(Value::Array(said)) = said else { unreachable!() };
        let mut transcript = Transcript::default();
        transcript.remember_run(said, Vec::new(), &[]);
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
