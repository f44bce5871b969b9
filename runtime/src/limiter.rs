//! How often something may be asked for: a bucket of tokens for each who asks, refilled steadily.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Above this many who ask, those with full buckets are forgotten.
const MOST: usize = 10_000;

/// Buckets by who asks.
#[derive(Debug)]
pub(crate) struct Limiter<K> {
    per_minute: f64,
    buckets: Mutex<HashMap<K, (f64, Instant)>>,
}

impl<K: Hash + Eq> Limiter<K> {
    /// At most `per_minute` at once and per minute.
    pub(crate) fn new(per_minute: u64) -> Limiter<K> {
        let per_minute = u32::try_from(per_minute).unwrap_or(u32::MAX);
        Limiter { per_minute: per_minute.into(), buckets: Mutex::default() }
    }

    /// Takes one token of `who`.
    ///
    /// # Errors
    /// None is left: how long until there is one, a minute at most.
    pub(crate) fn take(&self, who: K, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = |tokens: f64, since: Instant| {
            let seconds = now.saturating_duration_since(since).as_secs_f64();
            (tokens + seconds * self.per_minute / 60.0).min(self.per_minute)
        };
        if buckets.len() >= MOST && !buckets.contains_key(&who) {
            buckets.retain(|_, (tokens, since)| filled(*tokens, *since) < self.per_minute);
        }
        let bucket = buckets.entry(who).or_insert((self.per_minute, now));
        let tokens = filled(bucket.0, bucket.1);
        let allowed = tokens >= 1.0;
        *bucket = (if allowed { tokens - 1.0 } else { tokens }, now);
        let wait = (1.0 - tokens) * 60.0 / self.per_minute;
        if allowed { Ok(()) } else { Err(Duration::from_secs_f64(wait.clamp(0.0, 60.0))) }
    }
}

/// One customer's line: an IPv4 address, or the first half of an IPv6 one.
pub(crate) fn network(address: IpAddr) -> IpAddr {
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
        let start = Instant::now();
        assert_eq!([limiter.take("a", start), limiter.take("a", start)], [Ok(()), Ok(())]);
        assert_eq!(limiter.take("a", start), Err(Duration::from_secs(30)));
        assert_eq!(limiter.take("b", start), Ok(()));
        let later = start + Duration::from_secs(31);
        assert_eq!(limiter.take("a", later), Ok(()));
        assert!(limiter.take("a", later).is_err_and(|wait| wait < Duration::from_secs(30)));
        assert_eq!(Limiter::new(0).take("a", start), Err(Duration::from_secs(60)));
    }

    #[test]
    fn addresses_of_one_line() {
        let parse = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(network(parse("2001:db8::1")), network(parse("2001:db8::ffff:1")));
        assert_ne!(network(parse("2001:db8::1")), network(parse("2001:db8:0:1::1")));
        assert_eq!(network(parse("::ffff:10.0.0.1")), parse("10.0.0.1"));
    }
}
