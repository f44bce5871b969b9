//! The members of a schema that is being read, and what is said when one has the
//! wrong type.

use super::names::Names;
use super::number::Decimal;
use super::rule::{KINDS, Kinds};
use crate::json::{Object, Value};

/// What is wrong with a schema, and with which value in it.
pub(super) struct Fault<'v> {
    pub(super) at: &'v Value,
    pub(super) reason: String,
}

/// Boxed, so that a result is small: there are many.
pub(super) type Parsed<'v, T> = Result<T, Box<Fault<'v>>>;

/// A fault of `at`.
pub(super) fn fault<'v, T>(at: &'v Value, reason: &str) -> Parsed<'v, T> {
    Err(Box::new(Fault { at, reason: reason.to_owned() }))
}

/// The members of one schema.
#[derive(Clone, Copy)]
pub(super) struct Fields<'v>(pub(super) &'v Object);

impl<'v> Fields<'v> {
    pub(super) fn get(self, key: &str) -> Option<&'v Value> {
        self.0.get(key)
    }

    pub(super) fn text(self, key: &str) -> Parsed<'v, Option<&'v str>> {
        match self.get(key) {
            Some(value) => text(value).map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn flag(self, key: &str) -> Parsed<'v, bool> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => fault(other, "must be true or false"),
        }
    }

    /// A number, with its text.
    pub(super) fn number(self, key: &str) -> Parsed<'v, Option<(Decimal, &'v str)>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Number(n)) => Ok(Some((Decimal::read(n.as_str()), n.as_str()))),
            Some(other) => fault(other, "must be a number"),
        }
    }

    pub(super) fn count(self, key: &str) -> Parsed<'v, Option<usize>> {
        match (self.get(key), self.number(key)?) {
            (Some(value), Some((number, _))) => match number.as_count() {
                Some(count) => Ok(Some(count)),
                None => fault(value, "must be a whole number, zero or more"),
            },
            _ => Ok(None),
        }
    }

    pub(super) fn array(self, key: &str) -> Parsed<'v, Option<&'v [Value]>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => fault(other, "must be an array"),
        }
    }

    pub(super) fn object(self, key: &str) -> Parsed<'v, Option<&'v Object>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => fault(other, "must be an object"),
        }
    }

    /// The kinds named by `type`.
    pub(super) fn kinds(self) -> Parsed<'v, Option<Kinds>> {
        let Some(value) = self.get("type") else { return Ok(None) };
        let names = match value {
            Value::Array(names) if !names.is_empty() => names,
            one => std::slice::from_ref(one),
        };
        let mut kinds = 0;
        for name in names {
            match KINDS.iter().find(|(word, _, _)| name.as_str() == Some(word)) {
                Some((_, _, kind)) => kinds |= kind,
                None => {
                    return fault(
                        name,
                        "must be one of null, boolean, number, integer, string, array, object, or a list of them",
                    );
                }
            }
        }
        Ok(Some(kinds))
    }
}

pub(super) fn text(value: &Value) -> Parsed<'_, &str> {
    match value.as_str() {
        Some(text) => Ok(text),
        None => fault(value, "must be a string"),
    }
}

/// A list of names.
pub(super) fn names(value: &Value) -> Parsed<'_, Names> {
    let Value::Array(items) = value else { return fault(value, "must be an array of strings") };
    let mut list = Names::default();
    for item in items {
        list.add(text(item)?, list.entries().len());
    }
    Ok(list)
}
