//! Runs stages one after the other: all of them, even when one fails. One line each;
//! what a stage's programs said is shown only when it fails, and kept in
//! `target/xtask-logs/`. What failed is said again in short at the end.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::counts::Counts;
use crate::failures::Failures;
use crate::settings::Settings;
use crate::shell::Shell;

/// The longest log shown on the terminal, in lines; the end is what matters.
const SHOWN_LINES: usize = 60;

/// What a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One check that passes or fails.
    Check,
    /// Counts tests from its log. None at all is a failure.
    Tests,
}

/// One stage.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) run: fn(&Shell, &Settings) -> Result<()>,
}

/// Runs all stages, or those with `only` in their name, and prints the sum as the last
/// line.
pub(crate) fn run(
    shell: &Shell,
    settings: &Settings,
    stages: &[Stage],
    only: Option<&str>,
) -> Result<ExitCode> {
    if let Some(text) = only.filter(|text| !stages.iter().any(|stage| stage.name.contains(text))) {
        bail!("no stage has `{text}` in its name");
    }
    let logs = shell.path("target/xtask-logs");
    let started = Instant::now();
    let (mut sum, mut failures) = (Counts::default(), Failures::default());
    for (number, stage) in stages.iter().enumerate() {
        if only.is_some_and(|text| !stage.name.contains(text)) {
            continue;
        }
        let log = logs.join(format!("{:02}-{}.log", number + 1, stage.name.replace([' ', ','], "-")));
        let (counts, failed) = one(shell, settings, stage, &log)?;
        sum.add(counts);
        failures.add(failed);
    }
    println!("{:<34}      {:>7}", "all stages", seconds(started));
    failures.lines().iter().for_each(|line| println!("{line}"));
    Ok(close(sum))
}

/// The last line, and the exit code that fits it.
pub(crate) fn close(sum: Counts) -> ExitCode {
    println!("{} passed, {} failed", sum.passed, sum.failed);
    if sum.failed == 0 && sum.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn one(shell: &Shell, settings: &Settings, stage: &Stage, log: &Path) -> Result<(Counts, Failures)> {
    print!("{:<34}", stage.name);
    std::io::stdout().flush()?;
    let started = Instant::now();
    let logged = shell.logging_to(log)?;
    let ran = (stage.run)(&logged, settings);
    let said = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    let (counts, problem) = judge(stage.kind, &said, ran);

    let word = if counts.failed == 0 { "ok" } else { "FAIL" };
    let mut more = match stage.kind {
        Kind::Tests => format!("   {} passed, {} failed", counts.passed, counts.failed),
        Kind::Check => String::new(),
    };
    if let Some(text) = summary(&said) {
        more.push_str("   ");
        more.push_str(text);
    }
    println!(" {word:<4} {:>7}{more}", seconds(started));
    if counts.failed == 0 {
        return Ok((counts, Failures::default()));
    }
    show(&said, log);
    if let Some(problem) = &problem {
        println!("{problem}");
    }
    Ok((counts, Failures::read(stage.name, &said, problem.as_deref())))
}

/// What a stage wants to be read even when all is well.
fn summary(said: &str) -> Option<&str> {
    said.lines().rev().find_map(|line| line.strip_prefix("summary: "))
}

/// A stage that ended badly has at least one failure, whatever its log says.
fn judge(kind: Kind, said: &str, ran: Result<()>) -> (Counts, Option<String>) {
    let mut counts = match kind {
        Kind::Tests => Counts::read(said),
        Kind::Check => Counts { passed: u32::from(ran.is_ok()), failed: 0 },
    };
    let ran = match ran {
        Ok(()) if kind == Kind::Tests && counts.is_empty() => none_ran(),
        other => other,
    };
    if ran.is_err() {
        counts.failed = counts.failed.max(1);
    }
    (counts, ran.err().map(|error| format!("error: {error:#}")))
}

fn none_ran() -> Result<()> {
    bail!("no test ran, so nothing was tested")
}

fn show(said: &str, log: &Path) {
    let lines: Vec<&str> = said.lines().collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    if from > 0 {
        println!("    … {from} lines before are in {}", log.display());
    }
    for line in lines.iter().skip(from) {
        println!("    {line}");
    }
}

fn seconds(since: Instant) -> String {
    format!("{:.1} s", since.elapsed().as_secs_f32())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_judged_by_its_end_and_its_log() {
        let tests = "test result: ok. 2 passed; 0 failed;";
        let bad = || -> Result<()> { bail!("ended") };
        let cases = [
            (Kind::Check, "", Ok(()), 1, 0),
            (Kind::Check, tests, Ok(()), 1, 0),
            (Kind::Check, "", bad(), 0, 1),
            (Kind::Tests, tests, Ok(()), 2, 0),
            (Kind::Tests, tests, bad(), 2, 1),
            (Kind::Tests, "", Ok(()), 0, 1),
            (Kind::Tests, "test result: FAILED. 1 passed; 3 failed;", bad(), 1, 3),
        ];
        for (kind, said, ran, passed, failed) in cases {
            let (counts, problem) = judge(kind, said, ran);
            assert_eq!(counts, Counts { passed, failed }, "{kind:?} {said}");
            assert_eq!(problem.is_some(), failed > 0, "{kind:?} {said}");
        }
    }
}
