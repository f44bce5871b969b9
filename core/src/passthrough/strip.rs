//! What the model is told of a tool.

use super::MANAGED;
use crate::json::{Object, Value};

/// Keywords of the root that list names or stand for whole objects.
const EXAMPLES: &[&str] = &["examples", "default"];

/// A tool's schema as the model sees it: with `type` and `properties` at the root,
/// and without what the page supplies. Nothing else can be put into a model
/// request.
#[derive(Debug, Clone, PartialEq)]
pub struct VisibleSchema {
    schema: Object,
    stripped: Vec<String>,
}

impl VisibleSchema {
    /// `declared` without the parameters that are `supplied`, and without the managed
    /// ones. Only what a schema declares can be stripped.
    pub fn strip(declared: &Object, supplied: impl Fn(&str) -> bool) -> VisibleSchema {
        let mut schema = with_root(declared);
        let mut stripped = Vec::new();
        for name in declared_names(declared) {
            if supplied(&name) || MANAGED.contains(&name.as_str()) {
                remove(&mut schema, &name);
                stripped.push(name);
            }
        }
        VisibleSchema { schema, stripped }
    }

    /// A schema that its owner has stripped already: a page's tool, at the runtime.
    pub fn as_given(declared: &Object) -> VisibleSchema {
        VisibleSchema { schema: with_root(declared), stripped: Vec::new() }
    }

    /// The schema.
    pub fn as_object(&self) -> &Object {
        &self.schema
    }

    /// The names that were taken out.
    pub fn stripped(&self) -> &[String] {
        &self.stripped
    }
}

/// The parameters a schema declares.
pub(super) fn declared_names(schema: &Object) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map(|p| p.iter().map(|(name, _)| name.to_owned()).collect()).unwrap_or_default()
}

/// Some providers refuse a root without `type` and `properties`, and the refusal
/// takes the whole request down.
fn with_root(declared: &Object) -> Object {
    let mut schema = declared.clone();
    if schema.str("type") != Some("object") {
        schema.insert("type", "object");
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties", Object::new());
    }
    schema
}

fn remove(schema: &mut Object, name: &str) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.remove(name);
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|entry| entry.as_str() != Some(name));
    }
    for key in ["dependentRequired", "dependentSchemas", "dependencies"] {
        let Some(Value::Object(dependent)) = schema.get_mut(key) else { continue };
        dependent.remove(name);
    }
    for key in EXAMPLES {
        match schema.get_mut(key) {
            Some(Value::Object(example)) => drop(example.remove(name)),
            Some(Value::Array(examples)) => {
                for example in examples {
                    if let Value::Object(example) = example {
                        example.remove(name);
                    }
                }
            }
            _ => {}
        }
    }
}
