//! Random ids and keys, and hashes of them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

/// Random bytes of the operating system.
///
/// Their source does not fail on a running system; if it did, the zeros that
/// remain would be found out by the uniqueness constraints of the store.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        tracing::error!("the operating system gives no random numbers");
    }
    bytes
}

/// A random UUID, version 4.
pub(crate) fn uuid() -> String {
    let mut n = u128::from_be_bytes(random());
    n = n & !(0xf << 76) | (4 << 76);
    n = n & !(3 << 62) | (2 << 62);
    let hex = format!("{n:032x}");
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or("");
    format!("{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

/// A random key of `N` bytes as URL-safe text.
pub(crate) fn key<const N: usize>() -> String {
    URL_SAFE_NO_PAD.encode(random::<N>())
}

/// SHA-256 as URL-safe text.
pub(crate) fn hash(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, bytes))
}

/// SHA-256 as hexadecimal digits.
pub(crate) fn hash_hex(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_version_4_and_differ() {
        let (a, b) = (uuid(), uuid());
        assert_ne!(a, b);
        assert_eq!(a.len(), 36);
        assert_eq!(a.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&a.as_bytes()[19]));
        assert_eq!(a.bytes().filter(|&c| c == b'-').count(), 4);
    }
}
