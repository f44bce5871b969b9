//! The chat panel: patches of the session go to the element's shadow root. The nodes
//! and how they behave are in `panel.js`; this side turns what a person asks for into
//! inputs.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mindset_core::error::ErrorCode;
use mindset_core::event::{Author, ChatMessage, Citation, Decision};
use mindset_core::json::{self, Value};
use mindset_core::queue::WhenBusy;
use mindset_core::session::{Ask, Input, Protocol, Refused, SendOptions};
use mindset_core::view::{Activity, Notice, NoticeAction, Patch, ToolState};
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use crate::convert;
use crate::driver::Driver;
use crate::element::attributes::Attributes;
use crate::page;

mod markdown;
mod tools;

use markdown::{Answers, Drawer};

#[wasm_bindgen(module = "/src/effects/browser.js")]
extern "C" {
    /// The panel of an element, drawn now or before; `tell` hears what it asks for.
    #[wasm_bindgen(js_name = panelOf)]
    fn panel_of(host: &HtmlElement, tell: &JsValue) -> Panel;
}

#[wasm_bindgen]
extern "C" {
    /// A panel of `panel.js`.
    type Panel;

    #[wasm_bindgen(method, js_name = setTexts)]
    fn set_texts(this: &Panel, heading: Option<&str>, placeholder: Option<&str>, keeps: bool);
    #[wasm_bindgen(method, js_name = setClosed)]
    fn set_closed(this: &Panel, reason: Option<&str>);
    #[wasm_bindgen(method, js_name = setDraft)]
    fn set_draft(this: &Panel, key: &str, keeps: bool);
    #[wasm_bindgen(method)]
    fn clear(this: &Panel);
    #[wasm_bindgen(method, js_name = addMessage)]
    fn add_message(this: &Panel, id: &str, role: &str, text: &str);
    #[wasm_bindgen(method, js_name = addEarlier)]
    fn add_earlier(this: &Panel);
    #[wasm_bindgen(method, js_name = drawEarlier)]
    fn draw_earlier(this: &Panel, messages: &JsValue);
    #[wasm_bindgen(method, js_name = drawSoon)]
    fn draw_soon(this: &Panel);
    #[wasm_bindgen(method)]
    fn draw(this: &Panel, id: &str, program: &str, plain: bool, ended: bool);
    #[wasm_bindgen(method, js_name = setStatus)]
    fn set_status(this: &Panel, id: &str, status: Option<&str>);
    #[wasm_bindgen(method, js_name = removeMessage)]
    fn remove_message(this: &Panel, id: &str);
    #[wasm_bindgen(method, js_name = setTool)]
    fn set_tool(this: &Panel, id: &str, state: &str, label: &str);
    #[wasm_bindgen(method, js_name = addQuestion)]
    fn add_question(this: &Panel, id: &str, text: &str, details: &JsValue, tool: Option<&str>);
    #[wasm_bindgen(method, js_name = removeQuestion)]
    fn remove_question(this: &Panel, id: &str);
    #[wasm_bindgen(method, js_name = setSources)]
    fn set_sources(this: &Panel, id: &str, sources: &JsValue);
    #[wasm_bindgen(method, js_name = setWidget)]
    fn set_widget(this: &Panel, id: &str, widget: &JsValue);
    #[wasm_bindgen(method, js_name = setFiles)]
    fn set_files(this: &Panel, id: &str, files: &JsValue);
    #[wasm_bindgen(method, js_name = setActivity)]
    fn set_activity(this: &Panel, activity: &str);
    #[wasm_bindgen(method, js_name = setNotice)]
    fn set_notice(this: &Panel, text: Option<&str>, error: bool, action: Option<&str>, about: &JsValue);
    #[wasm_bindgen(method, js_name = setDisclosure)]
    fn set_disclosure(this: &Panel, text: Option<&str>);
    #[wasm_bindgen(method)]
    fn reattached(this: &Panel);
    #[wasm_bindgen(method)]
    fn remove(this: &Panel);
}

