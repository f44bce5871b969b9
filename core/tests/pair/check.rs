//! What must hold of every page when nothing is under way any more.

use mindset_core::event::RuntimeEvent;
use mindset_core::session::DomEvent;

use super::Page;
use super::page::Heard;

/// Idle, every promise settled once, every event where it belongs.
pub fn quiet(page: &Page) {
    assert!(!page.session.is_busy(), "still busy");
    assert!(page.open.is_empty(), "requests are open: {:?}", page.open);
    for send in &page.accepted {
        assert!(page.settled(*send), "{send:?} has not settled");
    }
    order(&page.events);
    panel(page);
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    Idle,
    /// `agent-busy` came.
    Busy,
    /// `run_started` came.
    Started,
    /// `complete` came.
    Complete,
    /// `run_finished` or `run_error` came.
    Ended,
}

fn order(events: &[Heard]) {
    let mut at = At::Idle;
    for (i, heard) in events.iter().enumerate() {
        at = match (at, heard) {
            (At::Idle | At::Ended, Heard::Event(DomEvent::Busy { .. })) => At::Busy,
            (At::Idle | At::Ended, Heard::Event(DomEvent::Idle { .. })) => At::Idle,
            (At::Ended | At::Idle, Heard::Settled(_)) => at,
            (At::Ended, Heard::Event(DomEvent::Conversation { .. })) => at,
            (_, Heard::Event(DomEvent::Error(_))) => at,
            // Another configuration: what ran before is heard of no more.
            (_, Heard::Event(DomEvent::Initializing)) => At::Idle,
            (_, Heard::Settled(_)) if left(&events[i..]) => at,
            (at, Heard::Event(DomEvent::Runtime(event))) => match (at, event) {
                (At::Busy, RuntimeEvent::RunStarted { .. }) => At::Started,
                (
                    At::Started,
                    RuntimeEvent::TextDelta { .. }
                    | RuntimeEvent::ThinkingDelta { .. }
                    | RuntimeEvent::ToolAnnounce { .. },
                ) => at,
                (At::Started, RuntimeEvent::Complete { .. }) => At::Complete,
                (At::Complete, RuntimeEvent::RunFinished { .. }) => At::Ended,
                (At::Busy | At::Started, RuntimeEvent::RunError(_)) => At::Ended,
                _ => panic!("out of place at {at:?}: {i} of {events:?}"),
            },
            _ => panic!("out of place at {at:?}: {i} of {events:?}"),
        };
    }
    assert_eq!(at, At::Idle, "{events:?}");
}

/// Whether nothing but promises comes before a new beginning.
fn left(events: &[Heard]) -> bool {
    let next = events.iter().find(|heard| !matches!(heard, Heard::Settled(_)));
    matches!(next, Some(Heard::Event(DomEvent::Initializing)))
}

/// The patches, carried out, give the transcript.
fn panel(page: &Page) {
    use mindset_core::view::Patch;
    let mut rows: Vec<(String, &str, String)> = Vec::new();
    for patch in &page.patches {
        match patch {
            Patch::Clear => rows.clear(),
            Patch::AddMessage { id, role, text } => {
                assert!(rows.iter().all(|r| r.0 != *id), "two rows {id}");
                rows.push((id.clone(), role.as_str(), text.clone()));
            }
            Patch::AppendText { id, text } => {
                let row = rows.iter_mut().find(|r| r.0 == *id).expect("text for a row that is there");
                row.2.push_str(text);
            }
            Patch::SetStatus { id, .. } => assert!(rows.iter().any(|r| r.0 == *id), "no row {id}"),
            Patch::RemoveMessage { id } => rows.retain(|r| r.0 != *id),
            _ => {}
        }
    }
    let transcript: Vec<_> =
        page.session.messages().iter().map(|m| (m.id.clone(), m.role.as_str(), m.content.clone())).collect();
    assert_eq!(rows, transcript);
}
