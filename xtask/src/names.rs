//! Which crate a byte of wasm comes from, read from the name section.
//!
//! Generic code of `core`, `alloc` and `std` made for a type of another crate is that
//! crate's cost: `<Vec<mindset_core::view::Patch> as Drop>::drop` counts for
//! `mindset_core`. So does a trait implementation: the first crate in the demangled name
//! that is not part of the standard library gets the bytes.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use wasmparser::{KnownCustom, Name, Parser, Payload};

/// What one crate costs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) name: String,
    /// Raw bytes of code, or of data.
    pub(crate) bytes: u64,
}

/// Crates that come with the compiler.
const STANDARD: [&str; 6] = ["core", "alloc", "std", "hashbrown", "dlmalloc", "__rustc"];

/// Bytes by crate, the costliest first. Data is one row: its bytes have no names.
pub(crate) fn cost_by_crate(wasm: &[u8]) -> Result<Vec<Cost>> {
    let mut imported = 0;
    let mut bodies: Vec<u64> = Vec::new();
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.context("the wasm cannot be read")? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    if matches!(import?.ty, wasmparser::TypeRef::Func(_)) {
                        imported += 1;
                    }
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push((body.range().end - body.range().start) as u64),
            Payload::DataSection(data) => {
                let range = data.range();
                sums.insert("(data: text, tables, styles)".into(), (range.end - range.start) as u64);
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(section) = section.as_known() {
                    read_names(section, &mut names)?;
                }
            }
            _ => {}
        }
    }
    for (index, bytes) in (imported..).zip(bodies) {
        let owner = names.get(&index).map_or_else(|| "(no name)".to_string(), |name| owner(name));
        *sums.entry(owner).or_default() += bytes;
    }
    let mut costs: Vec<Cost> = sums.into_iter().map(|(name, bytes)| Cost { name, bytes }).collect();
    costs.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    Ok(costs)
}

fn read_names(section: wasmparser::NameSectionReader<'_>, names: &mut BTreeMap<u32, String>) -> Result<()> {
    for subsection in section {
        if let Name::Function(functions) = subsection? {
            for naming in functions {
                let naming = naming?;
                names.insert(naming.index, naming.name.to_string());
            }
        }
    }
    Ok(())
}

/// A function's name as it stands in the source.
pub(crate) fn plain(name: &str) -> String {
    without_hashes(&format!("{:#}", rustc_demangle::demangle(name)))
}

/// The crate a function belongs to.
fn owner(name: &str) -> String {
    let text = plain(name);
    let mut first = None;
    for candidate in crates(&text) {
        if !STANDARD.contains(&candidate) {
            return candidate.to_string();
        }
        first.get_or_insert(candidate);
    }
    first.unwrap_or("(runtime support)").to_string()
}

/// `core[c5930c85a12de822]::fmt::write` without the crate's hash.
fn without_hashes(text: &str) -> String {
    let mut parts = text.split('[');
    let mut clean = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part.split_once(']') {
            Some((hash, rest)) if hash.len() > 8 && hash.chars().all(|c| c.is_ascii_hexdigit()) => {
                clean.push_str(rest)
            }
            _ => {
                clean.push('[');
                clean.push_str(part);
            }
        }
    }
    clean
}

/// Every word that begins a path, so `core::option::Option<web_sys::Node>` gives `core`
/// and `web_sys`.
fn crates(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices("::").filter_map(move |(at, _)| {
        let before = text.get(..at)?;
        let start = before.rfind(|c| !word(c)).map_or(0, |end| end + 1);
        let inside = before.get(..start)?.ends_with("::");
        let name = before.get(start..).filter(|name| !name.is_empty())?;
        (!inside).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::owner;

    #[test]
    fn functions_are_attributed() {
        let cases = [
            ("mindset_core::sse::Decoder::push", "mindset_core"),
            ("core::fmt::write", "core"),
            ("core::ptr::drop_in_place::<alloc::vec::Vec<mindset_core::view::Patch>>", "mindset_core"),
            ("<alloc::string::String as core::fmt::Write>::write_str", "alloc"),
            ("<mindset_agent::driver::Driver as core::fmt::Debug>::fmt", "mindset_agent"),
            (
                "<dlmalloc[e24a27700634d609]::dlmalloc::Dlmalloc<dlmalloc[e24a27700634d609]::sys::System>>::malloc",
                "dlmalloc",
            ),
            (
                "<alloc[3ca501edff3f0c7c]::vec::Vec<mindset_core[0a1b2c3d4e5f6071]::Patch>>::push[1]",
                "mindset_core",
            ),
            ("hello", "(runtime support)"),
            ("__wbindgen_malloc", "(runtime support)"),
        ];
        for (name, crate_name) in cases {
            assert_eq!(owner(name), crate_name, "{name}");
        }
    }
}
