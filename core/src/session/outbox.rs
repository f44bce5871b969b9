//! The queue of effects, and what is known about the panel and the requests that
//! were asked for, so that only changes are told.

use super::request::Request;
use super::{DomEvent, FetchId, Output, SendId, ToolRunId, TurnResult};
use crate::event::RuntimeEvent;
use crate::view::{Activity, Notice, Patch, QueuedMessage};

/// Effects in the order in which they must happen.
#[derive(Default)]
pub(super) struct Outbox {
    /// What is taken next, and what is put behind it.
    front: std::vec::IntoIter<Output>,
    queue: Vec<Output>,
    fetches: u32,
    activity: Option<Activity>,
    notice: Option<Notice>,
    disclosure: Option<String>,
    line: Vec<QueuedMessage>,
    /// Whether nobody was told of the line as it is.
    line_untold: bool,
}

impl Outbox {
    pub(super) fn next(&mut self) -> Option<Output> {
        if self.front.as_slice().is_empty() {
            self.front = std::mem::take(&mut self.queue).into_iter();
        }
        self.front.next()
    }

    pub(super) fn push(&mut self, output: Output) {
        self.queue.push(output);
    }

    pub(super) fn event(&mut self, event: DomEvent) {
        self.push(Output::Event(event));
    }

    pub(super) fn runtime(&mut self, event: RuntimeEvent) {
        self.event(DomEvent::Runtime(event));
    }

    pub(super) fn patch(&mut self, patch: Patch) {
        self.push(Output::Patch(patch));
    }

    pub(super) fn settle(&mut self, send: SendId, result: TurnResult) {
        self.push(Output::Settle { send, result });
    }

    pub(super) fn fetch(&mut self, request: Request) -> FetchId {
        self.fetches = self.fetches.wrapping_add(1);
        let id = FetchId(self.fetches);
        self.push(Output::Fetch(request.with_id(id)));
        id
    }

    pub(super) fn abort(&mut self, fetch: FetchId) {
        self.push(Output::Abort(fetch));
    }

    pub(super) fn activity(&mut self, activity: Activity) {
        if self.activity != Some(activity) {
            self.activity = Some(activity);
            self.patch(Patch::SetActivity(activity));
        }
    }

    pub(super) fn notice(&mut self, notice: Option<Notice>) {
        if self.notice.is_some() || notice.is_some() {
            self.notice.clone_from(&notice);
            self.patch(Patch::SetNotice(notice));
        }
    }

    /// The notice that stands there.
    pub(super) fn covered(&self) -> Option<Notice> {
        self.notice.clone()
    }

    pub(super) fn disclosure(&mut self, disclosure: Option<String>) {
        if self.disclosure != disclosure {
            self.disclosure.clone_from(&disclosure);
            self.patch(Patch::SetDisclosure(disclosure));
        }
    }

    pub(super) fn line(&mut self, line: Vec<QueuedMessage>) {
        if self.line != line {
            self.line.clone_from(&line);
            self.patch(Patch::SetQueue(line));
        }
    }

    /// Drops the patches that nobody has taken yet.
    pub(super) fn drop_patches(&mut self) {
        let mut rest = Vec::new();
        while let Some(output) = self.next() {
            self.line_untold |= matches!(output, Output::Patch(Patch::SetQueue(_)));
            if !matches!(output, Output::Patch(_)) {
                rest.push(output);
            }
        }
        self.queue = rest;
    }

    /// Takes a handler back that nobody has run yet; whether it was there.
    pub(super) fn withdraw(&mut self, run: ToolRunId) -> bool {
        let (mut rest, mut found) = (Vec::new(), false);
        while let Some(output) = self.next() {
            let it = matches!(&output, Output::RunTool(queued) if queued.id == run);
            found |= it;
            if !it {
                rest.push(output);
            }
        }
        self.queue = rest;
        found
    }

    /// What is known of the panel besides its rows.
    pub(super) fn redraw(&self, patches: &mut Vec<Patch>) {
        patches.push(Patch::SetDisclosure(self.disclosure.clone()));
        patches.push(Patch::SetNotice(self.notice.clone()));
        if !self.line.is_empty() || self.line_untold {
            patches.push(Patch::SetQueue(self.line.clone()));
        }
        patches.extend(self.activity.map(Patch::SetActivity));
    }

    /// The session behind this queue is over: of what nobody has taken yet, only
    /// what ends something still counts, with `ended` the last events of a turn too.
    /// Whether a turn is dropped of which nobody heard.
    pub(super) fn leave(&mut self, ended: bool) -> bool {
        let mut left = Outbox { fetches: self.fetches, ..Outbox::default() };
        let mut unheard = false;
        let mut cleared = !self.line.is_empty();
        while let Some(output) = self.next() {
            match output {
                Output::Settle { .. }
                | Output::Abort(_)
                | Output::AbortTool(_)
                | Output::StoreAnonymousKey(_)
                | Output::StoreConversation(_)
                | Output::Answer { .. }
                | Output::Tell(_) => left.push(output),
                Output::Patch(Patch::SetQueue(_)) => cleared = true,
                Output::Event(event) if ended => left.event(event),
                Output::Event(DomEvent::Busy { .. }) => unheard = true,
                _ => {}
            }
        }
        *self = left;
        self.patch(Patch::Clear);
        self.patch(Patch::SetDisclosure(None));
        if cleared {
            self.patch(Patch::SetQueue(Vec::new()));
        }
        unheard
    }
}
