//! The built-in demo model: rules, no AI, no network, the same answer to the same
//! conversation every time. It says what it is whenever it is asked, and its
//! [`DISCLOSURE`] stands in every run.

mod arguments;
mod awareness;
mod knowledge;
mod replies;
mod results;
mod words;

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use mindset_core::turn::{ModelEvent, ModelRequest};

use super::{Answer, Model};

/// What readers show next to answers of this model.
pub const DISCLOSURE: &str = "Demo model: rule-based answers, not AI";

/// The demo model.
#[derive(Debug)]
pub(crate) struct Demo {
    delay: Duration,
}

impl Demo {
    /// Waits `delay` before every word.
    pub(crate) fn new(delay: Duration) -> Demo {
        Demo { delay }
    }
}

impl Model for Demo {
    fn call(&self, request: ModelRequest) -> Answer {
        let events = events(replies::reply(&request));
        let delay = self.delay;
        let paced = stream::unfold(events, move |mut events| async move {
            let next = events.pop_front()?;
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            Some((next, events))
        });
        paced.boxed()
    }

    fn shown_name(&self) -> &'static str {
        "demo"
    }

    fn provider(&self) -> &'static str {
        "mindset_demo"
    }

    fn disclosure(&self) -> Option<&str> {
        Some(DISCLOSURE)
    }
}

/// What the rules come to.
#[derive(Debug, PartialEq)]
enum Reply {
    Text(String),
    /// Calls of one step: the tool and its arguments.
    Calls(Vec<(String, String)>),
}

fn events(reply: Reply) -> VecDeque<ModelEvent> {
    let mut events = VecDeque::new();
    match reply {
        Reply::Text(text) => {
            events.extend(text.split_inclusive([' ', '\n']).map(|word| ModelEvent::Text(word.to_owned())));
        }
        Reply::Calls(calls) => {
            for (key, (tool, arguments)) in (0..).zip(calls) {
                events.push_back(ModelEvent::CallStart { key, id: None, name: tool });
                events.push_back(ModelEvent::CallArguments { key, delta: arguments });
            }
        }
    }
    events.push_back(ModelEvent::End { usage: None });
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_add_up_to_the_text() {
        let text = "One two.\n\nThree  four";
        let mut said = String::new();
        for event in events(Reply::Text(text.into())) {
            if let ModelEvent::Text(piece) = event {
                assert!(!piece.is_empty());
                said.push_str(&piece);
            }
        }
        assert_eq!(said, text);
    }
}
