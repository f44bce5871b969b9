//! Who is calling: user tokens, API keys, and the bearer check.
//!
//! Tokens are JWTs with HS256. The algorithm is not negotiable: a token counts
//! only if its header is, byte for byte, the one written here, so `alg: none`
//! and every other confusion of algorithms is out before anything is decoded.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mindset_core::Millis;
use mindset_core::error::ErrorCode;
use mindset_core::json::{self, Value};
use mindset_core::object;
use ring::hmac;

use crate::config::{App, Secret};
use crate::error::{ApiError, ApiResult};
use crate::ids;

/// `{"alg":"HS256","typ":"JWT"}`.
const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

/// The claim with the moment of issue in milliseconds: `iat` has the second only, and more than
/// one token and sign-out fit into it.
const ISSUED: &str = "ms";

/// No token is good for longer.
pub(crate) const MAX_LIFETIME: Millis = 3_600_000;

/// No token of ours is longer.
const MAX_TOKEN: usize = 4096;

/// Signs and checks tokens.
#[derive(Debug)]
pub(crate) struct Tokens {
    key: hmac::Key,
    lifetime: Duration,
    /// From when on the tokens of users who signed out of late are good again. Older ones have
    /// ended by themselves, so what is left in memory is short and asked at every request.
    good_from: Mutex<HashMap<String, Millis>>,
}

/// A user of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    /// The app.
    pub(crate) app: String,
    /// The user's id in the store.
    pub(crate) id: String,
    /// Whether they came without a token of the customer's backend.
    pub(crate) anonymous: bool,
}

/// A signed token.
#[derive(Debug)]
pub(crate) struct Token {
    /// The token itself.
    pub(crate) text: Secret,
    /// When it stops being good.
    pub(crate) expires_at: Millis,
}

impl Tokens {
    /// Signs with `secret`; tokens are good for `lifetime`.
    pub(crate) fn new(secret: &Secret, lifetime: Duration) -> Tokens {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        Tokens { key, lifetime, good_from: Mutex::default() }
    }

    fn good_from(&self) -> MutexGuard<'_, HashMap<String, Millis>> {
        self.good_from.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the store knows of users who signed out: each with the moment from which on tokens
    /// are good.
    pub(crate) fn remember(&self, signed_out: Vec<(String, Millis)>) {
        self.good_from().extend(signed_out);
    }

    /// Tokens that the user has got so far are good no more; gives the moment from which on
    /// new ones are, for the store.
    pub(crate) fn revoke(&self, user: &User, now: Millis) -> Millis {
        let mut good_from = self.good_from();
        let before = good_from.get(&user.id).copied().unwrap_or(0);
        // Later than every token of this millisecond, and than those after an earlier sign-out.
        let from = now.max(before) + 1;
        good_from.retain(|_, from| *from + MAX_LIFETIME > now);
        good_from.insert(user.id.clone(), from);
        from
    }