/// What an element shows: a panel, or nothing when it is headless.
#[derive(Default)]
pub(crate) struct View(RefCell<Option<Rc<Drawn>>>);

/// A panel, and what of its messages is not drawn yet.
struct Drawn {
    panel: Panel,
    answers: Answers,
    /// Whether the panel was asked to draw soon and has not yet.
    asked: Cell<bool>,
    /// Messages from before those that are drawn, oldest first.
    earlier: RefCell<Vec<ChatMessage>>,
}

impl View {
    /// Draws the panel, or takes it away, and sets its texts and its composer.
    pub(crate) fn show(&self, driver: &Rc<Driver>, attributes: &Attributes) {
        if attributes.headless {
            return self.remove();
        }
        if self.drawn().is_none() {
            self.draw(driver);
        }
        if let Some(drawn) = self.drawn() {
            let panel = &drawn.panel;
            let keeps = page::configuration().is_none_or(|init| init.protocol == Protocol::Mindset);
            panel.set_texts(attributes.heading.as_deref(), attributes.placeholder.as_deref(), keeps);
            panel.set_closed(attributes.closed.as_deref());
        }
        self.set_draft(&driver.draft(), !attributes.forget_drafts);
    }

    /// The conversation that the draft belongs to is kept under this name, if it has one and
    /// the page lets it.
    pub(crate) fn set_draft(&self, key: &str, keeps: bool) {
        if let Some(drawn) = self.drawn()
            && !key.is_empty()
        {
            drawn.panel.set_draft(key, keeps);
        }
    }

    /// Takes the panel away.
    pub(crate) fn remove(&self) {
        if let Some(drawn) = self.0.take() {
            drawn.panel.remove();
        }
    }

    /// The element was moved.
    pub(crate) fn reattached(&self) {
        if let Some(drawn) = self.drawn() {
            drawn.panel.reattached();
        }
    }

    /// Carries out one change. Nothing here waits for a frame and nothing asks for a
    /// layout: the browser lays out once for all that came before a frame. The text of
    /// answers alone is drawn once a frame, or when somebody needs it.
    pub(crate) fn apply(&self, patch: Patch) {
        if let Some(drawn) = self.drawn() {
            drawn.apply(patch);
        }
    }

    /// Draws what came of the answers.
    pub(crate) fn flush(&self) {
        if let Some(drawn) = self.drawn() {
            drawn.flush(false);
        }
    }

    fn drawn(&self) -> Option<Rc<Drawn>> {
        self.0.borrow().clone()
    }

    fn draw(&self, driver: &Rc<Driver>) {
        let Some(element) = driver.host.element() else { return };
        let panel = panel_of(element, driver.tell());
        let drawn = Rc::new(Drawn {
            panel,
            answers: Answers::default(),
            asked: Cell::default(),
            earlier: RefCell::default(),
        });
        self.0.replace(Some(drawn.clone()));
        // The panel is new, but for what a person sent before there was a session.
        for patch in driver.redraw().into_iter().filter(|patch| !matches!(patch, Patch::Clear)) {
            drawn.apply(patch);
        }
    }

