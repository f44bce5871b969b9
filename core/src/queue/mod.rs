//! Who runs now and who waits: the calls of one application for one user.
//!
//! A session (conversation) has one turn at a time. Turns that the application runs take one of
//! its slots; a follow-up of the application keeps its slot while it waits for its session. Who
//! finds no slot waits in line, first come first served, and when the line is full the next call
//! is refused. Turns of the user need no slot. A steer needs none either: the running turn reads
//! it before its next model request, or it becomes the session's next turn.
//!
//! [`Queue::handle`] takes one [`Input`], then [`Queue::poll_output`] is drained.

mod line;
mod session;
pub mod told;

use std::collections::{BTreeMap, VecDeque};

use session::{Entry, Session, Turn};

/// For each slot so many calls may wait in line.
const LINE: usize = 4;

/// On whose behalf a run was posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The person, by the chat.
    User,
    /// The application, by its agent API.
    Application,
    /// An agent, for work that it hands over and does not wait for.
    Agent,
}

impl Caller {
    /// Whether its turns need slots.
    fn takes_slots(self) -> bool {
        self != Caller::User
    }
}

/// What a call wants when its session is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenBusy {
    /// To be a turn of its own afterwards.
    Queue,
    /// To be read by the running turn.
    Steer,
}

impl WhenBusy {
    /// The word as it travels.
    pub fn as_str(self) -> &'static str {
        match self {
            WhenBusy::Queue => "queue",
            WhenBusy::Steer => "steer",
        }
    }

    /// The wish written `text`.
    pub fn parse(text: &str) -> Option<WhenBusy> {
        match text {
            "queue" => Some(WhenBusy::Queue),
            "steer" => Some(WhenBusy::Steer),
            _ => None,
        }
    }
}

/// A run that wants to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its id, unique for the user.
    pub run: String,
    /// Its conversation.
    pub session: String,
    /// Who posted it.
    pub caller: Caller,
    /// What it wants if the session is busy; `None`: to be refused.
    pub when_busy: Option<WhenBusy>,
    /// It brings what the session's turn waits for: results of tools, answers of people.
    pub continues: bool,
    /// The run that waits for such a run, as it is stored; counts only where nothing is known of
    /// the session.
    pub waiting: Option<String>,
}

/// Everything that can happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A call comes.
    Accept(Call),
    /// The turn with this run is about to ask its model, and takes in what steers it.
    Read {
        /// The run.
        run: String,
    },
    /// A run that was started is over.
    Ended {
        /// The run.
        run: String,
        /// What that means for its turn.
        end: End,
    },
    /// A call that waits gives up its place.
    Withdraw {
        /// The run.
        run: String,
    },
    /// The session's queue goes on after a stop.
    Resume {
        /// The session.
        session: String,
    },
    /// A turn that waits for its client is not waited for any longer: it gives up its slot, and
    /// takes one again when it goes on.
    Lapse {
        /// The run that waits.
        run: String,
    },
}

/// What the end of a run means for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The turn is over.
    Over,
    /// Somebody stopped it: what waits behind it waits for a word of the person.
    Stopped,
    /// The turn goes on with a run that brings results or answers.
    Waits,
    /// It could not begin: what waited before it waits again.
    Refused,
}

/// What follows, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// The call is refused; nothing is known of it any more.
    Refuse {
        /// The run.
        run: String,
        /// Why.
        refusal: Refusal,
    },
    /// The run begins now.
    Start {
        /// The run.
        run: String,
    },
    /// The call waits, now at this place, from 1: in line for a slot, or else in its session.
    Position {
        /// The run.
        run: String,
        /// The place.
        position: usize,
    },
    /// The call waits to be read by the running turn.
    Steers {
        /// The run.
        run: String,
    },
    /// The running turn has read the call, which is over with that.
    Steered {
        /// The run.
        run: String,
    },
    /// The call has given up its place.
    Withdrawn {
        /// The run.
        run: String,
    },
}

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Its session has a turn, or calls that come first.
    Busy {
        /// The run of that turn; empty: only calls wait.
        run: String,
    },
    /// So many wait already.
    Full {
        /// The limit.
        limit: usize,
    },
}

/// A call that waits, as its session shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The run.
    pub run: String,
    /// Its place in the session, from 1.
    pub position: usize,
    /// It waits to be read by the running turn.
    pub steers: bool,
    /// It waits for a word of the person.
    pub paused: bool,
}

/// The calls of one application for one user.
#[derive(Debug)]
pub struct Queue {
    slots: usize,
    sessions: BTreeMap<String, Session>,
    next: u64,
    outputs: VecDeque<Output>,
}

impl Queue {
    /// Nobody runs and nobody waits; the application has so many slots, at least one.
    pub fn new(slots: usize) -> Queue {
        Queue { slots: slots.max(1), sessions: BTreeMap::new(), next: 0, outputs: VecDeque::new() }
    }

    /// Takes one input. Drain [`poll_output`](Self::poll_output) afterwards.
    pub fn handle(&mut self, input: Input) {
        match input {
            Input::Accept(call) => self.accept(call),
            Input::Read { run } => self.read(&run),
            Input::Ended { run, end } => self.ended(&run, end),
            Input::Withdraw { run } => self.withdraw(&run),
            Input::Resume { session } => {
                if let Some(session) = self.sessions.get_mut(&session) {
                    session.paused = false;
                }
            }
            Input::Lapse { run } => {
                if let Some(session) = self.session_of(&run) {
                    session.lapse();
                }
            }
        }
        self.settle();
    }

