//! Reading a run again: from any event on, after its end, after a crash and after a stop.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use mindset_core::json::Value;
use support::{CONFIG, Folder, Running, Server, events, input, kind, last, program};

fn messages(conversation: &Value) -> Vec<Value> {
    conversation.get("messages").and_then(Value::as_array).unwrap().to_vec()
}

/// What comes after event `id`: the raw stream, or the status of another answer.
async fn from(server: &Server, token: &str, run: &str, id: Option<&str>) -> Result<String, u16> {
    let request = server.request("GET", &format!("/v1/runs/{run}/events")).bearer(token);
    let request = match id {
        Some(id) => request.header("last-event-id", id),
        None => request,
    };
    let answer = request.send().await;
    if answer.status == 200 { Ok(answer.text) } else { Err(answer.status) }
}

/// The stream, frame by frame, without comments and hints: when those come depends on time.
fn frames(text: &str) -> Vec<String> {
    let lines = text.split_inclusive('\n').filter(|line| *line != ":\n" && !line.starts_with("retry: "));
    let text: String = lines.collect();
    text.split_inclusive("\n\n").filter(|f| f.contains("data: ")).map(str::to_owned).collect()
}

/// Reads until the text stands in it.
async fn until(response: &mut reqwest::Response, wanted: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(wanted) {
        let chunk = response.chunk().await.unwrap();
        seen.push_str(&String::from_utf8_lossy(&chunk.unwrap_or_else(|| panic!("no {wanted} in {seen}"))));
    }
    seen
}

#[tokio::test]
async fn from_every_event_on() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let response = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    // While it runs, from the middle.
    let mut tailing = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    until(&mut tailing, "id: r1:3\n").await;
    let tail = from(&server, &token, "r1", Some("r1:3")).await.unwrap();
    let whole = frames(&response.text().await.unwrap());
    assert!(whole.len() > 6, "{whole:?}");
    assert_eq!(frames(&tail), whole[3..]);
    for (n, frame) in whole.iter().enumerate() {
        assert!(frame.starts_with(&format!("id: r1:{}\n", n + 1)), "{frame}");
    }
    // After its end, from every place.
    for at in 1..whole.len() {
        let id = format!("r1:{at}");
        let after = from(&server, &token, "r1", Some(&id)).await.unwrap();
        assert_eq!(frames(&after), whole[at..], "{id}");
    }
    let end = format!("r1:{}", whole.len());
    assert_eq!(from(&server, &token, "r1", Some(&end)).await, Err(204));
    let beyond = format!("r1:{}", whole.len() + 1);
    for id in [None, Some(beyond.as_str()), Some("r1:0"), Some("r2:1"), Some("x"), Some("")] {
        assert_eq!(frames(&from(&server, &token, "r1", id).await.unwrap()), whole, "{id:?}");
    }
    // The same order again is the same as no position.
    let again = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    assert_eq!(frames(&again.text().await.unwrap()), whole);
    // A foreign run is no run.
    let (other, _) = server.anonymous().await;
    let ask = async |token: &str, run: &str| {
        let request = server.request("GET", &format!("/v1/runs/{run}/events")).bearer(token);
        request.header("last-event-id", "r1:2").send().await
    };
    let (foreign, unknown) = (ask(&other, "r1").await, ask(&token, "nothing").await);
    assert_eq!(foreign.error(), (404, "not-found".into()));
    assert_eq!(foreign.text, unknown.text);
}

#[tokio::test]
async fn more_events_than_memory_holds() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let whole = server.run(&token, "demo", ("r1", "t1"), "what can you do?").await;
    let whole = frames(&whole.text().await.unwrap());
    assert!(whole.len() > 40, "{}", whole.len());
    for at in [0, 1, 5, whole.len() / 2, whole.len() - 1] {
        let id = format!("r1:{at}");
        assert_eq!(frames(&from(&server, &token, "r1", Some(&id)).await.unwrap()), whole[at..], "{id}");
    }
}

