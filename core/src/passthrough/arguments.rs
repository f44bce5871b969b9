//! A call's arguments on their way from the model to the tool: dropped, checked,
//! completed, in this order.

use std::fmt;

use super::in_place::declared_names;
use super::{MANAGED, VisibleSchema, sizes};
use crate::json::{Object, Value, concat, parse};
use crate::schema::{Pattern, Schema};

/// What the text of a call's arguments stands for: nothing at all, in any of the
/// spellings models use, is `{}`; everything else stays as it is.
pub fn normalise(text: &str) -> &str {
    let trimmed = text.trim();
    let inside = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_nothing = matches!(trimmed, "" | "null") || inside.is_some_and(|inside| inside.trim().is_empty());
    if is_nothing { "{}" } else { text }
}

/// The object that the text of a call's arguments stands for, or why it is none, for
/// the model to act on.
pub(crate) fn read(text: &str) -> Result<Object, String> {
    match parse(normalise(text)) {
        Ok(Value::Object(given)) => Ok(given),
        Ok(other) => Err(concat(&[
            "The call was not run: its arguments must be one JSON object, not ",
            other.kind(),
            ". Send it again as an object.",
        ])),
        Err(e) => Err(concat(&[
            "The call was not run: its arguments are not valid JSON, ",
            &e.text(),
            ". Send it again as one JSON object.",
        ])),
    }
}

/// The model's own arguments, without the names it was not told and valid against
/// the schema it saw. May be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedArgs {
    given: Object,
    stripped: Vec<String>,
}

impl CheckedArgs {
    /// Reads the arguments the model wrote for a tool of which it saw `visible`.
    ///
    /// # Errors
    /// What is wrong with them, for the model to act on.
    pub fn read(text: &str, visible: &VisibleSchema, patterns: &dyn Pattern) -> Result<CheckedArgs, String> {
        let mut given = read(text)?;
        for name in visible.stripped() {
            given.remove(name);
        }
        let given = validate(given, visible, patterns)?;
        Ok(CheckedArgs { given, stripped: visible.stripped().to_vec() })
    }

    /// What the model wrote, as it may be shown.
    pub fn given(&self) -> &Object {
        &self.given
    }

    /// Puts in what the page supplies today, for parameters that `declared` has; the
    /// page's value wins over the model's.
    ///
    /// # Errors
    /// A parameter that the page supplied when the model was asked has no value any
    /// more: for the model to read.
    pub fn inject<'a>(
        self,
        declared: &Object,
        value: impl Fn(&str) -> Option<&'a Value>,
    ) -> Result<FullArgs, String> {
        let mut arguments = self.given;
        let mut supplied = Vec::new();
        for name in declared_names(declared) {
            if let Some(value) = value(&name) {
                arguments.insert(&name, value.clone());
                supplied.push(name);
            }
        }
        for name in self.stripped {
            if !supplied.contains(&name) && !MANAGED.contains(&name.as_str()) {
                return Err(concat(&[
                    "The call was not run: the parameter `",
                    &name,
                    "`, which the page used to supply, is no longer supplied. Go on without this tool.",
                ]));
            }
        }
        Ok(FullArgs { arguments, supplied })
    }
}

/// Checks against the schema the model saw. A schema that cannot be read checks
/// nothing: the tool does.
fn validate(given: Object, visible: &VisibleSchema, patterns: &dyn Pattern) -> Result<Object, String> {
    let Ok(schema) = Schema::parse(&Value::Object(visible.as_object().clone()), patterns) else {
        return Ok(given);
    };
    let value = Value::Object(given);
    let violations = schema.check(&value);
    if !violations.is_empty() {
        let mut message = "The call was not run: its arguments do not fit the tool.".to_owned();
        for violation in violations {
            let path = if violation.path.is_empty() { "the arguments" } else { &violation.path };
            message.push_str(&concat(&["\n- ", path, " ", &violation.message]));
        }
        return Err(message);
    }
    match value {
        Value::Object(given) => Ok(given),
        _ => Ok(Object::new()),
    }
}

/// The arguments a tool is called with. They may hold what only the tool may see, so
/// they cannot be printed or put into an event:
///
/// ```compile_fail,E0277
/// fn tell(arguments: mindset_core::passthrough::FullArgs) { println!("{arguments}"); }
/// ```
///
/// ```compile_fail,E0277
/// use mindset_core::{json::Object, passthrough::FullArgs};
/// fn tell(arguments: FullArgs, event: &mut Object) { event.insert("arguments", arguments); }
/// ```
///
/// and come from nothing but [`CheckedArgs`], so nothing is called past strip and check:
///
/// ```compile_fail,E0277
/// use mindset_core::{json::Object, passthrough::FullArgs};
/// let arguments: FullArgs = Object::new().into();
/// ```
#[derive(Clone, PartialEq)]
pub struct FullArgs {
    arguments: Object,
    supplied: Vec<String>,
}

/// Names and sizes only.
impl fmt::Debug for FullArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        sizes(f, "FullArgs", self.arguments.iter())
    }
}

impl FullArgs {
    /// The arguments, for the tool and nobody else.
    pub fn expose(&self) -> &Object {
        &self.arguments
    }

    /// The names and values that did not come from the model.
    pub fn supplied(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.arguments.iter().filter(|(name, _)| self.supplied.iter().any(|s| s == name))
    }

    /// The arguments as people and logs may see them: what did not come from the
    /// model is named and masked.
    pub fn masked(&self) -> Object {
        let mut masked = self.arguments.clone();
        for name in &self.supplied {
            masked.insert(name, "•••");
        }
        masked
    }
}
