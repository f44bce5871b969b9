//! The newest events of one run, in memory, and who waits for more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use mindset_core::turn::RunState;

use crate::observe::metrics;

/// Events that stay in memory, unless more came at once; older ones are read from the store.
/// What every reader has is not kept.
const EVENTS: usize = 16;

/// Their bytes, above which fewer stay.
const BYTES: usize = 32 * 1024;

/// What readers of one run follow. Events are JSON texts with dense numbers from 1; every one
/// of them is durable before it is here.
#[derive(Debug)]
pub(crate) struct Log {
    /// The run's id.
    pub(super) run_id: String,
    /// The run's handle in the store.
    pub(super) key: i64,
    tail: Mutex<Tail>,
}

#[derive(Debug, Default)]
struct Tail {
    /// How many events there are.
    last: u64,
    /// The newest of them.
    events: VecDeque<Arc<str>>,
    bytes: usize,
    ended: Option<RunState>,
    /// The server goes down: readers should come back soon.
    closing: bool,
    waiting: Vec<(u64, Waker)>,
    /// How far each reader has come that reads from here.
    places: Vec<(u64, u64)>,
    next_reader: u64,
}

/// What a reader finds.
#[derive(Debug)]
pub(super) enum News {
    /// The events after its place.
    Events(Vec<Arc<str>>),
    /// There are some, but they are not in memory any more.
    Older,
    /// None will come.
    End,
}

impl Log {
    /// The empty log of a run that begins.
    pub(super) fn new(run_id: &str, key: i64) -> Log {
        Log { run_id: run_id.to_owned(), key, tail: Mutex::default() }
    }

    /// The log of a run that waits after `last` events, which are in the store.
    pub(super) fn going_on(run_id: &str, key: i64, last: u64) -> Log {
        let tail = Tail { last, ..Tail::default() };
        Log { run_id: run_id.to_owned(), key, tail: Mutex::new(tail) }
    }

    /// The log of a run that ended after `last` events, which are in the store.
    pub(super) fn ended_before(run_id: &str, key: i64, last: u64, state: RunState) -> Log {
        let tail = Tail { last, ended: Some(state), ..Tail::default() };
        Log { run_id: run_id.to_owned(), key, tail: Mutex::new(tail) }
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows events that are durable now.
    pub(super) fn publish(&self, events: impl IntoIterator<Item = Arc<str>>) {
        let mut tail = self.tail();
        let before = tail.last;
        for event in events {
            tail.last += 1;
            metrics::EVENTS.add(&[], 1);
            tail.bytes += event.len();
            tail.events.push_back(event);
        }
        let new = usize::try_from(tail.last - before).unwrap_or(usize::MAX);
        while tail.events.len() > EVENTS.max(new) || (tail.bytes > BYTES && tail.events.len() > 1) {
            let gone = tail.events.pop_front().map_or(0, |event| event.len());
            tail.bytes -= gone;
        }
        wake(tail);
    }

    /// Nothing follows.
    pub(super) fn end(&self, state: RunState) {
        let mut tail = self.tail();
        tail.ended.get_or_insert(state);
        wake(tail);
    }

    /// Tells readers that the server goes down.
    pub(super) fn close(&self) {
        let mut tail = self.tail();
        tail.closing = true;
        wake(tail);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.tail().closing
    }

    /// The number of the last event.
    pub(crate) fn last(&self) -> u64 {
        self.tail().last
    }

    /// How the run ended, if it has.
    pub(crate) fn state(&self) -> Option<RunState> {
        self.tail().ended
    }

    /// Whether somebody waits for more.
    pub(super) fn is_read(&self) -> bool {
        !self.tail().waiting.is_empty()
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) {
        self.wait(|tail| tail.ended.is_some()).await;
    }

    /// Waits for the first event, or the end.
    pub(super) async fn begun(&self) {
        self.wait(|tail| tail.last > 0 || tail.ended.is_some()).await;
    }

    async fn wait(&self, ready: impl Fn(&Tail) -> bool) {
        let place = Place::new(self);
        std::future::poll_fn(|cx| {
            let mut tail = self.tail();
            if ready(&tail) {
                return Poll::Ready(());
            }
            tail.wait(place.reader, cx);
            Poll::Pending
        })
        .await;
    }

    /// A number for a reader, by which it waits.
    pub(super) fn new_reader(&self) -> u64 {
        let mut tail = self.tail();
        tail.next_reader += 1;
        tail.next_reader
    }

    /// What comes after event `at`; if nothing does, the reader is woken when it changes.
    pub(super) fn poll_news(&self, reader: u64, at: u64, cx: &Context<'_>) -> Poll<News> {
        let mut tail = self.tail();
        if at < tail.last {
            let missing = usize::try_from(tail.last - at).unwrap_or(usize::MAX);
            let Some(skip) = tail.events.len().checked_sub(missing) else {
                return Poll::Ready(News::Older);
            };
            let news = tail.events.iter().skip(skip).cloned().collect();
            tail.has_all(reader);
            return Poll::Ready(News::Events(news));
        }
        if tail.ended.is_some() {
            return Poll::Ready(News::End);
        }
        tail.has_all(reader);
        tail.wait(reader, cx);
        Poll::Pending
    }

    /// The reader does not wait any more.
    pub(super) fn leave(&self, reader: u64) {
        let mut tail = self.tail();
        tail.waiting.retain(|(waiting, _)| *waiting != reader);
        tail.places.retain(|(reading, _)| *reading != reader);
    }
}

impl Tail {
    /// The reader has every event so far; those that all have are dropped.
    fn has_all(&mut self, reader: u64) {
        let last = self.last;
        match self.places.iter_mut().find(|(reading, _)| *reading == reader) {
            Some((_, at)) => *at = last,
            None => self.places.push((reader, last)),
        }
        let slowest = self.places.iter().map(|(_, at)| *at).min().unwrap_or(last);
        let wanted = usize::try_from(last - slowest).unwrap_or(usize::MAX);
        while self.events.len() > wanted {
            self.bytes -= self.events.pop_front().map_or(0, |event| event.len());
        }
    }