#[tokio::test]
async fn the_same_run_fifty_times_at_once() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let all = futures_util::future::join_all((0..50).map(async |_| {
        let response = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
        assert_eq!(response.status(), 200);
        frames(&response.text().await.unwrap())
    }))
    .await;
    assert!(all.iter().all(|seen| *seen == all[0]), "{all:?}");
    assert!(all[0].last().unwrap().contains("RUN_FINISHED"));
    assert_eq!(messages(&server.conversation(&token, "t1").await.body).len(), 2);
}

#[tokio::test]
async fn posted_for_json() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let post = async |run: &str, accept: &str| {
        let body = input(run, "t1", "thanks");
        let request = server.post("/v1/agents/slow/runs", &body).bearer(&token);
        request.header("accept", accept).send().await
    };
    let accepted = post("r1", "application/json").await;
    assert_eq!(
        (accepted.status, accepted.text.as_str()),
        (202, r#"{"runId":"r1","state":"running","position":0}"#)
    );
    assert_eq!(post("r2", "application/json").await.error(), (409, "busy".into()));
    let active = server.conversation(&token, "t1").await.body.get("activeRun").cloned().unwrap();
    assert_eq!((active.str("runId"), active.str("turnId")), (Some("r1"), Some("r1")));
    let whole = from(&server, &token, "r1", None).await.unwrap();
    assert!(whole.contains("RUN_FINISHED"), "{whole}");
    assert_eq!(post("r1", "application/json").await.string("state"), "finished");
    let again = post("r1", "text/event-stream, application/json").await.text;
    assert_eq!(frames(&again), frames(&whole));
    // Who reads the end at once finds the conversation free, and how it ended.
    let conversation = server.conversation(&token, "t1").await.body;
    let last_run = conversation.get("lastRun").unwrap();
    assert_eq!((last_run.str("runId"), last_run.str("state")), (Some("r1"), Some("finished")));
    let end = format!("data: {}\n\n", last_run.get("end").unwrap());
    assert!(whole.ends_with(&end), "{whole} {end}");
}

#[tokio::test]
async fn a_log_that_is_gone() {
    let folder = Folder::new();
    let path = folder.path("old.db");
    let server = Server::at(&path, CONFIG, &[]).await;
    let (token, _) = server.anonymous().await;
    server.finish(&token, "r1", "t1", "hello").await;
    server.stop().await;
    // Another process drops what the first has left.
    let server = Server::at(&path, CONFIG, &[("MINDSET__SERVER__LOG_KEEP", "1ms")]).await;
    let gone = server.request("GET", "/v1/runs/r1/events").bearer(&token).until(410).await;
    assert_eq!(gone.error(), (410, "gone".into()));
    let conversation = server.conversation(&token, "t1").await.body;
    assert_eq!(gone.body.get("conversation"), Some(&conversation));
    let posted = server.post("/v1/agents/demo/runs", &input("r1", "t1", "hello")).bearer(&token).send().await;
    assert_eq!((posted.status, posted.text), (410, gone.text));
    let (other, _) = server.anonymous().await;
    let foreign = server.request("GET", "/v1/runs/r1/events").bearer(&other).send().await;
    assert_eq!(foreign.error(), (404, "not-found".into()));
}

#[tokio::test]
async fn a_cancelled_run_replays_alike() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let mut first = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    until(&mut first, "_CONTENT").await;
    drop(first);
    // Nobody reads; a reader comes, and the run is stopped under it.
    let reading = server.request("GET", "/v1/runs/r1/events").bearer(&token).open().await;
    let answer = server.post("/v1/runs/r1/cancel", "").bearer(&token).send().await;
    assert_eq!(answer.string("state"), "cancelled");
    let whole = frames(&reading.text().await.unwrap());
    assert!(whole.last().unwrap().contains("cancelled"), "{whole:?}");
    assert_eq!(frames(&from(&server, &token, "r1", None).await.unwrap()), whole);
    let deleted = server.request("DELETE", "/v1/conversations/t1").bearer(&token).send().await;
    assert_eq!(deleted.status, 204);
    assert_eq!(from(&server, &token, "r1", None).await, Err(404));
    let again = server.post("/v1/agents/slow/runs", &input("r1", "t1", "thanks")).bearer(&token).send().await;
    assert_eq!(again.error(), (410, "gone".into()));
}

