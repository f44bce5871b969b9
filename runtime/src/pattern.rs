//! Regular expressions for tools' schemas: ECMA-262 with the flag `u`, by the crate
//! `regress`.

use mindset_core::schema::{Matcher, Pattern};

/// Compiles the patterns of a schema.
#[derive(Debug)]
pub(crate) struct Patterns;

struct Expression(regress::Regex);

impl Pattern for Patterns {
    fn compile(&self, source: &str) -> Result<Box<dyn Matcher>, String> {
        let made = regress::Regex::with_flags(source, "u").map_err(|e| e.to_string())?;
        Ok(Box::new(Expression(made)))
    }
}

impl Matcher for Expression {
    fn is_match(&self, text: &str) -> bool {
        self.0.find(text).is_some()
    }
}
