//! Short names between the wasm and its glue. The binding generator ends each name in a hash
//! of its own, which no compression takes away, and says it on both sides.

use anyhow::{Context, Result};
use wasmparser::{Parser, Payload};

/// Both sides under short names.
#[derive(Debug)]
pub(crate) struct Short {
    pub(crate) wasm: Vec<u8>,
    pub(crate) glue: String,
}

/// Renames what `wasm` imports from `module`, every module, and what it exports. The
/// names that other modules, which are JavaScript of our own, export are short already.
pub(crate) fn shorten(wasm: &[u8], glue: &str, module: &str) -> Result<Short> {
    let mut out = wasm.get(..8).context("the wasm ends before it begins")?.to_vec();
    let mut glue = glue.to_string();
    let mut modules: Vec<String> = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.context("the wasm cannot be read")?;
        let Some((id, range)) = payload.as_section() else { continue };
        let old = wasm.get(range.clone()).context("a section of the wasm ends outside of it")?;
        let mut items = Vec::new();
        match payload {
            Payload::ImportSection(section) => {
                for item in section.into_imports_with_offsets() {
                    let (at, import) = item?;
                    let taken = string(import.module).len() + string(import.name).len();
                    let known = modules.iter().position(|known| known == import.module);
                    let index = known.unwrap_or(modules.len());
                    let owner = format!("m{index}");
                    if known.is_none() {
                        glue = glue.replace(&format!("\"{}\"", import.module), &format!("\"{owner}\""));
                        modules.push(import.module.to_string());
                    }
                    let mut name = import.name.to_string();
                    if import.module == module {
                        let short = format!("i{}", items.len());
                        glue = replace_word(&glue, &name, &short);
                        name = short;
                    }
                    items.push(Item { at, taken, text: [string(&owner), string(&name)].concat() });
                }
            }
            Payload::ExportSection(section) => {
                for item in section.into_iter_with_offsets() {
                    let (at, export) = item?;
                    let short = format!("e{}", items.len());
                    glue = replace_word(&glue, &format!("wasm.{}", export.name), &format!("wasm.{short}"));
                    items.push(Item { at, taken: string(export.name).len(), text: string(&short) });
                }
            }
            _ => {}
        }
        let section = respelled(wasm, &items, range.end).unwrap_or_else(|| old.to_vec());
        out.push(id);
        out.extend(leb(section.len()));
        out.extend(section);
    }
    Ok(Short { wasm: out, glue })
}

/// An entry of a section whose names are spelled anew.
struct Item {
    /// Where the entry begins.
    at: usize,
    /// Bytes of its names.
    taken: usize,
    /// What stands there instead.
    text: Vec<u8>,
}

/// The section with its entries' new names; `None` for a section without entries.
fn respelled(wasm: &[u8], items: &[Item], end: usize) -> Option<Vec<u8>> {
    items.first()?;
    let mut section = leb(items.len());
    for (item, next) in items.iter().zip(items.iter().skip(1).map(|next| next.at).chain([end])) {
        section.extend(&item.text);
        section.extend(wasm.get(item.at + item.taken..next)?);
    }
    Some(section)
}

fn string(text: &str) -> Vec<u8> {
    [&leb(text.len()), text.as_bytes()].concat()
}

/// A number as wasm writes it: seven bits a byte, the lowest first.
fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// Replaces `word` where it is no part of a longer one.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let mut parts = text.split(word).peekable();
    let mut out = String::with_capacity(text.len());
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    while let Some(part) = parts.next() {
        out.push_str(part);
        let Some(after) = parts.peek() else { break };
        let longer = out.ends_with(inside) || after.starts_with(inside);
        out.push_str(if longer { word } else { by });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{leb, replace_word, shorten};

    #[test]
    fn numbers_are_written_as_wasm_does() {
        assert_eq!(
            (leb(0), leb(127), leb(128), leb(624_485)),
            (vec![0], vec![127], vec![128, 1], vec![0xe5, 0x8e, 0x26])
        );
    }

    #[test]
    fn whole_words_only() {
        assert_eq!(
            replace_word("wasm.a(wasm.ab, xwasm.a, wasm.a)", "wasm.a", "wasm.e0"),
            "wasm.e0(wasm.ab, xwasm.a, wasm.e0)"
        );
    }

    #[test]
    fn both_sides_agree() {
        // One function type, two imports, one export of the second.
        let wasm = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x02\x13\x02\x03./g\x05f_123\0\0\x01o\x01k\0\0\x07\x09\x01\x05run_9\0\x01";
        let glue = "x = { \"./g\": { f_123: () => wasm.run_9() }, \"o\": own }";
        let short = shorten(wasm, glue, "./g").unwrap();
        assert_eq!(short.glue, "x = { \"m0\": { i0: () => wasm.e0() }, \"m1\": own }");
        let wanted = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x02\x10\x02\x02m0\x02i0\0\0\x02m1\x01k\0\0\x07\x06\x01\x02e0\0\x01";
        assert_eq!(short.wasm, wanted);
    }
}
