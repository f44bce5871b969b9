//! Values from the environment, laid over the file's.
//!
//! `MINDSET__SERVER__LISTEN` is `server.listen`. An entry of `apps`, `agents`,
//! `contexts` or `mcp_servers` is named by its uid (`MINDSET__APPS__DEMO__API_KEYS`; case does not
//! matter and `-` is written `_`) or by its place, counted from 0. A uid that is not there
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
        let mut setting = Setting { variable: name, text, sources: &mut sources };
        if let Err(problem) = setting.in_table(tree, &segments, String::new()) {
            faults.push(Fault {
                source: "environment".into(),
                path: name.clone(),
                problem,
                remedy: "write it as MINDSET__SERVER__LISTEN or MINDSET__APPS__MYAPP__API_KEYS, an entry also by its place as in MINDSET__APPS__0__API_KEYS".into(),
            });
        }
    }
    sources
}

/// One variable on its way to its place.
struct Setting<'a> {
    variable: &'a str,
    text: &'a str,
    sources: &'a mut Sources,
}

impl Setting<'_> {
    fn in_table(&mut self, table: &mut Table, segments: &[String], path: String) -> Result<(), String> {
        let (first, rest) = segments.split_first().ok_or("names no key")?;
        if first.is_empty() {
            return Err("has an empty part between its underscores".into());
        }
        let known = only_one(table.keys().filter(|k| same(k, first)).map(String::as_str))?;
        let key = known.unwrap_or(first).to_owned();
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if rest.is_empty() {
            table.insert(key, Value::String(self.text.to_owned()));
            self.sources.insert(path, self.variable.to_owned());
            return Ok(());
        }
        let is_list = matches!(key.as_str(), "apps" | "agents" | "contexts" | "mcp_servers" | "services");
        let empty = if is_list { Value::Array(Vec::new()) } else { Value::Table(Table::new()) };
        if !is_list && !table.contains_key(&key) {
            self.sources.insert(path.clone(), self.variable.to_owned());
        }
        match table.entry(key).or_insert(empty) {
            Value::Table(inner) => self.in_table(inner, rest, path),
            Value::Array(items) => self.in_list(items, rest, &path),
            _ => Err(format!("`{path}` is a single value and has nothing inside")),
        }
    }

    fn in_list(&mut self, items: &mut Vec<Value>, segments: &[String], path: &str) -> Result<(), String> {
        let (name, rest) = segments.split_first().ok_or("names no entry")?;
        if rest.is_empty() {
            return Err(format!("names an entry of `{path}` but no key of it"));
        }
        let uid = |item: &Value| item.get("uid").and_then(Value::as_str).map(str::to_owned);
        let uids: Vec<String> = items.iter().filter_map(uid).filter(|u| same(u, name)).collect();
        let known = only_one(uids.iter().map(String::as_str))?;
        let by_uid = known.and_then(|known| items.iter().position(|i| uid(i).as_deref() == Some(known)));
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
                let at = items.len() - 1;
                self.sources.insert(format!("{path}[{at}]"), self.variable.to_owned());
                at
            }
        };
        match items.get_mut(at) {
            Some(Value::Table(entry)) => self.in_table(entry, rest, format!("{path}[{at}]")),
            _ => Err(format!("`{path}[{at}]` is not a table")),
        }
    }
}

/// The only one of the names that fit; two different ones are a fault.
fn only_one<'n>(mut names: impl Iterator<Item = &'n str>) -> Result<Option<&'n str>, String> {
    let Some(first) = names.next() else { return Ok(None) };
    match names.find(|other| *other != first) {
        Some(other) => Err(format!("fits both `{first}` and `{other}`")),
        None => Ok(Some(first)),
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
            [
                "apps[0].allow_no_origin",
                "apps[1].origins",
                "apps[2]",
                "apps[2].agents[0]",
                "apps[2].agents[0].name",
                "server",
                "server.listen"
            ]
        );
        assert_eq!(tree["apps"][2]["uid"].as_str(), Some("new"));
    }

    #[test]
    fn a_name_that_fits_two_is_a_fault() {
        let (_, sources, faults) = overlaid(
            "[[apps]]\nuid = 'a-b'\n[[apps]]\nuid = 'a_b'\n[models.X]\n[models.x]",
            &[("MINDSET__APPS__A_B__ORIGINS", "loopback"), ("MINDSET__MODELS__X__MODEL", "m")],
        );
        let problems: Vec<&str> = faults.iter().map(|f| f.problem.as_str()).collect();
        assert_eq!(problems, ["fits both `a-b` and `a_b`", "fits both `X` and `x`"]);
        assert!(sources.is_empty());
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
