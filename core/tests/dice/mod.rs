//! Random numbers that are the same on every machine. `MINDSET_SOAK=1` makes the
//! tests that use them long; a failure names its seed, and with that as
//! `MINDSET_SEED` it comes first.

/// A seeded generator (SplitMix64): the same numbers on every machine.
#[derive(Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to `n` - 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.roll() % n
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::try_from(self.below(list.len() as u64)).unwrap()]
    }
}

/// Whether the tests may take long.
pub fn is_soaked() -> bool {
    #[allow(clippy::disallowed_methods)]
    let soak = std::env::var_os("MINDSET_SOAK");
    soak.is_some()
}

#[cfg(not(target_arch = "wasm32"))]
pub fn seeds() -> std::ops::Range<u64> {
    #[allow(clippy::disallowed_methods)]
    let env = |name: &str| std::env::var(name).ok();
    let first = env("MINDSET_SEED").and_then(|s| s.parse().ok()).unwrap_or(0);
    let count = if is_soaked() { 20_000 } else { 400 };
    first..first.saturating_add(count)
}

#[cfg(target_arch = "wasm32")]
pub fn seeds() -> std::ops::Range<u64> {
    0..400
}

/// Tells the seed when a test panics.
pub struct Named(pub u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with seed {}", self.0);
        }
    }
}