    /// What a person asks for; false if it was refused. Called again while it runs:
    /// listeners of the page may move the focus or press buttons.
    pub(crate) fn told(&self, driver: &Rc<Driver>, name: &str, text: &str) -> bool {
        let result = match name {
            "send" | "line-up" | "queue" => {
                let when_busy = (name == "queue").then_some(WhenBusy::Queue);
                let options = SendOptions { silent: false, when_idle: name == "line-up", when_busy };
                driver.send(None, |id| Input::Send { id, text, options })
            }
            "attach" => driver.step(Input::Attach(text)),
            "retry" => driver.send(None, |id| Input::Retry { id }),
            "widget" => act(driver, text),
            "edit" | "resend" | "feedback" | "transcript" | "answer" | "queue-edit" | "queue-remove"
            | "queue-now" | "queue-resume" => match self.drawn() {
                Some(drawn) => tools::told(driver, &drawn.panel, name, text),
                None => Ok(()),
            },
            "reconnect" => driver.step(Input::Reconnect),
            "continue" => {
                let options = SendOptions { silent: true, ..SendOptions::default() };
                driver.send(None, |id| Input::Send { id, text: "Continue.", options })
            }
            "draw" | "rich" | "plain" | "rows" => return self.told_to_draw(name),
            "earlier" => {
                driver.ask(None, Ask::Earlier);
                Ok(())
            }
            "allowOnce" | "deny" => match Decision::parse(name) {
                Some(decision) => driver.step(Input::Decide { reply: None, request_id: text, decision }),
                None => Ok(()),
            },
            _ => {
                driver.stop(None);
                Ok(())
            }
        };
        let Err(error) = result else { return true };
        // Busy needs no words: the draft stays and the button says stop.
        if error.code != ErrorCode::Busy
            && let Some(drawn) = self.drawn()
        {
            let about = about(error.code.as_str(), &Default::default());
            drawn.panel.set_notice(Some(&error.message), true, None, &about);
        }
        false
    }

    /// The panel has time for text, or its drawer of answers has come or not. Whether
    /// there is more to draw.
    fn told_to_draw(&self, name: &str) -> bool {
        let Some(drawn) = self.drawn() else { return false };
        match name {
            "rows" => return drawn.draw_earlier(),
            "draw" => {}
            name => {
                drawn.answers.set_drawer(if name == "rich" { Drawer::There } else { Drawer::Missing });
                if !drawn.earlier.borrow().is_empty() {
                    drawn.panel.add_earlier();
                }
            }
        }
        drawn.flush(false);
        false
    }
}

/// What a person does with a widget: `{ widgetId, action, payload? }` as JSON.
fn act(driver: &Rc<Driver>, text: &str) -> Result<(), Refused> {
    let Ok(done) = json::parse(text) else { return Ok(()) };
    let word = |name| done.str(name).unwrap_or_default();
    let payload = done.get("payload").map(Value::text).unwrap_or_default();
    let (widget, action, payload) = (word("widgetId"), word("action"), &*payload);
    driver.send(None, |id| Input::WidgetAction { id, widget, action, payload })
}

/// So many older messages are drawn at a time.
const SLICE: usize = 12;

impl Drawn {
    fn apply(&self, patch: Patch) {
        let panel = &self.panel;
        match patch {
            Patch::AppendText { id, text } => self.append(&id, &text),
            Patch::EndMessage { id } => {
                self.answers.end(&id);
                self.draw_soon();
            }
            Patch::Clear => {
                self.answers.clear();
                self.earlier.take();
                panel.clear();
            }
            Patch::AddMessage { id, role: Author::User, text } => panel.add_message(&id, "user", &text),
            Patch::AddMessage { id, role, text } => {
                panel.add_message(&id, role.as_str(), "");
                self.append(&id, &text);
            }
            Patch::Earlier(messages) => self.add_earlier(messages),
            Patch::SetStatus { id, status } => {
                self.set_earlier(&id, |message| message.status = status);
                panel.set_status(&id, status.map(|status| status.as_str()));
            }
            Patch::RemoveMessage { id } => {
                self.answers.remove(&id);
                self.earlier.borrow_mut().retain(|message| message.id != id);
                panel.remove_message(&id);
            }
            Patch::AddTool { id, state, label } | Patch::SetTool { id, state, label } => {
                panel.set_tool(&id, call(state), &label);
            }
            Patch::AddQuestion { id, tool, text, details } => {
                panel.add_question(&id, &text, &tools::pairs(&details), tool.as_deref());
            }
            Patch::RemoveQuestion { id } => panel.remove_question(&id),
            Patch::SetWidget { id, widget } => {
                panel.set_widget(&id, &convert::plain(&Value::Object(widget.to_json())));
                self.set_earlier(&id, |message| message.widget = Some(widget));
            }
            // What waits among the older messages has them already.
            Patch::SetFiles { id, files } => panel.set_files(&id, &convert::plain(&files)),
            Patch::SetCitations { id, items } => {
                self.set_earlier(&id, |message| message.citations.clone_from(&items));
                panel.set_sources(&id, &convert::plain(&Citation::list(&items)));
            }
            Patch::SetActivity(activity) => {
                if activity == Activity::Idle {
                    self.flush(true);
                }
                panel.set_activity(name(activity));
            }
            Patch::SetNotice(notice) => show_notice(panel, notice.as_ref()),
            Patch::SetDisclosure(text) => panel.set_disclosure(text.as_deref()),
            other => {
                if let Patch::SetFeedback { id, feedback } = &other {
                    self.set_earlier(id, |message| message.feedback.clone_from(feedback));
                }
                tools::apply(panel, &other);
            }
        }
    }

