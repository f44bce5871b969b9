//! The one runtime-event vocabulary: what a turn tells its reader, whether that
//! is a DOM listener, `on()` of the UI-less client, or an observer.

use crate::json::{Object, Value};
pub use crate::widget::Widget;

/// One thing that happened in a turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RuntimeEvent {
    /// The first event of a turn.
    RunStarted {
        /// The run.
        run_id: String,
        /// The conversation.
        conversation_id: String,
        /// The model, if the server names it.
        model: Option<String>,
        /// Set when the answers do not come from an AI; show it.
        disclosure: Option<String>,
    },
    /// The turn waits on the server for its beginning, or has moved on in its line.
    RunQueued {
        /// The run that waits; another one may be under way.
        run_id: String,
        /// Its place, from 1.
        position: u64,
    },
    /// A piece of the answer.
    TextDelta {
        /// The message it belongs to.
        message_id: String,
        /// The piece, never empty.
        content: String,
    },
    /// A piece of the model's thinking. Display only: never in answer, transcript,
    /// history or export.
    ThinkingDelta {
        /// The piece.
        content: String,
    },
    /// A tool call is coming. A hint that may stay away.
    ToolAnnounce {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// What it does while it runs, for people.
        description: Option<String>,
    },
    /// A tool really runs.
    ToolStart {
        /// The call.
        tool_call_id: String,
        /// The tool, by its own name.
        tool_name: String,
        /// Who runs it.
        source: ToolSource,
        /// The MCP server.
        server: Option<String>,
        /// What it does, for people.
        description: Option<String>,
    },
    /// A call has ended. The result itself is for the model only.
    ToolEnd {
        /// The call.
        tool_call_id: String,
        /// The tool, by its own name.
        tool_name: String,
        /// Whether it did what it should.
        ok: bool,
        /// What it did, for people.
        description: Option<String>,
        /// What went wrong, as the model is told.
        error: Option<String>,
        /// How long it ran.
        duration_ms: u64,
    },
    /// A call waits for a person's word.
    PermissionRequested {
        /// Names the question.
        request_id: String,
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Why it is asked, as a sentence.
        reason: String,
        /// The arguments, what the page supplies masked.
        tool_input: Option<Object>,
        /// The session that asks, if it is a child's of this one.
        session_id: Option<String>,
    },
    /// The question is answered.
    PermissionResolved {
        /// The question.
        request_id: String,
        /// The answer.
        decision: Decision,
    },
    /// The turn pauses on questions to the person.
    QuestionRequested {
        /// Names the questionnaire.
        question_id: String,
        /// `{ id, title?, steps }`.
        questionnaire: Object,
    },
    /// What an answer rests on.
    Citations {
        /// The answer.
        message_id: String,
        /// Its sources, in the order of their markers.
        items: Vec<Citation>,
    },
    /// What the person may want to say next.
    Suggestions {
        /// Whole messages, at most six.
        items: Vec<String>,
    },
    /// A tool showed something that is drawn.
    WidgetPayload {
        /// Names it; the message of the transcript that stands for it has the same id.
        widget_id: String,
        /// What.
        widget: Widget,
    },
    /// What an agent does that work was handed to: `{ event }` of a child that the turn waits for, as
    /// it came, for applications alone; else a child in the background, as the server tells of it.
    Child(Object),
    /// The turn failed or was stopped. Ends the turn.
    RunError(RunError),
    /// The answer is whole, or a bound was hit.
    Complete {
        /// Every message of the conversation, oldest first.
        messages: Vec<ChatMessage>,
        /// Where this turn's messages begin in the list.
        turn_from: usize,
        /// The conversation.
        conversation_id: String,
        /// The limit that stopped the turn before the job was done.
        bound: Option<Bound>,
        /// What the turn cost, as the server says it.
        usage: Option<Value>,
    },
    /// The last event of a turn that did not fail.
    RunFinished {
        /// The run.
        run_id: String,
    },
}

/// Why a turn failed or was stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct RunError {
    /// What happened and what to do next.
    pub message: String,
    /// Which kind of failure.
    pub reason: Reason,
    /// Someone stopped it: show "stopped", not an error.
    pub aborted: bool,
    /// Whether sending again can help.
    pub retryable: bool,
    /// Tool calls that changed something, or may have, as the server lists them.
    pub effects: Vec<Value>,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// The word as it stands on the wire and in events.
            pub fn as_str(self) -> &'static str {
                match self { $( $name::$variant => $text, )* }
            }

            /// The value written `text`.
            pub fn parse(text: &str) -> Option<$name> {
                const ALL: &[$name] = &[ $( $name::$variant, )* ];
                ALL.iter().copied().find(|word| word.as_str() == text)
            }
        }
    };
}

