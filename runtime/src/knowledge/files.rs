//! The files of a context: which they are, what is in them, and where they can be
//! read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Piece, html, markdown};
use crate::config::Context;
use crate::ids;

/// Bytes of a file at most.
const MAX_FILE: u64 = 8 * 1024 * 1024;

/// Part of every hash; another number has all files read anew.
const FORMAT: &str = "2";

/// A file to be indexed.
#[derive(Debug)]
pub(crate) struct File {
    /// Where it was found, with `/` between folders.
    pub(crate) path: String,
    /// What is in it, hashed.
    pub(crate) hash: String,
    text: String,
}

/// What a file's name says about its content.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Markdown,
    Html,
    Text,
}

impl Kind {
    fn of(path: &Path) -> Option<Kind> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "md" | "markdown" | "mdx" => Some(Kind::Markdown),
            "html" | "htm" | "xhtml" => Some(Kind::Html),
            "txt" | "text" => Some(Kind::Text),
            _ => None,
        }
    }
}

/// The files of a context that hold text, each once.
///
/// # Errors
/// A pattern fits none.
pub(super) fn find(context: &Context) -> Result<Vec<File>, String> {
    let mut files: Vec<File> = Vec::new();
    let mut seen = BTreeSet::new();
    for pattern in &context.files {
        let found = glob::glob(pattern).map_err(|e| format!("`{pattern}` is no pattern ({}).", e.msg))?;
        let mut fits = false;
        for path in found.flatten().filter(|path| path.is_file() && Kind::of(path).is_some()) {
            fits = true;
            let path = shown(&path)?;
            if seen.insert(path.clone()) {
                files.push(File { path, hash: String::new(), text: String::new() });
            }
        }
        if !fits {
            return Err(format!(
                "No Markdown, HTML or text file fits `{pattern}` of the context `{}`. Correct files in the \
                 configuration, or start the server in the right folder.",
                context.uid
            ));
        }
    }
    Ok(files)
}

fn shown(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(|text| text.replace('\\', "/"));
    text.ok_or_else(|| format!("The name of the file {} is not UTF-8. Rename it.", path.display()))
}

impl File {
    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, is too large or not UTF-8.
    pub(super) fn read(&mut self) -> Result<(), String> {
        let path = &self.path;
        let unreadable = |e: std::io::Error| {
            format!("The file {path} cannot be read ({}). Check its rights, or leave it out.", e.kind())
        };
        let size = std::fs::metadata(path).map_err(unreadable)?.len();
        if size > MAX_FILE {
            return Err(format!(
                "The file {path} has {size} bytes, the limit is {MAX_FILE}. Split it, or leave it out."
            ));
        }
        let bytes = std::fs::read(path).map_err(unreadable)?;
        self.hash = ids::hash(&[FORMAT.as_bytes(), &bytes].concat());
        self.text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            format!("The file {path} is not UTF-8 at byte {at}. Save it as UTF-8, or leave it out.")
        })?;
        Ok(())
    }

    /// Bytes of its text.
    pub(super) fn size(&self) -> usize {
        self.text.len()
    }

    /// What is found and cited of it.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        let path = Path::new(&self.path);
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        match Kind::of(path) {
            Some(Kind::Markdown) => markdown::read(name, text),
            Some(Kind::Html) => html::read(name, text),
            Some(Kind::Text) | None => {
                let mut outline = super::outline::Outline::new(name);
                outline.push(text);
                outline.finish()
            }
        }
    }
}

/// Where a file of a context can be read, if the context says where its files are.
pub(super) fn url(context: &Context, path: &str, anchor: Option<&str>) -> Option<String> {
    let base = context.base_url.as_deref()?;
    let roots = context.files.iter().map(|pattern| root(pattern));
    let inside =
        roots.filter_map(|root| Path::new(path).strip_prefix(root).ok()).min_by_key(|p| p.as_os_str().len());
    let mut url = reqwest::Url::parse(base).ok()?;
    let inside = inside.unwrap_or_else(|| Path::new(path));
    url.path_segments_mut().ok()?.pop_if_empty().extend(inside.iter().filter_map(|part| part.to_str()));
    url.set_fragment(anchor);
    Some(url.into())
}

/// The folders of a pattern before the first that is open.
fn root(pattern: &str) -> PathBuf {
    let parts: Vec<_> = Path::new(pattern).components().collect();
    let open = |part: &std::path::Component<'_>| {
        part.as_os_str().to_str().is_none_or(|text| text.contains(['*', '?', '[']))
    };
    let fixed = parts.iter().position(open).unwrap_or(parts.len().saturating_sub(1));
    parts.iter().take(fixed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_file_can_be_read() {
        let context = |base: Option<&str>| Context {
            uid: "c".into(),
            title: "C".into(),
            files: vec!["docs/**/*.md".into(), "docs/faq/list.html".into(), "*.txt".into()],
            base_url: base.map(str::to_owned),
        };
        let at =
            |path: &str, anchor: Option<&str>| url(&context(Some("https://x.example/help/")), path, anchor);
        for (path, anchor, expected) in [
            ("docs/a b/ü.md", Some("c-d"), "https://x.example/help/a%20b/%C3%BC.md#c-d"),
            ("docs/faq/list.html", None, "https://x.example/help/list.html"),
            ("note.txt", Some("größe"), "https://x.example/help/note.txt#gr%C3%B6%C3%9Fe"),
        ] {
            assert_eq!(at(path, anchor).as_deref(), Some(expected));
        }
        assert_eq!(url(&context(None), "docs/x.md", None), None);
    }
}
