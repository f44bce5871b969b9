//! `cargo xtask demo`: the runtime with the demo configuration and the demo's own
//! backend on the port after it, until Ctrl-C. `cargo xtask demo board`: with that of
//! `examples/board`, whose backend is a service of the runtime.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::build;
use crate::settings::Settings;
use crate::shell::Shell;

/// Where the demo listens unless `--port` says otherwise.
pub(crate) const PORT: u16 = 8787;

/// How long the runtime may take until it answers.
const START: Duration = Duration::from_secs(30);
/// How long it may take to end on request, before it is ended the hard way.
const END: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The HR dashboard.
    People,
    /// The board of `examples/board`.
    Board,
}

impl Stage {
    /// The one that the command line names.
    pub(crate) fn named(name: Option<&str>) -> Result<Stage> {
        match name {
            None => Ok(Stage::People),
            Some("board") => Ok(Stage::Board),
            Some(other) => bail!("there is no demo `{other}`; `cargo xtask help` lists them"),
        }
    }
}

/// Builds, starts, says where, waits. Returns when the user ends it.
pub(crate) fn demo(shell: &Shell, settings: &Settings, stage: Stage, port: u16, release: bool) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let backend = SocketAddr::from((Ipv4Addr::LOCALHOST, port.checked_add(1).context("--port is too high")?));
    // Before the build: minutes later nobody looks any more.
    free(address)?;
    free(backend)?;
    let program = build::build(shell, settings, release)?.runtime.context("the build made a runtime")?;
    let data = shell.path(if stage == Stage::Board { "target/demo/board" } else { "target/demo" });
    fs::create_dir_all(&data).with_context(|| format!("cannot make {}", data.display()))?;

    // From here on a signal ends the runtime first and this program after it.
    let ending = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ending))?;
    }
    let mut hr = match stage {
        Stage::People => Some(start_backend(shell, backend, address)?),
        // The runtime starts it.
        Stage::Board => None,
    };
    let mut command = command(shell, &program, stage, [address, backend]);
    command.env("MINDSET__SERVER__DATABASE", data.join("mindset.db"));
    let runtime = command.spawn().with_context(|| format!("cannot start {}", program.display()));
    let served = runtime.and_then(|mut runtime| {
        let served = serve(shell, &mut runtime, stage, address, &ending);
        served.and(end(shell, &mut runtime))
    });
    served.and(hr.as_mut().map_or(Ok(()), |hr| end(shell, hr)))?;
    shell.say("\nended");
    Ok(())
}

/// The demo's application: the HR dashboard, its sessions and its MCP server.
fn start_backend(shell: &Shell, own: SocketAddr, runtime: SocketAddr) -> Result<Child> {
    let mut command = shell.command("node");
    command.arg("demo/hr-server.mjs").arg(own.port().to_string()).arg(format!("http://{runtime}"));
    command.spawn().context("cannot start demo/hr-server.mjs with node")
}

fn free(address: SocketAddr) -> Result<()> {
    match TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AddrInUse => bail!(
            "port {} is in use, perhaps by another demo: end that one, or use another port with `cargo xtask demo --port {}`",
            address.port(),
            address.port().saturating_add(1)
        ),
        Err(error) => bail!("cannot listen on {address}: {error}; choose another port with `--port`"),
    }
}

/// The runtime, as the stage needs it.
fn command(shell: &Shell, program: &Path, stage: Stage, ports: [SocketAddr; 2]) -> Command {
    let [address, backend] = ports;
    let mut command = shell.command(program);
    command.env("MINDSET__SERVER__LISTEN", address.to_string());
    command.env_remove("CARGO_TARGET_DIR");
    match stage {
        Stage::People => {
            command.args(["--config", "www/mindset.toml", "--dev"]);
            command.env("MINDSET__APPS__DEMO__MCP_SERVERS__HR__URL", format!("http://{backend}/mcp"));
            let handbook = format!("http://{backend}/handbook/");
            command.env("MINDSET__APPS__DEMO__CONTEXTS__HANDBOOK__BASE_URL", handbook);
        }
        Stage::Board => {
            command.args(["--config", "examples/board/mindset.toml"]);
            let service = format!("node,server.mjs,http://{address}");
            command.env("MINDSET__APPS__BOARD__SERVICES__BOARD__COMMAND", service);
            command.env("MINDSET__APPS__BOARD__SERVICES__BOARD__PORT", backend.port().to_string());
        }
    }
    command
}

