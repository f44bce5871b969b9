//! What agents can look up: files of the configuration, cut into pieces, indexed in
//! the store at the start, and offered to the model as a search.

mod entities;
mod files;
mod html;
mod markdown;
mod open;
mod outline;
mod words;

use std::collections::BTreeSet;

use mindset_core::event::ToolSource;
use mindset_core::json::Value;
use mindset_core::object;
use mindset_core::turn::{ServerTool, Source, ToolOutcome, ToolRequest};

pub(crate) use files::File;
pub(crate) use outline::Piece;
pub(crate) use words::indexed;

use crate::config::{Config, Context};
use crate::store::{OpenError, Store, StoreError};

/// What the model calls the search.
pub(crate) const TOOL: &str = "search_knowledge";

/// Pieces of one answer at most.
const PIECES: u64 = 6;

/// Bytes of changed files that are in memory at once.
const HELD: usize = 32 * 1024 * 1024;

/// The searchable contexts of all apps.
#[derive(Debug)]
pub(crate) struct Knowledge {
    store: Store,
    contexts: Vec<(String, Context)>,
}

impl Knowledge {
    /// Brings the index up to the files: new and changed ones are read, those that are
    /// gone leave.
    ///
    /// # Errors
    /// A file cannot be read, or the database failed: a sentence that says which.
    pub(crate) async fn open(store: Store, config: &Config) -> Result<Knowledge, OpenError> {
        let contexts: Vec<(String, Context)> = config
            .apps
            .iter()
            .flat_map(|app| app.contexts.iter().map(|context| (app.uid.clone(), context.clone())))
            .collect();
        let keep: Vec<(&str, &str)> =
            contexts.iter().map(|(app, context)| (app.as_str(), context.uid.as_str())).collect();
        store.keep_contexts(&keep).await.map_err(|e| database(&e))?;
        for (app, context) in &contexts {
            index(&store, app, context).await?;
        }
        Ok(Knowledge { store, contexts })
    }

    /// The search in these contexts of an app; `None` if there are none.
    pub(crate) fn tool(&self, app: &str, uids: &[String]) -> Option<ServerTool> {
        let titles = self.titles(app, uids);
        if titles.is_empty() {
            return None;
        }
        let titles = titles.join(", ");
        let parameters = object! {
            "type": "object",
            "properties": object! {
                "query": object! {
                    "type": "string", "minLength": 1_u64, "maxLength": 1000_u64,
                    "description": "What to look for: the words that matter, in the language of the texts.",
                },
                "limit": object! {
                    "type": "integer", "minimum": 1_u64, "maximum": PIECES,
                    "description": "How many passages at most.",
                },
            },
            "required": vec![Value::from("query")],
            "additionalProperties": false,
        };
        Some(ServerTool {
            source: ToolSource::Builtin,
            server: None,
            name: TOOL.to_owned(),
            description: format!(
                "Searches {titles} and gives the passages that fit best. Use it before answering questions that \
                 these may answer, and cite what you use by its marker, such as [1]."
            ),
            title: Some(format!("Search in {titles}")),
            parameters: Some(parameters.into()),
            read_only: true,
        })
    }

    /// Runs one search in these contexts of an app, and in no others.
    pub(crate) async fn search(&self, app: &str, uids: &[String], request: &ToolRequest) -> ToolOutcome {
        let arguments = request.arguments.expose();
        let Some(query) = arguments.str("query") else {
            return ToolOutcome::Failed("The search needs a `query`. Call it again with one.".to_owned());
        };
        let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(PIECES).clamp(1, PIECES);
        let found = match words::asked(query) {
            Some(expression) => self.store.search_knowledge(app, uids, &expression, limit).await,
            None => Ok(Vec::new()),
        };
        match found {
            Ok(found) if found.is_empty() => ToolOutcome::Done {
                content: format!(
                    "Nothing was found in {}. Try other words; if nothing helps, say that it is not written there.",
                    self.titles(app, uids).join(", ")
                ),
                sources: Vec::new(),
                widgets: Vec::new(),
            },
            Ok(found) => {
                let sources = found.into_iter().map(|hit| self.source(app, hit)).collect();
                ToolOutcome::Done { content: String::new(), sources, widgets: Vec::new() }
            }
            Err(error) => {
                tracing::error!(%error, "a search in the knowledge failed");
                ToolOutcome::Failed("The search does not work at the moment. Answer without it.".to_owned())
            }
        }
    }

    fn titles(&self, app: &str, uids: &[String]) -> Vec<&str> {
        let own = self.contexts.iter().filter(|(of, context)| of == app && uids.contains(&context.uid));
        own.map(|(_, context)| context.title.as_str()).collect()
    }

