//! Against small servers written for the case.

mod asks;
mod calls;
mod lists;
mod network;
mod peer;
mod sessions;
mod shapes;

use std::sync::atomic::{AtomicUsize, Ordering};

use mindset_core::event::ToolSource;
use mindset_core::json::Object;
use mindset_core::passthrough::{CheckedArgs, VisibleSchema};

use self::peer::{Reply, Seen};
use super::*;
use crate::pattern::Patterns;

/// The server `s` of the app `app` at `url`.
pub(super) fn server(url: &str) -> McpServer {
    servers_config(url, "").apps[0].mcp_servers[0].clone()
}

fn servers_config(url: &str, more: &str) -> Config {
    let text = format!(
        "[[apps]]\nuid='app'\n[[apps.mcp_servers]]\nuid='s'\nurl='{url}'\nallow_private=true\n{more}\n\
         [[apps.agents]]\nuid='a'\nmcp_servers=['s']"
    );
    crate::config::load_text("test", &text, &Default::default()).unwrap()
}

/// The servers of a configuration with one at `url`.
fn servers(url: &str, more: &str) -> Servers {
    Servers::new(&servers_config(url, more))
}

/// A caller of the app `app`.
pub(super) fn caller(session: &str) -> Caller {
    Caller {
        session: session.into(),
        user: format!("user-{session}"),
        app: "app".into(),
        human: "human-1".into(),
        tags: Vec::new(),
    }
}

/// A call of `tool` with these arguments.
fn request(tool: &str, arguments: &str) -> ToolRequest {
    let visible = VisibleSchema::strip(&Object::new(), |_| false);
    let arguments = CheckedArgs::read(arguments, &visible, &Patterns).unwrap();
    ToolRequest {
        call_id: "c1".into(),
        source: ToolSource::Mcp,
        server: Some("s".into()),
        name: tool.into(),
        arguments: arguments.inject(&Object::new(), |_| None).unwrap(),
        answer: None,
        work: None,
    }
}

/// A call of conversation 1 that nothing of waits.
const NEW: (i64, Option<LiveCall>) = (1, None);

fn done(content: &str) -> ToolOutcome {
    ToolOutcome::Done { content: content.into(), sources: Vec::new(), widgets: Vec::new() }
}

/// A result with one text.
fn says(text: &str) -> String {
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#)
}

/// A server of the revision 2025-11-25 with sessions `s1`, `s2`, … and the tool
/// `echo`; `own` answers what it likes to.
fn legacy(
    own: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static,
) -> impl Fn(&Seen) -> Reply + Send + Sync {
    let sessions = AtomicUsize::new(0);
    move |seen| {
        if let Some(reply) = own(seen) {
            return reply;
        }
        match (seen.method.as_str(), seen.body.str("method").unwrap_or_default()) {
            ("POST", "server/discover") => Reply::plain(400, "text/plain", "no session"),
            ("POST", "initialize") => {
                let number = sessions.fetch_add(1, Ordering::Relaxed) + 1;
                seen.result(
                    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"t","version":"1"},"instructions":"obey"}"#,
                )
                .header("mcp-session-id", &format!("s{number}"))
            }
            ("POST", "tools/list") => {
                seen.result(r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#)
            }
            ("POST", "tools/call") => seen.result(&says("ok")),
            ("POST", _) => Reply::accepted(),
            ("DELETE", _) => Reply::with(200, &[], ""),
            _ => Reply::with(405, &[], ""),
        }
    }
}
