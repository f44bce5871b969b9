//! The queue of runs against a small model of it, by random sequences: at most N turns per
//! application and one per session, four times as many in line, first come first served, the next
//! refused, and every accepted call has exactly one fate.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod dice;

use std::collections::{BTreeMap, BTreeSet};

use dice::{Dice, Named, seeds};
use mindset_core::queue::{Call, Caller, End, Input, Output, Queue, Refusal, WhenBusy};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Turn,
    Waits,
    Steer,
    Queued,
    GoesOn,
}

/// One call of the model.
#[derive(Debug, Clone)]
struct Row {
    run: String,
    session: String,
    /// It needs a slot: the application's, or an agent's.
    app: bool,
    kind: Kind,
    /// When it came.
    seq: u64,
    slot: bool,
    /// What waited before it, as long as it has not begun.
    before: Option<Box<Row>>,
}

/// The model: one list of calls, in the order in which their sessions take them.
#[derive(Debug, Default)]
struct Model {
    n: usize,
    seq: u64,
    rows: Vec<Row>,
    paused: BTreeSet<String>,
    /// What the last input led to, in any order; places are compared apart.
    said: Vec<String>,
}

impl Model {
    fn at(&self, session: &str, kinds: &[Kind]) -> Option<usize> {
        self.rows.iter().position(|r| r.session == session && kinds.contains(&r.kind))
    }

    fn turn(&self, session: &str) -> Option<usize> {
        self.at(session, &[Kind::Turn, Kind::Waits])
    }

    fn queued(&self, session: &str) -> Vec<usize> {
        let of = |r: &Row| r.session == session && matches!(r.kind, Kind::Queued | Kind::GoesOn);
        (0..self.rows.len()).filter(|at| of(&self.rows[*at])).collect()
    }

    fn line(&self) -> Vec<usize> {
        let of = |r: &Row| r.app && !r.slot && matches!(r.kind, Kind::Queued | Kind::GoesOn);
        let mut line: Vec<usize> = (0..self.rows.len()).filter(|at| of(&self.rows[*at])).collect();
        line.sort_by_key(|at| self.rows[*at].seq);
        line
    }

    fn taken(&self) -> usize {
        self.rows.iter().filter(|r| r.slot).count()
    }

    fn add(&mut self, call: &Call, kind: Kind, slot: bool) {
        let (run, session) = (call.run.clone(), call.session.clone());
        self.rows.push(Row {
            run,
            session,
            app: call.caller != Caller::User,
            kind,
            seq: self.seq,
            slot,
            before: None,
        });
        self.seq += 1;
    }

    fn accept(&mut self, call: &Call) {
        let session = call.session.as_str();
        let (app, turn) = (call.caller != Caller::User, self.turn(session));
        let goes_on = self.at(session, &[Kind::GoesOn]).is_some();
        let waits = turn.is_some_and(|at| self.rows[at].kind == Kind::Waits);
        let refuse = |model: &mut Model, why: &str| model.said.push(format!("refuse {} {why}", call.run));
        if let Some(turn) = turn.filter(|_| call.continues) {
            if !waits || goes_on {
                return refuse(self, "busy");
            }
            let (slot, seq) = (std::mem::take(&mut self.rows[turn].slot), self.rows[turn].seq);
            let app = self.rows[turn].app;
            let row = Row {
                run: call.run.clone(),
                session: session.into(),
                app,
                kind: Kind::GoesOn,
                seq,
                slot,
                before: None,
            };
            // Before everything that waits in the session.
            self.rows.insert(0, row);
            return;
        }
        let may_queue = match turn {
            None => !app || self.queued(session).is_empty() || call.when_busy.is_some(),
            Some(_) => call.when_busy.is_some() || (waits && !app && !goes_on),
        };
        if !may_queue {
            return refuse(self, "busy");
        }
        if !app && (turn.is_none() || call.when_busy.is_none()) {
            let before = turn.map(|at| Box::new(self.rows.remove(at)));
            self.paused.remove(session);
            self.add(call, Kind::Turn, false);
            self.rows.last_mut().unwrap().before = before;
            return self.said.push(format!("start {}", call.run));
        }
        if turn.is_some() && call.when_busy == Some(WhenBusy::Steer) {
            if self.rows.iter().filter(|r| r.session == session && r.kind == Kind::Steer).count()
                >= 4 * self.n
            {
                return refuse(self, "full");
            }
            self.add(call, Kind::Steer, false);
            return self.said.push(format!("steers {}", call.run));
        }
        let own = self.queued(session).iter().filter(|at| !self.rows[**at].app).count();
        let full =
            if app { self.taken() >= self.n && self.line().len() >= 4 * self.n } else { own >= 4 * self.n };
        if full {
            return refuse(self, "full");
        }
        self.add(call, Kind::Queued, false);
    }

