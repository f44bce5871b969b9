//! Where commands run and where their output goes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};

/// The repository's root, and the place for output: the terminal, or a log file while
/// `cargo xtask test` runs a stage.
#[derive(Debug)]
pub(crate) struct Shell {
    root: PathBuf,
    log: Option<File>,
    /// What every command finds in its environment.
    variables: Vec<(&'static str, String)>,
}

impl Shell {
    /// Output goes to the terminal.
    pub(crate) fn new() -> Result<Shell> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().context("xtask lies in a folder of the repository")?.to_path_buf();
        Ok(Shell { root, log: None, variables: Vec::new() })
    }

    /// The same place, with all output written to a new file at `log`.
    pub(crate) fn logging_to(&self, log: &Path) -> Result<Shell> {
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        Ok(Shell { root: self.root.clone(), log: Some(file), variables: self.variables.clone() })
    }

    /// The same place; its commands find these variables.
    pub(crate) fn with_variables(&self, variables: &[(&'static str, String)]) -> Shell {
        Shell { root: self.root.clone(), log: None, variables: variables.to_vec() }
    }

    /// The repository's root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Says one line.
    pub(crate) fn say(&self, line: &str) {
        use std::io::Write;
        match &self.log {
            // A log that cannot be written must not end the work it describes.
            Some(file) => drop(writeln!(&mut &*file, "{line}")),
            None => println!("{line}"),
        }
    }

    /// A command that starts in the root with no standard input, and with one target
    /// directory whatever the caller's environment says.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null()).env("CARGO_TARGET_DIR", self.path("target"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// `cargo` with `args`, by the toolchain that runs xtask.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = self.command(cargo);
        command.args(args);
        // What cargo told about xtask is not true for its children.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_")) {
                command.env_remove(name);
            }
        }
        command.env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_MANIFEST_PATH");
        command
    }

    /// Runs to the end. An error names the command and its status.
    pub(crate) fn run(&self, mut command: Command) -> Result<()> {
        let shown = shown(&command);
        if let Some(file) = &self.log {
            self.say(&format!("$ {shown}"));
            command.stdout(file.try_clone()?).stderr(file.try_clone()?);
        }
        let status = command.status().map_err(|error| not_started(&shown, &error))?;
        if !status.success() {
            bail!("`{shown}` failed ({status})");
        }
        Ok(())
    }

    /// Runs to the end and returns standard output.
    pub(crate) fn capture(&self, mut command: Command) -> Result<String> {
        let shown = shown(&command);
        let output = command.output().map_err(|error| not_started(&shown, &error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`{shown}` failed ({}): {}", output.status, said.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn not_started(shown: &str, error: &std::io::Error) -> anyhow::Error {
    anyhow!("cannot start `{shown}`: {error}")
}

/// The command as one would type it, long paths and scripts cut.
fn shown(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    let text = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
