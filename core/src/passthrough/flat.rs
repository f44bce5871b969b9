//! A schema as providers take it. Some refuse a root with `anyOf` and its like, and
//! the refusal takes the whole request down.

use super::in_place::{MAX_PARTS, document_of, resolve};
use crate::json::{Object, Value};

/// Keywords of the root that some provider refuses or does not understand.
const REFUSED: &[&str] = &[
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "enum",
    "const",
    "$ref",
    "$dynamicRef",
];

/// The schema with every parameter at the root and no such keyword there. It tells the
/// model what there is; arguments are checked against the schema itself.
pub(super) fn flat(schema: &Object) -> Object {
    if !schema.iter().any(|(keyword, _)| REFUSED.contains(&keyword)) {
        return schema.clone();
    }
    let mut found = Found { properties: Object::new(), required: Vec::new(), seen: Vec::new() };
    found.visit(schema, schema, true);
    let mut out = Object::new();
    for (keyword, value) in schema.iter().filter(|(keyword, _)| !REFUSED.contains(keyword)) {
        let value = match keyword {
            "properties" => Value::Object(std::mem::take(&mut found.properties)),
            "required" => Value::Array(std::mem::take(&mut found.required)),
            _ => value.clone(),
        };
        out.insert(keyword, value);
    }
    if !found.required.is_empty() {
        out.insert("required", Value::Array(found.required));
    }
    out
}

/// What the parts of a schema say of parameters.
struct Found<'v> {
    properties: Object,
    required: Vec<Value>,
    seen: Vec<(&'v Object, bool)>,
}

impl<'v> Found<'v> {
    /// Reads a part; `holds` if it holds in any case.
    fn visit(&mut self, part: &'v Object, document: &'v Object, holds: bool) {
        let seen = self.seen.iter().any(|(other, held)| std::ptr::eq(*other, part) && *held == holds);
        if seen || self.seen.len() >= MAX_PARTS {
            return;
        }
        self.seen.push((part, holds));
        let document = document_of(part, document);
        for (keyword, value) in part.iter() {
            match (keyword, value) {
                ("properties", Value::Object(properties)) => {
                    for (name, schema) in properties.iter() {
                        self.property(name, schema);
                    }
                }
                ("required", Value::Array(names)) if holds => {
                    for name in names {
                        if !self.required.contains(name) {
                            self.required.push(name.clone());
                        }
                    }
                }
                ("allOf", Value::Array(parts)) => self.visit_all(parts, document, holds),
                ("anyOf" | "oneOf", Value::Array(parts)) => self.visit_all(parts, document, false),
                ("if" | "then" | "else", Value::Object(part)) => self.visit(part, document, false),
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                    for part in parts.iter().filter_map(|(_, part)| part.as_object()) {
                        self.visit(part, document, false);
                    }
                }
                ("$ref" | "$dynamicRef", Value::String(reference)) => {
                    if let Some(target) = resolve(document, reference) {
                        self.visit(target, document, holds);
                    }
                }
                _ => {}
            }
        }
    }

    fn visit_all(&mut self, parts: &'v [Value], document: &'v Object, holds: bool) {
        for part in parts.iter().filter_map(Value::as_object) {
            self.visit(part, document, holds);
        }
    }

    /// One parameter; what several parts say of it is offered side by side.
    fn property(&mut self, name: &str, schema: &Value) {
        match self.properties.get_mut(name) {
            None => self.properties.insert(name, schema.clone()),
            Some(known) if known == schema => {}
            Some(Value::Object(known)) if is_union(known) => {
                if let Some(Value::Array(parts)) = known.get_mut("anyOf")
                    && !parts.contains(schema)
                {
                    parts.push(schema.clone());
                }
            }
            Some(known) => {
                let mut union = Object::new();
                union.insert("anyOf", vec![std::mem::take(known), schema.clone()]);
                *known = Value::Object(union);
            }
        }
    }
}

/// Whether this is a union of ours, or one that reads alike.
fn is_union(schema: &Object) -> bool {
    schema.len() == 1 && schema.get("anyOf").is_some_and(|parts| parts.as_array().is_some())
}
