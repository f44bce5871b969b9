//! The messages and how they scroll. The view follows the answer only while it is
//! at the end: whoever scrolls up, by however little, stays where they are.

use std::cell::{Cell, RefCell};

use mindset_core::event::{Author, MessageStatus};
use mindset_core::view::{Activity, Notice, NoticeAction};
use wasm_bindgen::JsValue;
use web_sys::{Element, HtmlElement};

use super::node::{add, icon};
use super::row::Row;

/// Rounding of scroll positions, in pixels.
const SLACK: i32 = 3;

/// The messages of a conversation and what stands below them.
pub(super) struct Transcript {
    scroller: HtmlElement,
    empty: HtmlElement,
    rows: HtmlElement,
    typing: HtmlElement,
    notice: HtmlElement,
    jump: HtmlElement,
    announcer: HtmlElement,
    list: RefCell<Vec<Row>>,
    waiting: RefCell<Vec<(String, String)>>,
    follows: Cell<bool>,
    top: Cell<i32>,
    to_announce: Cell<bool>,
}

impl Transcript {
    /// An empty transcript at the end of `panel`.
    pub(super) fn new(panel: &Element) -> Result<Transcript, JsValue> {
        let area = add(panel, "div|class=area")?;
        // Screen readers hear each answer once, when it is whole, from the announcer.
        let scroller = add(
            &area,
            "div|part=transcript|class=scroller|role=log|aria-live=off|aria-label=Conversation|tabindex=0",
        )?;
        let empty = add(&scroller, "div|part=empty|class=empty")?;
        let mark = add(&empty, "span|class=spark")?;
        icon(&mark, "icon", super::panel::SPARK)?;
        add(&empty, "p|class=hello")?.set_text_content(Some("How can I help?"));
        add(&empty, "p|class=hint")?.set_text_content(Some("Ask a question to start the conversation."));
        let rows = add(&scroller, "div|class=rows")?;
        let typing = add(&scroller, "div|part=typing|class=typing|hidden")?;
        for _ in 0..3 {
            add(&typing, "i")?;
        }
        let notice = add(&scroller, "div|part=notice|class=notice")?;
        let jump = add(&area, "button|type=button|part=jump|class=jump|data-do=jump|hidden")?;
        icon(&jump, "icon", "M12 5v14m0 0 6-6m-6 6-6-6")?;
        add(&jump, "span")?.set_text_content(Some("New messages"));
        let announcer = add(panel, "div|class=unseen|role=status|aria-live=polite")?;
        Ok(Transcript {
            scroller,
            empty,
            rows,
            typing,
            notice,
            jump,
            announcer,
            list: RefCell::default(),
            waiting: RefCell::default(),
            follows: Cell::new(true),
            top: Cell::new(0),
            to_announce: Cell::new(false),
        })
    }

    /// Removes every message and notice.
    pub(super) fn clear(&self) {
        self.list.take();
        self.waiting.take();
        self.rows.set_text_content(None);
        self.announcer.set_text_content(None);
        self.to_announce.set(false);
        self.empty.set_hidden(false);
        self.follows.set(true);
        self.set_notice(None);
        self.settle();
    }

    /// Adds a message at the end. The person's own message brings the view there.
    pub(super) fn add_message(&self, id: String, role: Author, text: &str) {
        self.notice_scrolling();
        self.empty.set_hidden(true);
        match role {
            Author::User => self.follows.set(true),
            Author::Assistant => self.to_announce.set(true),
        }
        if let Ok(row) = Row::new(id, role) {
            row.write(text);
            let _ = self.rows.append_child(&row.element);
            self.list.borrow_mut().push(row);
        }
        self.settle();
    }

    /// Takes text for the next frame.
    pub(super) fn append(&self, id: String, text: &str) {
        let mut waiting = self.waiting.borrow_mut();
        match waiting.last_mut() {
            Some((last, so_far)) if *last == id => so_far.push_str(text),
            _ => waiting.push((id, text.to_owned())),
        }
    }

    /// Writes the text that was taken.
    pub(super) fn flush(&self) {
        let waiting = self.waiting.take();
        if waiting.is_empty() {
            return;
        }
        self.notice_scrolling();
        for (id, text) in waiting {
            self.with_row(&id, |row| row.write(&text));
        }
        self.to_announce.set(true);
        self.settle();
    }

