//! Questions of the server to people. An approval keeps its turn waiting; with nothing but
//! questionnaires open the turn rests, and goes on when they are answered.

use super::call::{Stage, details};
use super::interrupt::{Asks, Interrupt, Word};
use super::state::{Phase, State, Turn};
use super::step::Step;
use super::{Protocol, Refused, SendId, Session, TurnResult, TurnStatus, queue};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{Decision, RuntimeEvent};
use crate::json::{Object, Value, parse};
use crate::view::{Patch, ToolState};

/// What is answered is not asked.
pub(super) fn not_open() -> Refused {
    let message = "This is not open any more: it was answered somewhere else, or its turn has ended.";
    ErrorInfo::new(ErrorCode::NotFound, message)
}

impl Step {
    /// The first questionnaire that waits for answers.
    pub(super) fn pending(&self) -> Option<Object> {
        self.asks.iter().filter(|ask| ask.is_open()).find_map(Interrupt::pending)
    }

    /// Nobody can be asked: what needs an approval does without.
    pub(super) fn deny_all(&mut self) {
        for ask in &mut self.asks {
            if ask.is_approval() {
                ask.word = Some(Word::Dismissed);
            }
        }
    }

    /// Whether people are asked something.
    fn is_asking(&self) -> bool {
        self.asks.iter().any(Interrupt::is_open)
    }

    /// Whether something that is asked here is not open on the server.
    fn is_stale(&self, body: &Value) -> bool {
        let known = body.get("openInterrupts").and_then(Value::as_array).unwrap_or_default();
        let gone = |ask: &Interrupt| known.iter().all(|open| open.str("id") != Some(&ask.id));
        self.asks.iter().any(|ask| ask.is_open() && gone(ask))
    }
}

/// The card of something that is asked.
pub(super) fn card(ask: &Interrupt) -> Patch {
    let id = ask.id.clone();
    match &ask.what {
        Asks::Approval { label, reason, input, .. } => {
            let (tool, text) = (Some(label.clone()), reason.clone());
            Patch::AddQuestion { id, tool, text, details: input.as_ref().map(details).unwrap_or_default() }
        }
        Asks::Questions(questionnaire, _) => {
            Patch::AddQuestionnaire { id, questionnaire: questionnaire.clone() }
        }
    }
}

impl Session {
    /// Asks people what a step leaves to them.
    #[inline(never)]
    pub(super) fn show_asks(&mut self, step: &Step) {
        for ask in step.asks.iter().filter(|ask| ask.is_open()) {
            self.out.patch(card(ask));
            let id = ask.id.clone();
            match &ask.what {
                Asks::Approval { name, label, reason, input, session } => {
                    if !ask.call.is_empty() {
                        self.tool_line(&ask.call, ToolState::Asking, label.clone());
                        let shown = input.as_ref().map(details).unwrap_or_default();
                        self.describe_tool(&ask.call, name, shown);
                    }
                    self.out.runtime(RuntimeEvent::PermissionRequested {
                        request_id: id,
                        tool_call_id: ask.call.clone(),
                        tool_name: name.clone(),
                        reason: reason.clone(),
                        tool_input: input.clone(),
                        session_id: session.clone(),
                    });
                }
                Asks::Questions(questionnaire, _) => {
                    let questionnaire = questionnaire.clone();
                    self.out.runtime(RuntimeEvent::QuestionRequested { question_id: id, questionnaire });
                }
            }
        }
    }

    /// Takes the card of something away that is not asked any more; whose approval it is hears
    /// the `decision`.
    pub(super) fn close_ask(&mut self, ask: &Interrupt, decision: Decision, drawn: bool) {
        if let Asks::Approval { label, .. } = &ask.what {
            if drawn && !ask.call.is_empty() {
                let allowed = decision == Decision::AllowOnce;
                let state = if allowed { ToolState::Running } else { ToolState::Stopped };
                self.tool_line(&ask.call, state, label.clone());
            }
            self.resolve(&ask.id, decision, drawn);
        } else if drawn {
            self.out.patch(Patch::RemoveQuestion { id: ask.id.clone() });
        }
    }

    /// What becomes of the calls of a step is not known here, or comes later: nothing turns.
    fn rest_lines(&mut self, step: &Step) {
        for ask in &step.asks {
            if let Asks::Approval { label, .. } = &ask.what
                && !ask.call.is_empty()
            {
                self.tool_line(&ask.call, ToolState::Stopped, label.clone());
            }
        }
    }

    /// Nobody waits for answers any more.
    pub(super) fn end_asks(&mut self, step: &mut Step, drawn: bool) {
        for ask in std::mem::take(&mut step.asks) {
            if ask.is_open() {
                self.close_ask(&ask, Decision::Deny, drawn);
            }
        }
    }

