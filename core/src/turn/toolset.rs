//! The tools of one run, under the names the model calls them by.

use std::collections::BTreeSet;

use crate::agui::Tool;
use crate::json::{Object, Value};
use crate::limits::TOOLS;
use crate::passthrough::{CheckedArgs, FullArgs, Passthrough, ToolName, VisibleSchema, declared_names};
use crate::schema::{Matcher, Pattern, Schema};

use super::files;
use super::names::model_names;
use super::{ModelTool, Refusal, ServerTool, delegate, page_tools, questions};

/// What the model may call in this run: the page's tools as they came, and the
/// runtime's.
pub(super) struct Toolset {
    page: Vec<ModelTool>,
    server: Vec<(String, ServerTool)>,
    /// Every parameter that a tool of the runtime declares.
    declared: BTreeSet<String>,
}

/// Who has the tool that the model calls.
pub(super) enum Owner<'a> {
    Page,
    Server(&'a ServerTool),
    Nobody,
}

impl Toolset {
    /// The tools, and what people should know of those that had to be left out: one
    /// hopeless schema must not fail every request.
    pub(super) fn new(
        page: &[Tool],
        server: Vec<ServerTool>,
        patterns: &dyn Pattern,
    ) -> Result<(Toolset, Vec<String>), Refusal> {
        let page = page_tools::model_tools(page)?;
        let mut warnings = Vec::new();
        let mut known = BTreeSet::new();
        let mut tools = Vec::with_capacity(server.len());
        for tool in server {
            if !known.insert((tool.server.clone(), tool.name.clone())) {
                continue;
            }
            match hopeless(&tool, patterns) {
                Some(reason) => warnings.push(left_out(&tool, &reason)),
                None => tools.push(tool),
            }
        }
        let room = TOOLS.saturating_sub(page.len());
        if tools.len() > room {
            warnings.push(too_many(tools.len().saturating_sub(room)));
            tools.truncate(room);
        }
        let taken = page.iter().map(|tool| tool.name.as_str()).collect();
        let names = model_names(&tools, &taken);
        let declared = tools.iter().flat_map(|tool| declared_names(&tool.declared())).collect();
        Ok((Toolset { page, server: names.into_iter().zip(tools).collect(), declared }, warnings))
    }

    /// Of what the page supplies, what a tool here can take.
    pub(super) fn relevant(&self, passthrough: Passthrough) -> Passthrough {
        passthrough.relevant(&self.key_names(), |name| self.declared.contains(name))
    }

    /// The tools for the next model request, without what the page supplies now.
    pub(super) fn offer(&self, passthrough: &Passthrough) -> Vec<ModelTool> {
        let known = self.key_names();
        let mut offered = self.page.clone();
        offered.extend(self.server.iter().map(|(name, tool)| {
            let supplied = |parameter: &str| {
                !is_own(tool) && passthrough.value(tool.key_name(), &known, parameter).is_some()
            };
            ModelTool {
                name: name.clone(),
                description: tool.description.clone(),
                parameters: VisibleSchema::strip(&tool.declared(), supplied),
            }
        }));
        offered
    }