    fn wait(&mut self, reader: u64, cx: &Context<'_>) {
        match self.waiting.iter_mut().find(|(waiting, _)| *waiting == reader) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => self.waiting.push((reader, cx.waker().clone())),
        }
    }
}

/// Wakes all that wait, without the lock.
fn wake(mut tail: MutexGuard<'_, Tail>) {
    let waiting = std::mem::take(&mut tail.waiting);
    drop(tail);
    for (_, waker) in waiting {
        waker.wake();
    }
}

/// Someone who waits, until it is dropped.
struct Place<'a> {
    log: &'a Log,
    reader: u64,
}

impl<'a> Place<'a> {
    fn new(log: &'a Log) -> Place<'a> {
        Place { log, reader: log.new_reader() }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.log.leave(self.reader);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(log: &Log, at: u64) -> Poll<News> {
        log.poll_news(1, at, &Context::from_waker(Waker::noop()))
    }

    #[test]
    fn only_the_newest_events_stay() {
        let log = Log::new("r", 1);
        for n in 1..=100 {
            log.publish([Arc::from(n.to_string())]);
        }
        assert_eq!(log.last(), 100);
        assert!(matches!(news(&log, 0), Poll::Ready(News::Older)));
        assert!(matches!(news(&log, 83), Poll::Ready(News::Older)));
        let Poll::Ready(News::Events(events)) = news(&log, 84) else { panic!("they are there") };
        let wanted: Vec<Arc<str>> = (85..=100).map(|n| Arc::from(n.to_string())).collect();
        assert_eq!(events, wanted);
        assert!(news(&log, 100).is_pending());
        log.publish(["x", "y"].map(|c| Arc::from(c.repeat(BYTES))));
        assert!(matches!(news(&log, 100), Poll::Ready(News::Older)));
        assert!(matches!(news(&log, 101), Poll::Ready(News::Events(_))));
        log.end(RunState::Finished);
        log.end(RunState::Error);
        assert_eq!(log.state(), Some(RunState::Finished));
        assert!(matches!(news(&log, 102), Poll::Ready(News::End)));
    }

    #[test]
    fn what_every_reader_has_is_not_kept() {
        let log = Log::new("r", 1);
        let poll = |reader, at| log.poll_news(reader, at, &Context::from_waker(Waker::noop()));
        assert!(poll(1, 0).is_pending() && poll(2, 0).is_pending());
        log.publish(["a", "b"].map(Arc::from));
        assert!(matches!(poll(1, 0), Poll::Ready(News::Events(events)) if events.len() == 2));
        assert_eq!(log.tail().events.len(), 2, "the other one wants them");
        log.publish([Arc::from("c")]);
        assert!(matches!(poll(2, 0), Poll::Ready(News::Events(events)) if events.len() == 3));
        assert_eq!(log.tail().events.len(), 1);
        log.leave(1);
        assert!(poll(2, 3).is_pending());
        assert_eq!(log.tail().events.len(), 0);
        assert_eq!(log.tail().bytes, 0);
        assert!(matches!(poll(3, 1), Poll::Ready(News::Older)));
    }

    #[test]
    fn who_leaves_is_not_kept() {
        let log = Log::new("r", 1);
        for reader in 0..50 {
            assert!(log.poll_news(reader, 0, &Context::from_waker(Waker::noop())).is_pending());
            assert!(log.poll_news(reader, 0, &Context::from_waker(Waker::noop())).is_pending());
            log.leave(reader);
        }
        assert!(log.tail().waiting.is_empty());
    }
}
