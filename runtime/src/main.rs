//! `mindset-runtime`: reads the configuration and serves.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use mindset_runtime::config::{self, Config, Environment, LogFormat, OperationsListener};
use mindset_runtime::{App, Operations};
use tokio::net::TcpListener;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

const HELP: &str = "\
mindset-runtime: the agent runtime of mindset-agent

Usage: mindset-runtime [--config FILE] [--check-config] [--dev]

  --config FILE    the configuration, `mindset.toml` unless named
  --check-config   print the merged configuration, secrets given as their length,
                   or everything that is wrong with it, and stop
  --dev            keep in memory what models and tools were told of late, for the page
                   that shows it; on loopback addresses only
  --version        print the version and stop
  --help           print this and stop

Every value of the configuration can also be set by environment, for example
MINDSET__SERVER__LISTEN=127.0.0.1:9000. runtime/mindset.example.toml explains all.
";

/// What the command line asks for.
struct Options {
    config: PathBuf,
    check: bool,
    dev: bool,
}

fn main() -> ExitCode {
    let options = match options(std::env::args_os().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => return ExitCode::SUCCESS,
        Err(problem) => return fail(&problem),
    };
    let env: Environment = std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
        .collect();
    let mut config = match config::load(&options.config, &env) {
        Ok(config) => config,
        Err(faults) => {
            let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
            return fail(&lines.join("\n"));
        }
    };
    if options.check {
        print!("{}", config.to_toml());
        return ExitCode::SUCCESS;
    }
    if options.dev && !config.server.listen.ip().is_loopback() {
        return fail(&format!(
            "--dev shows what models were told, so it works on this computer only, not on {}. \
             Leave it out, or set server.listen to 127.0.0.1.",
            config.server.listen
        ));
    }
    config.dev = options.dev;
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("The system gives no threads ({error}). Close other programs.")),
    };
    match runtime.block_on(serve(config, env)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => fail(&problem),
    }
}

fn fail(problem: &str) -> ExitCode {
    eprintln!("{problem}");
    ExitCode::FAILURE
}

/// `None`: answered already.
fn options(mut args: impl Iterator<Item = std::ffi::OsString>) -> Result<Option<Options>, String> {
    let mut options = Options { config: "mindset.toml".into(), check: false, dev: false };
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--config") => {
                options.config = args.next().ok_or("--config needs a file name after it.")?.into();
            }
            Some("--check-config") => options.check = true,
            Some("--dev") => options.dev = true,
            Some("--version" | "-V") => {
                println!("mindset-runtime {}", env!("CARGO_PKG_VERSION"));
                return Ok(None);
            }
            Some("--help" | "-h") => {
                print!("{HELP}");
                return Ok(None);
            }
            _ => return Err(format!("Unknown argument {}. Run --help to see all.", arg.display())),
        }
    }
    Ok(Some(options))
}

/// Our own code logs at the level of the configuration, others' only what is wrong: what
/// they would tell beyond that could hold headers and bodies.
fn log_to_stderr(config: &Config) {
    let level = config.server.log;
    let others = level.filter().min(LevelFilter::WARN);
    let own = ["mindset_runtime", "mindset_core"].map(|target| (target, level.filter()));
    // The MCP client quotes what servers say, also in warnings.
    let silent = [("rmcp", LevelFilter::OFF)];
    let targets = Targets::new().with_default(others).with_targets(own).with_targets(silent);
    let lines = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .with_max_level(LevelFilter::TRACE);
    match config.server.log_format {
        LogFormat::Text => lines.finish().with(targets).init(),
        LogFormat::Json => {
            lines.json().flatten_event(true).with_span_list(false).finish().with(targets).init();
        }
    }
}

async fn serve(config: Config, env: Environment) -> Result<(), String> {
    log_to_stderr(&config);
    let address = config.server.listen;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let remedy = "End the other program or choose another port with MINDSET__SERVER__LISTEN.";
        match error.kind() {
            std::io::ErrorKind::AddrInUse => format!("{address} is taken by another program. {remedy}"),
            kind => format!(
                "Cannot listen on {address} ({kind}). Choose another address with MINDSET__SERVER__LISTEN."
            ),
        }
    })?;
    let bound = listener.local_addr().unwrap_or(address);
    let operations = operations(config.server.operations).await?;
    let app = App::start(config, &env).await.map_err(|e| e.0)?;
    let stop =
        stop_signal().map_err(|error| format!("The system gives no signals ({error}). Start it again."))?;
    operations.started(&app);
    tracing::info!("listening on http://{bound}");
    let served = app.serve(listener, stop).await;
    served.map_err(|error| format!("The server stopped ({error}). Start it again."))
}

/// Answers operators from now on: also before the application has started.
async fn operations(listener: OperationsListener) -> Result<Operations, String> {
    let operations = Operations::new();
    let usual = OperationsListener::USUAL.to_owned();
    let (address, other) = match listener {
        OperationsListener::Off => return Ok(operations),
        OperationsListener::Usual => (usual, Some("127.0.0.1:0")),
        OperationsListener::At(address) => (address.to_string(), None),
    };
    let bound = match (TcpListener::bind(&address).await, other) {
        (Err(_), Some(other)) => TcpListener::bind(other).await,
        (bound, _) => bound,
    };
    let bound = bound.map_err(|error| {
        format!(
            "Operators cannot be answered on {address} ({}). Choose another address with \
             MINDSET__SERVER__OPERATIONS, or \"off\".",
            error.kind()
        )
    })?;
    if let Ok(address) = bound.local_addr() {
        tracing::info!("operations on http://{address}");
    }
    let serving = operations.clone();
    tokio::spawn(async move {
        if let Err(error) = serving.serve(bound).await {
            tracing::error!(%error, "operators are answered no more");
        }
    });
    Ok(operations)
}

/// Ready at Ctrl-C or when the system asks to stop; listens from this call on.
#[cfg(unix)]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping");
    })
}

/// Ready at Ctrl-C.
#[cfg(not(unix))]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without a way to listen nothing asks to stop.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        tracing::info!("stopping");
    })
}