#[tokio::test]
async fn a_crash_in_the_middle_of_an_answer() {
    let folder = Folder::new();
    let mut command = program(&folder, CONFIG);
    let (running, server) = Running::start(&mut command);
    let (token, _) = server.anonymous().await;
    server.finish(&token, "r0", "t0", "hello").await;
    let mut cut = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    let seen = frames(&until(&mut cut, "id: r1:5\n").await);
    running.kill();

    let (running, server) = Running::start(&mut command);
    // The token is still good, because its secret is kept too.
    assert_eq!(messages(&server.conversation(&token, "t0").await.body).len(), 2);
    let whole = frames(&from(&server, &token, "r1", None).await.unwrap());
    assert_eq!(whole[..seen.len()], seen, "what was seen stays");
    let rest = from(&server, &token, "r1", Some("r1:5")).await.unwrap();
    assert_eq!(frames(&rest), whole[5..]);
    let end = whole.last().unwrap();
    assert!(end.contains("RUN_ERROR") && end.contains("interrupted"), "{end}");
    for (n, frame) in whole.iter().enumerate() {
        assert!(frame.starts_with(&format!("id: r1:{}\n", n + 1)), "{frame}");
    }
    let conversation = server.conversation(&token, "t1").await.body;
    let said = &messages(&conversation)[1];
    assert_eq!(said.str("status"), Some("interrupted"), "{conversation}");
    let told: String = whole.iter().filter_map(|frame| delta(frame)).collect();
    assert_eq!(said.str("content"), Some(told.as_str()));
    assert_eq!(conversation.get("lastRun").unwrap().str("state"), Some("error"));
    let next = server.finish(&token, "r2", "t0", "thanks").await;
    assert_eq!(kind(last(&next)), "RUN_FINISHED");
    let next = events(server.run(&token, "slow", ("r3", "t1"), "hi").await).await;
    assert_eq!(kind(last(&next)), "RUN_FINISHED");
    running.stop();
}

fn delta(frame: &str) -> Option<String> {
    let data = frame.lines().find_map(|line| line.strip_prefix("data: "))?;
    let event = mindset_core::json::parse(data).unwrap();
    (kind(&event) == "TEXT_MESSAGE_CONTENT").then(|| event.str("delta").unwrap().to_owned())
}

#[tokio::test]
async fn a_stop_tells_readers_to_come_back() {
    let folder = Folder::new();
    let path = folder.path("down.db");
    let server = Server::at(&path, CONFIG, &[]).await;
    let (token, _) = server.anonymous().await;
    let mut response = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    let seen = until(&mut response, "_CONTENT").await;
    let reading = tokio::spawn(response.text());
    assert!(server.stop().await < Duration::from_secs(15));
    let whole = seen + &reading.await.unwrap().unwrap();
    let (retry, error) = (whole.find("retry: 1000\n"), whole.find("RUN_ERROR"));
    assert!(retry.is_some() && retry < error, "{whole}");
    let server = Server::at(&path, CONFIG, &[]).await;
    assert_eq!(frames(&from(&server, &token, "r1", None).await.unwrap()), frames(&whole));
    let end = server.conversation(&token, "t1").await.body;
    let end = end.get("lastRun").and_then(|run| run.get("end")).cloned().unwrap();
    let reason = end.get("metadata").and_then(|m| m.get("mindset")).and_then(|m| m.str("reason"));
    assert_eq!((kind(&end), reason), ("RUN_ERROR", Some("interrupted")));
}

#[tokio::test]
async fn one_process_has_the_database() {
    let folder = Folder::new();
    let mut command = program(&folder, CONFIG);
    let (running, server) = Running::start(&mut command);
    let (token, _) = server.anonymous().await;
    let response = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    let link = folder.path("link.db");
    std::os::unix::fs::symlink(folder.path("test.db"), &link).unwrap();
    for name in [folder.path("test.db"), link] {
        let mut command = program(&folder, CONFIG);
        command.env("MINDSET__SERVER__DATABASE", name).env("MINDSET__SERVER__LISTEN", "127.0.0.1:0");
        let second = command.output().unwrap();
        assert!(!second.status.success());
        let said = String::from_utf8_lossy(&second.stderr);
        assert!(
            said.contains("in use by another mindset-runtime") && said.contains("server.database"),
            "{said}"
        );
    }
    // The first one's run went on.
    assert_eq!(kind(last(&events(response).await)), "RUN_FINISHED");
    running.kill();
    let (running, _) = Running::start(&mut command);
    running.stop();
}