    fn ended(&mut self, run: &str, end: End) {
        let Some(at) =
            self.rows.iter().position(|r| r.run == run && matches!(r.kind, Kind::Turn | Kind::Waits))
        else {
            return;
        };
        if end == End::Waits {
            self.rows[at].kind = Kind::Waits;
            self.rows[at].before = None;
            return;
        }
        let gone = self.rows.remove(at);
        if let (End::Refused, Some(before)) = (end, &gone.before) {
            self.rows.push(Row { slot: gone.slot && before.app, before: None, ..(**before).clone() });
            return;
        }
        let of = |r: &Row, kind: Kind| r.session == gone.session && r.kind == kind;
        let mut unread: Vec<Row> = self.rows.iter().filter(|r| of(r, Kind::Steer)).cloned().collect();
        self.rows.retain(|r| !of(r, Kind::Steer));
        unread.iter_mut().for_each(|r| r.kind = Kind::Queued);
        if let Some(first) = unread.first_mut() {
            first.slot = gone.slot && first.app;
        }
        self.rows.splice(0..0, unread);
        self.rows.iter_mut().filter(|r| of(r, Kind::GoesOn)).for_each(|r| r.kind = Kind::Queued);
        if end == End::Stopped {
            self.paused.insert(gone.session);
        }
    }

    fn withdraw(&mut self, run: &str) {
        let waits = |r: &Row| matches!(r.kind, Kind::Steer | Kind::Queued | Kind::GoesOn);
        let Some(at) = self.rows.iter().position(|r| r.run == run && waits(r)) else { return };
        let gone = self.rows.remove(at);
        if let (Kind::GoesOn, Some(turn)) = (gone.kind, self.turn(&gone.session)) {
            self.rows[turn].slot = gone.slot;
        }
        self.said.push(format!("withdrawn {run}"));
    }

    fn handle(&mut self, input: &Input) {
        self.said.clear();
        match input {
            Input::Accept(call) => self.accept(call),
            Input::Ended { run, end } => self.ended(run, *end),
            Input::Withdraw { run } => self.withdraw(run),
            Input::Resume { session } => drop(self.paused.remove(session)),
            Input::Lapse { run } => {
                let Some(at) = self.rows.iter().position(|r| r.run == *run && r.kind == Kind::Waits) else {
                    return;
                };
                self.rows[at].slot = false;
                if self.rows.iter().filter(|r| r.session == self.rows[at].session).count() == 1 {
                    self.rows.remove(at);
                }
            }
            Input::Read { run } => {
                let session = self.rows.iter().find(|r| r.run == *run && r.kind == Kind::Turn);
                let session = session.map(|r| r.session.clone());
                let read = |r: &Row| Some(&r.session) == session.as_ref() && r.kind == Kind::Steer;
                self.said.extend(self.rows.iter().filter(|r| read(r)).map(|r| format!("steered {}", r.run)));
                self.rows.retain(|r| !read(r));
            }
        }
        while self.taken() < self.n {
            let Some(first) = self.line().first().copied() else { break };
            self.rows[first].slot = true;
        }
        let sessions: BTreeSet<String> = self.rows.iter().map(|r| r.session.clone()).collect();
        for session in &sessions {
            self.start_next(session);
        }
        self.paused.retain(|s| self.rows.iter().any(|r| r.session == *s && r.kind == Kind::Queued));
    }

