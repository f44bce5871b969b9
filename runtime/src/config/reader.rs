//! Single values of the tree: their types, where they stand, and the nearest
//! known key of an unknown one.

use std::time::Duration;

use toml::{Table, Value};

use super::env::{Environment, Sources};
use super::read::Fault;
use super::value::{Secret, parse_duration, print_duration};

/// Reads values and collects what is wrong with them.
pub(super) struct Reader<'a> {
    pub(super) file: &'a str,
    pub(super) sources: Sources,
    pub(super) env: &'a Environment,
    pub(super) faults: Vec<Fault>,
}

/// A table and where it stands.
pub(super) struct Node<'a> {
    pub(super) table: &'a Table,
    pub(super) path: String,
}

impl Node<'_> {
    pub(super) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn fault(&mut self, path: &str, problem: &str, remedy: &str) {
        if let Some(variable) = self.sources.get(path) {
            let source = "environment".to_owned();
            self.faults.push(Fault {
                source,
                path: variable.clone(),
                problem: problem.into(),
                remedy: remedy.into(),
            });
            return;
        }
        // Inside of something that a variable has added, and that the file knows nothing of.
        if let Some((added, variable)) = ancestors(path).find_map(|a| self.sources.get_key_value(a)) {
            self.faults.push(Fault {
                source: "environment".into(),
                path: variable.clone(),
                problem: format!("adds `{added}`, which the file does not have, and {path}: {problem}"),
                remedy: format!("{remedy}, or correct the name in the variable"),
            });
            return;
        }
        let (source, path) = (self.file.to_owned(), path.to_owned());
        self.faults.push(Fault { source, path, problem: problem.into(), remedy: remedy.into() });
    }

    fn expected(&mut self, path: &str, what: &str, example: &str, found: &Value) {
        let found = found.type_str();
        self.fault(path, &format!("expected {what}, found {found}"), &format!("write it as {example}"));
    }

    /// Reports keys that nobody reads, with the nearest that somebody does.
    pub(super) fn known(&mut self, node: &Node<'_>, keys: &[&str]) {
        for key in node.table.keys().filter(|k| !keys.contains(&k.as_str())) {
            let near = keys.iter().min_by_key(|known| distance(key, known)).copied().unwrap_or("");
            let remedy = if distance(key, near) <= 1 + near.len() / 3 {
                format!("did you mean `{near}`?")
            } else {
                format!("known are {}", keys.join(", "))
            };
            self.fault(&node.path(key), "unknown key", &remedy);
        }
    }

    pub(super) fn unique<'u>(&mut self, path: &str, uids: impl Iterator<Item = &'u str>) {
        let mut seen = Vec::new();
        for uid in uids {
            if seen.contains(&uid) {
                self.fault(path, &format!("two entries have the uid `{uid}`"), "give each its own uid");
            }
            seen.push(uid);
        }
    }

    pub(super) fn table(&mut self, node: &Node<'a>, key: &str) -> Node<'a> {
        static EMPTY: std::sync::LazyLock<Table> = std::sync::LazyLock::new(Table::new);
        let path = node.path(key);
        let table = match node.table.get(key) {
            Some(Value::Table(table)) => table,
            Some(other) => {
                self.expected(&path, "a table", &format!("[{path}]"), other);
                &EMPTY
            }
            None => &EMPTY,
        };
        Node { table, path }
    }

    pub(super) fn tables(&mut self, node: &Node<'a>, key: &str) -> Vec<Node<'a>> {
        let path = node.path(key);
        let items = match node.table.get(key) {
            Some(Value::Array(items)) => items.as_slice(),
            Some(other) => {
                self.expected(&path, "a list of tables", &format!("[[{key}]]"), other);
                &[]
            }
            None => &[],
        };
        let mut nodes = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let path = format!("{path}[{i}]");
            match item {
                Value::Table(table) => nodes.push(Node { table, path }),
                other => self.expected(&path, "a table", &format!("[[{key}]]"), other),
            }
        }
        nodes
    }

    pub(super) fn text(&mut self, node: &Node<'_>, key: &str) -> Option<String> {
        match node.table.get(key)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.expected(&node.path(key), "text", &format!("{key} = \"...\""), other);
                None
            }
        }
    }

    /// A value that may be text because it comes from the environment.
    pub(super) fn environment_text<'v>(&self, path: &str, value: &'v Value) -> Option<&'v str> {
        self.sources.contains_key(path).then(|| value.as_str())?
    }

    pub(super) fn boolean(&mut self, node: &Node<'_>, key: &str) -> Option<bool> {
        let path = node.path(key);
        let value = node.table.get(key)?;
        match (value, self.environment_text(&path, value)) {
            (Value::Boolean(b), _) => Some(*b),
            (_, Some("true" | "1")) => Some(true),
            (_, Some("false" | "0")) => Some(false),
            (other, _) => {
                self.expected(&path, "true or false", &format!("{key} = true"), other);
                None
            }
        }
    }

    pub(super) fn number(&mut self, node: &Node<'_>, key: &str) -> Option<u64> {
        let path = node.path(key);
        let value = node.table.get(key)?;
        let number = match (value, self.environment_text(&path, value)) {
            (Value::Integer(n), _) => u64::try_from(*n).ok(),
            (_, Some(text)) => text.trim().parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.expected(&path, "a whole number of at least 0", &format!("{key} = 100"), value);
        }
        number
    }

    pub(super) fn duration(&mut self, node: &Node<'_>, key: &str, default: Duration) -> Duration {
        let Some(value) = node.table.get(key) else { return default };
        let parsed = value.as_str().and_then(parse_duration);
        if parsed.is_none() {
            let example = format!("{key} = \"{}\" (units are ms, s, m and h)", print_duration(default));
            self.expected(&node.path(key), "a duration", &example, value);
        }
        parsed.unwrap_or(default)
    }

    pub(super) fn list(&mut self, node: &Node<'_>, key: &str) -> Vec<String> {
        let path = node.path(key);
        let Some(value) = node.table.get(key) else { return Vec::new() };
        if let Some(text) = self.environment_text(&path, value) {
            return text.split(',').map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect();
        }
        let texts = value.as_array().and_then(|items| {
            items.iter().map(|i| i.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        });
        if texts.is_none() {
            self.expected(&path, "a list of texts", &format!("{key} = [\"...\"]"), value);
        }
        texts.unwrap_or_default()
    }

    pub(super) fn secret(&mut self, node: &Node<'_>, key: &str) -> Option<Secret> {
        let text = self.text(node, key)?;
        self.resolve(&node.path(key), &text)
    }

    /// A literal, or `env:NAME`.
    pub(super) fn resolve(&mut self, path: &str, text: &str) -> Option<Secret> {
        let value = match text.strip_prefix("env:") {
            Some(name) => self.env.get(name).map_or("", String::as_str),
            None => text,
        };
        if !value.is_empty() {
            return Some(Secret::new(value));
        }
        match text.strip_prefix("env:") {
            Some(name) => {
                self.fault(
                    path,
                    &format!("the environment has no {name}"),
                    "set it, or write the value itself",
                );
            }
            None => self.fault(path, "empty", "write the value, or \"env:NAME\", or leave the key out"),
        }
        None
    }
}

/// What encloses a path, from the inside out: `apps[1]` and `apps` of `apps[1].uid`.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices(['.', '[']).filter_map(|(at, _)| path.get(..at))
}

/// How many characters must be added, removed or changed to get from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, cb) in row.iter_mut().skip(1).zip(b.chars()) {
            let here = (diagonal + usize::from(ca != cb)).min(left + 1).min(*cell + 1);
            diagonal = *cell;
            *cell = here;
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in
            [("", "", 0), ("listen", "listen", 0), ("lisen", "listen", 1), ("abc", "xyz", 3), ("a", "", 1)]
        {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
    }
}
