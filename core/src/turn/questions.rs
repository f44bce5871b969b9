//! The built-in tool by which a model asks the person something.

use crate::event::ToolSource;
use crate::questionnaire::Questionnaire;

use super::ServerTool;

/// What the model calls it.
pub(super) const NAME: &str = "ask_user";

/// The tool. It is never run: its call waits for the person.
pub(super) fn tool() -> ServerTool {
    ServerTool {
        source: ToolSource::Builtin,
        server: None,
        name: NAME.to_owned(),
        description: "Asks the person one or more questions, and gives their answers. Use it when you cannot go on \
            without a decision that only they can make; offer options where you can, and ask everything at once."
            .to_owned(),
        title: Some("Questions".to_owned()),
        parameters: Some(Questionnaire::schema()),
        read_only: true,
    }
}

/// Whether it is this tool.
pub(super) fn is(tool: &ServerTool) -> bool {
    tool.source == ToolSource::Builtin && tool.server.is_none() && tool.name == NAME
}
