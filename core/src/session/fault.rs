//! What went wrong, in sentences for people: what happened and what to do next.

use super::FetchFailure;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::Reason;
use crate::json::{concat, digits, lossy};

/// A server's message is shown up to here, in bytes.
const SAID_LIMIT: usize = 1_000;

/// The server answered a request with something that is not what was asked for.
pub(super) fn refused(status: u16, content_type: &str, body: &[u8]) -> ErrorInfo {
    let body = lossy(body);
    if let Some(mut info) = ErrorInfo::from_body(&body, status) {
        info.message = said(&info.message);
        return info;
    }
    if (200..400).contains(&status) {
        return not_the_protocol(content_type, &body);
    }
    let remedy = match status {
        401 => "The credentials were refused: sign in again, or check what `fetchAuthentication` returns.",
        403 => "This page or user may not talk to this agent.",
        404 => "There is nothing at this address: check `server` and `agent-uid`.",
        429 => "Too many requests: wait a moment and try again.",
        500..=599 => "The server has a problem: try again in a moment.",
        _ => "Check that `server` is the address of an agent runtime.",
    };
    let message = concat(&["The server answered with status ", &digits(status.into()), ". ", remedy]);
    ErrorInfo::new(ErrorCode::from_status(status), message).with("status", u32::from(status))
}

/// A good status, but no answer this protocol knows.
pub(super) fn not_the_protocol(content_type: &str, body: &str) -> ErrorInfo {
    let what = if content_type.is_empty() { "no content type" } else { content_type };
    let mut message = concat(&["The server answered with ", &excerpt(what)]);
    let start = excerpt(body);
    if start.is_empty() {
        message.push_str(" and an empty body");
    } else {
        message.push_str(" (\u{201c}");
        message.push_str(&start);
        message.push_str("\u{201d})");
    }
    message.push_str(", which is no agent's answer. Check that `server` is the address of an agent runtime.");
    ErrorInfo::new(ErrorCode::Protocol, message)
}

/// The stream is no AG-UI.
pub(super) fn bad_stream(what: &str) -> ErrorInfo {
    let message = concat(&[
        "The agent's answer could not be read: ",
        &excerpt(what),
        ". Try again; if it happens again, check that `server` speaks AG-UI.",
    ]);
    ErrorInfo::new(ErrorCode::Protocol, message)
}

/// The request never got an answer.
pub(super) fn unreachable(failure: &FetchFailure) -> ErrorInfo {
    let mut message = "The server could not be reached".to_owned();
    let said = excerpt(&failure.message);
    if !said.is_empty() {
        message.push_str(" (");
        message.push_str(&said);
        message.push(')');
    }
    message.push_str(". Check the connection and the address in `server`, then try again.");
    ErrorInfo::new(ErrorCode::Network, message)
}

/// The answer stopped before its end.
pub(super) fn cut_off() -> ErrorInfo {
    ErrorInfo::new(ErrorCode::Network, "The connection broke before the answer was whole. Try again.")
}

/// Nothing came for the time a request may take.
pub(super) fn timed_out() -> ErrorInfo {
    ErrorInfo::new(ErrorCode::Timeout, "The server did not answer in time. Try again in a moment.")
}

/// The reason in `run_error` for a failure that is told by its code.
pub(super) fn reason(code: ErrorCode) -> Reason {
    match code {
        ErrorCode::InvalidAuth | ErrorCode::AuthExpired => Reason::Unauthorized,
        ErrorCode::RateLimited => Reason::RateLimited,
        ErrorCode::Timeout => Reason::Timeout,
        ErrorCode::Network => Reason::Interrupted,
        _ => Reason::Internal,
    }
}

/// The code in `TurnResult.error` for a failure that the server tells by its
/// reason.
pub(super) fn code(reason: Reason) -> ErrorCode {
    match reason {
        Reason::ModelError | Reason::ToolError | Reason::Cancelled => ErrorCode::ServerError,
        Reason::Timeout => ErrorCode::Timeout,
        Reason::RateLimited => ErrorCode::RateLimited,
        Reason::ContextTooLong => ErrorCode::TooLarge,
        Reason::Interrupted => ErrorCode::Network,
        Reason::Unauthorized => ErrorCode::InvalidAuth,
        Reason::Internal => ErrorCode::Internal,
    }
}

/// A server's own words, as much of them as a person reads.
pub(super) fn said(text: &str) -> String {
    let mut end = text.len().min(SAID_LIMIT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut out = text.get(..end).unwrap_or("").to_owned();
    if end < text.len() {
        out.push('\u{2026}');
    }
    out
}

/// The first 60 characters on one line, so that an answer of the wrong kind can
/// be recognised in a message without filling it.
fn excerpt(text: &str) -> String {
    let mut out = String::new();
    let (mut room, mut gap) = (60, 0);
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            gap = usize::from(!out.is_empty());
            continue;
        }
        if room <= gap {
            break;
        }
        if gap > 0 {
            out.push(' ');
        }
        out.push(c);
        room -= gap + 1;
        gap = 0;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_wrong_answer_is_named_shortly() {
        let long = "x".repeat(5000);
        assert_eq!(excerpt(" <!doctype html>\n\t<html>\u{7}"), "<!doctype html> <html>");
        assert_eq!(excerpt(&long).len(), 60);
        let info = refused(200, "text/html", b"<html>Hello");
        assert_eq!(info.code, ErrorCode::Protocol);
        assert!(info.message.contains("text/html") && info.message.contains("<html>Hello"));
        assert!(refused(200, "", b"").message.contains("empty body"));
    }

    #[test]
    fn long_words_of_a_server_are_cut_between_characters() {
        assert_eq!(said("slow down"), "slow down");
        let cut = said(&"é".repeat(5000));
        assert_eq!((cut.chars().count(), cut.ends_with("é…")), (501, true));
    }

    #[test]
    fn a_status_without_a_body_has_a_sentence() {
        for (status, code) in [
            (401, ErrorCode::InvalidAuth),
            (404, ErrorCode::NotFound),
            (429, ErrorCode::RateLimited),
            (502, ErrorCode::ServerError),
            (418, ErrorCode::Protocol),
        ] {
            let info = refused(status, "text/html", b"<html>");
            assert_eq!(info.code, code);
            assert!(info.message.contains(&status.to_string()));
        }
    }
}
