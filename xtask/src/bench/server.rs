//! `cargo xtask bench server`: thousands of open event streams against the runtime, and beside
//! it, in the same run and on the same schedule, against two servers of Node.
//!
//! The runtime writes every event to its log before it sends it and checks a token of each
//! stream's own user; the peers do neither. Server and client share the machine.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::process::{self, Usage};
use super::table::{self, Measured};
use crate::build;
use crate::settings::Settings;
use crate::shell::Shell;
use crate::tools::with;

/// The SDK that most chat routes in JavaScript are written with.
const AI: &str = "ai@7.0.173";

/// Files beside one per stream that a program keeps open.
const SPARE: u64 = 200;

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often memory is looked at.
const SAMPLE: Duration = Duration::from_millis(100);

/// What is asked of every server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    pub(super) streams: u64,
    pub(super) events: u64,
    /// Milliseconds between two events of a stream.
    pub(super) pace: u64,
    /// Milliseconds over which the streams are opened.
    pub(super) ramp: u64,
}

const WHOLE: Schedule = Schedule { streams: 5_000, events: 20, pace: 1_000, ramp: 10_000 };
const SMALL: Schedule = Schedule { streams: 1_000, events: 20, pace: 500, ramp: 2_000 };

/// A server under test.
#[derive(Debug)]
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints all ratios; an event that is lost, doubled or out of its order is an error.
pub(crate) fn bench(shell: &Shell, settings: &Settings, small: bool) -> Result<()> {
    let schedule = if small { SMALL } else { WHOLE };
    let limit = shell.capture(with(shell.command("sh"), &["-c", "ulimit -Hn"]))?;
    if limit.trim().parse().is_ok_and(|most: u64| most < schedule.streams + SPARE) {
        bail!(
            "this needs {} open files in one program, and the limit is {}: raise it (`ulimit -Hn`), or take --small",
            schedule.streams + SPARE,
            limit.trim()
        );
    }
    let runtime = build::build(shell, settings, true)?.runtime.context("the build made no runtime")?;
    shell.run(shell.cargo(&["build", "--quiet", "--package", "load", "--profile", "server"]))?;
    let folder = shell.path("target/bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let plain = peer(shell, &folder, "plain-server.mjs")?;
    super::install(shell, &folder, AI, "node_modules/ai/package.json")?;
    let ai = peer(shell, &folder, "ai-server.mjs")?;

    shell.say(&table::head(schedule));
    let mut all = Vec::new();
    for (name, kind) in [("mindset-runtime", "mindset"), ("plain Node SSE", "plain"), (AI, "ai")] {
        let server = match kind {
            "mindset" => ours(shell, &runtime, &folder, schedule)?,
            "plain" => theirs(shell, &plain)?,
            _ => theirs(shell, &ai)?,
        };
        let measured = load(shell, schedule, kind, &server)?;
        shell.say(&table::row(name, schedule, &measured));
        all.push((name, measured));
    }
    let Some(((_, ours), peers)) = all.split_first() else { bail!("nothing was measured") };
    for (name, peer) in peers {
        shell.say(&table::ratios(name, schedule, ours, peer));
    }
    if ours.streams != schedule.streams || ours.events != schedule.streams * schedule.events {
        bail!("not every event arrived once and in its order: see above");
    }
    Ok(())
}

/// Peers stand beside their packages, or they would not find them.
fn peer(shell: &Shell, folder: &Path, name: &str) -> Result<std::path::PathBuf> {
    let (source, place) = (shell.path("xtask/src/bench").join(name), folder.join(name));
    fs::copy(&source, &place).with_context(|| format!("cannot copy {}", source.display()))?;
    Ok(place)
}

/// A command that may open as many files as the system allows.
fn unlimited(shell: &Shell, program: &Path) -> Command {
    let mut command = shell.command("sh");
    command.args(["-c", "ulimit -n $(ulimit -Hn); exec \"$@\"", "sh"]).arg(program);
    command
}

fn ours(shell: &Shell, runtime: &Path, folder: &Path, schedule: Schedule) -> Result<Server> {
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    for end in ["", "-wal", "-shm"] {
        // Not there the first time.
        let _ = fs::remove_file(folder.join(format!("server.db{end}")));
    }
    let file = folder.join("server.toml");
    fs::write(&file, config(port, &folder.join("server.db"), schedule))?;
    let mut command = unlimited(shell, runtime);
    command.arg("--config").arg(&file).stdout(Stdio::null());
    let server = Server { child: command.spawn().context("the runtime does not start")?, port };
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > until {
            bail!("the runtime does not listen: see above what it says");
        }
        std::thread::sleep(SAMPLE);
    }
    Ok(server)
}

