//! The pure core of mindset-agent: a browser SDK and an agent runtime are one
//! protocol seen from its two ends, and everything that can be decided without
//! I/O is decided here, once.
//!
//! No I/O, no clock, no randomness, no environment, no logging: time ([`Millis`])
//! and fresh ids ([`NextId`]) come in as arguments, effects go out as values.
//! Nothing here panics on any input.

pub mod agui;
pub mod awareness;
pub mod error;
pub mod event;
pub mod json;
pub mod limits;
pub mod markdown;
pub mod passthrough;
pub mod questionnaire;
pub mod queue;
pub mod result;
pub mod schema;
pub mod session;
pub mod sse;
pub mod time;
pub mod turn;
pub mod view;
pub mod widget;

#[cfg(test)]
extern crate self as mindset_core;

#[cfg(test)]
#[path = "../tests/patterns/mod.rs"]
mod patterns;

/// Milliseconds since the Unix epoch, as the adapter's clock tells them.
pub type Millis = u64;

/// Where a machine takes fresh ids from: the adapter gives random UUIDs, tests a
/// counter. Every call returns an id never returned before.
pub trait NextId {
    /// The next id.
    fn next_id(&mut self) -> String;
}

impl<F: FnMut() -> String> NextId for F {
    fn next_id(&mut self) -> String {
        self()
    }
}
