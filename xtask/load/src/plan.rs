//! What is to be measured: how many streams, how fast, of what server.

use std::time::Duration;

use mindset_core::json::{self, Value};

/// The dialect of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// AG-UI, with what our runtime wants in a request.
    Mindset,
    /// `data: { "delta": … }` and at the end `data: { "done": true }`.
    Plain,
    /// The stream of UI messages of the Vercel AI SDK.
    Ai,
}

/// The whole plan.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    /// `host:port`.
    pub(crate) address: String,
    pub(crate) streams: usize,
    /// Timed events of each stream; a last one follows after one more pace.
    pub(crate) events: usize,
    pub(crate) pace: Duration,
    /// Over this time the streams are opened, at equal distances.
    pub(crate) ramp: Duration,
    /// Key of the app, for sign-ins; empty if the server knows no users.
    pub(crate) key: String,
    pub(crate) app: String,
    pub(crate) agent: String,
}

impl Plan {
    /// Reads it.
    ///
    /// # Errors
    /// What is missing.
    pub(crate) fn read(text: &str) -> Result<Plan, String> {
        let value = json::parse(text).map_err(|error| error.to_string())?;
        let word = |name: &str| value.str(name).unwrap_or_default().to_owned();
        let number = |name: &str| {
            value.get(name).and_then(Value::as_u64).ok_or_else(|| format!("the plan has no number `{name}`"))
        };
        let count = |name: &str| number(name).map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        Ok(Plan {
            kind: match value.str("kind") {
                Some("mindset") => Kind::Mindset,
                Some("plain") => Kind::Plain,
                Some("ai") => Kind::Ai,
                _ => return Err("the plan has no `kind`: mindset, plain or ai".to_owned()),
            },
            address: word("address"),
            streams: count("streams")?,
            events: count("events")?,
            pace: Duration::from_millis(number("pace")?),
            ramp: Duration::from_millis(number("ramp")?),
            key: word("key"),
            app: word("app"),
            agent: word("agent"),
        })
    }

    /// When a stream should start, from the beginning.
    pub(crate) fn start_of(&self, number: usize) -> Duration {
        self.ramp.mul_f64(number as f64 / self.streams.max(1) as f64)
    }

    /// How long the whole takes when nothing is ever late.
    pub(crate) fn ideal(&self) -> Duration {
        self.start_of(self.streams.saturating_sub(1)) + self.end()
    }

    /// How long one stream takes when nothing is ever late.
    pub(crate) fn end(&self) -> Duration {
        self.pace.saturating_mul(u32::try_from(self.events).unwrap_or(u32::MAX).saturating_add(1))
    }
}