    fn start_next(&mut self, session: &str) {
        let turn = self.turn(session);
        let queued = self.queued(session);
        for at in &queued {
            let fits = match turn {
                None => !self.paused.contains(session),
                Some(turn) => self.rows[turn].kind == Kind::Waits && self.rows[*at].kind == Kind::GoesOn,
            };
            if !fits {
                continue;
            }
            if self.rows[*at].app && !self.rows[*at].slot {
                let giver = queued.iter().copied().rfind(|other| other > at && self.rows[*other].slot);
                let Some(giver) = giver else { continue };
                self.rows[giver].slot = false;
                self.rows[*at].slot = true;
            }
            self.rows[*at].kind = Kind::Turn;
            self.said.push(format!("start {}", self.rows[*at].run));
            if let Some(turn) = turn {
                let before = Some(Box::new(self.rows[turn].clone()));
                self.rows[*at].before = before;
                self.rows.remove(turn);
            }
            return;
        }
    }

    /// The place of everything that waits, as calls are told.
    fn places(&self) -> BTreeMap<String, usize> {
        let line = self.line();
        let place = |at: usize| match line.iter().position(|in_line| *in_line == at) {
            Some(place) => place + 1,
            None => {
                let session = &self.rows[at].session;
                let steers =
                    self.rows.iter().filter(|r| r.session == *session && r.kind == Kind::Steer).count();
                steers + self.queued(session).iter().position(|q| *q == at).unwrap() + 1
            }
        };
        let queued =
            (0..self.rows.len()).filter(|at| matches!(self.rows[*at].kind, Kind::Queued | Kind::GoesOn));
        queued.map(|at| (self.rows[at].run.clone(), place(at))).collect()
    }
}

/// Both, side by side.
struct Pair {
    queue: Queue,
    model: Model,
    places: BTreeMap<String, usize>,
    /// What became of each accepted call.
    fates: BTreeMap<String, Vec<String>>,
}

impl Pair {
    fn new(n: usize) -> Pair {
        let model = Model { n, ..Model::default() };
        Pair { queue: Queue::new(n), model, places: BTreeMap::new(), fates: BTreeMap::new() }
    }

    fn handle(&mut self, input: Input) {
        if let Input::Accept(call) = &input {
            self.fates.insert(call.run.clone(), Vec::new());
        }
        self.model.handle(&input);
        self.queue.handle(input.clone());
        let mut said = Vec::new();
        while let Some(output) = self.queue.poll_output() {
            let (run, line) = match output {
                Output::Refuse { run, refusal: Refusal::Busy { .. } } => (run, "refuse busy"),
                Output::Refuse { run, refusal: Refusal::Full { .. } } => (run, "refuse full"),
                Output::Start { run } => (run, "start"),
                Output::Steers { run } => (run, "steers"),
                Output::Steered { run } => (run, "steered"),
                Output::Withdrawn { run } => (run, "withdrawn"),
                Output::Position { run, position } => {
                    self.places.insert(run, position);
                    continue;
                }
            };
            let (word, why) = line.split_once(' ').unwrap_or((line, ""));
            if word != "steers" {
                self.fates.entry(run.clone()).or_default().push(word.to_owned());
                self.places.remove(&run);
            }
            said.push(format!("{word} {run} {why}").trim_end().to_owned());
        }
        let mut wanted = self.model.said.clone();
        wanted.sort();
        said.sort();
        assert_eq!(said, wanted, "{input:?} {:#?}", self.model);
        assert_eq!(self.places, self.model.places(), "{input:?} {:#?}", self.model);
        self.check();
    }

    fn check(&self) {
        let turns = || self.model.rows.iter().filter(|r| matches!(r.kind, Kind::Turn | Kind::Waits));
        assert!(turns().filter(|r| r.app && r.kind == Kind::Turn).count() <= self.model.n);
        assert!(self.model.taken() <= self.model.n);
        let sessions: BTreeSet<&str> = turns().map(|r| r.session.as_str()).collect();
        assert_eq!(sessions.len(), turns().count(), "one turn per session");
        for (run, fates) in &self.fates {
            assert!(fates.len() <= 1, "{run}: {fates:?}");
        }
        for session in self.model.rows.iter().map(|r| &r.session).collect::<BTreeSet<_>>() {
            let shown: Vec<(String, bool)> =
                self.queue.waiting(session).into_iter().map(|p| (p.run, p.steers)).collect();
            let of = |kinds: &[Kind]| {
                let rows =
                    self.model.rows.iter().filter(|r| r.session == *session && kinds.contains(&r.kind));
                rows.map(|r| (r.run.clone(), r.kind == Kind::Steer)).collect::<Vec<_>>()
            };
            assert_eq!(shown, [of(&[Kind::Steer]), of(&[Kind::Queued, Kind::GoesOn])].concat());
        }
    }