    /// A token for `user`.
    pub(crate) fn issue(&self, user: &User, now: Millis) -> Token {
        // A token that follows a sign-out at once is a token after it.
        let now = self.good_from().get(&user.id).map_or(now, |from| now.max(*from));
        let issued = now / 1000;
        let expires = issued + self.lifetime.as_secs();
        let mut claims = object! {
            "sub": user.id.as_str(), "aud": user.app.as_str(), "iat": issued, "exp": expires,
            "jti": ids::uuid(),
        };
        claims.insert(ISSUED, now);
        if user.anonymous {
            claims.insert("anonymous", true);
        }
        let mut text = format!("{HEADER}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let signature = hmac::sign(&self.key, text.as_bytes());
        text.push('.');
        text.push_str(&URL_SAFE_NO_PAD.encode(signature));
        Token { text: Secret::new(text), expires_at: expires * 1000 }
    }

    /// Whose token this is.
    ///
    /// # Errors
    /// `auth-expired` for a token of ours past its end, else `invalid-auth`.
    pub(crate) fn verify(&self, token: &str, now: Millis) -> ApiResult<User> {
        let invalid = || {
            ApiError::new(
                ErrorCode::InvalidAuth,
                "The token is not one of this server. Get a new one from the sdkusers/auth or anonymous call.",
            )
        };
        let claims = self.signed_claims(token).ok_or_else(invalid)?;
        let field =
            |key| claims.get(key).and_then(Value::as_str).filter(|s| !s.is_empty()).map(str::to_owned);
        let (id, app) = field("sub").zip(field("aud")).ok_or_else(invalid)?;
        let expires = claims.get("exp").and_then(Value::as_u64).ok_or_else(invalid)?;
        if expires <= now / 1000 {
            return Err(ApiError::new(
                ErrorCode::AuthExpired,
                "The token has expired. Get a new one and try again.",
            ));
        }
        // Tokens of earlier versions have the second only.
        let number = |key| claims.get(key).and_then(Value::as_u64);
        let issued = number(ISSUED).or_else(|| number("iat").map(|seconds| seconds * 1000)).unwrap_or(0);
        if self.good_from().get(&id).is_some_and(|from| issued < *from) {
            let message = "The token ended with a sign-out. Get a new one and try again.";
            return Err(ApiError::new(ErrorCode::InvalidAuth, message));
        }
        let anonymous = claims.get("anonymous").and_then(Value::as_bool).unwrap_or(false);
        Ok(User { app, id, anonymous })
    }

    fn signed_claims(&self, token: &str) -> Option<Value> {
        let signed_len = token.rfind('.').filter(|_| token.len() <= MAX_TOKEN)?;
        let (signed, signature) = token.split_at_checked(signed_len)?;
        let payload = signed.strip_prefix(HEADER)?.strip_prefix('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature.strip_prefix('.')?).ok()?;
        hmac::verify(&self.key, signed.as_bytes(), &signature).ok()?;
        let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
        json::parse(std::str::from_utf8(&payload).ok()?).ok()
    }

    /// The user behind a request's `Authorization: Bearer`.
    ///
    /// # Errors
    /// `invalid-auth` or `auth-expired`.
    pub(crate) fn bearer(&self, headers: &HeaderMap, now: Millis) -> ApiResult<User> {
        let value = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
        let token = value
            .and_then(|v| v.split_at_checked(7))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer "))
            .map(|(_, token)| token.trim());
        let token = token.ok_or_else(|| {
            ApiError::new(
                ErrorCode::InvalidAuth,
                "The request has no token. Send it as `Authorization: Bearer ...`.",
            )
        })?;
        self.verify(token, now)
    }
}

/// Checks the `x-api-key` of a customer's backend. An unknown app and a wrong key
/// answer alike, and in the same time.
///
/// # Errors
/// `invalid-auth`.
pub(crate) fn check_api_key<'a>(app: Option<&'a App>, headers: &HeaderMap) -> ApiResult<&'a App> {
    let given = headers.get("x-api-key").map(|v| v.as_bytes()).unwrap_or_default();
    // Comparing signatures under a key of one moment takes the same time for every input.
    let key = hmac::Key::new(hmac::HMAC_SHA256, ids::key::<32>().as_bytes());
    let given_tag = hmac::sign(&key, given);
    let mut good = false;
    for known in app.map(|a| a.api_keys.as_slice()).unwrap_or_default() {
        good |= hmac::verify(&key, known.expose().as_bytes(), given_tag.as_ref()).is_ok();
    }
    if let Some(app) = app.filter(|_| good && !given.is_empty()) {
        return Ok(app);
    }
    let message = "The x-api-key header is missing or is no key of this app. Compare it with api_keys in the configuration.";
    Err(ApiError::new(ErrorCode::InvalidAuth, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = 1_796_011_569_000;

    fn tokens() -> Tokens {
        Tokens::new(&Secret::new("0123456789abcdef0123456789abcdef"), Duration::from_secs(60))
    }

    fn user() -> User {
        User { app: "demo".into(), id: "u1".into(), anonymous: true }
    }

    #[test]
    fn a_token_reads_back_until_its_end() {
        let token = tokens().issue(&user(), NOW);
        assert_eq!(token.expires_at, NOW + 60_000);
        assert_eq!(tokens().verify(token.text.expose(), NOW + 59_000).unwrap(), user());
        assert!(tokens().verify(token.text.expose(), NOW + 60_000).is_err());
    }

    #[test]
    fn forged_tokens_are_refused() {
        let good = tokens().issue(&user(), NOW).text.expose().to_owned();
        let (signed, signature) = good.rsplit_once('.').unwrap();
        let payload = signed.split('.').nth(1).unwrap();
        let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
        let other_payload = URL_SAFE_NO_PAD.encode(r#"{"sub":"u2","aud":"demo","exp":99999999999}"#);
        let foreign =
            Tokens::new(&Secret::new("another secret of thirty-two bytes"), Duration::from_secs(60));
        for bad in [
            String::new(),
            "...".into(),
            signed.to_owned(),
            format!("{signed}."),
            format!("{none}.{payload}."),
            format!("{none}.{payload}.{signature}"),
            format!("{HEADER}.{other_payload}.{signature}"),
            format!("{good}x"),
            format!("{good}.{signature}"),
            foreign.issue(&user(), NOW).text.expose().to_owned(),
            "é".repeat(5000),
        ] {
            assert!(tokens().verify(&bad, NOW).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_sign_out_ends_what_was_issued_before_and_nothing_after() {
        let tokens = tokens();
        let other = User { id: "u2".into(), ..user() };
        let theirs = tokens.issue(&other, NOW);
        let good = |token: &Token, now| tokens.verify(token.text.expose(), now).is_ok();
        // All of it in one millisecond, with a clock that even goes back.
        let mut before = vec![tokens.issue(&user(), NOW)];
        for now in [NOW, NOW, NOW - 5, NOW + 7] {
            tokens.revoke(&user(), now);
            assert!(before.iter().all(|token| !good(token, now)));
            let after = tokens.issue(&user(), now);
            assert!(good(&after, now) && good(&theirs, now));
            before.push(after);
        }
        // After a restart the store tells it again.
        let again = Tokens::new(&Secret::new("0123456789abcdef0123456789abcdef"), Duration::from_secs(60));
        assert!(again.verify(before[0].text.expose(), NOW).is_ok());
        again.remember(vec![("u1".into(), NOW + 1)]);
        assert!(again.verify(before[0].text.expose(), NOW).is_err());
    }

    #[test]
    fn the_header_is_what_it_says() {
        assert_eq!(URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#), HEADER);
    }
}
