//! JSON between our values and rmcp's types.
//!
//! rmcp's types are strict: one tool without a schema or one unknown content block
//! makes it drop the whole message, and its numbers are doubles. So what matters
//! travels beside its types as text: the arguments of a call, the result of a
//! call, and each listed tool, exactly as they were written.

use mindset_core::json::{self, Object, Value};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, CustomRequest, ServerJsonRpcMessage};

/// Under this name text travels beside rmcp's types; it never leaves the process.
pub(super) const BESIDE: &str = "mindset.text";

/// Under this name the number of a call travels with it, and with what its server asks; it never
/// leaves the process.
pub(super) const CALL: &str = "mindset.call";

/// The method by which a server asks people, and its name beside rmcp's types.
const ASK: &str = "elicitation/create";
const QUESTION: &str = "mindset/question";

/// The code and mark of errors that are made here, not by the server.
pub(super) const TOO_LARGE: i32 = -32_099;

/// Deeper than this rmcp's parser gives up.
const MAX_SCHEMA_DEPTH: usize = 64;

/// The longest text of a server's error.
const MAX_ERROR: usize = 4096;

/// What a request is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// The handshake's result, and before it nothing else.
    Start,
    /// A page of tools.
    Tools,
    /// The result of a call.
    Call,
    /// Something else, or anything.
    Any,
}

impl Expect {
    /// What answers `message`.
    pub(super) fn of(message: &ClientJsonRpcMessage) -> Expect {
        let ClientJsonRpcMessage::Request(request) = message else { return Expect::Any };
        match &request.request {
            ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_) => Expect::Start,
            ClientRequest::ListToolsRequest(_) => Expect::Tools,
            ClientRequest::CallToolRequest(_) => Expect::Call,
            _ => Expect::Any,
        }
    }
}

/// A message as it is sent: a call with its arguments as they were written.
pub(super) fn outgoing(message: &ClientJsonRpcMessage) -> Option<String> {
    let text = serde_json::to_string(message).ok()?;
    if Expect::of(message) != Expect::Call {
        return Some(text);
    }
    let mut value = json::parse(&text).ok()?;
    let Some(Value::Object(params)) = value.get_mut("params") else { return Some(text) };
    let Some(Value::Object(meta)) = params.get_mut("_meta") else { return Some(text) };
    let Some(Value::String(arguments)) = meta.remove(BESIDE) else { return Some(text) };
    meta.remove(CALL);
    let is_empty = meta.is_empty();
    params.insert("arguments", json::parse(&arguments).ok()?);
    if is_empty {
        params.remove("_meta");
    }
    Some(value.text())
}

/// The number of the call that is sent.
pub(super) fn call(message: &ClientJsonRpcMessage) -> Option<u64> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    call.params.meta.as_ref()?.get(CALL)?.as_u64()
}

/// What a server asks people, and the number of the call on whose stream it came.
pub(super) fn question(request: &CustomRequest) -> Option<(Option<u64>, Value)> {
    if request.method != QUESTION {
        return None;
    }
    let params = request.params.as_ref()?;
    let number = params.get(CALL).and_then(serde_json::Value::as_u64);
    Some((number, json::parse(params.get(BESIDE)?.as_str()?).ok()?))
}

/// What a server asks, as a request that rmcp hands on as it is.
fn asked(mut message: Object, call: Option<u64>) -> Object {
    let params = message.remove("params").unwrap_or_default();
    let mut own = Object::new();
    own.insert(BESIDE, params.text());
    own.insert_some(CALL, call);
    message.insert("method", QUESTION);
    message.insert("params", own);
    message
}

