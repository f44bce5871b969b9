//! What the model is told of a tool.

use super::MANAGED;
use super::flat::flat;
use super::in_place::{MAX_DEPTH, MAX_PARTS, declared_names, document_of, resolve};
use super::moved::keep_targets;
use super::unused::drop_unused;
use crate::json::{Object, Value, concat};
use crate::schema::split_fragment;

/// References that are replaced by what they lead to, at most.
const MAX_INLINED: usize = 64;

/// Members of a schema beside which an inlined part means what it meant behind its
/// reference.
const NEUTRAL: &[&str] =
    &["$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "type"];

/// Keywords that look at members they do not name.
const COUNTING: &[&str] = &[
    "additionalProperties",
    "const",
    "enum",
    "maxProperties",
    "minProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
];

/// A tool's schema as the model sees it: with `type` and `properties` at the root,
/// and without what the page supplies. Nothing else can be put into a model
/// request:
///
/// ```compile_fail,E0308
/// use mindset_core::{json::Object, turn::ModelTool};
/// let declared = Object::new();
/// ModelTool { name: "t".into(), description: "".into(), parameters: declared };
/// ```
///
/// and it comes from nothing but [`strip`](VisibleSchema::strip):
///
/// ```compile_fail,E0451
/// use mindset_core::{json::Object, passthrough::VisibleSchema};
/// let visible = VisibleSchema { schema: Object::new(), stripped: Vec::new() };
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct VisibleSchema {
    schema: Object,
    stripped: Vec<String>,
}

impl VisibleSchema {
    /// `declared` without the parameters that are `supplied`, and without the managed
    /// ones, wherever it speaks of the arguments' own object: at the root, under
    /// `allOf`, `if` and their like, and behind a reference into the document. Only
    /// what a schema declares can be stripped.
    ///
    /// Where taking a name out of a condition would turn its meaning (`not`, `if`,
    /// `oneOf`), the condition goes or is weakened: the tool itself still checks.
    pub fn strip(declared: &Object, supplied: impl Fn(&str) -> bool) -> VisibleSchema {
        let mut stripped = declared_names(declared);
        stripped.retain(|name| MANAGED.contains(&name.as_str()) || supplied(name));
        VisibleSchema { schema: without(declared, &stripped), stripped }
    }

    /// A schema that its owner has stripped already: a page's tool, at the runtime.
    pub(crate) fn as_given(declared: &Object) -> VisibleSchema {
        VisibleSchema { schema: with_root(declared.clone()), stripped: Vec::new() }
    }

    /// The schema.
    pub fn as_object(&self) -> &Object {
        &self.schema
    }

    /// The schema for providers, some of which refuse `anyOf` and its like at the root
    /// of a tool: every parameter at the root, and no such keyword there.
    pub fn flat(&self) -> Object {
        flat(&self.schema)
    }

    /// The names that were taken out.
    pub fn stripped(&self) -> &[String] {
        &self.stripped
    }
}

fn without(declared: &Object, names: &[String]) -> Object {
    if names.is_empty() {
        return with_root(declared.clone());
    }
    let mut strip = Strip { names, parts: 0, inlined: 0, counts: false, path: Vec::new() };
    let mut schema = strip.part(declared, declared);
    keep_targets(&mut schema, declared, names);
    drop_unused(&mut schema);
    with_root(schema)
}

/// Some providers refuse a root without `type` and `properties`, and the refusal
/// takes the whole request down.
fn with_root(mut schema: Object) -> Object {
    if schema.str("type") != Some("object") {
        schema.insert("type", "object");
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties", Object::new());
    }
    schema
}

struct Strip<'v> {
    names: &'v [String],
    /// Parts so far.
    parts: usize,
    /// References inlined so far.
    inlined: usize,
    /// Something was met that looks at members it does not name: what it says may
    /// depend on names that are gone.
    counts: bool,
    /// The part that is being stripped and those around it.
    path: Vec<&'v Object>,
}

