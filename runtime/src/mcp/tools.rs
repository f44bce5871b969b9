//! A server's list of tools to ours.

use std::collections::BTreeSet;

use mindset_core::event::ToolSource;
use mindset_core::json::{self, Value};
use mindset_core::turn::ServerTool;

use super::headers::Mask;
use super::wire::bounded;
use crate::config::McpServer;

/// Most tools of one server.
const MAX_TOOLS: usize = 512;

/// The longest name, in bytes.
const MAX_NAME: usize = 256;

/// The longest description, in bytes.
const MAX_DESCRIPTION: usize = 16 * 1024;

/// The largest schema of one tool, in bytes.
const MAX_SCHEMA: usize = 128 * 1024;

/// The largest list: schemas and descriptions, in bytes.
const MAX_LIST: usize = 2 * 1024 * 1024;

/// Tools that cannot be used, of which the log tells one by one.
const MAX_TOLD: usize = 100;

/// What a server has to offer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Offered {
    /// As many of its tools as its list may hold.
    pub(crate) tools: Vec<ServerTool>,
    /// How many more there are.
    pub(crate) left_out: usize,
    /// Whether there are still more, which were not read.
    pub(crate) unread: bool,
}

/// The tools that can be offered, from the texts of all listed. What cannot is
/// left out and said in the log; the rest stays.
pub(super) fn offered(server: &McpServer, texts: &[String], mask: &Mask) -> Offered {
    let mut offered = Offered::default();
    let (mut names, mut size, mut told) = (BTreeSet::new(), 0, 0);
    let mut tell = |problem: &str| {
        told += 1;
        if told <= MAX_TOLD {
            tracing::warn!(server = %server.uid, "an MCP tool is left out: {problem}");
        }
    };
    for text in texts {
        let tool = match tool(server, text, mask) {
            Ok(tool) => tool,
            Err(problem) => {
                tell(problem);
                continue;
            }
        };
        if !server.offers(&tool.name) {
            continue;
        }
        if !names.insert(tool.name.clone()) {
            tell("its name is there twice");
            continue;
        }
        size += text.len();
        if offered.left_out > 0 || offered.tools.len() == MAX_TOOLS || size > MAX_LIST {
            offered.left_out += 1;
        } else {
            offered.tools.push(tool);
        }
    }
    if offered.left_out > 0 {
        let used = offered.tools.len();
        tracing::warn!(server = %server.uid, "the list of MCP tools is too long: the first {used} are used");
    }
    offered
}

fn tool(server: &McpServer, text: &str, mask: &Mask) -> Result<ServerTool, &'static str> {
    let tool = json::parse(text).map_err(|_| "it cannot be read")?;
    let name = tool.str("name").ok_or("it has no name")?;
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) || mask.hits(name) {
        return Err("its name is empty, too long or not fit to be one");
    }
    let execution = tool.get("execution").and_then(|e| e.str("taskSupport"));
    if execution == Some("required") {
        return Err("it runs only as a task");
    }
    let annotations = tool.get("annotations");
    let title = tool.str("title").or_else(|| annotations.and_then(|a| a.str("title")));
    let says_read_only = annotations.and_then(|a| a.get("readOnlyHint")).and_then(Value::as_bool);
    let masked = |text: &str| mask.apply(bounded(text, MAX_DESCRIPTION));
    Ok(ServerTool {
        source: ToolSource::Mcp,
        server: Some(server.uid.clone()),
        name: name.to_owned(),
        description: masked(tool.str("description").unwrap_or_default()),
        title: title.filter(|t| !t.trim().is_empty()).map(masked),
        parameters: schema(tool.get("inputSchema"), mask)?,
        read_only: server.only_reads(name) || (server.trust_annotations && says_read_only == Some(true)),
    })
}

/// The declared schema. Missing, `null` and `true` all say nothing; what can never
/// be an object's schema is a fault of the server.
fn schema(declared: Option<&Value>, mask: &Mask) -> Result<Option<Value>, &'static str> {
    match declared {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(true)) => Ok(Some(Value::Bool(true))),
        Some(Value::Object(object)) => {
            let fits = match object.get("type") {
                None | Some(Value::Null) => true,
                Some(Value::Array(types)) => types.iter().any(|t| t.as_str() == Some("object")),
                Some(other) => other.as_str() == Some("object"),
            };
            if !fits {
                return Err("its schema is not an object's");
            }
            let text = object.text();
            if text.len() > MAX_SCHEMA {
                return Err("its schema is too large");
            }
            if mask.hits(&text) {
                return Err("its schema repeats a header of the request");
            }
            Ok(Some(Value::Object(object.clone())))
        }
        Some(_) => Err("its schema is not an object's"),
    }
}
