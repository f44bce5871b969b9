//! Core against public conformance data and recorded streams; see `tests/`.
//!
//! The data is in the test binary, so that the same tests run natively and on
//! wasm32.

include!(concat!(env!("OUT_DIR"), "/fixtures.rs"));

/// Where a test's random cases begin: the number in `MINDSET_SEED`, or always the
/// same. Never zero.
#[cfg(not(target_arch = "wasm32"))]
pub fn seed() -> u64 {
    let given = std::env::var("MINDSET_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    given.unwrap_or(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}
