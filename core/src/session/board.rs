//! The panel as it stands: what has been told in patches, once more from the
//! beginning.

use super::Session;
use super::state::{Phase, State};
use crate::json::Value;
use crate::view::{Patch, ToolState};

/// So many rows fill every screen.
const AT_ONCE: usize = 24;

/// What the panel says of a tool call.
pub(super) struct ToolLine {
    /// The call.
    pub(super) id: String,
    pub(super) state: ToolState,
    pub(super) label: String,
    /// How many rows stand before it.
    pub(super) behind: usize,
    /// The tool, by its own name.
    pub(super) name: String,
    /// The arguments of a page's tool, masked.
    details: Vec<(String, String)>,
    /// How long it took, in milliseconds.
    pub(super) duration: Option<u64>,
    /// What it changed, or may have.
    pub(super) effect: Option<Value>,
}

impl ToolLine {
    /// What is known of it; nothing of a call that ended before it began.
    fn description(&self) -> Option<Patch> {
        let (id, name) = (self.id.clone(), self.name.clone());
        let is_known = !name.is_empty() || self.duration.is_some();
        let (duration_ms, details) = (self.duration, self.details.clone());
        is_known.then_some(Patch::DescribeTool { id, name, duration_ms, details })
    }
}

impl Session {
    /// Everything that draws the panel as it stands, for one that was not there before.
    /// Changes that nobody has taken yet are in it and are not told again.
    pub fn redraw(&mut self) -> Vec<Patch> {
        self.out.drop_patches();
        let mut patches = vec![Patch::Clear];
        let rows = &self.transcript.rows;
        let first = self.first_drawn();
        for at in first..=rows.len() {
            for line in self.transcript.lines.iter().filter(|line| line.behind == at) {
                let (id, label) = (line.id.clone(), line.label.clone());
                patches.push(Patch::AddTool { id, state: line.state, label });
                patches.extend(line.description());
            }
            let Some(row) = rows.get(at) else { break };
            let id = || row.id.clone();
            patches.push(Patch::AddMessage { id: id(), role: row.role, text: row.content.clone() });
            if let Some(widget) = row.widget.clone() {
                patches.push(Patch::SetWidget { id: id(), widget });
            }
            if let Some(files) = row.files.clone() {
                patches.push(Patch::SetFiles { id: id(), files });
            }
            if at + 1 < rows.len() || !self.is_busy() {
                patches.push(Patch::EndMessage { id: id() });
            }
            if row.status.is_some() {
                patches.push(Patch::SetStatus { id: id(), status: row.status });
            }
            if !row.citations.is_empty() {
                patches.push(Patch::SetCitations { id: id(), items: row.citations.clone() });
            }
            if row.feedback.is_some() {
                patches.push(Patch::SetFeedback { id: id(), feedback: row.feedback.clone() });
            }
        }
        self.redraw_questions(&mut patches);
        if let Some(earlier) = rows.get(..first).filter(|earlier| !earlier.is_empty()) {
            patches.push(Patch::Earlier(earlier.to_vec()));
        }
        if !self.transcript.suggestions.is_empty() {
            patches.push(Patch::SetSuggestions(self.transcript.suggestions.clone()));
        }
        self.out.redraw(&mut patches);
        patches
    }

    /// The newest rows are drawn at once, with the lines between them; those before may
    /// take their time.
    fn first_drawn(&self) -> usize {
        let newest = self.transcript.rows.len().saturating_sub(AT_ONCE);
        self.transcript.lines.iter().fold(newest, |first, line| first.min(line.behind))
    }

    fn redraw_questions(&self, patches: &mut Vec<Patch>) {
        if let Some(step) = &self.transcript.paused {
            Session::redraw_asks(patches, step);
        }
        if let State::Running(running) = &self.state
            && let Phase::Calling(step) = &running.phase
        {
            Session::redraw_asks(patches, step);
        }
    }

    /// Shows how a call stands.
    pub(super) fn tool_line(&mut self, id: &str, state: ToolState, label: String) {
        let behind = self.transcript.rows.len();
        let known = self.transcript.lines.iter_mut().find(|line| line.id == id);
        let id = id.to_owned();
        if let Some(line) = known {
            line.state = state;
            line.label.clone_from(&label);
            self.out.patch(Patch::SetTool { id, state, label });
        } else {
            let line = ToolLine {
                id: id.clone(),
                state,
                label: label.clone(),
                behind,
                name: String::new(),
                details: Vec::new(),
                duration: None,
                effect: None,
            };
            self.transcript.lines.push(line);
            self.out.patch(Patch::AddTool { id, state, label });
        }
    }

    /// Says which tool a call is for, and with what.
    pub(super) fn describe_tool(&mut self, id: &str, name: &str, details: Vec<(String, String)>) {
        let Some(line) = self.transcript.lines.iter_mut().find(|line| line.id == id) else { return };
        line.name = name.to_owned();
        if !details.is_empty() {
            line.details = details;
        }
        if let Some(description) = line.description() {
            self.out.patch(description);
        }
    }

    /// A call is over: how long it took, and what it changed or may have.
    pub(super) fn tool_took(&mut self, id: &str, duration: Option<u64>, effect: Option<&Value>) {
        let Some(line) = self.transcript.lines.iter_mut().find(|line| line.id == id) else { return };
        line.duration = duration;
        line.effect = effect.cloned();
        if let Some(description) = line.description() {
            self.out.patch(description);
        }
    }
}
