//! The agent runtime: an AG-UI server with conversations, real models and an
//! embedded store.
//!
//! It is the thin half of two: what can be decided without I/O is decided in
//! `mindset_core::turn`; this crate listens, stores, calls models and keeps time.

mod app;
mod assets;
mod auth;
mod client;
mod clock;
pub mod config;
mod cors;
mod dev;
mod error;
mod ids;
mod knowledge;
mod limiter;
mod limits;
mod managed;
mod mcp;
mod model;
mod observe;
mod pattern;
mod permissions;
mod routes;
mod run;
mod serve;
mod store;
mod tools;
mod uploads;

pub use app::App;
pub use model::DISCLOSURE;
pub use observe::Operations;
pub use store::OpenError;
