//! What is wrong with services and with the file that declares their servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use mindset_runtime::config::{Config, Environment, Fault, load_text};
use support::Folder;

const FILE: &str = r#"{
  "schemaVersion": 1,
  "mcpServers": {
    "board": {
      "type": "streamable-http",
      "url": "http://127.0.0.1:9/mcp/board",
      "headers": { "X-Board": "env:BOARD_KEY" },
      "description": "Summarizes the current board data.",
      "timeout": 30000
    }
  }
}"#;

const SERVICE: &str = r#"
uid = "app"
command = ["node", "server.mjs"]
mcp_endpoints = [{ server = "board", path = "/mcp/board" }]
"#;

/// The configuration with this service, and with this file in its folder.
fn load(service: &str, file: &str) -> Result<Config, Vec<Fault>> {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("app")).unwrap();
    std::fs::write(folder.path("app/servers.mcp.json"), file).unwrap();
    let directory = folder.path("app");
    let text = format!(
        "[models.m]\nprovider = 'openai'\nmodel = 'm'\napi_key = 'env:MODEL_KEY'\n\
         [[apps]]\nuid = 'a'\napi_keys = ['backend-key']\n[[apps.services]]\ndirectory = '{}'\n{service}\n\
         [[apps.agents]]\nuid = 'b'\nmcp_servers = ['board']",
        directory.display()
    );
    let variables = [
        ("PATH", "/usr/bin"),
        ("BOARD_KEY", "board-canary"),
        ("MODEL_KEY", "model-canary"),
        ("BACKEND", "backend-key"),
        ("COLOUR", "green"),
    ];
    let env: Environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    load_text("mindset.toml", &text, &env)
}

/// Everything that is wrong, as people read it, without the folder.
fn faults(service: &str, file: &str) -> Vec<String> {
    let lines = load(service, file).expect_err(&format!("nothing is wrong with {service} {file}"));
    let short = |line: String| {
        assert!(!line.contains("canary"), "{line}");
        line.split_once("app/servers.mcp.json: ").map_or(line.clone(), |(_, rest)| format!("FILE {rest}"))
    };
    lines.iter().map(|fault| short(fault.to_string())).collect()
}

