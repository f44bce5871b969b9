//! A model that says what the test wrote down.

use std::collections::VecDeque;

use mindset_core::event::Reason;
use mindset_core::turn::{ModelEvent, ModelFailure, ModelRequest, ModelUsage};

use super::requests::check_request;

/// The script: one step per model call, in the order of the calls.
#[derive(Default)]
pub struct ScriptedModel {
    steps: VecDeque<Step>,
    /// What is said when the steps are used up.
    improvise: Option<Improvise>,
    /// Every request so far.
    pub requests: Vec<ModelRequest>,
}

/// Pauses and events for a request.
type Improvise = Box<dyn FnMut(&ModelRequest) -> Vec<(u64, ModelEvent)>>;

/// The answer to one model call.
pub struct Step {
    expect: Box<dyn Fn(&ModelRequest)>,
    events: Vec<(u64, ModelEvent)>,
}

pub fn text(piece: &str) -> ModelEvent {
    ModelEvent::Text(piece.to_owned())
}

/// A whole call.
pub fn call(key: u32, name: &str, arguments: &str) -> Vec<ModelEvent> {
    vec![
        ModelEvent::CallStart { key, id: None, name: name.to_owned() },
        ModelEvent::CallArguments { key, delta: arguments.to_owned() },
    ]
}

impl Step {
    /// These events, all at once, then a good end.
    pub fn events(events: impl IntoIterator<Item = ModelEvent>) -> Step {
        let mut events: Vec<_> = events.into_iter().map(|event| (0, event)).collect();
        events.push((0, ModelEvent::End { usage: Some(ModelUsage { input: 10, output: 5 }) }));
        Step { expect: Box::new(|_| {}), events }
    }

    /// This text, a word at a time, then a good end.
    pub fn says(text: &str) -> Step {
        Step::events(text.split_inclusive(' ').map(self::text))
    }

    /// This text, then a failure.
    pub fn breaks(text: &str, reason: Reason) -> Step {
        let mut step = Step::says(text);
        let message = "The model broke. Try again.".to_owned();
        step.events.pop();
        step.events.push((0, ModelEvent::Failed(ModelFailure { reason, message, retryable: true })));
        step
    }

    /// With so many milliseconds before each event.
    pub fn slowly(mut self, delay: u64) -> Step {
        for (before, _) in &mut self.events {
            *before = delay;
        }
        self
    }

    /// With a look at the request.
    pub fn expects(mut self, expect: impl Fn(&ModelRequest) + 'static) -> Step {
        self.expect = Box::new(expect);
        self
    }
}

impl ScriptedModel {
    pub fn new(steps: impl IntoIterator<Item = Step>) -> ScriptedModel {
        ScriptedModel { steps: steps.into_iter().collect(), ..ScriptedModel::default() }
    }

    /// A model without a script.
    pub fn improvising(improvise: impl FnMut(&ModelRequest) -> Vec<(u64, ModelEvent)> + 'static) -> Self {
        ScriptedModel { improvise: Some(Box::new(improvise)), ..ScriptedModel::default() }
    }

    /// Adds a step at the end.
    pub fn push(&mut self, step: Step) {
        self.steps.push_back(step);
    }

    pub fn steps_left(&self) -> usize {
        self.steps.len()
    }

    /// What is said to `request`: pauses and events.
    pub fn call(&mut self, request: ModelRequest) -> Vec<(u64, ModelEvent)> {
        check_request(&request);
        let events = match (self.steps.pop_front(), &mut self.improvise) {
            (Some(step), _) => {
                (step.expect)(&request);
                step.events
            }
            (None, Some(improvise)) => improvise(&request),
            (None, None) => panic!("the script has no step for {request:?}"),
        };
        self.requests.push(request);
        events
    }
}
