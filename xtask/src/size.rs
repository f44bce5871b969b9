//! `cargo xtask size`: what a page loads, against the budget, and what each crate costs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::artifacts::size_of;
use crate::build::{self, Made};
use crate::names;
use crate::settings::{Budget, Settings};
use crate::shell::Shell;

/// Crates below this share of the code are summed up, in per mille.
const SMALL: u64 = 5;

/// Builds the SDK and reports its size.
pub(crate) fn check(shell: &Shell, settings: &Settings) -> Result<()> {
    let made = build::sdk(shell, settings)?;
    report_crates(shell, &made.named)?;
    let total = report_files(shell, &made);
    let budget = &settings.budget;
    let mut faults = report_parts(shell, &made, budget);
    shell.say(&format!(
        "summary: a page loads {total} bytes brotli first; the target is {}, the limit {}",
        budget.target, budget.limit
    ));
    if total > budget.limit {
        faults.insert(0, format!("a page loads {} bytes over the limit first", total - budget.limit));
    } else if total > budget.target {
        shell.say(&format!("warning: {} bytes over the target", total - budget.target));
    }
    if !faults.is_empty() {
        bail!("{}; see above which crates cost most, and [budget] in wasm-pack.toml", faults.join("; "));
    }
    Ok(())
}

/// Brotli bytes of everything a page loads first.
fn report_files(shell: &Shell, made: &Made) -> u64 {
    shell
        .say(&format!("{:<40} {:>9} {:>9} {:>9}", "what a page loads, bytes", "raw", "gzip -9", "brotli 11"));
    let mut sums = [0; 3];
    for file in [&made.script, &made.wasm] {
        let sizes = forms(file);
        sums.iter_mut().zip(sizes).for_each(|(sum, size)| *sum += size);
        shell.say(&row(&file_name(file), &sizes));
    }
    shell.say(&row("first, together", &sums));
    let [_, _, brotli] = sums;
    brotli
}

/// A line for each part that is loaded later; gives what is wrong with them.
fn report_parts(shell: &Shell, made: &Made, budget: &Budget) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, file) in &made.parts {
        let sizes = forms(file);
        let [_, _, brotli] = sizes;
        let limit = budget.of_part(name);
        let end = limit.map_or_else(|| "no limit".to_string(), |limit| format!("of {limit}"));
        shell.say(&format!("{} {end}", row(&file_name(file), &sizes)));
        match limit {
            Some(limit) if brotli > limit => faults.push(format!("{name} is {} bytes over its limit", brotli - limit)),
            Some(_) => {}
            None => faults.push(format!(
                "{name} has no limit: add `{name} = {}` to [budget.parts] in wasm-pack.toml, with the reason for its size",
                (brotli + brotli / 8).next_multiple_of(256)
            )),
        }
    }
    faults
}

fn forms(file: &Path) -> [u64; 3] {
    [size_of(file), size_of(&beside(file, "gz")), size_of(&beside(file, "br"))]
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn row(name: &str, sizes: &[u64]) -> String {
    sizes.iter().fold(format!("{name:<40}"), |line, size| format!("{line} {size:>9}"))
}

fn beside(file: &Path, form: &str) -> PathBuf {
    PathBuf::from(format!("{}.{form}", file.display()))
}

fn report_crates(shell: &Shell, named: &[PathBuf; 2]) -> Result<()> {
    let mut costs: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (part, file) in named.iter().enumerate() {
        let wasm = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        for cost in names::cost_by_crate(&wasm)? {
            if let Some(sum) = costs.entry(cost.name).or_default().get_mut(part) {
                *sum += cost.bytes;
            }
        }
    }
    let mut costs: Vec<(String, [u64; 2])> = costs.into_iter().collect();
    costs.sort_by_key(|(_, bytes)| std::cmp::Reverse(bytes.iter().sum::<u64>()));
    let total: u64 = costs.iter().flat_map(|(_, bytes)| bytes).sum();
    shell.say(&format!("{:<40} {:>9} {:>9}", "what each crate costs, raw bytes", "first", "later"));
    let mut small = [0; 2];
    for (name, bytes) in costs {
        if bytes.iter().sum::<u64>() * 1000 < total * SMALL {
            small.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
            continue;
        }
        shell.say(&row(&name, &bytes));
    }
    shell.say(&row("(all smaller ones)", &small));
    shell.say("before wasm-opt, which takes names away and some code with them\n");
    Ok(())
}
