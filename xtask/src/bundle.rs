//! JavaScript bundles: the classic script for pages, and for npm the module and the CommonJS
//! file, of pages and of Node. All of them carry the loader, the element's shell and the glue.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::settings::Settings;
use crate::shell::Shell;
use crate::tools::npm_tool;

/// What the bundles are told at build time.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    /// The glue module, as `mindset-glue`.
    pub(crate) glue: &'a Path,
    /// File name of the wasm, as `__WASM_FILE__`.
    pub(crate) wasm_file: &'a str,
}

/// Bundle: source, esbuild format, file name.
const BUNDLES: [(&str, &str, &str); 5] = [
    ("src/element/classic.js", "iife", "mindset-agent.js"),
    ("src/element/module.js", "esm", "mindset-agent.mjs"),
    ("src/element/module.js", "cjs", "mindset-agent.cjs"),
    ("src/element/node.js", "esm", "mindset-agent-node.mjs"),
    ("src/element/node.js", "cjs", "mindset-agent-node.cjs"),
];

/// Makes all bundles below `target/bundle/`.
pub(crate) fn bundle(shell: &Shell, settings: &Settings, facts: &Facts<'_>) -> Result<Vec<PathBuf>> {
    let esbuild = npm_tool(shell, "esbuild").context("esbuild is missing: run `npm ci`")?;
    let sheet = style_sheet(shell, &esbuild, settings)?;
    let mut made = Vec::new();
    for (source, format, name) in BUNDLES {
        if !shell.path(source).is_file() {
            bail!("{source} is missing: restore it, it is the start of dist/{name}");
        }
        let out = shell.path("target/bundle").join(name);
        let mut command = shell.command(&esbuild);
        command.arg(source).args(["--bundle", "--minify", "--charset=utf8", "--log-level=warning"]);
        command.arg(format!("--format={format}")).arg(format!("--target={}", settings.build.javascript));
        command.arg(format!("--alias:mindset-glue={}", facts.glue.display()));
        command.arg(format!("--alias:mindset-theme={}", sheet.display())).arg("--loader:.css=text");
        command.arg(format!("--define:__WASM_FILE__=\"{}\"", facts.wasm_file));
        command.arg(format!("--define:__VERSION__=\"{}\"", env!("CARGO_PKG_VERSION")));
        if format == "cjs" {
            // CommonJS has no import.meta; the loader looks before it uses the address.
            command.arg("--log-override:empty-import-meta=silent");
        }
        command.arg("--external:node:*").arg(format!("--outfile={}", out.display()));
        shell.run(command)?;
        made.push(out);
    }
    Ok(made)
}

/// The style sheet without its white space; the bundles carry it as a text.
fn style_sheet(shell: &Shell, esbuild: &Path, settings: &Settings) -> Result<PathBuf> {
    let out = shell.path("target/bundle/theme.css");
    let mut command = shell.command(esbuild);
    command.arg("src/dom/theme.css").args(["--minify", "--charset=utf8", "--log-level=warning"]);
    command.arg(format!("--target={},chrome111,safari16.4", settings.build.javascript));
    command.arg(format!("--outfile={}", out.display()));
    shell.run(command)?;
    Ok(out)
}
