//! How often an address may ask for an anonymous session: a bucket of tokens for
//! each, refilled steadily.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Above this many addresses, those with full buckets are forgotten.
const MAX_ADDRESSES: usize = 10_000;

/// Buckets by address.
#[derive(Debug)]
pub(crate) struct Limiter {
    per_minute: f64,
    buckets: Mutex<HashMap<IpAddr, (f64, Instant)>>,
}

impl Limiter {
    /// At most `per_minute` at once and per minute.
    pub(crate) fn new(per_minute: u64) -> Limiter {
        let per_minute = u32::try_from(per_minute).unwrap_or(u32::MAX);
        Limiter { per_minute: per_minute.into(), buckets: Mutex::default() }
    }

    /// Takes one token of the address.
    ///
    /// # Errors
    /// None is left: how long until there is one, a minute at most.
    pub(crate) fn take(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = |tokens: f64, since: Instant| {
            let seconds = now.saturating_duration_since(since).as_secs_f64();
            (tokens + seconds * self.per_minute / 60.0).min(self.per_minute)
        };
        if buckets.len() >= MAX_ADDRESSES {
            buckets.retain(|_, (tokens, since)| filled(*tokens, *since) < self.per_minute);
        }
        let bucket = buckets.entry(network(address)).or_insert((self.per_minute, now));
        let tokens = filled(bucket.0, bucket.1);
        let allowed = tokens >= 1.0;
        *bucket = (if allowed { tokens - 1.0 } else { tokens }, now);
        let wait = (1.0 - tokens) * 60.0 / self.per_minute;
        if allowed { Ok(()) } else { Err(Duration::from_secs_f64(wait.clamp(0.0, 60.0))) }
    }
}

/// One customer's line: an IPv4 address, or the first half of an IPv6 one.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_dry_and_refills() {
        let limiter = Limiter::new(2);
        let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let start = Instant::now();
        assert_eq!([limiter.take(a, start), limiter.take(a, start)], [Ok(()), Ok(())]);
        assert_eq!(limiter.take(a, start), Err(Duration::from_secs(30)));
        assert_eq!(limiter.take(b, start), Ok(()));
        let later = start + Duration::from_secs(31);
        assert_eq!(limiter.take(a, later), Ok(()));
        assert!(limiter.take(a, later).is_err_and(|wait| wait < Duration::from_secs(30)));
        assert_eq!(Limiter::new(0).take(a, start), Err(Duration::from_secs(60)));
    }
}