    /// What follows, until there is nothing.
    pub fn poll_output(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front();
        // There is one queue for each user, and nearly always it has none.
        if self.outputs.is_empty() {
            self.outputs = VecDeque::new();
        }
        output
    }

    /// Whether nothing runs and nothing waits.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// What waits in a session, first what comes next.
    pub fn waiting(&self, session: &str) -> Vec<Place> {
        let Some(session) = self.sessions.get(session) else { return Vec::new() };
        let place = |(at, entry): (usize, &Entry)| Place {
            run: entry.run.clone(),
            position: at + 1,
            steers: at < session.steers.len(),
            paused: session.paused,
        };
        session.steers.iter().chain(&session.queue).enumerate().map(place).collect()
    }

    /// The runs of the application, those of turns first.
    pub fn of_application(&self) -> Vec<String> {
        let turns = self.sessions.values().filter_map(|s| s.turn.as_ref());
        let turns = turns.filter(|t| t.caller == Caller::Application).map(|t| &t.run);
        let waiting = self.sessions.values().flat_map(|s| s.steers.iter().chain(&s.queue));
        let waiting = waiting.filter(|e| e.caller == Caller::Application).map(|e| &e.run);
        turns.chain(waiting).cloned().collect()
    }

    /// The session whose turn has this run.
    fn session_of(&mut self, run: &str) -> Option<&mut Session> {
        self.sessions.values_mut().find(|s| s.turn.as_ref().is_some_and(|turn| turn.run == run))
    }

    fn accept(&mut self, call: Call) {
        let session = self.sessions.entry(call.session.clone()).or_default();
        if let (None, Some(run)) = (&session.turn, &call.waiting) {
            session.turn = Some(Turn::left(run.clone(), call.caller, self.next));
            self.next += 1;
        }
        let busy = session.turn.as_ref().map(|turn| (turn.run.clone(), turn.waits));
        match busy {
            Some((run, waits)) if call.continues => {
                if !waits || session.goes_on() {
                    self.refuse(call, Refusal::Busy { run });
                } else {
                    self.go_on(&call);
                }
            }
            Some((run, waits)) => match call.when_busy {
                Some(WhenBusy::Queue) => self.enqueue(call),
                Some(WhenBusy::Steer) => self.steer(call),
                None if waits && call.caller == Caller::User && !session.goes_on() => self.begin(call),
                None => self.refuse(call, Refusal::Busy { run }),
            },
            None if call.caller == Caller::User => self.begin(call),
            None if !session.queue.is_empty() && call.when_busy.is_none() => {
                self.refuse(call, Refusal::Busy { run: String::new() });
            }
            None => self.enqueue(call),
        }
    }

    fn refuse(&mut self, call: Call, refusal: Refusal) {
        self.outputs.push_back(Output::Refuse { run: call.run, refusal });
    }

    /// A message of the person to a session that does not run: the next turn, before all that
    /// waits there, which goes on behind it.
    fn begin(&mut self, call: Call) {
        let (seq, session) = (self.number(), self.sessions.entry(call.session).or_default());
        session.paused = false;
        session.begin(Entry::new(call.run.clone(), Caller::User, seq));
        self.outputs.push_back(Output::Start { run: call.run });
    }

    /// The run that the session's turn waits for: whoever brings it, the turn stays whose it was.
    /// It was accepted with its turn, so that it is never refused.
    fn go_on(&mut self, call: &Call) {
        let Some(session) = self.sessions.get_mut(&call.session) else { return };
        let Some(turn) = session.turn.as_mut() else { return };
        let mut entry = Entry::new(call.run.clone(), turn.caller, turn.seq);
        entry.continues = true;
        entry.slot = std::mem::take(&mut turn.slot);
        session.queue.insert(0, entry);
    }

    fn enqueue(&mut self, call: Call) {
        let limit = self.slots * LINE;
        let full = match call.caller {
            Caller::Application | Caller::Agent => self.slots_taken() >= self.slots && self.line() >= limit,
            Caller::User => {
                let session = self.sessions.get(&call.session);
                session.is_some_and(|s| s.queue.iter().filter(|e| e.caller == Caller::User).count() >= limit)
            }
        };
        if full {
            return self.refuse(call, Refusal::Full { limit });
        }
        let entry = Entry::new(call.run, call.caller, self.number());
        self.sessions.entry(call.session).or_default().queue.push(entry);
    }

    fn steer(&mut self, call: Call) {
        let limit = self.slots * LINE;
        if self.sessions.get(&call.session).is_some_and(|s| s.steers.len() >= limit) {
            return self.refuse(call, Refusal::Full { limit });
        }
        let entry = Entry::new(call.run.clone(), call.caller, self.number());
        self.sessions.entry(call.session).or_default().steers.push(entry);
        self.outputs.push_back(Output::Steers { run: call.run });
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn read(&mut self, run: &str) {
        let Some(session) = self.session_of(run) else { return };
        let reads = session.turn.as_ref().is_some_and(|turn| !turn.waits);
        let read = if reads { std::mem::take(&mut session.steers) } else { Vec::new() };
        for entry in read {
            self.outputs.push_back(Output::Steered { run: entry.run });
        }
    }

    fn ended(&mut self, run: &str, end: End) {
        if let Some(session) = self.session_of(run) {
            session.end(end);
        }
    }

    fn withdraw(&mut self, run: &str) {
        if self.sessions.values_mut().any(|session| session.withdraw(run)) {
            self.outputs.push_back(Output::Withdrawn { run: run.to_owned() });
        }
    }
}