    fn append(&self, id: &str, text: &str) {
        self.answers.append(id, text);
        self.draw_soon();
    }

    fn draw_soon(&self) {
        if !self.answers.is_empty() && !self.asked.replace(true) {
            self.panel.draw_soon();
        }
    }

    /// Draws what came of the answers; with `all`, nothing more comes of any.
    fn flush(&self, all: bool) {
        self.asked.set(false);
        if self.answers.is_empty() {
            return;
        }
        for drawing in self.answers.take(all) {
            self.panel.draw(&drawing.id, &drawing.program, drawing.plain, drawing.ended);
        }
    }

    fn add_earlier(&self, mut messages: Vec<ChatMessage>) {
        messages.append(&mut self.earlier.borrow_mut());
        self.earlier.replace(messages);
        if !self.answers.waits() {
            self.panel.add_earlier();
        }
    }

    fn set_earlier(&self, id: &str, set: impl FnOnce(&mut ChatMessage)) {
        if let Some(message) = self.earlier.borrow_mut().iter_mut().find(|message| message.id == id) {
            set(message);
        }
    }

    /// Draws the newest of the older messages; whether there are more.
    #[inline(never)]
    fn draw_earlier(&self) -> bool {
        let (messages, more) = {
            let mut earlier = self.earlier.borrow_mut();
            let from = earlier.len().saturating_sub(SLICE);
            (earlier.split_off(from), from > 0)
        };
        let plain = self.answers.is_plain();
        let mut list = Vec::new();
        for message in messages {
            let mut object = message.to_json();
            if message.role != Author::User
                && !plain
                && let Value::Object(object) = &mut object
            {
                object.insert("program", markdown::whole(&message.content));
            }
            list.push(object);
        }
        if !list.is_empty() {
            self.panel.draw_earlier(&convert::plain(&Value::Array(list)));
        }
        more
    }
}

fn show_notice(panel: &Panel, notice: Option<&Notice>) {
    let action = notice.and_then(|notice| notice.action).map(|action| match action {
        NoticeAction::Retry => "retry",
        NoticeAction::Reconnect => "reconnect",
        NoticeAction::Continue => "continue",
    });
    let about = notice.map_or(JsValue::UNDEFINED, |notice| about(notice.key, &notice.names));
    panel.set_notice(notice.map(|n| n.text.as_str()), notice.is_some_and(|n| n.error), action, &about);
}

/// What the words of other languages go by: key, tools that acted, tools that may have.
fn about(key: &str, [done, unknown]: &[String; 2]) -> JsValue {
    convert::plain(&Value::Array(vec![key.into(), done.as_str().into(), unknown.as_str().into()]))
}

fn call(state: ToolState) -> &'static str {
    match state {
        ToolState::Asking => "asking",
        ToolState::Running => "running",
        ToolState::Done => "done",
        ToolState::Failed => "failed",
        ToolState::Stopped => "stopped",
    }
}

fn name(activity: Activity) -> &'static str {
    match activity {
        Activity::Starting => "starting",
        Activity::Idle => "idle",
        Activity::Waiting => "waiting",
        Activity::Thinking => "thinking",
        Activity::Answering => "answering",
        Activity::Asking => "asking",
        Activity::Stopping => "stopping",
    }
}

