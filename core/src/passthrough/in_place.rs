//! The parts of a schema that say something of the arguments' own object, wherever
//! they stand: at the root, under an applicator, behind a reference into the document.

use crate::json::{Object, Value};
use crate::schema::{percent_decode, split_fragment, walk_object};

/// Parts that are looked at, and references that are inlined. Nobody writes schemas
/// with more; what is beyond is taken for nothing.
pub(super) const MAX_PARTS: usize = 2_000;

/// How deep parts may stand in each other.
pub(super) const MAX_DEPTH: usize = 100;

/// Every parameter that a schema declares.
pub(crate) fn declared_names(schema: &Object) -> Vec<String> {
    let mut names = Names { names: Vec::new(), seen: Vec::new() };
    names.visit(schema, schema, 0);
    names.names
}

struct Names<'v> {
    names: Vec<String>,
    /// Parts that were visited: a reference may lead back.
    seen: Vec<&'v Object>,
}

impl<'v> Names<'v> {
    fn visit(&mut self, part: &'v Object, document: &'v Object, depth: usize) {
        let seen = self.seen.iter().any(|other| std::ptr::eq(*other, part));
        if seen || self.seen.len() >= MAX_PARTS || depth > MAX_DEPTH {
            return;
        }
        self.seen.push(part);
        let document = document_of(part, document);
        for (keyword, value) in part.iter() {
            match (keyword, value) {
                ("properties", Value::Object(properties)) => {
                    for (name, _) in properties.iter() {
                        if !self.names.iter().any(|other| other == name) {
                            self.names.push(name.to_owned());
                        }
                    }
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                    for part in parts {
                        self.visit_value(part, document, depth);
                    }
                }
                ("if" | "then" | "else", part) => self.visit_value(part, document, depth),
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                    for (_, part) in parts.iter() {
                        self.visit_value(part, document, depth);
                    }
                }
                ("$ref" | "$dynamicRef", Value::String(reference)) => {
                    if let Some(target) = resolve(document, reference) {
                        self.visit(target, document, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    fn visit_value(&mut self, part: &'v Value, document: &'v Object, depth: usize) {
        if let Value::Object(part) = part {
            self.visit(part, document, depth + 1);
        }
    }
}

/// The document that references in `part` mean: a part with an `$id` is one of its own.
pub(super) fn document_of<'v>(part: &'v Object, document: &'v Object) -> &'v Object {
    if part.str("$id").is_some_and(|id| !id.starts_with('#')) { part } else { document }
}

/// What a reference leads to in the document. Nobody follows one that leads out of it.
pub(super) fn resolve<'v>(document: &'v Object, reference: &str) -> Option<&'v Object> {
    let (address, fragment) = split_fragment(reference);
    if !address.is_empty() && document.str("$id").map(|id| split_fragment(id).0) != Some(address) {
        return None;
    }
    let fragment = percent_decode(fragment)?;
    if fragment.is_empty() {
        return Some(document);
    }
    match fragment.strip_prefix('/') {
        Some(_) => walk_object(document, &fragment)?.as_object(),
        None => anchor(document, &fragment),
    }
}

/// The part of the document with this anchor.
fn anchor<'v>(part: &'v Object, name: &str) -> Option<&'v Object> {
    if part.str("$anchor") == Some(name) || part.str("$dynamicAnchor") == Some(name) {
        return Some(part);
    }
    part.iter().find_map(|(_, value)| anchor_in(value, name))
}

fn anchor_in<'v>(value: &'v Value, name: &str) -> Option<&'v Object> {
    match value {
        // Anchors of another document.
        Value::Object(part) if part.str("$id").is_some_and(|id| !id.starts_with('#')) => None,
        Value::Object(part) => anchor(part, name),
        Value::Array(items) => items.iter().find_map(|item| anchor_in(item, name)),
        _ => None,
    }
}
