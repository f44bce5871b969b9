//! What a failed call may be told of, and to whom.
//!
//! Visitors get a sentence of ours and the provider's code. What the provider
//! says itself, and what only the operator can use (addresses, settings), goes to
//! the log; and a provider's words that repeat anything of the request go nowhere.

use mindset_core::event::Reason;
use mindset_core::json::{self, Value};
use mindset_core::turn::{ModelFailure, ModelMessage, ModelRequest};

/// How much of a provider's own words is logged, in characters.
const MAX_WORDS: usize = 300;

/// The longest code that is shown, in characters.
const MAX_CODE: usize = 48;

/// A part of the request of this many characters counts as repeated.
const REPEATED: usize = 12;

/// A text of the request that is shorter than this is no secret by itself.
const WORD: usize = 4;

/// The failures of one call.
#[derive(Default)]
pub(super) struct Failures {
    host: String,
    private: Vec<String>,
}

/// What is private stays so.
impl std::fmt::Debug for Failures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Failures").field("host", &self.host).field("private", &self.private.len()).finish()
    }
}

/// The texts of a request that no failure may repeat.
pub(super) fn private_texts(request: &ModelRequest) -> Vec<String> {
    let mut texts = vec![request.system.clone()];
    for message in &request.messages {
        match message {
            ModelMessage::User(text) | ModelMessage::Tool { content: text, .. } => texts.push(text.clone()),
            ModelMessage::Assistant { text, calls, .. } => {
                texts.push(text.clone());
                texts.extend(calls.iter().map(|c| c.arguments.clone()));
            }
        }
    }
    texts
}

impl Failures {
    /// Those of a call to `host` that carries the `private` texts and keys.
    pub(super) fn new(host: &str, private: &[String]) -> Failures {
        let private = private.iter().map(|text| folded(text)).filter(|t| t.chars().count() >= WORD);
        Failures { host: host.to_owned(), private: private.collect() }
    }

    /// No connection, or one that broke before the answer.
    pub(super) fn unreachable(&self, connecting: bool) -> ModelFailure {
        let advice = if connecting { "cannot be reached; check base_url and the network" } else { "hung up" };
        self.log("", "", advice);
        failure(Reason::ModelError, "The model server cannot be reached. Try again in a moment.", true)
    }

    /// An answer that is no event stream.
    pub(super) fn no_stream(&self) -> ModelFailure {
        self.log("", "", "answered without an event stream; check base_url");
        failure(Reason::ModelError, "The model server's answer cannot be read. Tell the operator.", false)
    }

    /// Nothing came for so many seconds.
    pub(super) fn silence(&self, seconds: u64) -> ModelFailure {
        self.log("", "", "said nothing within idle_timeout");
        failure(Reason::Timeout, &format!("The model server said nothing for {seconds} s. Try again."), true)
    }

    /// Text where JSON was due.
    pub(super) fn not_json(&self) -> ModelFailure {
        self.log("", "", "sent text that is not JSON");
        failure(Reason::ModelError, "The model server's answer cannot be read. Try again.", true)
    }

    /// The stream ended without its end.
    pub(super) fn cut_off(&self) -> ModelFailure {
        failure(Reason::Interrupted, "The model's answer broke off before its end. Try again.", true)
    }

    /// An event that is larger than any should be.
    pub(super) fn too_large(&self) -> ModelFailure {
        failure(Reason::ModelError, "The model sent an event that is too large.", false)
    }

    /// An HTTP error answer.
    pub(super) fn of_answer(&self, status: u16, body: &str) -> ModelFailure {
        if let 300..=399 = status {
            self.log("", "", "redirects; put the final address into base_url");
            let text = "The model server cannot be used as it is set up. Tell the operator.";
            return failure(Reason::ModelError, text, false);
        }
        let parsed = json::parse(body).unwrap_or_default();
        self.of_error(parsed.get("error").unwrap_or(&parsed), Some(status))
    }

    /// An error object of a provider, from a body or from inside a stream.
    pub(super) fn of_error(&self, error: &Value, status: Option<u16>) -> ModelFailure {
        let text = |key: &str| error.str(key).unwrap_or("");
        let words = ["message", "detail"].into_iter().find_map(|key| error.str(key));
        let words = error.as_str().or(words).unwrap_or("");
        let number = |key: &str| error.get(key).and_then(Value::as_u64).map(|n| n.to_string());
        let number = number("code").or_else(|| number("status"));
        let code = number.unwrap_or_else(|| text("code").to_owned());
        let numeric = code.parse::<u16>().ok().filter(|n| (400..600).contains(n));
        let status = status.or(numeric).or_else(|| status_of(text("type"), &code));
        let too_long = is_too_long(&code, text("type"), words) || status == Some(413);
        let shown = [code.as_str(), text("type")].into_iter().find(|c| self.is_identifier(c)).unwrap_or("");
        let (reason, what, next, retryable, advice) = kind(if too_long { Some(0) } else { status });
        self.log(shown, words, advice);
        let code = if shown.is_empty() { String::new() } else { format!(" ({shown})") };
        failure(reason, &format!("{what}{code}. {next}"), retryable)
    }

