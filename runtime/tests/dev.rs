//! What can be looked at: the last requests with `--dev`, and the log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use mindset_core::json::Value;
use support::{CONFIG, Folder, Running, Server, events, input, program};

fn entries(body: &Value) -> &[Value] {
    body.get("entries").and_then(Value::as_array).unwrap()
}

#[tokio::test]
async fn only_with_dev_and_only_ones_own() {
    let server = Server::dev(CONFIG).await;
    let (token, _) = server.anonymous().await;
    let body = input("r1", "t1", "hello there")
        .replace(
            r#""context":[]"#,
            r#""context":[{"description":"situational_awareness","value":"{\"page\":7}"}]"#,
        )
        .replace(
            r#""tools":[]"#,
            r#""tools":[{"name":"set_color","description":"Colours","parameters":{}}]"#,
        );
    events(server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await).await;
    server.finish(&token, "r2", "t1", "thanks").await;
    let path = "/v1/dev/conversations/t1";
    let answer = server.request("GET", path).bearer(&token).send().await;
    let entries = entries(&answer.body);
    assert_eq!(entries.len(), 2, "{}", answer.text);
    assert_eq!((entries[0].str("kind"), entries[0].str("runId")), (Some("model"), Some("r1")));
    assert!(entries[0].str("system").unwrap().contains(r#"{"page":7}"#));
    assert!(!entries[1].str("system").unwrap().contains("page"));
    assert!(
        entries[0]
            .get("tools")
            .unwrap()
            .to_string()
            .contains(r#""name":"set_color","description":"Colours""#)
    );
    assert_eq!(entries[1].get("messages").and_then(Value::as_array).map(<[Value]>::len), Some(3));

    let (other, _) = server.anonymous().await;
    assert_eq!(server.request("GET", path).bearer(&other).send().await.error(), (404, "not-found".into()));
    assert_eq!(server.request("GET", path).send().await.error(), (401, "invalid-auth".into()));
    let plain = Server::start().await;
    let (token, _) = plain.anonymous().await;
    plain.finish(&token, "r1", "t1", "hello").await;
    let nothing = plain.request("GET", path).bearer(&token).send().await;
    assert_eq!(nothing.error(), (404, "not-found".into()));
    assert!(nothing.text.contains("Nothing has this address"));
}

#[test]
fn dev_is_for_this_computer() {
    let folder = Folder::new();
    let output =
        program(&folder, CONFIG).arg("--dev").env("MINDSET__SERVER__LISTEN", "0.0.0.0:0").output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(err.contains("--dev") && err.contains("0.0.0.0:0") && err.contains("127.0.0.1"), "{err}");
}

/// What the program logs at a level while someone talks to it.
async fn log(level: &str) -> String {
    let folder = Folder::new();
    let (program, server) =
        Running::start(program(&folder, CONFIG).arg("--dev").env("MINDSET__SERVER__LOG", level));
    let token = server.user("USER-canary").await;
    let body = input("r1", "t1", "MESSAGE-canary").replace(
        r#""forwardedProps":{}"#,
        r#""forwardedProps":{"mindset":{"clientId":"c","passthroughParams":{"KEY-canary":"VALUE-canary"}}}"#,
    );
    let body = body.replace(
        r#""context":[]"#,
        r#""context":[{"description":"situational_awareness","value":"{\"page\":\"AWARE-canary\"}"}]"#,
    );
    events(server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await).await;
    let body = r#"{"agentUid":"closed","externalUserId":"USER-canary","tags":["TAG-canary"]}"#;
    let session = server.backend("POST", "agentsessions", body).await.string("agentSessionUid");
    events(server.run(&token, &session, ("r2", "t2"), "MESSAGE-canary").await).await;
    let log = program.stop();
    assert!(!log.contains(&token) && !log.contains("first-key"), "{log}");
    log
}

#[cfg(unix)]
#[tokio::test]
async fn logs_tell_what_happens_and_nothing_of_what_is_said() {
    for level in ["trace", "debug", "info"] {
        let log = log(level).await;
        assert!(!log.contains("canary"), "{log}");
        for line in ["run started", "model called", "model answered", "run ended"] {
            assert_eq!(log.contains(line), level != "info", "{line} at {level}: {log}");
        }
    }
}