mod bound;

pub use bound::{Bound, BoundReason, Unit};

words! {
    /// Which kind of failure ended a turn.
    Reason {
        /// Someone stopped it.
        Cancelled = "cancelled",
        /// The model or its provider failed.
        ModelError = "model_error",
        /// A tool failed in a way the turn cannot survive.
        ToolError = "tool_error",
        /// Something took too long.
        Timeout = "timeout",
        /// Too many requests.
        RateLimited = "rate_limited",
        /// The conversation no longer fits the model.
        ContextTooLong = "context_too_long",
        /// The stream broke and the end is not known.
        Interrupted = "interrupted",
        /// The credentials were refused.
        Unauthorized = "unauthorized",
        /// A fault of ours, or an answer that is no AG-UI.
        Internal = "internal",
    }
}

words! {
    /// Who runs a tool.
    ToolSource {
        /// The page.
        Page = "page",
        /// An MCP server.
        Mcp = "mcp",
        /// The runtime itself.
        Builtin = "builtin",
    }
}

words! {
    /// A person's word about one call.
    Decision {
        /// This once.
        AllowOnce = "allowOnce",
        /// No.
        Deny = "deny",
    }
}

/// A source that an answer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// How the answer refers to it, for example `[1]`.
    pub marker: String,
    /// Its title.
    pub title: String,
    /// Where it can be read; `http` and `https` only.
    pub url: Option<String>,
}

impl Citation {
    /// `{ marker, title, url? }`.
    pub fn to_json(&self) -> Value {
        let mut o = crate::object! { "marker": &self.marker, "title": &self.title };
        o.insert_some("url", self.url.as_deref());
        Value::Object(o)
    }

    /// Reads what [`to_json`](Self::to_json) writes; an address that is no web page is
    /// left out.
    pub fn from_json(value: &Value) -> Option<Citation> {
        let url = value.str("url").filter(|u| u.starts_with("https://") || u.starts_with("http://"));
        Some(Citation {
            marker: value.str("marker")?.to_owned(),
            title: value.str("title")?.to_owned(),
            url: url.map(str::to_owned),
        })
    }

    /// All of them as a JSON list.
    pub fn list(items: &[Citation]) -> Value {
        let mut list = Vec::new();
        for item in items {
            list.push(item.to_json());
        }
        Value::Array(list)
    }

    /// Reads what [`list`](Self::list) writes; what is no citation is left out.
    pub fn read_list(value: Option<&Value>) -> Vec<Citation> {
        let mut items = Vec::new();
        for item in value.and_then(Value::as_array).unwrap_or_default() {
            items.extend(Citation::from_json(item));
        }
        items
    }
}

words! {
    /// Who wrote a message of the transcript.
    Author {
        /// The person.
        User = "user",
        /// The agent.
        Assistant = "assistant",
    }
}

words! {
    /// How a message of the transcript ended, if not well.
    MessageStatus {
        /// The person stopped it.
        Stopped = "stopped",
        /// The stream broke.
        Interrupted = "interrupted",
        /// The turn failed.
        Error = "error",
    }
}

/// A message of the transcript. Silent and tool messages are in no list.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// Unique in its conversation.
    pub id: String,
    /// Who wrote it.
    pub role: Author,
    /// The text.
    pub content: String,
    /// When, as ISO 8601 in UTC, if known.
    pub created_at: Option<String>,
    /// How it ended, if not well.
    pub status: Option<MessageStatus>,
    /// What it rests on, in the order of the markers.
    pub citations: Vec<Citation>,
    /// What it stands for; its content is the summary then.
    pub widget: Option<Widget>,
    /// What the person attached: `[{ id, name, type, size }]`, as it was read.
    pub files: Option<Value>,
    /// What its reader thinks of it.
    pub feedback: Option<Feedback>,
}

/// What a person thinks of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// Thumbs up; else down.
    pub is_good: bool,
    /// Why, in the person's words.
    pub comment: Option<String>,
}

impl Feedback {
    /// `{ rating: 'up' | 'down', comment? }`.
    pub fn to_json(&self) -> Object {
        let mut o = crate::object! { "rating": if self.is_good { "up" } else { "down" } };
        o.insert_some("comment", self.comment.as_deref());
        o
    }

