//! JSON values that keep what they were given: members in their order, numbers as
//! they were written. Pass-through data must arrive byte for byte, and a
//! JavaScript number cannot hold every integer, so neither is optional; that the
//! module is 15 KB (brotli) smaller in the browser than `serde_json` is the rest
//! of the reason to have it.

mod parse;
mod text;
mod write;

pub use parse::{ParseError, parse};
pub use text::{concat, decimal, digits, millionths};
pub(crate) use text::{cut, lossy, number};
pub use write::write_string;

use std::fmt;

/// Any JSON value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it was written.
    Number(Number),
    /// A string.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// Members in the order they came.
    Object(Object),
}

/// A JSON number, kept as the text it was written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(String);

impl Number {
    /// The text, a valid JSON number.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value, if it is written as a whole number that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The value, if it is written as a whole number that fits.
    pub fn as_u64(&self) -> Option<u64> {
        number(&self.0)
    }

    /// The nearest double.
    pub fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok()
    }
}

/// Members of a JSON object in the order they were first given. Looking one up
/// walks the list, which is the faster way for the sizes that occur here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object(Vec<(String, Value)>);

impl Object {
    /// No members.
    pub fn new() -> Object {
        Object::default()
    }

    /// Sets a member; one that exists keeps its place and gets the new value.
    pub fn insert(&mut self, key: &str, value: impl Into<Value>) {
        self.set(key, value.into());
    }

    /// Sets a member if there is a value for it.
    pub fn insert_some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(key, value.into());
        }
    }

    /// Apart from [`insert`](Self::insert), so that it is there once and not once
    /// a type.
    #[inline(never)]
    fn set(&mut self, key: &str, value: Value) {
        match self.get_mut(key) {
            Some(old) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// The member `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// The member `key`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Takes the member `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// The member `key` if it is a string.
    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Leaves the members whose names are wanted.
    pub(crate) fn retain(&mut self, mut wanted: impl FnMut(&str) -> bool) {
        self.0.retain(|(k, _)| wanted(k));
    }

    /// The values in order, to change them.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.0.iter_mut().map(|(_, v)| v)
    }

    /// Compact JSON text, without the detour over formatting.
    pub fn text(&self) -> String {
        let mut out = String::new();
        write::write_object(&mut out, self);
        out
    }

    /// How many members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Object {
        let mut object = Object::new();
        for (key, value) in members {
            object.insert(&key, value);
        }
        object
    }
}

impl Value {
    /// The member `key` of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// The member `key` of an object, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        match self {
            Value::Object(o) => o.get_mut(key),
            _ => None,
        }
    }

    /// The member `key` of an object if it is a string.
    pub fn str(&self, key: &str) -> Option<&str> {
        self.as_object()?.str(key)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The value of `true` or `false`.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The value of a whole number that fits.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Value::Number(n) => n.as_u64(),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(a) => Some(a),
            _ => None,
        }
    }

    /// The members of an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(o) => Some(o),
            _ => None,
        }
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Value::Object(_))
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Compact JSON text, without the detour over formatting.
    pub fn text(&self) -> String {
        let mut out = String::new();
        write::write_value(&mut out, self);
        out
    }

    /// What kind of value this is, as messages name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

/// Compact JSON text; parses back to the same value.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Value {
        Value::String(s.to_owned())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Value {
        Value::String(s)
    }
}

impl From<&String> for Value {
    fn from(s: &String) -> Value {
        Value::String(s.clone())
    }
}

impl From<u64> for Value {
    fn from(n: u64) -> Value {
        Value::Number(Number(digits(n)))
    }
}

impl From<u32> for Value {
    fn from(n: u32) -> Value {
        u64::from(n).into()
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Number(Number(n.to_string()))
    }
}

impl From<Number> for Value {
    fn from(n: Number) -> Value {
        Value::Number(n)
    }
}

impl From<Object> for Value {
    fn from(o: Object) -> Value {
        Value::Object(o)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}

/// An object from `key: value` pairs.
#[macro_export]
macro_rules! object {
    ($($key:literal : $value:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut object = $crate::json::Object::new();
        $( object.insert($key, $value); )*
        object
    }};
}
