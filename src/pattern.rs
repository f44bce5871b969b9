//! Regular expressions for tools' schemas: the browser's `RegExp` with the flag `u`.

use mindset_core::schema::{Matcher, Pattern};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    type RegExp;

    // The one of `js-sys` throws through the wasm.
    #[wasm_bindgen(constructor, catch)]
    fn new(source: &str, flags: &str) -> Result<RegExp, JsValue>;
    #[wasm_bindgen(method)]
    fn test(this: &RegExp, text: &str) -> bool;
}

/// Compiles the patterns of a schema.
#[derive(Debug)]
pub(crate) struct Patterns;

struct Expression(RegExp);

impl Pattern for Patterns {
    fn compile(&self, source: &str) -> Result<Box<dyn Matcher>, String> {
        match RegExp::new(source, "u") {
            Ok(made) => Ok(Box::new(Expression(made))),
            Err(_) => Err("the browser refuses this regular expression".to_owned()),
        }
    }
}

impl Matcher for Expression {
    fn is_match(&self, text: &str) -> bool {
        self.0.test(text)
    }
}
