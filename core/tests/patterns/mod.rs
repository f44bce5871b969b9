//! The regular expressions of these tests.

use mindset_core::schema::{Matcher, Pattern};

/// An engine that knows plain text, `^` in front, and refuses `(`.
#[derive(Debug)]
#[allow(unreachable_pub)]
pub struct Plain;

struct Text(String);

impl Pattern for Plain {
    fn compile(&self, source: &str) -> Result<Box<dyn Matcher>, String> {
        if source.contains('(') {
            Err("unbalanced".to_owned())
        } else {
            Ok(Box::new(Text(source.to_owned())))
        }
    }
}

impl Matcher for Text {
    fn is_match(&self, text: &str) -> bool {
        match self.0.strip_prefix('^') {
            Some(start) => text.starts_with(start),
            None => text.contains(&self.0),
        }
    }
}
