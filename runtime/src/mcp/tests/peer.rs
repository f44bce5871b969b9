//! A small HTTP server whose every answer the test writes, byte by byte if need be.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mindset_core::json::{self, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
    pub(super) text: String,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(super) fn session(&self) -> &str {
        self.header("mcp-session-id")
    }

    /// `POST tools/call s1` and the like.
    pub(super) fn line(&self) -> String {
        let what = self.body.str("method").unwrap_or("-");
        format!("{} {what} {}", self.method, self.session()).trim_end().to_owned()
    }

    pub(super) fn is(&self, method: &str) -> bool {
        self.body.str("method") == Some(method)
    }

    /// The tool that is called, or the text argument of it.
    pub(super) fn tool(&self) -> &str {
        self.body.get("params").and_then(|p| p.str("name")).unwrap_or_default()
    }

    fn id(&self) -> String {
        self.body.get("id").map(Value::text).unwrap_or("null".into())
    }

    /// A result to this request.
    pub(super) fn result(&self, result: &str) -> Reply {
        Reply::json(200, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id()))
    }

    /// An error to this request.
    pub(super) fn error(&self, error: &str) -> Reply {
        Reply::json(200, &format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, self.id()))
    }

    /// A result to this request as the last event of a stream, once `all` of what was asked lets it.
    pub(super) fn result_once(
        &self,
        result: &str,
        all: impl Fn(&[Seen]) -> bool + Send + Sync + 'static,
    ) -> Reply {
        let last = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n\n", self.id());
        Reply::stream_until("", move |asked| all(asked).then(|| last.clone()))
    }

    /// A stream that ends with a result to this request.
    pub(super) fn streamed(&self, before: &[&str], result: &str) -> Reply {
        let last = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id());
        let events: String =
            before.iter().copied().chain([last.as_str()]).map(|e| format!("data: {e}\n\n")).collect();
        Reply::plain(200, "text/event-stream", &events)
    }
}

/// The rest of an answer, once it can be told from all that was asked so far.
type Rest = dyn Fn(&[Seen]) -> Option<String> + Send + Sync;

/// What is sent back, and what becomes of the connection.
#[derive(Clone)]
pub(super) struct Reply {
    bytes: Vec<u8>,
    delay: Duration,
    then: Then,
    rest: Option<Arc<Rest>>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    Keep,
    Close,
    Hang,
}

impl Reply {
    pub(super) fn plain(status: u16, kind: &str, body: &str) -> Reply {
        Reply::with(status, &[("content-type", kind)], body)
    }

    pub(super) fn json(status: u16, body: &str) -> Reply {
        Reply::plain(status, "application/json", body)
    }

    pub(super) fn with(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Reply {
            bytes: format!("{head}\r\n{body}").into_bytes(),
            delay: Duration::ZERO,
            then: Then::Keep,
            rest: None,
        }
    }

    pub(super) fn accepted() -> Reply {
        Reply::with(202, &[], "")
    }

    /// Nothing, for ever.
    pub(super) fn silence() -> Reply {
        Reply { bytes: Vec::new(), delay: Duration::ZERO, then: Then::Hang, rest: None }
    }

    /// The end of the connection instead of an answer.
    pub(super) fn cut() -> Reply {
        Reply { bytes: Vec::new(), delay: Duration::ZERO, then: Then::Close, rest: None }
    }

    /// The beginning of a stream, and then its end or nothing.
    pub(super) fn part_of_stream(events: &str, hang: bool) -> Reply {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99999999\r\n\r\n";
        let then = if hang { Then::Hang } else { Then::Close };
        Reply { bytes: format!("{head}{events}").into_bytes(), delay: Duration::ZERO, then, rest: None }
    }

    /// A stream that ends with `rest`, when that can be told.
    pub(super) fn stream_until(
        events: &str,
        rest: impl Fn(&[Seen]) -> Option<String> + Send + Sync + 'static,
    ) -> Reply {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let bytes = format!("{head}{events}").into_bytes();
        Reply { bytes, delay: Duration::ZERO, then: Then::Close, rest: Some(Arc::new(rest)) }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Reply {
        let at = self.bytes.windows(2).position(|w| w == b"\r\n").unwrap() + 2;
        self.bytes.splice(at..at, format!("{name}: {value}\r\n").into_bytes());
        self
    }

    pub(super) fn after(mut self, delay: Duration) -> Reply {
        self.delay = delay;
        self
    }
}

type Script = dyn Fn(&Seen) -> Reply + Send + Sync;

/// The server.
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Peer {
    pub(super) async fn start(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (script, list): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&script), Arc::clone(&list)));
            }
        });
        Peer { address, seen, task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// What was asked, without the standing stream.
    pub(super) fn lines(&self) -> Vec<String> {
        self.seen().iter().filter(|s| s.method != "GET").map(Seen::line).collect()
    }

    pub(super) fn count(&self, method: &str) -> usize {
        self.seen().iter().filter(|s| s.is(method)).count()
    }

    /// Waits until a request of this kind has come.
    pub(super) async fn until(&self, what: impl Fn(&Seen) -> bool) -> Seen {
        for _ in 0..3000 {
            if let Some(seen) = self.seen().into_iter().find(&what) {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never asked for: {:?}", self.lines());
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Script>, list: Arc<Mutex<Vec<Seen>>>) {
    let mut buffer = Vec::new();
    while let Some(seen) = read(&mut stream, &mut buffer).await {
        list.lock().unwrap().push(seen.clone());
        let reply = script(&seen);
        tokio::time::sleep(reply.delay).await;
        if stream.write_all(&reply.bytes).await.is_err() {
            return;
        }
        if let Some(rest) = &reply.rest {
            loop {
                let told = rest(&list.lock().unwrap());
                let Some(text) = told else {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    continue;
                };
                let _ = stream.write_all(text.as_bytes()).await;
                // A request is not the end.
                if !text.contains("\"method\"") {
                    break;
                }
            }
        }
        if reply.then == Then::Close {
            return;
        }
        if reply.then == Then::Hang {
            // Until the other side goes.
            let _ = stream.read(&mut [0; 64]).await;
            return;
        }
    }
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Seen> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        more(stream, buffer).await?;
    };
    let head = String::from_utf8(buffer.drain(..head_end).collect()).ok()?;
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|l| l.split_once(": "))
        .map(|(n, v)| (n.to_ascii_lowercase(), v.to_owned()))
        .collect();
    let length = headers.get("content-length").and_then(|l| l.parse().ok()).unwrap_or(0);
    while buffer.len() < length {
        more(stream, buffer).await?;
    }
    let text = String::from_utf8(buffer.drain(..length).collect()).ok()?;
    let body = json::parse(&text).unwrap_or_default();
    Some(Seen { method, path, headers, body, text })
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut bytes = vec![0; 64 * 1024];
    let read = stream.read(&mut bytes).await.ok().filter(|n| *n > 0)?;
    buffer.extend_from_slice(&bytes[..read]);
    Some(())
}