    /// Shows how a message ended.
    pub(super) fn set_status(&self, id: &str, status: Option<MessageStatus>) {
        self.with_row(id, |row| row.set_status(status));
        self.settle();
    }

    /// Removes a message.
    pub(super) fn remove_message(&self, id: &str) {
        self.with_row(id, |row| row.element.remove());
        self.list.borrow_mut().retain(|row| row.id != id);
        self.empty.set_hidden(!self.list.borrow().is_empty());
    }

    /// Shows or hides the typing indicator and announces a finished answer.
    pub(super) fn set_activity(&self, activity: Activity) {
        let hidden = !matches!(activity, Activity::Waiting | Activity::Thinking);
        if self.typing.hidden() != hidden {
            self.notice_scrolling();
            self.typing.set_hidden(hidden);
            self.settle();
        }
        if activity == Activity::Idle && self.to_announce.replace(false) {
            let list = self.list.borrow();
            let answer = list.last().filter(|row| row.role == Author::Assistant).map(Row::text);
            self.announcer.set_text_content(answer.as_deref());
        }
    }

    /// Shows a notice under the last message.
    pub(super) fn set_notice(&self, notice: Option<&Notice>) {
        self.notice.set_text_content(None);
        let Some(notice) = notice else { return };
        self.notice_scrolling();
        // The role comes first: what appears in an alert is read out at once.
        let _ = self.notice.set_attribute("role", if notice.error { "alert" } else { "status" });
        let _ = self.fill_notice(notice);
        self.settle();
    }

    fn fill_notice(&self, notice: &Notice) -> Result<(), JsValue> {
        let recipe = if notice.error { "div|class=card error" } else { "div|class=card" };
        let card = add(&self.notice, recipe)?;
        add(&card, "p|part=notice__text|dir=auto")?.set_text_content(Some(&notice.text));
        if let Some(action) = notice.action {
            let (recipe, label) = match action {
                NoticeAction::Retry => ("button|type=button|part=notice__button|data-do=retry", "Retry"),
                NoticeAction::Reconnect => {
                    ("button|type=button|part=notice__button|data-do=reconnect", "Reconnect")
                }
            };
            add(&card, recipe)?.set_text_content(Some(label));
        }
        Ok(())
    }

    /// The person scrolled, or the view did.
    pub(super) fn scrolled(&self) {
        if self.scroller.client_height() == 0 {
            return;
        }
        let at_end = self.at_end();
        if self.scroller.scroll_top() < self.top.get() && !at_end {
            self.follows.set(false);
        } else if at_end {
            self.follows.set(true);
            self.jump.set_hidden(true);
        }
        self.top.set(self.scroller.scroll_top());
    }

    /// Goes to the end and follows again.
    pub(super) fn jump(&self) {
        self.follows.set(true);
        self.settle();
    }

    /// The element was moved, which loses the scroll position.
    pub(super) fn reattached(&self) {
        if !self.follows.get() {
            self.scroller.set_scroll_top(self.top.get());
        }
        self.settle();
    }

    /// Something grew: stays at the end, or offers the way there.
    pub(super) fn settle(&self) {
        if self.follows.get() {
            self.scroller.set_scroll_top(self.scroller.scroll_height());
            self.top.set(self.scroller.scroll_top());
            self.jump.set_hidden(true);
        } else if !self.at_end() {
            self.jump.set_hidden(false);
        }
    }

    // A scroll event comes a frame late; text must not snap the view back meanwhile.
    fn notice_scrolling(&self) {
        if self.scroller.scroll_top() < self.top.get() {
            self.scrolled();
        }
    }

    fn at_end(&self) -> bool {
        let scroller = &self.scroller;
        scroller.scroll_height() - scroller.scroll_top() - scroller.client_height() <= SLACK
    }

    fn with_row(&self, id: &str, change: impl FnOnce(&Row)) {
        // The row that changes is nearly always the last one.
        if let Some(row) = self.list.borrow().iter().rev().find(|row| row.id == id) {
            change(row);
        }
    }
}
