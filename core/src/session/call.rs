//! One call of a page's tool: from the model's words to an answer.

use super::channels::Channels;
use super::offer::Offered;
use super::stream;
use super::{ToolRunId, fault};
use crate::Millis;
use crate::json::{Object, Value, concat};
use crate::passthrough::{CheckedArgs, FullArgs};
use crate::schema::{Pattern, is_safe};
use crate::view::Patch;

/// A call that the page answers.
pub(super) struct Call {
    /// The model's id of the call.
    pub(super) id: String,
    pub(super) name: String,
    /// As the model wrote them.
    pub(super) arguments: String,
    pub(super) run: ToolRunId,
    pub(super) stage: Stage,
}

/// How far a call is.
pub(super) enum Stage {
    /// The page's function says what the person is asked.
    Wording { until: Millis, arguments: FullArgs },
    /// The person is asked.
    Asking { request_id: String, card: Patch, arguments: FullArgs },
    /// The handler runs.
    Running { since: Millis, until: Millis },
    /// The model has its answer.
    Answered(Answer),
}

/// What the model is told.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) content: String,
    pub(super) failed: bool,
}

impl Answer {
    pub(super) fn failed(content: String) -> Answer {
        Answer { content, failed: true }
    }

    /// As a message of the next run.
    pub(super) fn message(&self, id: &str, call: &str) -> Value {
        let mut message = stream::answer(id, &self.content, call);
        if let (Value::Object(message), true) = (&mut message, self.failed) {
            message.insert("error", fault::said(&self.content));
        }
        message
    }
}

impl Call {
    pub(super) fn new(id: &str, function: Option<&Value>, run: ToolRunId) -> Call {
        let name = function.and_then(|function| function.str("name")).unwrap_or("").to_owned();
        let arguments = match function.and_then(|function| function.get("arguments")) {
            Some(Value::String(text)) => text.clone(),
            other => other.map(Value::text).unwrap_or_default(),
        };
        let stage = Stage::Answered(Answer::failed(String::new()));
        Call { id: id.to_owned(), name, arguments, run, stage }
    }

    /// What its tool would be called with: dropped, checked and completed by what the
    /// run was told and what the page supplies today.
    pub(super) fn read(
        &self,
        offer: &[Offered],
        channels: &Channels,
        patterns: &dyn Pattern,
    ) -> Result<FullArgs, String> {
        let offered = offer.iter().find(|offered| offered.name == self.name);
        let Some(offered) = offered.filter(|_| channels.tool(&self.name).is_some()) else {
            return Err(concat(&["The page offers no tool named `", &self.name, "`. Answer without it."]));
        };
        let checked = CheckedArgs::read(&self.arguments, &offered.visible, patterns)?;
        for (name, value) in checked.given().iter() {
            if let Some(place) = inexact(value) {
                return Err(concat(&[
                    "The call was not run: the whole number at /",
                    name,
                    &place,
                    " is too large for the page to hold exactly. Send it as text.",
                ]));
            }
        }
        let known = channels.names();
        checked.inject(&offered.declared, |parameter| channels.supplied(&self.name, &known, parameter))
    }
}

/// Where in `value` an integer stands that JavaScript would change.
fn inexact(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => (!is_safe(number.as_str())).then(String::new),
        Value::Array(items) => items.iter().enumerate().find_map(|(at, item)| {
            inexact(item).map(|place| concat(&["/", &crate::json::digits(at as u64), &place]))
        }),
        Value::Object(members) => {
            members.iter().find_map(|(name, item)| inexact(item).map(|place| concat(&["/", name, &place])))
        }
        _ => None,
    }
}

/// The arguments as a question shows them: names, and values as short text. What cannot be seen, or
/// turns what stands around it, is written out.
pub(super) fn details(masked: &Object) -> Vec<(String, String)> {
    let mut details = Vec::new();
    for (name, value) in masked.iter() {
        let text = match value {
            Value::String(text) => fault::said(&seen(text)),
            other => fault::said(&seen(&other.text())),
        };
        details.push((seen(name), text));
    }
    details
}

/// A text whose invisible characters stand there by their numbers, as `\u{202E}`.
fn seen(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::new();
    for c in text.chars() {
        if !is_hidden(c) {
            out.push(c);
            continue;
        }
        out.push_str("\\u{");
        let code = c as u32;
        for place in (0..=5).rev() {
            let shift = place * 4;
            let digit = HEX.get((code >> shift & 15) as usize);
            if place < 4 || code >> shift > 0 {
                out.push(digit.map_or('0', |&digit| digit as char));
            }
        }
        out.push('}');
    }
    out
}

/// Controls, marks that turn the direction of writing, and characters of no width. Joiners stay:
/// scripts and pictures are written with them.
fn is_hidden(c: char) -> bool {
    let shown = matches!(c, '\n' | '\t');
    let hidden = matches!(c, '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}'
        | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E007F}');
    hidden || (c.is_control() && !shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        for (text, shown) in [
            ("plain\ttext\nof two lines", "plain\ttext\nof two lines"),
            ("pay \u{202E}0001\u{202C} to", "pay \\u{202E}0001\\u{202C} to"),
            ("a\u{200B}b\u{7}\u{FEFF}", "a\\u{200B}b\\u{0007}\\u{FEFF}"),
            ("\u{E0041}", "\\u{E0041}"),
            ("👩\u{200D}💻 é", "👩\u{200D}💻 é"),
        ] {
            assert_eq!(seen(text), shown);
        }
    }
}
