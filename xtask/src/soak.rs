//! `cargo xtask soak`: the long, seeded versions of the tests.
//!
//! Tests that draw random cases read `MINDSET_SEED` and, when `MINDSET_SOAK` is set, go
//! on for much longer. The seed is printed, so that a failure can be repeated; where time and
//! threads play a part it repeats what is drawn, not every step.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::settings::Settings;
use crate::shell::Shell;
use crate::{build, setup, stages};

/// Whole turns over bad lines, with the real runtime, the SDK in Node and a browser; random
/// requests of every route; and all hostile texts in every place.
const LONG: [&str; 3] =
    ["tests/e2e/chaos.test.mjs", "tests/e2e/interface.test.mjs", "tests/browser/hostile.test.mjs"];

/// How long one of its tests may take.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Runs all native tests and the long ones of the whole system in their long form, with a given or a fresh seed.
pub(crate) fn soak(shell: &Shell, settings: &Settings, seed: Option<u64>) -> Result<()> {
    let seed = match seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64,
    };
    shell.say(&format!("seed {seed}; repeat with `cargo xtask soak --seed {seed}`"));
    setup::install(shell)?;
    build::build(shell, settings, false)?;
    let native = shell.cargo(&["test", "--workspace", "--no-fail-fast"]);
    let whole = stages::with_node(shell, &LONG.map(|file| shell.path(file)), LIMIT);
    for mut command in [native, whole] {
        command.env("MINDSET_SOAK", "1").env("MINDSET_SEED", seed.to_string());
        shell.run(command).with_context(|| format!("repeat with `cargo xtask soak --seed {seed}`"))?;
    }
    Ok(())
}