/// A stripped part while it is made.
#[derive(Default)]
struct Made {
    schema: Object,
    /// What references led to.
    inlined: Vec<Object>,
    /// What must hold besides.
    more: Vec<Value>,
}

impl<'v> Strip<'v> {
    /// The part without the names. One that leads back to itself, or is beyond the
    /// limits, says nothing.
    fn part(&mut self, part: &'v Object, document: &'v Object) -> Object {
        self.parts += 1;
        let cycle = self.path.iter().any(|other| std::ptr::eq(*other, part));
        if cycle || self.parts > MAX_PARTS || self.path.len() > MAX_DEPTH {
            return Object::new();
        }
        self.path.push(part);
        let document = document_of(part, document);
        let mut made = Made::default();
        let turned = part.get("if").is_some_and(|condition| self.changes(condition, document));
        for (keyword, value) in part.iter() {
            if !(turned && matches!(keyword, "if" | "then" | "else")) {
                self.keyword(keyword, value, document, &mut made);
            }
        }
        if turned {
            // Whether the condition holds is known to the tool alone.
            let mut branch = |keywords: &[&str]| {
                let mut parts = Vec::new();
                for keyword in keywords {
                    parts.extend(part.get(keyword).map(|part| self.value(part, document)));
                }
                all_of(parts)
            };
            made.more.push(any_of(vec![branch(&["if", "then"]), branch(&["else"])]));
        }
        self.path.pop();
        made.close()
    }

    fn keyword(&mut self, keyword: &str, value: &'v Value, document: &'v Object, made: &mut Made) {
        self.counts |= COUNTING.contains(&keyword);
        let kept = match (keyword, value) {
            ("properties", Value::Object(properties)) => Value::Object(self.without(properties)),
            ("required", Value::Array(names)) => {
                let left = self.entries(names);
                // Draft 4 knows no empty list.
                if left.is_empty() && !names.is_empty() {
                    return;
                }
                Value::Array(left)
            }
            ("dependentRequired" | "dependentSchemas", Value::Object(dependents)) => {
                let (rest, always) = self.dependents(dependents, document);
                made.more.extend(always);
                rest
            }
            // Of older drafts: whether a newer reader minds it is not known.
            ("dependencies", Value::Object(dependents)) => self.dependents(dependents, document).0,
            ("allOf" | "anyOf", Value::Array(parts)) => Value::Array(self.list(parts, document)),
            ("oneOf", Value::Array(parts)) => {
                let before = std::mem::take(&mut self.counts);
                let stripped = self.list(parts, document);
                let turned = self.counts || stripped != *parts;
                self.counts |= before;
                if turned {
                    // Without the names, several may fit where one did.
                    return made.more.push(any_of(stripped));
                }
                value.clone()
            }
            ("if" | "then" | "else", part) => self.value(part, document),
            ("not", part) if self.changes(part, document) => return,
            ("$ref" | "$dynamicRef", Value::String(reference)) => {
                return self.reference(keyword, reference, document, made);
            }
            ("examples" | "enum", Value::Array(items)) => self.examples(items),
            ("default" | "const", Value::Object(example)) => Value::Object(self.without(example)),
            ("minProperties" | "maxProperties", Value::Number(count)) => {
                // The managed ones may stay away, so they take no room.
                let managed =
                    |name: &&String| keyword == "minProperties" || !MANAGED.contains(&name.as_str());
                let fewer = self.names.iter().filter(managed).count() as u64;
                count.as_u64().unwrap_or(0).saturating_sub(fewer).into()
            }
            _ => value.clone(),
        };
        made.schema.insert(keyword, kept);
    }

    /// Leaves a reference whose target has none of the names, and puts the stripped
    /// target in the place of every other. What leads nowhere in the document is
    /// followed by nobody and goes.
    fn reference(&mut self, keyword: &str, reference: &str, document: &'v Object, made: &mut Made) {
        let Some(target) = resolve(document, reference) else { return };
        let stripped = self.part(target, document);
        if stripped == *target {
            made.schema.insert(keyword, reference);
        } else if self.inlined < MAX_INLINED {
            self.inlined += 1;
            made.inlined.push(as_copy(stripped));
        }
    }

