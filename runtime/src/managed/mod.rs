//! Services: processes of an application that serve MCP endpoints. They are started when a run
//! needs one of their servers, with a port of this computer to listen on, and again when they crash.
//!
//! A service gets, beside the usual variables and those that the configuration names: `PORT`,
//! `MINDSET_LISTEN` (`127.0.0.1:PORT`) and `MINDSET_TOKEN`, which every request of the runtime
//! carries as `x-mindset-token`. It is asked to end by SIGTERM; its standard input ends when the
//! runtime does, in whatever way.

mod lines;
mod machine;
mod process;
mod supervisor;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::{mpsc, oneshot, watch};

use self::supervisor::Supervisor;
use crate::config::{Config, Secret};

/// How long it takes at most to notice that a process is gone that has just broken a connection.
const NOTICE: Duration = Duration::from_millis(300);

/// What is said of a service that is told nothing any more.
const GOING_DOWN: &str = "the runtime is going down";

/// Where a service listens, and on whose behalf.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// On 127.0.0.1.
    pub(crate) port: u16,
    /// Which of its processes: no two share a session.
    pub(crate) generation: u64,
    /// What the runtime proves itself with.
    pub(crate) token: Secret,
    /// From when on its refusals are final.
    pub(crate) settled: Instant,
}

/// What a service's task is told.
enum Command {
    /// Somebody needs it and waits for its place, or for the reason why it has none.
    Wanted(oneshot::Sender<Result<Place, String>>),
    /// End it, for good.
    End(oneshot::Sender<()>),
}

/// One service. Clones share it; it ends with the last of them.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    commands: mpsc::UnboundedSender<Command>,
    current: watch::Receiver<Option<Place>>,
    stop_timeout: Duration,
}

impl Service {
    /// Where it listens; starts it if need be.
    ///
    /// # Errors
    /// Why it cannot be used, with its place and, behind a `;`, the remedy.
    pub(crate) async fn ready(&self) -> Result<Place, String> {
        if let Some(place) = self.current.borrow().clone() {
            return Ok(place);
        }
        let (caller, answer) = oneshot::channel();
        self.commands.send(Command::Wanted(caller)).map_err(|_| GOING_DOWN.to_owned())?;
        answer.await.unwrap_or_else(|_| Err(GOING_DOWN.to_owned()))
    }

    /// Whether this process is the one that runs.
    pub(crate) fn is(&self, generation: u64) -> bool {
        self.current.borrow().as_ref().is_some_and(|place| place.generation == generation)
    }

    /// Whether a process that has just failed turns out to be gone.
    pub(crate) async fn is_gone(&self, generation: u64) -> bool {
        let mut current = self.current.clone();
        let gone = current.wait_for(|place| place.as_ref().is_none_or(|p| p.generation != generation));
        tokio::time::timeout(NOTICE, gone).await.is_ok()
    }

    /// Ends it, for good.
    async fn end(&self) {
        let (done, ended) = oneshot::channel();
        if self.commands.send(Command::End(done)).is_ok() {
            // Twice: it may just be ending one that took too long to start.
            let patience = self.stop_timeout * 2 + Duration::from_secs(1);
            if tokio::time::timeout(patience, ended).await.is_err() {
                tracing::warn!("a service did not end in time");
            }
        }
    }
}

/// All services. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Services(Arc<BTreeMap<(String, String), Service>>);

impl Services {
    /// Those of the configuration; starts the ones that are to run from the beginning.
    pub(crate) fn new(config: &Config) -> Services {
        let mut services = BTreeMap::new();
        for app in &config.apps {
            for service in &app.services {
                let (commands, inbox) = mpsc::unbounded_channel();
                let (place, current) = watch::channel(None);
                let task = Supervisor::new(&app.uid, Arc::new(service.clone()), place);
                tokio::spawn(task.run(inbox));
                let handle = Service { commands, current, stop_timeout: service.stop_timeout };
                services.insert((app.uid.clone(), service.uid.clone()), handle);
            }
        }
        Services(Arc::new(services))
    }

    /// A service of an app.
    pub(crate) fn get(&self, app: &str, uid: &str) -> Option<&Service> {
        self.0.get(&(app.to_owned(), uid.to_owned()))
    }

    /// Ends all, for good.
    pub(crate) async fn end(&self) {
        join_all(self.0.values().map(Service::end)).await;
    }
}
