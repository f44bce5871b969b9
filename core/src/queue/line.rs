//! The line for slots, and what everyone's place is.

use super::session::{Entry, Session};
use super::{Output, Queue};

impl Queue {
    /// How many slots are taken, by turns and by what waits for its session.
    pub(super) fn slots_taken(&self) -> usize {
        let of = |session: &Session| {
            usize::from(session.turn.as_ref().is_some_and(|turn| turn.slot))
                + session.queue.iter().filter(|entry| entry.slot).count()
        };
        self.sessions.values().map(of).sum()
    }

    /// How many calls stand in line.
    pub(super) fn line(&self) -> usize {
        self.entries().filter(|entry| entry.wants_slot()).count()
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.sessions.values().flat_map(|session| &session.queue)
    }

    /// Gives free slots to the first in line, lets begin what can, and tells places that have
    /// changed.
    pub(super) fn settle(&mut self) {
        for _ in self.slots_taken()..self.slots {
            let waiting = self.sessions.values_mut().flat_map(|session| &mut session.queue);
            let Some(first) = waiting.filter(|entry| entry.wants_slot()).min_by_key(|entry| entry.seq) else {
                break;
            };
            first.slot = true;
        }
        for session in self.sessions.values_mut() {
            if let Some(entry) = session.next() {
                self.outputs.push_back(Output::Start { run: entry.run.clone() });
                session.begin(entry);
            }
        }
        self.tell_places();
        self.sessions.retain(|_, session| !session.is_empty());
    }

    fn tell_places(&mut self) {
        let line: Vec<u64> =
            self.entries().filter(|entry| entry.wants_slot()).map(|entry| entry.seq).collect();
        for session in self.sessions.values_mut() {
            let steers = session.steers.len();
            for (at, entry) in session.queue.iter_mut().enumerate() {
                let position = if entry.wants_slot() {
                    line.iter().filter(|seq| **seq < entry.seq).count() + 1
                } else {
                    steers + at + 1
                };
                if entry.told != position {
                    entry.told = position;
                    self.outputs.push_back(Output::Position { run: entry.run.clone(), position });
                }
            }
        }
    }
}
