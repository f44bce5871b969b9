//! `wasm-pack.toml`: how the wasm is built and what it may weigh.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// All of `wasm-pack.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) build: Build,
    pub(crate) optimiser: Optimiser,
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

/// Brotli bytes of everything a page loads.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// Above it there is a warning.
    pub(crate) target: u64,
    /// Above it `cargo xtask size` fails.
    pub(crate) limit: u64,
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
