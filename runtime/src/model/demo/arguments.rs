//! A message to the arguments of a tool, by schema type. What the message does
//! not say is not made up.

use mindset_core::json::{self, Object, Value};
use mindset_core::schema::Pattern;
use mindset_core::turn::ModelTool;

use super::words::{contains_phrase, words};
use crate::pattern::Patterns;

/// What a message says about a tool's parameters.
#[derive(Debug, PartialEq)]
pub(super) struct Filled {
    /// Arguments that were found.
    pub(super) arguments: Object,
    /// Required parameters that were not.
    pub(super) missing: Vec<String>,
}

/// Reads the arguments of `tool` out of `text`.
pub(super) fn fill(tool: &ModelTool, text: &str) -> Filled {
    let empty = Object::new();
    let properties =
        tool.parameters.as_object().get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = tool
        .parameters
        .as_object()
        .get("required")
        .and_then(Value::as_array)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let mut source = Source::new(text, properties, &required);
    let mut filled = Filled { arguments: Object::new(), missing: Vec::new() };
    for (name, schema) in properties.iter() {
        match source.value(name, schema) {
            Some(value) => filled.arguments.insert(name, value),
            None if required.contains(&name) => filled.missing.push(name.to_owned()),
            None => {}
        }
    }
    filled
}

/// The possible values of a schema's `enum`, as text.
pub(super) fn enum_texts(schema: &Value) -> Vec<String> {
    let values = schema.get("enum").and_then(Value::as_array).unwrap_or_default();
    values.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).collect()
}

/// A message, and what of it is not yet used.
struct Source<'a> {
    text: &'a str,
    numbers: Vec<&'a str>,
    quoted: Vec<&'a str>,
    /// Whether only one parameter could take free text.
    one_text: bool,
}

