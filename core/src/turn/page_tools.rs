//! The client's tools as the model sees them: stripped already by their owner.

use std::collections::BTreeSet;

use crate::agui::Tool;
use crate::error::{ErrorCode, ErrorInfo};
use crate::json::{Object, Value};

use crate::limits::{TOOL_NAME, TOOL_SCHEMAS, TOOLS};

use super::names::is_legal_name;
use super::{ModelTool, Refusal};
use crate::passthrough::VisibleSchema;

/// The tools for the model, or what is wrong with them.
pub(super) fn model_tools(tools: &[Tool]) -> Result<Vec<ModelTool>, Refusal> {
    if tools.len() > TOOLS {
        return Err(refusal(format!(
            "The run brings {} tools, the limit is {TOOLS}. Send fewer.",
            tools.len()
        )));
    }
    let mut names = BTreeSet::new();
    let mut size = 0_usize;
    let mut out = Vec::with_capacity(tools.len());
    for (i, tool) in tools.iter().enumerate() {
        check_name(i, &tool.name)?;
        if !names.insert(tool.name.as_str()) {
            return Err(refusal(format!(
                "tools[{i}].name: there is a tool \"{}\" already. Names must be unique.",
                tool.name
            )));
        }
        size = size.saturating_add(tool.description.len());
        size = size.saturating_add(tool.parameters.as_ref().map_or(0, |p| p.to_string().len()));
        if size > TOOL_SCHEMAS {
            return Err(refusal(format!(
                "The schemas and descriptions of the tools are over {TOOL_SCHEMAS} bytes together, from tools[{i}] on. \
                 Send fewer or smaller ones."
            )));
        }
        out.push(ModelTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: VisibleSchema::as_given(&root_schema(i, tool.parameters.as_ref())?),
        });
    }
    Ok(out)
}

fn check_name(i: usize, name: &str) -> Result<(), Refusal> {
    if is_legal_name(name) {
        return Ok(());
    }
    Err(refusal(format!(
        "tools[{i}].name must be 1 to {TOOL_NAME} characters, letters, digits, \"_\" and \"-\" only. Rename the tool."
    )))
}

/// A schema's root; a tool without one takes anything.
fn root_schema(i: usize, parameters: Option<&Value>) -> Result<Object, Refusal> {
    match parameters {
        None | Some(Value::Null | Value::Bool(_)) => Ok(Object::new()),
        Some(Value::Object(schema)) => Ok(schema.clone()),
        Some(other) => {
            Err(refusal(format!("tools[{i}].parameters must be a JSON Schema object, not {}.", other.kind())))
        }
    }
}

fn refusal(message: String) -> Refusal {
    ErrorInfo::new(ErrorCode::InvalidRequest, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn tool(name: &str, parameters: Option<&str>) -> Tool {
        let parameters = parameters.map(|text| crate::json::parse(text).unwrap());
        Tool { name: name.into(), description: String::new(), parameters, metadata: None }
    }

    #[test]
    fn every_root_has_type_and_properties() {
        let empty = r#"{"type":"object","properties":{}}"#;
        for (given, expected) in [
            (None, empty),
            (Some("null"), empty),
            (Some("true"), empty),
            (Some("{}"), empty),
            (Some(r#"{"type":"object","properties":null}"#), empty),
            (
                Some(
                    r##"{"$defs":{"a":{}},"properties":{"x":{"$ref":"#/$defs/a"}},"type":["object","null"]}"##,
                ),
                r##"{"$defs":{"a":{}},"properties":{"x":{"$ref":"#/$defs/a"}},"type":"object"}"##,
            ),
        ] {
            let tools = model_tools(&[tool("t", given)]).unwrap();
            assert_eq!(tools[0].parameters.as_object().to_string(), expected);
        }
    }

    #[test]
    fn bad_lists_are_refused_by_place() {
        let wordy = Tool { description: "x".repeat(TOOL_SCHEMAS), ..tool("b", Some("{}")) };
        let big = format!(r#"{{"x":"{}"}}"#, "x".repeat(TOOL_SCHEMAS));
        for (list, place) in [
            (vec![tool("a", None), tool("a", None)], "tools[1].name"),
            (vec![tool("", None)], "tools[0].name"),
            (vec![tool("a.b", None)], "tools[0].name"),
            (vec![tool(&"a".repeat(65), None)], "tools[0].name"),
            (vec![tool("a", Some("3"))], "tools[0].parameters"),
            (vec![tool("a", Some(&big))], "tools[0]"),
            (vec![tool("a", None), wordy], "tools[1]"),
            ((0..129).map(|i| tool(&format!("t{i}"), None)).collect(), "129 tools"),
        ] {
            let refused = model_tools(&list).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidRequest);
            assert!(refused.message.contains(place), "{}", refused.message);
        }
    }
}
