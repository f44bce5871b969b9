//! From Rust to the two files the bundles are made of: optimised wasm, and glue that can
//! be started more than once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::artifacts::sha256_hex;
use crate::settings::Settings;
use crate::shell::Shell;
use crate::tools::{npm_tool, on_path, with};
use crate::{shorten, split};

/// What the binding generator, the split and the optimiser made, below `target/glue/`.
#[derive(Debug)]
pub(crate) struct Bindings {
    /// The part of the wasm that a page loads first, as it ships, without names.
    pub(crate) first: PathBuf,
    /// The part that it loads later.
    pub(crate) later: PathBuf,
    /// Both parts before the optimiser, with the names `cargo xtask size` reads.
    pub(crate) named: [PathBuf; 2],
    /// ES module whose default export, `instantiate()`, gives the glue of a fresh instance.
    pub(crate) glue: PathBuf,
}

/// Compiles the SDK, generates its bindings and cuts it in two.
pub(crate) fn generate(shell: &Shell, settings: &Settings) -> Result<Bindings> {
    let package = settings.build.package.as_str();
    let target = settings.build.target.as_str();
    let mut command = shell.cargo(&["build", "--release", "--target", target, "--package", package]);
    command.env("CARGO_ENCODED_RUSTFLAGS", compiler_flags(shell)?);
    shell.run(command)?;
    let file = package.replace('-', "_");
    let compiled = shell.path("target").join(target).join("release").join(&file).with_extension("wasm");

    let folder = shell.path("target/glue");
    let named = folder.join("named");
    bindgen(&compiled, &named, &file)?;
    let flat = flat_glue(shell, settings, &named.join(format!("{file}.js")), &folder)?;
    let wasm = fs::read(named.join(format!("{file}_bg.wasm")))?;
    let short = shorten::shorten(&wasm, &flat, &format!("./{file}_bg.js"))?;
    let glue = folder.join("glue.mjs");
    fs::write(&glue, factory(&short.glue)?)?;

    let linked = fs::read(&compiled)?;
    let parts = split::split(&short.wasm, &linked, &settings.split, true)?;
    let bare = split::split(&short.wasm, &linked, &settings.split, false)?;
    let part = |name: &str, wasm: &[u8], bare: &[u8]| -> Result<(PathBuf, PathBuf)> {
        let named = folder.join(format!("{name}.named.wasm"));
        fs::write(&named, wasm)?;
        let out = folder.join(format!("{name}.wasm"));
        if !optimise(shell, settings, &named, &out)? {
            fs::write(&out, bare)?;
        }
        Ok((out, named))
    };
    let (first, first_named) = part("first", &parts.first, &bare.first)?;
    let (later, later_named) = part("later", &parts.later, &bare.later)?;
    Ok(Bindings { first, later, named: [first_named, later_named], glue })
}

