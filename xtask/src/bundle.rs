//! JavaScript bundles: the classic script for pages, and for npm the module and the CommonJS
//! file, of pages and of Node. All of them carry the loader, the element's shell and the glue.
//! What is loaded at the first need is a chunk, a module of its own beside them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::artifacts::sha256_hex;
use crate::settings::Settings;
use crate::shell::Shell;
use crate::tools::npm_tool;

/// What the bundles are told at build time.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    /// The glue module, as `mindset-glue`.
    pub(crate) glue: &'a Path,
    /// File names of the wasm, as `__WASM_FILE__` and `__LATER_FILE__`.
    pub(crate) wasm_file: &'a str,
    pub(crate) later_file: &'a str,
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
    let sheet = style_sheet(shell, &esbuild, settings, "src/dom/theme.css")?;
    let mut made = chunks(shell, &esbuild, settings)?;
    let chunks = index(shell, &made)?;
    for (source, format, name) in BUNDLES {
        if !shell.path(source).is_file() {
            bail!("{source} is missing: restore it, it is the start of dist/{name}");
        }
        let out = shell.path("target/bundle").join(name);
        let mut command = shell.command(&esbuild);
        command.arg(source).args(["--bundle", "--minify", "--charset=utf8", "--log-level=warning"]);
        command.arg(format!("--format={format}")).arg(format!("--target={}", settings.build.javascript));
        command.arg(format!("--alias:mindset-glue={}", facts.glue.display()));
        command.arg(format!("--alias:mindset-chunks={}", chunks.display())).arg("--external:./mindset-*.mjs");
        command.arg(format!("--alias:mindset-theme={}", sheet.display())).arg("--loader:.css=text");
        command.arg(format!("--define:__WASM_FILE__=\"{}\"", facts.wasm_file));
        command.arg(format!("--define:__LATER_FILE__=\"{}\"", facts.later_file));
        command.arg(format!("--define:__VERSION__=\"{}\"", env!("CARGO_PKG_VERSION")));
        if format == "iife" {
            // Browsers that know it read all functions while the file comes, beside what the page
            // does: most of them run before the first message is sent.
            command.arg("--banner:js=//# allFunctionsCalledOnLoad");
        }
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

/// The chunks of `src/lazy/`, named by their content as servers and browsers keep them for ever.
fn chunks(shell: &Shell, esbuild: &Path, settings: &Settings) -> Result<Vec<PathBuf>> {
    let folder = shell.path("target/bundle/chunks");
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let Ok(entries) = fs::read_dir(shell.path("src/lazy")) else { return Ok(Vec::new()) };
    let mut sources: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    sources.sort();
    for sheet in sources.iter().filter(|source| source.extension().is_some_and(|kind| kind == "css")) {
        style_sheet(shell, esbuild, settings, &sheet.to_string_lossy())?;
    }
    sources.retain(|source| source.extension().is_some_and(|kind| kind == "js"));
    let mut made = Vec::new();
    for source in sources {
        let name = source.file_stem().context("a chunk has a name")?.to_string_lossy();
        let plain = folder.join(format!("{name}.mjs"));
        let mut command = shell.command(esbuild);
        command.arg(&source).args(["--bundle", "--minify", "--charset=utf8", "--log-level=warning"]);
        command.args(["--format=esm", "--loader:.css=text"]);
        command.arg(format!("--alias:mindset-styles={}", shell.path("target/bundle/styles").display()));
        command.arg(format!("--target={}", settings.build.javascript));
        command.arg(format!("--outfile={}", plain.display()));
        shell.run(command)?;
        let hash = sha256_hex(&fs::read(&plain)?);
        let named = folder.join(format!("mindset-{name}-{}.mjs", hash.get(..16).unwrap_or(&hash)));
        fs::rename(&plain, &named)?;
        made.push(named);
    }
    Ok(made)
}

/// A module that says which chunks there are: `files` by their names, for a script that knows
/// its own address, and `own` as imports, which bundlers of pages follow.
fn index(shell: &Shell, chunks: &[PathBuf]) -> Result<PathBuf> {
    let (mut files, mut own) = (String::new(), String::new());
    for chunk in chunks {
        let file = chunk.file_name().context("a chunk has a name")?.to_string_lossy();
        let (name, _) = chunk_name(&file).context("a chunk is named after its source and content")?;
        files.push_str(&format!("  '{name}': '{file}',\n"));
        own.push_str(&format!("  '{name}': () => import('./{file}'),\n"));
    }
    let out = shell.path("target/bundle/chunks.mjs");
    fs::write(&out, format!("export const files = {{\n{files}}};\nexport const own = {{\n{own}}};\n"))?;
    Ok(out)
}

/// Name and hash of a chunk, by its file's name: `mindset-<name>-<hash>.mjs`.
pub(crate) fn chunk_name(file: &str) -> Option<(&str, &str)> {
    let (name, hash) = file.strip_prefix("mindset-")?.strip_suffix(".mjs")?.rsplit_once('-')?;
    (hash.len() == 16).then_some((name, hash))
}

/// A style sheet without its white space; bundles and chunks carry it as a text, a chunk as
/// `mindset-styles/NAME.css`.
fn style_sheet(shell: &Shell, esbuild: &Path, settings: &Settings, source: &str) -> Result<PathBuf> {
    let name = Path::new(source).file_name().context("a style sheet has a name")?;
    let out = shell.path("target/bundle/styles").join(name);
    let mut command = shell.command(esbuild);
    command.arg(source).args(["--minify", "--charset=utf8", "--log-level=warning"]);
    command.arg(format!("--target={},chrome111,safari16.4", settings.build.javascript));
    command.arg(format!("--outfile={}", out.display()));
    shell.run(command)?;
    Ok(out)
}
