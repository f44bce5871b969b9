//! What becomes of a service: a machine without a process and without a clock. It is told what
//! happened and when, and says what to do.

/// Times of a service, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// How long a start may take.
    pub(super) start: u64,
    /// The pause before the first restart; it doubles from one to the next.
    pub(super) first: u64,
    /// The longest pause. A process that was ready for as long has proved healthy.
    pub(super) most: u64,
    /// How often it is started again before somebody has to ask for it; `None`: without end.
    pub(super) tries: Option<u32>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// Somebody needs the service.
    Wanted,
    /// The process takes connections.
    Listening,
    /// The process ended, or could not be started.
    Ended {
        /// In words, for people.
        reason: String,
        /// Another program has taken the port that it was given.
        port_lost: bool,
    },
    /// The moment of [`Machine::wakes`] has come, or may have.
    Tick,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Start a process; there is none.
    Start,
    /// End the process, which will not be reported.
    End,
}

/// How the service stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody has needed it.
    Stopped,
    /// A process is there that takes no connections yet.
    Starting {
        /// When it must.
        deadline: u64,
        /// How often its port was lost.
        lost: u32,
    },
    /// It takes connections.
    Ready {
        /// From when on.
        since: u64,
    },
    /// It is started again after a pause.
    BackingOff {
        /// When.
        until: u64,
        /// Whether those who need it had better wait: it has just worked, and it is not for long.
        worth: bool,
    },
    /// It is started again when somebody needs it.
    Failed {
        /// From when on.
        until: u64,
    },
}

/// How often another port is taken because the last one was lost.
const MAX_LOST: u32 = 3;

/// Pauses up to this part of the longest are waited for.
const SHORT: u64 = 8;

/// One service. In every state but `Starting` and `Ready` there is no process.
#[derive(Debug)]
pub(super) struct Machine {
    pace: Pace,
    state: State,
    /// Failures since it was last healthy.
    failures: u32,
    reason: String,
}

impl Machine {
    /// A service that nobody has needed.
    pub(super) fn new(pace: Pace) -> Machine {
        Machine { pace, state: State::Stopped, failures: 0, reason: String::new() }
    }

    /// Takes what happened at `now`.
    pub(super) fn handle(&mut self, now: u64, input: Input) -> Option<Action> {
        match (self.state, input) {
            (State::Stopped, Input::Wanted) => self.start(now),
            (State::Failed { until }, Input::Wanted) if now >= until => self.start(now),
            (State::Starting { .. }, Input::Listening) => {
                self.state = State::Ready { since: now };
                None
            }
            (State::Starting { deadline, lost }, Input::Ended { port_lost: true, .. }) if lost < MAX_LOST => {
                self.state = State::Starting { deadline, lost: lost + 1 };
                Some(Action::Start)
            }
            (State::Starting { .. }, Input::Ended { reason, .. }) => {
                self.failed(now, reason, false);
                None
            }
            (State::Ready { since }, Input::Ended { reason, .. }) => {
                if now.saturating_sub(since) >= self.pace.most {
                    self.failures = 0;
                }
                self.failed(now, reason, true);
                None
            }
            (State::Starting { deadline, .. }, Input::Tick) if now >= deadline => {
                self.failed(now, "takes no connections on the port it was given".to_owned(), false);
                Some(Action::End)
            }
            (State::BackingOff { until, .. }, Input::Tick) if now >= until => self.start(now),
            _ => None,
        }
    }

    /// When it wants to hear a [`Input::Tick`].
    pub(super) fn wakes(&self) -> Option<u64> {
        match self.state {
            State::Starting { deadline, .. } => Some(deadline),
            State::BackingOff { until, .. } => Some(until),
            State::Stopped | State::Ready { .. } | State::Failed { .. } => None,
        }
    }

    /// What those are told who need it: that it is ready, why it is not, or nothing yet.
    pub(super) fn verdict(&self) -> Option<Result<(), &str>> {
        match self.state {
            State::Ready { .. } => Some(Ok(())),
            State::BackingOff { worth: false, .. } | State::Failed { .. } => Some(Err(&self.reason)),
            State::Stopped | State::Starting { .. } | State::BackingOff { worth: true, .. } => None,
        }
    }

