//! Files and addresses: the page, the script, the module, and what is nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use support::{CONFIG, Folder, Server};

const HASHED: &str = "mindset-agent-0123456789abcdef.wasm";

/// A server with a folder of files of its own.
async fn server() -> (Server, Folder) {
    let folder = Folder::new();
    for (name, content) in [
        ("index.html", "<!doctype html><title>x</title>"),
        ("mindset-agent.js", "plain"),
        ("mindset-agent.js.br", "brotli"),
        ("mindset-agent.js.gz", "gzip"),
        (HASHED, "\0asm"),
        ("secret.toml", "x"),
    ] {
        std::fs::write(folder.path(name), content).unwrap();
    }
    let assets = folder.path("").display().to_string();
    (Server::with(CONFIG, &[("MINDSET__SERVER__ASSETS", &assets)]).await, folder)
}

#[tokio::test]
async fn the_page_is_strict() {
    let (server, _folder) = server().await;
    for path in ["/", "/index.html"] {
        let page = server.request("GET", path).send().await;
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"), "{policy}");
        assert!(policy.contains("require-trusted-types-for 'script'"));
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("cache-control"), "no-cache");
    }
}

#[tokio::test]
async fn the_script_for_every_page() {
    let (server, _folder) = server().await;
    let get = |encodings: &'static str| {
        server.request("GET", "/mindset-agent.js").header("accept-encoding", encodings).send()
    };
    for (encodings, name, content) in [
        ("gzip, br", "br", "brotli"),
        ("gzip", "gzip", "gzip"),
        ("br;q=0, identity", "", "plain"),
        ("", "", "plain"),
    ] {
        let script = get(encodings).await;
        assert_eq!(
            (script.status, script.header("content-encoding"), script.text.as_str()),
            (200, name, content)
        );
        assert_eq!(script.header("content-type"), "text/javascript; charset=utf-8");
        assert_eq!(script.header("access-control-allow-origin"), "*");
        assert_eq!(script.header("cross-origin-resource-policy"), "cross-origin");
        assert_eq!(script.header("vary"), "accept-encoding");
    }
    let tag = get("br").await.header("etag").to_owned();
    let request = server.request("GET", "/mindset-agent.js").header("accept-encoding", "br");
    let again = request.header("if-none-match", &tag).send().await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    let head = server.request("HEAD", "/mindset-agent.js").send().await;
    assert_eq!((head.status, head.bytes.len()), (200, 0));
}

#[tokio::test]
async fn the_script_names_the_module_beside_it() {
    let (server, folder) = server().await;
    let link = async |path: &str| server.request("GET", path).send().await.header("link").to_owned();
    assert_eq!(link("/mindset-agent.js").await, format!("<{HASHED}>; rel=preload; as=fetch; crossorigin"));
    for other in ["/", "/index.html", &format!("/{HASHED}")] {
        assert_eq!(link(other).await, "", "{other}");
    }
    // A module that is not there is not asked for.
    std::fs::remove_file(folder.path(HASHED)).unwrap();
    assert_eq!(link("/mindset-agent.js").await, "");
}

#[tokio::test]
async fn the_module_is_kept_for_ever() {
    let (server, _folder) = server().await;
    let module = server.request("GET", &format!("/{HASHED}?x=1")).send().await;
    assert_eq!((module.status, module.header("content-type")), (200, "application/wasm"));
    assert!(module.header("cache-control").contains("immutable"));
}

#[tokio::test]
async fn what_is_not_there() {
    let (server, _folder) = server().await;
    for path in [
        "/nothing",
        "/v1",
        "/v1/nothing",
        "/v1/runs/x/nothing",
        "/api/v2/x",
        "/secret.toml",
        "/mindset.toml",
        "/mindset-agent.js.br",
        "/..%2f..%2fetc%2fpasswd",
        "/.git/config",
    ] {
        let answer = server.request("GET", path).send().await;
        assert_eq!(answer.error(), (404, "not-found".into()), "{path}");
    }
    for (method, path, allowed) in [
        ("PUT", "/v1/anonymous", "POST"),
        ("GET", "/v1/agents/demo/runs", "POST"),
        ("DELETE", "/healthz", "GET,HEAD"),
        ("POST", "/", "GET, HEAD"),
        ("POST", "/mindset-agent.js", "GET, HEAD"),
    ] {
        let answer = server.request(method, path).send().await;
        assert_eq!(answer.error(), (405, "invalid-request".into()), "{method} {path}");
        assert_eq!(answer.header("allow"), allowed, "{method} {path}");
    }
    let healthy = server.request("GET", "/healthz").send().await;
    assert_eq!((healthy.status, healthy.string("status").as_str()), (200, "ok"));
}
