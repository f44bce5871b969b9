//! What people have answered to the open interrupts of a conversation: read from a run's
//! `resume`, told to the model, and carried out by the run.

use crate::agui::ResumeEntry;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{MessageStatus, Widget};
use crate::json::{Object, Value};
use crate::object;
use crate::passthrough::{CheckedArgs, FullArgs};
use crate::{Millis, NextId};

use super::ask::Decision;
use super::conversation::cancelled;
use super::results::Told;
use super::running::Run;
use super::step::{NOBODY, Running, Step};
use super::toolset::Owner;
use super::{
    Approval, Asked, Delegated, Refusal, ServerTool, StoredCall, StoredMessage, StoredRole, ToolAnswer,
    ToolReply, delegate, files, questions, results,
};

/// What the model is told of a call that a person did not allow.
pub(super) const DECLINED: &str = "The person declined this call: it was not run. Do not try to reach the same \
     in another way. Go on without it, or ask what they want instead.";

/// What the model is told of questions that a person closed.
pub(super) const DISMISSED: &str =
    "The person dismissed the questions without an answer. Go on without one, and do not ask the same again.";

/// What the model is told of an approved call that would not run as it was shown.
const CHANGED: &str = "The call was not run: what would run now is not what the person was shown, because the \
     page supplies other values. Call the tool again if it is still wanted.";

/// What the model is told of an approved call whose tool is gone.
const GONE: &str = "The call was not run: its tool is not available any more. Go on without it.";

/// The kind of the widget that keeps answers in the transcript.
pub(super) const ANSWERS: &str = "questionnaire";

/// An open question to a person that was answered.
pub(super) struct Decided {
    pub(super) call: StoredCall,
    pub(super) decision: Decision,
}

impl Decided {
    /// Whether the call runs now: it was allowed, or it asked something and is answered.
    pub(super) fn runs(&self) -> bool {
        match self.call.ask.as_ref().map(|ask| &ask.what) {
            Some(Asked::Approval(_)) => self.decision == Decision::Approved,
            Some(Asked::Tool(_) | Asked::Child(_)) => self.decision != Decision::PassedOver,
            _ => false,
        }
    }

    /// The work that the call hands over: as it begins, or as it goes on with what was decided.
    fn work(&self, begun: Delegated) -> Delegated {
        match (self.call.ask.as_ref().map(|ask| &ask.what), &self.decision) {
            (Some(Asked::Child(child)), Decision::Passed(entries)) => {
                Delegated { session: child.session.clone(), resume: entries.clone(), ..begun }
            }
            _ => begun,
        }
    }

    /// What its tool is told, if it has asked.
    fn answer(&self) -> Option<ToolAnswer> {
        let Some(Asked::Tool(tool)) = self.call.ask.as_ref().map(|ask| &ask.what) else { return None };
        let reply = match &self.decision {
            Decision::Answered(answers) => ToolReply::Answers(answers.clone()),
            Decision::Declined => ToolReply::Decline,
            _ => ToolReply::Cancel,
        };
        Some(ToolAnswer { asked: tool.asked.clone(), reply })
    }
}

/// The answers of a run to the questions `open`.
///
/// # Errors
/// `resume` names something that was never asked, or an answer cannot be read.
pub(super) fn decisions(
    resume: &[ResumeEntry],
    stored: &[StoredMessage],
    open: &[&StoredCall],
) -> Result<Vec<Decided>, Refusal> {
    let mut decided: Vec<Decided> = Vec::new();
    for (at, entry) in resume.iter().enumerate() {
        let asked = |call: &&&StoredCall| call.asks(&entry.interrupt_id);
        let Some(call) = open.iter().find(asked) else {
            let before = stored.iter().flat_map(|m| &m.calls).any(|call| call.has_asked(&entry.interrupt_id));
            if before {
                continue;
            }
            let id: String = entry.interrupt_id.chars().take(200).collect();
            return Err(invalid(format!(
                "resume[{at}].interruptId: there is no interrupt \"{id}\". Take the ids from `openInterrupts` of \
                 the conversation."
            )));
        };
        let Some(ask) = &call.ask else { continue };
        let known = decided.iter_mut().find(|known| known.call.id == call.id);
        let decision = ask.decide(entry).map_err(|why| invalid(format!("resume[{at}]: {why}")))?;
        match (known, decision) {
            (None, decision) => decided.push(Decided { call: (*call).clone(), decision }),
            (Some(Decided { decision: Decision::Passed(all), .. }), Decision::Passed(more)) => {
                // Of two for one the first counts.
                let is_new = |new: &ResumeEntry| all.iter().all(|old| old.interrupt_id != new.interrupt_id);
                let more: Vec<_> = more.into_iter().filter(is_new).collect();
                all.extend(more);
            }
            (Some(_), _) => {}
        }
    }
    check_passed(&decided)?;
    Ok(decided)
}

/// What was handed over goes on when everything that it asks is answered.
fn check_passed(decided: &[Decided]) -> Result<(), Refusal> {
    for Decided { call, decision } in decided {
        let (Decision::Passed(given), Some(ask)) = (decision, &call.ask) else { continue };
        let mut missing = ask.ids();
        missing.retain(|id| given.iter().all(|entry| entry.interrupt_id != *id));
        if !missing.is_empty() {
            return Err(invalid(format!(
                "The run must answer every open interrupt of its step; missing: {}. Send one `resume` entry for each.",
                missing.join(", ")
            )));
        }
    }
    Ok(())
}

