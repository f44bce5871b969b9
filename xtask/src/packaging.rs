//! The npm package as others get it: packed, installed into an empty project, imported
//! where there is no page. Importing it there must have no effect and not fail.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell::Shell;
use crate::tools::{node, npm_tool, with};

/// Name, `node` arguments, script.
const SCRIPTS: [(&str, &str, &str); 5] = [
    (
        "import in plain Node",
        "module",
        "const m = await import('mindset-agent'); if (typeof m.init !== 'function') throw new Error('no init')",
    ),
    (
        "require in plain Node",
        "commonjs",
        "const m = require('mindset-agent'); if (typeof m.init !== 'function') throw new Error('no init')",
    ),
    ("import with a half-faked window", "module", "globalThis.window = {}; await import('mindset-agent')"),
    (
        "import with a half-faked document",
        "module",
        "globalThis.window = globalThis; globalThis.document = {}; await import('mindset-agent')",
    ),
    (
        "import twice",
        "module",
        "const a = await import('mindset-agent'); const b = await import('mindset-agent'); if (a.init !== b.init) throw new Error('two modules')",
    ),
];

/// A page author's TypeScript.
const TYPESCRIPT: &str = "import { init } from 'mindset-agent';\nexport const ready: Promise<void> = init({ appUid: 'acme' });\nexport const element = document.querySelector('mindset-agent')!;\nexport const busy: boolean = element.isAgentBusy();\n";

/// Runs all checks and says how many passed, in the words of Node's runner.
pub(crate) fn check(shell: &Shell) -> Result<()> {
    node(shell)?;
    let folder = tempfile::tempdir()?;
    let app = install(shell, folder.path())?;
    let mut results: Vec<(&str, Result<()>)> = Vec::new();
    for (name, kind, script) in SCRIPTS {
        let mut command = shell.command("node");
        command.current_dir(&app).arg(format!("--input-type={kind}")).args(["--eval", script]);
        results.push((name, shell.run(command)));
    }
    results.push(("types", types(shell, &app)));
    results.push(("contents", contents(&app)));

    let failed = results.iter().filter(|(_, result)| result.is_err()).count();
    for (name, result) in &results {
        match result {
            Ok(()) => shell.say(&format!("ok      {name}")),
            Err(error) => shell.say(&format!("FAILED  {name}: {error:#}")),
        }
    }
    shell.say(&format!("# pass {}\n# fail {failed}", results.len() - failed));
    if failed > 0 {
        bail!("the npm package does not hold what it promises");
    }
    Ok(())
}

/// Packs the package and installs it into a new project below `folder`, without a network.
fn install(shell: &Shell, folder: &Path) -> Result<PathBuf> {
    let mut pack = shell.command("npm");
    pack.args(["pack", "--silent", "--pack-destination"]).arg(folder);
    let name = shell.capture(pack)?;
    let tarball = folder.join(name.lines().last().context("npm pack named no file")?.trim());
    let app = folder.join("app");
    fs::create_dir(&app)?;
    fs::write(app.join("package.json"), "{ \"name\": \"app\", \"private\": true }\n")?;
    let mut command =
        with(shell.command("npm"), &["install", "--offline", "--no-audit", "--no-fund", "--silent"]);
    command.current_dir(&app).arg(tarball);
    shell.run(command)?;
    Ok(app)
}

fn types(shell: &Shell, app: &Path) -> Result<()> {
    let tsc = npm_tool(shell, "tsc").context("the TypeScript compiler is missing: run `npm ci`")?;
    for name in ["page.mts", "page.cts"] {
        fs::write(app.join(name), TYPESCRIPT)?;
    }
    let flags = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"];
    let mut command = with(shell.command(tsc), &flags);
    command.current_dir(app).args(["page.mts", "page.cts"]);
    shell.run(command)
}

/// Exactly one wasm, and no compressed copies: servers and bundlers make their own.
fn contents(app: &Path) -> Result<()> {
    let folder = app.join("node_modules/mindset-agent/dist");
    let names = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<String>>>()?;
    let with_end = |end: &str| names.iter().filter(|name| name.ends_with(end)).count();
    if with_end(".wasm") != 1 || with_end(".br") + with_end(".gz") != 0 {
        bail!("expected one wasm and no compressed files, found {}", names.join(", "));
    }
    Ok(())
}