#[tokio::test]
async fn old_runs_and_users_are_forgotten_when_that_is_wanted() {
    let keep = [("MINDSET__SERVER__LOG_KEEP", "1ms"), ("MINDSET__SERVER__RUN_KEEP", "300ms")];
    let server = Server::with(CONFIG, &keep).await;
    let (token, _) = server.anonymous().await;
    let (_, key) = server.anonymous().await;
    server.finish(&token, "r1", "t1", "hello").await;
    let gone = server.request("GET", "/v1/runs/r1/events").bearer(&token).until(404).await;
    assert_eq!(gone.error(), (404, "not-found".into()));
    // The conversation stays, and so does its user.
    let conversation = server.conversation(&token, "t1").await.body;
    assert_eq!((messages(&conversation).len(), conversation.get("lastRun")), (2, None::<&Value>));
    let body = format!(r#"{{"appUid":"demo","agentUid":"demo","anonymousKey":"{key}"}}"#);
    let back = server.post("/v1/anonymous", &body).send().await;
    assert_ne!((back.status, back.string("anonymousKey")), (200, key));
}

#[tokio::test]
async fn a_database_that_fails_for_a_while() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let mut response = server.run(&token, "slow", ("r1", "t1"), "thanks").await;
    let seen = until(&mut response, "_CONTENT").await;
    let path = server.folder.as_ref().unwrap().path("test.db");
    let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}", path.display())).await.unwrap();
    sqlx::query("ALTER TABLE events RENAME TO events_away").execute(&pool).await.unwrap();
    let told = seen + &response.text().await.unwrap();
    let end = frames(&told).last().cloned().unwrap();
    assert!(end.contains("RUN_ERROR") && end.contains("could not store"), "{end}");
    assert_eq!(
        server.post("/v1/agents/slow/runs", &input("r2", "t1", "x")).bearer(&token).send().await.status,
        500
    );
    sqlx::query("ALTER TABLE events_away RENAME TO events").execute(&pool).await.unwrap();
    pool.close().await;
    // What was stored is ended as after a crash, and the conversation goes on.
    let whole = frames(&from(&server, &token, "r1", None).await.unwrap());
    assert!(whole.last().unwrap().contains("interrupted"), "{whole:?}");
    let next = events(server.run(&token, "slow", ("r2", "t1"), "x").await).await;
    assert_eq!(kind(last(&next)), "RUN_FINISHED");
    let said = messages(&server.conversation(&token, "t1").await.body);
    assert_eq!((said.len(), said[1].str("status")), (4, Some("interrupted")));
}

#[tokio::test]
async fn an_end_that_is_not_stored_is_not_told_as_a_success() {
    let folder = Folder::new();
    let path = folder.path("end.db");
    let server = Server::at(&path, CONFIG, &[]).await;
    let (token, _) = server.anonymous().await;
    let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}", path.display())).await.unwrap();
    let refuse =
        "CREATE TRIGGER refuse BEFORE UPDATE OF state ON runs BEGIN SELECT RAISE(ABORT, 'broken'); END";
    sqlx::query(refuse).execute(&pool).await.unwrap();
    let seen = server.run(&token, "slow", ("r1", "t1"), "thanks").await.text().await.unwrap();
    assert!(seen.contains("_CONTENT") && !seen.contains("RUN_FINISHED"), "{seen}");
    sqlx::query("DROP TRIGGER refuse").execute(&pool).await.unwrap();
    // Who comes back hears how it ended, after all that was seen.
    let whole = frames(&from(&server, &token, "r1", None).await.unwrap()).concat();
    assert!(whole.starts_with(&frames(&seen).concat()) && whole.contains("RUN_"), "{whole}");
    let last = server.conversation(&token, "t1").await.body;
    assert_eq!(last.get("lastRun").unwrap().str("state"), Some("error"));
}
