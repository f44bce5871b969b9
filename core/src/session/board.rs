//! The panel as it stands: what has been told in patches, once more from the
//! beginning.

use super::Session;
use super::call::{Stage, details};
use super::state::{Phase, State};
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
        }
        self.redraw_questions(&mut patches);
        if let Some(earlier) = rows.get(..first).filter(|earlier| !earlier.is_empty()) {
            patches.push(Patch::Earlier(earlier.to_vec()));
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
        let State::Running(running) = &self.state else { return };
        let Phase::Calling(step) = &running.phase else { return };
        for call in &step.calls {
            if let Stage::Asking { request_id, question, arguments } = &call.stage {
                let (id, text) = (request_id.clone(), question.clone());
                patches.push(Patch::AddQuestion { id, text, details: details(&arguments.masked()) });
            }
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
            let line = ToolLine { id: id.clone(), state, label: label.clone(), behind };
            self.transcript.lines.push(line);
            self.out.patch(Patch::AddTool { id, state, label });
        }
    }
}
