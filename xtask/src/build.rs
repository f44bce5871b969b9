//! `cargo xtask build`: the SDK into `dist/`, then the runtime, which embeds it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::artifacts::{Dist, sha256_hex, size_of};
use crate::bindings;
use crate::bundle::{self, Facts};
use crate::settings::Settings;
use crate::shell::Shell;
use crate::tools;

/// What a build made.
#[derive(Debug)]
pub(crate) struct Made {
    /// The classic script.
    pub(crate) script: PathBuf,
    /// The wasm it loads.
    pub(crate) wasm: PathBuf,
    /// What it loads later, each by its name: the later part of the wasm, and chunks of the script.
    pub(crate) parts: Vec<(String, PathBuf)>,
    /// Both parts of the wasm with their names, before the optimiser.
    pub(crate) named: [PathBuf; 2],
    /// The runtime's program.
    pub(crate) runtime: Option<PathBuf>,
}

/// Builds the SDK and the runtime.
pub(crate) fn build(shell: &Shell, settings: &Settings, release: bool) -> Result<Made> {
    let mut made = sdk(shell, settings)?;
    let profile = if release { "server" } else { "dev" };
    // The whole workspace is named so that features resolve as for clippy and the tests.
    shell.run(shell.cargo(&["build", "--workspace", "--bin", "mindset-runtime", "--profile", profile]))?;
    let folder = if release { "server" } else { "debug" };
    made.runtime = Some(shell.path("target").join(folder).join("mindset-runtime"));
    Ok(made)
}

/// Builds the SDK only.
pub(crate) fn sdk(shell: &Shell, settings: &Settings) -> Result<Made> {
    tools::wasm_target(shell, &settings.build.target)?;
    tools::npm_packages(shell)?;
    let bindings = bindings::generate(shell, settings)?;

    // The names change with the content, so servers and browsers may keep them for ever.
    let (wasm_file, wasm) = hashed("mindset-agent", &bindings.first)?;
    let (later_file, later) = hashed("mindset-later", &bindings.later)?;
    let facts = Facts { glue: &bindings.glue, wasm_file: &wasm_file, later_file: &later_file };
    let bundles = bundle::bundle(shell, settings, &facts)?;

    let mut dist = Dist::open(shell)?;
    dist.put_served(&wasm_file, &wasm)?;
    dist.put_served(&later_file, &later)?;
    for bundle in &bundles {
        let name = bundle.file_name().context("a bundle has a name")?.to_string_lossy();
        let content = fs::read(bundle)?;
        if name.contains("-node.") { dist.put(&name, &content)? } else { dist.put_served(&name, &content)? }
    }
    let types =
        fs::read(shell.path("src/element/types.d.ts")).context("cannot read src/element/types.d.ts")?;
    dist.put("mindset-agent.d.ts", &types)?;
    dist.put("mindset-agent.d.mts", &types)?;
    dist.finish(shell)?;

    let folder = shell.path("dist");
    Ok(Made {
        script: folder.join("mindset-agent.js"),
        wasm: folder.join(wasm_file),
        parts: lazy(&folder, &later_file, &bundles),
        named: bindings.named,
        runtime: None,
    })
}

/// A file and the name it gets in `dist/`.
fn hashed(name: &str, file: &Path) -> Result<(String, Vec<u8>)> {
    let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let hash = sha256_hex(&content);
    Ok((format!("{name}-{}.wasm", hash.get(..16).unwrap_or(&hash)), content))
}

/// The parts that a page may load later, by name.
fn lazy(folder: &Path, later: &str, bundles: &[PathBuf]) -> Vec<(String, PathBuf)> {
    let mut parts = vec![("later".to_string(), folder.join(later))];
    for file in bundles.iter().filter_map(|bundle| bundle.file_name()) {
        let text = file.to_string_lossy();
        if let Some((name, _)) = bundle::chunk_name(&text) {
            parts.push((name.to_string(), folder.join(file)));
        }
    }
    parts
}

impl Made {
    /// Says what was made, with sizes.
    pub(crate) fn report(&self, shell: &Shell) {
        let parts = self.parts.iter().map(|(_, file)| file);
        for file in [&self.script, &self.wasm].into_iter().chain(parts) {
            let compressed = |form: &str| size_of(&PathBuf::from(format!("{}.{form}", file.display())));
            let (raw, br) = (size_of(file), compressed("br"));
            shell.say(&format!("{:<44} {raw:>9} bytes, {br:>7} brotli", self.shown(shell, file)));
        }
        if let Some(runtime) = &self.runtime {
            shell.say(&format!("{:<44} {:>9} bytes", self.shown(shell, runtime), size_of(runtime)));
        }
    }

    fn shown(&self, shell: &Shell, file: &Path) -> String {
        file.strip_prefix(shell.root()).unwrap_or(file).display().to_string()
    }
}
