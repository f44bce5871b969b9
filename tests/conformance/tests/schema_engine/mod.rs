//! Regular expressions for schemas: the crate `regress` natively, `RegExp` with `u` in
//! JavaScript.

use mindset_core::schema::{Matcher, Pattern};

/// ECMA-262 with the flag `u`.
pub(crate) struct Engine;

#[cfg(not(target_arch = "wasm32"))]
mod engine {
    pub(super) struct Expression(regress::Regex);

    impl Expression {
        pub(super) fn new(source: &str) -> Result<Expression, String> {
            regress::Regex::with_flags(source, "u").map(Expression).map_err(|e| e.to_string())
        }

        pub(super) fn test(&self, text: &str) -> bool {
            self.0.find(text).is_some()
        }
    }
}

#[cfg(target_arch = "wasm32")]
mod engine {
    use js_sys::wasm_bindgen::{JsCast, JsValue};

    pub(super) struct Expression(js_sys::RegExp);

    impl Expression {
        pub(super) fn new(source: &str) -> Result<Expression, String> {
            // `RegExp::new` would throw through the wasm; `construct` hands the error over.
            let class = js_sys::Reflect::get(&js_sys::global(), &JsValue::from("RegExp")).unwrap();
            let arguments = js_sys::Array::of2(&JsValue::from(source), &JsValue::from("u"));
            let class: &js_sys::Function = class.unchecked_ref();
            let made = js_sys::Reflect::construct(class, &arguments);
            made.map(|made| Expression(made.unchecked_into())).map_err(|_| "not a RegExp".to_owned())
        }

        pub(super) fn test(&self, text: &str) -> bool {
            self.0.test(text)
        }
    }
}

impl Pattern for Engine {
    fn compile(&self, source: &str) -> Result<Box<dyn Matcher>, String> {
        engine::Expression::new(source).map(|made| Box::new(made) as Box<dyn Matcher>)
    }
}

impl Matcher for engine::Expression {
    fn is_match(&self, text: &str) -> bool {
        self.test(text)
    }
}
