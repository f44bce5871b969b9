//! Where a session is. Each variant owns what exists only then.

use super::exchange::Exchange;
use super::link::Link;
use super::offer::Offered;
use super::server_tool::Serving;
use super::step::Step;
use super::stream::Stream;
use super::transcript::UserMessage;
use super::{FetchId, SendId};
use crate::Millis;
use crate::error::ErrorCode;
use crate::json::Value;
use crate::queue::WhenBusy;

/// The state.
#[derive(Default)]
pub(super) enum State {
    /// Waits for `Start`.
    #[default]
    Unconfigured,
    /// Start-up: credentials are on their way.
    Starting(Attempt),
    /// A conversation is on its way, or on its way out.
    Opening(Box<Opening>),
    /// Start-up failed.
    Failed(Box<StartFailed>),
    /// What ended is told and `agent-idle` is not yet: still busy.
    Resting,
    /// Ready for the next message.
    Idle,
    /// A turn runs.
    Running(Box<Running>),
    /// A turn was stopped and the server has not said its end yet.
    Stopping(Box<Stopping>),
}

/// A conversation is on its way.
pub(super) struct Opening {
    pub(super) stage: OpeningStage,
    pub(super) attempt: Attempt,
}

/// How far it is.
pub(super) enum OpeningStage {
    /// The server was asked for the one to begin with.
    Reading,
    /// The open one is about to be left for another.
    Changing,
    /// It is there, and has open calls: is the page gone that they wait for?
    Owner {
        /// The step they are of.
        left: Box<Step>,
        /// When the page counts as there.
        until: Millis,
    },
}

/// One of several tries to start.
#[derive(Clone, Copy)]
pub(super) struct Attempt {
    /// The pause after it, should it fail, in milliseconds.
    pub(super) pause: u64,
    /// The failure that was told last, so that each try does not tell it again.
    pub(super) told: Option<ErrorCode>,
}

/// Start-up failed.
pub(super) struct StartFailed {
    /// When it is tried again; `None` if only another call can help.
    pub(super) until: Option<Millis>,
    pub(super) next: Attempt,
}

/// A turn that runs.
pub(super) struct Running {
    pub(super) turn: Box<Turn>,
    pub(super) phase: Phase,
}

/// How far the current run of a turn is.
pub(super) enum Phase {
    /// The credentials were refused; the run is asked for again with new ones.
    SignIn,
    /// Posted, or the rest of its stream asked for; the answer is not there, or is no
    /// stream.
    Posted(Exchange),
    /// The connection broke; it is tried again then.
    Broken { until: Millis },
    /// The stream cannot tell how the run went on: the stored conversation is on its way.
    Reading,
    /// The calls that the run left are another page's: is it there, and what comes of
    /// them?
    Elsewhere {
        left: Box<Step>,
        /// When the conversation is read again.
        until: Millis,
    },
    /// An earlier run, given up here, keeps the conversation busy: its cancel is on
    /// its way.
    Clearing(Exchange),
    /// The answer arrives.
    Streaming {
        fetch: FetchId,
        /// When silence counts as a broken connection.
        until: Millis,
        stream: Box<Stream>,
    },
    /// The run has ended and left calls to the page, or approvals to people.
    Calling(Box<Step>),
}

/// What a turn is, in every phase.
pub(super) struct Turn {
    /// `None` for the rest of a turn whose page is gone.
    pub(super) send: Option<SendId>,
    /// The first run, which names the turn in events.
    pub(super) id: String,
    /// The current run.
    pub(super) run_id: String,
    pub(super) message: UserMessage,
    /// Whether it takes the place of an earlier attempt.
    pub(super) replaces: bool,
    /// Where its rows begin, its own user message included.
    pub(super) from: usize,
    /// Where the rows of the current run begin.
    pub(super) run_from: usize,
    /// New messages of the current run, for a server that stores.
    pub(super) news: Vec<Value>,
    /// Runs so far.
    pub(super) runs: u64,
    /// Whether credentials were renewed for the current run.
    pub(super) renewed: bool,
    /// Whether the server said that the current run started.
    pub(super) started: bool,
    /// Whether `run_started` was emitted.
    pub(super) announced: bool,
    pub(super) usage: Vec<Value>,
    /// The page's tools as the current run was told of them.
    pub(super) offer: Vec<Offered>,
    /// Calls that the server runs.
    pub(super) serving: Vec<Serving>,
    /// Calls of the page's tools that changed something, or may have.
    pub(super) effects: Vec<Value>,
    /// The same of the server's tools, for a turn whose end the server does not tell.
    pub(super) seen: Vec<Value>,
    /// The current run was posted with pass-through parameters that have changed since.
    pub(super) outdated: bool,
    /// Another page load has posted the current run.
    pub(super) found: bool,
    /// What it wants if the conversation is busy: it may wait for its beginning.
    pub(super) when_busy: Option<WhenBusy>,
    /// Its message is shown when it begins.
    pub(super) hidden: bool,
    /// Its place while it waits, as it was told.
    pub(super) queued: u64,
    /// The model, and what its agent says of itself, until the beginning is told.
    pub(super) model: Option<String>,
    pub(super) disclosure: Option<String>,
    /// The connection of the current run.
    pub(super) link: Link,
    /// What people were asked and have decided, until the run that says so has begun.
    pub(super) decided: Option<Box<Step>>,
    /// Somebody else has decided what people were asked here: how it goes on is read from the run
    /// that followed.
    pub(super) overtaken: bool,
    /// The same, for the notice at its end.
    pub(super) outvoted: bool,
    /// Approvals that somebody else has decided: question and call. Their word shows in what
    /// becomes of the call.
    pub(super) guessed: Vec<(String, String)>,
}

impl Turn {
    /// So many rows were put before all others.
    pub(super) fn shift(&mut self, rows: usize) {
        self.from += rows;
        self.run_from += rows;
    }

    /// Whether its message can be sent again: it is known, and somebody waits for its end.
    pub(super) fn may_retry(&self) -> bool {
        self.send.is_some() && !self.message.id.is_empty()
    }

    /// A turn before its first run.
    pub(super) fn new(send: Option<SendId>, run_id: String, message: UserMessage, from: usize) -> Turn {
        Turn {
            send,
            id: run_id.clone(),
            run_id,
            message,
            replaces: false,
            from,
            run_from: 0,
            news: Vec::new(),
            runs: 1,
            renewed: false,
            started: false,
            announced: false,
            usage: Vec::new(),
            offer: Vec::new(),
            serving: Vec::new(),
            effects: Vec::new(),
            seen: Vec::new(),
            outdated: false,
            found: false,
            when_busy: None,
            hidden: false,
            queued: 0,
            model: None,
            disclosure: None,
            link: Link::default(),
            decided: None,
            overtaken: false,
            outvoted: false,
            guessed: Vec::new(),
        }
    }
}

/// A turn that was stopped while the server still works on it.
pub(super) struct Stopping {
    pub(super) turn: Box<Turn>,
    pub(super) fetch: FetchId,
    /// When it is given up.
    pub(super) until: Millis,
    /// `None` before the answer's head.
    pub(super) stream: Option<Box<Stream>>,
    /// The cancel that was not answered yet.
    pub(super) cancel: Option<FetchId>,
    /// The server did not know the run yet: cancel again when it starts.
    pub(super) again: bool,
}

/// Whether readers know what was said before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    /// Not yet; after this time they are told that there is nothing.
    By(Millis),
    /// They were told that there is nothing, for lack of an answer.
    Unread,
    /// They are.
    Settled,
}