    /// A person's word about an approval of the server's; whether there is one.
    pub(super) fn decide(&mut self, step: &mut Step, request: &str, decision: Decision) -> bool {
        let is = |ask: &&mut Interrupt| ask.id == request && ask.is_open() && ask.is_approval();
        let Some(ask) = step.asks.iter_mut().find(is) else { return false };
        self.close_ask(ask, decision, true);
        let approved = decision == Decision::AllowOnce;
        ask.word = Some(Word::Payload(Value::Object(crate::object! { "approved": approved })));
        true
    }

    /// A person's answers to a questionnaire, whose card goes.
    fn answer_questions(&mut self, step: &mut Step, id: &str, answers: Option<Value>) -> bool {
        let is = |ask: &&mut Interrupt| ask.id == id && ask.is_open() && !ask.is_approval();
        let Some(ask) = step.asks.iter_mut().find(is) else { return false };
        self.out.patch(Patch::RemoveQuestion { id: id.to_owned() });
        ask.word = Some(answers.map_or(Word::Dismissed, |answers| Word::Payload(ask.payload(answers))));
        true
    }

    /// A person has answered a questionnaire.
    #[inline(never)]
    pub(super) fn handle_answer(
        &mut self,
        send: Option<SendId>,
        id: &str,
        answers: &str,
        now: Millis,
    ) -> Result<(), Refused> {
        let answers = match parse(answers) {
            Ok(Value::Array(list)) => Some(Value::Array(list)),
            _ if answers.is_empty() => None,
            _ => {
                let message = "The answers to a questionnaire are a list of { stepId, selectedOptionIds?, otherText? }.";
                return Err(ErrorInfo::new(ErrorCode::InvalidRequest, message));
            }
        };
        if let Some((turn, mut step)) = self.take_step() {
            // An approval is open too, so that the turn has not come to rest.
            let known = send.is_none() && self.answer_questions(&mut step, id, answers);
            self.step_on(turn, step, now);
            return if known { Ok(()) } else { Err(self.why_not_open()) };
        }
        let Some(mut step) = self.transcript.paused.take_if(|_| matches!(self.state, State::Idle)) else {
            return Err(self.why_not_open());
        };
        let known = self.answer_questions(&mut step, id, answers);
        let pending = step.pending();
        if known && pending.is_none() {
            self.resume(*step, send, now);
            return Ok(());
        }
        let run_id = step.of[0].clone();
        self.transcript.paused = Some(step);
        if !known {
            return Err(not_open());
        }
        if let Some(send) = send {
            let conversation_id = self.transcript.thread_id.clone().unwrap_or_default();
            let (status, text, error, bound) = (TurnStatus::Finished, None, None, None);
            self.out
                .settle(send, TurnResult { status, text, conversation_id, run_id, error, bound, pending });
        }
        Ok(())
    }

    fn why_not_open(&self) -> Refused {
        if self.is_busy() { queue::busy() } else { not_open() }
    }

    /// The turn rests until its questionnaires are answered.
    pub(super) fn pause(&mut self, turn: Box<Turn>, mut step: Box<Step>, now: Millis) {
        step.of = [turn.id.clone(), turn.run_id.clone()];
        self.rest_lines(&step);
        self.transcript.paused = Some(step);
        // What was decided beside them goes along with the answers.
        self.settle_replies(None);
        self.end_turn(turn, super::end::Ending::Finished { bound: None }, now);
    }

    /// The turn of a step goes on: everything is answered.
    fn resume(&mut self, step: Step, send: Option<SendId>, now: Millis) {
        if !self.transcript.suggestions.is_empty() {
            self.suggest(Vec::new());
        }
        let mut turn = self.found_turn(&step.of[1], &step.of[0]);
        turn.send = send;
        self.carry_on(turn, step, now);
    }

    /// The conversation waits for people, since before this page has known of it.
    pub(super) fn take_up_asks(&mut self, step: Box<Step>, now: Millis) {
        if step.asks.iter().any(Interrupt::is_approval) {
            let mut turn = self.found_turn(&step.of[1], &step.of[0]);
            self.tell_started(&mut turn, None);
            self.show_asks(&step);
            self.step_on(turn, step, now);
        } else {
            self.show_asks(&step);
            self.transcript.paused = Some(step);
        }
    }

    /// The conversation to begin with waits for people.
    pub(super) fn begin_asked(&mut self, step: Box<Step>, now: Millis) {
        self.take_up_asks(step, now);
        if self.transcript.paused.is_some() {
            self.ready(now);
        }
    }

