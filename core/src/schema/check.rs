//! Checking a value: rules applied to it, branches tried quietly, and what they saw
//! of it kept for the `unevaluated` keywords.

use super::equal::Work;
use super::names::Names;
use super::number::digits;
use super::rule::{ANY, Kinds, Rule, kinds_of};
use super::spot::{Spot, Step};
use super::{MAX_VIOLATIONS, MAX_WORK, Schema, Violation};
use crate::json::{Object, Value, concat};

/// For each member or item of a value whether a rule has seen it; `None` where
/// nobody asks.
pub(super) type Marks<'a> = Option<&'a mut [bool]>;

/// One check.
pub(super) struct Checker<'s> {
    pub(super) schema: &'s Schema,
    pub(super) work: Work,
    /// Branches that are only tried: nothing is reported in them.
    trying: usize,
    violations: Vec<Violation>,
}

impl<'s> Checker<'s> {
    pub(super) fn new(schema: &'s Schema) -> Checker<'s> {
        Checker { schema, work: Work::new(MAX_WORK), trying: 0, violations: Vec::new() }
    }

    /// Checks the whole of `value`.
    pub(super) fn run(mut self, value: &Value) -> Vec<Violation> {
        let start = Spot { outer: None, step: Step::Stay, resource: 0, depth: 0 };
        self.node(self.schema.root, value, &start, None);
        if let Some(why) = self.work.over {
            self.violations.truncate(MAX_VIOLATIONS - 1);
            self.violations.push(Violation { path: String::new(), keyword: "", message: why.to_owned() });
        }
        self.violations
    }

    /// Reports a violation, if anyone listens; false, for the caller to return.
    pub(super) fn fail(
        &mut self,
        spot: &Spot<'_>,
        keyword: &'static str,
        message: &dyn Fn() -> String,
    ) -> bool {
        if !self.quiet() {
            self.violations.push(Violation { path: spot.pointer(), keyword, message: message() });
        }
        false
    }

    /// Whether more violations would change nothing, so that the first one decides.
    pub(super) fn quiet(&self) -> bool {
        self.trying > 0 || self.violations.len() >= MAX_VIOLATIONS || self.work.over.is_some()
    }

    /// Applies a schema.
    pub(super) fn node(&mut self, id: usize, value: &Value, spot: &Spot<'_>, marks: Marks<'_>) -> bool {
        let schema = self.schema;
        let Some(node) = schema.nodes.get(id) else { return true };
        let depth = spot.depth + 1;
        if !self.work.enter(depth) {
            return false;
        }
        let here = Spot { outer: Some(spot), step: Step::Stay, resource: node.resource, depth };
        if !node.unevaluated {
            return self.rules(&node.rules, value, &here, marks);
        }
        // It must not see what its cousins saw.
        let mut own = self.unmarked(value);
        let valid = self.rules(&node.rules, value, &here, Some(&mut own));
        merge(marks, &own);
        valid
    }

    fn rules(&mut self, rules: &'s [Rule], value: &Value, spot: &Spot<'_>, mut marks: Marks<'_>) -> bool {
        let mut valid = true;
        for rule in rules {
            if !self.work.spend(1) {
                return false;
            }
            valid &= self.rule(rule, value, spot, marks.as_deref_mut());
            if !valid && self.quiet() {
                return false;
            }
        }
        valid
    }

    fn rule(&mut self, rule: &'s Rule, value: &Value, spot: &Spot<'_>, marks: Marks<'_>) -> bool {
        match (rule, value) {
            (Rule::Ref(node), _) => self.node(*node, value, spot, marks),
            (Rule::DynamicRef(node, name), _) => {
                let node = self.dynamic(*node, *name, spot);
                self.node(node, value, spot, marks)
            }
            (Rule::All(nodes), _) => self.all(nodes, value, spot, marks),
            (Rule::Any(nodes), _) => self.any(nodes, value, spot, marks),
            (Rule::One(nodes), _) => self.one(nodes, value, spot, marks),
            (Rule::Not(node), _) => {
                !self.attempt(*node, value, spot, None)
                    || self.fail(spot, "not", &|| "is what this schema excludes".to_owned())
            }
            (Rule::If(test, then, other), _) => self.conditional((*test, *then, *other), value, spot, marks),
            (Rule::DependentSchemas(nodes), Value::Object(_)) => self.dependent(nodes, value, spot, marks),
            (Rule::Members(members), Value::Object(object)) => self.members(members, object, spot, marks),
            (Rule::MemberNames(node), Value::Object(object)) => self.member_names(*node, object, spot),
            (Rule::Items(prefix, rest), Value::Array(items)) => {
                self.items((prefix, *rest), items, spot, marks)
            }
            (Rule::Contains(contains), Value::Array(items)) => self.contains(contains, items, spot, marks),
            (Rule::UnevaluatedItems(node), Value::Array(items)) => {
                let Some(marks) = marks else { return true };
                let mut inside = items.iter().enumerate().map(|(i, item)| (Step::Item(i), item));
                self.unevaluated(("unevaluatedItems", *node), &mut inside, spot, marks)
            }
            (Rule::UnevaluatedMembers(node), Value::Object(object)) => {
                let Some(marks) = marks else { return true };
                let mut inside = object.iter().map(|(key, member)| (Step::Member(key), member));
                self.unevaluated(("unevaluatedProperties", *node), &mut inside, spot, marks)
            }
            _ => self.assert(rule, value, spot),
        }
    }

    /// The outermost schema on the way here that has the anchor.
    fn dynamic(&mut self, first: usize, name: usize, spot: &Spot<'_>) -> usize {
        let mut found = first;
        let mut at = Some(spot);
        while let Some(spot) = at {
            let anchors = self.schema.anchors.get(spot.resource).map_or(&[][..], Vec::as_slice);
            if !self.work.spend(1 + anchors.len() / 8) {
                break;
            }
            if let Some((_, node)) = anchors.iter().find(|(number, _)| *number == name) {
                found = *node;
            }
            at = spot.outer;
        }
        found
    }

    /// Tries a schema without reporting. What it saw counts only if it is valid.
    pub(super) fn attempt(&mut self, id: usize, value: &Value, spot: &Spot<'_>, marks: Marks<'_>) -> bool {
        self.trying += 1;
        let valid = if marks.is_some() {
            let mut own = self.unmarked(value);
            let valid = self.node(id, value, spot, Some(&mut own));
            if valid {
                merge(marks, &own);
            }
            valid
        } else {
            self.node(id, value, spot, None)
        };
        self.trying -= 1;
        valid
    }

    fn unmarked(&mut self, value: &Value) -> Vec<bool> {
        let len = match value {
            Value::Array(items) => items.len(),
            Value::Object(object) => object.len(),
            _ => 0,
        };
        if self.work.spend(len / 16) { vec![false; len] } else { Vec::new() }
    }

    fn all(&mut self, nodes: &[usize], value: &Value, spot: &Spot<'_>, mut marks: Marks<'_>) -> bool {
        let mut valid = true;
        for &node in nodes {
            valid &= self.node(node, value, spot, marks.as_deref_mut());
            if !valid && self.quiet() {
                return false;
            }
        }
        valid
    }

    fn any(&mut self, nodes: &[usize], value: &Value, spot: &Spot<'_>, mut marks: Marks<'_>) -> bool {
        let mut valid = false;
        for &node in nodes {
            valid |= self.attempt(node, value, spot, marks.as_deref_mut());
            // Others may still have seen more of the value.
            if valid && marks.is_none() {
                return true;
            }
        }
        valid || self.none_of("anyOf", nodes, value, spot)
    }

    fn one(&mut self, nodes: &[usize], value: &Value, spot: &Spot<'_>, mut marks: Marks<'_>) -> bool {
        let mut found = None;
        for (i, &node) in nodes.iter().enumerate() {
            if self.attempt(node, value, spot, marks.as_deref_mut()) {
                if let Some(other) = found {
                    return self.fail(spot, "oneOf", &|| {
                        let (a, b) = (digits(other + 1), digits(i + 1));
                        concat(&["matches alternatives ", &a, " and ", &b, ", but only one may match"])
                    });
                }
                found = Some(i);
            }
        }
        found.is_some() || self.none_of("oneOf", nodes, value, spot)
    }

    /// Says why no alternative fits: where only one is for this kind of value, what
    /// is wrong with it by that one.
    fn none_of(&mut self, keyword: &'static str, nodes: &[usize], value: &Value, spot: &Spot<'_>) -> bool {
        if self.quiet() {
            return false;
        }
        let (mut kinds, mut fitting, mut meant) = (0, 0, 0);
        for &node in nodes {
            let accepted = self.kinds_accepted(node);
            kinds |= accepted;
            if accepted & kinds_of(value) != 0 {
                fitting += 1;
                meant = node;
            }
        }
        let before = self.violations.len();
        match fitting {
            0 => return self.fail(spot, keyword, &|| super::assert::expected(kinds, value)),
            1 => {
                self.node(meant, value, spot, None);
            }
            _ => {}
        }
        if self.violations.len() > before {
            return false;
        }
        self.fail(spot, keyword, &|| {
            concat(&["matches none of the ", &digits(nodes.len()), " alternatives of the schema"])
        })
    }

    fn kinds_accepted(&self, mut id: usize) -> Kinds {
        // A few references are followed; this is only for messages.
        for _ in 0..8 {
            let rules = self.schema.nodes.get(id).map_or(&[][..], |node| &node.rules);
            let mut target = None;
            for rule in rules {
                match rule {
                    Rule::Never => return 0,
                    Rule::Kinds(kinds) => return *kinds,
                    Rule::Ref(node) => target = Some(*node),
                    _ => {}
                }
            }
            match target {
                Some(node) => id = node,
                None => break,
            }
        }
        ANY
    }

    fn conditional(
        &mut self,
        (test, then, other): (usize, Option<usize>, Option<usize>),
        value: &Value,
        spot: &Spot<'_>,
        mut marks: Marks<'_>,
    ) -> bool {
        let holds = self.attempt(test, value, spot, marks.as_deref_mut());
        match if holds { then } else { other } {
            Some(node) => self.node(node, value, spot, marks),
            None => true,
        }
    }

    fn dependent(&mut self, nodes: &Names, value: &Value, spot: &Spot<'_>, mut marks: Marks<'_>) -> bool {
        let mut valid = true;
        for (key, _) in value.as_object().into_iter().flat_map(Object::iter) {
            if !self.work.spend(1) || (!valid && self.quiet()) {
                return false;
            }
            if let Some(node) = nodes.get(key) {
                valid &= self.node(node, value, spot, marks.as_deref_mut());
            }
        }
        valid
    }
}

/// Adds what a branch saw.
fn merge(marks: Marks<'_>, seen: &[bool]) {
    for (mark, &seen) in marks.into_iter().flatten().zip(seen) {
        *mark |= seen;
    }
}

pub(super) fn mark(marks: &mut Marks<'_>, at: usize) {
    if let Some(mark) = marks.as_deref_mut().and_then(|marks| marks.get_mut(at)) {
        *mark = true;
    }
}