    fn log(&self, code: &str, words: &str, advice: &str) {
        let (host, said) = (self.host.as_str(), self.loggable(words));
        tracing::warn!(host, code, said, "the model server {advice}");
    }

    /// A provider's words on one line, in short, if they repeat nothing.
    fn loggable(&self, words: &str) -> String {
        // A little more than is kept, or a repetition could begin at the cut.
        let looked_at: String = words.trim().chars().take(MAX_WORDS + REPEATED).collect();
        if self.repeats(&looked_at) {
            return "(withheld: repeats the request)".into();
        }
        looked_at.chars().take(MAX_WORDS).map(|c| if c.is_control() { ' ' } else { c }).collect()
    }

    fn repeats(&self, words: &str) -> bool {
        let words = folded(words);
        let chars: Vec<char> = words.chars().collect();
        let parts: Vec<String> = chars.windows(REPEATED).map(|part| part.iter().collect()).collect();
        self.private.iter().any(|text| match text.chars().count() {
            ..REPEATED => words.contains(text.as_str()),
            _ => parts.iter().any(|part| text.contains(part.as_str())),
        })
    }

    fn is_identifier(&self, code: &str) -> bool {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'-');
        !code.is_empty() && code.len() <= MAX_CODE && code.bytes().all(fits) && !self.repeats(code)
    }
}

/// The same text however it is quoted: lower case, single spaces, no quotes.
fn folded(text: &str) -> String {
    let text: String = text.chars().filter(|c| !matches!(c, '"' | '\'' | '\\' | '`')).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// What a status means: the reason, what happened, what to do, whether trying
/// again can help, and the operator's line. 0 is a conversation that is too long.
fn kind(status: Option<u16>) -> (Reason, &'static str, &'static str, bool, &'static str) {
    const OPERATOR: &str = "Only the operator of this page can change that.";
    const LATER: &str = "Try again in a moment.";
    match status {
        Some(0) => (
            Reason::ContextTooLong,
            "The conversation no longer fits the model",
            "Ask for less at once, or start a new one.",
            false,
            "refused a conversation that is too long",
        ),
        Some(401 | 403) => (
            Reason::Unauthorized,
            "The model provider does not let this server in",
            OPERATOR,
            false,
            "refused the key; check api_key",
        ),
        Some(429) => (
            Reason::RateLimited,
            "The model provider asks to slow down",
            LATER,
            true,
            "limits the rate; check the quota",
        ),
        Some(404) => (
            Reason::ModelError,
            "The model provider does not know the model",
            OPERATOR,
            false,
            "does not know the model or the address; check model and base_url",
        ),
        Some(408 | 500..=599) => (Reason::ModelError, "The model provider failed", LATER, true, "failed"),
        Some(_) => (
            Reason::ModelError,
            "The model provider refused the request",
            "Change the message or start a new conversation.",
            false,
            "refused the request",
        ),
        None => {
            (Reason::ModelError, "The model provider reported an error", LATER, true, "reported an error")
        }
    }
}

fn failure(reason: Reason, message: &str, retryable: bool) -> ModelFailure {
    ModelFailure { reason, message: message.to_owned(), retryable }
}

fn status_of(kind: &str, code: &str) -> Option<u16> {
    let known = |word: &str| match word.to_ascii_lowercase().as_str() {
        "invalid_request_error" | "invalid_request" | "bad_request" | "badrequesterror" => Some(400),
        "authentication_error" | "permission_error" | "invalid_api_key" => Some(401),
        "not_found_error" | "model_not_found" | "notfounderror" => Some(404),
        "request_too_large" => Some(413),
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "rate_limited"
        | "insufficient_quota"
        | "too_many_requests"
        | "resource_exhausted" => Some(429),
        "server_error" | "api_error" | "internal_error" | "internalservererror" => Some(500),
        "overloaded_error" | "overloaded" | "timeout_error" | "service_unavailable" | "unavailable" => {
            Some(529)
        }
        _ => None,
    };
    known(code).or_else(|| known(kind))
}

/// Whether a provider says that the request has more than the model can take in. Each
/// says it in its own words.
fn is_too_long(code: &str, kind: &str, words: &str) -> bool {
    const CODES: [&str; 2] = ["context_length_exceeded", "exceed_context_size_error"];
    const WORDS: [&str; 8] = [
        "maximum context length",
        "prompt is too long",
        "input is too long",
        "exceed context limit",
        "exceeds the available context size",
        "exceeds the maximum number of tokens",
        "context window",
        "too many tokens",
    ];
    let words = words.to_lowercase();
    CODES.contains(&code) || CODES.contains(&kind) || WORDS.iter().any(|part| words.contains(part))
}

/// The error that an event of a stream is or has. `answers` says that it has a piece of
/// the answer, too.
pub(super) fn error_in<'a>(event: &str, value: &'a Value, answers: bool) -> Option<&'a Value> {
    let value = value.as_array().and_then(<[Value]>::first).unwrap_or(value);
    let listed = value.get("errors").and_then(Value::as_array).and_then(<[Value]>::first);
    if let Some(error) = value.get("error").or(listed).filter(|e| is_error(e)) {
        return Some(error);
    }
    let called = ["object", "type"].iter().any(|key| value.str(key) == Some("error"));
    let worded = ["message", "detail"].iter().any(|key| value.str(key).is_some());
    let plain = matches!(event, "message" | "");
    (event == "error" || called || worded && plain && !answers).then_some(value)
}