/// A server's message as rmcp can take it; `None` when there is no use for it.
/// `id` is that of the request which it can only be the answer to, whatever id it has; `call` the
/// number of the call on whose stream it came.
pub(super) fn incoming(text: &str, expect: Expect, id: Option<&Value>, call: Option<u64>) -> Option<String> {
    let Ok(Value::Object(mut message)) = json::parse(text) else { return None };
    message.insert("jsonrpc", "2.0");
    let answers = message.get("error").is_some() || message.get("result").is_some();
    if let (true, Some(id)) = (answers, id) {
        message.insert("id", id.clone());
    }
    if let Some(error) = message.remove("error") {
        message.insert("error", reported(&error, expect));
        message.remove("result");
    } else if let Some(result) = message.remove("result") {
        message.insert("result", adapted(result, expect));
    } else if expect == Expect::Start {
        return None;
    } else if message.get("id").is_some() {
        match message.str("method") {
            Some(ASK) => message = asked(message, call),
            // Nobody else may speak so.
            Some(QUESTION) => return None,
            _ => {}
        }
    }
    let text = message.text();
    serde_json::from_str::<ServerJsonRpcMessage>(&text).ok().map(|_| text)
}

/// An error that ends the request `id` because its answer is too large.
pub(super) fn too_large(id: &Value) -> String {
    let mut error = Object::new();
    error.insert("code", i64::from(TOO_LARGE));
    error.insert("message", "too large");
    error.insert("data", BESIDE);
    let mut message = Object::new();
    message.insert("jsonrpc", "2.0");
    message.insert("id", id.clone());
    message.insert("error", error);
    message.text()
}

/// The id of a request.
pub(super) fn id(message: &ClientJsonRpcMessage) -> Option<Value> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    json::parse(&serde_json::to_string(&request.id).ok()?).ok()
}

/// A server's error with a code and a message. Its data stays out but in the
/// handshake, where it lists revisions.
fn reported(error: &Value, expect: Expect) -> Object {
    let mut out = Object::new();
    let code = match error.get("code") {
        Some(Value::Number(code)) => code.as_i64().and_then(|code| i32::try_from(code).ok()),
        _ => None,
    };
    out.insert("code", i64::from(code.unwrap_or(-32603)));
    let message = error.str("message").or_else(|| error.as_str()).unwrap_or_default();
    out.insert("message", bounded(message, MAX_ERROR));
    if expect == Expect::Start {
        out.insert_some("data", error.get("data").cloned());
    }
    out
}

fn adapted(result: Value, expect: Expect) -> Value {
    match (expect, result) {
        (Expect::Start, Value::Object(mut result)) => {
            // Of no use here, of any size, and not to be believed.
            result.remove("instructions");
            Value::Object(result)
        }
        (Expect::Tools, result) => listed(&result),
        (Expect::Any, result) if result.get("tools").is_some_and(|t| t.as_array().is_some()) => {
            listed(&result)
        }
        (Expect::Start, result) => result,
        (_, result) => {
            let mut out = Object::new();
            out.insert("content", Value::Array(Vec::new()));
            out.insert("structuredContent", result.text());
            Value::Object(out)
        }
    }
}

/// A page of tools: each with what rmcp needs and its own text beside it.
fn listed(result: &Value) -> Value {
    let items = result.get("tools").and_then(Value::as_array).unwrap_or_default();
    let tools = items.iter().map(|item| {
        let schema = item.get("inputSchema").filter(|s| s.is_object() && is_plain(s));
        let mut meta = Object::new();
        meta.insert(BESIDE, item.text());
        let mut tool = Object::new();
        tool.insert("name", item.str("name").unwrap_or_default());
        tool.insert("inputSchema", schema.cloned().unwrap_or_else(|| Value::Object(Object::new())));
        tool.insert("_meta", meta);
        Value::Object(tool)
    });
    let mut out = Object::new();
    out.insert("tools", Value::Array(tools.collect()));
    out.insert_some("nextCursor", result.str("nextCursor"));
    out.insert_some("ttlMs", result.get("ttlMs").and_then(Value::as_u64));
    Value::Object(out)
}

/// Whether rmcp's parser takes it: not too deep, and no number beyond a double.
fn is_plain(schema: &Value) -> bool {
    depth(schema) <= MAX_SCHEMA_DEPTH && serde_json::from_str::<serde_json::Value>(&schema.text()).is_ok()
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.iter().map(|(_, v)| depth(v)).max().unwrap_or(0),
        _ => 0,
    }
}

/// The beginning of a text, at most `max` bytes, cut between characters.
pub(super) fn bounded(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text.get(..end).unwrap_or_default())
}
