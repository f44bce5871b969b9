//! Keywords to rules.

use super::Matcher;
use super::compile::{Compiler, Pending, Place};
use super::fields::{Fault, Fields, Parsed, fault, names};
use super::names::Names;
use super::rule::{Bound, Contains, Count, Counted, Members, Rule};
use crate::json::{Value, concat};

/// Keyword, whether it is an upper limit, whether the limit itself is out.
const BOUNDS: &[(&str, bool, bool)] = &[
    ("minimum", false, false),
    ("exclusiveMinimum", false, true),
    ("maximum", true, false),
    ("exclusiveMaximum", true, true),
];

/// Keyword, what it counts, whether it is an upper limit.
const COUNTS: &[(&str, Counted, bool)] = &[
    ("minLength", Counted::Characters, false),
    ("maxLength", Counted::Characters, true),
    ("minItems", Counted::Items, false),
    ("maxItems", Counted::Items, true),
    ("minProperties", Counted::Members, false),
    ("maxProperties", Counted::Members, true),
];

/// Names of members in messages end after this many bytes.
const MAX_KNOWN: usize = 300;

impl<'v> Compiler<'v> {
    /// The rules of one schema.
    pub(super) fn rules(&mut self, fields: Fields<'v>, place: Place, out: &mut Vec<Rule>) -> Parsed<'v, ()> {
        self.values(fields, out)?;
        self.sizes(fields, out)?;
        self.required(fields, out)?;
        self.references(fields, place)?;
        self.combined(fields, place, out)?;
        self.conditional(fields, place, out)?;
        self.members(fields, place, out)?;
        self.items(fields, place, out)?;
        if let Some(node) = self.one(fields, "unevaluatedItems", place)? {
            out.push(Rule::UnevaluatedItems(node));
        }
        if let Some(node) = self.one(fields, "unevaluatedProperties", place)? {
            out.push(Rule::UnevaluatedMembers(node));
        }
        // Nothing to check, but references may lead into them. `definitions` is what
        // older drafts say for `$defs`, and many generators still do.
        self.one(fields, "contentSchema", place)?;
        self.map(fields, "$defs", place)?;
        self.map(fields, "definitions", place)?;
        Ok(())
    }

    fn values(&self, fields: Fields<'v>, out: &mut Vec<Rule>) -> Parsed<'v, ()> {
        if let Some(kinds) = fields.kinds()? {
            out.push(Rule::Kinds(kinds));
        }
        if let Some(value) = fields.get("const") {
            out.push(Rule::Values("const", vec![value.clone()]));
        }
        if let Some(values) = fields.array("enum")? {
            out.push(Rule::Values("enum", values.to_vec()));
        }
        if let (Some(value), Some((divisor, text))) = (fields.get("multipleOf"), fields.number("multipleOf")?)
        {
            if !divisor.is_positive() {
                return fault(value, "must be greater than zero");
            }
            out.push(Rule::MultipleOf(divisor, text.to_owned()));
        }
        if let (Some(value), Some(source)) = (fields.get("pattern"), fields.text("pattern")?) {
            out.push(Rule::Pattern(source.to_owned(), self.pattern(value, source)?));
        }
        Ok(())
    }

    fn sizes(&self, fields: Fields<'v>, out: &mut Vec<Rule>) -> Parsed<'v, ()> {
        for &(keyword, upper, exclusive) in BOUNDS {
            if let Some((limit, text)) = fields.number(keyword)? {
                out.push(Rule::Bound(Bound { keyword, upper, exclusive, limit, text: text.to_owned() }));
            }
        }
        for &(keyword, of, upper) in COUNTS {
            if let Some(limit) = fields.count(keyword)? {
                out.push(Rule::Count(Count { keyword, of, upper, limit }));
            }
        }
        if fields.flag("uniqueItems")? {
            out.push(Rule::UniqueItems);
        }
        Ok(())
    }

    fn required(&self, fields: Fields<'v>, out: &mut Vec<Rule>) -> Parsed<'v, ()> {
        if let Some(value) = fields.get("required") {
            out.push(Rule::Required(names(value)?));
        }
        if let Some(object) = fields.object("dependentRequired")? {
            let (mut triggers, mut lists) = (Names::default(), Vec::new());
            for (name, value) in object.iter() {
                triggers.add(name, lists.len());
                lists.push(names(value)?);
            }
            out.push(Rule::DependentRequired(triggers, lists));
        }
        Ok(())
    }

    fn references(&mut self, fields: Fields<'v>, place: Place) -> Parsed<'v, ()> {
        for (keyword, dynamic) in [("$ref", false), ("$dynamicRef", true)] {
            if let (Some(at), Some(_)) = (fields.get(keyword), fields.text(keyword)?) {
                self.pending.push(Pending { node: place.node, at, dynamic });
            }
        }
        Ok(())
    }

    fn combined(&mut self, fields: Fields<'v>, place: Place, out: &mut Vec<Rule>) -> Parsed<'v, ()> {
        if let Some(nodes) = self.list(fields, "allOf", place)? {
            out.push(Rule::All(nodes));
        }
        if let Some(nodes) = self.list(fields, "anyOf", place)? {
            out.push(Rule::Any(nodes));
        }
        if let Some(nodes) = self.list(fields, "oneOf", place)? {
            out.push(Rule::One(nodes));
        }
        if let Some(node) = self.one(fields, "not", place)? {
            out.push(Rule::Not(node));
        }
        Ok(())
    }

    fn conditional(&mut self, fields: Fields<'v>, place: Place, out: &mut Vec<Rule>) -> Parsed<'v, ()> {
        let test = self.one(fields, "if", place)?;
        let then = self.one(fields, "then", place)?;
        let other = self.one(fields, "else", place)?;
        if let Some(test) = test {
            out.push(Rule::If(test, then, other));
        }
        let dependent = self.map(fields, "dependentSchemas", place)?;
        if !dependent.entries().is_empty() {
            out.push(Rule::DependentSchemas(dependent));
        }
        Ok(())
    }

    fn members(&mut self, fields: Fields<'v>, place: Place, out: &mut Vec<Rule>) -> Parsed<'v, ()> {
        let named = self.map(fields, "properties", place)?;
        let mut patterns: Vec<(Box<dyn Matcher>, usize)> = Vec::new();
        if let (Some(at), Some(object)) =
            (fields.get("patternProperties"), fields.object("patternProperties")?)
        {
            for (source, schema) in object.iter() {
                patterns.push((self.pattern(at, source)?, self.below(schema, place)?));
            }
        }
        let rest = self.one(fields, "additionalProperties", place)?;
        if !(named.entries().is_empty() && patterns.is_empty() && rest.is_none()) {
            let known = known(&named);
            out.push(Rule::Members(Members { named, patterns, rest, known }));
        }
        if let Some(node) = self.one(fields, "propertyNames", place)? {
            out.push(Rule::MemberNames(node));
        }
        Ok(())
    }

    fn items(&mut self, fields: Fields<'v>, place: Place, out: &mut Vec<Rule>) -> Parsed<'v, ()> {
        let prefix = self.list(fields, "prefixItems", place)?.unwrap_or_default();
        if let Some(list @ Value::Array(_)) = fields.get("items") {
            return fault(list, "must be a schema: a list of them is called `prefixItems`");
        }
        let rest = self.one(fields, "items", place)?;
        if !prefix.is_empty() || rest.is_some() {
            out.push(Rule::Items(prefix, rest));
        }
        let (min, max) = (fields.count("minContains")?.unwrap_or(1), fields.count("maxContains")?);
        if let Some(node) = self.one(fields, "contains", place)? {
            out.push(Rule::Contains(Contains { node, min, max }));
        }
        Ok(())
    }

    fn pattern(&self, at: &'v Value, source: &str) -> Parsed<'v, Box<dyn Matcher>> {
        self.patterns.compile(source).map_err(|why| {
            let reason = concat(&["`", source, "` is no regular expression: ", &why]);
            Box::new(Fault { at, reason })
        })
    }

    fn below(&mut self, value: &'v Value, place: Place) -> Parsed<'v, usize> {
        self.node(value, place.resource, place.depth + 1)
    }

    fn one(&mut self, fields: Fields<'v>, key: &str, place: Place) -> Parsed<'v, Option<usize>> {
        match fields.get(key) {
            Some(value) => self.below(value, place).map(Some),
            None => Ok(None),
        }
    }

    fn list(&mut self, fields: Fields<'v>, key: &str, place: Place) -> Parsed<'v, Option<Vec<usize>>> {
        let (Some(at), Some(schemas)) = (fields.get(key), fields.array(key)?) else { return Ok(None) };
        if schemas.is_empty() {
            return fault(at, "must not be empty");
        }
        let mut nodes = Vec::new();
        for schema in schemas {
            nodes.push(self.below(schema, place)?);
        }
        Ok(Some(nodes))
    }

    fn map(&mut self, fields: Fields<'v>, key: &str, place: Place) -> Parsed<'v, Names> {
        let mut nodes = Names::default();
        if let Some(schemas) = fields.object(key)? {
            for (name, schema) in schemas.iter() {
                let node = self.below(schema, place)?;
                nodes.add(name, node);
            }
        }
        Ok(nodes)
    }
}

/// The names of `properties`, for messages.
fn known(properties: &Names) -> String {
    let mut out = String::new();
    for (name, _) in properties.entries() {
        if !out.is_empty() {
            out.push_str(", ");
        }
        if out.len() + name.len() > MAX_KNOWN {
            out.push('…');
            break;
        }
        out.push_str(name);
    }
    out
}
