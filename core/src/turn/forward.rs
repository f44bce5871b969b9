//! What an agent says while it does work that was handed to it: told again by the run that waits for
//! the work, as events of a subagent, so that readers of that run see it happen.

use crate::Millis;
use crate::agui::{Body, Event};

use super::results::TOOL_START;
use super::running::Run;
use super::step::Running;

/// How work stands that goes on in the background.
const CHILD: &str = "mindset.child";

/// What readers were told of one piece of work.
#[derive(Default)]
pub(super) struct Forwarded {
    /// What has begun and not ended, by the event that ends it, the innermost last.
    open: Vec<Event>,
}

impl Forwarded {
    /// Takes down what an event begins or ends.
    fn note(&mut self, event: &Event) {
        let end = match &event.body {
            Body::TextMessageStart { message_id, .. } => {
                Body::TextMessageEnd { message_id: message_id.clone() }
            }
            Body::ToolCallStart { tool_call_id, .. } => {
                Body::ToolCallEnd { tool_call_id: tool_call_id.clone() }
            }
            Body::SubagentStarted { subagent_run_id, .. } => Body::SubagentError {
                subagent_run_id: subagent_run_id.clone(),
                message: "The work was broken off.".to_owned(),
                code: None,
            },
            Body::TextMessageEnd { .. } | Body::ToolCallEnd { .. } => {
                return self.open.retain(|open| open.body != event.body);
            }
            Body::SubagentFinished { subagent_run_id: id, .. }
            | Body::SubagentError { subagent_run_id: id, .. } => {
                let is = |open: &Event| matches!(&open.body, Body::SubagentError { subagent_run_id, .. } if subagent_run_id == id);
                return self.open.retain(|open| !is(open));
            }
            _ => return,
        };
        self.open.push(Event { subagent_run_id: event.subagent_run_id.clone(), ..Event::new(end) });
    }
}

impl Run {
    /// Tells readers what is said where the work of a call is done.
    pub(super) fn forward(&mut self, running: &mut Running, mut event: Event, now: Millis) {
        let Some(work) = &running.work else { return };
        match &mut event.body {
            Body::SubagentStarted { parent_subagent_run_id, .. } => {
                parent_subagent_run_id.get_or_insert_with(|| work.session.clone());
            }
            Body::SubagentFinished { .. } | Body::SubagentError { .. } => {}
            Body::Custom { name, .. } if name != TOOL_START && name != CHILD => return,
            Body::TextMessageStart { .. }
            | Body::TextMessageContent { .. }
            | Body::TextMessageEnd { .. }
            | Body::ToolCallStart { .. }
            | Body::ToolCallArgs { .. }
            | Body::ToolCallEnd { .. }
            | Body::ToolCallResult { .. }
            | Body::Custom { .. } => {
                event.subagent_run_id.get_or_insert_with(|| work.session.clone());
            }
            _ => return,
        }
        running.forwarded.note(&event);
        event.timestamp = Some(now);
        self.tell(event);
    }

    /// Nothing more is told of the work of a call: what is open ends.
    pub(super) fn end_forwarded(&mut self, running: &mut Running, now: Millis) {
        for mut event in std::mem::take(&mut running.forwarded.open).into_iter().rev() {
            event.timestamp = Some(now);
            self.tell(event);
        }
    }
}
