//! What the tests need beside the build: Chromium with its driver, Firefox, WebKitGTK, and a Python
//! environment with foreign peers. Missing parts are installed where that is possible
//! without asking; what stays missing is named with the remedy.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::shell::Shell;
use crate::tools::{npm_packages, on_path, with};

/// Installs everything. All parts are tried; the error lists all that stay missing.
pub(crate) fn install(shell: &Shell) -> Result<()> {
    let parts =
        [npm_packages(shell), chromium_installed(shell), engines_installed(shell), python_packages(shell)];
    let missing: Vec<String> =
        parts.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    if !missing.is_empty() {
        bail!("{}", missing.join("\n"));
    }
    Ok(())
}

/// The browser: `CHROMIUM`, or the first one on PATH.
pub(crate) fn chromium() -> Option<PathBuf> {
    let given = std::env::var_os("CHROMIUM").map(PathBuf::from);
    given.or_else(|| on_path(&["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]))
}

/// Its WebDriver: `CHROMEDRIVER`, or the first one on PATH.
pub(crate) fn chromedriver() -> Option<PathBuf> {
    std::env::var_os("CHROMEDRIVER").map(PathBuf::from).or_else(|| on_path(&["chromedriver"]))
}

fn chromium_installed(shell: &Shell) -> Result<()> {
    if chromium().is_none() || chromedriver().is_none() {
        apt_install(shell, &["chromium", "chromium-driver"]).context(
            "the browser tests need Chromium and chromedriver: install both, or set CHROMIUM and CHROMEDRIVER to their programs",
        )?;
    }
    Ok(())
}

/// The other two engines: Firefox, and WebKitGTK with its driver and a display.
fn engines_installed(shell: &Shell) -> Result<()> {
    let parts: [(&str, &[&str], &str); 3] = [
        ("FIREFOX", &["firefox-esr", "firefox"], "firefox-esr"),
        ("WEBKIT_DRIVER", &["WebKitWebDriver"], "webkit2gtk-driver"),
        ("XVFB", &["Xvfb"], "xvfb"),
    ];
    let is_missing = |(variable, programs, _): &&(&str, &[&str], &str)| {
        std::env::var_os(variable).is_none() && on_path(programs).is_none()
    };
    let packages: Vec<&str> = parts.iter().filter(is_missing).map(|(_, _, package)| *package).collect();
    if packages.is_empty() {
        return Ok(());
    }
    apt_install(shell, &packages).context(
        "the tests of the main paths need Firefox, WebKitWebDriver and Xvfb: install them, or set FIREFOX, WEBKIT_DRIVER and XVFB to their programs",
    )
}

fn python_packages(shell: &Shell) -> Result<()> {
    let remedy = "the end-to-end tests need Python 3.10 or later with venv and pip (Debian: python3-venv): install it and run this again";
    let wanted = fs::read_to_string(shell.path("tests/requirements.txt"))
        .context("cannot read tests/requirements.txt")?;
    let stamp = shell.path("tests/.venv/installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if on_path(&["python3"]).is_none() {
        apt_install(shell, &["python3", "python3-venv"]).context(remedy)?;
    }
    let venv = || shell.run(with(shell.command("python3"), &["-m", "venv", "tests/.venv"]));
    // Debian ships Python without the part that makes environments.
    if venv().is_err() {
        apt_install(shell, &["python3-venv"]).and_then(|()| venv()).context(remedy)?;
    }
    let args = ["install", "--quiet", "--disable-pip-version-check", "-r", "tests/requirements.txt"];
    shell
        .run(with(shell.command(shell.path("tests/.venv/bin/pip")), &args))
        .context("the Python packages of the end-to-end tests could not be installed: see what pip says, and check the network")?;
    fs::write(stamp, wanted)?;
    Ok(())
}

fn apt_install(shell: &Shell, packages: &[&str]) -> Result<()> {
    let names = packages.join(" ");
    if on_path(&["apt-get"]).is_none() {
        bail!("{names} cannot be installed from here: this system has no apt-get");
    }
    let user = shell.capture(with(shell.command("id"), &["-u"]))?;
    if user.trim() != "0" {
        bail!("{names} cannot be installed from here: only root may, so run `sudo apt-get install {names}`");
    }
    let apt = |args: &[&str]| {
        let mut command = shell.command("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(["-q", "-y"]).args(args);
        shell.run(command)
    };
    apt(&["update"])?;
    apt(&[&["install", "--no-install-recommends"], packages].concat())
}
