//! Reading a schema: every part that is one becomes a node, identifiers are noted,
//! references wait until all is read.

use super::fields::{Fields, Parsed, fault};
use super::names::Names;
use super::number::digits;
use super::rule::{Node, Rule};
use super::{MAX_URI, MAX_WARNINGS, Pattern, Schema, uri};
use crate::json::{Value, concat};

/// Schemas in schemas may nest this deep, as deep as JSON may.
const MAX_NESTING: usize = 128;

/// A schema that is being read.
pub(super) struct Compiler<'v> {
    pub(super) patterns: &'v dyn Pattern,
    pub(super) nodes: Vec<Node>,
    /// What each node was made of.
    pub(super) origins: Vec<&'v Value>,
    /// Nodes by the address of what they were made of.
    known: Names,
    pub(super) resources: Vec<Resource<'v>>,
    /// Resources by their URI.
    pub(super) uris: Names,
    /// Nodes by resource and anchor, as [`anchor_key`] joins them.
    pub(super) anchors: Names,
    /// Numbers of the names of dynamic anchors.
    pub(super) dynamic_names: Names,
    pub(super) pending: Vec<Pending<'v>>,
    pub(super) warnings: Vec<String>,
}

/// The document, or a part of it with an `$id`.
pub(super) struct Resource<'v> {
    pub(super) uri: String,
    pub(super) root: &'v Value,
    /// Its dynamic anchors: number of the name and node.
    pub(super) dynamic: Vec<(usize, usize)>,
}

/// A reference to be resolved.
pub(super) struct Pending<'v> {
    pub(super) node: usize,
    /// The reference, a string.
    pub(super) at: &'v Value,
    pub(super) dynamic: bool,
}

/// Where the reader stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) node: usize,
    pub(super) resource: usize,
    pub(super) depth: usize,
}

impl<'v> Compiler<'v> {
    pub(super) fn new(patterns: &'v dyn Pattern) -> Compiler<'v> {
        Compiler {
            patterns,
            nodes: Vec::new(),
            origins: Vec::new(),
            known: Names::default(),
            resources: Vec::new(),
            uris: Names::default(),
            anchors: Names::default(),
            dynamic_names: Names::default(),
            pending: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads the whole of it.
    pub(super) fn document(mut self, document: &'v Value) -> Parsed<'v, Schema> {
        self.resources.push(Resource { uri: String::new(), root: document, dynamic: Vec::new() });
        self.uris.add("", 0);
        let root = self.node(document, 0, 0)?;
        self.resolve_references()?;
        self.refuse_cycles()?;
        Ok(Schema {
            nodes: self.nodes,
            root,
            anchors: self.resources.into_iter().map(|resource| resource.dynamic).collect(),
            warnings: self.warnings,
        })
    }

    /// The node for `value`, made now if it is new.
    pub(super) fn node(&mut self, value: &'v Value, resource: usize, depth: usize) -> Parsed<'v, usize> {
        let address = digits(std::ptr::from_ref(value) as usize);
        if let Some(node) = self.known.get(&address) {
            return Ok(node);
        }
        if depth > MAX_NESTING {
            return fault(value, "nests too deep: name parts in `$defs` and refer to them");
        }
        let node = self.nodes.len();
        self.nodes.push(Node { resource, rules: Vec::new(), unevaluated: false });
        self.origins.push(value);
        self.known.add(&address, node);
        let mut rules = Vec::new();
        match value {
            Value::Bool(true) => {}
            Value::Bool(false) => rules.push(Rule::Never),
            Value::Object(object) => {
                let fields = Fields(object);
                let resource = self.identify(value, fields, Place { node, resource, depth })?;
                self.rules(fields, Place { node, resource, depth }, &mut rules)?;
            }
            _ => return fault(value, "must be a schema: an object, true or false"),
        }
        if let Some(node) = self.nodes.get_mut(node) {
            node.unevaluated = rules
                .iter()
                .any(|rule| matches!(rule, Rule::UnevaluatedItems(_) | Rule::UnevaluatedMembers(_)));
            node.rules = rules;
        }
        Ok(node)
    }

    /// Notes `$id` and anchors; the resource the schema belongs to.
    fn identify(&mut self, value: &'v Value, fields: Fields<'v>, place: Place) -> Parsed<'v, usize> {
        let Place { node, mut resource, .. } = place;
        if let (Some(id), Some(at)) = (fields.text("$id")?, fields.get("$id")) {
            if !uri::split_fragment(id).1.is_empty() {
                return fault(at, "must not have a fragment: use `$anchor`");
            }
            let uri = self.absolute(resource, at)?;
            resource = self.resources.len();
            // Of two with one name the first counts, as with anchors.
            self.uris.add(&uri, resource);
            self.resources.push(Resource { uri, root: value, dynamic: Vec::new() });
            if let Some(node) = self.nodes.get_mut(node) {
                node.resource = resource;
            }
        }
        for (key, dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
            let Some(name) = fields.text(key)? else { continue };
            self.anchors.add(&anchor_key(resource, name), node);
            if dynamic {
                let number = self.dynamic_names.add(name, self.dynamic_names.entries().len());
                if let Some(resource) = self.resources.get_mut(resource) {
                    resource.dynamic.push((number, node));
                }
            }
        }
        Ok(resource)
    }

    /// The URI that `at`, a string, means in `resource`, without its fragment.
    pub(super) fn absolute(&self, resource: usize, at: &'v Value) -> Parsed<'v, String> {
        let text = at.as_str().unwrap_or("");
        let base = self.resources.get(resource).map_or("", |resource| resource.uri.as_str());
        let uri = if text.len() > MAX_URI { String::new() } else { uri::resolve(base, text) };
        if text.len().max(uri.len()) > MAX_URI {
            return fault(at, "is too long: 2048 bytes are the most");
        }
        Ok(uri)
    }

    /// Keeps a warning, if there is room for it and it is new.
    pub(super) fn warn(&mut self, warning: String) {
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// One key for a resource and an anchor in it.
pub(super) fn anchor_key(resource: usize, name: &str) -> String {
    concat(&[&digits(resource), "#", name])
}