impl<'a> Source<'a> {
    fn new(text: &'a str, properties: &Object, required: &[&str]) -> Source<'a> {
        let free = properties.iter().filter(|(name, schema)| {
            required.contains(name) && kind(schema) == "string" && schema.get("enum").is_none()
        });
        let one_text = free.count() == 1;
        Source { text, numbers: numbers(text), quoted: quoted(text), one_text }
    }

    fn value(&mut self, name: &str, schema: &Value) -> Option<Value> {
        if let Some(value) = schema.get("const") {
            return Some(value.clone());
        }
        if schema.get("enum").is_some() {
            return self.choices(schema).into_iter().next();
        }
        match kind(schema) {
            "boolean" => self.boolean(name),
            "integer" => self.number(name, |n| n.bytes().all(|b| b.is_ascii_digit() || b == b'-')),
            "number" => self.number(name, |_| true),
            "string" => self.string(name, schema).map(Value::String),
            "array" => {
                let items = schema.get("items")?;
                let found = if items.get("enum").is_some() {
                    self.choices(items)
                } else if kind(items) == "string" {
                    std::mem::take(&mut self.quoted).into_iter().map(Value::from).collect()
                } else {
                    Vec::new()
                };
                (!found.is_empty()).then_some(Value::Array(found))
            }
            _ => None,
        }
    }

    /// Every value of an `enum` that the message names; the longest first, so that
    /// `dark blue` goes before `blue`.
    fn choices(&self, schema: &Value) -> Vec<Value> {
        let values = schema.get("enum").and_then(Value::as_array).unwrap_or_default();
        let mut named: Vec<(usize, Value)> = values
            .iter()
            .zip(enum_texts(schema))
            .filter(|(_, text)| contains_phrase(self.text, text))
            .map(|(value, text)| (text.len(), value.clone()))
            .collect();
        named.sort_by_key(|(len, _)| std::cmp::Reverse(*len));
        named.into_iter().map(|(_, value)| value).collect()
    }

    fn boolean(&self, name: &str) -> Option<Value> {
        let said = words(self.text);
        let has = |list: &[&str]| said.iter().any(|w| list.contains(&w.as_str()));
        if has(&["off", "no", "not", "false", "disable", "disabled", "hide", "without", "stop"]) {
            return Some(Value::Bool(false));
        }
        let named = contains_phrase(self.text, name);
        (named || has(&["on", "yes", "true", "enable", "enabled", "show", "start"]))
            .then_some(Value::Bool(true))
    }

    /// The number next to the parameter's name, else the first one left.
    fn number(&mut self, name: &str, fits: fn(&str) -> bool) -> Option<Value> {
        let after = find_name(self.text, name).and_then(|at| self.text.get(at..));
        let named = after.and_then(|rest| numbers(rest).first().copied());
        let at = self
            .numbers
            .iter()
            .position(|n| Some(*n) == named && fits(n))
            .or_else(|| self.numbers.iter().position(|n| fits(n)))?;
        json::parse(self.numbers.remove(at)).ok()
    }

    /// The first word that a pattern fits, such as an id.
    fn fitting(&self, pattern: &str) -> Option<String> {
        let pattern = Patterns.compile(pattern).ok()?;
        let bare = |word: &'a str| word.trim_matches(|c: char| !c.is_alphanumeric());
        self.text.split_whitespace().map(bare).find(|word| pattern.is_match(word)).map(str::to_owned)
    }

    fn string(&mut self, name: &str, schema: &Value) -> Option<String> {
        if schema.get("format").and_then(Value::as_str) == Some("email") {
            let address = self.text.split_whitespace().find(|w| w.contains('@'))?;
            return Some(address.trim_matches(|c: char| !c.is_alphanumeric()).to_owned());
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            return self.fitting(pattern);
        }
        if !self.quoted.is_empty() {
            return Some(self.quoted.remove(0).to_owned());
        }
        let after_name = find_name(self.text, name)
            .and_then(|at| self.text.get(at..))
            .and_then(|rest| after_any(rest, &[":", "=", " is ", " to ", " as "], true));
        let only = || {
            self.one_text
                .then(|| after_any(self.text, &[" called ", " named ", " for ", " to ", ": "], false))?
        };
        let found = after_name.or_else(only)?;
        let found = found.trim().trim_end_matches(['.', '!', '?']).trim();
        (!found.is_empty()).then(|| found.to_owned())
    }
}

/// The type of a schema; of several, the first that is not `null`.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|k| *k != "null").unwrap_or("")
        }
        _ => "",
    }
}

/// Where a parameter's name ends in the text, its words joined by spaces.
fn find_name(text: &str, name: &str) -> Option<usize> {
    let spoken = words(name).join(" ");
    let lower = text.to_ascii_lowercase();
    lower.match_indices(&spoken).map(|(at, m)| (at, at + m.len())).find_map(|(start, end)| {
        let before = lower.get(..start)?.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let after = lower.get(end..)?.chars().next().is_none_or(|c| !c.is_alphanumeric());
        (before && after).then_some(end)
    })
}

/// What follows the first of the markers; `at_once`: only if it stands right there.
fn after_any<'t>(text: &'t str, markers: &[&str], at_once: bool) -> Option<&'t str> {
    let lower = text.to_ascii_lowercase();
    let end = markers
        .iter()
        .filter_map(|marker| {
            let at = if at_once { lower.starts_with(marker).then_some(0) } else { lower.find(marker) }?;
            Some(at + marker.len())
        })
        .min()?;
    let rest = text.get(end..)?;
    rest.split([',', ';', '\n']).next()
}

/// The numbers in a text, as JSON writes them.
fn numbers(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '%' | '€' | '$'))
        .map(|w| w.trim_end_matches(['.', '!', '?', ':']))
        .filter(|w| matches!(json::parse(w), Ok(Value::Number(_))))
        .collect()
}

