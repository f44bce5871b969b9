//! `[[apps.contexts]]`: files that agents can search.

use super::reader::{Node, Reader};

/// Files of one context at most.
const MAX_FILES: usize = 10_000;

/// A named collection of files.
#[derive(Debug, Clone)]
pub struct Context {
    /// Its name in sessions and agents.
    pub uid: String,
    /// Its name for people and for the model.
    pub title: String,
    /// Patterns such as `docs/**/*.md`, relative to the folder the server is started in.
    pub files: Vec<String>,
    /// Where the same files can be read, ends in a slash.
    pub base_url: Option<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn contexts(&mut self, app: &Node<'a>) -> Vec<Context> {
        let nodes = self.tables(app, "contexts");
        let contexts: Vec<Context> = nodes.iter().map(|node| self.context(node)).collect();
        self.unique(&app.path("contexts"), contexts.iter().map(|c| c.uid.as_str()));
        contexts
    }

    fn context(&mut self, node: &Node<'_>) -> Context {
        self.known(node, &["uid", "title", "files", "base_url"]);
        let uid = self.uid(node);
        let files = self.list(node, "files");
        let path = node.path("files");
        if files.is_empty() {
            self.fault(&path, "no files are named", "write it as files = [\"docs/**/*.md\"]");
        }
        for pattern in &files {
            self.check_files(&path, pattern);
        }
        Context {
            title: self.text(node, "title").unwrap_or_else(|| uid.clone()),
            base_url: self.base_url(node),
            uid,
            files,
        }
    }

    fn check_files(&mut self, path: &str, pattern: &str) {
        let remedy = "write it as \"docs/**/*.md\", from the folder the server is started in";
        match glob::glob(pattern) {
            Err(error) => self.fault(path, &format!("`{pattern}` is no pattern ({})", error.msg), remedy),
            Ok(found) => match found.flatten().filter(|file| file.is_file()).take(MAX_FILES + 1).count() {
                0 => self.fault(path, &format!("no file fits `{pattern}`"), remedy),
                n if n > MAX_FILES => {
                    let problem = format!("more than {MAX_FILES} files fit `{pattern}`");
                    self.fault(path, &problem, "name a smaller folder, or split the context");
                }
                _ => {}
            },
        }
    }

    fn base_url(&mut self, node: &Node<'_>) -> Option<String> {
        let text = self.text(node, "base_url")?;
        let url = reqwest::Url::parse(&text).ok();
        let url = url.filter(|_| text.starts_with("http://") || text.starts_with("https://"));
        // It becomes part of links that everyone who talks to the agent can read.
        let problem = match url {
            None => Some("not an http or https address"),
            Some(url) if !url.username().is_empty() || url.password().is_some() => {
                Some("holds a user name or password, which every reader of a link would see")
            }
            Some(url) if url.query().is_some() || url.fragment().is_some() => {
                Some("goes on after the path with ? or #, where no file name can follow")
            }
            Some(_) => None,
        };
        if let Some(problem) = problem {
            self.fault(&node.path("base_url"), problem, "write it as \"https://docs.example/help/\"");
        }
        Some(if text.ends_with('/') { text } else { format!("{text}/") })
    }

    /// The contexts that an agent may search: those it names.
    pub(super) fn agent_contexts(&mut self, node: &Node<'_>, known: &[Context]) -> Vec<String> {
        let named = self.list(node, "contexts");
        for uid in named.iter().filter(|uid| !known.iter().any(|c| c.uid == **uid)) {
            let remedy = "add an [[apps.contexts]] table with this uid, or correct it";
            self.fault(&node.path("contexts"), &format!("the app has no context `{uid}`"), remedy);
        }
        named
    }
}
