//! `servers.mcp.json`: the MCP servers that a service declares. Their addresses are placeholders;
//! where they are is known when the service has been started.

use std::path::Path;
use std::time::Duration;

use mindset_core::json::{self, Object, Value};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use super::Secret;
use super::read::Fault;
use super::reader::Reader;

/// How a server of a service must be addressed in the file.
const PLACEHOLDER: &str = "http://127.0.0.1:9/";

/// The largest file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Headers that the runtime itself sends.
const TAKEN: &[&str] = &[
    "x-user-id",
    "x-app-uid",
    "x-session-tags",
    "x-human-uid",
    "x-mindset-token",
    "host",
    "accept",
    "connection",
    "transfer-encoding",
    "last-event-id",
];

/// One server of the file.
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) headers: Vec<(String, Secret)>,
    pub(super) description: Option<String>,
    pub(super) timeout: Option<Duration>,
}

impl Reader<'_> {
    /// The servers of a file; `None` if it is none, which is told.
    pub(super) fn servers_file(&mut self, file: &Path, path: &str) -> Option<Vec<Declared>> {
        let size = std::fs::metadata(file).map(|m| m.len());
        let text = match size {
            Ok(size) if size > MAX_FILE => Err(format!("is larger than {MAX_FILE} bytes")),
            _ => std::fs::read_to_string(file).map_err(|error| format!("cannot be read ({})", error.kind())),
        };
        let text = match text {
            Ok(text) => text,
            Err(problem) => {
                let remedy =
                    "name the file that declares the MCP servers of the service, from its `directory`";
                self.fault(path, &format!("{} {problem}", file.display()), remedy);
                return None;
            }
        };
        let before = self.faults.len();
        let declared = self.declared(file, &text);
        (self.faults.len() == before).then_some(declared)
    }

    /// A fault of the file.
    pub(super) fn file_fault(&mut self, file: &Path, path: &str, problem: &str, remedy: &str) {
        let source = file.display().to_string();
        self.faults.push(Fault { source, path: path.into(), problem: problem.into(), remedy: remedy.into() });
    }

    fn declared(&mut self, file: &Path, text: &str) -> Vec<Declared> {
        let root = match json::parse(text) {
            Ok(Value::Object(root)) => root,
            Ok(_) => {
                self.file_fault(
                    file,
                    "the file",
                    "not a JSON object",
                    "begin it with {\"schemaVersion\": 1, …",
                );
                return Vec::new();
            }
            Err(error) => {
                let remedy = "correct the JSON there";
                self.file_fault(
                    file,
                    &format!("line {} column {}", error.line, error.column),
                    error.reason,
                    remedy,
                );
                return Vec::new();
            }
        };
        for path in repeated(text) {
            self.file_fault(file, &path, "there twice", "keep one of them");
        }
        self.members(file, "", &root, &["schemaVersion", "mcpServers"]);
        if root.get("schemaVersion").and_then(Value::as_u64) != Some(1) {
            self.file_fault(file, "schemaVersion", "not the version that is known here", "write 1");
        }
        let Some(servers) = root.get("mcpServers").and_then(Value::as_object) else {
            let remedy =
                "write {\"name\": {\"type\": \"streamable-http\", \"url\": \"http://127.0.0.1:9/mcp/name\"}}";
            self.file_fault(file, "mcpServers", "missing, or no object of servers", remedy);
            return Vec::new();
        };
        servers.iter().map(|(name, server)| self.declared_server(file, name, server)).collect()
    }

    fn declared_server(&mut self, file: &Path, name: &str, server: &Value) -> Declared {
        let path = format!("mcpServers.{name}");
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
            self.file_fault(file, &path, "not a name for a server", "take 1 to 64 of A-Z a-z 0-9 _ -");
        }
        let mut declared =
            Declared { name: name.to_owned(), headers: Vec::new(), description: None, timeout: None };
        let Some(server) = server.as_object() else {
            self.file_fault(file, &path, "not an object", "write {\"type\": \"streamable-http\", …}");
            return declared;
        };
        self.members(file, &path, server, &["type", "url", "headers", "description", "timeout"]);
        if server.str("type") != Some("streamable-http") {
            let remedy = "write \"streamable-http\", which is what services speak";
            self.file_fault(file, &format!("{path}.type"), "another kind of server, or none", remedy);
        }
        self.placeholder(file, &format!("{path}.url"), server.str("url"));
        declared.headers = self.headers(file, &format!("{path}.headers"), server.get("headers"));
        match server.get("description") {
            Some(Value::String(text)) => declared.description = Some(text.clone()),
            Some(_) => {
                self.file_fault(file, &format!("{path}.description"), "not a text", "write a sentence")
            }
            None => {}
        }
        match server.get("timeout").map(Value::as_u64) {
            Some(Some(ms @ 1..)) => declared.timeout = Some(Duration::from_millis(ms)),
            Some(_) => {
                let remedy = "write how long a call may take in milliseconds, such as 30000";
                self.file_fault(file, &format!("{path}.timeout"), "not a whole number above 0", remedy);
            }
            None => {}
        }
        declared
    }

    /// Members that nobody reads.
    fn members(&mut self, file: &Path, path: &str, object: &Object, known: &[&str]) {
        for (name, _) in object.iter().filter(|(name, _)| !known.contains(name)) {
            let at = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            self.file_fault(file, &at, "unknown member", &format!("known are {}", known.join(", ")));
        }
    }

    /// The address is one that cannot work: only the runtime knows the right one.
    fn placeholder(&mut self, file: &Path, path: &str, url: Option<&str>) {
        let plain = |url: Url| url.query().is_none() && url.fragment().is_none();
        let fits = url.is_some_and(|url| url.starts_with(PLACEHOLDER) && Url::parse(url).is_ok_and(plain));
        if !fits {
            let remedy = "write the placeholder http://127.0.0.1:9 and the path of the endpoint; the runtime \
                          puts the real port in. Servers elsewhere are [[apps.mcp_servers]]";
            self.file_fault(file, path, "not the placeholder address of a service", remedy);
        }
    }

    fn headers(&mut self, file: &Path, path: &str, headers: Option<&Value>) -> Vec<(String, Secret)> {
        let Some(headers) = headers else { return Vec::new() };
        let Some(headers) = headers.as_object() else {
            self.file_fault(file, path, "not an object", "write {\"name\": \"value\"}");
            return Vec::new();
        };
        let mut read: Vec<(String, Secret)> = Vec::new();
        for (name, value) in headers.iter() {
            let at = format!("{path}.{name}");
            let lower = name.to_ascii_lowercase();
            let own =
                TAKEN.contains(&lower.as_str()) || lower.starts_with("mcp-") || lower.starts_with("content-");
            if own {
                self.file_fault(file, &at, "the runtime sends this header itself", "leave it out");
            } else if read.iter().any(|(known, _)| *known == lower) {
                self.file_fault(file, &at, "there twice", "keep one of them");
            }
            let Some(value) = self.header_value(file, &at, value) else { continue };
            if HeaderName::from_bytes(name.as_bytes()).is_err()
                || HeaderValue::from_str(value.expose()).is_err()
            {
                let remedy = "write name and value as a request can carry them, the value on one line";
                self.file_fault(file, &at, "cannot be sent as a header", remedy);
            }
            read.push((lower, value));
        }
        read
    }

    /// A literal, or `env:NAME`.
    fn header_value(&mut self, file: &Path, path: &str, value: &Value) -> Option<Secret> {
        let Some(text) = value.as_str() else {
            self.file_fault(file, path, "not a text", "write \"value\", or \"env:NAME\"");
            return None;
        };
        let Some(name) = text.strip_prefix("env:") else { return Some(Secret::new(text)) };
        let value = self.env.get(name).filter(|value| !value.is_empty());
        if value.is_none() {
            let remedy = "set it, or write the value itself";
            self.file_fault(file, path, &format!("the environment has no {name}"), remedy);
        }
        value.map(Secret::new)
    }
}