    /// Reads what [`to_json`](Self::to_json) writes; any other rating is none.
    pub fn from_json(value: &Value) -> Option<Feedback> {
        let is_good = match value.str("rating")? {
            "up" => true,
            "down" => false,
            _ => return None,
        };
        Some(Feedback { is_good, comment: value.str("comment").map(str::to_owned) })
    }
}

impl ChatMessage {
    /// `{ id, role, content, createdAt?, status?, citations?, widget?, files?, feedback? }`.
    pub fn to_json(&self) -> Value {
        let mut o = crate::object! {
            "id": &self.id, "role": self.role.as_str(), "content": &self.content,
        };
        o.insert_some("createdAt", self.created_at.as_deref());
        o.insert_some("status", self.status.map(MessageStatus::as_str));
        if !self.citations.is_empty() {
            o.insert("citations", Citation::list(&self.citations));
        }
        o.insert_some("widget", self.widget.as_ref().map(Widget::to_json));
        o.insert_some("files", self.files.clone());
        o.insert_some("feedback", self.feedback.as_ref().map(Feedback::to_json));
        Value::Object(o)
    }

    /// Reads what [`to_json`](Self::to_json) writes.
    pub fn from_json(value: &Value) -> Option<ChatMessage> {
        let o = value.as_object()?;
        Some(ChatMessage {
            id: o.str("id")?.to_owned(),
            role: Author::parse(o.str("role")?)?,
            content: o.str("content").unwrap_or("").to_owned(),
            created_at: o.str("createdAt").map(str::to_owned),
            status: o.str("status").and_then(MessageStatus::parse),
            citations: Citation::read_list(o.get("citations")),
            widget: o.get("widget").and_then(Widget::from_json),
            files: o.get("files").cloned(),
            feedback: o.get("feedback").and_then(Feedback::from_json),
        })
    }
}