    fn start(&mut self, now: u64) -> Option<Action> {
        self.state = State::Starting { deadline: now.saturating_add(self.pace.start), lost: 0 };
        Some(Action::Start)
    }

    fn failed(&mut self, now: u64, reason: String, worked: bool) {
        let doubled =
            1_u64.checked_shl(self.failures).map_or(u64::MAX, |n| self.pace.first.saturating_mul(n));
        let pause = doubled.min(self.pace.most);
        let (until, worth) = (now.saturating_add(pause), worked && pause <= self.pace.most / SHORT);
        self.failures = self.failures.saturating_add(1);
        self.reason = reason;
        self.state = match self.pace.tries {
            Some(tries) if self.failures > tries => State::Failed { until },
            _ => State::BackingOff { until, worth },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { start: 300, first: 10, most: 300, tries: Some(6) };

    fn ended(reason: &str) -> Input {
        Input::Ended { reason: reason.into(), port_lost: false }
    }

    fn ready(machine: &mut Machine, now: u64) {
        assert_eq!(machine.handle(now, Input::Listening), None);
        assert_eq!(machine.verdict(), Some(Ok(())));
    }

    #[test]
    fn it_starts_when_it_is_needed_and_once() {
        let mut machine = Machine::new(PACE);
        assert_eq!((machine.wakes(), machine.verdict()), (None, None));
        assert_eq!(machine.handle(0, Input::Tick), None);
        assert_eq!(machine.handle(5, Input::Wanted), Some(Action::Start));
        assert_eq!(machine.handle(6, Input::Wanted), None);
        assert_eq!((machine.wakes(), machine.verdict()), (Some(305), None));
        ready(&mut machine, 7);
        assert_eq!(machine.handle(8, Input::Wanted), None);
        assert_eq!(machine.wakes(), None);
    }

    #[test]
    fn pauses_double_to_the_longest_and_begin_anew_after_health() {
        let mut machine = Machine::new(PACE);
        let mut now = 0;
        machine.handle(now, Input::Wanted);
        for pause in [10, 20, 40, 80, 160, 300] {
            ready(&mut machine, now);
            assert_eq!(machine.handle(now, ended("x")), None);
            assert_eq!(machine.wakes(), Some(now + pause));
            // Who has seen it work waits for a while, and not for long.
            assert_eq!(machine.verdict().is_none(), pause <= 37);
            assert_eq!(machine.handle(now + pause - 1, Input::Tick), None);
            now += pause;
            assert_eq!(machine.handle(now, Input::Tick), Some(Action::Start));
        }
        ready(&mut machine, now);
        now += 300;
        machine.handle(now, ended("x"));
        assert_eq!(machine.wakes(), Some(now + 10));
    }

    #[test]
    fn what_never_works_rests_until_somebody_asks() {
        let mut machine = Machine::new(PACE);
        let (mut now, mut starts) = (0, 1);
        machine.handle(now, Input::Wanted);
        machine.handle(now, ended("cannot be started"));
        while let Some(at) = machine.wakes() {
            assert_eq!(machine.verdict(), Some(Err("cannot be started")));
            now = at;
            assert_eq!(machine.handle(now, Input::Tick), Some(Action::Start));
            starts += 1;
            machine.handle(now, ended("cannot be started"));
        }
        assert_eq!((starts, machine.state), (7, State::Failed { until: now + 300 }));
        assert_eq!(machine.handle(now + 299, Input::Wanted), None);
        assert_eq!(machine.verdict(), Some(Err("cannot be started")));
        assert_eq!(machine.handle(now + 300, Input::Wanted), Some(Action::Start));
        assert_eq!(machine.verdict(), None);
    }

    #[test]
    fn a_start_that_takes_too_long_is_ended() {
        let mut machine = Machine::new(PACE);
        machine.handle(0, Input::Wanted);
        assert_eq!(machine.handle(299, Input::Tick), None);
        assert_eq!(machine.handle(300, Input::Tick), Some(Action::End));
        assert!(matches!(machine.verdict(), Some(Err(_))));
        assert_eq!(machine.handle(301, Input::Listening), None);
        assert!(matches!(machine.state, State::BackingOff { worth: false, .. }));
    }

    #[test]
    fn a_lost_port_costs_no_pause_but_no_more_than_a_few() {
        let mut machine = Machine::new(PACE);
        let lost = Input::Ended { reason: "port".into(), port_lost: true };
        machine.handle(0, Input::Wanted);
        for now in 1..=3 {
            assert_eq!(machine.handle(now, lost.clone()), Some(Action::Start));
            assert_eq!(machine.wakes(), Some(300));
        }
        assert_eq!(machine.handle(4, lost), None);
        assert_eq!(machine.verdict(), Some(Err("port")));
    }

    /// The world as somebody outside sees it: processes come and go, and pauses are counted.
    #[derive(Default)]
    struct Model {
        alive: bool,
        listening_since: Option<u64>,
        failures: u32,
        /// No start before this moment.
        not_before: u64,
        lost: u32,
        starts_unasked: u32,
    }

    impl Model {
        fn fails(&mut self, now: u64) {
            let healthy = self.listening_since.take().is_some_and(|since| now - since >= PACE.most);
            if healthy {
                (self.failures, self.starts_unasked) = (0, 0);
            }
            self.alive = false;
            self.not_before = now + (PACE.first << self.failures.min(20)).min(PACE.most);
            self.failures += 1;
        }

        fn does(&mut self, now: u64, action: Option<Action>, input: &Input) {
            match action {
                None => {}
                Some(Action::Start) => {
                    assert!(!self.alive, "a second process");
                    assert!(now >= self.not_before, "no pause: {now} before {}", self.not_before);
                    self.alive = true;
                    self.starts_unasked = if *input == Input::Wanted { 0 } else { self.starts_unasked + 1 };
                    assert!(self.starts_unasked <= 6 + 3 * 7, "starts for nobody without end");
                }
                Some(Action::End) => {
                    assert!(self.alive && self.listening_since.is_none(), "ends what works");
                    self.fails(now);
                }
            }
        }
    }

    #[test]
    fn a_model_of_the_world_agrees_whatever_happens() {
        for seed in 1..400_u64 {
            let mut random = seed;
            let mut next = |n: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % n
            };
            let (mut machine, mut model, mut now) = (Machine::new(PACE), Model::default(), 0);
            let wait = if seed % 2 == 0 { 400 } else { 12 };
            for _ in 0..300 {
                now += next(wait);
                let input = match next(4) {
                    0 => Input::Wanted,
                    1 if model.alive => Input::Listening,
                    2 if model.alive => {
                        let port_lost = next(3) == 0 && model.listening_since.is_none();
                        Input::Ended { reason: format!("at {now}"), port_lost }
                    }
                    _ => Input::Tick,
                };
                match &input {
                    Input::Listening => {
                        model.listening_since.get_or_insert(now);
                    }
                    Input::Ended { port_lost: true, .. } if model.lost < 3 => {
                        (model.alive, model.lost, model.not_before) = (false, model.lost + 1, now);
                    }
                    Input::Ended { .. } => model.fails(now),
                    _ => {}
                }
                let action = machine.handle(now, input.clone());
                model.does(now, action, &input);
                if !matches!(machine.state, State::Starting { .. }) {
                    model.lost = 0;
                }
                let running = matches!(machine.state, State::Starting { .. } | State::Ready { .. });
                assert_eq!(running, model.alive, "{input:?} {machine:?}");
                let ready = machine.verdict() == Some(Ok(()));
                assert_eq!(ready, model.alive && model.listening_since.is_some());
                // Whoever needs it hears something sooner or later, and only one that rests sleeps.
                let rests = matches!(machine.state, State::Stopped | State::Failed { .. }) || ready;
                assert_eq!(machine.wakes().is_none(), rests);
            }
        }
    }
}
