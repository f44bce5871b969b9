//! References to nodes. A reference is a name in this document or it is nothing:
//! it accepts any value and there is a warning. Nobody fetches it.

use super::compile::{Compiler, Pending, anchor_key};
use super::fields::{Parsed, fault};
use super::number::{Decimal, is_plain};
use super::rule::Rule;
use super::uri;
use crate::json::{Object, Value, concat};

/// What a reference turned out to be.
enum Target {
    Node(usize),
    /// A node with a dynamic anchor, and the number of its name.
    Dynamic(usize, usize),
    Missing,
}

impl<'v> Compiler<'v> {
    /// Gives every reference its node. A pointer into what is no known keyword makes
    /// a node of what is there, which may bring further references.
    pub(super) fn resolve_references(&mut self) -> Parsed<'v, ()> {
        while let Some(pending) = self.pending.pop() {
            let rule = match self.target(&pending)? {
                Target::Node(node) => Rule::Ref(node),
                Target::Dynamic(node, name) => Rule::DynamicRef(node, name),
                Target::Missing => {
                    self.warn_missing(&pending);
                    continue;
                }
            };
            if let Some(node) = self.nodes.get_mut(pending.node) {
                node.rules.insert(0, rule);
            }
        }
        Ok(())
    }

    fn warn_missing(&mut self, pending: &Pending<'v>) {
        let keyword = if pending.dynamic { "`$dynamicRef` " } else { "`$ref` " };
        let reference = pending.at.text();
        self.warn(concat(&[
            keyword,
            &reference,
            " leads to nothing in this schema: any value is accepted there",
        ]));
    }

    fn target(&mut self, pending: &Pending<'v>) -> Parsed<'v, Target> {
        let base = self.nodes.get(pending.node).map_or(0, |node| node.resource);
        let uri = self.absolute(base, pending.at)?;
        let Some(resource) = self.uris.get(&uri) else { return Ok(Target::Missing) };
        let fragment = uri::split_fragment(pending.at.as_str().unwrap_or("")).1;
        let Some(fragment) = uri::percent_decode(fragment) else { return Ok(Target::Missing) };
        if fragment.is_empty() || fragment.starts_with("/") {
            let root = self.resources.get(resource).map(|resource| resource.root);
            return match root.and_then(|root| walk(root, &fragment)) {
                Some(value) => self.node(value, resource, 0).map(Target::Node),
                None => Ok(Target::Missing),
            };
        }
        let Some(node) = self.anchors.get(&anchor_key(resource, &fragment)) else {
            return Ok(Target::Missing);
        };
        let name = self.dynamic_names.get(&fragment).filter(|_| pending.dynamic);
        let dynamic = self.resources.get(resource).map(|resource| resource.dynamic.as_slice());
        Ok(match name {
            Some(name) if dynamic.unwrap_or_default().contains(&(name, node)) => Target::Dynamic(node, name),
            _ => Target::Node(node),
        })
    }

    /// Refuses schemas that apply themselves to the very value they are applied to:
    /// checking would never end.
    pub(super) fn refuse_cycles(&self) -> Parsed<'v, ()> {
        /// Not looked at; on the path; done.
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut states = vec![State::New; self.nodes.len()];
        // A path of its own and not the stack's: it may be as long as the schema.
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        for start in 0..self.nodes.len() {
            let mut next = Some(start);
            loop {
                if let Some(node) = next {
                    match states.get(node).copied() {
                        Some(State::Open) => {
                            let at = self.origins.get(node).copied().unwrap_or(&Value::Null);
                            return fault(
                                at,
                                "a `$ref` leads back here for the same value: checking would not end",
                            );
                        }
                        Some(State::New) => {
                            set(&mut states, node, State::Open);
                            path.push((node, self.in_place(node)));
                        }
                        _ => {}
                    }
                }
                let Some((node, below)) = path.last_mut() else { break };
                next = below.pop();
                if next.is_none() {
                    set(&mut states, *node, State::Done);
                    path.pop();
                }
            }
        }
        Ok(())
    }

    fn in_place(&self, node: usize) -> Vec<usize> {
        let mut nodes = Vec::new();
        for rule in self.nodes.get(node).map_or(&[][..], |node| &node.rules) {
            rule.push_in_place(&mut nodes);
        }
        nodes
    }
}

fn set<T>(list: &mut [T], at: usize, value: T) {
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}

/// What a JSON Pointer leads to.
fn walk<'v>(root: &'v Value, pointer: &str) -> Option<&'v Value> {
    if pointer.is_empty() { Some(root) } else { walk_object(root.as_object()?, pointer) }
}

/// The same in an object; the pointer names something in it.
pub(crate) fn walk_object<'v>(root: &'v Object, pointer: &str) -> Option<&'v Value> {
    let mut found: Option<&Value> = None;
    for token in uri::segments(pointer).into_iter().skip(1) {
        found = Some(match found {
            None => root.get(&unescape(token))?,
            Some(Value::Object(object)) => object.get(&unescape(token))?,
            Some(Value::Array(items)) if is_plain(token) && (token == "0" || !token.starts_with("0")) => {
                items.get(Decimal::read(token).as_count()?)?
            }
            Some(_) => return None,
        });
    }
    found
}

/// `~1` to `/`, `~0` to `~`.
fn unescape(token: &str) -> String {
    let mut out = String::new();
    let mut rest = token;
    while let Some(at) = uri::find(rest, b"~") {
        let (before, after) = uri::cut(rest, at);
        out.push_str(before);
        let (known, len) = match after.as_bytes().get(1) {
            Some(b'1') => ("/", 2),
            Some(b'0') => ("~", 2),
            _ => ("~", 1),
        };
        out.push_str(known);
        rest = uri::cut(after, len).1;
    }
    out.push_str(rest);
    out
}
