//! Files that earlier versions wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use mindset_core::json::Value;
use mindset_runtime::App;
use mindset_runtime::config::{Environment, load_text};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use support::{CONFIG, Folder, Server, kind, last};

/// The tables of version 1, with a user and a conversation that waits for its page.
const VERSION_1: &[&str] = &[
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE users (
        id TEXT PRIMARY KEY, app TEXT NOT NULL, external_id TEXT, key_hash TEXT, name TEXT,
        created_at INTEGER NOT NULL, UNIQUE (app, external_id), UNIQUE (app, key_hash))",
    "CREATE TABLE conversations (
        key INTEGER PRIMARY KEY, app TEXT NOT NULL, user TEXT NOT NULL, id TEXT NOT NULL,
        agent TEXT NOT NULL, title TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
        UNIQUE (app, user, id))",
    "CREATE TABLE messages (
        conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
        seq INTEGER NOT NULL, id TEXT NOT NULL, run_id TEXT NOT NULL, role TEXT NOT NULL,
        content TEXT NOT NULL, silent INTEGER NOT NULL, calls TEXT, call_id TEXT, status TEXT,
        provider_state TEXT, created_at INTEGER NOT NULL,
        PRIMARY KEY (conversation, seq), UNIQUE (conversation, id)) WITHOUT ROWID",
    "CREATE TABLE runs (
        app TEXT NOT NULL, user TEXT NOT NULL, id TEXT NOT NULL,
        conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
        body_hash TEXT NOT NULL, state TEXT NOT NULL, created_at INTEGER NOT NULL,
        PRIMARY KEY (app, user, id)) WITHOUT ROWID",
    "CREATE INDEX runs_of_conversation ON runs (conversation, state)",
    "INSERT INTO meta VALUES ('version', '1')",
    "INSERT INTO users VALUES ('u1', 'demo', 'ada', NULL, 'Ada', 1)",
    "INSERT INTO conversations VALUES (1, 'demo', 'u1', 't1', 'demo', 'Old', 1, 1)",
    "INSERT INTO messages VALUES (1, 1, 'm1', 'r1', 'user', 'go', 0, NULL, NULL, NULL, NULL, 1)",
    "INSERT INTO messages VALUES (1, 2, 'm2', 'r1', 'assistant', '', 0,
        '[{\"id\":\"c1\",\"name\":\"set_color\",\"arguments\":\"{}\"}]', NULL, NULL, NULL, 2)",
    "INSERT INTO runs VALUES ('demo', 'u1', 'r1', 1, 'h', 'waiting', 1)",
    "INSERT INTO conversations VALUES (2, 'demo', 'u1', 't0', 'demo', 'Cut', 1, 1)",
    "INSERT INTO messages VALUES (2, 1, 'm0', 'r0', 'user', 'hello', 0, NULL, NULL, NULL, NULL, 1)",
    "INSERT INTO runs VALUES ('demo', 'u1', 'r0', 2, 'h', 'running', 1)",
];

/// What version 2 added, and a message with what it cites.
const VERSION_2: &[&str] = &[
    "ALTER TABLE messages ADD COLUMN citations TEXT",
    "ALTER TABLE runs ADD COLUMN client_id TEXT",
    "UPDATE meta SET value = '2' WHERE key = 'version'",
    "UPDATE runs SET client_id = 'page-1' WHERE id = 'r1'",
    "UPDATE runs SET state = 'finished' WHERE id = 'r0'",
    "INSERT INTO messages VALUES (1, 0, 'm9', 'r0', 'assistant', 'see', 0, NULL, NULL, 'interrupted',
        NULL, 1, '[{\"marker\":\"1\",\"title\":\"Handbook\"}]')",
];

/// What version 3 added that later ones touch.
const VERSION_3: &[&str] = &[
    "ALTER TABLE users ADD COLUMN tokens_from INTEGER",
    "ALTER TABLE messages ADD COLUMN effect TEXT",
    "ALTER TABLE messages ADD COLUMN usage TEXT",
    "ALTER TABLE messages ADD COLUMN widget TEXT",
    "DROP TABLE runs",
    "CREATE TABLE runs (
        key INTEGER PRIMARY KEY, app TEXT NOT NULL, user TEXT NOT NULL, id TEXT NOT NULL,
        conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
        turn_id TEXT NOT NULL, body_hash TEXT NOT NULL, client_id TEXT, state TEXT NOT NULL,
        created_at INTEGER NOT NULL, ended_at INTEGER, terminal TEXT, logged INTEGER NOT NULL,
        UNIQUE (app, user, id))",
    "INSERT INTO runs VALUES (1, 'demo', 'u1', 'r0', 2, 'r0', 'h', NULL, 'finished', 1, 2, NULL, 0)",
    "UPDATE messages SET widget = '{\"kind\":\"card\",\"doc\":{},\"summary\":\"see\"}' WHERE id = 'm9'",
    "UPDATE meta SET value = '3' WHERE key = 'version'",
];

/// What version 4 added, and a run in a conversation that had more than one.
const VERSION_4: &[&str] = &[
    "ALTER TABLE messages ADD COLUMN files TEXT",
    "CREATE INDEX runs_of_conversation ON runs (conversation)",
    "INSERT INTO runs VALUES (2, 'demo', 'u1', 'r1', 1, 'r1', 'h', NULL, 'waiting', 5, 6, NULL, 0)",
    "UPDATE meta SET value = '4' WHERE key = 'version'",
];