    /// Ends everything: nothing may be left, and everyone has a fate.
    fn drain(&mut self) {
        for _ in 0..10_000 {
            let turn = self.model.rows.iter().find(|r| matches!(r.kind, Kind::Turn | Kind::Waits));
            let Some(run) = turn.map(|r| r.run.clone()) else {
                let Some(session) = self.model.paused.first().cloned() else { break };
                self.handle(Input::Resume { session });
                continue;
            };
            self.handle(Input::Ended { run, end: End::Over });
        }
        assert!(self.queue.is_empty(), "{:?}", self.queue);
        assert!(self.fates.values().all(|fates| fates.len() == 1), "{:?}", self.fates);
    }
}

fn call(run: &str, session: &str, caller: Caller, when_busy: Option<WhenBusy>) -> Call {
    let (run, session) = (run.to_owned(), session.to_owned());
    Call { run, session, caller, when_busy, continues: false, waiting: None }
}

fn any_input(dice: &mut Dice, pair: &Pair, number: usize) -> Input {
    let session = dice.pick(&["a", "b", "c", "d"]).to_owned();
    let of = |kinds: &[Kind], dice: &mut Dice| {
        let runs: Vec<&Row> = pair.model.rows.iter().filter(|r| kinds.contains(&r.kind)).collect();
        if runs.is_empty() { "nobody".to_owned() } else { dice.pick(&runs).run.clone() }
    };
    match dice.below(16) {
        0..=6 => {
            let caller = dice.pick(&[Caller::User, Caller::Application, Caller::Application, Caller::Agent]);
            let when_busy =
                dice.pick(&[None, Some(WhenBusy::Queue), Some(WhenBusy::Queue), Some(WhenBusy::Steer)]);
            let continues = dice.once_in(6);
            Input::Accept(Call { continues, ..call(&format!("r{number}"), &session, caller, when_busy) })
        }
        7..=9 => Input::Ended {
            run: of(&[Kind::Turn], dice),
            end: dice.pick(&[End::Over, End::Over, End::Waits, End::Waits, End::Refused]),
        },
        10 => Input::Ended { run: of(&[Kind::Turn, Kind::Waits], dice), end: End::Stopped },
        11 => Input::Withdraw { run: of(&[Kind::Steer, Kind::Queued, Kind::GoesOn], dice) },
        12 | 13 => Input::Read { run: of(&[Kind::Turn], dice) },
        14 => Input::Resume { session },
        _ => Input::Lapse { run: of(&[Kind::Waits], dice) },
    }
}

#[test]
fn as_the_model() {
    for seed in seeds() {
        let _named = Named(seed);
        let mut dice = Dice(seed);
        let mut pair = Pair::new(usize::try_from(1 + dice.below(3)).unwrap());
        for number in 0..60 {
            let input = any_input(&mut dice, &pair, number);
            pair.handle(input);
        }
        pair.drain();
    }
}

fn application(run: &str, session: &str) -> Input {
    Input::Accept(call(run, session, Caller::Application, None))
}

fn over(run: &str) -> Input {
    Input::Ended { run: run.to_owned(), end: End::Over }
}

fn outputs(queue: &mut Queue, input: Input) -> Vec<Output> {
    queue.handle(input);
    std::iter::from_fn(|| queue.poll_output()).collect()
}

fn start(run: &str) -> Output {
    Output::Start { run: run.to_owned() }
}

fn place(run: &str, position: usize) -> Output {
    Output::Position { run: run.to_owned(), position }
}

