//! The tools the build calls: found, or installed where that needs no asking, or named
//! in one sentence with the remedy.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::shell::Shell;

/// The oldest Node.js that runs the build and the tests.
const NODE_MAJOR: u32 = 20;

/// The first file on PATH by one of these names.
pub(crate) fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file()))
}

/// A tool installed by npm, if it is there.
pub(crate) fn npm_tool(shell: &Shell, name: &str) -> Option<PathBuf> {
    Some(shell.path("node_modules/.bin").join(name)).filter(|tool| tool.exists())
}

/// Makes sure that the compiler knows the wasm target.
pub(crate) fn wasm_target(shell: &Shell, target: &str) -> Result<()> {
    let sysroot = shell.capture(with(shell.command("rustc"), &["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(target).is_dir() {
        return Ok(());
    }
    if on_path(&["rustup"]).is_none() {
        bail!(
            "the Rust target {target} is missing and rustup is not on PATH to add it: install Rust with rustup (https://rustup.rs), or add the target the way your Rust was installed"
        );
    }
    shell
        .run(with(shell.command("rustup"), &["target", "add", target]))
        .with_context(|| format!("the Rust target {target} is missing: run `rustup target add {target}`"))
}

/// Makes sure that Node.js is there and new enough.
pub(crate) fn node(shell: &Shell) -> Result<()> {
    let remedy = format!(
        "install Node.js {NODE_MAJOR} or later with npm (https://nodejs.org, or your system's `nodejs` and `npm` packages) and run this again"
    );
    for tool in ["node", "npm"] {
        if on_path(&[tool]).is_none() {
            bail!("{tool} is not on PATH: {remedy}");
        }
    }
    let version = shell.capture(with(shell.command("node"), &["--version"]))?;
    let major =
        version.trim().trim_start_matches('v').split('.').next().and_then(|text| text.parse::<u32>().ok());
    if major.is_none_or(|major| major < NODE_MAJOR) {
        bail!("node is {}, too old: {remedy}", version.trim());
    }
    Ok(())
}

/// Installs the npm packages when they are missing or older than the lock file.
pub(crate) fn npm_packages(shell: &Shell) -> Result<()> {
    node(shell)?;
    let installed = modified(&shell.path("node_modules/.package-lock.json"));
    let locked = modified(&shell.path("package-lock.json"));
    if installed.is_some() && installed >= locked {
        return Ok(());
    }
    shell.say("installing npm packages");
    let args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
    shell
        .run(with(shell.command("npm"), &args))
        .context("the npm packages could not be installed: see what npm says, and check the network or the npm registry setting")
}

/// When a file was last written.
pub(crate) fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|meta| meta.modified()).ok()
}

/// `command` with `args`.
pub(crate) fn with(mut command: std::process::Command, args: &[&str]) -> std::process::Command {
    command.args(args);
    command
}
