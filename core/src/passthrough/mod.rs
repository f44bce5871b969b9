//! Pass-through parameters: data that goes from the page straight into a tool
//! call. The model never sees it: [`VisibleSchema::strip`] takes the parameter out
//! of what the model is told, [`FullArgs`] puts the value back right before the
//! tool runs. The page does both for its own tools, the runtime for all others,
//! with this one implementation.
//!
//! The types carry the guarantee. A model request takes only a [`VisibleSchema`],
//! a tool is called only with [`FullArgs`], and neither the values here nor
//! [`FullArgs`] can be printed or turned into an event.

mod arguments;
mod flat;
mod in_place;
mod moved;
mod strip;
mod unused;

pub(crate) use arguments::read;
pub use arguments::{CheckedArgs, FullArgs, normalise};
pub(crate) use in_place::declared_names;
pub use strip::VisibleSchema;

use std::fmt;

use crate::error::{ErrorCode, ErrorInfo};
use crate::json::{Object, Value, concat};

/// Bytes of all keys and values together, as JSON.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Parameters that only the runtime fills. Hidden from the model always, and never
/// taken from a page.
pub const MANAGED: &[&str] = &["uploaded_file_urls"];

/// Names that would reach into a JavaScript object's prototype.
const REFUSED: &[&str] = &["__proto__", "constructor", "prototype"];

/// How a tool is named in keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolName<'a> {
    /// The MCP server; `None` for page tools and built-in ones.
    pub server: Option<&'a str>,
    /// The tool's own name there.
    pub tool: &'a str,
}

impl ToolName<'_> {
    /// The parameter that `key` names of this tool, and how many bytes of the key
    /// name the tool: `tool.param` or `server.tool.param`.
    fn parameter<'k>(&self, key: &'k str) -> Option<(usize, &'k str)> {
        let of = |rest: &'k str| rest.strip_prefix(self.tool)?.strip_prefix('.').filter(|p| !p.is_empty());
        let long = self.server.and_then(|server| of(key.strip_prefix(server)?.strip_prefix('.')?));
        let parameter = long.or_else(|| of(key))?;
        Some((key.len() - parameter.len(), parameter))
    }
}

/// The parameters as the page set them last. Their values are nobody's business
/// but a tool's: they cannot be printed, and leave for the runtime by
/// [`to_wire`](Passthrough::to_wire) only.
///
/// ```compile_fail,E0277
/// println!("{}", mindset_core::passthrough::Passthrough::default());
/// ```
///
/// ```compile_fail,E0277
/// use mindset_core::{json::Value, passthrough::Passthrough};
/// let leaked: Value = Passthrough::default().into();
/// ```
#[derive(Clone, PartialEq, Default)]
pub struct Passthrough(Object);

/// Names and sizes only.
impl fmt::Debug for Passthrough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        sizes(f, "Passthrough", self.0.iter())
    }
}

/// Lists names with the size of their values.
fn sizes<'a>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    entries: impl Iterator<Item = (&'a str, &'a Value)>,
) -> fmt::Result {
    let mut out = f.debug_struct(name);
    for (key, value) in entries {
        out.field(key, &value.text().len());
    }
    out.finish()
}

impl Passthrough {
    /// Takes what a page set.
    ///
    /// # Errors
    /// `invalid-config` for a name that is refused, `passthrough-too-large`.
    pub fn new(entries: Object) -> Result<Passthrough, ErrorInfo> {
        for (key, _) in entries.iter() {
            check_key(key)?;
        }
        let size = entries.text().len();
        if size > MAX_BYTES {
            let message = concat(&[
                "The pass-through parameters have ",
                &crate::json::digits(size as u64),
                " bytes as JSON, the limit is ",
                &crate::json::digits(MAX_BYTES as u64),
                ". Send less, or a reference that the tool can follow.",
            ]);
            return Err(ErrorInfo::new(ErrorCode::PassthroughTooLarge, message)
                .with("bytes", size as u64)
                .with("limit", MAX_BYTES as u64));
        }
        Ok(Passthrough(entries))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value for `parameter` of `tool`, `known` being every tool of this side: a
    /// key that names the tool wins over one that names the parameter only.
    pub fn value(&self, tool: ToolName<'_>, known: &[ToolName<'_>], parameter: &str) -> Option<&Value> {
        let mut wildcard = None;
        let mut targeted: Option<(usize, &Value)> = None;
        for (key, value) in self.0.iter() {
            match target(key, known) {
                None if key == parameter => wildcard = Some(value),
                Some(length)
                    if tool.parameter(key) == Some((length, parameter))
                        && targeted.is_none_or(|(longest, _)| length > longest) =>
                {
                    targeted = Some((length, value));
                }
                _ => {}
            }
        }
        targeted.map(|(_, value)| value).or(wildcard)
    }

    /// The keys in two parts: those for which `here` holds, and the rest. What a
    /// page keeps to itself never leaves it.
    pub fn split(&self, mut here: impl FnMut(&str) -> bool) -> (Passthrough, Passthrough) {
        let (mut kept, mut rest) = (Object::new(), Object::new());
        for (key, value) in self.0.iter() {
            if here(key) { kept.insert(key, value.clone()) } else { rest.insert(key, value.clone()) }
        }
        (Passthrough(kept), Passthrough(rest))
    }

    /// Without the keys that supply nothing to these tools, whose parameters `declared`
    /// knows: however many a page sends, what is left is no more than the tools take.
    #[must_use]
    pub(crate) fn relevant(mut self, known: &[ToolName<'_>], declared: impl Fn(&str) -> bool) -> Passthrough {
        self.0.retain(|key| match target(key, known) {
            Some(length) => key.get(length..).is_some_and(&declared),
            None => declared(key),
        });
        self
    }

    /// The keys, in the page's order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key)
    }

    /// The entries as they go to the runtime, and nowhere else.
    pub fn to_wire(&self) -> Object {
        self.0.clone()
    }
}

/// How many bytes of `key` name a known tool, the longest that does; `None` for a
/// wildcard.
fn target(key: &str, known: &[ToolName<'_>]) -> Option<usize> {
    known.iter().filter_map(|tool| Some(tool.parameter(key)?.0)).max()
}

fn check_key(key: &str) -> Result<(), ErrorInfo> {
    let last = key.rsplit('.').next().unwrap_or(key);
    let reason = if last.is_empty() {
        "names no parameter. Write `tool.parameter` or `parameter`."
    } else if REFUSED.contains(&last) {
        "is refused: the name reaches into JavaScript's prototypes. Rename the tool's parameter."
    } else if MANAGED.contains(&last) {
        "is refused: the runtime fills this parameter itself. Leave it out."
    } else {
        return Ok(());
    };
    let key: String = key.chars().take(100).collect();
    let message = concat(&["The pass-through parameter `", &key, "` ", reason]);
    Err(ErrorInfo::new(ErrorCode::InvalidConfig, message).with("parameter", key))
}

#[cfg(test)]
mod tests;
