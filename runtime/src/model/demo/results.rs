//! What the demo model says of the results it got.

use mindset_core::turn::ModelMessage;
use mindset_core::widget::SHOWN;

use super::knowledge;
use super::words::cut;

/// A result: the tool, what came, whether it failed.
type ToolResult<'a> = (&'a str, &'a str, bool);

/// The results that stand at the end, the first one first.
pub(super) fn trailing(messages: &[ModelMessage]) -> Vec<ToolResult<'_>> {
    let mut results: Vec<_> = messages
        .iter()
        .rev()
        .map_while(|m| match m {
            ModelMessage::Tool { name, content, failed, .. } => {
                Some((name.as_str(), content.as_str(), *failed))
            }
            _ => None,
        })
        .collect();
    results.reverse();
    results
}

/// One paragraph for each.
pub(super) fn summary(results: &[ToolResult<'_>]) -> String {
    let lines: Vec<String> = results.iter().map(|result| line(*result)).collect();
    lines.join("\n\n")
}

fn line((name, content, failed): ToolResult<'_>) -> String {
    // What is shown needs no words.
    let (content, shown) = content.split_once(SHOWN).map_or((content, false), |(before, _)| (before, true));
    let content = content.trim();
    if name == knowledge::TOOL && !failed {
        return knowledge::answer(content);
    }
    let name = plain_name(name);
    match (failed, content) {
        (true, why) => format!("{name} did not work: {}", cut(why, 300)),
        (false, "") if shown => format!("Done: {name} shows it above."),
        (false, "" | "null" | "{}" | "true") => format!("Done: {name} ran and had nothing to add."),
        (false, result) => format!("Done: {name} answered {}", cut(result, 300)),
    }
}

/// A tool's name without that of its server.
pub(super) fn plain_name(name: &str) -> &str {
    name.split_once("__").map_or(name, |(_, tool)| tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed_up() {
        let said = summary(&[
            ("set_color", "\"ok\"", false),
            ("set_color", "no such page", true),
            ("hr__update", "{}", false),
            ("hr__file", "Filed.\n\n[shown to the person] A review.", false),
            ("hr__show", "[shown to the person] A review.", false),
        ]);
        assert_eq!(
            said,
            "Done: set_color answered \"ok\"\n\nset_color did not work: no such page\n\n\
             Done: update ran and had nothing to add.\n\nDone: file answered Filed.\n\nDone: show shows it above."
        );
    }
}
