//! `cargo xtask test`: the stages, in order.
//!
//! Clippy, tests and documentation all see the whole workspace, so that cargo resolves one
//! set of features and compiles every dependency once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::settings::Settings;
use crate::shell::Shell;
use crate::suite::{Kind, Stage};
use crate::tools::{node, with};
use crate::{build, setup, size};

/// All stages.
pub(crate) const STAGES: &[Stage] = &[
    check("setup", |shell, _| setup::install(shell)),
    check("fmt", |shell, _| shell.run(shell.cargo(&["fmt", "--all", "--check"]))),
    check("build", |shell, settings| build::build(shell, settings, false).map(|made| made.report(shell))),
    check("clippy, native", |shell, _| {
        shell.run(shell.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    }),
    check("clippy, wasm32", clippy_wasm),
    tests("tests, native", |shell, _| shell.run(shell.cargo(&["test", "--workspace", "--no-fail-fast"]))),
    tests("tests of the core, wasm32", core_on_wasm),
    tests("tests of the SDK, Chromium", sdk_in_chromium),
    tests("browser tests", |shell, _| node_tests(shell, "tests/browser")),
    tests("main paths in three engines", |shell, _| node_tests(shell, "tests/engines")),
    tests("end-to-end tests", |shell, _| node_tests(shell, "tests/e2e")),
    tests("packaging", |shell, _| node_tests(shell, "tests/packaging")),
    check("size", size::check),
    check("doc", |shell, _| {
        let mut command = shell.cargo(&["doc", "--workspace", "--no-deps"]);
        command.env("RUSTDOCFLAGS", "-D warnings");
        shell.run(command)
    }),
];

pub(crate) const fn check(name: &'static str, run: fn(&Shell, &Settings) -> Result<()>) -> Stage {
    Stage { name, kind: Kind::Check, run }
}

pub(crate) const fn tests(name: &'static str, run: fn(&Shell, &Settings) -> Result<()>) -> Stage {
    Stage { name, kind: Kind::Tests, run }
}

fn clippy_wasm(shell: &Shell, settings: &Settings) -> Result<()> {
    let packages = ["--package", &settings.build.package, "--package", "mindset-core", "--all-targets"];
    shell.run(with(on_wasm(shell, settings, "clippy", &packages), &["--", "-D", "warnings"]))
}

fn core_on_wasm(shell: &Shell, settings: &Settings) -> Result<()> {
    node(shell)?;
    let packages = ["--package", "mindset-core", "--package", "mindset-conformance"];
    let test = on_wasm(shell, settings, "test", &packages);
    shell.run(with(test, &["--lib", "--tests", "--no-fail-fast"]))
}

fn sdk_in_chromium(shell: &Shell, settings: &Settings) -> Result<()> {
    let driver = setup::chromedriver()
        .context("chromedriver is missing: install it beside Chromium, or set CHROMEDRIVER to its program")?;
    let packages = ["--package", settings.build.package.as_str()];
    let mut test = on_wasm(shell, settings, "test", &packages);
    test.args(["--lib", "--tests", "--no-fail-fast"]);
    // The first start of a browser on a busy machine takes longer than the runner's 20 s.
    test.env("CHROMEDRIVER", driver).env("WASM_BINDGEN_TEST_TIMEOUT", "90");
    test.env_remove("GECKODRIVER").env_remove("SAFARIDRIVER").env_remove("NO_HEADLESS");
    shell.run(test)
}

/// A cargo command for the wasm target, with this program as the tests' runner.
fn on_wasm(shell: &Shell, settings: &Settings, subcommand: &str, args: &[&str]) -> Command {
    with(shell.cargo(&[subcommand, "--target", &settings.build.target]), args)
}

/// Runs all `*.test.mjs` of a folder, one file at a time: each starts a browser and
/// servers of its own.
fn node_tests(shell: &Shell, folder: &str) -> Result<()> {
    node(shell)?;
    let files = test_files(&shell.path(folder))?;
    if files.is_empty() {
        bail!("{folder} holds no *.test.mjs");
    }
    // Node counts a whole file as a test: the longest takes minutes on a busy machine.
    shell.run(with_node(shell, &files, Duration::from_secs(600)))
}

/// Node's test runner with these files; a file, and a test that does not say otherwise, may take `limit`.
pub(crate) fn with_node(shell: &Shell, files: &[PathBuf], limit: Duration) -> Command {
    let mut command = shell.command("node");
    command.args(["--test", "--test-reporter=spec", "--test-concurrency=1"]);
    command.arg(format!("--test-timeout={}", limit.as_millis()));
    if let Some(chromium) = setup::chromium() {
        command.env("CHROMIUM", chromium);
    }
    command.args(files);
    command
}

fn test_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    files.sort();
    Ok(files)
}
