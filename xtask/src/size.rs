//! `cargo xtask size`: what a page loads, against the budget, and what each crate costs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::artifacts::size_of;
use crate::build::{self, Made};
use crate::names;
use crate::settings::Settings;
use crate::shell::Shell;

/// Crates below this share of the code are summed up, in per mille.
const SMALL: u64 = 5;

/// Builds the SDK and reports its size.
pub(crate) fn check(shell: &Shell, settings: &Settings) -> Result<()> {
    let made = build::sdk(shell, settings)?;
    let total = report_files(shell, &made);
    report_crates(shell, &made.named)?;
    let budget = &settings.budget;
    shell.say(&format!(
        "summary: a page loads {total} bytes brotli; the target is {}, the limit {}",
        budget.target, budget.limit
    ));
    if total > budget.limit {
        bail!("{} bytes over the limit: see above which crates cost most", total - budget.limit);
    }
    if total > budget.target {
        shell.say(&format!("warning: {} bytes over the target", total - budget.target));
    }
    Ok(())
}

/// Brotli bytes of everything a page loads.
fn report_files(shell: &Shell, made: &Made) -> u64 {
    shell
        .say(&format!("{:<36} {:>9} {:>9} {:>9}", "what a page loads, bytes", "raw", "gzip -9", "brotli 11"));
    let mut sums = [0; 3];
    for file in [&made.script, &made.wasm] {
        let sizes = [size_of(file), size_of(&beside(file, "gz")), size_of(&beside(file, "br"))];
        sums.iter_mut().zip(sizes).for_each(|(sum, size)| *sum += size);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        shell.say(&row(&name, &sizes));
    }
    shell.say(&row("together", &sums));
    let [_, _, brotli] = sums;
    brotli
}

fn row(name: &str, sizes: &[u64]) -> String {
    sizes.iter().fold(format!("{name:<36}"), |line, size| format!("{line} {size:>9}"))
}

fn beside(file: &Path, form: &str) -> PathBuf {
    PathBuf::from(format!("{}.{form}", file.display()))
}

fn report_crates(shell: &Shell, named: &Path) -> Result<()> {
    let wasm = fs::read(named).with_context(|| format!("cannot read {}", named.display()))?;
    let costs = names::cost_by_crate(&wasm)?;
    let total: u64 = costs.iter().map(|cost| cost.bytes).sum();
    shell.say(&format!("\n{:<36} {:>9} {:>9}", "what each crate costs, raw bytes", "bytes", "share"));
    let mut small = 0;
    for cost in &costs {
        if cost.bytes * 1000 < total * SMALL {
            small += cost.bytes;
            continue;
        }
        shell.say(&share(&cost.name, cost.bytes, total));
    }
    shell.say(&share("(all smaller ones)", small, total));
    shell.say("before wasm-opt, which takes names away and some code with them\n");
    Ok(())
}

fn share(name: &str, bytes: u64, total: u64) -> String {
    let per_mille = bytes * 1000 / total.max(1);
    format!("{name:<36} {bytes:>9} {:>7}.{}%", per_mille / 10, per_mille % 10)
}
