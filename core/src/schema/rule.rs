//! What a schema becomes: nodes, numbered, each with the rules a value must keep.

use super::Matcher;
use super::names::Names;
use super::number::{Decimal, is_plain};
use crate::json::Value;

/// Kinds of values, as bits.
pub(super) type Kinds = u8;

pub(super) const NUMBER: Kinds = 4;
pub(super) const INTEGER: Kinds = 8;
pub(super) const ANY: Kinds = 127;

/// Names of the kinds, as schemas write them and as messages say them.
pub(super) const KINDS: &[(&str, &str, Kinds)] = &[
    ("null", "null", 1),
    ("boolean", "true or false", 2),
    ("number", "a number", NUMBER),
    ("integer", "a whole number", INTEGER),
    ("string", "a string", 16),
    ("array", "an array", 32),
    ("object", "an object", 64),
];

/// The kinds `value` is of: two for a whole number.
pub(super) fn kinds_of(value: &Value) -> Kinds {
    match value {
        Value::Null => 1,
        Value::Bool(_) => 2,
        Value::Number(n) if is_plain(n.as_str()) || Decimal::read(n.as_str()).is_integer() => {
            NUMBER | INTEGER
        }
        Value::Number(_) => NUMBER,
        Value::String(_) => 16,
        Value::Array(_) => 32,
        Value::Object(_) => 64,
    }
}

/// One schema.
pub(super) struct Node {
    /// The resource it belongs to.
    pub(super) resource: usize,
    /// Unevaluated ones last: they look at what the others have seen.
    pub(super) rules: Vec<Rule>,
    /// Whether a rule looks at what others have seen.
    pub(super) unevaluated: bool,
}

impl Node {
    /// Whether it is `false`.
    pub(super) fn accepts_nothing(&self) -> bool {
        matches!(self.rules.first(), Some(Rule::Never))
    }
}

/// One rule. A number is a node's.
pub(super) enum Rule {
    Never,
    Kinds(Kinds),
    /// `const` or `enum`.
    Values(&'static str, Vec<Value>),
    Bound(Bound),
    MultipleOf(Decimal, String),
    Count(Count),
    Pattern(String, Box<dyn Matcher>),
    UniqueItems,
    Required(Names),
    /// List to require when the member is there.
    DependentRequired(Names, Vec<Names>),
    Ref(usize),
    /// Where it leads at first, and the number of its anchor's name.
    DynamicRef(usize, usize),
    All(Vec<usize>),
    Any(Vec<usize>),
    One(Vec<usize>),
    Not(usize),
    /// `if`, `then`, `else`.
    If(usize, Option<usize>, Option<usize>),
    DependentSchemas(Names),
    Members(Members),
    MemberNames(usize),
    /// `prefixItems` and `items`.
    Items(Vec<usize>, Option<usize>),
    Contains(Contains),
    UnevaluatedMembers(usize),
    UnevaluatedItems(usize),
}

/// `maximum` and its like.
pub(super) struct Bound {
    pub(super) keyword: &'static str,
    pub(super) upper: bool,
    pub(super) exclusive: bool,
    pub(super) limit: Decimal,
    /// The limit as the schema has it.
    pub(super) text: String,
}

/// `maxLength` and its like.
pub(super) struct Count {
    pub(super) keyword: &'static str,
    pub(super) of: Counted,
    pub(super) upper: bool,
    pub(super) limit: usize,
}

/// What is counted.
#[derive(Clone, Copy)]
pub(super) enum Counted {
    Characters,
    Items,
    Members,
}

/// `properties`, `patternProperties` and `additionalProperties`.
pub(super) struct Members {
    pub(super) named: Names,
    pub(super) patterns: Vec<(Box<dyn Matcher>, usize)>,
    pub(super) rest: Option<usize>,
    /// What may stand there, for messages.
    pub(super) known: String,
}

/// `contains` with its limits.
pub(super) struct Contains {
    pub(super) node: usize,
    pub(super) min: usize,
    pub(super) max: Option<usize>,
}

impl Rule {
    /// Adds the nodes that this rule applies to the very same value.
    pub(super) fn push_in_place(&self, out: &mut Vec<usize>) {
        match self {
            Rule::Ref(node) | Rule::Not(node) => out.push(*node),
            Rule::All(nodes) | Rule::Any(nodes) | Rule::One(nodes) => out.extend_from_slice(nodes),
            Rule::If(test, then, other) => {
                out.push(*test);
                out.extend(then.iter().chain(other));
            }
            Rule::DependentSchemas(nodes) => {
                for (_, node) in nodes.entries() {
                    out.push(*node);
                }
            }
            _ => {}
        }
    }
}
