//! Situational awareness: what the person is looking at. Its text goes into the
//! system prompt of one message, as one delimited block, and is stored nowhere.

use crate::agui::Context;
use crate::error::{ErrorCode, ErrorInfo};
use crate::json::{concat, digits};

/// Characters (Unicode scalar values) a page may set.
pub const LIMIT: usize = 10_000;

/// The same for pages with `extendedSituationalAwareness`; nobody gets more.
pub const EXTENDED_LIMIT: usize = 20_000;

/// The `description` of the context entry that carries it.
pub const DESCRIPTION: &str = "situational_awareness";

/// Checks the JSON text of a page's awareness.
///
/// # Errors
/// `situational-awareness-too-large`, with both numbers.
pub fn check(text: &str, limit: usize) -> Result<(), ErrorInfo> {
    let characters = text.chars().count();
    if characters <= limit { Ok(()) } else { Err(too_large(characters, limit)) }
}

/// The refusal of text with so many characters.
pub fn too_large(characters: usize, limit: usize) -> ErrorInfo {
    let message = concat(&[
        "The situational awareness has ",
        &digits(characters as u64),
        " characters as JSON, the limit is ",
        &digits(limit as u64),
        ". Send less of it.",
    ]);
    ErrorInfo::new(ErrorCode::SituationalAwarenessTooLarge, message)
        .with("characters", characters as u64)
        .with("limit", limit as u64)
}

/// The context entry for the JSON text of an object; an empty object sends none.
pub fn entry(text: &str) -> Option<Context> {
    let empty =
        text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).is_some_and(|t| t.trim().is_empty());
    (!empty).then(|| Context { description: DESCRIPTION.to_owned(), value: text.to_owned() })
}
