//! `cargo xtask soak`: the long, seeded versions of the tests.
//!
//! Tests that draw random cases read `MINDSET_SEED` and, when `MINDSET_SOAK` is set, go
//! on for much longer. The seed is printed, so that a failure can be repeated.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::shell::Shell;

/// Runs all native tests in their long form, with a given or a fresh seed.
pub(crate) fn soak(shell: &Shell, seed: Option<u64>) -> Result<()> {
    let seed = match seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64,
    };
    shell.say(&format!("seed {seed}; repeat with `cargo xtask soak --seed {seed}`"));
    let mut command = shell.cargo(&["test", "--workspace", "--no-fail-fast"]);
    command.env("MINDSET_SOAK", "1").env("MINDSET_SEED", seed.to_string());
    shell.run(command).with_context(|| format!("repeat with `cargo xtask soak --seed {seed}`"))
}