impl RuntimeEvent {
    /// The value of the event's `type` field.
    pub fn type_name(&self) -> &'static str {
        match self {
            RuntimeEvent::RunStarted { .. } => "run_started",
            RuntimeEvent::RunQueued { .. } => "run_queued",
            RuntimeEvent::TextDelta { .. } => "text_delta",
            RuntimeEvent::ThinkingDelta { .. } => "thinking_delta",
            RuntimeEvent::ToolAnnounce { .. } => "tool_announce",
            RuntimeEvent::ToolStart { .. } => "tool_start",
            RuntimeEvent::ToolEnd { .. } => "tool_end",
            RuntimeEvent::PermissionRequested { .. } => "permission_requested",
            RuntimeEvent::PermissionResolved { .. } => "permission_resolved",
            RuntimeEvent::QuestionRequested { .. } => "question_requested",
            RuntimeEvent::Citations { .. } => "citations",
            RuntimeEvent::WidgetPayload { .. } => "widget-payload",
            RuntimeEvent::Suggestions { .. } => "suggestions",
            RuntimeEvent::Child(_) => "child",
            RuntimeEvent::RunError(_) => "run_error",
            RuntimeEvent::Complete { .. } => "complete",
            RuntimeEvent::RunFinished { .. } => "run_finished",
        }
    }

    /// The DOM event that repeats this one under its own name, right after
    /// `mindset:runtime-event`.
    pub fn dom_name(&self) -> Option<&'static str> {
        match self {
            RuntimeEvent::TextDelta { .. } => Some("mindset:text-delta"),
            RuntimeEvent::ToolStart { .. } => Some("mindset:tool-start"),
            RuntimeEvent::ToolEnd { .. } => Some("mindset:tool-end"),
            RuntimeEvent::Complete { .. } => Some("mindset:complete"),
            _ => None,
        }
    }

    /// The event as the page may see it: without the history from before this
    /// turn, because DOM events are readable by every script on the page.
    pub fn dom_detail(&self) -> Object {
        match self {
            RuntimeEvent::Complete { turn_from, .. } => self.json(*turn_from),
            _ => self.json(0),
        }
    }

    /// The event as plain JSON, `type` first, for readers that may see it whole.
    pub fn to_json(&self) -> Object {
        self.json(0)
    }

    /// With the messages from `from` on.
    fn json(&self, from: usize) -> Object {
        let mut o = crate::object! { "type": self.type_name() };
        match self {
            RuntimeEvent::RunStarted { run_id, conversation_id, model, disclosure } => {
                o.insert("runId", run_id);
                o.insert("conversationId", conversation_id);
                o.insert_some("model", model.as_deref());
                o.insert_some("disclosure", disclosure.as_deref());
            }
            RuntimeEvent::RunQueued { run_id, position } => queued(&mut o, run_id, *position),
            RuntimeEvent::TextDelta { message_id, content } => {
                o.insert("messageId", message_id);
                o.insert("content", content);
            }
            RuntimeEvent::Child(child) => {
                for (key, value) in child.iter() {
                    o.insert(key, value.clone());
                }
            }
            RuntimeEvent::ThinkingDelta { content } => o.insert("content", content),
            RuntimeEvent::ToolAnnounce { tool_call_id, tool_name, description } => {
                named(&mut o, tool_call_id, tool_name);
                o.insert_some("description", description.as_deref());
            }
            RuntimeEvent::ToolStart { tool_call_id, tool_name, source, server, description } => {
                named(&mut o, tool_call_id, tool_name);
                o.insert("source", source.as_str());
                o.insert_some("server", server.as_deref());
                o.insert_some("description", description.as_deref());
            }
            RuntimeEvent::ToolEnd { tool_call_id, tool_name, ok, description, error, duration_ms } => {
                named(&mut o, tool_call_id, tool_name);
                o.insert("ok", *ok);
                o.insert_some("description", description.as_deref());
                o.insert_some("error", error.as_deref());
                o.insert("durationMs", *duration_ms);
            }
            RuntimeEvent::PermissionRequested { .. } => self.permission(&mut o),
            RuntimeEvent::PermissionResolved { request_id, decision } => {
                resolved(&mut o, request_id, *decision)
            }
            RuntimeEvent::QuestionRequested { question_id, questionnaire } => {
                o.insert("questionId", question_id);
                o.insert("questionnaire", questionnaire.clone());
            }
            RuntimeEvent::Citations { message_id, items } => {
                o.insert("messageId", message_id);
                o.insert("items", Citation::list(items));
            }
            RuntimeEvent::Suggestions { items } => {
                o.insert("items", items.iter().map(Value::from).collect::<Vec<_>>());
            }
            RuntimeEvent::WidgetPayload { widget_id, widget } => {
                o.insert("widgetId", widget_id);
                shown(&mut o, widget);
            }
            RuntimeEvent::RunError(e) => e.write(&mut o),
            RuntimeEvent::Complete { .. } => self.complete(&mut o, from),
            RuntimeEvent::RunFinished { run_id } => o.insert("runId", run_id),
        }
        o
    }

    /// The members of `permission_requested`.
    fn permission(&self, o: &mut Object) {
        let RuntimeEvent::PermissionRequested {
            request_id,
            tool_call_id,
            tool_name,
            reason,
            tool_input,
            session_id,
        } = self
        else {
            return;
        };
        o.insert("requestId", request_id);
        named(o, tool_call_id, tool_name);
        o.insert("reason", reason);
        o.insert_some("toolInput", tool_input.clone());
        o.insert_some("sessionId", session_id.as_deref());
    }

    /// The members of `complete`.
    fn complete(&self, o: &mut Object, from: usize) {
        let RuntimeEvent::Complete { messages, conversation_id, bound, usage, .. } = self else { return };
        let mut list = Vec::new();
        for message in messages.get(from..).unwrap_or_default() {
            list.push(message.to_json());
        }
        o.insert("messages", Value::Array(list));
        o.insert("conversationId", conversation_id);
        o.insert_some("bound", bound.map(Bound::to_json));
        o.insert_some("usage", usage.clone());
    }
}

fn resolved(o: &mut Object, request_id: &str, decision: Decision) {
    o.insert("requestId", request_id);
    o.insert("decision", decision.as_str());
}

fn queued(o: &mut Object, run_id: &str, position: u64) {
    o.insert("runId", run_id);
    o.insert("position", position);
}

fn shown(o: &mut Object, widget: &Widget) {
    o.insert("kind", &widget.kind);
    o.insert("doc", widget.doc.clone());
    o.insert("summary", &widget.summary);
}

fn named(o: &mut Object, tool_call_id: &str, tool_name: &str) {
    o.insert("toolCallId", tool_call_id);
    o.insert("toolName", tool_name);
}

impl RunError {
    fn write(&self, o: &mut Object) {
        o.insert("message", &self.message);
        o.insert("reason", self.reason.as_str());
        if self.aborted {
            o.insert("aborted", true);
        }
        o.insert("retryable", self.retryable);
        if !self.effects.is_empty() {
            o.insert("effects", Value::Array(self.effects.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