fn config(port: u16, database: &Path, schedule: Schedule) -> String {
    format!(
        r#"[server]
listen = "127.0.0.1:{port}"
database = "{}"
log = "warn"

[models.paced]
provider = "demo"
delay = "{}ms"

[[apps]]
uid = "load"
api_keys = ["{KEY}"]

[[apps.agents]]
uid = "load"
name = "Load"
instructions = "Say what you see."
model = "paced"
"#,
        database.display(),
        schedule.pace,
    )
}

const KEY: &str = "key-of-the-load-app";

fn theirs(shell: &Shell, script: &Path) -> Result<Server> {
    let mut command = shell.command("node");
    command.arg(script).env("NODE_ENV", "production").stdout(Stdio::piped());
    let mut child = command.spawn().context("a peer does not start")?;
    let said = child.stdout.take().context("a peer has no output")?;
    let mut server = Server { child, port: 0 };
    server.port = BufReader::new(said)
        .lines()
        .next()
        .context("a peer says no port")??
        .trim()
        .parse()
        .with_context(|| format!("{} printed no port", script.display()))?;
    Ok(server)
}

/// Runs the client against a server.
fn load(shell: &Shell, schedule: Schedule, kind: &str, server: &Server) -> Result<Measured> {
    let Schedule { streams, events, pace, ramp } = schedule;
    let (port, key) = (server.port, if kind == "mindset" { KEY } else { "" });
    let plan = format!(
        r#"{{"kind":"{kind}","address":"127.0.0.1:{port}","streams":{streams},"events":{events},"pace":{pace},"ramp":{ramp},"key":"{key}","app":"load","agent":"load"}}"#
    );
    let mut command = unlimited(shell, &shell.path("target/server/load"));
    command.arg(plan).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = command.spawn().context("the client does not start")?;
    let measured = watch(&mut client, server);
    if measured.is_err() {
        // It may have ended by itself.
        let _ = client.kill();
    }
    let status = client.wait()?;
    let measured = measured?;
    if !status.success() {
        bail!("the client failed ({status}): see above");
    }
    Ok(measured)
}

fn watch(client: &mut Child, server: &Server) -> Result<Measured> {
    let (id, target) = (client.id(), server.child.id());
    let mut input: ChildStdin = client.stdin.take().context("the client takes no input")?;
    let output: ChildStdout = client.stdout.take().context("the client has no output")?;
    let mut lines = BufReader::new(output).lines();
    if lines.next().transpose()?.as_deref() != Some("ready") {
        bail!("the client did not become ready: see above");
    }
    let before = (process::usage(target), process::usage(id));
    let done = AtomicBool::new(false);
    let (text, most) = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut most = (Usage::default(), Usage::default());
            while !done.load(Ordering::Relaxed) {
                most = (most.0.max(process::usage(target)), most.1.max(process::usage(id)));
                std::thread::sleep(SAMPLE);
            }
            most
        });
        let text = writeln!(input)
            .map_err(anyhow::Error::from)
            .and_then(|()| Ok(lines.collect::<std::io::Result<Vec<_>>>()?));
        done.store(true, Ordering::Relaxed);
        (text, sampler.join().unwrap_or_default())
    });
    Measured::read(&text?, before, most)
}
