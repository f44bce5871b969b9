//! What an app offers to those who choose: its agents and models.

use toml::Table;

use super::print::{put, texts};
use super::reader::{Node, Reader};
use super::{Agent, App, ModelConfig};

impl Reader<'_> {
    /// `default_agent` of an app, which is one of its agents.
    pub(super) fn default_agent(&mut self, app: &Node<'_>, agents: &[Agent]) -> Option<String> {
        let uid = self.text(app, "default_agent")?;
        if !agents.iter().any(|agent| agent.uid == uid) {
            let remedy = "name one of its [[apps.agents]]";
            self.fault(&app.path("default_agent"), &format!("the app has no agent `{uid}`"), remedy);
        }
        Some(uid)
    }

    /// `models` of an app, which are configured or built in.
    pub(super) fn offered_models(&mut self, app: &Node<'_>, models: &[ModelConfig]) -> Vec<String> {
        let named = self.list(app, "models");
        for name in &named {
            self.known_model(&app.path("models"), name, models);
        }
        named
    }

    /// There is such a model.
    pub(super) fn known_model(&mut self, path: &str, name: &str, models: &[ModelConfig]) {
        if !matches!(name, "auto" | "demo") && !models.iter().any(|model| model.name == name) {
            let remedy = format!("add a [models.{name}] table, or use \"auto\" or \"demo\"");
            self.fault(path, &format!("no model is called `{name}`"), &remedy);
        }
    }
}

/// Both keys of an app, as they read back.
pub(super) fn print(app: &App, table: &mut Table) {
    if let Some(uid) = &app.default_agent {
        put(table, "default_agent", uid.as_str());
    }
    if !app.models.is_empty() {
        table.insert("models".into(), texts(app.models.iter().cloned()));
    }
}
