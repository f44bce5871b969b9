//! `cargo xtask soak`: the long, seeded versions of the tests, one line each.
//!
//! Tests that draw random cases read `MINDSET_SEED` and, when `MINDSET_SOAK` is set, go
//! on for much longer. The seed is printed, so that a failure can be repeated; where time and
//! threads play a part it repeats what is drawn, not every step.

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;

use crate::settings::Settings;
use crate::shell::Shell;
use crate::stages::{check, tests, with_node};
use crate::suite::{self, Stage};
use crate::{build, setup};

/// How long one test in Node may take.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Every test that has a long form, and before them what they need.
const STAGES: &[Stage] = &[
    check("setup", |shell, _| setup::install(shell)),
    check("build", |shell, settings| build::build(shell, settings, false).map(|_| ())),
    tests("conversations, bad networks", |shell, _| core(shell, &["soak"])),
    tests("tools and limits", |shell, _| core(shell, &["tool_soak", "turn_limits"])),
    tests("resume and recovery", |shell, _| core(shell, &["attach", "recover"])),
    tests("every byte, cut in every way", |shell, _| core(shell, &["every_byte"])),
    tests("pass-through and taint", |shell, _| core(shell, &["passthrough", "taint"])),
    tests("event streams, JSON", |shell, _| conformance(shell, &["sse", "json"])),
    tests("JSON Schema, against jsonschema", |shell, _| conformance(shell, &["schema_compare"])),
    tests("Markdown, cut in pieces", |shell, _| conformance(shell, &["markdown"])),
    tests("Markdown, against pulldown-cmark", |shell, _| conformance(shell, &["markdown_compare"])),
    tests("whole turns over bad lines", |shell, _| node(shell, "tests/e2e/chaos.test.mjs")),
    tests("random requests of every route", |shell, _| node(shell, "tests/e2e/interface.test.mjs")),
    check("vectors of H5SC", |shell, _| {
        let mut command = shell.command("node");
        command.arg("tests/support/h5sc.mjs");
        shell.run(command)
    }),
    tests("hostile texts in a browser", |shell, _| node(shell, "tests/browser/hostile.test.mjs")),
];

/// Runs all of them, or those with `only` in their name, with a given or a fresh seed.
pub(crate) fn soak(
    shell: &Shell,
    settings: &Settings,
    seed: Option<u64>,
    only: Option<&str>,
) -> Result<ExitCode> {
    let seed = match seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64,
    };
    shell.say(&format!("seed {seed}; repeat with `cargo xtask soak --seed {seed}`"));
    let shell = shell.with_variables(&[("MINDSET_SOAK", "1".into()), ("MINDSET_SEED", seed.to_string())]);
    suite::run(&shell, settings, STAGES, only)
}

fn core(shell: &Shell, names: &[&str]) -> Result<()> {
    native(shell, "mindset-core", names)
}

fn conformance(shell: &Shell, names: &[&str]) -> Result<()> {
    native(shell, "mindset-conformance", names)
}

/// Integration tests of a crate.
fn native(shell: &Shell, package: &str, names: &[&str]) -> Result<()> {
    let mut command = shell.cargo(&["test", "--package", package, "--no-fail-fast"]);
    for name in names {
        command.args(["--test", name]);
    }
    shell.run(command)
}

fn node(shell: &Shell, file: &str) -> Result<()> {
    shell.run(with_node(shell, &[shell.path(file)], LIMIT))
}
