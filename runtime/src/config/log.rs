//! `log`: how much is logged.

use tracing::level_filters::LevelFilter;

use super::reader::{Node, Reader};

/// How much is logged, each level with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// What keeps the server from doing its work.
    Error,
    /// What an operator should look into.
    Warn,
    /// Start and stop.
    Info,
    /// Runs, model calls, tools, each with how long it took.
    Debug,
    /// Every step of them.
    Trace,
}

impl LogLevel {
    const ALL: &[(LogLevel, &str)] = &[
        (LogLevel::Error, "error"),
        (LogLevel::Warn, "warn"),
        (LogLevel::Info, "info"),
        (LogLevel::Debug, "debug"),
        (LogLevel::Trace, "trace"),
    ];

    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        LogLevel::ALL.iter().find(|(level, _)| *level == self).map_or("info", |(_, word)| word)
    }

    /// As `tracing` calls it.
    pub fn filter(self) -> LevelFilter {
        match self {
            LogLevel::Error => LevelFilter::ERROR,
            LogLevel::Warn => LevelFilter::WARN,
            LogLevel::Info => LevelFilter::INFO,
            LogLevel::Debug => LevelFilter::DEBUG,
            LogLevel::Trace => LevelFilter::TRACE,
        }
    }
}

impl Reader<'_> {
    pub(super) fn log_level(&mut self, node: &Node<'_>) -> LogLevel {
        let Some(word) = self.text(node, "log") else { return LogLevel::Info };
        let found = LogLevel::ALL.iter().find(|(_, known)| *known == word).map(|(level, _)| *level);
        if found.is_none() {
            let remedy = "write \"error\", \"warn\", \"info\", \"debug\" or \"trace\"";
            self.fault(&node.path("log"), &format!("no level is called `{word}`"), remedy);
        }
        found.unwrap_or(LogLevel::Info)
    }
}
