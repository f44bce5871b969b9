//! `wasm-pack.toml`: how the wasm is built and what it may weigh.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// All of `wasm-pack.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) build: Build,
    pub(crate) optimiser: Optimiser,
    pub(crate) split: Split,
    pub(crate) budget: Budget,
}

/// What is compiled, and for whom.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    /// Package of the SDK.
    pub(crate) package: String,
    /// Target triple.
    pub(crate) target: String,
    /// Oldest JavaScript of the bundles, as esbuild names it.
    pub(crate) javascript: String,
}

/// Flags of `wasm-opt`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Optimiser {
    pub(crate) flags: Vec<String>,
}

/// Which functions a page loads later, by their paths. A path stands for everything that
/// begins with it, and `a::{b, c}` for `a::b` and `a::c`; types of generics and brackets do
/// not count.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Split {
    /// What goes into the later part.
    pub(crate) later: Vec<String>,
    /// What does not, of that.
    pub(crate) first: Vec<String>,
}

impl Split {
    /// Whether a function, by its demangled name, goes into the later part.
    pub(crate) fn is_later(&self, name: &str) -> bool {
        let path = name.replace(['<', '>'], "");
        let names = |paths: &[String]| paths.iter().any(|entry| begins(&path, entry));
        names(&self.later) && !names(&self.first)
    }
}

/// Whether a path begins with an entry of the settings, at whole words.
fn begins(path: &str, entry: &str) -> bool {
    let is = |start: &str, middle: &str, end: &str| {
        let rest = path.strip_prefix(start).and_then(|rest| rest.strip_prefix(middle)?.strip_prefix(end));
        rest.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    match entry.split_once('{').and_then(|(start, rest)| Some((start, rest.split_once('}')?))) {
        Some((start, (list, end))) => list.split(',').any(|middle| is(start, middle.trim(), end)),
        None => is(entry, "", ""),
    }
}

/// Brotli bytes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// Above it there is a warning: everything a page loads first.
    pub(crate) target: u64,
    /// Above it `cargo xtask size` fails.
    pub(crate) limit: u64,
    /// The limit of each part that is loaded later, by its name or the first word of that.
    pub(crate) parts: BTreeMap<String, u64>,
}

impl Budget {
    /// The limit of a part; `None` if nobody gave it one.
    pub(crate) fn of_part(&self, name: &str) -> Option<u64> {
        let family = name.split_once('-').map_or(name, |(family, _)| family);
        self.parts.get(name).or_else(|| self.parts.get(family)).copied()
    }
}

impl Settings {
    /// Reads the file in `root`.
    pub(crate) fn read(root: &Path) -> Result<Settings> {
        let path = root.join("wasm-pack.toml");
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).context("wasm-pack.toml does not fit what xtask expects of it")
    }
}

#[cfg(test)]
mod tests {
    use super::Split;

    #[test]
    fn functions_are_found_by_their_paths() {
        let split = Split {
            later: vec!["core_of::session".into(), "core_of::json::{write, read}".into()],
            first: vec!["core_of::session::Session::{post,\n  open}".into()],
        };
        for (name, is_later) in [
            ("<core_of::session::Session>::close", true),
            ("<core_of::session::Session>::post", false),
            ("<core_of::session::Session>::post_again", true),
            ("<core_of::session::Session>::open::{closure#0}", false),
            ("<core_of::session::Turn as core::clone::Clone>::clone", true),
            ("core_of::sessions::all", false),
            ("core_of::json::write", true),
            ("core_of::json::parse", false),
            ("<alloc::vec::Vec<core_of::session::Turn>>::push", false),
        ] {
            assert_eq!(split.is_later(name), is_later, "{name}");
        }
    }
}
