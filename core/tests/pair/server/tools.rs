//! Tools that the server runs, as far as a test needs them.

use mindset_core::turn::{Input, ToolOutcome, ToolRequest};

use super::super::Effect;
use super::Server;

/// After how many milliseconds a tool is done and how; `None` never.
pub type Handler = Box<dyn FnMut(&ToolRequest) -> Option<(u64, ToolOutcome)>>;

/// The end of a tool that ran.
pub struct ToolDone {
    pub run: String,
    /// How often the run's tools had been dropped when it began.
    pub epoch: u64,
    pub call_id: String,
    pub duration: u64,
    pub outcome: ToolOutcome,
}

/// A handler that names the arguments it got.
pub fn echo() -> Handler {
    Box::new(|request| {
        let names: Vec<_> = request.arguments.expose().iter().map(|(name, _)| name.to_owned()).collect();
        let content = format!("{} with {}", request.name, names.join(", "));
        Some((0, ToolOutcome::Done { content, sources: Vec::new(), widgets: Vec::new() }))
    })
}

impl Server {
    pub fn tool_done(&mut self, done: ToolDone, now: u64) -> Vec<Effect> {
        let ToolDone { run, epoch, call_id, duration, outcome } = done;
        if self.runs.get(&run).is_none_or(|r| r.turn.is_none() || r.aborted_tools != epoch) {
            self.late += 1;
            return Vec::new();
        }
        self.input(&run, Input::Tool { call_id, outcome, duration }, now)
    }
}
