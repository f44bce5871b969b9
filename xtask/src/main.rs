//! `cargo xtask`: everything a newcomer or a machine does with this repository, as one
//! program that needs no tool installed by hand but Rust, Node.js and, for the
//! end-to-end tests, Python.
//!
//! A failure is one sentence that says what happened and what to do next.

mod artifacts;
mod bench;
mod bindings;
mod build;
mod bundle;
mod counts;
mod demo;
mod failures;
mod names;
mod pictures;
mod settings;
mod setup;
mod shell;
mod shorten;
mod size;
mod soak;
mod split;
mod stages;
mod suite;
mod tools;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use counts::Counts;
use settings::Settings;
use shell::Shell;

const HELP: &str = "\
usage: cargo xtask <command>

  build [--release] [--names]
                      the SDK (dist/) and the runtime that serves it; with names in
                      the wasm for stacks that can be read
  demo [board] [--port N] [--release]
                      builds, starts the runtime and says where the demo page is; `board`: that of
                      examples/board
  test [--only TEXT]  every check and every test; installs what they need
                      (or the stages with TEXT in their name)
  soak [--seed N] [--only TEXT]
                      the long versions of the tests
  screenshots [--only TEXT]
                      pictures of the panel, and those of the documentation
  size                bytes of what a page loads, and what each crate costs
  bench               ratios against peers
  bench server [--small]
                      thousands of open event streams, beside servers of Node
  bench stream        a long answer drawn, beside other renderers; what elements leave behind
  bench start         how soon a typed text reaches the server, beside other elements
  test-runner         runs wasm tests; cargo calls it
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(code) => code,
        Err(error) if args.first().is_some_and(|command| command == "test" || command == "soak") => {
            // Whoever reads the last line must find a result in it.
            println!("error: {error:#}");
            suite::close(Counts { passed: 0, failed: 1 })
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<ExitCode> {
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", args),
    };
    if command == "test-runner" {
        // Takes cargo's arguments as they are; its own first argument is a program name.
        wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(args)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (part, rest) = match rest.split_first() {
        Some((part, rest)) if matches!(command, "bench" | "demo") && !part.starts_with('-') => {
            (Some(part.as_str()), rest)
        }
        _ => (None, rest),
    };
    let flags = Flags::parse(rest)?;
    let shell = Shell::new()?;
    let mut settings = Settings::read(shell.root())?;
    if flags.names {
        settings.optimiser.flags.push("--debuginfo".into());
    }
    match command {
        "build" => build::build(&shell, &settings, flags.release).map(|made| made.report(&shell))?,
        "test" => return suite::run(&shell, &settings, stages::STAGES, flags.only.as_deref()),
        "demo" => {
            let stage = demo::Stage::named(part)?;
            demo::demo(&shell, &settings, stage, flags.port.unwrap_or(demo::PORT), flags.release)?;
        }
        "soak" => return soak::soak(&shell, &settings, flags.seed, flags.only.as_deref()),
        "bench" => match part {
            None => bench::bench(&shell, &settings)?,
            Some("server") => bench::server(&shell, &settings, flags.small)?,
            Some("start") => bench::start(&shell, &settings)?,
            Some("stream") => bench::stream(&shell, &settings)?,
            Some(other) => bail!("there is no measurement `{other}`; `cargo xtask help` lists them"),
        },
        "screenshots" => pictures::take(&shell, &settings, flags.only.as_deref())?,
        "size" => size::check(&shell, &settings)?,
        "help" | "--help" | "-h" => print!("{HELP}"),
        other => bail!("there is no command `{other}`\n\n{HELP}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// The options of all commands.
#[derive(Debug, Default)]
struct Flags {
    release: bool,
    names: bool,
    small: bool,
    only: Option<String>,
    port: Option<u16>,
    seed: Option<u64>,
}

impl Flags {
    fn parse(args: &[String]) -> Result<Flags> {
        let mut flags = Flags::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let mut value = || rest.next().cloned().with_context(|| format!("`{arg}` needs a value"));
            match arg.as_str() {
                "--release" => flags.release = true,
                "--names" => flags.names = true,
                "--small" => flags.small = true,
                "--port" => flags.port = Some(number(arg, &value()?)?),
                "--seed" => flags.seed = Some(number(arg, &value()?)?),
                "--only" => flags.only = Some(value()?),
                other => bail!("there is no option `{other}`; `cargo xtask help` lists them"),
            }
        }
        Ok(flags)
    }
}

fn number<N: std::str::FromStr>(option: &str, text: &str) -> Result<N> {
    text.parse().ok().with_context(|| format!("`{option} {text}`: that is no number it can take"))
}
