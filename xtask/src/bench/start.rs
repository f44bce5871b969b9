//! `cargo xtask bench start`: how soon a text that a person has typed reaches the server, beside
//! other chat elements in the same browser, at full and at a quarter of the CPU's speed.

use std::fs;

use anyhow::{Context, Result, bail};

use super::{PEER, PEER_FILE, install, ratio};
use crate::build;
use crate::settings::Settings;
use crate::shell::Shell;

/// The lightest ready-made chat element, and a file of it.
const LIGHT: &str = "@cloudflare/ai-search-snippet@0.0.42";
const LIGHT_FILE: &str = "node_modules/@cloudflare/ai-search-snippet/package.json";

/// How often each is measured at each speed.
const RUNS: &str = "15";

/// Prints medians and ratios; to be later than a peer is an error.
pub(crate) fn bench(shell: &Shell, settings: &Settings) -> Result<()> {
    build::sdk(shell, settings)?;
    let folder = shell.path("target/bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    install(shell, &folder, PEER, PEER_FILE)?;
    install(shell, &folder, LIGHT, LIGHT_FILE)?;

    let mut command = shell.command("node");
    command.arg(shell.path("xtask/src/bench/start.mjs")).arg(shell.path("dist"));
    command.arg(folder.join("node_modules")).arg(RUNS);
    let printed = shell.capture(command)?;
    let mut late = Vec::new();
    for speed in printed.lines().map(read).collect::<Result<Vec<_>>>()?.chunk_by(|a, b| a.slower == b.slower)
    {
        let Some((ours, peers)) = speed.split_first() else { continue };
        shell.say(&format!(
            "typed text at the server, CPU 1/{}: {} ms here",
            ours.slower,
            ours.micros / 1000
        ));
        for peer in peers {
            let times = ratio(ours.micros, peer.micros);
            shell.say(&format!("{:>42} ms {}: {times}", peer.micros / 1000, peer.name));
            if peer.micros <= ours.micros {
                late.push(format!("{} at 1/{}", peer.name, peer.slower));
            }
        }
    }
    if !late.is_empty() {
        bail!(
            "typed text arrives later than with {}: if the machine was busy, measure again",
            late.join(", ")
        );
    }
    Ok(())
}

/// The median of one element at one speed.
#[derive(Debug, PartialEq)]
struct Median<'a> {
    name: &'a str,
    /// By how much the CPU is slowed down.
    slower: u64,
    micros: u64,
}

/// `name slower micros`, as the measurement prints it.
fn read(line: &str) -> Result<Median<'_>> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    match (words.next().map(str::parse), words.next().map(str::parse)) {
        (Some(Ok(slower)), Some(Ok(micros))) => Ok(Median { name, slower, micros }),
        _ => bail!("a measurement printed no numbers: {line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Median, read};

    #[test]
    fn what_is_printed_is_read() {
        assert_eq!(
            read("deep-chat 4 81234").unwrap(),
            Median { name: "deep-chat", slower: 4, micros: 81_234 }
        );
        assert!(read("deep-chat 4").is_err());
    }
}
