//! Markdown as it streams in: CommonMark 0.31 and GFM to a closed vocabulary of
//! [`Node`]s, told as a small program of [`Change`]s for a drawer that keeps a stack
//! of open nodes.
//!
//! A [`Document`] is one message. What was drawn of a finished block is never touched
//! again, and a push costs what it brings, however long the message already is. Text
//! that may still turn out to be a marker is kept back until that is known; nothing is
//! drawn that is not in the source. Raw HTML is text. Any cutting of the same text into
//! pieces ends in the same tree.
//!
//! One exception: a reference may be defined behind the block that uses it. While text
//! streams, references are known from their definition on; when the message is finished,
//! blocks that use a later one are drawn again ([`Change::Return`]).

mod autolink;
mod block;
mod change;
mod document;
mod draw;
mod entity;
mod inline;
pub mod link;
mod math;
mod reference;
mod scan;

pub use change::{Align, Change, Node};
pub use document::{Document, Options};
