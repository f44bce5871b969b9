//! `cargo xtask bench stream`: a long Markdown answer in small pieces, drawn in Chromium beside a
//! streaming renderer and another chat element; and what 200 elements leave behind.

use std::fs;

use anyhow::{Context, Result, bail};

use super::{PEER, PEER_FILE, install, ratio};
use crate::build;
use crate::settings::Settings;
use crate::shell::Shell;

/// The renderer of streaming Markdown that most use, and a file of it.
const RENDERER: &str = "streaming-markdown@0.2.15";
const RENDERER_FILE: &str = "node_modules/streaming-markdown/smd.js";

/// Prints times, longest tasks, ratios and what stays in memory.
pub(crate) fn bench(shell: &Shell, settings: &Settings) -> Result<()> {
    build::sdk(shell, settings)?;
    let folder = shell.path("target/bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    install(shell, &folder, PEER, PEER_FILE)?;
    install(shell, &folder, RENDERER, RENDERER_FILE)?;

    let mut command = shell.command("node");
    command.arg(shell.path("xtask/src/bench/stream.mjs")).arg(folder.join("node_modules"));
    let printed = shell.capture(command)?;
    let mut ours = None;
    for line in printed.lines() {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>()?;
        match (name, numbers.as_slice()) {
            ("memory", [bytes, nodes, listeners]) => shell.say(&format!(
                "left by 200 elements: {} KiB, {nodes} nodes, {listeners} listeners",
                bytes / 1024
            )),
            (_, [time, longest, characters]) => {
                let first = *ours.get_or_insert(*time);
                shell.say(&format!(
                    "{name:<20}{:>7} ms for {characters} characters, longest task {} ms: {}",
                    time / 1000,
                    longest / 1000,
                    ratio(first, *time)
                ));
            }
            _ => bail!("a measurement printed no numbers: {line}"),
        }
    }
    Ok(())
}
