//! What must hold of every page when nothing is under way any more.

use mindset_core::event::{ChatMessage, Citation, Feedback, MessageStatus, RuntimeEvent, Widget};
use mindset_core::session::{DomEvent, SendId, TurnStatus};
use mindset_core::view::{Activity, Notice, Patch, QueuedMessage, ToolState};

use super::Page;
use super::page::Heard;

/// Idle, every promise settled once, every event where it belongs.
pub fn quiet(page: &mut Page) {
    assert!(!page.session.is_busy(), "still busy");
    assert!(page.open.is_empty(), "requests are open: {:?}", page.open);
    for send in &page.accepted {
        assert!(page.settled(*send), "{send:?} has not settled");
    }
    assert_eq!(page.answers.len(), page.asks as usize, "asks without an answer");
    order(page, &page.events);
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

/// Whether a message came to nothing, or to a part of another turn.
fn never_began(page: &Page, send: SendId) -> bool {
    let result = page.result(send);
    result.text.is_none() && result.status != TurnStatus::Finished
}

/// Whether something has waited.
fn waited(events: Option<&[Heard]>) -> bool {
    let queued =
        |heard: &Heard| matches!(heard, Heard::Event(DomEvent::Runtime(RuntimeEvent::RunQueued { .. })));
    events.unwrap_or_default().iter().any(queued)
}

fn order(page: &Page, events: &[Heard]) {
    let mut at = At::Idle;
    for (i, heard) in events.iter().enumerate() {
        at = match (at, heard) {
            (At::Idle | At::Ended, Heard::Event(DomEvent::Busy { .. })) => At::Busy,
            // What waits is told of while another turn is under way, and may end without one.
            (at, Heard::Event(DomEvent::Runtime(RuntimeEvent::RunQueued { .. }))) => at,
            (at, Heard::Settled(send)) if never_began(page, *send) => at,
            (At::Busy, Heard::Event(DomEvent::Busy { .. })) => At::Busy,
            (At::Busy, Heard::Event(DomEvent::Idle { .. })) if waited(events.get(..i)) => At::Idle,
            (At::Idle | At::Ended, Heard::Event(DomEvent::Idle { .. })) => At::Idle,
            (At::Ended | At::Idle, Heard::Settled(_)) => at,
            (
                At::Ended | At::Idle,
                Heard::Event(DomEvent::Conversation { .. } | DomEvent::History { .. }),
            ) => at,
            (_, Heard::Event(DomEvent::Error(_) | DomEvent::Connection(_) | DomEvent::Feedback { .. })) => at,
            // Another configuration: what ran before is heard of no more.
            (_, Heard::Event(DomEvent::Initializing)) => At::Idle,
            (_, Heard::Settled(_)) if left(&events[i..]) => at,
            (at, Heard::Event(DomEvent::Runtime(event))) => match (at, event) {
                (At::Busy, RuntimeEvent::RunStarted { .. }) => At::Started,
                (
                    At::Started,
                    RuntimeEvent::TextDelta { .. }
                    | RuntimeEvent::ThinkingDelta { .. }
                    | RuntimeEvent::ToolAnnounce { .. }
                    | RuntimeEvent::ToolStart { .. }
                    | RuntimeEvent::ToolEnd { .. }
                    | RuntimeEvent::PermissionRequested { .. }
                    | RuntimeEvent::PermissionResolved { .. }
                    | RuntimeEvent::Citations { .. }
                    | RuntimeEvent::WidgetPayload { .. }
                    | RuntimeEvent::Suggestions { .. },
                ) => at,
                // A turn at rest may be found, too.
                (at, RuntimeEvent::QuestionRequested { .. }) => at,
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

/// The patches, carried out, give the transcript, and one that is drawn now looks the
/// same.
fn panel(page: &mut Page) {
    let panel = Panel::draw(&page.patches);
    let transcript: Vec<_> =
        page.session.messages().iter().map(|m| (m.id.clone(), m.role.as_str(), m.content.clone())).collect();
    assert_eq!(panel.messages(), transcript);
    assert!(panel.questions.is_empty(), "{:?}", panel.questions);
    for row in &panel.rows {
        if let Row::Tool { id, state, .. } = row {
            assert!(!matches!(state, ToolState::Asking | ToolState::Running), "{id} is {state:?} still");
        }
    }
    assert_eq!(Panel::draw(&page.session.redraw()), panel);
}

/// What a panel shows.
#[derive(Debug, Default, PartialEq)]
pub struct Panel {
    pub rows: Vec<Row>,
    pub questions: Vec<Question>,
    /// They may stand while nothing is under way.
    pub questionnaires: Vec<String>,
    activity: Option<Activity>,
    notice: Option<Notice>,
    pub suggestions: Vec<String>,
    disclosure: Option<String>,
    pub queue: Vec<QueuedMessage>,
}

/// Id, text and details.
type Question = (String, String, Vec<(String, String)>);

/// Name, time and arguments of a tool call.
type More = (String, Option<u64>, Vec<(String, String)>);

/// A row or a line of it.
#[derive(Debug, PartialEq)]
pub enum Row {
    Message {
        id: String,
        role: &'static str,
        text: String,
        status: Option<MessageStatus>,
        items: Vec<Citation>,
        widget: Option<Widget>,
        feedback: Option<Feedback>,
    },
    Tool {
        id: String,
        state: ToolState,
        label: String,
        more: Option<More>,
    },
}

impl Panel {
    pub fn draw(patches: &[Patch]) -> Panel {
        let mut panel = Panel::default();
        for patch in patches {
            panel.apply(patch.clone());
        }
        panel
    }

    fn messages(&self) -> Vec<(String, &'static str, String)> {
        let message = |row: &Row| match row {
            Row::Message { id, role, text, .. } => Some((id.clone(), *role, text.clone())),
            Row::Tool { .. } => None,
        };
        self.rows.iter().filter_map(message).collect()
    }

    /// Tool lines in short: `state label`.
    pub fn tools(&self) -> Vec<String> {
        let line = |row: &Row| match row {
            Row::Tool { state, label, .. } => Some(format!("{state:?} {label}")),
            Row::Message { .. } => None,
        };
        self.rows.iter().filter_map(line).collect()
    }

    fn message(&mut self, wanted: &str) -> &mut Row {
        let is = |row: &&mut Row| matches!(row, Row::Message { id, .. } if id == wanted);
        self.rows.iter_mut().find(is).unwrap_or_else(|| panic!("no message {wanted}"))
    }

    fn apply(&mut self, patch: Patch) {
        match patch {
            Patch::Clear => {
                self.rows.clear();
                self.questions.clear();
                self.questionnaires.clear();
                self.notice = None;
                self.suggestions.clear();
            }
            Patch::AddMessage { id, role, text } => {
                assert!(self.messages().iter().all(|row| row.0 != id), "two rows {id}");
                let (role, status, items) = (role.as_str(), None, Vec::new());
                self.rows.push(Row::Message { id, role, text, status, items, widget: None, feedback: None });
            }
            Patch::Earlier(messages) => {
                let row = |m: ChatMessage| {
                    let (id, role, text) = (m.id, m.role.as_str(), m.content);
                    let (status, items, widget, feedback) = (m.status, m.citations, m.widget, m.feedback);
                    Row::Message { id, role, text, status, items, widget, feedback }
                };
                self.rows.splice(0..0, messages.into_iter().map(row));
            }
            Patch::RemoveMessage { id: gone } => {
                self.rows.retain(|row| !matches!(row, Row::Message { id, .. } if *id == gone));
            }
            Patch::AddTool { id, state, label } => {
                let twice = |row: &Row| matches!(row, Row::Tool { id: other, .. } if *other == id);
                assert!(!self.rows.iter().any(twice), "two lines {id}");
                self.rows.push(Row::Tool { id, state, label, more: None });
            }
            Patch::SetTool { id: wanted, state: new, label: text } => {
                let is = |row: &&mut Row| matches!(row, Row::Tool { id, .. } if *id == wanted);
                let line = self.rows.iter_mut().find(is).unwrap_or_else(|| panic!("no line {wanted}"));
                let Row::Tool { state, label, .. } = line else { return };
                (*state, *label) = (new, text);
            }
            Patch::AddQuestion { id, tool, text, details } => {
                let may_use = tool.map(|tool| format!("May the agent use “{tool}”? {text}"));
                let text = may_use.map_or(text, |text| text.trim().to_owned());
                self.questions.push((id, text, details));
            }
            Patch::AddQuestionnaire { id, questionnaire } => {
                assert!(questionnaire.get("steps").is_some());
                self.questionnaires.push(id);
            }
            Patch::RemoveQuestion { id } => {
                let before = self.questions.len() + self.questionnaires.len();
                self.questions.retain(|question| question.0 != id);
                self.questionnaires.retain(|known| *known != id);
                assert_eq!(self.questions.len() + self.questionnaires.len() + 1, before, "no question {id}");
            }
            Patch::SetActivity(activity) => self.activity = Some(activity),
            Patch::SetNotice(notice) => self.notice = notice,
            Patch::SetDisclosure(text) => self.disclosure = text,
            Patch::SetQueue(queue) => self.queue = queue,
            Patch::GiveBack { .. } => {}
            other => self.apply_message(other),
        }
    }

    /// What becomes of a message that is there.
    fn apply_message(&mut self, patch: Patch) {
        match patch {
            Patch::AppendText { id, text: more } => {
                let Row::Message { text, .. } = self.message(&id) else { return };
                text.push_str(&more);
            }
            Patch::EndMessage { .. } => {}
            Patch::SetStatus { id, status: new } => {
                let Row::Message { status, .. } = self.message(&id) else { return };
                *status = new;
            }
            Patch::SetCitations { id, items: new } => {
                let Row::Message { items, .. } = self.message(&id) else { return };
                *items = new;
            }
            Patch::SetWidget { id, widget: new } => {
                let Row::Message { widget, .. } = self.message(&id) else { return };
                *widget = Some(new);
            }
            Patch::SetFiles { id, .. } => {
                self.message(&id);
            }
            other => self.apply_tools(other),
        }
    }

    /// What the tools of messages show.
    fn apply_tools(&mut self, patch: Patch) {
        match patch {
            Patch::DescribeTool { id: wanted, name, duration_ms, details } => {
                let is = |row: &&mut Row| matches!(row, Row::Tool { id, .. } if *id == wanted);
                let line = self.rows.iter_mut().find(is).unwrap_or_else(|| panic!("no line {wanted}"));
                let Row::Tool { more, .. } = line else { return };
                *more = Some((name, duration_ms, details));
            }
            Patch::Think { .. } => {}
            Patch::SetFeedback { id, feedback: new } => {
                let Row::Message { feedback, .. } = self.message(&id) else { return };
                *feedback = new;
            }
            Patch::SetSuggestions(items) => self.suggestions = items,
            _ => {}
        }
    }
}
