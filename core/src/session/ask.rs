//! What a page or a person wants of conversations besides talking.

/// Names a promise that an [`Input::Ask`](super::Input::Ask) waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskId(pub u32);

/// What is asked. All wait for the first idle; what changes the conversation that is open
/// is refused with `busy` during a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The user's conversations: `[{ id, title, agentUid, createdAt, updatedAt, isOpen? }]`, the
    /// latest first, from every page of the server's list.
    List,
    /// Give a conversation a title.
    Rename {
        /// Which.
        id: String,
        /// The title, 1 to 200 characters.
        title: String,
    },
    /// Delete a conversation; the one that is open is left for a new one.
    Delete {
        /// Which.
        id: String,
    },
    /// Leave this conversation and begin a new one.
    New,
    /// Leave this conversation and open another.
    Switch {
        /// Which.
        id: String,
    },
    /// The value of the `Authorization` header, for a request that is made elsewhere; `null`
    /// without credentials.
    Bearer,
    /// Whether people may attach files, and how they are sent: `{ enabled, types, maxBytes,
    /// maxFiles, url, authorization? }`, the last two for one form with the field `file`.
    Uploads,
    /// Have a new conversation begin by itself, with this message of the person's or else as the
    /// agent is configured. One in which something was sent stays as it is.
    Greet {
        /// The message.
        question: Option<String>,
    },
    /// What the user lets the application do: `{ run, read, declared: { run, read } }`; with values
    /// it is changed to them, at once.
    Permissions {
        /// Whether the application may run turns, and read conversations.
        set: Option<(bool, bool)>,
    },
    /// Show older messages of this conversation: `true` if there are more still.
    Earlier,
}
