//! The ends of a run: done, waiting, stopped, at a bound, failed.

use crate::Millis;
use crate::agui::{Body, Outcome};
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{Bound, MessageStatus, Reason};
use crate::json::Object;
use crate::object;

use super::answer::Answer;
use super::conversation::turn_of;
use super::running::{Run, State};
use super::{ModelFailure, Output, RunState, citations, results};

/// How a run is ended before the model is done.
pub(super) enum Cut {
    Cancelled,
    Bound(Bound),
}

impl Run {
    pub(super) fn finish(&mut self, outcome: Outcome, state: RunState, now: Millis) {
        self.finish_with(outcome, Object::new(), state, now);
    }

    /// Ends the run before its next model call.
    pub(super) fn end_at(&mut self, bound: Bound, now: Millis) {
        self.finish_with(Outcome::Cancelled, bound_fields(bound), RunState::Finished, now);
    }

    fn finish_with(&mut self, outcome: Outcome, mindset: Object, state: RunState, now: Millis) {
        let body = Body::RunFinished {
            thread_id: self.thread_id.clone(),
            run_id: self.run_id.clone(),
            result: None,
            outcome: Some(outcome),
            usage: self.token_usage(),
        };
        self.emit(body, mindset, now);
        self.done(state);
    }

    pub(super) fn cut(&mut self, state: State, cut: Cut, now: Millis) {
        match state {
            State::Model(mut answer) => {
                self.output(Output::AbortModel);
                // A bound says what is missing; nobody stopped the message then.
                let status = matches!(cut, Cut::Cancelled).then_some(MessageStatus::Stopped);
                self.store_part(&answer, status, now);
                self.emit_all(answer.cut(), now);
            }
            State::Tools(step) => {
                let why = match cut {
                    Cut::Cancelled => "The user stopped the call before its result came.",
                    Cut::Bound(_) => "The call was stopped before its result came: the turn took too long.",
                };
                self.abort_tools(step, why, now);
            }
            State::Over => return,
        }
        match cut {
            Cut::Cancelled => {
                let mut mindset = Object::new();
                self.add_effects(&mut mindset);
                self.finish_with(Outcome::Cancelled, mindset, RunState::Cancelled, now);
            }
            Cut::Bound(bound) => self.end_at(bound, now),
        }
    }

    /// The runtime goes down. What was said stays.
    pub(super) fn shut_down(&mut self, state: State, message: String, now: Millis) {
        let failure = ModelFailure { reason: Reason::Interrupted, message, retryable: true };
        match state {
            State::Model(answer) => {
                self.output(Output::AbortModel);
                self.model_failed(&answer, failure, now);
            }
            State::Tools(step) => {
                self.abort_tools(step, "The server was shut down before the result came.", now);
                self.fail(failure, ErrorCode::ServerError, now);
            }
            State::Over => {}
        }
    }

    /// The runtime cannot go on.
    pub(super) fn give_up(&mut self, state: State, error: ErrorInfo, now: Millis) {
        let ErrorInfo { code, message, retryable, .. } = error;
        let failure = ModelFailure { reason: code_reason(code), message, retryable };
        match state {
            State::Model(answer) => {
                self.output(Output::AbortModel);
                self.store_part(&answer, Some(MessageStatus::Error), now);
            }
            State::Tools(step) => {
                self.abort_tools(step, "The call was broken off before its result came.", now);
            }
            State::Over => return,
        }
        self.fail(failure, code, now);
    }

    pub(super) fn said_nothing(&mut self, answer: &Answer, now: Millis) {
        let failure = ModelFailure {
            reason: Reason::ModelError,
            message: "The model answered with nothing. Try again.".to_owned(),
            retryable: true,
        };
        self.model_failed(answer, failure, now);
    }

    pub(super) fn model_failed(&mut self, answer: &Answer, failure: ModelFailure, now: Millis) {
        let status = match failure.reason {
            Reason::Interrupted => MessageStatus::Interrupted,
            _ => MessageStatus::Error,
        };
        self.store_part(answer, Some(status), now);
        let code = failure_code(failure.reason);
        self.fail(failure, code, now);
    }

    /// Stores what an answer said before it was cut off, and tells what that cites.
    fn store_part(&mut self, answer: &Answer, status: Option<MessageStatus>, now: Millis) {
        let Some(mut message) = answer.partial(&self.run_id, status, now) else { return };
        message.citations = citations::cited(&self.messages, &message.content);
        let cited = message.citations.clone();
        self.store([message]);
        self.tell_citations(answer, &cited, now);
    }

    /// Ends the run with an error. What is open stays open: half a call must not
    /// look like a whole one, and the protocol allows it here.
    fn fail(&mut self, failure: ModelFailure, code: ErrorCode, now: Millis) {
        let body = Body::RunError {
            message: failure.message,
            code: Some(code.as_str().to_owned()),
            usage: self.token_usage(),
        };
        // `unauthorized` means the reader's own token; a refused model key is the model's fault.
        let reason = match failure.reason {
            Reason::Unauthorized => Reason::ModelError,
            other => other,
        };
        let mut mindset = object! { "reason": reason.as_str(), "retryable": failure.retryable };
        self.add_effects(&mut mindset);
        self.emit(body, mindset, now);
        self.done(RunState::Error);
    }

    /// What a turn that did not end well has changed, or may have.
    fn add_effects(&self, mindset: &mut Object) {
        let effects = results::effects(turn_of(&self.messages));
        if !effects.is_empty() {
            mindset.insert("effects", effects);
        }
    }
}

fn bound_fields(bound: Bound) -> Object {
    object! { "bound": bound.to_json() }
}

/// The code that programs branch on when the model fails.
fn failure_code(reason: Reason) -> ErrorCode {
    match reason {
        Reason::RateLimited => ErrorCode::RateLimited,
        Reason::ContextTooLong => ErrorCode::TooLarge,
        Reason::Timeout => ErrorCode::Timeout,
        // The agent's key, not the person's.
        Reason::Unauthorized => ErrorCode::AgentMisconfigured,
        Reason::Internal => ErrorCode::Internal,
        _ => ErrorCode::ServerError,
    }
}

fn code_reason(code: ErrorCode) -> Reason {
    match code {
        ErrorCode::RateLimited => Reason::RateLimited,
        ErrorCode::Timeout => Reason::Timeout,
        _ => Reason::Internal,
    }
}
