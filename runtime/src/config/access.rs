//! What an application may do with the agent for its users.

use toml::{Table, Value};

use super::print::{integer, texts};
use super::reader::{Node, Reader};

/// The turns that an application runs for one user at once, unless it says otherwise, and at most.
const CONCURRENCY: u64 = 4;
const MOST: u64 = 32;

/// How often work is handed on, unless an application says otherwise, and at most: the third agent of
/// a chain hands on nothing.
const DEPTH: u64 = 2;
const DEEPEST: u64 = 8;

/// `agent_access` and `agent_concurrency` of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentAccess {
    /// It runs turns.
    pub run: bool,
    /// It reads and observes what its users say.
    pub read: bool,
    /// How many turns it runs at once, for each user.
    pub concurrency: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn agent_access(&mut self, node: &Node<'a>) -> AgentAccess {
        let (mut run, mut read) = (false, false);
        for word in self.list(node, "agent_access") {
            match word.as_str() {
                "session.run" => run = true,
                "session.read" => read = true,
                other => {
                    let remedy = "write [\"session.run\"], [\"session.read\"] or both";
                    self.fault(
                        &node.path("agent_access"),
                        &format!("no permission is called `{other}`"),
                        remedy,
                    );
                }
            }
        }
        let concurrency = self.number(node, "agent_concurrency").unwrap_or(CONCURRENCY);
        if !(1..=MOST).contains(&concurrency) {
            let remedy = format!("take 1 to {MOST}");
            self.fault(
                &node.path("agent_concurrency"),
                "not a number of turns that can run at once",
                &remedy,
            );
        }
        AgentAccess { run, read, concurrency: usize::try_from(concurrency).unwrap_or(1) }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn delegation_depth(&mut self, node: &Node<'a>) -> usize {
        let depth = self.number(node, "delegation_depth").unwrap_or(DEPTH);
        if depth > DEEPEST {
            let remedy = format!("take 0 to {DEEPEST}; 0 hands on nothing");
            self.fault(&node.path("delegation_depth"), "not how often work can be handed on", &remedy);
        }
        usize::try_from(depth).unwrap_or(0)
    }
}

/// Prints how often work is handed on, if that is not as usual.
pub(super) fn print_depth(depth: usize, table: &mut Table) {
    if depth as u64 != DEPTH {
        table.insert("delegation_depth".into(), integer(depth as u64));
    }
}

/// Both keys, as they read back.
pub(super) fn print(access: AgentAccess, table: &mut Table) {
    let words = [(access.run, "session.run"), (access.read, "session.read")];
    let declared = words.into_iter().filter(|(declared, _)| *declared).map(|(_, word)| word.to_owned());
    let declared = texts(declared);
    if declared != Value::Array(Vec::new()) {
        table.insert("agent_access".into(), declared);
        table.insert("agent_concurrency".into(), integer(access.concurrency as u64));
    }
}
