//! The page's tools: what may be set, and what a run is told of them.

use super::{PageTool, Refused};
use crate::error::{ErrorCode, ErrorInfo};
use crate::json::{Object, Value, concat, digits};
use crate::limits::{TOOL_NAME, TOOL_SCHEMAS, TOOLS};
use crate::passthrough::{VisibleSchema, declared_names};
use crate::schema::{Pattern, Schema};

/// A tool as one run was told of it.
pub(super) struct Offered {
    pub(super) name: String,
    description: String,
    pub(super) declared: Object,
    pub(super) visible: VisibleSchema,
}

impl Offered {
    pub(super) fn new(tool: &PageTool, supplied: &dyn Fn(&str) -> bool) -> Offered {
        let declared = tool.parameters.clone().unwrap_or_default();
        let visible = VisibleSchema::strip(&declared, supplied);
        Offered { name: tool.name.clone(), description: tool.description.clone(), declared, visible }
    }

    /// As it stands in `tools`.
    pub(super) fn to_json(&self) -> Value {
        Value::Object(crate::object! {
            "name": &self.name,
            "description": &self.description,
            "parameters": self.visible.as_object().clone(),
        })
    }
}

/// Whether the tool declares the parameter.
pub(super) fn declares(tool: &PageTool, parameter: &str) -> bool {
    let schema = tool.parameters.as_ref();
    schema.is_some_and(|schema| declared_names(schema).iter().any(|name| name == parameter))
}

/// Whether a page may set these tools.
pub(super) fn check(tools: &[PageTool], patterns: &dyn Pattern) -> Result<(), Refused> {
    if tools.len() > TOOLS {
        let (count, limit) = (digits(tools.len() as u64), digits(TOOLS as u64));
        let message = concat(&["There are ", &count, " page tools, the limit is ", &limit, ". Set fewer."]);
        return Err(ErrorInfo::new(ErrorCode::InvalidConfig, message));
    }
    let mut size = 0;
    for (at, tool) in tools.iter().enumerate() {
        let schema = tool.parameters.as_ref();
        // As the runtime counts it.
        let visible = VisibleSchema::as_given(schema.unwrap_or(&Object::new()));
        size += tool.description.len() + visible.as_object().text().len();
        let earlier = tools.get(..at).unwrap_or_default();
        let reason = if !is_name(&tool.name) {
            "its name must be 1 to 64 letters, digits, `_` or `-`. Rename it.".to_owned()
        } else if earlier.iter().any(|other| other.name == tool.name) {
            "there is another one with this name. Names must be unique.".to_owned()
        } else if size > TOOL_SCHEMAS {
            "with it, schemas and descriptions are over 256 KiB together. Set fewer or smaller tools."
                .to_owned()
        } else if let Some(reason) = schema.and_then(|schema| check_schema(schema, patterns)) {
            reason
        } else {
            continue;
        };
        return Err(refusal(at, &tool.name, &reason));
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    (1..=TOOL_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// What is wrong with a tool's schema.
fn check_schema(schema: &Object, patterns: &dyn Pattern) -> Option<String> {
    if schema.get("type").is_some() && schema.str("type") != Some("object") {
        return Some("`parameters.type` must be \"object\": arguments have names.".to_owned());
    }
    let error = Schema::parse(&Value::Object(schema.clone()), patterns).err()?;
    Some(concat(&["`parameters` is no JSON Schema, at \"", &error.place, "\": ", &error.reason, "."]))
}

fn refusal(at: usize, name: &str, reason: &str) -> Refused {
    let name: String = name.chars().take(TOOL_NAME).collect();
    let number = digits(at as u64 + 1);
    let message = concat(&["Page tool ", &number, " (`", &name, "`) is refused: ", reason]);
    ErrorInfo::new(ErrorCode::InvalidConfig, message).with("tool", name).with("index", at as u64)
}
