//! Core against public conformance data and recorded streams; see `tests/`.
//!
//! The data is in the test binary, so that the same tests run natively and on
//! wasm32.

include!(concat!(env!("OUT_DIR"), "/fixtures.rs"));
