//! Files that the person attached. The model is told that they are there; their addresses go to
//! the tools that take them, and to nobody else.

use crate::json::Value;

use super::toolset::Toolset;
use super::{ServerTool, StoredMessage};

/// Files of one message.
pub const MAX_FILES: usize = 10;

/// The parameter in which a tool gets their addresses.
pub(super) const PARAMETER: &str = "uploaded_file_urls";

/// A file that was uploaded, as its message keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// Its id.
    pub id: String,
    /// Its name, made safe.
    pub name: String,
    /// Its media type, as its first bytes say.
    pub media_type: String,
    /// Its bytes.
    pub size: u64,
}

impl StoredFile {
    /// `[{ id, name, type, size }]`; `None` for no files.
    pub fn list(files: &[StoredFile]) -> Option<Value> {
        let of = |f: &StoredFile| {
            Value::Object(crate::object! {
                "id": &f.id, "name": &f.name, "type": &f.media_type, "size": f.size,
            })
        };
        (!files.is_empty()).then(|| Value::Array(files.iter().map(of).collect()))
    }

    /// Reads what [`list`](Self::list) writes.
    pub fn read_list(value: &Value) -> Vec<StoredFile> {
        let file = |v: &Value| {
            Some(StoredFile {
                id: v.str("id")?.to_owned(),
                name: v.str("name")?.to_owned(),
                media_type: v.str("type")?.to_owned(),
                size: v.get("size").and_then(Value::as_u64)?,
            })
        };
        value.as_array().unwrap_or_default().iter().filter_map(file).collect()
    }
}

/// Makes the address under which a tool can read a file for a while.
pub trait FileLinks {
    /// The address of the file with this id, made now.
    fn link(&self, id: &str) -> String;
}

impl<F: Fn(&str) -> String> FileLinks for F {
    fn link(&self, id: &str) -> String {
        self(id)
    }
}

/// What the model reads of a person's message: the text, and which files came with it.
pub(super) fn told(text: &str, files: &[StoredFile]) -> String {
    if files.is_empty() {
        return text.to_owned();
    }
    let list: Vec<String> =
        files.iter().map(|f| format!("{} ({}, {})", f.name, f.media_type, size(f.size))).collect();
    let (count, hand) = match files.len() {
        1 => ("1 file".to_owned(), "it"),
        n => (format!("{n} files"), "them"),
    };
    let gap = if text.is_empty() { "" } else { "\n\n" };
    format!(
        "{text}{gap}[The user attached {count}: {}. Tools that take uploaded files get {hand} by themselves.]",
        list.join(", ")
    )
}

/// Bytes for people and models: `312 bytes`, `14 KB`, `3.2 MB`.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// The addresses of the turn's files as `tool` declares them: a JSON list as text, or the list
/// itself; `None`: there are no files, or the tool takes none.
pub(super) fn for_tool(
    tool: &ServerTool,
    messages: &[StoredMessage],
    links: &(dyn FileLinks + Send),
) -> Option<Value> {
    if !Toolset::takes(tool, PARAMETER) {
        return None;
    }
    let begin = messages.iter().rposition(StoredMessage::begins_turn)?;
    // What was said to the turn may bring files of its own.
    let asked = messages.get(begin..)?.iter().rfind(|m| !m.files.is_empty())?;
    let list = Value::Array(asked.files.iter().map(|f| links.link(&f.id).into()).collect());
    let declared = tool.declared();
    let kind = declared.get("properties").and_then(|p| p.get(PARAMETER)?.get("type")).cloned();
    let is_list = match &kind {
        Some(Value::Array(kinds)) => !kinds.iter().any(|k| k.as_str() == Some("string")),
        kind => kind.as_ref().and_then(Value::as_str) == Some("array"),
    };
    Some(if is_list { list } else { list.text().into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn file(name: &str, size: u64) -> StoredFile {
        StoredFile { id: format!("id-{name}"), name: name.into(), media_type: "image/png".into(), size }
    }

    #[test]
    fn the_model_is_told_what_is_attached() {
        assert_eq!(told("Look", &[]), "Look");
        assert_eq!(
            told("Look", &[file("a.png", 999)]),
            "Look\n\n[The user attached 1 file: a.png (image/png, 999 bytes). Tools that take uploaded files get \
             it by themselves.]"
        );
        assert_eq!(
            told("", &[file("a.png", 1_001), file("b.png", 20_971_520)]),
            "[The user attached 2 files: a.png (image/png, 2 KB), b.png (image/png, 20.9 MB). Tools that take \
             uploaded files get them by themselves.]"
        );
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let files = vec![file("a.png", 1), file("b\".png", u64::MAX)];
        assert_eq!(StoredFile::list(&files).map(|v| StoredFile::read_list(&v)), Some(files));
        assert_eq!(StoredFile::list(&[]), None);
        assert!(StoredFile::read_list(&crate::json::parse(r#"[{"id":1},2]"#).unwrap_or_default()).is_empty());
    }
}
