//! What providers take.

use std::collections::{BTreeSet, VecDeque};

use mindset_core::json::parse;
use mindset_core::turn::{ModelMessage, ModelRequest};

/// What providers insist on: each call has its one result right behind its
/// message, and nothing else has one.
pub fn check_request(request: &ModelRequest) {
    let mut open: VecDeque<&str> = VecDeque::new();
    let mut ids = BTreeSet::new();
    for message in &request.messages {
        if let ModelMessage::Tool { call_id, .. } = message {
            assert_eq!(open.pop_front(), Some(call_id.as_str()), "a result out of place");
            continue;
        }
        assert!(open.is_empty(), "calls without results: {open:?}");
        match message {
            ModelMessage::Assistant { text, calls, .. } => {
                assert!(!text.trim().is_empty() || !calls.is_empty(), "an empty message");
                for call in calls {
                    assert!(!call.id.is_empty() && ids.insert(call.id.as_str()), "two calls {:?}", call.id);
                    assert!(is_legal(&call.name), "{}", call.name);
                    assert!(parse(&call.arguments).is_ok_and(|a| a.is_object()), "{}", call.arguments);
                }
                open.extend(calls.iter().map(|c| c.id.as_str()));
            }
            ModelMessage::User(text) => assert!(!text.is_empty()),
            ModelMessage::Tool { .. } => {}
        }
    }
    assert!(open.is_empty(), "calls without results: {open:?}");
    check_tools(request);
}

/// Names are legal and there once, roots have `type` and `properties`.
fn check_tools(request: &ModelRequest) {
    let mut names = BTreeSet::new();
    for tool in &request.tools {
        assert!(names.insert(tool.name.as_str()), "two tools {}", tool.name);
        assert!(is_legal(&tool.name), "{}", tool.name);
        let schema = tool.parameters.as_object();
        assert_eq!(schema.str("type"), Some("object"), "{schema}");
        assert!(schema.get("properties").is_some_and(|p| p.is_object()), "{schema}");
    }
}

fn is_legal(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&name.len()) && name.chars().all(legal)
}