#[test]
fn a_service_and_its_servers() {
    let config = load(&format!("{SERVICE}env = ['COLOUR', 'NOT_THERE']"), FILE).unwrap();
    let (service, server) = (&config.apps[0].services[0], &config.apps[0].mcp_servers[0]);
    assert!(service.required && !service.autostart && service.port.is_none());
    let variables: Vec<(&str, &str)> =
        service.variables.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(variables, [("PATH", "/usr/bin"), ("COLOUR", "green")]);
    assert_eq!((server.uid.as_str(), server.url.as_str()), ("board", "http://127.0.0.1:9/mcp/board"));
    assert_eq!(server.timeout.as_millis(), 30_000);
    assert_eq!(server.description.as_deref(), Some("Summarizes the current board data."));
    assert_eq!((server.headers[0].0.as_str(), server.headers[0].1.expose()), ("x-board", "board-canary"));
    let printed = config.to_toml();
    assert!(printed.contains("[[apps.services]]") && !printed.contains("[[apps.mcp_servers]]"), "{printed}");
    assert!(printed.contains(r#"path = "/mcp/board""#), "{printed}");
    for secret in ["canary", "backend-key", "green"] {
        assert!(!printed.contains(secret) && !format!("{config:?}").contains(secret), "{secret}");
    }
}

#[test]
fn what_is_wrong_with_a_service() {
    for (service, expected) in [
        (
            SERVICE.replace("[\"node\", \"server.mjs\"]", "[]"),
            "apps[0].services[0].command: no program is named",
        ),
        (
            SERVICE.replace("command", "comand"),
            "apps[0].services[0].comand: unknown key; did you mean `command`?",
        ),
        (SERVICE.replace("= \"/mcp", "= \"mcp"), "apps[0].services[0].mcp_endpoints[0].path: not the path"),
        (
            SERVICE.replace("/mcp/board", "/mcp?x=1"),
            "apps[0].services[0].mcp_endpoints[0].path: not the path",
        ),
        (SERVICE.replace("/mcp/board", "/a/../b"), "apps[0].services[0].mcp_endpoints[0].path: not the path"),
        (
            SERVICE.replace(", path = \"/mcp/board\"", ""),
            "apps[0].services[0].mcp_endpoints[0].path: missing",
        ),
        (
            SERVICE.replace("server = \"board\"", "sever = \"board\""),
            "mcp_endpoints[0].sever: unknown key; did you mean",
        ),
        (
            SERVICE.replace("[{ server = \"board\", path = \"/mcp/board\" }]", "[]"),
            "mcp_endpoints: no endpoint is declared",
        ),
        (
            SERVICE.replace("\"board\"", "\"bord\""),
            "servers.mcp.json has no server `bord`; declare it there under \"mcpServers\", or correct the name; it has board",
        ),
        (
            SERVICE.replace("}]", "}, { server = \"board\", path = \"/other\" }]"),
            "mcp_endpoints: two entries have the uid `board`",
        ),
        (format!("{SERVICE}servers = 'none.json'"), "none.json cannot be read (entity not found)"),
    ] {
        let found = faults(&service, FILE);
        assert!(found.iter().any(|fault| fault.contains(expected)), "{service}: {found:#?}");
    }
}

#[test]
fn what_is_wrong_with_the_process_of_a_service() {
    for (service, expected) in [
        (format!("{SERVICE}port = 0"), "services[0].port: not a port"),
        (format!("{SERVICE}port = 70000"), "services[0].port: not a port"),
        (format!("{SERVICE}start_timeout = '0s'"), "services[0].start_timeout: no time at all"),
        (format!("{SERVICE}backoff = '0s'"), "services[0].backoff: no time at all"),
        (
            format!("{SERVICE}env = ['OPENAI_API_KEY']"),
            "services[0].env: `OPENAI_API_KEY` belongs to the runtime",
        ),
        (format!("{SERVICE}env = ['MINDSET__SERVER__LISTEN']"), "belongs to the runtime"),
        (format!("{SERVICE}env = ['PORT']"), "`PORT` cannot be passed on"),
        (
            format!("{SERVICE}env = ['MODEL_KEY']"),
            "services[0].env: `MODEL_KEY` holds a secret of the runtime",
        ),
        (format!("{SERVICE}env = ['BACKEND']"), "services[0].env: `BACKEND` holds a secret of the runtime"),
        (
            format!("{SERVICE}[[apps.mcp_servers]]\nuid = 'board'\nurl = 'https://x.example'"),
            "apps[0].mcp_servers: two entries have the uid `board`",
        ),
        (
            format!("{SERVICE}[[apps.services]]\n{SERVICE}directory = 'no-such-folder'"),
            "apps[0].services[1].directory: no folder no-such-folder",
        ),
    ] {
        let found = faults(&service, FILE);
        assert!(found.iter().any(|fault| fault.contains(expected)), "{service}: {found:#?}");
    }
}

#[test]
fn what_is_wrong_with_the_file() {
    for (from, to, expected) in [
        ("\"schemaVersion\": 1,", "\"schemaVersion\" 1,", "FILE line 2 column 19: "),
        (FILE, "[]", "FILE the file: not a JSON object"),
        ("1,", "2,", "FILE schemaVersion: not the version that is known here; write 1"),
        ("\"schemaVersion\": 1,", "", "FILE schemaVersion: not the version"),
        ("mcpServers", "servers", "FILE servers: unknown member; known are schemaVersion, mcpServers"),
        ("mcpServers", "servers", "FILE mcpServers: missing, or no object of servers"),
        ("\"type\"", "\"kind\"", "FILE mcpServers.board.kind: unknown member; known are type, url,"),
        ("streamable-http", "stdio", "FILE mcpServers.board.type: another kind of server"),
        ("127.0.0.1:9/", "127.0.0.1:8080/", "FILE mcpServers.board.url: not the placeholder address"),
        ("http://127.0.0.1:9/", "https://tools.example/", "FILE mcpServers.board.url: not the placeholder"),
        ("/mcp/board\"", "/mcp/board?x=1\"", "FILE mcpServers.board.url: not the placeholder"),
        ("30000", "0", "FILE mcpServers.board.timeout: not a whole number above 0"),
        ("30000", "\"30s\"", "FILE mcpServers.board.timeout: not a whole number above 0"),
        ("\"Summarizes the current board data.\"", "7", "FILE mcpServers.board.description: not a text"),
        ("\"env:BOARD_KEY\"", "7", "FILE mcpServers.board.headers.X-Board: not a text"),
        (
            "env:BOARD_KEY",
            "env:MISSING",
            "FILE mcpServers.board.headers.X-Board: the environment has no MISSING",
        ),
        ("env:BOARD_KEY", "a\\nb", "FILE mcpServers.board.headers.X-Board: cannot be sent as a header"),
        ("X-Board", "x y", "FILE mcpServers.board.headers.x y: cannot be sent as a header"),
        ("X-Board", "X-User-Id", "headers.X-User-Id: the runtime sends this header itself; leave it out"),
        ("X-Board", "Mcp-Session-Id", "headers.Mcp-Session-Id: the runtime sends this header itself"),
        (
            "\"X-Board\"",
            "\"x-board\": \"a\", \"X-Board\"",
            "FILE mcpServers.board.headers.X-Board: there twice",
        ),
        (
            "\"timeout\"",
            "\"timeout\": 1, \"timeout\"",
            "FILE mcpServers.board.timeout: there twice; keep one of them",
        ),
        ("\"board\": {", "\"b d\": {}, \"board\": {", "FILE mcpServers.b d: not a name for a server"),
        ("\"board\": {", "\"board\": 5, \"x\": {", "FILE mcpServers.board: not an object"),
    ] {
        let found = faults(SERVICE, &FILE.replacen(from, to, 1));
        assert!(found.iter().any(|fault| fault.contains(expected)), "{to}: {found:#?}");
    }
    let more = FILE.replacen(
        "\"board\": {",
        "\"other\": {\"type\": \"streamable-http\", \"url\": \"http://127.0.0.1:9/x\"}, \"board\": {",
        1,
    );
    let found = faults(SERVICE, &more);
    assert!(
        found[0].starts_with("FILE mcpServers.other: no endpoint of the service serves it; add {"),
        "{found:?}"
    );
}
