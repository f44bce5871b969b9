//! `cargo xtask bench`: ratios against peers, taken in the same run on the same machine.
//! Absolute times say more about the machine than about the code, so none is asserted.

mod process;
mod server;
mod start;
mod stream;
mod table;

pub(crate) use server::bench as server;
pub(crate) use start::bench as start;
pub(crate) use stream::bench as stream;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::artifacts::{compress, size_of};
use crate::build;
use crate::settings::Settings;
use crate::shell::Shell;
use crate::tools::with;

/// The chat element that most pages load today, and the file they load.
const PEER: &str = "deep-chat@2.4.2";
const PEER_FILE: &str = "node_modules/deep-chat/dist/deepChat.bundle.js";

/// Text deltas in the measured stream.
const DELTAS: usize = 10_000;

/// Prints all ratios.
pub(crate) fn bench(shell: &Shell, settings: &Settings) -> Result<()> {
    let folder = shell.path("target/bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    bytes(shell, settings, &folder)?;
    throughput(shell, &folder)
}

fn bytes(shell: &Shell, settings: &Settings, folder: &Path) -> Result<()> {
    let made = build::sdk(shell, settings)?;
    let ours: u64 = [&made.script, &made.wasm].iter().map(|file| size_of(&with_end(file, "br"))).sum();

    install(shell, folder, PEER, PEER_FILE)?;
    let peer = folder.join(PEER_FILE);
    let copy = folder.join("peer.js");
    fs::copy(&peer, &copy).with_context(|| format!("cannot read {}", peer.display()))?;
    compress(shell, std::slice::from_ref(&copy))?;
    let theirs = size_of(&with_end(&copy, "br"));
    shell.say(&format!(
        "bytes a page loads, brotli 11:     {ours} here, {theirs} {PEER}: {}",
        ratio(ours, theirs)
    ));
    Ok(())
}

/// Installs a peer, known by one of its files, into the folder of the measurements.
fn install(shell: &Shell, folder: &Path, package: &str, file: &str) -> Result<()> {
    if folder.join(file).is_file() {
        return Ok(());
    }
    // Saved, so that the next peer does not take this one away.
    let args = ["install", "--save", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"];
    let mut install = with(shell.command("npm"), &args);
    install.arg(folder).arg(package);
    shell.run(install).context("the peer could not be installed: check the network")
}

fn throughput(shell: &Shell, folder: &Path) -> Result<()> {
    let stream = folder.join("stream.sse");
    fs::write(&stream, text_stream())?;

    let mut core = shell.cargo(&["run", "--quiet", "--profile", "server", "--package", "throughput", "--"]);
    core.arg(&stream);
    let (events, ours) = measured(&shell.capture(core)?)?;
    let mut client = shell.command("node");
    client.arg(shell.path("xtask/src/bench/ag-ui-reader.mjs")).arg(&stream);
    let (their_events, theirs) = measured(&shell.capture(client)?)?;
    if events != their_events {
        bail!("the two readers disagree: {events} events here, {their_events} in @ag-ui/client");
    }
    shell.say(&format!(
        "reading {events} events, ns each:   {ours} here (native), {theirs} @ag-ui/client (Node): {}",
        ratio(ours, theirs)
    ));
    Ok(())
}

/// A long answer as a runtime streams it: one small delta per event.
fn text_stream() -> String {
    let ids = r#""threadId":"t-1","runId":"r-1""#;
    let mut text = format!("data: {{\"type\":\"RUN_STARTED\",{ids}}}\n\n");
    text.push_str("data: {\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m-1\",\"role\":\"assistant\"}\n\n");
    let words =
        ["Hello", " there", ", how", " are", " you", " \\\"today\\\"", "?\\n", " Grüße", " 你好", " 🙂"];
    for word in words.iter().cycle().take(DELTAS) {
        text.push_str("data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m-1\",\"delta\":\"");
        text.push_str(word);
        text.push_str("\"}\n\n");
    }
    text.push_str("data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m-1\"}\n\n");
    text.push_str(&format!("data: {{\"type\":\"RUN_FINISHED\",{ids}}}\n\n"));
    text
}

/// `events nanoseconds`, as both programs print it.
fn measured(line: &str) -> Result<(u64, u64)> {
    let mut numbers = line.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(events)), Some(Ok(nanoseconds))) => Ok((events, nanoseconds)),
        _ => bail!("a measurement printed no numbers: {}", line.trim()),
    }
}

fn with_end(file: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}.{end}", file.display()))
}

/// How many times smaller or faster we are, to two digits.
fn ratio(ours: u64, theirs: u64) -> String {
    let hundredths = theirs * 100 / ours.max(1);
    format!("{}.{:02} x", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_and_measurements() {
        assert_eq!(ratio(50, 125), "2.50 x");
        assert_eq!(ratio(200, 10), "0.05 x");
        assert_eq!(measured("10002 512\n").unwrap(), (10_002, 512));
        assert!(measured("oops").is_err());
    }
}
