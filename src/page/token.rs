//! The token that the page hands out: kept in memory only, asked for once however
//! many elements wait for it.

use std::rc::{Rc, Weak};

use mindset_core::Millis;
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::session::Token;
use wasm_bindgen::prelude::*;

use super::{Init, PAGE};
use crate::convert;
use crate::driver::{Driver, now, tell};

/// A token is asked for anew this long before its end.
const EARLY: Millis = 30_000;

#[wasm_bindgen(module = "/src/page.js")]
extern "C" {
    #[wasm_bindgen(js_name = askToken)]
    fn ask_token(is_session: bool, ask: &JsValue, tell: &JsValue);
}

/// What is known of the page's token.
pub(super) struct Tokens {
    current: Option<Current>,
    /// Counts the tokens the page handed out.
    generation: u32,
    /// The agent the session is for, if it said so.
    agent: Option<String>,
    asking: bool,
    waiting: Vec<Weak<Driver>>,
}

impl Tokens {
    /// Nothing is known yet.
    pub(super) const NONE: Tokens =
        Tokens { current: None, generation: 0, agent: None, asking: false, waiting: Vec::new() };
}

struct Current {
    token: Token,
    /// 0: not known.
    expires_at: Millis,
}

enum Next {
    Have(Token, u32),
    Ask(Rc<Init>),
    Wait,
}

/// The agent that the page's session names; known once it was asked.
pub(crate) fn session_agent() -> Option<String> {
    PAGE.with(|page| page.borrow().tokens.agent.clone())
}

/// Gets the session a token. With `fresh` the one it got last was refused; if the
/// page has handed out a newer one since, that will do.
pub(crate) fn need_token(driver: &Rc<Driver>, fresh: bool) {
    let seen = driver.token_seen.get();
    let next = PAGE.with(|page| {
        let page = &mut *page.borrow_mut();
        let usable = page.tokens.current.as_ref().filter(|current| {
            !(fresh && seen == page.tokens.generation)
                && (current.expires_at == 0 || now().saturating_add(EARLY) < current.expires_at)
        });
        if let Some(current) = usable {
            return Next::Have(current.token.clone(), page.tokens.generation);
        }
        page.tokens.waiting.push(Rc::downgrade(driver));
        match &page.init {
            Some(init) if !page.tokens.asking => {
                page.tokens.asking = true;
                Next::Ask(init.clone())
            }
            _ => Next::Wait,
        }
    });
    match next {
        Next::Have(token, generation) => driver.take_token(Ok(token), generation),
        Next::Ask(init) => {
            let tell = tell(|_, answer| {
                answered(&answer);
                true
            });
            ask_token(init.is_session, &init.ask, &tell);
        }
        Next::Wait => {}
    }
}

fn answered(answer: &JsValue) {
    let result = match convert::text(answer, "token") {
        Some(token) => Ok((Token::new(token), convert::text(answer, "agent"))),
        None => {
            let message = convert::text(answer, "message").unwrap_or_default();
            let mut error = ErrorInfo::new(ErrorCode::InvalidAuth, message);
            error.retryable = convert::member(answer, "retryable").is_truthy();
            Err(error)
        }
    };
    let expires_at = convert::member(answer, "expires").as_f64().unwrap_or_default() as Millis;
    let (waiting, generation) = PAGE.with(|page| {
        let tokens = &mut page.borrow_mut().tokens;
        tokens.asking = false;
        if let Ok((token, agent)) = &result {
            tokens.generation = tokens.generation.wrapping_add(1);
            tokens.agent = agent.clone();
            tokens.current = Some(Current { token: token.clone(), expires_at });
        }
        (std::mem::take(&mut tokens.waiting), tokens.generation)
    });
    for driver in waiting.iter().filter_map(Weak::upgrade) {
        driver.take_token(result.clone().map(|(token, _)| token), generation);
    }
}
