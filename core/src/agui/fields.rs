//! Reading and writing the members of a JSON object, as the types of Rust say.
//!
//! A reader notes the first fault and goes on with a default, so that reading a
//! struct is a straight list of calls: in wasm that is a third of the code that
//! an early return per field costs.

use crate::json::{Object, Value};

/// What was found on the way.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The first fault; fatal.
    pub(super) error: Option<String>,
    /// What was ignored.
    pub(super) warnings: Vec<String>,
}

/// The members of one object, and where it stands.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub(super) object: &'a Object,
    /// JSON Pointer to the object, empty for the whole document.
    pub(super) path: String,
    pub(super) notes: &'a mut Notes,
}

impl Fields<'_> {
    /// The member `key`; `null` counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.object.get(key).filter(|v| !v.is_null())
    }

    /// JSON Pointer to the member `key`.
    pub(super) fn at(&self, key: &str) -> String {
        [&self.path, "/", key].concat()
    }

    /// Notes that the member `key` is not what it must be.
    pub(super) fn fail(&mut self, key: &str, expected: &str) {
        let found = self.object.get(key).map_or("nothing", Value::kind);
        let at = self.at(key);
        self.notes.fail(&at, expected, found);
    }

    /// Notes a fault if there is no list `key`.
    pub(super) fn require_list(&mut self, key: &str) {
        if self.get(key).is_none() {
            self.fail(key, "an array");
        }
    }

    /// The member `key` converted, a default and a fault if it is there but cannot
    /// be, or if it is `needed` and not there.
    fn convert<T: Default>(
        &mut self,
        key: &str,
        expected: &str,
        needed: bool,
        convert: impl Fn(&Value) -> Option<T>,
    ) -> T {
        let value = self.get(key);
        let converted = value.and_then(convert);
        if converted.is_none() && (needed || value.is_some()) {
            self.fail(key, expected);
        }
        converted.unwrap_or_default()
    }
}

impl Notes {
    /// Notes that what stands at `at` is not what it must be.
    pub(super) fn fail(&mut self, at: &str, expected: &str, found: &str) {
        if self.error.is_none() {
            self.error = Some([at, ": expected ", expected, ", found ", found].concat());
        }
    }

    /// Notes that what stands at `at` is ignored because `why`.
    pub(super) fn ignore(&mut self, at: &str, why: &str) {
        self.warnings.push([at, ": ignored, ", why].concat());
    }
}

/// A type that can be a member of an object. `Option` and lists may be absent.
pub(super) trait Field: Sized {
    fn read(f: &mut Fields<'_>, key: &str) -> Self;
    fn write(&self, o: &mut Object, key: &str);
}

/// A type that can be an item of a list.
pub(super) trait Item: Sized {
    /// `None` drops the item, with a warning or a fault noted.
    fn take(value: &Value, at: String, notes: &mut Notes) -> Option<Self>;
    fn give(&self) -> Value;
}

/// A struct that is an object on the wire.
pub(super) trait Record: Sized {
    fn read(f: &mut Fields<'_>) -> Self;
    fn write(&self, o: &mut Object);
}

impl<T: Record> Item for T {
    fn take(value: &Value, at: String, notes: &mut Notes) -> Option<T> {
        match value {
            Value::Object(object) => Some(T::read(&mut Fields { object, path: at, notes })),
            other => {
                notes.fail(&at, "an object", other.kind());
                None
            }
        }
    }

    fn give(&self) -> Value {
        let mut o = Object::new();
        self.write(&mut o);
        Value::Object(o)
    }
}

impl Item for Value {
    fn take(value: &Value, _: String, _: &mut Notes) -> Option<Value> {
        Some(value.clone())
    }

    fn give(&self) -> Value {
        self.clone()
    }
}

impl Item for String {
    fn take(value: &Value, at: String, notes: &mut Notes) -> Option<String> {
        let text = value.as_str();
        if text.is_none() {
            notes.fail(&at, "a string", value.kind());
        }
        text.map(str::to_owned)
    }

    fn give(&self) -> Value {
        self.as_str().into()
    }
}

impl<T: Item> Field for Vec<T> {
    fn read(f: &mut Fields<'_>, key: &str) -> Vec<T> {
        let items = match f.object.get(key) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                f.fail(key, "an array");
                return Vec::new();
            }
        };
        let path = f.at(key);
        let items = items.iter().enumerate();
        items.filter_map(|(i, item)| T::take(item, [&path, "/", &i.to_string()].concat(), f.notes)).collect()
    }

    fn write(&self, o: &mut Object, key: &str) {
        if !self.is_empty() {
            o.insert(key, self.iter().map(T::give).collect::<Vec<_>>());
        }
    }
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn object(value: &Value) -> Option<Object> {
    value.as_object().cloned()
}

impl Field for String {
    fn read(f: &mut Fields<'_>, key: &str) -> String {
        f.convert(key, "a string", true, string)
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert(key, self);
    }
}

impl Field for Option<String> {
    fn read(f: &mut Fields<'_>, key: &str) -> Option<String> {
        f.convert(key, "a string", false, |v| string(v).map(Some))
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, self.as_deref());
    }
}

impl Field for Object {
    fn read(f: &mut Fields<'_>, key: &str) -> Object {
        f.convert(key, "an object", true, object)
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert(key, self.clone());
    }
}

impl Field for Option<Object> {
    fn read(f: &mut Fields<'_>, key: &str) -> Option<Object> {
        f.convert(key, "an object", false, |v| object(v).map(Some))
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, self.clone());
    }
}

impl Field for Option<bool> {
    fn read(f: &mut Fields<'_>, key: &str) -> Option<bool> {
        f.convert(key, "a boolean", false, |v| v.as_bool().map(Some))
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, *self);
    }
}

/// Counts and times. A number that is negative or has a fraction is ignored:
/// nothing is computed with them, so no run shall end for one.
impl Field for Option<u64> {
    fn read(f: &mut Fields<'_>, key: &str) -> Option<u64> {
        let number = match f.get(key)? {
            Value::Number(n) => n.as_u64(),
            _ => {
                f.fail(key, "a whole number");
                return None;
            }
        };
        if number.is_none() {
            let at = f.at(key);
            f.notes.ignore(&at, "no whole number");
        }
        number
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, *self);
    }
}

/// Any value. Absent reads as `null`: encoders that leave out every `null` are
/// common.
impl Field for Value {
    fn read(f: &mut Fields<'_>, key: &str) -> Value {
        f.get(key).cloned().unwrap_or_default()
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert(key, self.clone());
    }
}

impl Field for Option<Value> {
    fn read(f: &mut Fields<'_>, key: &str) -> Option<Value> {
        f.get(key).cloned()
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, self.clone().filter(|v| !v.is_null()));
    }
}
