//! What tools show, and what the person does with it.

use super::state::Turn;
use super::{Refused, SendId, SendOptions, Session};
use crate::Millis;
use crate::error::{ErrorCode, ErrorInfo};
use crate::event::{Author, RuntimeEvent, Widget};
use crate::json::{Value, concat, digits, parse};
use crate::view::Patch;
use crate::widget::{MAX_ACTION, MAX_PAYLOAD};

impl Session {
    /// A tool shows something; its summary stands for it in the transcript.
    pub(super) fn widget_shown(&mut self, turn: &mut Turn, value: &Value, now: Millis) {
        let (Some(id), Some(widget)) = (value.str("widgetId"), Widget::from_json(value)) else { return };
        if turn.found {
            self.make_place(turn, id);
        }
        if self.transcript.row(id).is_some() {
            return;
        }
        let (id, text) = (id.to_owned(), widget.summary.clone());
        self.transcript.add(&id, Author::Assistant, &text, now);
        if let Some(row) = self.transcript.row(&id) {
            row.widget = Some(widget.clone());
        }
        self.out.patch(Patch::AddMessage { id: id.clone(), role: Author::Assistant, text });
        self.out.patch(Patch::SetWidget { id: id.clone(), widget: widget.clone() });
        self.out.patch(Patch::EndMessage { id: id.clone() });
        self.out.runtime(RuntimeEvent::WidgetPayload { widget_id: id, widget });
    }

    /// The person uses a widget, or the page does for them: the model hears of it in a silent
    /// message, and the widget shows what was chosen.
    pub(super) fn handle_widget_action(
        &mut self,
        send: SendId,
        id: &str,
        (action, payload): (&str, &str),
        now: Millis,
    ) -> Result<(), Refused> {
        let Some(mut widget) = self.transcript.row(id).and_then(|row| row.widget.clone()) else {
            let message = "There is no widget with this id in the conversation. Take the widgetId of a widget-payload event.";
            return Err(ErrorInfo::new(ErrorCode::InvalidRequest, message));
        };
        let payload = check(action, payload)?;
        let text = widget.act(id, action, payload);
        self.handle_send(send, &text, SendOptions { silent: true, ..SendOptions::default() }, now)?;
        if let Some(row) = self.transcript.row(id) {
            row.widget = Some(widget.clone());
        }
        self.out.patch(Patch::SetWidget { id: id.to_owned(), widget });
        Ok(())
    }
}

/// The payload, if there is one.
fn check(action: &str, payload: &str) -> Result<Option<Value>, Refused> {
    let refuse = |message: String| Err(ErrorInfo::new(ErrorCode::InvalidRequest, message));
    let too_long = |what: &str, size: usize, limit: usize| {
        let (size, limit) = (digits(size as u64), digits(limit as u64));
        refuse(concat(&[
            "The ",
            what,
            " of a widget has ",
            &size,
            " bytes and may have at most ",
            &limit,
            ".",
        ]))
    };
    if action.is_empty() {
        return refuse("The action of a widget needs a name, for example the one of its button.".to_owned());
    }
    if action.len() > MAX_ACTION {
        return too_long("action", action.len(), MAX_ACTION);
    }
    if payload.is_empty() {
        return Ok(None);
    }
    if payload.len() > MAX_PAYLOAD {
        return too_long("payload", payload.len(), MAX_PAYLOAD);
    }
    match parse(payload) {
        Ok(payload) => Ok(Some(payload)),
        Err(error) => refuse(concat(&["The payload of a widget is no JSON: ", &error.to_string()])),
    }
}
