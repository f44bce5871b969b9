//! The token that the page hands out: kept in memory only, asked for once however
//! many elements wait for it.

use std::rc::{Rc, Weak};

use js_sys::{Date, Promise};
use mindset_core::Millis;
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::session::{Input, Token};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::{Auth, PAGE};
use crate::convert;
use crate::driver::{Driver, now};
use crate::effects::fetch::is_header_value;

/// A token is asked for anew this long before its end.
const EARLY: Millis = 30_000;

/// What is known of the page's token.
#[derive(Default)]
pub(super) struct Tokens {
    current: Option<Current>,
    /// Counts the tokens the page handed out.
    generation: u32,
    asking: bool,
    waiting: Vec<Weak<Driver>>,
}

struct Current {
    token: Token,
    expires_at: Option<Millis>,
}

enum Next {
    Have(Token, u32),
    Ask(Auth),
    Wait,
}

/// Gets the session a token. With `fresh` the one it got last was refused; if the
/// page has handed out a newer one since, that will do.
pub(crate) fn need_token(driver: &Rc<Driver>, fresh: bool) {
    let seen = driver.token_seen.get();
    let next = PAGE.with(|page| {
        let page = &mut *page.borrow_mut();
        let usable = page.tokens.current.as_ref().filter(|current| {
            !(fresh && seen == page.tokens.generation)
                && current.expires_at.is_none_or(|end| now().saturating_add(EARLY) < end)
        });
        if let Some(current) = usable {
            return Next::Have(current.token.clone(), page.tokens.generation);
        }
        page.tokens.waiting.push(Rc::downgrade(driver));
        match page.init.as_ref().and_then(|init| init.auth.clone()) {
            Some(auth) if !page.tokens.asking => {
                page.tokens.asking = true;
                Next::Ask(auth)
            }
            _ => Next::Wait,
        }
    });
    match next {
        Next::Have(token, generation) => {
            driver.token_seen.set(generation);
            driver.feed(Input::Token(Ok(token)));
        }
        Next::Ask(auth) => spawn_local(ask(auth)),
        Next::Wait => {}
    }
}

async fn ask(auth: Auth) {
    let answer = match auth.ask.call0(&JsValue::UNDEFINED) {
        Ok(value) => JsFuture::from(Promise::resolve(&value)).await,
        Err(thrown) => Err(thrown),
    };
    let result = match answer {
        Ok(value) => read(auth.name, &value),
        Err(thrown) => {
            let message =
                [auth.name, " failed: ", &convert::thrown(&thrown), ". It is asked again."].concat();
            let mut error = ErrorInfo::new(ErrorCode::InvalidAuth, message);
            error.retryable = true;
            Err(error)
        }
    };
    let (waiting, generation) = PAGE.with(|page| {
        let tokens = &mut page.borrow_mut().tokens;
        tokens.asking = false;
        if let Ok((token, expires_at)) = &result {
            tokens.generation = tokens.generation.wrapping_add(1);
            tokens.current = Some(Current { token: token.clone(), expires_at: *expires_at });
        }
        (std::mem::take(&mut tokens.waiting), tokens.generation)
    });
    for driver in waiting.iter().filter_map(Weak::upgrade) {
        driver.token_seen.set(generation);
        driver.feed(Input::Token(result.clone().map(|(token, _)| token)));
    }
}

fn read(name: &str, value: &JsValue) -> Result<(Token, Option<Millis>), ErrorInfo> {
    let is_session = name == "getSession";
    let text = if is_session {
        convert::text(value, "token")
    } else {
        value
            .as_string()
            .or_else(|| convert::text(value, "token"))
            .or_else(|| convert::text(value, "authToken"))
    };
    let token = text.as_deref().map(str::trim).filter(|token| {
        !token.is_empty()
            && is_header_value(token)
            && !token.contains(' ')
            && !token.starts_with(['<', '{', '['])
    });
    match token {
        Some(token) => Ok((Token::new(token), expiry(&convert::member(value, "expiresAt")))),
        None => {
            let wanted = if is_session { "{ token }" } else { "a token, { token } or { authToken }" };
            let got = match &text {
                Some(text) => convert::shape(&text.as_str().into()),
                None => convert::shape(value),
            };
            let message =
                [name, " must give ", wanted, "; it gave ", &got, ". Correct it in the page."].concat();
            Err(ErrorInfo::new(ErrorCode::InvalidAuth, message))
        }
    }
}

// ISO 8601 or milliseconds since the epoch.
fn expiry(value: &JsValue) -> Option<Millis> {
    let millis =
        value.as_f64().unwrap_or_else(|| value.as_string().map_or(f64::NAN, |text| Date::parse(&text)));
    (millis > 0.0).then_some(millis as Millis)
}