/// Waits until the runtime answers, says so, then waits for its or the user's end.
fn serve(
    shell: &Shell,
    runtime: &mut Child,
    stage: Stage,
    address: SocketAddr,
    ending: &AtomicBool,
) -> Result<()> {
    let started = Instant::now();
    let mut ready = false;
    while !ending.load(Ordering::Relaxed) {
        if let Some(status) = runtime.try_wait()? {
            // Ctrl-C reaches it as well, and it may be the faster one.
            sleep(PAUSE);
            if ending.load(Ordering::Relaxed) {
                return Ok(());
            }
            bail!("the runtime ended by itself ({status}): see above what it said");
        }
        if !ready && healthy(address) {
            ready = true;
            announce(shell, stage, address);
        }
        if !ready && started.elapsed() > START {
            bail!("the runtime did not answer http://{address}/healthz within {} s", START.as_secs());
        }
        sleep(PAUSE);
    }
    Ok(())
}

/// Ends a program and waits for it.
fn end(shell: &Shell, program: &mut Child) -> Result<()> {
    if program.try_wait()?.is_some() {
        return Ok(());
    }
    let mut ask = shell.command("kill");
    ask.args(["-TERM", &program.id().to_string()]);
    // It may have ended meanwhile; what counts is the wait below.
    drop(shell.capture(ask));
    let asked = Instant::now();
    while program.try_wait()?.is_none() {
        if asked.elapsed() > END {
            program.kill()?;
            program.wait()?;
            bail!("a program of the demo did not end within {} s and was killed", END.as_secs());
        }
        sleep(PAUSE);
    }
    Ok(())
}

fn healthy(address: SocketAddr) -> bool {
    let answer = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut line = [0; 12];
        stream.read_exact(&mut line)?;
        Ok(line == *b"HTTP/1.1 200")
    };
    answer().unwrap_or(false)
}

fn announce(shell: &Shell, stage: Stage, address: SocketAddr) {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let dashboard = SocketAddr::new(address.ip(), address.port().saturating_add(1));
    if stage == Stage::Board {
        shell.say(&format!("\nThe board:      http://{dashboard}/"));
    } else {
        shell.say(&format!("\nThe dashboard:  http://{dashboard}/"));
        shell.say(&format!("Events, plain:  http://{address}/"));
    }
    shell.say(&format!("The model:      {}", model(&set)));
    shell.say("Ctrl-C ends it.\n");
}

/// Which model answers; the same choice as the runtime's `model = "auto"`.
fn model(set: &dyn Fn(&str) -> Option<String>) -> String {
    let provider = [("ANTHROPIC", "Anthropic"), ("OPENAI", "OpenAI-compatible")]
        .into_iter()
        .find(|(prefix, _)| set(&format!("{prefix}_API_KEY")).is_some());
    let Some((prefix, name)) = provider else {
        return "the built-in demo model: simple rules, not AI. \
                Set OPENAI_API_KEY (and OPENAI_BASE_URL) or ANTHROPIC_API_KEY for a real one"
            .into();
    };
    let model = set(&format!("{prefix}_MODEL")).unwrap_or_else(|| "the default model".into());
    let server = set(&format!("{prefix}_BASE_URL")).map(|url| format!(" at {url}")).unwrap_or_default();
    format!("{model} ({name}, by {prefix}_API_KEY){server}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_port_is_named_with_the_remedy() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = taken.local_addr().unwrap();
        let said = free(address).unwrap_err().to_string();
        assert!(said.contains(&format!("port {} is in use", address.port())), "{said}");
        assert!(said.contains("--port"), "{said}");
        drop(taken);
        free(address).unwrap();
    }

    #[test]
    fn the_model_is_named_without_its_key() {
        let none = |_: &str| None;
        assert!(model(&none).contains("not AI"));
        let openai = |name: &str| match name {
            "OPENAI_API_KEY" => Some("secret".to_string()),
            "OPENAI_MODEL" => Some("small".to_string()),
            "OPENAI_BASE_URL" => Some("http://127.0.0.1:1/v1".to_string()),
            _ => None,
        };
        assert_eq!(model(&openai), "small (OpenAI-compatible, by OPENAI_API_KEY) at http://127.0.0.1:1/v1");
    }
}
