//! The tables, and how the files of earlier versions get them.

use std::path::Path;

use sqlx::SqlitePool;

use super::{OpenError, StoreResult, failed};

/// The version of the tables below.
const VERSION: u32 = 5;

const TABLES: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS users (
        id TEXT PRIMARY KEY, app TEXT NOT NULL, external_id TEXT, key_hash TEXT, name TEXT,
        created_at INTEGER NOT NULL, tokens_from INTEGER, UNIQUE (app, external_id), UNIQUE (app, key_hash))",
    "CREATE TABLE IF NOT EXISTS conversations (
        key INTEGER PRIMARY KEY, app TEXT NOT NULL, user TEXT NOT NULL, id TEXT NOT NULL,
        agent TEXT NOT NULL, title TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
        owner TEXT NOT NULL DEFAULT 'user', UNIQUE (app, user, id))",
    "CREATE TABLE IF NOT EXISTS messages (
        conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
        seq INTEGER NOT NULL, id TEXT NOT NULL, run_id TEXT NOT NULL, role TEXT NOT NULL,
        content TEXT NOT NULL, silent INTEGER NOT NULL, calls TEXT, call_id TEXT, status TEXT,
        provider_state TEXT, created_at INTEGER NOT NULL, citations TEXT, effect TEXT, usage TEXT, widget TEXT,
        files TEXT, steered INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (conversation, seq), UNIQUE (conversation, id)) WITHOUT ROWID",
    RUNS,
    "CREATE INDEX IF NOT EXISTS runs_begun ON runs (conversation, began)",
    "CREATE INDEX IF NOT EXISTS runs_running ON runs (key) WHERE state = 'running'",
    "CREATE INDEX IF NOT EXISTS runs_waiting ON runs (conversation) WHERE state = 'waiting'",
    "CREATE INDEX IF NOT EXISTS runs_logged ON runs (ended_at) WHERE logged",
    "CREATE TABLE IF NOT EXISTS events (
        run INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE, seq INTEGER NOT NULL,
        event TEXT NOT NULL, PRIMARY KEY (run, seq)) WITHOUT ROWID",
    // `state`: arriving, kept, or gone, which is kept until its bytes are deleted. `conversation` is
    // empty before the file is sent.
    "CREATE TABLE IF NOT EXISTS uploads (
        id TEXT PRIMARY KEY, app TEXT NOT NULL, user TEXT NOT NULL,
        conversation INTEGER REFERENCES conversations (key) ON DELETE SET NULL,
        name TEXT NOT NULL, type TEXT NOT NULL, size INTEGER NOT NULL, state TEXT NOT NULL,
        unused_since INTEGER, created_at INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS uploads_of_conversation ON uploads (conversation)",
    "CREATE INDEX IF NOT EXISTS uploads_gone ON uploads (created_at) WHERE state = 'gone'",
    // What waits; it begins in the order of its runs. Nothing else of a run is kept until then.
    "CREATE TABLE IF NOT EXISTS queue (
        run INTEGER PRIMARY KEY REFERENCES runs (key) ON DELETE CASCADE, message_id TEXT NOT NULL,
        text TEXT NOT NULL, silent INTEGER NOT NULL)",
    // Conversations of work that was handed to another agent, and where. Came with no other change.
    "CREATE TABLE IF NOT EXISTS children (
        conversation INTEGER PRIMARY KEY REFERENCES conversations (key) ON DELETE CASCADE,
        parent INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE)",
    "CREATE INDEX IF NOT EXISTS children_of ON children (parent)",
    // Of those, what goes on in the background: the run and the agents above. A file of this version
    // may lack it.
    "CREATE TABLE IF NOT EXISTS background (
        conversation INTEGER PRIMARY KEY REFERENCES conversations (key) ON DELETE CASCADE,
        run TEXT NOT NULL, above TEXT NOT NULL, agent_call INTEGER NOT NULL)",
    // What users let the application do; no row: what it declares.
    "CREATE TABLE IF NOT EXISTS permissions (
        app TEXT NOT NULL, user TEXT NOT NULL, run INTEGER NOT NULL, read INTEGER NOT NULL,
        PRIMARY KEY (app, user)) WITHOUT ROWID",
    // The models that people and applications have chosen; no row: the agent's own. A file of this
    // version may lack it.
    "CREATE TABLE IF NOT EXISTS chosen_models (
        conversation INTEGER PRIMARY KEY REFERENCES conversations (key) ON DELETE CASCADE, model TEXT NOT NULL)",
    // A file of this version may lack it: it came with no change of what was there.
    "CREATE TABLE IF NOT EXISTS feedback (
        conversation INTEGER NOT NULL, message TEXT NOT NULL, good INTEGER NOT NULL, comment TEXT,
        created_at INTEGER NOT NULL, PRIMARY KEY (conversation, message),
        FOREIGN KEY (conversation, message) REFERENCES messages (conversation, id) ON DELETE CASCADE
        ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS agent_sessions (
        key INTEGER PRIMARY KEY, app TEXT NOT NULL, uid TEXT NOT NULL, agent TEXT NOT NULL,
        user TEXT NOT NULL REFERENCES users (id), tags TEXT NOT NULL, contexts TEXT, mcpservers TEXT,
        created_at INTEGER NOT NULL, UNIQUE (app, uid))",
    "CREATE TABLE IF NOT EXISTS knowledge_files (
        key INTEGER PRIMARY KEY, app TEXT NOT NULL, context TEXT NOT NULL, path TEXT NOT NULL,
        hash TEXT NOT NULL, UNIQUE (app, context, path))",
    "CREATE TABLE IF NOT EXISTS knowledge_chunks (
        key INTEGER PRIMARY KEY,
        file INTEGER NOT NULL REFERENCES knowledge_files (key) ON DELETE CASCADE,
        title TEXT NOT NULL, anchor TEXT, text TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS chunks_of_file ON knowledge_chunks (file)",
    // The words only; the text itself stands in knowledge_chunks.
    "CREATE VIRTUAL TABLE IF NOT EXISTS knowledge_words USING fts5 (
        title, text, content = '', contentless_delete = 1,
        tokenize = 'porter unicode61 remove_diacritics 2')",
];