/// The quoted pieces of a text, in any of the usual quotes.
fn quoted(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((open, c)) = rest.char_indices().find(|(_, c)| matches!(c, '"' | '“' | '„' | '«')) {
        let after = rest.get(open + c.len_utf8()..).unwrap_or("");
        let Some(close) = after.find(['"', '”', '“', '»']) else { break };
        found.extend(after.get(..close).filter(|piece| !piece.is_empty()));
        rest = after
            .get(close..)
            .and_then(|r| r.chars().next().and_then(|c| r.get(c.len_utf8()..)))
            .unwrap_or("");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindset_core::passthrough::VisibleSchema;

    fn filled(schema: &str, text: &str) -> (String, Vec<String>) {
        let parameters = json::parse(schema).unwrap().as_object().unwrap().clone();
        let tool = ModelTool {
            name: "t".into(),
            description: String::new(),
            parameters: VisibleSchema::strip(&parameters, |_| false),
        };
        let filled = fill(&tool, text);
        (filled.arguments.to_string(), filled.missing)
    }

    #[test]
    fn by_schema_type() {
        for (properties, text, expected) in [
            (r#"{"color":{"enum":["blue","dark blue"]}}"#, "make it Dark Blue", r#"{"color":"dark blue"}"#),
            (r#"{"on":{"type":"boolean"}}"#, "turn it off", r#"{"on":false}"#),
            (r#"{"loud":{"type":"boolean"}}"#, "make it loud", r#"{"loud":true}"#),
            (r#"{"n":{"type":"integer"},"f":{"type":"number"}}"#, "use 2.5 and 3.", r#"{"n":3,"f":2.5}"#),
            (
                r#"{"page":{"type":"integer"},"size":{"type":"integer"}}"#,
                "size 7 of page 2",
                r#"{"page":2,"size":7}"#,
            ),
            (
                r#"{"a":{"type":"string"},"b":{"type":["null","string"]}}"#,
                r#"say "x y" and „z“"#,
                r#"{"a":"x y","b":"z"}"#,
            ),
            (r#"{"title":{"type":"string"}}"#, "set the title to Hello world!", r#"{"title":"Hello world"}"#),
            (r#"{"query":{"type":"string"}}"#, "search for red shoes", r#"{"query":"red shoes"}"#),
            (
                r#"{"field":{"enum":["role","location"]},"value":{"type":"string"}}"#,
                "Set the location to New York.",
                r#"{"field":"location","value":"New York"}"#,
            ),
            (
                r#"{"card":{"type":"string","pattern":"^C-[0-9]+$"},"column":{"enum":["To do","Done"]}}"#,
                "Move C-3, please, to “Done”.",
                r#"{"card":"C-3","column":"Done"}"#,
            ),
            (
                r#"{"mail":{"type":"string","format":"email"}}"#,
                "write to <a@b.example>.",
                r#"{"mail":"a@b.example"}"#,
            ),
            (r#"{"tags":{"type":"array","items":{"type":"string"}}}"#, r#""a" "b""#, r#"{"tags":["a","b"]}"#),
            (r#"{"v":{"const":7}}"#, "", r#"{"v":7}"#),
        ] {
            let required: Vec<String> = json::parse(properties)
                .unwrap()
                .as_object()
                .unwrap()
                .iter()
                .map(|(k, _)| format!("{k:?}"))
                .collect();
            let schema = format!(r#"{{"properties":{properties},"required":[{}]}}"#, required.join(","));
            assert_eq!(filled(&schema, text), (expected.into(), vec![]), "{text}");
        }
    }

    #[test]
    fn nothing_is_made_up() {
        let schema = r#"{"properties":{"color":{"enum":["teal"]},"n":{"type":"integer"},"s":{"type":"string"},
            "o":{"type":"object"},"opt":{"type":"string"}},"required":["color","n","s","o"]}"#;
        let (arguments, missing) = filled(schema, "change it, 2.5 times");
        assert_eq!(arguments, "{}");
        assert_eq!(missing, ["color", "n", "s", "o"]);
    }
}