/// Compiler flags that take this machine's folders out of the places in panic messages:
/// nobody's business, and 2 KB that every visitor would load.
fn compiler_flags(shell: &Shell) -> Result<String> {
    let mut rustc = shell.command(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let output = rustc.args(["--print", "sysroot"]).output().context("cannot run rustc")?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let mut folders = vec![(sysroot.join("lib/rustlib/src/rust/library"), "std")];
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    if let Some(sources) = cargo_home.map(|home| home.join("registry/src"))
        && let Ok(registries) = fs::read_dir(sources)
    {
        folders.extend(registries.flatten().map(|registry| (registry.path(), "crates")));
    }
    // The split reads names, which say of which types a function is made, and what the linker
    // knows of addresses, which says which data it reads.
    let told = ["-Csymbol-mangling-version=v0", "-Clink-arg=--emit-relocs"].map(str::to_string);
    let paths =
        folders.iter().map(|(folder, short)| format!("--remap-path-prefix={}={short}", folder.display()));
    let flags: Vec<String> = told.into_iter().chain(paths).collect();
    Ok(flags.join("\u{1f}"))
}

fn bindgen(compiled: &Path, out: &Path, name: &str) -> Result<()> {
    let (compiled, out) = (compiled.to_string_lossy(), out.to_string_lossy());
    // The loader always says where the wasm is, so the glue need not guess.
    let fixed = ["wasm-bindgen", "--target", "web", "--no-typescript", "--omit-default-module-path"];
    let paths = ["--out-name", name, "--out-dir", out.as_ref(), compiled.as_ref()];
    wasm_bindgen_cli::wasm_bindgen::run_cli_with_args(fixed.iter().chain(&paths))
        .context("the binding generator refused the compiled SDK")
}

/// Makes the wasm smaller; false without `wasm-opt`, which is optional. Slow, so a result
/// is kept until the input or the flags change.
fn optimise(shell: &Shell, settings: &Settings, wasm: &Path, out: &Path) -> Result<bool> {
    let Some(tool) = npm_tool(shell, "wasm-opt").or_else(|| on_path(&["wasm-opt"])) else {
        shell.say("wasm-opt is not installed (npm package `binaryen`): carrying on without it, a few per cent larger");
        return Ok(false);
    };
    let key_file = out.with_extension("key");
    let key = format!("{} {}", sha256_hex(&fs::read(wasm)?), settings.optimiser.flags.join(" "));
    if out.is_file() && fs::read_to_string(&key_file).is_ok_and(|old| old == key) {
        return Ok(true);
    }
    let mut command = shell.command(tool);
    command.args(&settings.optimiser.flags).arg("--strip-producers").arg(wasm).arg("-o").arg(out);
    shell.run(command)?;
    fs::write(key_file, key)?;
    Ok(true)
}

/// `--target web` glue keeps its instance in module variables, so one module is one
/// instance for ever. As the body of a function it can be evaluated again, which is how
/// a fresh instance replaces one that trapped.
fn flat_glue(shell: &Shell, settings: &Settings, generated: &Path, folder: &Path) -> Result<String> {
    // The loader compiles and instantiates, with messages of its own: of the glue's start it
    // needs the two ends only, and the bundler drops what lies between.
    let text = fs::read_to_string(generated)?;
    let ends = "export { __wbg_get_imports as imports, __wbg_finalize_init as started }";
    let text = text.replace("export { initSync, __wbg_init as default }", ends);
    fs::write(generated, without_repeats(&without_detours(&text)))?;

    let flat = folder.join("flat.js");
    let esbuild = npm_tool(shell, "esbuild").context("esbuild is missing: run `npm ci`")?;
    let mut command = with(shell.command(esbuild), &["--bundle", "--format=esm", "--log-level=warning"]);
    command
        .arg(format!("--target={}", settings.build.javascript))
        .arg(format!("--outfile={}", flat.display()));
    command.arg(generated);
    shell.run(command)?;
    Ok(fs::read_to_string(flat)?)
}

/// The glue with each module once in its list of imports, whatever the generator says.
fn without_repeats(glue: &str) -> String {
    let mut known = BTreeSet::new();
    let mut lines: Vec<&str> = glue.lines().collect();
    lines.retain(|line| {
        let module = line.trim().strip_prefix("\"./snippets/").and_then(|rest| rest.split_once("\": "));
        module.is_none_or(|(module, _)| known.insert(module))
    });
    lines.join("\n")
}

/// The glue without its ways around what every browser has that runs this script at all.
fn without_detours(glue: &str) -> String {
    let no_registry = "(typeof FinalizationRegistry === 'undefined')\n    ? { register: () => {}, unregister: () => {} }\n    : ";
    let glue = glue.replace(no_registry, "");
    let encoder = glue.split_once("if (!('encodeInto' in cachedTextEncoder)) {");
    match encoder.and_then(|(before, rest)| Some((before, rest.split_once("\n}\n")?.1))) {
        Some((before, after)) => [before, after].concat(),
        None => glue,
    }
}

/// A module as a function that returns its exports.
fn factory(module: &str) -> Result<String> {
    let split = module.rsplit_once("export {").and_then(|(body, rest)| Some((body, rest.split_once('}')?)));
    let Some((body, (exports, rest))) = split else {
        bail!("the generated glue ends in no list of exports: wasm-bindgen or esbuild changed their output");
    };
    let fields: Vec<String> = exports
        .split(',')
        .map(str::trim)
        .filter(|export| !export.is_empty())
        .map(|export| match export.split_once(" as ") {
            Some((local, public)) => format!("{public}: {local}"),
            None => export.to_string(),
        })
        .collect();
    if rest.trim_start_matches(';').lines().any(|line| !line.trim().is_empty() && !line.starts_with("//")) {
        bail!(
            "the generated glue goes on after its list of exports: wasm-bindgen or esbuild changed their output"
        );
    }
    Ok(format!(
        "export default function instantiate() {{\n\"use strict\";\n{body}\nreturn {{ {} }};\n}}\n",
        fields.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::{factory, without_detours};

    #[test]
    fn detours_go_and_the_rest_stays() {
        let glue = "const a = (typeof FinalizationRegistry === 'undefined')\n    ? { register: () => {}, unregister: () => {} }\n    : new F();\nif (!('encodeInto' in cachedTextEncoder)) {\n    x();\n}\nlet b;\n";
        assert_eq!(without_detours(glue), "const a = new F();\nlet b;\n");
        assert_eq!(without_detours("let c;"), "let c;");
    }

    #[test]
    fn a_module_becomes_a_function_that_returns_its_exports() {
        let module =
            "var wasm;\nfunction init() {}\nclass Page {}\nexport {\n  Page,\n  init as default\n};\n";
        let text = factory(module).unwrap();
        assert!(text.starts_with("export default function instantiate() {"));
        assert!(text.contains("return { Page, default: init };"), "{text}");
    }

    #[test]
    fn glue_of_an_unknown_form_is_refused() {
        assert!(factory("var a;").is_err());
        assert!(factory("export { a };\nmore();").is_err());
    }
}
