//! A real server on a free port with a real database file, and a client for it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mindset_core::json::{self, Value};
use mindset_core::sse;
use mindset_runtime::App;
use mindset_runtime::config::{Environment, load_text};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Two apps; `demo` has an open agent, a closed one and a slow one.
pub(crate) const CONFIG: &str = r#"
[server]
heartbeat = "200ms"

[models.quick]
provider = "demo"
delay = "0s"

[models.slow]
provider = "demo"
delay = "100ms"

[[apps]]
uid = "demo"
api_keys = ["first-key", "second-key"]
origins = ["loopback", "https://shop.example"]
allow_no_origin = true

[[apps.agents]]
uid = "demo"
model = "quick"
anonymous = true

[[apps.agents]]
uid = "closed"
model = "quick"

[[apps.agents]]
uid = "slow"
model = "slow"
anonymous = true

[[apps]]
uid = "strict"
[[apps.agents]]
uid = "demo"
model = "quick"
anonymous = true
"#;

/// A folder that goes away with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mindset-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program with a configuration of its own and a database in the folder.
pub(crate) fn program(folder: &Folder, config: &str) -> Command {
    let file = folder.path("mindset.toml");
    std::fs::write(&file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mindset-runtime"));
    command.arg("--config").arg(file).env("MINDSET__SERVER__DATABASE", folder.path("test.db"));
    command
}

/// The program while it runs on a free port, and what it logs.
pub(crate) struct Running {
    child: Child,
    err: BufReader<ChildStderr>,
    log: String,
}

impl Running {
    /// Starts it and waits until it listens; gives a client for it, too.
    pub(crate) fn start(command: &mut Command) -> (Running, Server) {
        let command = command.env("MINDSET__SERVER__LISTEN", "127.0.0.1:0").stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut err, mut log) = (BufReader::new(child.stderr.take().unwrap()), String::new());
        while !log.contains("listening on http") {
            assert!(err.read_line(&mut log).unwrap() > 0, "{log}");
        }
        let url = log.split("listening on ").nth(1).unwrap().trim().to_owned();
        (Running { child, err, log }, Server::elsewhere(&url))
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as a signal does; gives all it has logged.
    pub(crate) fn stop(mut self) -> String {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        self.err.read_to_string(&mut self.log).unwrap();
        self.child.wait().unwrap();
        std::mem::take(&mut self.log)
    }
}

/// A test that fails leaves no process behind.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running server.
pub(crate) struct Server {
    pub(crate) url: String,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
    pub(crate) folder: Option<Folder>,
}

impl Server {
    pub(crate) async fn start() -> Server {
        Server::with(CONFIG, &[]).await
    }

    pub(crate) async fn with(config: &str, env: &[(&str, &str)]) -> Server {
        let folder = Folder::new();
        let mut server = Server::at(&folder.path("test.db"), config, env).await;
        server.folder = Some(folder);
        server
    }

    pub(crate) async fn at(database: &Path, config: &str, env: &[(&str, &str)]) -> Server {
        Server::launch(database, config, env, false).await
    }

    /// One that keeps what models and tools were told.
    pub(crate) async fn dev(config: &str) -> Server {
        let folder = Folder::new();
        let mut server = Server::launch(&folder.path("test.db"), config, &[], true).await;
        server.folder = Some(folder);
        server
    }

    async fn launch(database: &Path, config: &str, env: &[(&str, &str)], dev: bool) -> Server {
        let mut environment: Environment =
            env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        environment.insert("MINDSET__SERVER__DATABASE".into(), database.display().to_string());
        let mut config = load_text("test.toml", config, &environment).unwrap();
        config.dev = dev;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = App::start(config, &environment).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            app.serve(listener, async { stopped.await.unwrap_or(()) }).await.unwrap();
        });
        Server { url, stop: Some(stop), task, folder: None }
    }

    /// One that runs in another process.
    pub(crate) fn elsewhere(url: &str) -> Server {
        Server { url: url.to_owned(), stop: None, task: tokio::spawn(async {}), folder: None }
    }

    /// Ends the server as a signal would; says how long it took.
    pub(crate) async fn stop(mut self) -> Duration {
        let begin = std::time::Instant::now();
        let _ = self.stop.take().unwrap().send(());
        (&mut self.task).await.unwrap();
        begin.elapsed()
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]);
        let _ = rustls::crypto::ring::default_provider().install_default();
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        Request(client.build().unwrap().request(method, format!("{}{path}", self.url)))
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Request {
        let request = self.request("POST", path);
        Request(request.0.header("content-type", "application/json").body(body.to_owned()))
    }

    /// The token and the key of a new anonymous user.
    pub(crate) async fn anonymous(&self) -> (String, String) {
        let answer = self.post("/v1/anonymous", r#"{"appUid":"demo","agentUid":"demo"}"#).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        (answer.string("authToken"), answer.string("anonymousKey"))
    }

    /// A request of the customer's backend, with its key.
    pub(crate) async fn backend(&self, method: &str, path: &str, body: &str) -> Answer {
        let path = format!("/api/v1/appuid/demo/{path}");
        let request = match body {
            "" => self.request(method, &path),
            body => self.post(&path, body),
        };
        request.header("x-api-key", "first-key").send().await
    }

    /// The token of a user of the backend.
    pub(crate) async fn user(&self, external_id: &str) -> String {
        let body = format!(r#"{{"externalId":"{external_id}"}}"#);
        self.backend("POST", "sdkusers/auth", &body).await.string("authToken")
    }

    /// Posts a run and gives the open response.
    pub(crate) async fn run(
        &self,
        token: &str,
        agent: &str,
        (run, thread): (&str, &str),
        text: &str,
    ) -> reqwest::Response {
        let request = self.post(&format!("/v1/agents/{agent}/runs"), &input(run, thread, text));
        request.bearer(token).open().await
    }

    /// Posts a run and reads it to its end.
    pub(crate) async fn finish(&self, token: &str, run: &str, thread: &str, text: &str) -> Vec<Value> {
        events(self.run(token, "demo", (run, thread), text).await).await
    }

    pub(crate) async fn conversation(&self, token: &str, id: &str) -> Answer {
        self.request("GET", &format!("/v1/conversations/{id}")).bearer(token).send().await
    }
}

/// A request that is being made.
pub(crate) struct Request(reqwest::RequestBuilder);

impl Request {
    pub(crate) fn header(self, name: &str, value: &str) -> Request {
        Request(self.0.header(name, value))
    }

    pub(crate) fn bearer(self, token: &str) -> Request {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn body(self, text: &str) -> Request {
        Request(self.0.body(text.to_owned()))
    }

    pub(crate) fn bytes(self, bytes: Vec<u8>) -> Request {
        Request(self.0.body(bytes))
    }

    pub(crate) async fn open(self) -> reqwest::Response {
        self.0.send().await.unwrap()
    }

    pub(crate) async fn send(self) -> Answer {
        let response = self.open().await;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.unwrap().to_vec();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Answer { status, headers, body: json::parse(&text).unwrap_or_default(), text, bytes }
    }

    /// Sends it again and again until the answer has this status.
    pub(crate) async fn until(self, status: u16) -> Answer {
        for _ in 0..600 {
            let answer = Request(self.0.try_clone().unwrap()).send().await;
            if answer.status == status {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("never answered with {status}");
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn string(&self, key: &str) -> String {
        self.body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    /// Status and code of an error, after checking that the body is one.
    pub(crate) fn error(&self) -> (u16, String) {
        let error =
            self.body.get("error").unwrap_or_else(|| panic!("no error body: {} {}", self.status, self.text));
        assert_eq!(self.header("content-type"), "application/json");
        let message = error.get("message").and_then(Value::as_str).unwrap();
        // A capital, or the name or place of a field.
        let first = message.split(' ').next().unwrap();
        let begins = first.contains(|c: char| !c.is_lowercase());
        assert!(message.len() > 20 && begins && message.ends_with('.'), "no sentence: {message}");
        assert!(error.get("retryable").and_then(Value::as_bool).is_some());
        (self.status, error.get("code").and_then(Value::as_str).unwrap().to_owned())
    }
}

pub(crate) fn input(run: &str, thread: &str, text: &str) -> String {
    let text = Value::from(text).to_string();
    format!(
        r#"{{"threadId":"{thread}","runId":"{run}","state":{{}},"tools":[],"context":[],"forwardedProps":{{}},
        "messages":[{{"id":"message-{run}","role":"user","content":{text}}}]}}"#
    )
}

/// Every event of a stream, after checking that ids are dense from 1.
pub(crate) async fn events(response: reqwest::Response) -> Vec<Value> {
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let bytes = response.bytes().await.unwrap();
    let mut decoder = sse::Decoder::new(1 << 20);
    decoder.push(&bytes);
    let mut events = Vec::new();
    while let Some(frame) = decoder.next_frame().unwrap() {
        let seq = events.len() + 1;
        assert!(frame.id.ends_with(&format!(":{seq}")), "{}", frame.id);
        events.push(json::parse(&frame.data).unwrap());
    }
    events
}

pub(crate) fn kind(event: &Value) -> &str {
    event.get("type").and_then(Value::as_str).unwrap_or("")
}

pub(crate) fn last(events: &[Value]) -> &Value {
    events.last().expect("no event came")
}

pub(crate) fn text(events: &[Value]) -> String {
    let content = events.iter().filter(|e| kind(e) == "TEXT_MESSAGE_CONTENT");
    content.filter_map(|e| e.get("delta").and_then(Value::as_str)).collect()
}