    /// The run that carries people's answers did not begin: they are asked once more.
    pub(super) fn ask_again(&mut self, mut step: Box<Step>, now: Millis) {
        for ask in &mut step.asks {
            ask.word = None;
        }
        self.take_up_asks(step, now);
    }

    /// A message is sent instead of answers.
    #[inline(never)]
    pub(super) fn dismiss(&mut self, turn: &mut Turn, mut step: Box<Step>) {
        for ask in &mut step.asks {
            if ask.is_open() {
                self.close_ask(ask, Decision::Deny, true);
                ask.word = Some(Word::Dismissed);
            }
        }
        let answers = self.answers(&step);
        turn.news.splice(0..0, answers);
        turn.decided = Some(step);
    }

    /// What a turn at rest asks is closed, here and on the server.
    pub(super) fn stop_paused(&mut self) {
        let Some(mut step) = self.transcript.paused.take() else { return };
        self.end_asks(&mut step, true);
        match self.config.protocol {
            Protocol::Mindset => {
                self.cancel(&step.of[1]);
            }
            Protocol::AgUi => self.remember_step(&mut step),
        }
    }

    /// Keeps what was said in a step for a server that keeps nothing.
    #[inline(never)]
    pub(super) fn remember_step(&mut self, step: &mut Step) {
        let answers = self.answers(step);
        let said = std::mem::take(&mut step.said);
        let mut open = Vec::new();
        for ask in &step.asks {
            open.push(&*ask.call);
        }
        self.transcript.remember_run(said, answers, &open);
        step.calls.clear();
    }

    /// Tells those who wait for it that their decisions count, or why not.
    pub(super) fn settle_replies(&mut self, refused: Option<&ErrorInfo>) {
        for id in std::mem::take(&mut self.replies) {
            self.answer(id, refused.map_or(Ok(Value::Null), |error| Err(error.clone())));
        }
    }

    /// Somebody else was faster: the turn goes on as they have decided.
    pub(super) fn overtaken(&mut self, mut turn: Box<Turn>, now: Millis) {
        let error = not_open();
        self.settle_replies(Some(&error));
        if let Some(step) = turn.decided.take() {
            self.rest_lines(&step);
        }
        if turn.message.id.is_empty()
            && let Some(send) = turn.send.take()
        {
            let mut result = self.result(&turn, TurnStatus::Error);
            result.error = Some(error);
            self.out.settle(send, result);
        }
        turn.found = true;
        (turn.overtaken, turn.outvoted) = (true, true);
        turn.link.stream = None;
        self.read_stored(turn, now);
    }

    /// Whether people are asked something here.
    pub(super) fn is_asking(&self) -> bool {
        match &self.state {
            State::Running(running) => match &running.phase {
                Phase::Calling(step) => step.is_asking(),
                _ => false,
            },
            State::Idle => self.transcript.paused.is_some(),
            _ => false,
        }
    }

    /// Closes what is not open on the server any more. A turn that waited for it goes on as the
    /// store says.
    #[inline(never)]
    pub(super) fn close_stale(&mut self, body: &Value, now: Millis) {
        if let Some(mut step) = self.transcript.paused.take_if(|step| step.is_stale(body)) {
            self.end_asks(&mut step, true);
        }
        let Some((mut turn, mut step)) = self.take_step() else { return };
        if !step.is_stale(body) {
            return self.go_on(turn, Phase::Calling(step));
        }
        self.rest_lines(&step);
        for ask in std::mem::take(&mut step.asks) {
            if ask.is_open() {
                self.out.patch(Patch::RemoveQuestion { id: ask.id.clone() });
                if ask.is_approval() {
                    turn.guessed.push((ask.id, ask.call));
                }
            }
        }
        self.end_calls(&mut turn, *step, true, now);
        turn.found = true;
        (turn.overtaken, turn.outvoted) = (true, true);
        turn.link.stream = None;
        self.go_by_store(turn, body, now);
    }

    /// What became of a call shows what somebody else has decided about it.
    pub(super) fn guess(&mut self, turn: &mut Turn, call: Option<&str>, decision: Decision) {
        for (request_id, of) in std::mem::take(&mut turn.guessed) {
            if call.is_none_or(|call| call == of) {
                self.out.runtime(RuntimeEvent::PermissionResolved { request_id, decision });
            } else {
                turn.guessed.push((request_id, of));
            }
        }
    }

    /// Draws what a step asks.
    pub(super) fn redraw_asks(patches: &mut Vec<Patch>, step: &Step) {
        for call in &step.calls {
            if let Stage::Asking { card, .. } = &call.stage {
                patches.push(card.clone());
            }
        }
        for ask in step.asks.iter().filter(|ask| ask.is_open()) {
            patches.push(card(ask));
        }
    }
}
