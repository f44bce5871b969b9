//! Generated schemas refer to a parameter's schema from another (`#/properties/a`).
//! When the parameter is taken out, what the reference leads to has to stay.

use crate::json::{Object, Value, concat};
use crate::schema::{percent_decode, push_token};

/// Moves what was taken out, and is referred to still, to the definitions: schemas of
/// parameters, and the whole where it is one of its own parts.
pub(super) fn keep_targets(schema: &mut Object, declared: &Object, names: &[String]) {
    let mut whole = declared.clone();
    for keyword in ["$id", "$schema", "$defs", "definitions"] {
        whole.remove(keyword);
    }
    let mut targets =
        vec![Target { from: String::new(), name: "whole", part: Value::Object(whole), to: None }];
    if let Some(Value::Object(properties)) = declared.get("properties") {
        for name in names {
            if let Some(part) = properties.get(name) {
                let from = concat(&["/properties/", &escaped(name)]);
                targets.push(Target { from, name, part: part.clone(), to: None });
            }
        }
    }
    // One that has moved may refer to another.
    let mut any = true;
    while std::mem::take(&mut any) {
        for target in &mut targets {
            any |= target.keep(schema);
        }
    }
}

/// What may have to move.
struct Target<'a> {
    /// Where it stood.
    from: String,
    name: &'a str,
    part: Value,
    /// Where it has moved to.
    to: Option<String>,
}

impl Target<'_> {
    /// Makes what refers to its old place refer to the new one; whether anything did.
    fn keep(&mut self, schema: &mut Object) -> bool {
        if let Some(to) = &self.to {
            return redirect_members(schema, &self.from, to);
        }
        let mut key = self.name.to_owned();
        while schema.get("$defs").is_some_and(|defs| defs.get(&key).is_some()) {
            key.push('_');
        }
        let to = concat(&["#/$defs/", &escaped(&key)]);
        if !redirect_members(schema, &self.from, &to) {
            return false;
        }
        let part = std::mem::take(&mut self.part);
        match schema.get_mut("$defs") {
            Some(Value::Object(defs)) => defs.insert(&key, part),
            _ => {
                let mut defs = Object::new();
                defs.insert(&key, part);
                schema.insert("$defs", defs);
            }
        }
        self.to = Some(to);
        true
    }
}

/// Makes references to `from` and below (but for the root) lead to `to`; whether there were any.
fn redirect(value: &mut Value, from: &str, to: &str) -> bool {
    let mut any = false;
    match value {
        Value::Object(object) => any = redirect_members(object, from, to),
        Value::Array(items) => {
            for item in items {
                any |= redirect(item, from, to);
            }
        }
        _ => {}
    }
    any
}

fn redirect_members(object: &mut Object, from: &str, to: &str) -> bool {
    let mut any = false;
    for keyword in ["$ref", "$dynamicRef"] {
        if let Some(Value::String(reference)) = object.get_mut(keyword)
            && let Some(pointer) = reference.strip_prefix('#').and_then(percent_decode)
            && let Some(rest) = pointer.strip_prefix(from)
            && (rest.is_empty() || !from.is_empty() && rest.starts_with('/'))
        {
            *reference = concat(&[to, rest]);
            any = true;
        }
    }
    for value in object.values_mut() {
        any |= redirect(value, from, to);
    }
    any
}

/// A name as JSON Pointers write it.
pub(super) fn escaped(name: &str) -> String {
    let mut out = String::new();
    push_token(&mut out, name);
    out
}