    fn value(&mut self, part: &'v Value, document: &'v Object) -> Value {
        match part {
            Value::Object(part) => Value::Object(self.part(part, document)),
            other => other.clone(),
        }
    }

    /// Whether a condition may mean something else when the names are gone.
    fn changes(&mut self, part: &'v Value, document: &'v Object) -> bool {
        let before = std::mem::take(&mut self.counts);
        let changed = self.value(part, document) != *part || self.counts;
        self.counts |= before;
        changed
    }

    fn list(&mut self, parts: &'v [Value], document: &'v Object) -> Vec<Value> {
        let mut out = Vec::new();
        for part in parts {
            out.push(self.value(part, document));
        }
        out
    }

    /// What depends on other names, and what depends on a name that is always there.
    fn dependents(&mut self, dependents: &'v Object, document: &'v Object) -> (Value, Vec<Value>) {
        let (mut rest, mut always) = (Object::new(), Vec::new());
        for (name, dependent) in dependents.iter() {
            let left = match dependent {
                Value::Array(names) => Value::Array(self.entries(names)),
                part => self.value(part, document),
            };
            if !self.has(name) {
                rest.insert(name, left);
            } else if !MANAGED.contains(&name) {
                match left {
                    Value::Array(names) if names.is_empty() => {}
                    Value::Array(_) => always.push(keyword("required", left)),
                    part => always.push(part),
                }
            }
        }
        (Value::Object(rest), always)
    }

    fn entries(&self, names: &[Value]) -> Vec<Value> {
        let mut left = names.to_vec();
        left.retain(|name| !name.as_str().is_some_and(|name| self.has(name)));
        left
    }

    /// Whole objects that stand for the arguments, none twice.
    fn examples(&self, examples: &[Value]) -> Value {
        let mut out = Vec::new();
        for example in examples {
            let example = match example {
                Value::Object(example) => Value::Object(self.without(example)),
                other => other.clone(),
            };
            if !out.contains(&example) {
                out.push(example);
            }
        }
        Value::Array(out)
    }

    fn without(&self, members: &Object) -> Object {
        let mut left = members.clone();
        for name in self.names {
            left.remove(name);
        }
        left
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }
}

impl Made {
    fn close(mut self) -> Object {
        for copy in self.inlined {
            let alone = self.schema.iter().all(|(keyword, _)| NEUTRAL.contains(&keyword));
            if !alone || copy.get("$id").is_some() {
                self.more.push(Value::Object(copy));
                continue;
            }
            for (keyword, value) in copy.iter() {
                if self.schema.get(keyword).is_none() {
                    self.schema.insert(keyword, value.clone());
                }
            }
        }
        match self.schema.get_mut("allOf") {
            Some(Value::Array(parts)) => parts.append(&mut self.more),
            _ if self.more.is_empty() => {}
            _ => self.schema.insert("allOf", Value::Array(self.more)),
        }
        self.schema
    }
}

/// A part as it may stand in a document a second time: under no name of its own, and
/// without definitions, which stay where they were.
fn as_copy(mut part: Object) -> Object {
    for keyword in ["$anchor", "$dynamicAnchor"] {
        part.remove(keyword);
    }
    match part.str("$id") {
        Some(id) if !id.starts_with('#') => {
            let id = concat(&[split_fragment(id).0, "?visible"]);
            part.insert("$id", id);
        }
        _ => {
            part.remove("$id");
            part.remove("$defs");
            part.remove("definitions");
        }
    }
    part
}

fn all_of(mut parts: Vec<Value>) -> Value {
    match parts.len() {
        0 => Value::Bool(true),
        1 => parts.remove(0),
        _ => keyword("allOf", Value::Array(parts)),
    }
}

fn any_of(parts: Vec<Value>) -> Value {
    keyword("anyOf", Value::Array(parts))
}

fn keyword(keyword: &str, value: Value) -> Value {
    let mut out = Object::new();
    out.insert(keyword, value);
    Value::Object(out)
}