/// The paths of members that an object has twice. `text` is JSON.
fn repeated(text: &str) -> Vec<String> {
    let (mut open, mut found): (Vec<Level>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '{' => open.push(Level { names: Some(Vec::new()), ..Level::default() }),
            '[' => open.push(Level::default()),
            '}' | ']' => drop(open.pop()),
            ',' => open.iter_mut().last().into_iter().for_each(|level| level.at_value = false),
            ':' => open.iter_mut().last().into_iter().for_each(|level| level.at_value = true),
            '"' => {
                length = string(rest);
                let name = json::parse(rest.get(..length).unwrap_or_default()).ok();
                if let Some(name) = name.as_ref().and_then(Value::as_str) {
                    found.extend(named(&mut open, name));
                }
            }
            _ => {}
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

/// A list, or an object with the names that were read.
#[derive(Default)]
struct Level {
    names: Option<Vec<String>>,
    at_value: bool,
}

/// Takes a string that may be a name; its path if the object has it already.
fn named(open: &mut [Level], name: &str) -> Option<String> {
    let (level, outer) = open.split_last_mut()?;
    let names = level.names.as_mut().filter(|_| !level.at_value)?;
    let known = names.iter().any(|known| known == name);
    names.push(name.to_owned());
    let outer = outer.iter().filter_map(|level| level.names.as_ref()?.last().map(String::as_str));
    known.then(|| outer.chain([name]).collect::<Vec<_>>().join("."))
}

/// The length of the string that `text` begins with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_there_twice() {
        for (text, paths) in [
            (r#"{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}"#, &[][..]),
            (r#"{"a":"b","b":"a"}"#, &[]),
            (r#"{"a":1,"a":2}"#, &["a"]),
            (r#"{"a":{"x":{}, "y\"}":1, "y\"}":[]}}"#, &["a.y\"}"]),
            (r#"{"mcpServers":{"s":{"url":"x","url":"y"},"s":1}}"#, &["mcpServers.s.url", "mcpServers.s"]),
            (r#"{"a":1,"\u0061":2}"#, &["a"]),
            (r#"["a","a"]"#, &[]),
        ] {
            assert_eq!(repeated(text), paths, "{text}");
        }
    }
}
