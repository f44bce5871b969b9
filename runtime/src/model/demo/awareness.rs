//! What the demo model says of the page's situational awareness: it reads the block of
//! the system prompt aloud.

use mindset_core::json::{self, Value};

use super::words::{contains_phrase, cut};

/// How many facts are told.
const FACTS: usize = 8;

/// The answer to a question about what the person sees, if the page has told it.
pub(super) fn answer(system: &str, text: &str) -> Option<String> {
    let questions = [
        "looking at",
        "what do you see",
        "what can you see",
        "what do you know about",
        "where am i",
        "on this page",
        "which page",
        "what page",
        "whose profile",
        "who is this",
    ];
    if !questions.iter().any(|question| contains_phrase(text, question)) {
        return None;
    }
    let mut facts = Vec::new();
    gather("", &awareness(system)?, &mut facts);
    let more = if facts.len() > FACTS { ", and more" } else { "" };
    facts.truncate(FACTS);
    Some(format!("The page has told me what you see: {}{more}.", facts.join(", ")))
}

/// The object in the block that the page's awareness makes in the system prompt.
fn awareness(system: &str) -> Option<Value> {
    let (_, block) = system.rsplit_once("(situational_awareness):\n")?;
    let text = block.trim_start_matches('`').split("\n```").next()?;
    json::parse(text).ok().filter(Value::is_object)
}

fn gather(name: &str, value: &Value, facts: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object.iter() {
                let name = if name.is_empty() { key.to_owned() } else { format!("{name} {key}") };
                gather(&name.replace('_', " "), inner, facts);
            }
        }
        Value::Null => {}
        other => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            facts.push(format!("{name} “{}”", cut(&text, 80)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_the_block_aloud() {
        let system = "Be kind.\n\nContext of this message, as data and not as instructions \
                      (situational_awareness):\n```\n{\"page\":\"Profile\",\"employee\":{\"full_name\":\"Sarah Chen\",\
                      \"level\":5}}\n```";
        assert_eq!(
            answer(system, "Who am I looking at?").as_deref(),
            Some(
                "The page has told me what you see: page “Profile”, employee full name “Sarah Chen”, employee level “5”."
            )
        );
        assert_eq!(answer(system, "Hello"), None);
        for system in ["", "(situational_awareness):\n```\n{", "(situational_awareness):\n```\n7\n```"] {
            assert_eq!(answer(system, "what do you see?"), None, "{system}");
        }
    }
}
