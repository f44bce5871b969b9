//! `cargo xtask build`: the SDK into `dist/`, then the runtime, which embeds it.

use std::fs;
use std::path::PathBuf;

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
    /// The wasm with its names, before the optimiser.
    pub(crate) named: PathBuf,
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

    let wasm =
        fs::read(&bindings.wasm).with_context(|| format!("cannot read {}", bindings.wasm.display()))?;
    // The name changes with the content, so servers and browsers may keep it for ever.
    let hash = sha256_hex(&wasm);
    let wasm_file = format!("mindset-agent-{}.wasm", hash.get(..16).unwrap_or(&hash));
    let bundles = bundle::bundle(shell, settings, &Facts { glue: &bindings.glue, wasm_file: &wasm_file })?;

    let mut dist = Dist::open(shell)?;
    dist.put_served(&wasm_file, &wasm)?;
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
        named: bindings.named,
        runtime: None,
    })
}

impl Made {
    /// Says what was made, with sizes.
    pub(crate) fn report(&self, shell: &Shell) {
        for file in [&self.script, &self.wasm] {
            let compressed = |form: &str| size_of(&PathBuf::from(format!("{}.{form}", file.display())));
            let (raw, br) = (size_of(file), compressed("br"));
            shell.say(&format!("{:<44} {raw:>9} bytes, {br:>7} brotli", self.shown(shell, file)));
        }
        if let Some(runtime) = &self.runtime {
            shell.say(&format!("{:<44} {:>9} bytes", self.shown(shell, runtime), size_of(runtime)));
        }
    }

    fn shown(&self, shell: &Shell, file: &std::path::Path) -> String {
        file.strip_prefix(shell.root()).unwrap_or(file).display().to_string()
    }
}
