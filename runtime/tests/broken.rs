//! Conversations that something broke in the store go on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use mindset_core::json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use support::{CONFIG, Folder, Server, kind, last};

/// What happens to the stored messages of a conversation.
const BREAKS: &[(&str, &str)] = &[
    (
        "calls without results, and a stray result",
        "UPDATE messages SET calls = '[{\"id\":\"c1\",\"name\":\"t\",\"arguments\":\"{}\"},{\"id\":\"c2\",\"name\":\"t\",\"arguments\":\"\"}]',
         call_id = CASE role WHEN 'tool' THEN 'c9' END WHERE role = 'assistant'",
    ),
    ("cut JSON of calls", "UPDATE messages SET calls = '[{\"id\":\"c1\",\"na' WHERE role = 'assistant'"),
    ("calls that are none", "UPDATE messages SET calls = '{\"a\":[7,null]}' WHERE role = 'assistant'"),
    ("calls without members", "UPDATE messages SET calls = '[{},7,null]' WHERE role = 'assistant'"),
    (
        "cut arguments",
        "UPDATE messages SET calls = '[{\"id\":\"c1\",\"name\":\"t\",\"arguments\":\"{\\\"a\\\":\"}]' WHERE role = 'assistant'",
    ),
    ("a cut state of the provider", "UPDATE messages SET provider_state = '{\"host\":' WHERE role = 'assistant'"),
    ("cut columns", "UPDATE messages SET citations = '[{', effect = '{\"t', usage = '{', widget = '{\"kind'"),
    ("a result instead of an answer", "UPDATE messages SET role = 'tool', call_id = 'c1' WHERE role = 'assistant'"),
    ("an answer that nobody asked for", "DELETE FROM messages WHERE role = 'user'"),
    ("nothing at all", "DELETE FROM messages"),
    ("no words", "UPDATE messages SET content = ''"),
];

#[tokio::test]
async fn a_broken_conversation_is_read_and_takes_the_next_message() {
    for (what, statement) in BREAKS {
        let folder = Folder::new();
        let path = folder.path("test.db");
        let server = Server::at(&path, CONFIG, &[]).await;
        let ada = server.user("ada").await;
        assert_eq!(kind(last(&server.finish(&ada, "r1", "t1", "hello").await)), "RUN_FINISHED");
        server.stop().await;
        let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&path)).await.unwrap();
        let changed = sqlx::query(sqlx::AssertSqlSafe((*statement).to_owned())).execute(&pool).await.unwrap();
        assert!(changed.rows_affected() > 0, "{what}");
        pool.close().await;

        let server = Server::at(&path, CONFIG, &[]).await;
        let read = server.conversation(&ada, "t1").await;
        assert_eq!(read.status, 200, "{what}: {}", read.text);
        let next = server.finish(&ada, "r2", "t1", "hello again").await;
        assert_eq!(kind(last(&next)), "RUN_FINISHED", "{what}: {}", last(&next));
        let read = server.conversation(&ada, "t1").await.body;
        let messages = read.get("messages").and_then(Value::as_array).unwrap();
        assert!(messages.iter().any(|m| m.str("content") == Some("hello again")), "{what}: {read}");
        assert_eq!(read.get("openCalls").and_then(Value::as_array).map(<[Value]>::len), Some(0), "{what}");
    }
}
