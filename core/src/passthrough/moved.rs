//! Generated schemas refer to a parameter's schema from another (`#/properties/a`).
//! When the parameter is taken out, what the reference leads to has to stay.

use crate::json::{Object, Value, concat};
use crate::schema::percent_decode;

/// Moves the schemas of parameters that were taken out, and are referred to still, to
/// the definitions.
pub(super) fn keep_targets(schema: &mut Object, declared: &Object, names: &[String]) {
    let Some(Value::Object(properties)) = declared.get("properties") else { return };
    let mut left: Vec<&String> = names.iter().collect();
    loop {
        let before = left.len();
        // One that has moved may refer to the next.
        left.retain(|name| {
            let Some(target) = properties.get(name) else { return false };
            !keep_target(schema, target, name)
        });
        if left.len() == before {
            return;
        }
    }
}

/// Whether anything refers to it.
fn keep_target(schema: &mut Object, target: &Value, name: &str) -> bool {
    let mut key = name.to_owned();
    while schema.get("$defs").is_some_and(|defs| defs.get(&key).is_some()) {
        key.push('_');
    }
    let from = concat(&["/properties/", &escaped(name)]);
    let to = concat(&["#/$defs/", &escaped(&key)]);
    if !redirect_members(schema, &from, &to) {
        return false;
    }
    let mut target = target.clone();
    redirect(&mut target, &from, &to);
    match schema.get_mut("$defs") {
        Some(Value::Object(defs)) => defs.insert(&key, target),
        _ => {
            let mut defs = Object::new();
            defs.insert(&key, target);
            schema.insert("$defs", defs);
        }
    }
    true
}

/// Makes references to `from` and below lead to `to`; whether there were any.
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
    if let Some(Value::String(reference)) = object.get_mut("$ref")
        && let Some(pointer) = reference.strip_prefix('#').and_then(percent_decode)
        && let Some(rest) = pointer.strip_prefix(from)
        && (rest.is_empty() || rest.starts_with('/'))
    {
        *reference = concat(&[to, rest]);
        any = true;
    }
    for value in object.values_mut() {
        any |= redirect(value, from, to);
    }
    any
}

/// A name as JSON Pointers write it.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            c => out.push(c),
        }
    }
    out
}
