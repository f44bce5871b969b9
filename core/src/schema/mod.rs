//! JSON Schema 2020-12 for the arguments of tools: parsed once, then checked
//! against values. Small enough for a page, and safe with schemas and values
//! nobody vouches for: depth, work and the number of violations are bounded, and
//! nothing is ever fetched.
//!
//! All of the validation vocabulary is here; `format` and the `content` keywords
//! are annotations, unknown keywords (with them `$schema` and `$vocabulary`) are
//! ignored. Numbers are compared as the decimals they are written as.

mod assert;
mod check;
mod compile;
mod equal;
mod fields;
mod keyword;
mod names;
mod number;
mod refs;
mod rule;
mod spot;
#[cfg(test)]
mod tests;
mod uri;
mod within;

pub(crate) use refs::walk_object;
pub(crate) use spot::push_token;
pub(crate) use uri::{percent_decode, split_fragment};

use std::fmt;

use crate::json::Value;
pub(crate) use number::is_safe;
use rule::Node;

/// No more violations than this are listed: enough to repair arguments with.
pub const MAX_VIOLATIONS: usize = 32;

/// No more warnings than this are kept.
pub const MAX_WARNINGS: usize = 32;

/// Schemas may nest, and checking may recurse, this deep. An applicator, a
/// reference and a member are each one level.
pub const MAX_DEPTH: usize = 400;

/// Steps one check may take, about one for each rule applied and each value or 32
/// bytes compared; some tenths of a second.
pub const MAX_WORK: usize = 2_000_000;

/// Identifiers and references may be this many bytes long.
pub const MAX_URI: usize = 2048;

/// A regular expression engine, lent by the adapter: ECMA-262 with the flag `u`.
/// How long a match may take is the engine's affair.
pub trait Pattern {
    /// Makes a matcher of `source`.
    ///
    /// # Errors
    /// Why `source` is no regular expression.
    fn compile(&self, source: &str) -> Result<Box<dyn Matcher>, String>;
}

/// One compiled regular expression.
pub trait Matcher {
    /// Whether it matches anywhere in `text`.
    fn is_match(&self, text: &str) -> bool;
}

/// A schema, ready to check values.
pub struct Schema {
    nodes: Vec<Node>,
    root: usize,
    /// For each resource (part with an `$id`): its dynamic anchors, as number of
    /// the name and node.
    anchors: Vec<Vec<(usize, usize)>>,
    warnings: Vec<String>,
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// The first keyword whose value makes no sense, a regular expression the
    /// engine refuses, or a reference that leads to itself with no smaller value
    /// between.
    pub fn parse(schema: &Value, patterns: &dyn Pattern) -> Result<Schema, SchemaError> {
        let fault = match compile::Compiler::new(patterns).document(schema) {
            Ok(schema) => return Ok(schema),
            Err(fault) => fault,
        };
        let place = spot::place_of(schema, fault.at).unwrap_or_default();
        Err(SchemaError { place, reason: fault.reason })
    }

    /// What is wrong with `value`; nothing if it is valid. A value that would take
    /// more than [`MAX_DEPTH`] or [`MAX_WORK`] is not valid, and the last violation
    /// (its keyword empty) says so.
    pub fn check(&self, value: &Value) -> Vec<Violation> {
        check::Checker::new(self).run(value)
    }

    /// What the schema says that cannot be honoured: each reference that leads
    /// nowhere in the document, and so accepts any value. At most [`MAX_WARNINGS`].
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema(")?;
        f.write_str(&number::digits(self.nodes.len()))?;
        f.write_str(" parts)")
    }
}

/// Why a document is no schema, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// JSON Pointer of the place in the schema.
    pub place: String,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("schema at \"")?;
        f.write_str(&self.place)?;
        f.write_str("\": ")?;
        f.write_str(&self.reason)
    }
}

/// One rule of the schema that a value breaks. Says nothing of the value but its
/// kind, its size and the names of its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer of the place in the value.
    pub path: String,
    /// The keyword that was broken; `false` for a schema that accepts nothing,
    /// empty if the check was given up.
    pub keyword: &'static str,
    /// What is expected there, for the model to act on.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.path.is_empty() { "the value" } else { &self.path })?;
        f.write_str(" ")?;
        f.write_str(&self.message)
    }
}