    fn source(&self, app: &str, hit: Hit) -> Source {
        let context = self.contexts.iter().find(|(of, context)| of == app && context.uid == hit.context);
        let url = context.and_then(|(_, context)| files::url(context, &hit.path, hit.anchor.as_deref()));
        Source { title: hit.piece, url, text: hit.text }
    }
}

/// Brings the index of one context up to its files.
async fn index(store: &Store, app: &str, context: &Context) -> Result<(), OpenError> {
    let files = files::find(context).map_err(OpenError)?;
    let known = store.knowledge_files(app, &context.uid).await.map_err(|e| database(&e))?;
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut gone: Vec<String> = known.keys().filter(|path| !paths.contains(path.as_str())).cloned().collect();
    let (mut changed, mut held, mut read) = (Vec::new(), 0, 0_u64);
    for mut file in files {
        file.read().map_err(OpenError)?;
        let hash = known.get(&file.path);
        if hash == Some(&file.hash) {
            continue;
        }
        gone.extend(hash.map(|_| file.path.clone()));
        (held, read) = (held + file.size(), read + 1);
        changed.push(file);
        if held >= HELD {
            store.index_files(app, &context.uid, &gone, &changed).await.map_err(|e| database(&e))?;
            (gone, changed, held) = (Vec::new(), Vec::new(), 0);
        }
    }
    tracing::debug!(context = context.uid, files = read, "context indexed");
    store.index_files(app, &context.uid, &gone, &changed).await.map_err(|e| database(&e))
}

fn database(error: &StoreError) -> OpenError {
    OpenError(format!("The database failed: {error}. Check its disk, and start the server again."))
}

/// A piece that a search has found.
#[derive(Debug)]
pub(crate) struct Hit {
    /// The context's uid.
    pub(crate) context: String,
    /// The file.
    pub(crate) path: String,
    /// The piece's title.
    pub(crate) piece: String,
    /// Where in the file it begins.
    pub(crate) anchor: Option<String>,
    /// What it says.
    pub(crate) text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of random pieces, the same ones every time.
    fn random(pieces: &[&str], count: usize) -> impl Iterator<Item = String> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        let pieces: Vec<String> = pieces.iter().map(|p| (*p).to_owned()).collect();
        (0..count).map(move |_| (0..next(60)).map(|_| pieces[next(pieces.len())].as_str()).collect())
    }

    #[test]
    fn any_document_comes_to_pieces_that_fit() {
        let pieces = [
            "<",
            ">",
            "</",
            "/>",
            "h1",
            "<h2 id=\"",
            "'",
            "\"",
            "<!--",
            "-->",
            "<script>",
            "</script",
            "<nav>",
            "<pre>",
            "</pre>",
            "&",
            "amp;",
            "&#x",
            ";",
            "#",
            "## ",
            "\n",
            "\n\n",
            "```",
            "~~~",
            "---\n",
            "title: ",
            "===",
            "](",
            "[",
            ")",
            "{#",
            "}",
            "é",
            "日本",
            "🎉",
            "\u{0}",
            "\u{feff}",
            " ",
            "word ",
            "a. ",
            "=",
            "<li>",
            "<td",
        ];
        for text in random(&pieces, 3000) {
            for piece in markdown::read("n", &text).into_iter().chain(html::read("n", &text)) {
                assert!(!piece.text.is_empty() && piece.text.chars().count() <= 2000, "{text:?}");
                assert!(!piece.title.is_empty(), "{text:?}");
            }
        }
    }

    #[tokio::test]
    async fn no_question_is_a_command() {
        let file = std::env::temp_dir().join(format!("mindset-words-{}.db", std::process::id()));
        let store = Store::open(&file).await.unwrap();
        let pieces = [
            "\"",
            "'",
            "*",
            "(",
            ")",
            "AND ",
            "OR ",
            "NOT ",
            "NEAR(",
            ":",
            "^",
            "-",
            "+",
            "{",
            "}",
            ",",
            "title:",
            "\\",
            ";",
            "\u{0}",
            "é",
            "e\u{301}",
            "日",
            "本語",
            "ß",
            "🎉",
            "ﬁ",
            "İ",
            "ǅ",
            "١",
            "²",
            "½",
            "word",
            "a",
            " ",
            "_",
            "ー",
            "\u{200d}",
            "\u{202e}",
            "\u{e000}",
            "\u{10ffff}",
            "क्ष",
            "ไทย",
        ];
        for question in random(&pieces, 1000) {
            if let Some(expression) = words::asked(&question) {
                let found = store.search_knowledge("a", &["c".to_owned()], &expression, 6).await;
                assert!(found.is_ok_and(|hits| hits.is_empty()), "{question:?} {expression}");
            }
        }
        store.close().await;
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", file.display()));
        }
    }
}
