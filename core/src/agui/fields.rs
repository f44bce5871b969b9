//! Reading and writing the members of a JSON object, as the types of Rust say.
//!
//! What is read here is checked already (see [`check`](super::check)), so a
//! member that is absent reads as the type's default, and there are no errors.

use crate::json::{Object, Value};

/// A type that can be a member of an object. `Option` and lists may be absent.
pub(super) trait Field: Sized {
    fn read(o: &Object, key: &str) -> Self;
    fn write(&self, o: &mut Object, key: &str);
}

/// A type that can be an item of a list.
pub(super) trait Item: Sized {
    fn take(value: &Value) -> Option<Self>;
    fn give(&self) -> Value;
}

/// A struct that is an object on the wire.
pub(super) trait Record: Sized {
    fn read(o: &Object) -> Self;
    fn write(&self, o: &mut Object);
}

impl<T: Record> Item for T {
    fn take(value: &Value) -> Option<T> {
        value.as_object().map(T::read)
    }

    fn give(&self) -> Value {
        let mut o = Object::new();
        self.write(&mut o);
        Value::Object(o)
    }
}

impl Item for Value {
    fn take(value: &Value) -> Option<Value> {
        Some(value.clone())
    }

    fn give(&self) -> Value {
        self.clone()
    }
}

impl Item for String {
    fn take(value: &Value) -> Option<String> {
        value.as_str().map(str::to_owned)
    }

    fn give(&self) -> Value {
        self.as_str().into()
    }
}

impl<T: Item> Field for Vec<T> {
    fn read(o: &Object, key: &str) -> Vec<T> {
        let items = o.get(key).and_then(Value::as_array).unwrap_or_default();
        items.iter().filter_map(T::take).collect()
    }

    fn write(&self, o: &mut Object, key: &str) {
        if !self.is_empty() {
            o.insert(key, self.iter().map(T::give).collect::<Vec<_>>());
        }
    }
}

impl Field for String {
    fn read(o: &Object, key: &str) -> String {
        o.str(key).unwrap_or_default().to_owned()
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert(key, self);
    }
}

impl Field for Option<String> {
    fn read(o: &Object, key: &str) -> Option<String> {
        o.str(key).map(str::to_owned)
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, self.as_deref());
    }
}

impl Field for Object {
    fn read(o: &Object, key: &str) -> Object {
        Option::read(o, key).unwrap_or_default()
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert(key, self.clone());
    }
}

impl Field for Option<Object> {
    fn read(o: &Object, key: &str) -> Option<Object> {
        o.get(key).and_then(Value::as_object).cloned()
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, self.clone());
    }
}

impl Field for Option<bool> {
    fn read(o: &Object, key: &str) -> Option<bool> {
        o.get(key).and_then(Value::as_bool)
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, *self);
    }
}

impl Field for Option<u64> {
    fn read(o: &Object, key: &str) -> Option<u64> {
        o.get(key).and_then(Value::as_u64)
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, *self);
    }
}

/// Any value. Absent reads as `null`: encoders that leave out every `null` are
/// common.
impl Field for Value {
    fn read(o: &Object, key: &str) -> Value {
        o.get(key).cloned().unwrap_or_default()
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert(key, self.clone());
    }
}

impl Field for Option<Value> {
    fn read(o: &Object, key: &str) -> Option<Value> {
        o.get(key).filter(|v| !v.is_null()).cloned()
    }

    fn write(&self, o: &mut Object, key: &str) {
        o.insert_some(key, self.clone().filter(|v| !v.is_null()));
    }
}
