//! What connections carry before, behind and beside an event stream, byte by byte.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use support::{Server, input};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const END_OF_CHUNKS: &str = "0\r\n\r\n";

fn healthz(field: &str) -> String {
    format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{field}\r\n")
}

fn run(token: &str, version: &str, id: &str, field: &str) -> String {
    let body = input(id, id, "hello");
    format!(
        "POST /v1/agents/demo/runs HTTP/{version}\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n{field}\r\n{body}",
        body.len()
    )
}

/// All that comes on one connection until the server closes it.
async fn said(server: &Server, requests: &str) -> String {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(requests.as_bytes()).await.unwrap();
    let mut all = Vec::new();
    socket.read_to_end(&mut all).await.unwrap();
    String::from_utf8(all).unwrap()
}

#[tokio::test]
async fn requests_follow_a_stream_on_its_connection() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let (first, second) = (run(&token, "1.1", "r1", ""), run(&token, "1.1", "r2", ""));
    let requests = [healthz(""), first, healthz(""), second, healthz("connection: close\r\n")].concat();
    let all = said(&server, &requests).await;
    let answers: Vec<&str> = all.split("HTTP/1.1 200 OK\r\n").skip(1).collect();
    assert_eq!(answers.len(), 5, "{all}");
    for (n, answer) in answers.iter().enumerate() {
        let streams = n % 2 == 1;
        assert_eq!(answer.contains("transfer-encoding: chunked\r\n"), streams, "{answer}");
        assert_eq!(answer.ends_with(END_OF_CHUNKS), streams, "{answer}");
        assert_eq!(answer.contains("\"RUN_FINISHED\""), streams, "{answer}");
        assert_eq!(answer.contains(r#""status":"ok""#), !streams, "{answer}");
    }
}

#[tokio::test]
async fn who_wants_no_more_gets_no_more() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let last = run(&token, "1.1", "r1", "connection: Close\r\n");
    let all = said(&server, &[last, healthz("")].concat()).await;
    assert_eq!(all.matches("HTTP/1.1").count(), 1, "{all}");
    assert!(all.ends_with(END_OF_CHUNKS), "{all}");
}

#[tokio::test]
async fn older_clients_get_no_chunks() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let all = said(&server, &run(&token, "1.0", "r1", "")).await;
    assert!(all.starts_with("HTTP/1.0 200 OK\r\n") && !all.contains("chunked"), "{all}");
    assert!(all.contains("\"RUN_FINISHED\"") && all.ends_with("}\n\n"), "{all}");
}

/// It would be taken for a request otherwise.
#[tokio::test]
async fn a_body_that_nobody_reads_is_no_request() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    support::events(server.run(&token, "demo", ("r1", "t1"), "hello").await).await;
    let hidden = healthz("");
    let head = format!(
        "GET /v1/runs/r1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n",
        hidden.len()
    );
    let all = said(&server, &[head, hidden].concat()).await;
    assert!(all.starts_with("HTTP/1.1 200 OK\r\n"), "{all}");
    assert!(all.contains("\"RUN_FINISHED\"") && !all.contains(r#""status":"ok""#), "{all}");
}
