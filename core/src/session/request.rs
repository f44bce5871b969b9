//! The requests a session makes.

use super::transcript::UserMessage;
use super::{Config, FetchId, FetchPurpose, FetchRequest, Token};
use crate::json::{Object, Value};
use crate::queue::WhenBusy;
use crate::widget::{ACTION, read_action};

/// A request that has no number yet.
pub(super) struct Request {
    purpose: FetchPurpose,
    method: &'static str,
    url: String,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

impl Request {
    pub(super) fn with_id(self, id: FetchId) -> FetchRequest {
        FetchRequest {
            id,
            purpose: self.purpose,
            method: self.method,
            url: self.url,
            headers: self.headers,
            body: self.body,
        }
    }

    /// `POST {server}/v1/anonymous`.
    pub(super) fn sign_in(config: &Config, anonymous_key: Option<&str>) -> Request {
        let mut body = crate::object! { "appUid": &config.app_uid, "agentUid": &config.agent_uid };
        body.insert_some("anonymousKey", anonymous_key);
        Request::json(FetchPurpose::SignIn, url(config, &["v1", "anonymous"]), body.text())
    }

    /// The run, at the runtime or at exactly `server`.
    pub(super) fn run(config: &Config, body: String) -> Request {
        let url = match config.protocol {
            super::Protocol::Mindset => url(config, &["v1", "agents", &config.agent_uid, "runs"]),
            super::Protocol::AgUi => config.server.clone(),
        };
        let mut request = Request::json(FetchPurpose::Run, url, body);
        request.headers.push(("Accept", "text/event-stream".to_owned()));
        request
    }

    /// A run that is only to be taken: the answer is `{ runId, state, position }`.
    pub(super) fn waiting_run(config: &Config, body: String) -> Request {
        let url = url(config, &["v1", "agents", &config.agent_uid, "runs"]);
        let mut request = Request::json(FetchPurpose::Queue, url, body);
        request.headers.push(("Accept", "application/json".to_owned()));
        request
    }

    /// `GET {server}/v1/runs/{runId}/events`, from behind the event `position` on.
    pub(super) fn events(config: &Config, run_id: &str, position: Option<String>) -> Request {
        let mut request = Request::api(config, FetchPurpose::Events, "GET", &["runs", run_id, "events"]);
        request.headers.push(("Accept", "text/event-stream".to_owned()));
        request.headers.extend(position.map(|id| ("Last-Event-ID", id)));
        request
    }

    /// `{method} {server}/v1/{place}`.
    pub(super) fn api(
        config: &Config,
        purpose: FetchPurpose,
        method: &'static str,
        place: &[&str],
    ) -> Request {
        let mut url = url(config, &["v1"]);
        append(&mut url, place);
        Request { purpose, method, url, headers: Vec::new(), body: None }
    }

    /// The same with a query of one parameter.
    pub(super) fn with_query(mut self, name: &str, value: &str) -> Request {
        self.url.push('?');
        self.url.push_str(name);
        self.url.push('=');
        percent_encode(&mut self.url, value);
        self
    }

    /// The same with a JSON body.
    pub(super) fn with_body(mut self, body: &Object) -> Request {
        self.headers.push(("Content-Type", "application/json".to_owned()));
        self.body = Some(body.text());
        self
    }

    /// Where it goes.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    fn json(purpose: FetchPurpose, url: String, body: String) -> Request {
        let headers = vec![("Content-Type", "application/json".to_owned())];
        Request { purpose, method: "POST", url, headers, body: Some(body) }
    }

    pub(super) fn authorized(mut self, token: Option<&Token>) -> Request {
        if let Some(token) = token {
            self.headers.push(("Authorization", token.bearer()));
        }
        self
    }
}

/// `forwardedProps` of every run.
pub(super) fn forwarded_props(
    config: &Config,
    message: &UserMessage,
    replace_from: Option<&str>,
    passthrough: Option<Object>,
) -> Object {
    let mut mindset = crate::object! {
        "inputType": if message.silent { "PSEUDO_HUMAN" } else { "HUMAN" },
        "clientId": &config.client_id,
    };
    if config.can_ask {
        mindset.insert("answers", true);
    }
    if let Some(call) = &config.call {
        mindset.insert("agentSession", true);
        mindset.insert_some("model", call.model.as_deref());
        mindset.insert_some("whenBusy", call.when_busy.map(WhenBusy::as_str));
    }
    mindset.insert_some("replaceFrom", replace_from);
    if let Some(files) = message.files.as_ref().and_then(Value::as_array) {
        let mut ids = Vec::new();
        for file in files {
            ids.extend(file.str("id").map(Value::from));
        }
        mindset.insert("uploads", Value::Array(ids));
    }
    if message.silent && message.text.starts_with(ACTION) {
        mindset.insert_some("widgetAction", read_action(&message.text));
    }
    mindset.insert_some("passthroughParams", passthrough);
    crate::object! { "mindset": mindset }
}

fn url(config: &Config, segments: &[&str]) -> String {
    let mut url = config.server.clone();
    while url.ends_with('/') {
        url.pop();
    }
    append(&mut url, segments);
    url
}

fn append(url: &mut String, segments: &[&str]) {
    for segment in segments {
        url.push('/');
        percent_encode(url, segment);
    }
}

/// Appends `text` as one path segment: everything but RFC 3986's unreserved
/// characters is escaped, so no id can leave its place.
fn percent_encode(url: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(byte as char);
        } else {
            url.push('%');
            for digit in [byte >> 4, byte & 15] {
                url.push(HEX.get(usize::from(digit)).map_or('0', |&d| d as char));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn an_id_stays_one_segment() {
        for (agent_uid, segment) in [
            ("support", "support"),
            ("support::42", "support%3A%3A42"),
            ("../é?#", "..%2F%C3%A9%3F%23"),
            ("a b", "a%20b"),
        ] {
            let config =
                Config { server: "https://h/".into(), agent_uid: agent_uid.into(), ..Config::default() };
            let request = Request::run(&config, String::new()).with_id(FetchId(1));
            assert_eq!(request.url, ["https://h/v1/agents/", segment, "/runs"].concat());
        }
    }
}
