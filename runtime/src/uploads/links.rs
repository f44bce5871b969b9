//! Addresses that give a file to whoever has them, for a while.

use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mindset_core::Millis;
use ring::hmac;

use crate::config::Secret;

/// What sets these signatures apart from others under the same secret.
const PURPOSE: &[u8] = b"mindset uploads: links, version 1";

/// Signs addresses and checks them.
#[derive(Debug)]
pub(crate) struct Links {
    key: hmac::Key,
    lifetime: Duration,
    base: OnceLock<String>,
}

/// Why an address opens nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Nobody signed it, or it was changed.
    Forged,
    /// Its time is over.
    Expired,
}

impl Links {
    /// Signs with a key of its own, made of the server's secret.
    pub(crate) fn new(secret: &Secret, lifetime: Duration) -> Links {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes()), PURPOSE);
        Links { key: hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()), lifetime, base: OnceLock::new() }
    }

    /// From now on addresses begin so. The first call counts.
    pub(crate) fn begin_with(&self, base: String) {
        let _ = self.base.set(base);
    }

    /// The address of a file, good from now on for the lifetime.
    pub(crate) fn link(&self, id: &str, now: Millis) -> String {
        // Rounded up: no shorter than promised.
        let expires = now.div_ceil(1000).saturating_add(self.lifetime.as_secs());
        let base = self.base.get().map_or("", String::as_str);
        format!("{base}/v1/uploads/{id}?expires={expires}&signature={}", self.sign(id, expires))
    }

    fn sign(&self, id: &str, expires: u64) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.key, format!("{id}\n{expires}").as_bytes()))
    }

    /// Whether the address of a file is one of ours and still good.
    pub(crate) fn check(&self, id: &str, expires: &str, signature: &str, now: Millis) -> Result<(), Refused> {
        let plain = !expires.is_empty() && expires.bytes().all(|b| b.is_ascii_digit());
        let at: u64 = expires.parse().ok().filter(|_| plain).ok_or(Refused::Forged)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Refused::Forged)?;
        hmac::verify(&self.key, format!("{id}\n{expires}").as_bytes(), &signature)
            .map_err(|_| Refused::Forged)?;
        if now >= at.saturating_mul(1000) { Err(Refused::Expired) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_opens() {
        let links = Links::new(&Secret::new("s".repeat(32)), Duration::from_secs(60));
        links.begin_with("https://chat.example/sub".into());
        let link = links.link("id-1", 1_500);
        let rest =
            link.strip_prefix("https://chat.example/sub/v1/uploads/id-1?expires=62&signature=").unwrap();
        let check = |id: &str, expires: &str, signature: &str, now| links.check(id, expires, signature, now);
        assert_eq!(check("id-1", "62", rest, 61_999), Ok(()));
        assert_eq!(check("id-1", "62", rest, 62_000), Err(Refused::Expired));
        for (id, expires, signature) in [
            ("id-2", "62", rest),
            ("id-1", "63", rest),
            ("id-1", "062", rest),
            ("id-1", "+62", rest),
            ("id-1", "", rest),
            ("id-1", "62", ""),
            ("id-1", "62", "AAAA"),
            ("id-1\n62", "62", rest),
            ("id-1", "99999999999999999999", rest),
        ] {
            assert_eq!(check(id, expires, signature, 0), Err(Refused::Forged), "{id} {expires} {signature}");
        }
        let other = Links::new(&Secret::new("t".repeat(32)), Duration::from_secs(60));
        assert_eq!(other.check("id-1", "62", rest, 0), Err(Refused::Forged));
        assert!(!format!("{links:?}").contains("ssss"));
    }
}
