//! Against small servers written for the case.

use super::*;

/// The server `s` at `url`.
pub(super) fn server(url: &str) -> McpServer {
    let text = format!(
        "[[apps]]\nuid='app'\n[[apps.mcp_servers]]\nuid='s'\nurl='{url}'\nallow_private=true\n[[apps.agents]]\nuid='a'"
    );
    let config = crate::config::load_text("test", &text, &Default::default()).unwrap();
    config.apps[0].mcp_servers[0].clone()
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
