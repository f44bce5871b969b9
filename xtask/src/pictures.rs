//! `cargo xtask screenshots`: what the panel looks like, for people.

use anyhow::Result;

use crate::settings::Settings;
use crate::shell::Shell;
use crate::{build, setup};

/// Takes the pictures of all states, or of those with `only` in their name, which leaves the
/// documentation's as they are.
pub(crate) fn take(shell: &Shell, settings: &Settings, only: Option<&str>) -> Result<()> {
    setup::install(shell)?;
    build::sdk(shell, settings)?;
    let mut command = shell.command("node");
    command.arg(shell.path("tests/pictures/take.mjs")).args(only);
    if let Some(chromium) = setup::chromium() {
        command.env("CHROMIUM", chromium);
    }
    shell.run(command)
}