#[cfg(test)]
#[cfg(target_arch = "wasm32")]
mod tests {
    use wasm_bindgen_test::wasm_bindgen_test as test;
    use web_sys::{Element, ShadowRoot, ShadowRootInit, ShadowRootMode};

    use super::*;

    #[wasm_bindgen(module = "/src/dom/panel.js")]
    extern "C" {
        #[wasm_bindgen(js_name = Panel)]
        type Own;

        #[wasm_bindgen(constructor, js_class = "Panel")]
        fn new(root: &ShadowRoot, tell: &JsValue) -> Own;
    }

    /// The rooms of `panel.js`: a file that JavaScript imports is there only if it is named here.
    mod rooms {
        use wasm_bindgen::prelude::wasm_bindgen;

        #[wasm_bindgen(module = "/src/dom/cards.js")]
        extern "C" {
            type Cards;
        }
        #[wasm_bindgen(module = "/src/dom/composer.js")]
        extern "C" {
            type Composer;
        }
        #[wasm_bindgen(module = "/src/dom/frames.js")]
        extern "C" {
            type Frames;
        }
        #[wasm_bindgen(module = "/src/dom/header.js")]
        extern "C" {
            type Header;
        }
        #[wasm_bindgen(module = "/src/dom/keys.js")]
        extern "C" {
            type Keys;
        }
        #[wasm_bindgen(module = "/src/dom/lazy.js")]
        extern "C" {
            type Lazy;
        }
        #[wasm_bindgen(module = "/src/dom/nodes.js")]
        extern "C" {
            type Nodes;
        }
        #[wasm_bindgen(module = "/src/dom/rows.js")]
        extern "C" {
            type Rows;
        }
        #[wasm_bindgen(module = "/src/dom/scroll.js")]
        extern "C" {
            type Follow;
        }
        #[wasm_bindgen(module = "/src/dom/speech.js")]
        extern "C" {
            type Speech;
        }
        #[wasm_bindgen(module = "/src/dom/texts.js")]
        extern "C" {
            type Texts;
        }
    }

    /// A panel with one message, whose body is given back.
    fn drawn(role: &str) -> (Panel, Element) {
        let document = web_sys::window().unwrap().document().unwrap();
        let host = document.create_element("div").unwrap();
        let root = host.attach_shadow(&ShadowRootInit::new(ShadowRootMode::Open)).unwrap();
        let panel: Panel = Own::new(&root, &JsValue::UNDEFINED).unchecked_into();
        panel.add_message("m", role, "");
        let body = root.query_selector("[part=message__body]").unwrap().unwrap();
        (panel, body)
    }

    fn write(panel: &Panel, text: &str) {
        panel.draw("m", text, true, false);
    }

    fn paragraphs(body: &Element) -> Vec<String> {
        let list = body.children();
        (0..list.length()).filter_map(|at| list.item(at)?.text_content()).collect()
    }

    #[test]
    fn blank_lines_part_paragraphs_at_every_split() {
        let text = "\nfirst\n  indented \u{1F642}\n\n\nsecond\r\n\r\nthird\n";
        let wanted = ["first\n  indented \u{1F642}", "second", "third"];
        for (at, _) in text.char_indices() {
            let (panel, body) = drawn("assistant");
            write(&panel, &text[..at]);
            write(&panel, &text[at..]);
            assert_eq!(paragraphs(&body), wanted, "split at {at}");
        }
    }

    #[test]
    fn a_finished_paragraph_keeps_its_node() {
        let (panel, body) = drawn("assistant");
        write(&panel, "one\n\ntwo");
        let first = body.first_element_child().unwrap();
        write(&panel, " more\n\nthree");
        assert_eq!(body.first_element_child(), Some(first));
        assert_eq!(paragraphs(&body), ["one", "two more", "three"]);
    }

    #[test]
    fn markup_is_text() {
        let (panel, body) = drawn("assistant");
        write(&panel, "<img src=x onerror=alert(1)>");
        assert_eq!(body.text_content().unwrap(), "<img src=x onerror=alert(1)>");
        assert_eq!(body.query_selector("img").unwrap(), None);
    }
}
