//! What operators see of the server: numbers at `/metrics`, traces, and whether it is ready. No
//! user, no message and no secret is in any of them.

pub(crate) mod metrics;
mod operations;
mod otlp;
mod run;
pub(crate) mod trace;

pub use operations::Operations;
pub(crate) use run::RunWatch;