/// Whether the member `error` reports one: some send it empty with every event.
pub(super) fn is_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures() -> Failures {
        let private =
            ["You are the assistant of Acme.", "my \"PIN\"\nis 1234, keep it", "pin 99", "sk-secret", "hi"];
        Failures::new("10.0.0.7:4778", &private.map(str::to_owned))
    }

    #[test]
    fn http_errors() {
        for (status, body, reason, retryable) in [
            (401, r#"{"error":{"message":"Incorrect key: sk-secret"}}"#, Reason::Unauthorized, false),
            (403, "<html>", Reason::Unauthorized, false),
            (429, r#"{"error":{"message":"slow down"}}"#, Reason::RateLimited, true),
            (400, r#"{"error":{"code":"context_length_exceeded"}}"#, Reason::ContextTooLong, false),
            (400, r#"{"error":{"message":"Bad prompt: my PIN is 1234"}}"#, Reason::ModelError, false),
            (503, "", Reason::ModelError, true),
            (529, r#"{"error":{"type":"overloaded_error","message":"busy"}}"#, Reason::ModelError, true),
            (302, "", Reason::ModelError, false),
        ] {
            let failed = failures().of_answer(status, body);
            assert_eq!((failed.reason, failed.retryable), (reason, retryable), "{status} {body}");
            for private in ["sk-secret", "PIN", "10.0.0.7", "base_url", "api_key"] {
                assert!(!failed.message.contains(private), "{}", failed.message);
            }
        }
    }

    #[test]
    fn words_that_repeat_the_request_go_nowhere() {
        for (words, kept) in [
            ("capacity reached, try later", true),
            ("You are", true),
            ("say hi", true),
            ("system: <You are the assistant", false),
            ("YOU  ARE\nTHE ASSISTANT", false),
            ("Bad prompt: \\\"my \\\"PIN\\\" is 1234", false),
            ("it says pin 99 there", false),
            ("key sk-secret is unknown", false),
        ] {
            assert_eq!(failures().loggable(words) == words, kept, "{words}");
        }
        let late = format!("{}You are the assistant", "x".repeat(MAX_WORDS - 5));
        assert!(!failures().loggable(&late).contains("You"));
        assert_eq!(failures().loggable(&"x".repeat(10_000)).len(), MAX_WORDS);
        assert_eq!(failures().loggable("a\nb"), "a b");
    }

    #[test]
    fn codes_are_shown_if_they_are_names() {
        for (error, shown) in [
            (r#"{"type":"overloaded_error"}"#, "(overloaded_error)"),
            (r#"{"code":"model_not_ready","type":"x"}"#, "(model_not_ready)"),
            (r#"{"code":503}"#, "(503)"),
            (r#"{"code":"See http://10.0.0.7/","type":"api_error"}"#, "(api_error)"),
        ] {
            let failed = failures().of_error(&json::parse(error).unwrap(), None);
            assert!(failed.message.contains(shown), "{}", failed.message);
        }
        for code in ["sk-secret", "Upper", "", "a b", &"a".repeat(MAX_CODE + 1)] {
            assert!(!failures().is_identifier(code), "{code}");
        }
        assert!(!format!("{:?}", failures()).contains("PIN"));
    }
}
