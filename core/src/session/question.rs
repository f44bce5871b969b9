//! Questions to the person before a page's tool runs.

use super::call::{Call, Stage, details};
use super::interrupt::Word;
use super::pause::not_open;
use super::state::State;
use super::{AskId, Output, Refused, Session, ToolRunId, fault};
use crate::Millis;
use crate::event::{Decision, RuntimeEvent};
use crate::json::concat;
use crate::passthrough::FullArgs;
use crate::view::{Patch, ToolState};

/// Nobody could be asked.
pub(super) const NOBODY: &str =
    "The call was not run: it needs a person's consent, and nobody could be asked. Go on without it.";

impl Session {
    /// Asks the person.
    pub(super) fn ask(&mut self, call: &Call, sentence: String, arguments: FullArgs) -> Stage {
        let blank = sentence.chars().all(char::is_whitespace);
        let said = if blank { String::new() } else { fault::said(&sentence) };
        let reason =
            if blank { concat(&["May the agent use “", &call.name, "”?"]) } else { said.clone() };
        let request_id = self.ids.next_id();
        let masked = arguments.masked();
        self.tool_line(&call.id, ToolState::Asking, self.running_label(&call.name));
        let tool = blank.then(|| call.name.clone());
        let card = Patch::AddQuestion { id: request_id.clone(), tool, text: said, details: details(&masked) };
        self.out.patch(card.clone());
        self.out.runtime(RuntimeEvent::PermissionRequested {
            request_id: request_id.clone(),
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            reason,
            tool_input: Some(masked),
            session_id: None,
        });
        Stage::Asking { request_id, card, arguments }
    }

    /// The page's function has said what to ask.
    #[inline(never)]
    pub(super) fn handle_sentence(&mut self, id: ToolRunId, sentence: Result<String, String>, now: Millis) {
        let Some((turn, mut step)) = self.take_step() else { return };
        if let Some(call) = step.calls.iter_mut().find(|call| call.run == id)
            && let Stage::Wording { arguments, .. } = &call.stage
        {
            let arguments = arguments.clone();
            call.stage = match sentence {
                Ok(sentence) => self.ask(call, sentence, arguments),
                Err(why) => {
                    let why = concat(&[
                        "The call was not run: the page could not say what to ask the person (",
                        &why,
                        "). Go on without it.",
                    ]);
                    self.not_run(call, why, ToolState::Failed)
                }
            };
        }
        self.step_on(turn, step, now);
    }

    /// The panel was drawn or taken away; with it go the questions.
    pub(super) fn handle_can_ask(&mut self, can_ask: bool, now: Millis) {
        self.config.can_ask = can_ask;
        if can_ask {
            return;
        }
        let Some((turn, mut step)) = self.take_step() else { return };
        for ask in &mut step.asks {
            if ask.is_open() && ask.is_approval() {
                self.close_ask(ask, Decision::Deny, true);
                ask.word = Some(Word::Dismissed);
            }
        }
        for call in &mut step.calls {
            match &call.stage {
                Stage::Asking { request_id, .. } => self.resolve(&request_id.clone(), Decision::Deny, true),
                Stage::Wording { .. } => self.out.push(Output::AbortTool(call.run)),
                _ => continue,
            }
            call.stage = self.not_run(call, NOBODY.to_owned(), ToolState::Stopped);
        }
        self.step_on(turn, step, now);
    }

    /// A person has decided.
    #[inline(never)]
    pub(super) fn handle_decision(
        &mut self,
        reply: Option<AskId>,
        request: &str,
        decision: Decision,
        now: Millis,
    ) -> Result<(), Refused> {
        let Some((turn, mut step)) = self.take_step() else { return Err(not_open()) };
        let mut known = self.decide(&mut step, request, decision);
        for call in &mut step.calls {
            let Stage::Asking { request_id, arguments, .. } = &call.stage else { continue };
            if request_id == request {
                let arguments = arguments.clone();
                known = true;
                self.resolve(request, decision, true);
                call.stage = match decision {
                    Decision::AllowOnce => self.run_tool(call, arguments, now),
                    Decision::Deny => {
                        let why = "The call was not run: the person did not allow it. Go on without it.";
                        self.not_run(call, why.to_owned(), ToolState::Stopped)
                    }
                };
                break;
            }
        }
        self.replies.extend(reply.filter(|_| known));
        self.step_on(turn, step, now);
        // What is not on its way to the server is good as it is.
        if !self.carries_decisions() {
            self.settle_replies(None);
        }
        if known { Ok(()) } else { Err(not_open()) }
    }

    fn carries_decisions(&self) -> bool {
        matches!(&self.state, State::Running(running) if running.turn.decided.is_some())
    }

    pub(super) fn resolve(&mut self, request: &str, decision: Decision, drawn: bool) {
        let id = request.to_owned();
        if drawn {
            self.out.patch(Patch::RemoveQuestion { id: id.clone() });
        }
        self.out.runtime(RuntimeEvent::PermissionResolved { request_id: id, decision });
    }
}