/// The messages for the model, and for people, that settle what is not to run.
pub(super) fn settled(
    decided: &Decided,
    run_id: &str,
    ids: &mut dyn NextId,
    now: Millis,
) -> Vec<StoredMessage> {
    let Some(ask) = &decided.call.ask else { return Vec::new() };
    if !decided.runs() && ask.live().is_some() {
        return vec![cancelled(&decided.call, run_id, ids.next_id(), now)];
    }
    let mut result = |content: String, ok: bool| {
        let mut message = StoredMessage::new(ids.next_id(), run_id, StoredRole::Tool, content, now);
        message.call_id = Some(decided.call.id.clone());
        message.status = (!ok).then_some(MessageStatus::Error);
        message
    };
    let mut messages = match &decided.decision {
        _ if decided.runs() => Vec::new(),
        Decision::Denied => vec![result(DECLINED.to_owned(), false)],
        Decision::Unheard => {
            let asks = matches!(ask.what, Asked::Questions(_));
            let told = if asks { questions::nobody(&questions::of(&decided.call.name)) } else { NOBODY };
            vec![result(told.to_owned(), false)]
        }
        Decision::Answered(answers) => {
            let told = ask.questions().map(|questions| questions.told(answers).text());
            vec![result(told.unwrap_or_default(), true)]
        }
        _ => {
            let asks = matches!(ask.what, Asked::Questions(_));
            let told = if asks { questions::dismissed(&decided.call.name) } else { DISMISSED };
            vec![result(told.to_owned(), false)]
        }
    };
    if let (Decision::Answered(answers), Some(questions)) = (&decided.decision, ask.questions()) {
        let given = object! { "questionnaire": questions.to_json(), "answers": questions.given(answers) };
        let summary = questions.summary(answers);
        let mut kept = StoredMessage::new(ids.next_id(), run_id, StoredRole::Assistant, &summary, now);
        kept.widget = Some(Widget::new(ANSWERS, Value::Object(given), summary));
        messages.push(kept);
    }
    messages
}

/// Whether what the model is told of a call says that a person did not want it.
pub(super) fn is_declined(content: &str) -> bool {
    content == DECLINED || content == DISMISSED || content == questions::UNREAD
}

impl Run {
    /// Goes on with a step whose questions were answered: tells what they came to, and runs
    /// what was allowed.
    pub(super) fn resume(&mut self, decided: Vec<Decided>, now: Millis) {
        let own: Vec<StoredMessage> =
            self.messages.iter().filter(|m| m.run_id == self.run_id).cloned().collect();
        for Decided { call, .. } in &decided {
            if let Some(message) = own.iter().find(|m| m.call_id.as_ref() == Some(&call.id)) {
                self.tell_settled(call, message, now);
            }
        }
        let shown: Vec<_> = own.iter().filter_map(results::widget).collect();
        self.emit_all(shown, now);
        let runs: Vec<Decided> = decided.into_iter().filter(Decided::runs).collect();
        if runs.is_empty() {
            return self.next_step(now);
        }
        self.offer();
        let mut step = Step::default();
        for decided in runs {
            let call = &decided.call;
            match self.as_shown(call) {
                Ok((tool, arguments)) => {
                    let mut work = None;
                    if delegate::is(&tool) {
                        work = Some(decided.work(self.hand_over(arguments.expose())));
                    }
                    let tool = self.titled(tool, work.as_ref());
                    step.run(Running::new(&call.id, tool, arguments, work), decided.answer());
                }
                Err(why) => {
                    let message = match call.ask.as_ref().and_then(|ask| ask.live()) {
                        Some(_) => cancelled(call, &self.run_id, self.ids.next_id(), now),
                        None => Told::refused(why).message(self.ids.next_id(), &self.run_id, &call.id, now),
                    };
                    self.store([message.clone()]);
                    self.tell_settled(call, &message, now);
                }
            }
        }
        self.run_step(step, now);
    }

    pub(super) fn tell_settled(&mut self, call: &StoredCall, message: &StoredMessage, now: Millis) {
        let (body, mindset) = told(call, message);
        self.emit(body, mindset, now);
    }

    /// The tool and the arguments of a call that a person has decided about: those that were
    /// shown, or it is not run.
    fn as_shown(&self, call: &StoredCall) -> Result<(ServerTool, FullArgs), String> {
        let ask = call.ask.as_ref().ok_or(GONE)?;
        let shown = ask.call().ok_or(GONE)?;
        let Approval { tool, .. } = shown;
        let (name, tool) = self.tools.of(tool.key_name()).ok_or(GONE)?;
        let seen = self.offered.iter().find(|offered| offered.name == name).ok_or(GONE)?;
        let checked = CheckedArgs::read(&call.arguments, &seen.parameters, &*self.patterns)?;
        let files = files::for_tool(tool, &self.messages, &*self.files);
        let full = self.tools.inject(checked, tool, &self.passthrough, files.as_ref())?;
        let supplied: Vec<&str> = full.supplied().map(|(name, _)| name).collect();
        // One that runs has its arguments already.
        if ask.live().is_none() && (full.masked() != shown.shown || supplied != shown.supplied) {
            return Err(CHANGED.to_owned());
        }
        Ok((tool.clone(), full))
    }
}

/// The event that tells what became of a call which waited for a person.
pub(super) fn told(call: &StoredCall, message: &StoredMessage) -> (crate::agui::Body, Object) {
    let told = Told {
        content: message.content.clone(),
        ok: message.status != Some(MessageStatus::Error),
        duration: 0,
        unknown: message.effect.as_ref().is_some_and(|effect| effect.unknown),
    };
    match call.ask.as_ref().and_then(|ask| ask.call()) {
        Some(shown) => told.event(message, &shown.tool.name, &Owner::Server(&shown.tool)),
        None => told.event(message, &call.name, &Owner::Server(&questions::of(&call.name))),
    }
}

fn invalid(message: String) -> Refusal {
    ErrorInfo::new(ErrorCode::InvalidRequest, message)
}
