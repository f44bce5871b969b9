//! What a session needs to know before it can start.

use std::fmt;

use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::json::concat;
use crate::queue::WhenBusy;

/// Which protocol the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The agent runtime: AG-UI with conversations, tokens and cancel.
    #[default]
    Mindset,
    /// Any AG-UI server: `server` is the exact run URL.
    AgUi,
}

/// What a session needs to know to start. Another `server`, `app_uid` or
/// `agent_uid` means another session.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// Base URL of the runtime without a trailing slash, or the run URL.
    pub server: String,
    /// The protocol.
    pub protocol: Protocol,
    /// The application; empty only with [`Protocol::AgUi`].
    pub app_uid: String,
    /// The agent, plain or `agentUid::sessionUid`; empty only with [`Protocol::AgUi`].
    pub agent_uid: String,
    /// The page hands out tokens: ask it instead of signing in anonymously.
    pub page_auth: bool,
    /// The anonymous key of an earlier page load of this tab, if there is one.
    pub anonymous_key: Option<String>,
    /// The conversation to open: the one named by the page, or the one this tab had.
    pub conversation_id: Option<String>,
    /// Whether the page may set situational awareness of twice the usual size.
    pub extended_awareness: bool,
    /// Whether a person can be asked: a panel is drawn, or the page asks them itself. Changes with
    /// [`Input::SetCanAsk`](super::Input::SetCanAsk).
    pub can_ask: bool,
    /// Random per page load, tells whose page tool a call is.
    pub client_id: String,
    /// Time constants.
    pub timing: Timing,
    /// Set for one call of the agent API: an application runs turns in a session of its own.
    pub call: Option<AgentCall>,
}

/// What a call of the agent API says besides its message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentCall {
    /// The model, if not the agent's own.
    pub model: Option<String>,
    /// What becomes of the message while the session is busy; `None`: it is refused.
    pub when_busy: Option<WhenBusy>,
    /// Whether the stored conversation is read first: what waits for people in it is answered.
    pub reads: bool,
}

/// Without the anonymous key, which is a credential.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("server", &self.server)
            .field("protocol", &self.protocol)
            .field("app_uid", &self.app_uid)
            .field("agent_uid", &self.agent_uid)
            .field("page_auth", &self.page_auth)
            .finish_non_exhaustive()
    }
}

/// Time constants, in milliseconds. Tests make them a hundred times smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// No byte for this long ends the stream as broken.
    pub heartbeat: u64,
    /// No answer to a request for this long is a time-out.
    pub request: u64,
    /// How long a stopped turn may take to end by itself.
    pub stop: u64,
    /// First pause before start-up is tried again; doubles up to `backoff_max`.
    pub backoff: u64,
    /// Longest pause before start-up is tried again.
    pub backoff_max: u64,
    /// How long stored messages may take before the session goes on without them.
    pub history: u64,
    /// How long a broken stream is tried again, while there is a network.
    pub give_up: u64,
    /// Credentials are renewed this long before their end.
    pub renew: u64,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            heartbeat: 45_000,
            request: 30_000,
            stop: 3_000,
            backoff: 1_000,
            backoff_max: 30_000,
            history: 15_000,
            give_up: 300_000,
            renew: 60_000,
        }
    }
}

/// A token the page or the runtime handed out.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    text: String,
    /// When it stops being good, if that is known.
    pub expires_at: Option<Millis>,
    /// The conversation that the page's session names: at start it takes the place of
    /// [`Config::conversation_id`].
    pub conversation_id: Option<String>,
}

impl Token {
    /// Takes a token whose end is not known.
    pub fn new(text: impl Into<String>) -> Token {
        Token { text: text.into(), expires_at: None, conversation_id: None }
    }

    /// The same with its end.
    #[must_use]
    pub fn until(self, expires_at: Option<Millis>) -> Token {
        Token { expires_at, ..self }
    }

    /// The value of the `Authorization` header.
    pub fn bearer(&self) -> String {
        concat(&["Bearer ", &self.text])
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({} bytes)", self.text.len())
    }
}

impl Config {
    /// Names the first value without which nothing can start, and the remedy.
    pub(super) fn check(&self) -> Result<(), ErrorInfo> {
        let runtime = self.protocol == Protocol::Mindset;
        let missing = if self.server.is_empty() {
            Some(("server", "Set it to the address of the agent runtime, or of the AG-UI run."))
        } else if runtime && self.app_uid.is_empty() {
            Some(("app-uid", "Set the attribute, or call mindset.init({ appUid }) with your application."))
        } else if runtime && self.agent_uid.is_empty() {
            Some(("agent-uid", "Set the attribute to the agent that should answer."))
        } else {
            None
        };
        match missing {
            None => Ok(()),
            Some((name, remedy)) => {
                let message = concat(&["The attribute `", name, "` is missing or invalid. ", remedy]);
                Err(ErrorInfo::new(ErrorCode::InvalidConfig, message).with("attribute", name))
            }
        }
    }
}
