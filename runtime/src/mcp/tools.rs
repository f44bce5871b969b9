//! A server's list of tools to ours.

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

/// The tools that can be offered, from the texts of all listed. What cannot is
/// left out and said in the log; the rest stays.
pub(super) fn offered(server: &McpServer, texts: &[String], mask: &Mask) -> Vec<ServerTool> {
    let mut tools: Vec<ServerTool> = Vec::new();
    let mut size = 0;
    for text in texts {
        let tool = match tool(server, text, mask) {
            Ok(tool) => tool,
            Err(problem) => {
                tracing::warn!(server = %server.uid, "an MCP tool is left out: {problem}");
                continue;
            }
        };
        if !server.offers(&tool.name) {
            continue;
        }
        if tools.iter().any(|known| known.name == tool.name) {
            tracing::warn!(server = %server.uid, "an MCP tool is left out: its name is there twice");
            continue;
        }
        size += text.len();
        if tools.len() == MAX_TOOLS || size > MAX_LIST {
            tracing::warn!(server = %server.uid, "the list of MCP tools is too long: the first {} are used", tools.len());
            break;
        }
        tools.push(tool);
    }
    tools
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
