//! The token that the page hands out: kept in memory only, asked for once however
//! many sessions wait for it.

use std::rc::{Rc, Weak};

use mindset_core::Millis;
use mindset_core::error::{ErrorCode, ErrorInfo};
use mindset_core::session::Token;
use wasm_bindgen::prelude::*;

use super::Init;
use crate::convert;
use crate::driver::{Driver, now, tell};

/// A token is asked for anew this long before its end.
const EARLY: Millis = 30_000;

#[wasm_bindgen(module = "/src/page.js")]
extern "C" {
    #[wasm_bindgen(js_name = askToken)]
    fn ask_token(is_session: bool, ask: &JsValue, tell: &JsValue);
}

/// What is known of the token.
#[derive(Default)]
pub(super) struct Tokens {
    current: Option<Current>,
    /// Counts the tokens the page handed out.
    generation: u32,
    /// The agent the session is for, if it said so.
    agent: Option<String>,
    asking: bool,
    waiting: Vec<Weak<Driver>>,
}

struct Current {
    token: Token,
    /// 0: not known.
    expires_at: Millis,
}

enum Next {
    Have(Token, u32),
    Ask,
    Wait,
}

impl Init {
    /// The agent that the session names; known once it was asked.
    pub(crate) fn session_agent(&self) -> Option<String> {
        self.tokens.borrow().agent.clone()
    }
}

/// Gets the session a token. With `fresh` the one it got last was refused; if the
/// page has handed out a newer one since, that will do.
pub(crate) fn need_token(driver: &Rc<Driver>, fresh: bool) {
    let Some(init) = driver.host.init() else { return };
    let seen = driver.token_seen.get();
    let next = {
        let tokens = &mut *init.tokens.borrow_mut();
        let usable = tokens.current.as_ref().filter(|current| {
            !(fresh && seen == tokens.generation)
                && (current.expires_at == 0 || now().saturating_add(EARLY) < current.expires_at)
        });
        if let Some(current) = usable {
            Next::Have(current.token.clone(), tokens.generation)
        } else {
            tokens.waiting.push(Rc::downgrade(driver));
            if std::mem::replace(&mut tokens.asking, true) { Next::Wait } else { Next::Ask }
        }
    };
    match next {
        Next::Have(token, generation) => driver.take_token(Ok(token), generation),
        Next::Ask => {
            let asked = init.clone();
            let tell = tell(move |_, answer| {
                answered(&asked, &answer);
                true
            });
            ask_token(init.is_session, &init.ask, &tell);
        }
        Next::Wait => {}
    }
}

fn answered(init: &Init, answer: &JsValue) {
    let text = |name: &str| convert::text(answer, name).filter(|text| !text.is_empty());
    let expires_at = convert::member(answer, "expires").as_f64().unwrap_or_default() as Millis;
    let result = match text("token") {
        Some(token) => {
            let mut token = Token::new(token).until((expires_at > 0).then_some(expires_at));
            token.conversation_id = text("conversation");
            Ok(token)
        }
        None => {
            let mut error = ErrorInfo::new(ErrorCode::InvalidAuth, text("message").unwrap_or_default());
            error.retryable = convert::member(answer, "retryable").is_truthy();
            Err(match text("received") {
                Some(shape) => error.with("received", shape),
                None => error,
            })
        }
    };
    let (waiting, generation) = {
        let tokens = &mut *init.tokens.borrow_mut();
        tokens.asking = false;
        if let Ok(token) = &result {
            tokens.generation = tokens.generation.wrapping_add(1);
            tokens.agent = text("agent");
            tokens.current = Some(Current { token: token.clone(), expires_at });
        }
        (std::mem::take(&mut tokens.waiting), tokens.generation)
    };
    for driver in waiting.iter().filter_map(Weak::upgrade) {
        driver.take_token(result.clone(), generation);
    }
}
