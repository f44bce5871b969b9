//! Holds JSON to the table: the first member that is not what it must be is an
//! error with its place; what a newer peer may have added is left out with a
//! warning, in a list as well as in an optional place.

use crate::json::{Object, Value, concat, cut, digits};

/// The check of one document.
pub(super) struct Check {
    table: &'static str,
    /// JSON Pointer to what is looked at.
    path: String,
    /// What was left out, for the log.
    pub(super) warnings: Vec<String>,
}

/// `Err` is the fault, with its place.
pub(super) type Checked<T> = Result<T, String>;

impl Check {
    pub(super) fn new(table: &'static str) -> Check {
        Check { table, path: String::new(), warnings: Vec::new() }
    }

    /// Holds `object` to the line of `tag` and `kind`; `false` if there is none.
    pub(super) fn record(&mut self, tag: u8, kind: &str, object: &mut Object) -> Checked<bool> {
        let Some((_, mut rest)) = line(self.table, tag, kind) else { return Ok(false) };
        while !rest.is_empty() {
            let member;
            (member, rest) = cut(rest, b' ');
            let Some((key, &[often, shape])) = member.as_bytes().split_last_chunk() else { continue };
            let Some(key) = member.get(..key.len()).filter(|key| !key.is_empty()) else { continue };
            let outer = self.enter(key);
            self.member(object, key, often, shape)?;
            self.path.truncate(outer);
        }
        Ok(true)
    }

    /// `null` counts as absent.
    fn member(&mut self, object: &mut Object, key: &str, often: u8, shape: u8) -> Checked<()> {
        match object.get_mut(key) {
            Some(value) if shape == b'w' || !value.is_null() => {
                let keep = if matches!(often, b':' | b'?') {
                    self.value(value, shape)?
                } else {
                    self.list(value, often, shape)?
                };
                if !keep {
                    object.remove(key);
                }
            }
            absent if !matches!(often, b'?' | b'*') => {
                let found = absent.map_or("nothing", |value| value.kind());
                let expected = if often == b':' { expected(shape) } else { items(often) };
                return self.fail(expected, found);
            }
            _ => {}
        }
        Ok(())
    }

    fn list(&mut self, value: &mut Value, often: u8, shape: u8) -> Checked<bool> {
        let kind = value.kind();
        match value {
            Value::Array(list) if often != b'+' || !list.is_empty() => {
                for (i, mut item) in std::mem::take(list).into_iter().enumerate() {
                    let outer = self.enter(&digits(i as u64));
                    if self.value(&mut item, shape)? {
                        list.push(item);
                    }
                    self.path.truncate(outer);
                }
                Ok(true)
            }
            _ => self.fail(items(often), kind).map(|()| true),
        }
    }

    /// `false` if the value is to be left out.
    fn value(&mut self, value: &mut Value, shape: u8) -> Checked<bool> {
        let fits = match (shape, &mut *value) {
            (b's' | b'c', Value::String(_)) | (b'o', Value::Object(_)) | (b'b', Value::Bool(_)) => true,
            (b'v' | b'w', _) => true,
            (b'n', Value::Number(n)) => {
                // Nothing is computed with counts and times, so no run shall end for one.
                return Ok(n.as_u64().is_some() || self.ignore("no whole number"));
            }
            (b'r', Value::String(s)) => matches!(s.as_str(), "assistant" | "user" | "system" | "developer"),
            (b'k', Value::String(s)) => matches!(s.as_str(), "tool-call" | "message"),
            (b'p', Value::String(s)) => is_pointer(s),
            (b'c', Value::Array(_)) => return self.list(value, b'=', b'P'),
            (b'A'..=b'Z', Value::Object(object)) => return self.one_of(shape, object),
            _ => false,
        };
        if fits { Ok(true) } else { self.fail(expected(shape), value.kind()).map(|()| false) }
    }

    /// A record, the kind of which stands in one of its members.
    fn one_of(&mut self, tag: u8, object: &mut Object) -> Checked<bool> {
        let (key, unknown) = match tag {
            b'M' => ("role", "a message of an unknown role"),
            b'P' => ("type", "a content part of an unknown kind"),
            b'O' => ("type", "an unknown outcome"),
            b'J' => ("op", "an unknown patch operation"),
            _ => return self.record(tag, "", object),
        };
        let Some(kind) = object.str(key).map(str::to_owned) else {
            let found = object.get(key).map_or("nothing", Value::kind);
            self.enter(key);
            return self.fail("a string", found).map(|()| false);
        };
        Ok(self.record(tag, &kind, object)? || self.ignore(unknown))
    }

    /// Goes into the member `key`; gives what to cut the path to afterwards.
    fn enter(&mut self, key: &str) -> usize {
        let outer = self.path.len();
        self.path.push('/');
        self.path.push_str(key);
        outer
    }

    fn fail(&self, expected: &str, found: &str) -> Checked<()> {
        Err(concat(&[&self.path, ": expected ", expected, ", found ", found]))
    }

    fn ignore(&mut self, why: &str) -> bool {
        self.warnings.push(concat(&[&self.path, ": ignored, ", why]));
        false
    }
}

/// The kind and the members of a line of the table.
pub(super) fn line(table: &'static str, tag: u8, kind: &str) -> Option<(&'static str, &'static str)> {
    let mut rest = table;
    while !rest.is_empty() {
        let line;
        (line, rest) = cut(rest, b'\n');
        let (head, members) = cut(line, b' ');
        if head.as_bytes().first() == Some(&tag) && head.get(2..) == Some(kind) {
            return head.get(2..).map(|kind| (kind, members));
        }
    }
    None
}

fn expected(shape: u8) -> &'static str {
    match shape {
        b's' => "a string",
        b'b' => "a boolean",
        b'n' => "a whole number",
        b'r' => "developer, system, assistant or user",
        b'k' => "tool-call or message",
        b'p' => "a JSON Pointer",
        b'c' => "a string or an array",
        b'w' => "a value",
        _ => "an object",
    }
}

fn items(often: u8) -> &'static str {
    if often == b'+' { "at least one interrupt" } else { "an array" }
}

fn is_pointer(text: &str) -> bool {
    let mut bytes = text.bytes();
    let starts = text.is_empty() || text.starts_with('/');
    while let Some(byte) = bytes.next() {
        if byte == b'~' && !matches!(bytes.next(), Some(b'0' | b'1')) {
            return false;
        }
    }
    starts
}
