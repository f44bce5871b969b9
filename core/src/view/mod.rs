//! What the chat panel must change, as data. The session decides, the DOM adapter
//! carries out; a page without a panel drops them.

use crate::event::{Author, ChatMessage, Citation, Feedback, MessageStatus, Widget};
use crate::json::{Object, Value};

/// One change of the chat panel. Rows are named by message id and stay in the
/// order in which they were added.
#[derive(Debug, Clone, PartialEq)]
pub enum Patch {
    /// Removes every row, line, question and notice: another conversation, or all of
    /// this one is drawn anew.
    Clear,
    /// Adds a row at the end.
    AddMessage {
        /// The message.
        id: String,
        /// Who wrote it.
        role: Author,
        /// Its text so far.
        text: String,
    },
    /// Adds rows at the top, oldest first; whoever reads stays where they are.
    Earlier(Vec<ChatMessage>),
    /// Adds text at the end of a row.
    AppendText {
        /// The message.
        id: String,
        /// The piece.
        text: String,
    },
    /// The text of a row is whole. May be told again, and of rows that are not there;
    /// [`Patch::Earlier`] brings whole ones.
    EndMessage {
        /// The message.
        id: String,
    },
    /// Shows how a message ended: nothing, "stopped", "interrupted", "failed".
    SetStatus {
        /// The message.
        id: String,
        /// How it ended, `None` for well.
        status: Option<MessageStatus>,
    },
    /// Removes a row.
    RemoveMessage {
        /// The message.
        id: String,
    },
    /// Adds a line about a tool call at the end. It stays when the messages of a
    /// failed attempt are removed: the call has happened.
    AddTool {
        /// The call.
        id: String,
        /// How it stands.
        state: ToolState,
        /// What it does, for people.
        label: String,
    },
    /// Changes the line about a tool call.
    SetTool {
        /// The call.
        id: String,
        /// How it stands.
        state: ToolState,
        /// What it did, for people.
        label: String,
    },
    /// Asks the person, at the end: a card with the buttons "Allow" and "Deny".
    AddQuestion {
        /// Names the question.
        id: String,
        /// The tool, where the question is whether it may be used.
        tool: Option<String>,
        /// The question, or why `tool` is asked about, which may be empty.
        text: String,
        /// Names and values of the arguments, what the page supplies masked.
        details: Vec<(String, String)>,
    },
    /// Asks the person several things, at the end.
    AddQuestionnaire {
        /// Names the questionnaire.
        id: String,
        /// `{ id, title?, steps }`, as the server wrote it.
        questionnaire: Object,
    },
    /// The question or questionnaire is answered or no longer open: its card goes.
    RemoveQuestion {
        /// The question.
        id: String,
    },
    /// Draws a widget in the row of its message, whose text is the summary; again when it was
    /// used.
    SetWidget {
        /// The message.
        id: String,
        /// The widget.
        widget: Widget,
    },
    /// Shows the sources under a message.
    SetCitations {
        /// The message.
        id: String,
        /// In the order of their markers.
        items: Vec<Citation>,
    },
    /// Shows under a message what the person attached.
    SetFiles {
        /// The message.
        id: String,
        /// `[{ id, name, type, size }]`.
        files: Value,
    },
    /// Says more of a tool call that has a line.
    DescribeTool {
        /// The call.
        id: String,
        /// The tool, by its own name.
        name: String,
        /// How long it took, once it is over, in milliseconds.
        duration_ms: Option<u64>,
        /// Names and values of a page tool's arguments, what the page supplies masked.
        details: Vec<(String, String)>,
    },
    /// A piece of the model's thinking, for display only. It is not drawn again.
    Think {
        /// The piece.
        text: String,
    },
    /// Shows what a person thinks of a message.
    SetFeedback {
        /// The message.
        id: String,
        /// Their opinion, `None` for none.
        feedback: Option<Feedback>,
    },
    /// Offers messages to send, instead of those before.
    SetSuggestions(Vec<String>),
    /// Messages that wait for their turn, in order, instead of those before.
    SetQueue(Vec<QueuedMessage>),
    /// A message could not be sent: its text is the person's again.
    GiveBack {
        /// The text.
        text: String,
    },
    /// What the agent is doing.
    SetActivity(Activity),
    /// Shows a notice under the last row, instead of the one before; `None` takes
    /// it away.
    SetNotice(Option<Notice>),
    /// The agent behind the conversation says of itself that it is no AI but a
    /// demonstration; shown as long as the conversation is open.
    SetDisclosure(Option<String>),
}

/// A message that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedMessage {
    /// The run that it will be.
    pub run_id: String,
    /// What it says.
    pub text: String,
    /// How it stands.
    pub state: QueuedState,
    /// It is on its way and cannot be changed now.
    pub is_fixed: bool,
}

/// How a message that waits stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuedState {
    /// The server has not said yet that it waits.
    Sending,
    /// It is a turn of its own, later.
    Queued,
    /// The turn under way reads it, or it comes next.
    Steering,
    /// It waits for a word of the person.
    Paused,
}

impl QueuedState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            QueuedState::Sending => "sending",
            QueuedState::Queued => "queued",
            QueuedState::Steering => "steering",
            QueuedState::Paused => "paused",
        }
    }
}

/// How a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolState {
    /// It waits for the person's word.
    Asking,
    /// It runs.
    Running,
    /// It did what it should.
    Done,
    /// It failed.
    Failed,
    /// It was denied or stopped before its end.
    Stopped,
}

/// What the agent is doing, for the indicator and the composer's button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Start-up, also while it stands failed: a notice says so.
    Starting,
    /// Ready for the next message.
    Idle,
    /// A turn runs and has said nothing yet.
    Waiting,
    /// The model is thinking.
    Thinking,
    /// The answer is arriving.
    Answering,
    /// The turn waits for a person's word about a tool call.
    Asking,
    /// The stop was asked for and the turn is ending.
    Stopping,
}

/// Something the person should know, under the last row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// An error (announced at once) or a remark.
    pub error: bool,
    /// What happened and what to do next, in English.
    pub text: String,
    /// What it is about, for the words of other languages: the code of an error, or a name of
    /// its own. Empty for what only the text says.
    pub key: &'static str,
    /// The tools that the text names: those that acted, and those that may have.
    pub names: [String; 2],
    /// What the button does, if there is one.
    pub action: Option<NoticeAction>,
}

impl Notice {
    /// A remark that offers nothing.
    pub fn remark(key: &'static str, text: &str) -> Notice {
        Notice { error: false, text: text.to_owned(), key, names: Default::default(), action: None }
    }

    /// The same with an offer.
    #[must_use]
    pub fn offers(self, action: Option<NoticeAction>) -> Notice {
        Notice { action, ..self }
    }
}

/// What a notice offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeAction {
    /// Send the last message again.
    Retry,
    /// Try to reach the server again.
    Reconnect,
    /// Let a turn that ended at a limit go on.
    Continue,
}
