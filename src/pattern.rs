//! Regular expressions for tools' schemas: the browser's `RegExp` with the flag `u`.

use js_sys::RegExp;
use mindset_core::schema::{Matcher, Pattern};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/pattern.js")]
extern "C" {
    // `RegExp::new` would throw through the wasm.
    fn expression(source: &str) -> Option<RegExp>;
}

/// Compiles the patterns of a schema.
#[derive(Debug)]
pub(crate) struct Patterns;

struct Expression(RegExp);

impl Pattern for Patterns {
    fn compile(&self, source: &str) -> Result<Box<dyn Matcher>, String> {
        match expression(source) {
            Some(made) => Ok(Box::new(Expression(made))),
            None => Err("the browser refuses this regular expression".to_owned()),
        }
    }
}

impl Matcher for Expression {
    fn is_match(&self, text: &str) -> bool {
        self.0.test(text)
    }
}
