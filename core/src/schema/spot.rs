//! Places: where a check stands, as a chain through the stack, and JSON Pointers
//! made of it only when something is to be reported.

use super::number::digits;
use crate::json::Value;

/// Where a check stands in the value, and through which resources of the schema
/// it came there (the dynamic scope).
pub(super) struct Spot<'a> {
    /// Where it came from.
    pub(super) outer: Option<&'a Spot<'a>>,
    /// The step from there, in the value.
    pub(super) step: Step<'a>,
    /// Resource of the schema applied.
    pub(super) resource: usize,
    /// Schemas applied on the way.
    pub(super) depth: usize,
}

/// One step into a value.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// None: another schema for the same value.
    Stay,
    /// To a member.
    Member(&'a str),
    /// To an item.
    Item(usize),
}

impl<'a> Spot<'a> {
    /// One step further into the value.
    pub(super) fn into(&'a self, step: Step<'a>) -> Spot<'a> {
        Spot { outer: Some(self), step, resource: self.resource, depth: self.depth }
    }

    /// JSON Pointer of the place in the value.
    pub(super) fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut at = Some(self);
        while let Some(spot) = at {
            steps.push(spot.step);
            at = spot.outer;
        }
        let mut out = String::new();
        while let Some(step) = steps.pop() {
            push_step(&mut out, step);
        }
        out
    }
}

/// JSON Pointer of a value inside `document`, which must be that very value, not
/// one like it.
pub(super) fn place_of(document: &Value, wanted: &Value) -> Option<String> {
    let mut steps = Vec::new();
    find(document, wanted, &mut steps).then(|| {
        let mut out = String::new();
        for step in steps {
            push_step(&mut out, step);
        }
        out
    })
}

fn find<'v>(value: &'v Value, wanted: &Value, steps: &mut Vec<Step<'v>>) -> bool {
    if std::ptr::eq(value, wanted) {
        return true;
    }
    if steps.len() > super::MAX_DEPTH {
        return false;
    }
    match value {
        Value::Array(items) => {
            items.iter().enumerate().any(|(i, item)| enter(item, wanted, steps, Step::Item(i)))
        }
        Value::Object(object) => {
            object.iter().any(|(key, member)| enter(member, wanted, steps, Step::Member(key)))
        }
        _ => false,
    }
}

fn enter<'v>(value: &'v Value, wanted: &Value, steps: &mut Vec<Step<'v>>, step: Step<'v>) -> bool {
    steps.push(step);
    let found = find(value, wanted, steps);
    if !found {
        steps.pop();
    }
    found
}

fn push_step(out: &mut String, step: Step<'_>) {
    match step {
        Step::Stay => {}
        Step::Item(index) => {
            out.push('/');
            out.push_str(&digits(index));
        }
        Step::Member(name) => {
            out.push('/');
            push_token(out, name);
        }
    }
}

/// Appends a name as JSON Pointers write it.
pub(crate) fn push_token(out: &mut String, name: &str) {
    for c in name.chars() {
        match c {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            c => out.push(c),
        }
    }
}
