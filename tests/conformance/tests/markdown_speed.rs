//! The time that Markdown takes grows with the text and no faster, also for texts that are
//! made to be slow.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../../core/tests/drawn/mod.rs"]
mod drawn;

use std::fs;
use std::sync::OnceLock;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use drawn::hard;
use mindset_core::markdown::{Document, Options};

/// Feeds a text in pieces of four characters, with a look after each.
fn stream(text: &str) -> Duration {
    let start = worked();
    let mut document = Document::new(Options::default());
    for piece in text.as_bytes().chunks(4) {
        document.push(std::str::from_utf8(piece).unwrap());
        drop(document.take_changes());
    }
    document.finish();
    drop(document.take_changes());
    worked().saturating_sub(start)
}

/// How long this thread has run: on Linux without the time when other programs did.
fn worked() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    // The kernel counts when a thread makes room.
    yield_now();
    let counted = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = counted.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

/// Eight times the text takes about eight times as long; what is quadratic takes 64 times.
/// A text has some tries, for what the machine does beside.
#[test]
fn reading_costs_what_the_text_brings() {
    const SIZE: usize = 8 * 1024;
    let mut slow = Vec::new();
    for ((name, small), (_, large)) in hard::texts(SIZE).iter().zip(hard::texts(SIZE * 8)) {
        let mut few = Duration::MAX;
        let mut many = Duration::MAX;
        let fast = (0..8).any(|_| {
            few = few.min(stream(small));
            many = many.min(stream(&large));
            many < few * 24 + Duration::from_millis(5)
        });
        if !fast {
            slow.push(format!("{name}: {few:?}, then {many:?}"));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}
