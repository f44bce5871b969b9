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

/// A generator of test data: the same seed gives the same data.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Debug)]
pub struct Random(u64);

#[cfg(not(target_arch = "wasm32"))]
impl Random {
    /// Begins at [`seed`].
    pub fn seeded() -> Random {
        Random(seed())
    }

    /// A number below `n`, 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0.checked_rem(n as u64).unwrap_or(0)).unwrap_or(0)
    }

    /// One of `items`, an empty text if there is none.
    pub fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items.get(self.below(items.len())).copied().unwrap_or("")
    }
}