    /// The tool that the model calls `name`.
    pub(super) fn owner(&self, name: &str) -> Owner<'_> {
        match self.server.iter().find(|(n, _)| n == name) {
            Some((_, tool)) => Owner::Server(tool),
            None if self.page.iter().any(|tool| tool.name == name) => Owner::Page,
            None => Owner::Nobody,
        }
    }

    /// The tool that is called so at home, and what the model calls it.
    pub(super) fn of(&self, wanted: ToolName<'_>) -> Option<(&str, &ServerTool)> {
        let found = self.server.iter().find(|(_, tool)| tool.key_name() == wanted);
        found.map(|(name, tool)| (name.as_str(), tool))
    }

    /// The name that people and events know.
    pub(super) fn shown<'a>(&'a self, name: &'a str) -> &'a str {
        match self.owner(name) {
            Owner::Server(tool) => &tool.name,
            Owner::Page | Owner::Nobody => name,
        }
    }

    /// Whether the tool declares the parameter.
    pub(super) fn takes(tool: &ServerTool, parameter: &str) -> bool {
        declared_names(&tool.declared()).iter().any(|name| name == parameter)
    }

    /// Puts what the page supplies, and the addresses of uploaded files, into a call of `tool`.
    pub(super) fn inject(
        &self,
        arguments: CheckedArgs,
        tool: &ServerTool,
        passthrough: &Passthrough,
        files: Option<&Value>,
    ) -> Result<FullArgs, String> {
        let known = self.key_names();
        arguments.inject(&tool.declared(), |name| {
            if is_own(tool) {
                return None;
            }
            let own = files.filter(|_| name == files::PARAMETER);
            own.or_else(|| passthrough.value(tool.key_name(), &known, name))
        })
    }

    /// What the model is told of a name that is nobody's; its own text is cut, for it
    /// can be of any length.
    pub(super) fn no_such_tool(&self, name: &str) -> String {
        let name: String = name.chars().take(64).collect();
        let names: Vec<_> =
            self.page.iter().map(|t| &t.name).chain(self.server.iter().map(|(n, _)| n)).collect();
        if names.is_empty() {
            return format!("There is no tool \"{name}\": no tools can be used now. Answer without.");
        }
        let names: Vec<_> = names.into_iter().map(String::as_str).collect();
        format!("There is no tool \"{name}\". The tools are: {}.", names.join(", "))
    }

    fn key_names(&self) -> Vec<ToolName<'_>> {
        self.server.iter().map(|(_, tool)| tool.key_name()).collect()
    }
}

/// Whether it is a tool of the turn itself, whose arguments are the model's alone.
fn is_own(tool: &ServerTool) -> bool {
    questions::is(tool) || delegate::is(tool)
}

/// Why no model can be told of the tool. A regular expression of another dialect is
/// no reason: the tool checks itself then.
fn hopeless(tool: &ServerTool, patterns: &dyn Pattern) -> Option<String> {
    let schema = Value::Object(VisibleSchema::strip(&tool.declared(), |_| false).as_object().clone());
    if Schema::parse(&schema, patterns).is_ok() {
        return None;
    }
    Schema::parse(&schema, &AnyPattern).err().map(|e| e.to_string())
}

fn left_out(tool: &ServerTool, reason: &str) -> String {
    let of = tool.server.as_ref().map_or(String::new(), |server| format!(" of the server \"{server}\""));
    format!(
        "The tool \"{}\"{of} cannot be used: its parameters are no JSON Schema ({reason}). The other tools work.",
        tool.name
    )
}

fn too_many(left_out: usize) -> String {
    format!(
        "The agent has more than {TOOLS} tools; the last {left_out} cannot be used. Whoever runs it can \
         choose among them in the configuration."
    )
}

/// Takes every regular expression for one that matches.
struct AnyPattern;

impl Pattern for AnyPattern {
    fn compile(&self, _source: &str) -> Result<Box<dyn Matcher>, String> {
        Ok(Box::new(AnyPattern))
    }
}

impl Matcher for AnyPattern {
    fn is_match(&self, _text: &str) -> bool {
        true
    }
}

/// The page's values for this run.
pub(super) fn passthrough(props: Option<&Value>) -> Result<Passthrough, Refusal> {
    use crate::error::{ErrorCode, ErrorInfo};
    let entries = match props {
        None | Some(Value::Null) => Object::new(),
        Some(Value::Object(entries)) => entries.clone(),
        Some(other) => {
            let message = format!(
                "forwardedProps.mindset.passthroughParams must be an object of names and values, not {}.",
                other.kind()
            );
            return Err(ErrorInfo::new(ErrorCode::InvalidRequest, message));
        }
    };
    Passthrough::new(entries).map_err(|mut error| {
        if error.code == ErrorCode::InvalidConfig {
            error.code = ErrorCode::InvalidRequest;
        }
        error
    })
}
