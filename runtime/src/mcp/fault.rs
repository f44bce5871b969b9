//! What can go wrong between the runtime and an MCP server, in words that hold
//! nothing the server or the session said.

use std::fmt;

/// Why a server's tools cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct McpFault {
    /// The server's uid.
    pub(crate) server: String,
    /// What happened, fit for logs: no address, no header, no word of the server.
    pub(crate) reason: String,
}

/// What went wrong with one HTTP exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpFault {
    /// 404 to a request of a session: the server has forgotten it, nothing ran.
    Gone,
    /// An error status without an MCP error in it.
    Status(u16),
    /// It points somewhere else.
    Redirected,
    /// Its name leads to this computer or a private network.
    Private,
    /// No connection came about.
    Unreachable,
    /// The connection broke after the request had left.
    Broken,
    /// The answer is over the limit.
    TooLarge,
    /// The answer is nothing that MCP knows.
    Unreadable,
}

impl HttpFault {
    /// What reqwest reports, without the address that its own words hold.
    pub(super) fn of(error: &reqwest::Error) -> HttpFault {
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            if inner.downcast_ref::<HttpFault>() == Some(&HttpFault::Private) {
                return HttpFault::Private;
            }
            source = inner.source();
        }
        if error.is_connect() || error.is_builder() { HttpFault::Unreachable } else { HttpFault::Broken }
    }

    /// Whether the request may have had an effect.
    pub(super) fn may_have_acted(self) -> bool {
        match self {
            HttpFault::Gone | HttpFault::Redirected | HttpFault::Private | HttpFault::Unreachable => false,
            HttpFault::Status(status) => status >= 500 && status != 501 && status != 503,
            HttpFault::Broken | HttpFault::TooLarge | HttpFault::Unreadable => true,
        }
    }
}

impl fmt::Display for HttpFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            HttpFault::Gone => "the server has lost the session",
            HttpFault::Status(401 | 403) => "the server refuses access; check its `authorization`",
            HttpFault::Status(429) => "the server has too much to do (HTTP 429)",
            HttpFault::Status(status) => return write!(f, "the server answered with HTTP {status}"),
            HttpFault::Redirected => "the server redirects to another address, which is not followed",
            HttpFault::Private => {
                "the server's name leads into a private network; set `allow_private` if that is meant"
            }
            HttpFault::Unreachable => "the server cannot be reached",
            HttpFault::Broken => "the connection to the server broke",
            HttpFault::TooLarge => "the server's answer is too large",
            HttpFault::Unreadable => "the server's answer cannot be read",
        };
        f.write_str(text)
    }
}

impl std::error::Error for HttpFault {}

/// What went wrong with one request of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestFault {
    /// The session is lost; nothing ran.
    Gone,
    /// It did not run.
    NotRun(String),
    /// The server answered with an error of its own: code and text. The text is
    /// data for the model and goes nowhere else.
    Reported(i64, String),
    /// It may or may not have run.
    Unknown(String),
    /// It did not run: the service that serves it is down, for this reason, with the remedy.
    NoService(String),
}

impl RequestFault {
    /// The fault without the server's words.
    pub(super) fn reason(&self) -> String {
        match self {
            RequestFault::Gone => HttpFault::Gone.to_string(),
            RequestFault::NotRun(reason)
            | RequestFault::Unknown(reason)
            | RequestFault::NoService(reason) => reason.clone(),
            RequestFault::Reported(code, _) => format!("the server answered with the MCP error {code}"),
        }
    }
}

impl From<HttpFault> for RequestFault {
    fn from(fault: HttpFault) -> RequestFault {
        match fault {
            HttpFault::Gone => RequestFault::Gone,
            fault if fault.may_have_acted() => RequestFault::Unknown(fault.to_string()),
            fault => RequestFault::NotRun(fault.to_string()),
        }
    }
}
