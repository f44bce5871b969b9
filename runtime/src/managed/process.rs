//! One process of a service: started with a port to listen on, ended with all that it has started.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdin, Command};

use super::lines::Stream;
use crate::config::{Secret, Service};
use crate::mcp::Mask;

/// The pauses between two looks at whether it takes connections: the first and the longest.
const LOOK: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));

/// A process that has started.
pub(super) struct Process {
    child: Child,
    /// Held open for as long as the runtime lives: its end tells the service that nobody needs it.
    _stdin: Option<ChildStdin>,
    group: Option<u32>,
    port: u16,
    listening: bool,
}

/// What a process did.
pub(super) enum Event {
    /// It takes connections.
    Listening,
    /// It is gone.
    Ended(ExitStatus),
}

/// Why a process could not be started.
pub(super) enum NoStart {
    /// The configured port is another program's.
    Taken(u16),
    /// In words, with the remedy behind a `;`.
    Other(String),
}

impl Process {
    /// Starts the service; it proves itself to nobody, the runtime proves itself to it by `token`.
    pub(super) async fn start(service: &Service, token: &Secret, log: &str) -> Result<Process, NoStart> {
        let port = port(service.port).await?;
        let mut command = command(service);
        command.env("PORT", port.to_string());
        command.env("MINDSET_LISTEN", SocketAddr::from((Ipv4Addr::LOCALHOST, port)).to_string());
        command.env("MINDSET_TOKEN", token.expose());
        let mut child =
            command.spawn().map_err(|error| NoStart::Other(not_spawned(service, error.kind())))?;
        let mask = || {
            let own = service.variables.iter().filter(|(name, _)| service.env.contains(name));
            let own = own.map(|(_, value)| value).chain([token]);
            Mask::of(own.map(|value| value.expose().to_owned()).collect())
        };
        let stream = |errors| Stream { service: log.to_owned(), errors, mask: mask() };
        if let Some(out) = child.stdout.take() {
            tokio::spawn(stream(false).follow(out));
        }
        if let Some(err) = child.stderr.take() {
            tokio::spawn(stream(true).follow(err));
        }
        let (stdin, group) = (child.stdin.take(), child.id());
        tracing::info!(service = log, port, process = group, "the service starts");
        Ok(Process { child, _stdin: stdin, group, port, listening: false })
    }

    /// The port that it was given.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// What it does next. Dropped before it is ready, nothing is lost.
    pub(super) async fn event(&mut self) -> Event {
        let listening = async {
            match self.listening {
                true => std::future::pending().await,
                false => listening(self.port).await,
            }
        };
        tokio::select! {
            // First: who answers on the port of a process that is gone is somebody else.
            biased;
            status = self.child.wait() => {
                // What it has started goes with it, or the next one finds its files taken.
                signal(self.group, End::Now);
                match status {
                    Ok(status) => Event::Ended(status),
                    Err(_) => Event::Ended(ExitStatus::default()),
                }
            }
            () = listening => {
                self.listening = true;
                Event::Listening
            }
        }
    }

    /// Asks it to end, and ends it when it has not after `patience`.
    pub(super) async fn end(mut self, patience: Duration) {
        signal(self.group, End::Please);
        // A service may wait for this instead of the signal.
        self._stdin = None;
        if tokio::time::timeout(patience, self.child.wait()).await.is_err() {
            signal(self.group, End::Now);
            let _ = self.child.kill().await;
        }
        signal(self.group, End::Now);
    }
}

fn command(service: &Service) -> Command {
    let (program, arguments) = service.command.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
    // Else it depends on the system whether this is meant from here or from there.
    let local = program.contains('/') && Path::new(program).is_relative();
    let absolute = std::path::absolute(service.directory.join(program)).ok().filter(|_| local);
    let mut command = absolute.map_or_else(|| Command::new(program), Command::new);
    command.args(arguments).current_dir(&service.directory).env_clear();
    command.envs(service.variables.iter().map(|(name, value)| (name, value.expose())));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command
}

/// The configured port if it is free, else one that is. Another program may still be faster.
async fn port(configured: Option<u16>) -> Result<u16, NoStart> {
    let wanted = configured.unwrap_or(0);
    match TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).await {
        Ok(listener) => match listener.local_addr() {
            Ok(address) => Ok(address.port()),
            Err(error) => Err(NoStart::Other(format!("the system gives no port ({})", error.kind()))),
        },
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Err(NoStart::Taken(wanted)),
        Err(error) => Err(NoStart::Other(format!("the system gives no port ({})", error.kind()))),
    }
}

/// Whether somebody has taken the port.
pub(super) async fn is_taken(port: u16) -> bool {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    bound.is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
}

/// Ready when somebody takes connections on the port.
async fn listening(port: u16) {
    let mut pause = LOOK.0;
    loop {
        if let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
            // A connection to a port that nobody listens on may get that very port as its own
            // and so reach itself.
            if stream.local_addr().ok() != stream.peer_addr().ok() {
                return;
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LOOK.1);
    }
}

fn not_spawned(service: &Service, kind: std::io::ErrorKind) -> String {
    let program = service.command.first().map_or("", String::as_str);
    let what = match kind {
        std::io::ErrorKind::NotFound => format!("there is no program `{program}`"),
        std::io::ErrorKind::PermissionDenied => format!("`{program}` may not be run"),
        kind => format!("`{program}` cannot be run ({kind})"),
    };
    format!("cannot be started, {what}; correct its `command`")
}

/// How urgent it is.
#[derive(Clone, Copy)]
enum End {
    Please,
    Now,
}

/// To all processes of a group.
#[cfg(unix)]
fn signal(group: Option<u32>, end: End) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let group = group.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let signal = match end {
        End::Please => Signal::TERM,
        End::Now => Signal::KILL,
    };
    if let Some(group) = group {
        // None is left: as good.
        let _ = kill_process_group(group, signal);
    }
}

/// Elsewhere a process is ended by its handle alone.
#[cfg(not(unix))]
fn signal(_group: Option<u32>, _end: End) {}
