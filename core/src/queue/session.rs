//! One session: its turn, what steers it, and what waits behind it.

use super::{Caller, End};

#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) turn: Option<Turn>,
    /// To be read by the turn; none of them has a slot.
    pub(super) steers: Vec<Entry>,
    pub(super) queue: Vec<Entry>,
    pub(super) paused: bool,
}

/// The turn of a session.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) run: String,
    pub(super) caller: Caller,
    pub(super) seq: u64,
    pub(super) slot: bool,
    /// It waits for a run that brings results or answers.
    pub(super) waits: bool,
    /// What waited before it, until it has begun.
    before: Option<Box<Turn>>,
}

/// A call that waits.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) run: String,
    pub(super) caller: Caller,
    /// When it came, compared to others.
    pub(super) seq: u64,
    pub(super) slot: bool,
    /// It goes on with the session's turn.
    pub(super) continues: bool,
    /// The place that was told; 0: none yet.
    pub(super) told: usize,
}

impl Turn {
    /// One that waits since before anything was known of its session.
    pub(super) fn left(run: String, caller: Caller, seq: u64) -> Turn {
        Turn { run, caller, seq, slot: false, waits: true, before: None }
    }
}

impl Entry {
    pub(super) fn new(run: String, caller: Caller, seq: u64) -> Entry {
        Entry { run, caller, seq, slot: false, continues: false, told: 0 }
    }

    /// Whether it stands in line.
    pub(super) fn wants_slot(&self) -> bool {
        self.caller.takes_slots() && !self.slot
    }
}

impl Session {
    pub(super) fn is_empty(&self) -> bool {
        self.turn.is_none() && self.steers.is_empty() && self.queue.is_empty()
    }

    /// Whether the run that the turn waits for is there, and waits for a slot.
    pub(super) fn goes_on(&self) -> bool {
        self.queue.first().is_some_and(|entry| entry.continues)
    }

    /// The session's turn is this call's now.
    pub(super) fn begin(&mut self, entry: Entry) {
        let Entry { run, caller, seq, slot, .. } = entry;
        let before = self.turn.take().map(|turn| Box::new(Turn { slot: false, before: None, ..turn }));
        self.turn = Some(Turn { run, caller, seq, slot, waits: false, before });
    }

    /// The turn's run is over. What was not read becomes the next turns, before all that waits;
    /// the first of them takes the place, and the slot, of the turn.
    pub(super) fn end(&mut self, end: End) {
        if let (End::Waits, Some(turn)) = (end, self.turn.as_mut()) {
            turn.waits = true;
            turn.before = None;
            return;
        }
        let ended = self.turn.take();
        let slot = ended.as_ref().is_some_and(|turn| turn.slot);
        let before = ended.filter(|_| end == End::Refused).and_then(|turn| turn.before);
        if let Some(turn) = before {
            let slot = slot && turn.caller.takes_slots();
            self.turn = Some(Turn { slot, ..*turn });
            return;
        }
        let mut unread = std::mem::take(&mut self.steers);
        if let Some(first) = unread.first_mut() {
            first.slot = slot && first.caller.takes_slots();
        }
        for entry in &mut self.queue {
            entry.continues = false;
        }
        self.queue.splice(0..0, unread);
        self.paused = end == End::Stopped && !self.queue.is_empty();
    }

    /// The turn that waits is not waited for: it has no slot, and is forgotten unless something
    /// waits for it here. The store still knows of it.
    pub(super) fn lapse(&mut self) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.waits) {
            turn.slot = false;
            if self.steers.is_empty() && self.queue.is_empty() {
                self.turn = None;
            }
        }
    }

    /// Takes a call out; `false`: it does not wait here.
    pub(super) fn withdraw(&mut self, run: &str) -> bool {
        if let Some(at) = self.steers.iter().position(|entry| entry.run == run) {
            self.steers.remove(at);
            return true;
        }
        let Some(at) = self.queue.iter().position(|entry| entry.run == run) else { return false };
        let entry = self.queue.remove(at);
        if let (true, Some(turn)) = (entry.continues, self.turn.as_mut()) {
            turn.slot = entry.slot;
        }
        self.paused &= !self.queue.is_empty();
        true
    }

    /// Takes the call that can begin now out of the queue. One of the application that has no
    /// slot takes that of a call behind it, which then stands in line in its place; where there
    /// is none, the next call is looked at.
    pub(super) fn next(&mut self) -> Option<Entry> {
        let most = match &self.turn {
            Some(turn) if turn.waits && self.goes_on() => 1,
            Some(_) => return None,
            None if self.paused => return None,
            None => self.queue.len(),
        };
        for at in 0..most {
            let (before, behind) = self.queue.split_at_mut_checked(at + 1)?;
            let entry = before.last_mut()?;
            if entry.wants_slot() {
                let Some(giver) = behind.iter_mut().rfind(|entry| entry.slot) else { continue };
                giver.slot = false;
                entry.slot = true;
            }
            return Some(self.queue.remove(at));
        }
        None
    }
}
