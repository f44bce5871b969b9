//! Which calls of the runtime's tools a person has to allow. The agent's configuration says so,
//! and nothing that a model or a tool says changes it.

use super::ServerTool;

/// What needs an approval; nothing unless set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Approvals {
    /// Tools by name, `tool` or `server.tool`, with `*` for any text.
    pub named: Vec<String>,
    /// Whether every tool needs one that is not known to change nothing.
    pub writes: bool,
}

impl Approvals {
    /// Whether a call of `tool` needs one; `Some(true)`: the configuration names it.
    pub(super) fn needed(&self, tool: &ServerTool) -> Option<bool> {
        let long = tool.server.as_ref().map(|server| format!("{server}.{}", tool.name));
        let named = |pattern: &String| {
            fits(pattern, &tool.name) || long.as_ref().is_some_and(|long| fits(pattern, long))
        };
        match self.named.iter().any(named) {
            true => Some(true),
            false => (self.writes && !tool.read_only).then_some(false),
        }
    }
}

/// Whether `name` fits `pattern`, in which `*` stands for any text.
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, mut rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    while let Some((middle, after)) = rest.split_once('*') {
        let Some(at) = name.find(middle) else { return false };
        name = name.get(at + middle.len()..).unwrap_or_default();
        rest = after;
    }
    name.ends_with(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ToolSource;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn tools_are_named_with_and_without_their_server() {
        let tool = |server: &str, read_only| ServerTool {
            source: ToolSource::Mcp,
            server: (!server.is_empty()).then(|| server.to_owned()),
            name: "delete_row".into(),
            description: String::new(),
            title: None,
            parameters: None,
            read_only,
        };
        for (pattern, server, needed) in [
            ("delete_row", "crm", true),
            ("crm.delete_row", "crm", true),
            ("crm.delete_row", "hr", false),
            ("crm.delete_row", "", false),
            ("crm.*", "crm", true),
            ("crm.*", "crm2", false),
            ("crm.*", "", false),
            ("delete_*", "crm", true),
            ("*.delete_row", "crm", true),
            ("*", "", true),
            ("delete", "crm", false),
            ("", "crm", false),
        ] {
            let approvals = Approvals { named: vec![pattern.into()], writes: false };
            let expected = needed.then_some(true);
            assert_eq!(approvals.needed(&tool(server, true)), expected, "{pattern} {server}");
        }
        let writes = Approvals { named: vec!["other".into()], writes: true };
        assert_eq!(writes.needed(&tool("crm", false)), Some(false));
        assert_eq!(writes.needed(&tool("crm", true)), None);
        assert_eq!(Approvals::default().needed(&tool("crm", false)), None);
    }
}