async fn write(folder: &Folder, statements: &[&str]) -> std::path::PathBuf {
    let path = folder.path("old.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    // One connection: another one may still believe in the tables of before.
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
    for statement in statements {
        sqlx::query(sqlx::AssertSqlSafe((*statement).to_owned())).execute(&pool).await.unwrap();
    }
    pool.close().await;
    path
}

#[tokio::test]
async fn a_file_of_version_1_goes_on() {
    let folder = Folder::new();
    let path = write(&folder, VERSION_1).await;
    for round in 0..2 {
        let server = Server::at(&path, CONFIG, &[]).await;
        let ada = server.user("ada").await;
        let conversation = server.conversation(&ada, "t1").await.body;
        assert_eq!(conversation.str("title"), Some("Old"));
        // What a killed server of the old version has left running is over.
        let cut = server.conversation(&ada, "t0").await.body;
        let last_run = cut.get("lastRun").unwrap();
        assert_eq!((cut.get("activeRun"), last_run.str("state")), (None, Some("error")), "{cut}");
        assert_eq!(last_run.get("end").and_then(|end| end.str("type")), Some("RUN_ERROR"));
        if round == 0 {
            let open = conversation.get("openCalls").and_then(Value::as_array).unwrap();
            assert_eq!((open.len(), open[0].str("toolCallId")), (1, Some("c1")));
            assert_eq!(open[0].get("clientId"), None);
            let answer = r#"{"threadId":"t1","runId":"r2","messages":[
                {"id":"m3","role":"tool","toolCallId":"c1","content":"done"}],"tools":[],"context":[]}"#;
            let run = server.post("/v1/agents/demo/runs", answer).bearer(&ada).open().await;
            assert_eq!(kind(last(&support::events(run).await)), "RUN_FINISHED");
        }
        let id = format!("new-{round}");
        assert_eq!(kind(last(&server.finish(&ada, &id, &id, "hello").await)), "RUN_FINISHED");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_file_of_version_2_keeps_everything() {
    let folder = Folder::new();
    let path = write(&folder, &[VERSION_1, VERSION_2].concat()).await;
    for _ in 0..2 {
        let server = Server::at(&path, CONFIG, &[]).await;
        let ada = server.user("ada").await;
        let conversation = server.conversation(&ada, "t1").await.body;
        let messages = conversation.get("messages").and_then(Value::as_array).unwrap();
        assert_eq!((messages[0].str("id"), messages[0].str("status")), (Some("m9"), Some("interrupted")));
        let citations = messages[0].get("citations").and_then(Value::as_array).unwrap();
        assert_eq!(citations[0].str("title"), Some("Handbook"), "{conversation}");
        let open = conversation.get("openCalls").and_then(Value::as_array).unwrap();
        assert_eq!((open[0].str("runId"), open[0].str("clientId")), (Some("r1"), Some("page-1")));
        server.stop().await;
    }
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&path)).await.unwrap();
    let runs: Vec<(String, String, String, Option<i64>)> =
        sqlx::query_as("SELECT id, turn_id, state, ended_at FROM runs ORDER BY id")
            .fetch_all(&pool)
            .await
            .unwrap();
    let run = |id: &str, state: &str| (id.to_owned(), id.to_owned(), state.to_owned(), Some(1));
    assert_eq!(runs, [run("r0", "finished"), run("r1", "waiting")]);
}

#[tokio::test]
async fn a_file_of_version_3_keeps_everything() {
    let folder = Folder::new();
    let path = write(&folder, &[VERSION_1, VERSION_2, VERSION_3].concat()).await;
    for round in 0..2 {
        let server = Server::at(&path, CONFIG, &[]).await;
        let ada = server.user("ada").await;
        let conversation = server.conversation(&ada, "t1").await.body;
        let messages = conversation.get("messages").and_then(Value::as_array).unwrap();
        assert_eq!(messages[0].get("widget").and_then(|w| w.str("kind")), Some("card"), "{conversation}");
        assert_eq!((messages[1].str("content"), messages[1].get("files")), (Some("go"), None));
        let id = format!("new-{round}");
        assert_eq!(kind(last(&server.finish(&ada, &id, &id, "hello").await)), "RUN_FINISHED");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_file_of_version_4_keeps_everything() {
    let folder = Folder::new();
    let path = write(&folder, &[VERSION_1, VERSION_2, VERSION_3, VERSION_4].concat()).await;
    for round in 0..2 {
        let server = Server::at(&path, CONFIG, &[]).await;
        let ada = server.user("ada").await;
        let conversation = server.conversation(&ada, "t1").await.body;
        assert_eq!(conversation.str("owner"), Some("user"), "{conversation}");
        assert_eq!(conversation.get("activeRun").and_then(|run| run.str("runId")), Some("r1"));
        assert_eq!(conversation.get("openCalls").and_then(Value::as_array).map(<[Value]>::len), Some(1));
        let id = format!("new-{round}");
        assert_eq!(kind(last(&server.finish(&ada, &id, &id, "hello").await)), "RUN_FINISHED");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_newer_file_is_left_alone() {
    let folder = Folder::new();
    let newer =
        ["CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)", "INSERT INTO meta VALUES ('version', '99')"];
    let path = write(&folder, &newer).await;
    let env = Environment::from([("MINDSET__SERVER__DATABASE".into(), path.display().to_string())]);
    let refused = App::start(load_text("t.toml", CONFIG, &env).unwrap(), &env).await.unwrap_err();
    assert!(refused.0.contains("format 99") && refused.0.contains("server.database"), "{}", refused.0);
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&path)).await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .fetch_all(&pool)
        .await
        .unwrap();
    assert_eq!(tables, ["meta"]);
}
