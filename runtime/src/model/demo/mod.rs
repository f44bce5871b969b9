//! The built-in demo model: rules, no AI, no network, the same answer to the same
//! conversation every time. It says what it is whenever it is asked, and its
//! [`DISCLOSURE`] stands in every run.

mod arguments;
mod awareness;
mod knowledge;
mod replies;
mod results;
mod words;

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
            let next = events.next()?;
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

fn events(reply: Reply) -> Box<dyn Iterator<Item = ModelEvent> + Send> {
    let end = std::iter::once(ModelEvent::End { usage: None });
    match reply {
        Reply::Text(text) => Box::new(words_of(text).map(ModelEvent::Text).chain(end)),
        Reply::Calls(calls) => {
            let call = |(key, (tool, arguments))| {
                [
                    ModelEvent::CallStart { key, id: None, name: tool },
                    ModelEvent::CallArguments { key, delta: arguments },
                ]
            };
            Box::new((0..).zip(calls).flat_map(call).chain(end))
        }
    }
}

/// The words of a text, each with the space after it.
fn words_of(text: String) -> impl Iterator<Item = String> + Send {
    let mut at = 0;
    std::iter::from_fn(move || {
        let word = text.get(at..)?.split_inclusive([' ', '\n']).next()?;
        at += word.len();
        Some(word.to_owned())
    })
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
