//! The task that owns a service: it tells the machine what happens and does what it says.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};

use super::machine::{Action, Input, Machine, Pace};
use super::process::{Event, NoStart, Process, is_taken};
use super::{Command, Place};
use crate::config::{Secret, Service};
use crate::ids;

/// How often a service that nobody keeps running is started again by itself.
const TRIES: u32 = 6;

/// For how long after it takes connections a service may still refuse them: this part of the time
/// that its start may take.
const SETTLE: u32 = 10;

pub(super) struct Supervisor {
    service: Arc<Service>,
    /// What the log calls it.
    name: String,
    machine: Machine,
    begin: Instant,
    process: Option<Process>,
    token: Secret,
    starts: u64,
    /// Those who wait for it.
    callers: Vec<oneshot::Sender<Result<Place, String>>>,
    current: watch::Sender<Option<Place>>,
}

impl Supervisor {
    pub(super) fn new(app: &str, service: Arc<Service>, current: watch::Sender<Option<Place>>) -> Supervisor {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let pace = Pace {
            start: millis(service.start_timeout),
            first: millis(service.backoff),
            most: millis(service.backoff_max),
            tries: (!service.autostart).then_some(TRIES),
        };
        Supervisor {
            name: format!("{app}.{}", service.uid),
            service,
            machine: Machine::new(pace),
            begin: Instant::now(),
            process: None,
            token: Secret::new(""),
            starts: 0,
            callers: Vec::new(),
            current,
        }
    }

    /// Works until it is told to end the service, or nobody can tell it anything any more.
    pub(super) async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        if self.service.autostart {
            self.handle(Input::Wanted).await;
        }
        loop {
            let wakes = self.machine.wakes().map(|at| self.begin + Duration::from_millis(at));
            let (process, name) = (&mut self.process, &self.service.uid);
            let input = tokio::select! {
                command = commands.recv() => match command {
                    Some(Command::Wanted(caller)) => {
                        self.callers.push(caller);
                        Input::Wanted
                    }
                    Some(Command::End(done)) => {
                        self.end().await;
                        let _ = done.send(());
                        return;
                    }
                    None => return self.end().await,
                },
                input = happens(process.as_mut(), name) => input,
                () = until(wakes) => Input::Tick,
            };
            self.handle(input).await;
        }
    }

    async fn handle(&mut self, input: Input) {
        let mut next = Some(input);
        while let Some(input) = next.take() {
            if let Input::Ended { reason, .. } = &input {
                self.process = None;
                tracing::warn!(service = self.name, "the service {reason}");
            }
            let begin = self.begin.elapsed();
            let action = self.machine.handle(u64::try_from(begin.as_millis()).unwrap_or(u64::MAX), input);
            // Before what takes its time: those who wait need not.
            self.tell();
            match action {
                Some(Action::Start) => next = self.start().await,
                Some(Action::End) => self.end().await,
                None => {}
            }
        }
    }

    /// Starts a process; gives what is wrong if there is none.
    async fn start(&mut self) -> Option<Input> {
        self.starts += 1;
        self.token = Secret::new(ids::key::<24>());
        match Process::start(&self.service, &self.token, &self.name).await {
            Ok(process) => {
                self.process = Some(process);
                None
            }
            Err(NoStart::Taken(port)) => {
                let reason =
                    format!("finds its port {port} taken by another program; end that one, or change `port`");
                Some(Input::Ended { reason, port_lost: false })
            }
            Err(NoStart::Other(reason)) => Some(Input::Ended { reason, port_lost: false }),
        }
    }

    async fn end(&mut self) {
        self.current.send_replace(None);
        if let Some(process) = self.process.take() {
            process.end(self.service.stop_timeout).await;
            tracing::info!(service = self.name, "the service was ended");
        }
    }

    /// Tells those who wait how it stands, and everybody where it is.
    fn tell(&mut self) {
        let place = match (self.machine.verdict(), &self.process) {
            (None, _) => {
                self.current.send_replace(None);
                return;
            }
            (Some(Err(reason)), _) => Err(explained(&self.service, reason)),
            (Some(Ok(())), process) => Ok(Place {
                port: process.as_ref().map_or(0, Process::port),
                generation: self.starts,
                token: self.token.clone(),
                settled: Instant::now() + self.service.start_timeout / SETTLE,
            }),
        };
        let known = self.current.borrow().as_ref().map(|place| place.generation);
        if known != place.as_ref().ok().map(|place| place.generation) {
            if let Ok(place) = &place {
                tracing::info!(service = self.name, port = place.port, "the service is ready");
            }
            self.current.send_replace(place.clone().ok());
        }
        for caller in self.callers.drain(..) {
            // Who has stopped waiting needs no answer.
            let _ = caller.send(place.clone());
        }
    }
}

/// What the process of the service `name` does next; for ever nothing if there is none.
async fn happens(process: Option<&mut Process>, name: &str) -> Input {
    let Some(process) = process else { return std::future::pending().await };
    match process.event().await {
        Event::Listening => Input::Listening,
        Event::Ended(status) => {
            let port_lost = is_taken(process.port()).await;
            let remedy =
                format!("what it wrote before is in the log, as `{name}`; mend it, or its `command`");
            Input::Ended { reason: format!("has ended ({status}); {remedy}"), port_lost }
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Why a service cannot be used, with its place and, behind a `;`, the remedy.
fn explained(service: &Service, reason: &str) -> String {
    let uid = &service.uid;
    match reason.split_once(';') {
        Some((what, remedy)) => format!("the service `{uid}` {what};{remedy} in [[apps.services]] `{uid}`"),
        None => format!(
            "the service `{uid}` {reason}; let it listen on 127.0.0.1 and the port in PORT, or raise \
             `start_timeout` in [[apps.services]] `{uid}`"
        ),
    }
}
