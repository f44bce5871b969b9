//! Files that people attach: taken in, refused, read back, sent with a message, and deleted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "../src/mcp/tests/peer.rs"]
mod peer;
mod support;

use std::path::Path;
use std::time::Duration;

use mindset_core::json::{self, Value};
use peer::{Peer, Reply, Seen};
use support::{Answer, Folder, Server, events, input, kind, last};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";

fn config(uploads: &str) -> String {
    format!(
        r#"
[server]
request_timeout = "60s"
[uploads]
max_file = 100000
per_user = 300000
{uploads}
[models.quick]
provider = "demo"
delay = "0s"
[[apps]]
uid = "demo"
api_keys = ["first-key"]
origins = ["loopback"]
allow_no_origin = true
[[apps.agents]]
uid = "demo"
model = "quick"
anonymous = true
uploads = true
[[apps.agents]]
uid = "plain"
model = "quick"
anonymous = true
"#
    )
}

/// A form with one file.
fn form(name: &str, kind: &str, bytes: &[u8]) -> Vec<u8> {
    let mut body = format!(
        "--edge\r\ncontent-disposition: form-data; name=\"note\"\r\n\r\nx\r\n--edge\r\n\
         content-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\ncontent-type: {kind}\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(bytes);
    body.extend_from_slice(b"\r\n--edge--\r\n");
    body
}

async fn upload(server: &Server, token: &str, name: &str, kind: &str, bytes: &[u8]) -> Answer {
    let request = server.request("POST", "/v1/uploads").bearer(token);
    request
        .header("content-type", "multipart/form-data; boundary=edge")
        .bytes(form(name, kind, bytes))
        .send()
        .await
}

/// A whole picture of this size.
fn picture(size: usize) -> Vec<u8> {
    let mut bytes = PNG.to_vec();
    bytes.resize(size, 7);
    bytes
}

async fn png(server: &Server, token: &str) -> String {
    let answer = upload(server, token, "a.png", "image/png", PNG).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.string("uploadId")
}

fn with_uploads(run: &str, thread: &str, text: &str, ids: &[&str]) -> String {
    let ids = Value::Array(ids.iter().map(|id| (*id).into()).collect());
    input(run, thread, text)
        .replace(r#""forwardedProps":{}"#, &format!(r#""forwardedProps":{{"mindset":{{"uploads":{ids}}}}}"#))
}

async fn post(server: &Server, token: &str, agent: &str, body: &str) -> Answer {
    server.post(&format!("/v1/agents/{agent}/runs"), body).bearer(token).send().await
}

/// The files in the folder beside the database.
fn stored(server: &Server) -> Vec<String> {
    names(&server.folder.as_ref().unwrap().path("test.db-files"))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Waits until the folder holds this many files.
async fn settles(server: &Server, count: usize) {
    for _ in 0..300 {
        if stored(server).len() == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not {count} files: {:?}", stored(server));
}

#[tokio::test]
async fn a_file_is_taken_and_told_by_its_content() {
    let server = Server::with(&config(""), &[]).await;
    let (token, _) = server.anonymous().await;
    let limits = server.request("GET", "/v1/uploads?agentUid=demo").bearer(&token).send().await;
    assert_eq!(
        limits.text,
        r#"{"enabled":true,"types":["image/png","image/jpeg","image/gif","image/webp","application/pdf"],"maxBytes":100000,"maxFiles":10}"#
    );
    let closed = server.request("GET", "/v1/uploads?agentUid=plain").bearer(&token).send().await;
    assert!(closed.text.starts_with(r#"{"enabled":false,"#));
    // What it says it is does not count, nor where it says it lies.
    let taken = upload(&server, &token, "..%2F../etc/%22pass%22.jpeg", "text/html", PNG).await;
    assert_eq!(taken.status, 201, "{}", taken.text);
    assert_eq!(
        (taken.string("name"), taken.string("mimeType")),
        ("_pass_.jpeg.png".into(), "image/png".into())
    );
    assert_eq!(taken.body.get("size").and_then(Value::as_u64), Some(PNG.len() as u64));
    assert_eq!(stored(&server), [taken.string("uploadId")]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let folder = server.folder.as_ref().unwrap().path("test.db-files");
        assert_eq!(std::fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[tokio::test]
async fn what_is_refused_leaves_nothing() {
    let server = Server::with(&config("total = 400000"), &[]).await;
    let (token, _) = server.anonymous().await;
    let invalid = "invalid-request".to_owned();
    let cases = [
        (
            "a.html",
            "text/html",
            b"<script>alert(1)</script>".to_vec(),
            (415, invalid.clone()),
            "image/png, image/jpeg",
        ),
        ("a.svg", "image/svg+xml", b"<svg/>".to_vec(), (415, invalid.clone()), "image/webp"),
        ("a.png", "image/png", b"not a picture".to_vec(), (415, invalid.clone()), "application/pdf"),
        ("a.png", "image/png", Vec::new(), (422, invalid.clone()), "empty"),
        ("a.png", "image/png", picture(100_001), (413, "too-large".into()), "100000 bytes"),
        ("a.png", "image/png", picture(3_000_000), (413, "too-large".into()), "100000 bytes"),
    ];
    for (name, kind, bytes, expected, says) in cases {
        let answer = upload(&server, &token, name, kind, &bytes).await;
        assert_eq!(answer.error(), expected, "{name} {}", bytes.len());
        assert!(answer.text.contains(says), "{}", answer.text);
    }
    for (kind, body, status) in [
        ("application/json", "{}", 415),
        ("multipart/form-data", "x", 415),
        ("multipart/form-data; boundary=edge", "--edge--\r\n", 422),
        ("multipart/form-data; boundary=edge", "nothing of the kind", 400),
        (
            "multipart/form-data; boundary=edge",
            "--edge\r\ncontent-disposition: form-data; name=\"other\"\r\n\r\nx\r\n--edge--\r\n",
            422,
        ),
    ] {
        let request = server.request("POST", "/v1/uploads").bearer(&token).header("content-type", kind);
        let answer = request.body(body).send().await;
        assert_eq!(answer.error().0, status, "{kind} {body}");
    }
    settles(&server, 0).await;
    // The largest that fits three times, and no more.
    for _ in 0..3 {
        assert_eq!(upload(&server, &token, "a.png", "image/png", &picture(99_000)).await.status, 201);
    }
    let full = upload(&server, &token, "a.png", "image/png", &picture(99_000)).await;
    assert_eq!(full.error(), (413, "too-large".into()));
    assert!(full.text.contains("297000") && full.text.contains("300000"), "{}", full.text);
    // Another user has room, until all together have none.
    let (other, _) = server.anonymous().await;
    assert_eq!(upload(&server, &other, "a.png", "image/png", &picture(99_000)).await.status, 201);
    assert_eq!(upload(&server, &other, "a.png", "image/png", &picture(99_000)).await.error().0, 507);
    settles(&server, 4).await;
}

#[tokio::test]
async fn who_may_not_send_hears_so_after_sending() {
    let server = Server::with(&config("").replace("uploads = true", "uploads = false"), &[]).await;
    let (token, _) = server.anonymous().await;
    for (token, code) in
        [(token.as_str(), (403, "forbidden".to_owned())), ("no token", (401, "invalid-auth".into()))]
    {
        let answer = upload(&server, token, "a.png", "image/png", &picture(20_000_000)).await;
        assert_eq!(answer.error(), code);
    }
}

#[tokio::test]
async fn what_breaks_off_leaves_nothing() {
    let server = Server::with(&config("").replace("60s", "4s"), &[]).await;
    let (token, _) = server.anonymous().await;
    let body = form("a.png", "image/png", &picture(90_000));
    for (sent, waits) in [(60, false), (3_000, false), (80_000, false), (80_000, true)] {
        let mut socket =
            tokio::net::TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap();
        let head = format!(
            "POST /v1/uploads HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\
             content-type: multipart/form-data; boundary=edge\r\n\r\n",
            body.len()
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&body[..sent]).await.unwrap();
        if waits {
            // Someone who sends nothing more is told so.
            let mut answer = vec![0; 4096];
            let count = socket.read(&mut answer).await.unwrap();
            let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
            assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        }
        drop(socket);
    }
    settles(&server, 0).await;
    // Nor is anything counted as theirs.
    for _ in 0..3 {
        assert_eq!(upload(&server, &token, "a.png", "image/png", &picture(99_000)).await.status, 201);
    }
    assert_eq!(stored(&server).len(), 3);
}

/// A model that calls `eye__look` once, and then says `Done.`.
async fn model() -> Peer {
    let piece = |delta: &str, end: &str| {
        format!(r#"data: {{"choices":[{{"delta":{delta},"finish_reason":{end}}}]}}"#)
    };
    Peer::start(move |seen: &Seen| {
        let looked = seen.text.contains(r#""role":"tool""#);
        let (delta, end) = if looked {
            (r#"{"content":"Done."}"#, "\"stop\"")
        } else {
            (
                r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"eye__look","arguments":"{\"uploaded_file_urls\":\"https://forged.example\"}"}}]}"#,
                "\"tool_calls\"",
            )
        };
        let body = format!("{}\n\n{}\n\ndata: [DONE]\n\n", piece(delta, "null"), piece("{}", end));
        Reply::plain(200, "text/event-stream", &body)
    })
    .await
}

/// An MCP server with the tool `look`.
async fn eye() -> Peer {
    let list = r#"{"tools":[{"name":"look","description":"Looks","inputSchema":{"type":"object",
        "properties":{"uploaded_file_urls":{"type":"string"}}}}]}"#;
    Peer::start(move |seen: &Seen| match (seen.method.as_str(), seen.body.str("method").unwrap_or("")) {
        ("POST", "initialize") => seen
            .result(r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}"#)
            .header("mcp-session-id", "s"),
        ("POST", "server/discover") => Reply::plain(400, "text/plain", "no session"),
        ("POST", "tools/list") => seen.result(list),
        ("POST", "tools/call") => seen.result(r#"{"content":[{"type":"text","text":"seen"}]}"#),
        ("POST", _) => Reply::accepted(),
        _ => Reply::with(405, &[], ""),
    })
    .await
}

/// A conversation `t1` whose one message had two files, after the model has called `look`.
struct Looked {
    server: Server,
    token: String,
    ids: [String; 2],
    /// The addresses that the tool got.
    paths: Vec<String>,
    /// Everything that the model and the readers of the run were told.
    told: String,
}

async fn looked() -> Looked {
    let (model, eye) = (model().await, eye().await);
    let models = format!(
        "[models.scripted]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://{}\"\n",
        model.address
    );
    let servers =
        format!("[[apps.mcp_servers]]\nuid = \"eye\"\nurl = \"{}\"\nallow_private = true\n", eye.url());
    let config = config(&models)
        .replace(
            "model = \"quick\"\nanonymous = true\nuploads = true",
            "model = \"scripted\"\nanonymous = true\nuploads = true\nmcp_servers = [\"eye\"]",
        )
        .replacen("[[apps.agents]]", &format!("{servers}[[apps.agents]]"), 1);
    let server = Server::dev(&config).await;
    let (token, _) = server.anonymous().await;
    let one = png(&server, &token).await;
    let two = upload(&server, &token, "réport.pdf", "", b"%PDF-1.7\n").await.string("uploadId");
    let run = with_uploads("r1", "t1", "Look at these", &[&one, &two, &one]);
    let run = post(&server, &token, "demo", &run).await;
    assert_eq!(run.status, 200, "{}", run.text);
    let call = eye.seen().into_iter().find(|seen| seen.is("tools/call")).unwrap();
    let arguments = call.body.get("params").and_then(|p| p.get("arguments")).unwrap();
    let urls = json::parse(arguments.str("uploaded_file_urls").unwrap()).unwrap();
    let urls = urls.as_array().unwrap().iter().filter_map(Value::as_str);
    let paths = urls.map(|url| url.strip_prefix(&server.url).unwrap().to_owned()).collect();
    let asked: String = model.seen().iter().map(|seen| seen.text.clone()).collect();
    Looked { server, token, ids: [one, two], paths, told: asked + &run.text }
}

#[tokio::test]
async fn an_address_is_good_as_it_was_signed() {
    let Looked { server, token, ids: [one, two], paths, .. } = looked().await;
    assert_eq!(paths.len(), 2);
    assert!(paths[0].starts_with(&format!("/v1/uploads/{one}?expires=")), "{paths:?}");
    let file = server.request("GET", &paths[0]).send().await;
    assert_eq!((file.status, file.bytes.as_slice(), file.header("content-type")), (200, PNG, "image/png"));
    for (header, value) in [
        ("content-disposition", "attachment; filename=\"a.png\""),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "private, no-store"),
    ] {
        assert_eq!(file.header(header), value);
    }
    let pdf = server.request("GET", &paths[1]).send().await;
    assert_eq!(
        pdf.header("content-disposition"),
        "attachment; filename=\"r_port.pdf\"; filename*=UTF-8''r%C3%A9port.pdf"
    );
    let head = server.request("HEAD", &paths[0]).send().await;
    assert_eq!((head.status, head.bytes.len()), (200, 0));
    for forged in [
        paths[0].replace(&one, &two),
        paths[0].replace("expires=", "expires=9"),
        paths[0].replace("signature=", "signature=A"),
        format!("/v1/uploads/{one}"),
    ] {
        assert_eq!(server.request("GET", &forged).send().await.error(), (403, "forbidden".into()));
    }
    // With the conversation they go, at once for whoever has an address.
    let deleted = server.request("DELETE", "/v1/conversations/t1").bearer(&token).send().await;
    assert_eq!(deleted.status, 204);
    assert_eq!(server.request("GET", &paths[0]).send().await.error(), (410, "gone".into()));
    settles(&server, 0).await;
}

#[tokio::test]
async fn the_model_and_the_readers_get_names_and_no_address() {
    let Looked { server, token, ids: [one, two], told, .. } = looked().await;
    assert!(told.contains("Look at these\\n\\n[The user attached 2 files: a.png (image/png, "), "{told}");
    let dev = server.request("GET", "/v1/dev/conversations/t1").bearer(&token).send().await.text;
    let told = told + &dev;
    assert!(!told.contains("signature=") && !told.contains(&one), "{told}");
    assert!(dev.contains(r#""supplied":[{"name":"uploaded_file_urls","length":"#), "{dev}");
    let conversation = server.conversation(&token, "t1").await.body;
    let messages = conversation.get("messages").and_then(Value::as_array).unwrap();
    assert_eq!(
        messages[0].get("files").unwrap().text(),
        format!(
            r#"[{{"id":"{one}","name":"a.png","type":"image/png","size":{}}},{{"id":"{two}","name":"réport.pdf","type":"application/pdf","size":9}}]"#,
            PNG.len()
        )
    );
    assert_eq!(messages[1].get("files"), None);
}

#[tokio::test]
async fn a_file_belongs_to_one_user_and_one_conversation() {
    let server = Server::with(&config(""), &[]).await;
    let (ada, _) = server.anonymous().await;
    let (bob, _) = server.anonymous().await;
    let file = png(&server, &ada).await;
    let not_found = (404, "not-found".to_owned());
    assert_eq!(
        post(&server, &bob, "demo", &with_uploads("r1", "t1", "hi", &[&file])).await.error(),
        not_found
    );
    let delete = |token: String, id: String| {
        let server = &server;
        async move { server.request("DELETE", &format!("/v1/uploads/{id}")).bearer(&token).send().await }
    };
    assert_eq!(delete(bob.clone(), file.clone()).await.error(), not_found);
    assert_eq!(post(&server, &ada, "plain", &with_uploads("r1", "t1", "hi", &[&file])).await.error().0, 403);
    for (named, expected) in
        [(r#""x""#.to_owned(), 422), ("[1]".to_owned(), 422), (format!("{:?}", ["x"; 11]), 413)]
    {
        let body = input("r1", "t1", "hi").replace(
            r#""forwardedProps":{}"#,
            &format!(r#""forwardedProps":{{"mindset":{{"uploads":{named}}}}}"#),
        );
        assert_eq!(post(&server, &ada, "demo", &body).await.error().0, expected, "{named}");
    }
    // A message of files alone; the conversation is called by the first of them.
    let run = server
        .post("/v1/agents/demo/runs", &with_uploads("r2", "t2", "", &[&file]))
        .bearer(&ada)
        .open()
        .await;
    assert_eq!(kind(last(&events(run).await)), "RUN_FINISHED");
    assert_eq!(server.conversation(&ada, "t2").await.string("title"), "a.png");
    // The same order again finds its run, and the file comes with no other conversation.
    assert_eq!(post(&server, &ada, "demo", &with_uploads("r2", "t2", "", &[&file])).await.status, 200);
    assert_eq!(
        post(&server, &ada, "demo", &with_uploads("r3", "t3", "hi", &[&file])).await.error(),
        not_found
    );
    assert_eq!(delete(ada.clone(), file.clone()).await.error(), not_found);
    // Whoever edits the message keeps its files, or takes none.
    for (n, uploads, count) in [(4, "", 1), (5, r#","uploads":[]"#, 0)] {
        let body = input(&format!("r{n}"), "t2", "again").replace(
            r#""forwardedProps":{}"#,
            &format!(
                r#""forwardedProps":{{"mindset":{{"replaceFrom":"message-r{}"{uploads}}}}}"#,
                if n == 4 { 2 } else { 4 }
            ),
        );
        let run = server.post("/v1/agents/demo/runs", &body).bearer(&ada).open().await;
        assert_eq!(kind(last(&events(run).await)), "RUN_FINISHED");
        let conversation = server.conversation(&ada, "t2").await.body;
        let first = &conversation.get("messages").and_then(Value::as_array).unwrap()[0];
        let files = first.get("files").and_then(Value::as_array).map_or(0, <[Value]>::len);
        assert_eq!(files, count, "{conversation}");
    }
    // It is free again, and can be taken back.
    assert_eq!(delete(ada.clone(), file).await.status, 204);
    settles(&server, 0).await;
}

#[tokio::test]
async fn what_is_old_is_deleted() {
    let folder = Folder::new();
    let path = folder.path("test.db");
    let server = Server::at(&path, &config("unused_keep = \"5s\"\nlink_lifetime = \"1s\""), &[]).await;
    let (token, key) = server.anonymous().await;
    let sent = png(&server, &token).await;
    let _unused = png(&server, &token).await;
    let run = post(&server, &token, "demo", &with_uploads("r1", "t1", "hi", &[&sent])).await;
    assert_eq!(run.status, 200, "{}", run.text);
    let files = folder.path("test.db-files");
    for _ in 0..300 {
        if names(&files).len() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(names(&files), std::slice::from_ref(&sent), "what was never sent is gone");
    server.stop().await;
    // What a killed server has left goes at the next start; what is not ours stays.
    let half = files.join(format!("{sent}#1"));
    for (name, bytes) in [(half.clone(), "half"), (files.join("#notes#"), "mine")] {
        std::fs::write(name, bytes).unwrap();
    }
    let server = Server::at(&path, &config("keep = \"1ms\""), &[]).await;
    assert!(!half.exists());
    for _ in 0..300 {
        if names(&files).len() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(names(&files), ["#notes#"], "and with `keep` what was sent too");
    // The message still says what it had.
    let again = server
        .post("/v1/anonymous", &format!(r#"{{"appUid":"demo","agentUid":"demo","anonymousKey":"{key}"}}"#));
    let token = again.send().await.string("authToken");
    assert!(server.conversation(&token, "t1").await.text.contains(r#""name":"a.png""#));
    server.stop().await;
}

#[tokio::test]
async fn faults_of_the_configuration() {
    use mindset_runtime::config::{Environment, load_text};
    for (uploads, says) in [
        ("types = [\"image/svg+xml\"]", "uploads.types: `image/svg+xml` cannot be told by its content"),
        ("max_file = 0", "duplicate"),
        ("link_lifetime = \"0s\"", "uploads.link_lifetime: no time at all"),
        ("flder = \"x\"", "did you mean `folder`?"),
        ("[uploads.s3]\nregion = \"x\"", "uploads.s3.bucket: missing"),
        (
            "[uploads.s3]\nbucket = \"b\"\nendpoint = \"s3\"",
            "uploads.s3.endpoint: not an http or https address",
        ),
        ("[uploads.s3]\nbucket = \"b\"\naccess_key_id = \"x\"", "uploads.s3: half a key"),
        ("folder = \"f\"\n[uploads.s3]\nbucket = \"b\"", "uploads.folder: a folder and a bucket"),
    ] {
        let faults = load_text("t.toml", &config(uploads), &Environment::new()).unwrap_err();
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(told.join("\n").contains(says), "{told:?}");
    }
    let env: Environment = [
        ("MINDSET__SERVER__PUBLIC_URL", "https://chat.example/sub/"),
        ("MINDSET__UPLOADS__S3__BUCKET", "files"),
        ("MINDSET__UPLOADS__S3__ACCESS_KEY_ID", "env:KEY_ID"),
        ("MINDSET__UPLOADS__S3__SECRET_ACCESS_KEY", "secret-canary"),
        ("KEY_ID", "id-canary"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let printed = load_text("t.toml", &config("types = [\"text/csv\"]"), &env).unwrap().to_toml();
    assert!(!printed.contains("canary"), "{printed}");
    for line in [
        "public_url = \"https://chat.example/sub\"",
        "bucket = \"files\"",
        "(13 characters)",
        "types = [\"text/csv\"]",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
}
