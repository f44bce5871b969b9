//! Makes the conformance data part of the tests, so that they run on wasm32 too,
//! where there are no files: the public AG-UI streams and schema out of the
//! package `ag-ui` and the examples of Markdown's specifications out of the package
//! `pulldown-cmark`, wherever cargo keeps them, and our own recordings.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use mindset_core::json::{Value, parse};

/// Carries the public AG-UI streams.
const STREAMS: &str = "ag-ui";

/// Carries all examples of CommonMark 0.31.2 and those of GFM about tables, task lists and
/// strikethrough, as tests in Rust that were made from the specifications.
const EXAMPLES: &str = "pulldown-cmark";

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let ours = here.parent().unwrap_or(&here).join("fixtures");
    let metadata = all_metadata(&here)?;
    let package = package_dir(&metadata, STREAMS)?;
    let public = package.join("tests/fixtures/ag-ui-1.0");

    let mut out = String::new();
    let schema = package.join("src/protocol/schema-1.0.json");
    writeln!(out, "/// JSON Schema of AG-UI 1.0.\npub const SCHEMA: &str = include_str!({schema:?});")?;
    table(&mut out, "STREAMS", "Public conformance streams: name and JSON text.", &public.join("streams"))?;
    table(&mut out, "INVALID", "Public documents that are not AG-UI.", &public.join("fixtures"))?;
    table(&mut out, "RECORDED", "Recorded AG-UI runs: name and HTTP text.", &ours.join("ag-ui"))?;
    table(&mut out, "MODELS", "Recorded model answers: name and HTTP text.", &ours.join("model"))?;
    table(&mut out, "SSE", "Event streams in base64, and what Chromium makes of them.", &ours.join("sse"))?;
    let suite = package_dir(&metadata, EXAMPLES)?.join("tests/suite");
    examples(&mut out, "COMMONMARK", &suite, &["spec"])?;
    examples(&mut out, "GFM", &suite, &["gfm_table", "gfm_tasklist", "gfm_strikethrough"])?;
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("fixtures.rs"), out)?;

    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.toml");
    println!("cargo::rerun-if-changed={}", ours.display());
    println!("cargo::rerun-if-changed={}", package.display());
    Ok(())
}

/// What cargo knows of all packages.
fn all_metadata(here: &Path) -> Fallible<Value> {
    // Offline first: all packages are here when a build script runs, and asking the
    // registry could wait for a lock or a network.
    let text = metadata(here, &["--offline"]).or_else(|_| metadata(here, &[]))?;
    Ok(parse(&text).map_err(|e| e.to_string())?)
}

/// Where cargo keeps the source of a package.
fn package_dir(metadata: &Value, name: &str) -> Fallible<PathBuf> {
    let packages = metadata.get("packages").and_then(Value::as_array).unwrap_or_default();
    let manifest = packages
        .iter()
        .find(|p| p.get("name").and_then(Value::as_str) == Some(name))
        .and_then(|p| p.get("manifest_path")?.as_str())
        .ok_or_else(|| {
            format!("cargo metadata lists no package {name}; is it still a dev-dependency here?")
        })?;
    Ok(Path::new(manifest).parent().map(Path::to_owned).unwrap_or_default())
}

fn metadata(here: &Path, options: &[&str]) -> Fallible<String> {
    let output = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(options)
        .arg("--manifest-path")
        .arg(here.join("Cargo.toml"))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A constant with the examples that are written as tests in these files: name, source, HTML.
fn examples(out: &mut String, name: &str, dir: &Path, files: &[&str]) -> Fallible<()> {
    writeln!(out, "/// Examples: name, Markdown, HTML.\npub const {name}: &[(&str, &str, &str)] = &[")?;
    for file in files {
        let path = dir.join(file).with_extension("rs");
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        for test in text.split("\nfn ").skip(1) {
            let example = (|| {
                let (name, rest) = test.split_once("()")?;
                let (_, rest) = rest.split_once("let original = r##\"")?;
                let (source, rest) = rest.split_once("\"##;")?;
                let (_, rest) = rest.split_once("let expected = r##\"")?;
                Some((name, source, rest.split_once("\"##;")?.0))
            })();
            let example =
                example.ok_or_else(|| format!("{}: a test is written otherwise", path.display()))?;
            writeln!(out, "    {example:?},")?;
        }
    }
    writeln!(out, "];")?;
    Ok(())
}

/// A constant with every file under `dir`, in the order of their names.
fn table(out: &mut String, name: &str, doc: &str, dir: &Path) -> Fallible<()> {
    let mut files = Vec::new();
    walk(dir, &mut files).map_err(|e| format!("{}: {e}", dir.display()))?;
    files.sort();
    if files.is_empty() {
        return Err(format!("no files in {}", dir.display()).into());
    }
    writeln!(out, "/// {doc}\npub const {name}: &[(&str, &str)] = &[")?;
    for file in files {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        writeln!(out, "    ({stem:?}, include_str!({file:?})),")?;
    }
    writeln!(out, "];")?;
    Ok(())
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
