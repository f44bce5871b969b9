//! Values from the environment, laid over the file's.
//!
//! `MINDSET__SERVER__LISTEN` is `server.listen`. An entry of `apps` or `agents`
//! is named by its uid (`MINDSET__APPS__DEMO__API_KEYS`; case does not matter and
//! `-` is written `_`) or by its place, counted from 0. A uid that is not there
//! adds an entry. An empty variable counts as not set.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::read::Fault;

/// The process environment, as the configuration sees it.
pub type Environment = BTreeMap<String, String>;

const PREFIX: &str = "MINDSET__";

/// Which variable a value came from, by its path.
pub(super) type Sources = BTreeMap<String, String>;

pub(super) fn overlay(tree: &mut Table, env: &Environment, faults: &mut Vec<Fault>) -> Sources {
    let mut sources = Sources::new();
    for (name, text) in env {
        let Some(rest) = name.strip_prefix(PREFIX).filter(|_| !text.is_empty()) else { continue };
        let segments: Vec<String> = rest.split("__").map(str::to_ascii_lowercase).collect();
        match set_in_table(tree, &segments, String::new(), text) {
            Ok(path) => {
                sources.insert(path, name.clone());
            }
            Err(problem) => faults.push(Fault {
                source: "environment".into(),
                path: name.clone(),
                problem,
                remedy: "write it as MINDSET__SERVER__LISTEN or MINDSET__APPS__MYAPP__API_KEYS".into(),
            }),
        }
    }
    sources
}

fn set_in_table(table: &mut Table, segments: &[String], path: String, text: &str) -> Result<String, String> {
    let (first, rest) = segments.split_first().ok_or("names no key")?;
    if first.is_empty() {
        return Err("has an empty part between its underscores".into());
    }
    let key = table.keys().find(|k| same(k, first)).unwrap_or(first).clone();
    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
    if rest.is_empty() {
        table.insert(key, Value::String(text.to_owned()));
        return Ok(path);
    }
    let is_list = matches!(key.as_str(), "apps" | "agents");
    let empty = if is_list { Value::Array(Vec::new()) } else { Value::Table(Table::new()) };
    match table.entry(key).or_insert(empty) {
        Value::Table(inner) => set_in_table(inner, rest, path, text),
        Value::Array(items) => set_in_list(items, rest, &path, text),
        _ => Err(format!("`{path}` is a single value and has nothing inside")),
    }
}

fn set_in_list(
    items: &mut Vec<Value>,
    segments: &[String],
    path: &str,
    text: &str,
) -> Result<String, String> {
    let (name, rest) = segments.split_first().ok_or("names no entry")?;
    if rest.is_empty() {
        return Err(format!("names an entry of `{path}` but no key of it"));
    }
    let by_uid =
        items.iter().position(|i| i.get("uid").and_then(Value::as_str).is_some_and(|u| same(u, name)));
    let at = match (by_uid, name.parse::<usize>()) {
        (Some(at), _) => at,
        (None, Ok(at)) if at < items.len() => at,
        (None, Ok(at)) if at > items.len() => {
            return Err(format!("`{path}` has {} entries, so entry {at} is out of reach", items.len()));
        }
        (None, number) => {
            let mut entry = Table::new();
            if number.is_err() {
                entry.insert("uid".into(), Value::String(name.clone()));
            }
            items.push(Value::Table(entry));
            items.len() - 1
        }
    };
    match items.get_mut(at) {
        Some(Value::Table(entry)) => set_in_table(entry, rest, format!("{path}[{at}]"), text),
        _ => Err(format!("`{path}[{at}]` is not a table")),
    }
}

fn same(key: &str, segment: &str) -> bool {
    key.len() == segment.len()
        && key
            .bytes()
            .zip(segment.bytes())
            .all(|(a, b)| a.eq_ignore_ascii_case(&b) || (a == b'-' && b == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlaid(file: &str, vars: &[(&str, &str)]) -> (Table, Sources, Vec<Fault>) {
        let mut tree: Table = file.parse().unwrap();
        let env = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut faults = Vec::new();
        let sources = overlay(&mut tree, &env, &mut faults);
        (tree, sources, faults)
    }

    #[test]
    fn by_uid_by_place_and_new() {
        let (tree, sources, faults) = overlaid(
            "[[apps]]\nuid = 'my-shop'\n[[apps]]\nuid = 'b'",
            &[
                ("MINDSET__APPS__MY_SHOP__ALLOW_NO_ORIGIN", "true"),
                ("MINDSET__APPS__1__ORIGINS", "loopback"),
                ("MINDSET__APPS__NEW__AGENTS__HELP__NAME", "Help"),
                ("MINDSET__SERVER__LISTEN", "x"),
                ("MINDSET__SERVER__DATABASE", ""),
                ("OTHER", "x"),
            ],
        );
        assert!(faults.is_empty());
        let paths: Vec<&str> = sources.keys().map(String::as_str).collect();
        assert_eq!(
            paths,
            ["apps[0].allow_no_origin", "apps[1].origins", "apps[2].agents[0].name", "server.listen"]
        );
        assert_eq!(tree["apps"][2]["uid"].as_str(), Some("new"));
    }

    #[test]
    fn what_cannot_be_placed_is_a_fault() {
        let (_, _, faults) = overlaid(
            "[server]\nlisten = 'a'",
            &[
                ("MINDSET__", "x"),
                ("MINDSET__SERVER__LISTEN__PORT", "x"),
                ("MINDSET__APPS__DEMO", "x"),
                ("MINDSET__APPS__7__UID", "x"),
            ],
        );
        assert_eq!(faults.len(), 4, "{faults:?}");
    }
}
