//! What can happen to a session.

use super::{Ask, AskId, Config, FetchFailure, FetchId, PageTool, QueueChange, SendId, Token, ToolRunId};
use crate::error::ErrorInfo;
use crate::event::{Decision, Feedback};
use crate::json::Object;
use crate::queue::WhenBusy;

/// How a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendOptions {
    /// Hides the message from the transcript, not the answer.
    pub silent: bool,
    /// Waits for idle, in order, instead of refusing with `busy`.
    pub when_idle: bool,
    /// What becomes of it while a turn runs, instead of refusing with `busy`: a turn of its own
    /// afterwards, or read by the running turn. A server that is no runtime queues nothing: there it
    /// waits in the page, and steering is refused.
    pub when_busy: Option<WhenBusy>,
}

/// Everything that can happen to a session.
#[derive(Debug)]
pub enum Input<'a> {
    /// Configuration is complete: start, or start again with another one.
    Start(Config),
    /// Answer to [`Output::NeedToken`](super::Output::NeedToken).
    Token(Result<Token, ErrorInfo>),
    /// The page or the person sends a message; the answer is
    /// [`Output::Settle`](super::Output::Settle).
    Send {
        /// The adapter's own number for the promise to settle.
        id: SendId,
        /// The text.
        text: &'a str,
        /// How.
        options: SendOptions,
    },
    /// What comes with the message that is sent right after this: the JSON text of a list of
    /// uploaded files, `[{ id, name, type, size }]`, or nothing.
    Attach(&'a str),
    /// A widget is used: the model hears of it in a silent message.
    WidgetAction {
        /// The adapter's own number for the promise to settle.
        id: SendId,
        /// The widget.
        widget: &'a str,
        /// What is done, by the name the widget gives it.
        action: &'a str,
        /// More about it, as JSON text; empty for nothing.
        payload: &'a str,
    },
    /// Send the last message of a failed turn again.
    Retry {
        /// The adapter's own number for the promise to settle.
        id: SendId,
    },
    /// Change a message of the person's own and send it anew: what was said from it on is cut.
    Edit {
        /// The adapter's own number for the promise to settle.
        id: SendId,
        /// The message.
        message: &'a str,
        /// Its new text.
        text: &'a str,
    },
    /// A person is about to change a message of their own: says what stays done of what would
    /// be cut, or why it cannot be changed.
    EditBegin {
        /// The message.
        message: &'a str,
    },
    /// What a person thinks of an answer.
    Feedback {
        /// The message.
        message: &'a str,
        /// Their opinion; `None` takes it back.
        feedback: Option<Feedback>,
    },
    /// What the person is looking at: the JSON text of an object, as the page wrote it.
    /// Counts from the next message on.
    SetAwareness(&'a str),
    /// The pass-through parameters, all of them. Count from the next tool call on.
    SetPassthrough(Object),
    /// The page's tools, all of them.
    SetPageTools(Vec<PageTool>),
    /// Whether a person can be asked from now on: the panel was drawn or taken away.
    SetCanAsk(bool),
    /// A person changes what waits on the server. Refused with `not-found` if it does not wait.
    Queue {
        /// The run that waits; empty for all.
        run_id: &'a str,
        /// What is done.
        change: QueueChange<'a>,
    },
    /// A handler has come to its end, answer to
    /// [`Output::RunTool`](super::Output::RunTool).
    ToolDone {
        /// The running.
        id: ToolRunId,
        /// The result as JSON text, or what went wrong.
        result: Result<String, String>,
    },
    /// What the person is asked, answer to [`Output::AskTool`](super::Output::AskTool).
    ToolSentence {
        /// The running.
        id: ToolRunId,
        /// The sentence, or why there is none.
        sentence: Result<String, String>,
    },
    /// A person has decided about a call. Refused with `not-found` if it is not asked, or not
    /// any more.
    Decide {
        /// Who waits to hear whether the word counts, if anybody.
        reply: Option<AskId>,
        /// The question.
        request_id: &'a str,
        /// The word.
        decision: Decision,
    },
    /// A person has answered a questionnaire, or does not want to. Refused with `not-found` if it
    /// is not asked, or not any more, and with `busy` while its turn is not at rest.
    Answer {
        /// The adapter's own number for the promise to settle; `None` for an answer from the panel.
        id: Option<SendId>,
        /// The questionnaire.
        question_id: &'a str,
        /// A JSON list of `{ stepId, selectedOptionIds?, otherText?, skipped? }`; empty: dismissed.
        answers: &'a str,
    },
    /// Whether the page that left calls open is gone, answer to
    /// [`Output::FindOwner`](super::Output::FindOwner).
    Owner {
        /// Nobody of that page is left.
        gone: bool,
    },
    /// Try to start, or to reach a broken stream, again now, without waiting for the back-off.
    Reconnect,
    /// The browser believes to be on the network, or not to be. Gaining it checks every open
    /// stream at once.
    Online(bool),
    /// The page became visible, or its process woke: what was waited for may be long over.
    Wake,
    /// Another page of this browser has begun or ended a run in this conversation, or has
    /// changed it otherwise.
    Changed,
    /// Something about conversations; the answer is [`Output::Answer`](super::Output::Answer).
    Ask {
        /// The adapter's own number for the promise to settle.
        id: AskId,
        /// What.
        ask: Ask,
    },
    /// End the running turn, here and on the server.
    Stop,
    /// Status and headers of a request arrived.
    Head {
        /// The request.
        fetch: FetchId,
        /// HTTP status.
        status: u16,
        /// The `Content-Type` header, empty if absent.
        content_type: &'a str,
    },
    /// A piece of a body arrived.
    Bytes {
        /// The request.
        fetch: FetchId,
        /// The piece.
        bytes: &'a [u8],
    },
    /// The body ended, or the request failed. Nothing follows for this id.
    End {
        /// The request.
        fetch: FetchId,
        /// How.
        result: Result<(), FetchFailure>,
    },
    /// Time passed.
    Tick,
}

/// What a call is refused with, synchronously; nothing was changed.
pub type Refused = ErrorInfo;