/// `terminal` is the last event of a run that has ended; `logged`: its events are kept. `began`
/// grows from run to run as they begin, and is empty as long as one waits, or if it never began;
/// `agent_call`: the application posted it.
const RUNS: &str = "CREATE TABLE IF NOT EXISTS runs (
    key INTEGER PRIMARY KEY, app TEXT NOT NULL, user TEXT NOT NULL, id TEXT NOT NULL,
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    turn_id TEXT NOT NULL, body_hash TEXT NOT NULL, client_id TEXT, state TEXT NOT NULL,
    created_at INTEGER NOT NULL, ended_at INTEGER, terminal TEXT, logged INTEGER NOT NULL,
    began INTEGER, agent_call INTEGER NOT NULL DEFAULT 0, UNIQUE (app, user, id))";

/// The same in version 3.
const RUNS_3: &str = "CREATE TABLE runs (
    key INTEGER PRIMARY KEY, app TEXT NOT NULL, user TEXT NOT NULL, id TEXT NOT NULL,
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    turn_id TEXT NOT NULL, body_hash TEXT NOT NULL, client_id TEXT, state TEXT NOT NULL,
    created_at INTEGER NOT NULL, ended_at INTEGER, terminal TEXT, logged INTEGER NOT NULL,
    UNIQUE (app, user, id))";

/// What makes a file of version N one of N + 1, before the tables that are new.
const UPGRADES: &[&[&str]] = &[
    &["ALTER TABLE messages ADD COLUMN citations TEXT", "ALTER TABLE runs ADD COLUMN client_id TEXT"],
    &[
        "ALTER TABLE users ADD COLUMN tokens_from INTEGER",
        "ALTER TABLE messages ADD COLUMN effect TEXT",
        "ALTER TABLE messages ADD COLUMN usage TEXT",
        "ALTER TABLE messages ADD COLUMN widget TEXT",
        "ALTER TABLE runs RENAME TO runs_before",
        RUNS_3,
        "INSERT INTO runs (app, user, id, conversation, turn_id, body_hash, client_id, state, created_at,
             ended_at, logged)
         SELECT app, user, id, conversation, id, body_hash, client_id, state, created_at,
             CASE state WHEN 'running' THEN NULL ELSE created_at END, 0
         FROM runs_before ORDER BY created_at",
        "DROP TABLE runs_before",
    ],
    &["ALTER TABLE messages ADD COLUMN files TEXT"],
    &[
        "ALTER TABLE conversations ADD COLUMN owner TEXT NOT NULL DEFAULT 'user'",
        "ALTER TABLE messages ADD COLUMN steered INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE runs ADD COLUMN began INTEGER",
        "ALTER TABLE runs ADD COLUMN agent_call INTEGER NOT NULL DEFAULT 0",
        "UPDATE runs SET began = key",
        "DROP INDEX IF EXISTS runs_of_conversation",
    ],
];

/// Brings the file to this version, all or nothing.
///
/// # Errors
/// The database failed, or a newer version wrote it.
pub(super) async fn prepare(pool: &SqlitePool, path: &Path) -> Result<(), OpenError> {
    let broken = |error: sqlx::Error| failed(path, &error.to_string());
    let found = version(pool).await.map_err(broken)?;
    let known = match found.as_deref() {
        None => Some(VERSION),
        Some(text) => text.parse().ok().filter(|known| (1..=VERSION).contains(known)),
    };
    let Some(known) = known else {
        return Err(OpenError(format!(
            "The database {} has format {} and this version needs {VERSION}. Name another file in server.database.",
            path.display(),
            found.unwrap_or_default(),
        )));
    };
    upgrade(pool, known).await.map_err(broken)
}

async fn upgrade(pool: &SqlitePool, from: u32) -> StoreResult<()> {
    let mut tx = pool.begin().await?;
    for statement in UPGRADES.iter().skip(from as usize - 1).copied().flatten().chain(TABLES) {
        sqlx::query(*statement).execute(&mut *tx).await?;
    }
    sqlx::query("INSERT OR REPLACE INTO meta (key, value) VALUES ('version', ?)")
        .bind(VERSION.to_string())
        .execute(&mut *tx)
        .await?;
    tx.commit().await
}

/// The version of the file; `None` for a new one.
async fn version(pool: &SqlitePool) -> StoreResult<Option<String>> {
    let tables: i64 =
        sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").fetch_one(pool).await?;
    if tables == 0 {
        return Ok(None);
    }
    sqlx::query_scalar("SELECT value FROM meta WHERE key = 'version'").fetch_optional(pool).await
}
