//! Embeds the built SDK (`../dist`), the demo pages (`../www`) and the published schemas (`../schema`).
//!
//! A missing `dist` is no failure: the server then says how to build it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What is served. Everything else in the folders, `mindset.toml` above all, is not.
const SERVED: &[&str] = &[
    "html", "js", "mjs", "cjs", "css", "svg", "png", "ico", "webp", "txt", "json", "map", "ts", "mts",
    "wasm", "br", "gz",
];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut table = String::from("&[\n");
    // The pages come first: a file of the same name in `dist` is not theirs to replace.
    for (folder, prefix) in [("www", ""), ("dist", ""), ("schema", "schema/")] {
        let folder = root.join("..").join(folder);
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, prefix, &mut files)?;
        files.sort();
        for (name, path) in files {
            let path = path.canonicalize()?;
            writeln!(table, "({name:?}, include_bytes!({:?})),", path.display().to_string())
                .map_err(io::Error::other)?;
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("assets.rs"), table)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
        let served = path.extension().and_then(|e| e.to_str()).is_some_and(|e| SERVED.contains(&e));
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), files)?;
        } else if served {
            files.push((format!("{prefix}{name}"), path));
        }
    }
    Ok(())
}
