//! The wall clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mindset_core::Millis;

/// Milliseconds since the epoch, now.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
