//! What the page gives the agent besides messages: situational awareness,
//! pass-through parameters and its tools. They outlive a conversation.

use super::inquiry::Subject;
use super::offer::{self, Offered};
use super::state::{Phase, State};
use super::{DomEvent, PageTool, Protocol, Refused, Session};
use crate::Millis;
use crate::awareness;
use crate::error::{ErrorCode, ErrorInfo};
use crate::json::{Object, Value, concat, cut};
use crate::passthrough::{Passthrough, ToolName};

/// The channels as the page set them last.
#[derive(Default)]
pub(super) struct Channels {
    /// JSON text of an object; empty for none.
    awareness: String,
    passthrough: Passthrough,
    tools: Vec<PageTool>,
    /// Keys were set that no run went out with; looked at where none can leave the page.
    unchecked: bool,
}

impl Channels {
    /// The tool `name` of today.
    pub(super) fn tool(&self, name: &str) -> Option<&PageTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The tools of today, without the parameters that the page supplies today.
    pub(super) fn offer(&self) -> Vec<Offered> {
        let known = self.names();
        let mut offer = Vec::new();
        for tool in &self.tools {
            let supplied = |parameter: &str| self.supplied(&tool.name, &known, parameter).is_some();
            offer.push(Offered::new(tool, &supplied));
        }
        offer
    }

    /// How pass-through keys name the tools of today.
    pub(super) fn names(&self) -> Vec<ToolName<'_>> {
        let mut names = Vec::new();
        for tool in &self.tools {
            names.push(ToolName { server: None, tool: &tool.name });
        }
        names
    }

    /// Today's value for a parameter of a tool.
    pub(super) fn supplied(&self, tool: &str, known: &[ToolName<'_>], parameter: &str) -> Option<&Value> {
        self.passthrough.value(ToolName { server: None, tool }, known, parameter)
    }

    /// Whether `key` names a parameter of one of the page's tools.
    fn is_targeted(&self, key: &str) -> bool {
        let (tool, parameter) = cut(key, b'.');
        self.tool(tool).is_some_and(|tool| offer::declares(tool, parameter))
    }

    /// What goes to the runtime: everything but the keys that name one of the page's
    /// own tools.
    pub(super) fn leaving(&self) -> Object {
        self.passthrough.split(|key| self.is_targeted(key)).1.to_wire()
    }

    /// `passthroughParams` of a run; `None` for none.
    pub(super) fn passthrough_params(&self) -> Option<Object> {
        Some(self.leaving()).filter(|values| !values.is_empty())
    }

    /// `context` of a run.
    pub(super) fn context(&self) -> Value {
        let entry = Some(&self.awareness).filter(|text| !text.is_empty());
        let mut list = Vec::new();
        if let Some(entry) = entry.and_then(|text| awareness::entry(text)) {
            let (description, value) = (entry.description, entry.value);
            list.push(Value::Object(crate::object! { "description": description, "value": value }));
        }
        Value::Array(list)
    }

    /// A key that nobody takes, where nothing leaves the page.
    fn stray_key(&self) -> Option<&str> {
        self.passthrough
            .keys()
            .find(|key| !self.is_targeted(key) && !self.tools.iter().any(|tool| offer::declares(tool, key)))
    }
}

impl Session {
    #[inline(never)]
    pub(super) fn handle_awareness(&mut self, text: &str) -> Result<(), Refused> {
        awareness::check(text, self.awareness_limit())?;
        text.clone_into(&mut self.channels.awareness);
        Ok(())
    }

    /// Before the configuration is known nobody has more.
    fn awareness_limit(&self) -> usize {
        let extended = matches!(self.state, State::Unconfigured) || self.config.extended_awareness;
        if extended { awareness::EXTENDED_LIMIT } else { awareness::LIMIT }
    }

    /// The configuration is known: what was set before may be too much.
    pub(super) fn check_awareness(&mut self) {
        let limit = if self.config.extended_awareness { awareness::EXTENDED_LIMIT } else { awareness::LIMIT };
        if let Err(error) = awareness::check(&self.channels.awareness, limit) {
            self.channels.awareness.clear();
            self.out.event(DomEvent::Error(error));
        }
    }

    #[inline(never)]
    pub(super) fn handle_passthrough(&mut self, values: Object, now: Millis) -> Result<(), Refused> {
        let passthrough = Passthrough::new(values)?;
        if passthrough == self.channels.passthrough {
            return Ok(());
        }
        let before = self.channels.leaving();
        self.channels.passthrough = passthrough;
        self.channels.unchecked = true;
        if self.config.protocol == Protocol::Mindset && self.channels.leaving() != before {
            self.tell_run(now);
        }
        Ok(())
    }

    /// The tools decide too which keys leave the page, but never of a run under way.
    #[inline(never)]
    pub(super) fn handle_page_tools(&mut self, tools: Vec<PageTool>) -> Result<(), Refused> {
        if tools != self.channels.tools {
            offer::check(&tools, self.patterns.as_ref())?;
            self.channels.tools = tools;
        }
        Ok(())
    }

    /// A message goes out to a server that takes no pass-through parameters.
    pub(super) fn check_keys(&mut self) {
        if !std::mem::take(&mut self.channels.unchecked) || self.config.protocol == Protocol::Mindset {
            return;
        }
        let Some(key) = self.channels.stray_key() else { return };
        let message = concat(&[
            "No page tool has the pass-through parameter `",
            key,
            "`, and with `protocol: 'ag-ui'` none leaves the page. Register the tool, or leave the key out.",
        ]);
        let error = ErrorInfo::new(ErrorCode::InvalidConfig, message).with("parameter", key);
        self.out.event(DomEvent::Error(error));
    }

    /// Tells the run under way of new pass-through parameters, one request after the
    /// other: they must not overtake each other.
    fn tell_run(&mut self, now: Millis) {
        let State::Running(running) = &mut self.state else { return };
        match &running.phase {
            // The server may not know the run yet, or not be heard.
            Phase::Posted(_) | Phase::Broken { .. } => running.turn.outdated = true,
            Phase::SignIn if running.turn.link.may_run() => running.turn.outdated = true,
            Phase::Streaming { .. } => {
                let run_id = running.turn.run_id.clone();
                self.update_run(run_id, now);
            }
            // The next request brings them.
            _ => {}
        }
    }

    /// Sends a run today's pass-through parameters.
    pub(super) fn update_run(&mut self, run_id: String, now: Millis) {
        if let Some(again) = self.update_under_way() {
            *again = true;
            return;
        }
        self.inquire(Subject::Update { run_id, again: false }, self.config.timing.request, now);
    }

    /// An update is over. Of a run that has ended meanwhile nothing needs to be said.
    pub(super) fn updated(&mut self, told: &str, again: bool, error: Option<ErrorInfo>, now: Millis) {
        let State::Running(running) = &self.state else { return };
        let run_id = &running.turn.run_id;
        let streams = matches!(running.phase, Phase::Streaming { .. });
        if streams && again {
            let run_id = run_id.clone();
            self.update_run(run_id, now);
        } else if streams
            && *run_id == told
            && let Some(error) = error
        {
            self.out.event(DomEvent::Error(error));
        }
    }
}