#[test]
fn first_come_first_served_and_the_next_is_refused() {
    let mut queue = Queue::new(2);
    for n in 0..2 {
        assert_eq!(
            outputs(&mut queue, application(&format!("r{n}"), &format!("s{n}"))),
            [start(&format!("r{n}"))]
        );
    }
    for n in 2..10 {
        let run = format!("r{n}");
        assert_eq!(outputs(&mut queue, application(&run, &format!("s{n}"))), [place(&run, n - 1)]);
    }
    let refusal = Refusal::Full { limit: 8 };
    assert_eq!(
        outputs(&mut queue, application("more", "s10")),
        [Output::Refuse { run: "more".into(), refusal }]
    );
    // The user needs no slot.
    let own = Input::Accept(call("own", "s11", Caller::User, None));
    assert_eq!(outputs(&mut queue, own), [start("own")]);
    for n in 2..10 {
        let out = outputs(&mut queue, over(&format!("r{}", n - 2)));
        assert_eq!(out[0], start(&format!("r{n}")));
        assert_eq!(out.len(), 1 + 9 - n, "the others move up: {out:?}");
    }
}

#[test]
fn a_steer_is_read_or_becomes_the_next_turn() {
    for read in [true, false] {
        let mut queue = Queue::new(1);
        outputs(&mut queue, application("r0", "s"));
        let follow = |run: &str, when| Input::Accept(call(run, "s", Caller::Application, Some(when)));
        assert_eq!(outputs(&mut queue, follow("later", WhenBusy::Queue)), [place("later", 1)]);
        let steers = outputs(&mut queue, follow("steer", WhenBusy::Steer));
        assert_eq!(steers, [Output::Steers { run: "steer".into() }]);
        if read {
            let out = outputs(&mut queue, Input::Read { run: "r0".into() });
            assert_eq!(out, [Output::Steered { run: "steer".into() }]);
            assert_eq!(outputs(&mut queue, over("r0")), [start("later")]);
            continue;
        }
        assert_eq!(outputs(&mut queue, over("r0")), [start("steer")]);
        assert_eq!(outputs(&mut queue, over("steer")), [start("later")]);
    }
}

#[test]
fn a_stop_pauses_until_the_person_says_a_word() {
    for next in [true, false] {
        let mut queue = Queue::new(1);
        let follow = |run: &str| Input::Accept(call(run, "s", Caller::User, Some(WhenBusy::Queue)));
        assert_eq!(outputs(&mut queue, follow("r0")), [start("r0")]);
        assert_eq!(outputs(&mut queue, follow("r1")), [place("r1", 1)]);
        let stop = Input::Ended { run: "r0".into(), end: End::Stopped };
        assert_eq!(outputs(&mut queue, stop), []);
        assert!(queue.waiting("s")[0].paused);
        if next {
            let message = Input::Accept(call("r2", "s", Caller::User, None));
            assert_eq!(outputs(&mut queue, message), [start("r2")]);
            assert_eq!(outputs(&mut queue, over("r2")), [start("r1")]);
        } else {
            assert_eq!(outputs(&mut queue, Input::Resume { session: "s".into() }), [start("r1")]);
        }
    }
}

#[test]
fn nothing_comes_between_a_turn_and_what_it_waits_for() {
    let mut queue = Queue::new(1);
    let follow = |run: &str| Input::Accept(call(run, "s", Caller::Application, Some(WhenBusy::Queue)));
    outputs(&mut queue, application("r0", "s"));
    outputs(&mut queue, follow("r1"));
    assert_eq!(outputs(&mut queue, Input::Ended { run: "r0".into(), end: End::Waits }), []);
    let go_on = |run: &str| {
        let call = call(run, "s", Caller::Application, None);
        Input::Accept(Call { continues: true, ..call })
    };
    assert_eq!(outputs(&mut queue, go_on("r2")), [start("r2")]);
    // Nobody waits for it any longer: another session gets the slot, and it waits its turn.
    assert_eq!(outputs(&mut queue, Input::Ended { run: "r2".into(), end: End::Waits }), []);
    let out = outputs(&mut queue, Input::Lapse { run: "r2".into() });
    assert_eq!(out, [], "the follow-up has the slot now, and waits for its session");
    assert_eq!(outputs(&mut queue, go_on("r3")), [start("r3")]);
    let out = outputs(&mut queue, over("r3"));
    assert_eq!(out, [start("r1")]);
}
