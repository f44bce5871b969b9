//! Regular expressions for tools' schemas: the browser's `RegExp` with the flag `u`.

use js_sys::{Array, Function, Reflect, RegExp, global};
use mindset_core::schema::{Matcher, Pattern};
use wasm_bindgen::{JsCast, JsValue};

/// Compiles the patterns of a schema.
#[derive(Debug)]
pub(crate) struct Patterns;

struct Expression(RegExp);

impl Pattern for Patterns {
    fn compile(&self, source: &str) -> Result<Box<dyn Matcher>, String> {
        // `RegExp::new` would throw through the wasm; `construct` hands the error over.
        let refused = |_| "the browser refuses this regular expression".to_owned();
        let class = Reflect::get(&global(), &JsValue::from_str("RegExp")).map_err(refused)?;
        let arguments = Array::of2(&JsValue::from_str(source), &JsValue::from_str("u"));
        let class: &Function = class.unchecked_ref();
        let made = Reflect::construct(class, &arguments).map_err(refused)?;
        Ok(Box::new(Expression(made.unchecked_into())))
    }
}

impl Matcher for Expression {
    fn is_match(&self, text: &str) -> bool {
        self.0.test(text)
    }
}
