//! What an agent must not do without a person's word.

use mindset_core::turn::Approvals;
use toml::{Table, Value};

use super::Agent;
use super::print::texts;
use super::reader::{Node, Reader};

impl Reader<'_> {
    /// `approvals` and `approve_writes` of an agent.
    pub(super) fn approvals(&mut self, agent: &Node<'_>) -> Approvals {
        let named = self.list(agent, "approvals");
        if named.iter().any(|pattern| pattern.trim() != pattern || pattern.is_empty()) {
            let remedy = "write \"tool\", \"server.tool\", \"server.*\" or \"*\"";
            self.fault(&agent.path("approvals"), "an entry is empty or has spaces around it", remedy);
        }
        Approvals { named, writes: self.boolean(agent, "approve_writes").unwrap_or(false) }
    }
}

impl<'a> Reader<'a> {
    /// Each agent of the app is there once, and those it may hand work to are others.
    pub(super) fn check_agents(&mut self, app: &Node<'a>, nodes: &[Node<'a>], agents: &[Agent]) {
        self.unique(&app.path("agents"), agents.iter().map(|agent| agent.uid.as_str()));
        for (node, agent) in nodes.iter().zip(agents) {
            for uid in &agent.delegates {
                let problem = match agents.iter().any(|other| other.uid == *uid) {
                    true if *uid != agent.uid => continue,
                    true => "an agent cannot hand work to itself".to_owned(),
                    false => format!("the app has no agent `{uid}`"),
                };
                self.fault(&node.path("delegates"), &problem, "name other agents of the app by their uid");
            }
        }
    }
}

/// The same as it is printed.
pub(super) fn print(approvals: &Approvals, agent: &mut Table) {
    if !approvals.named.is_empty() {
        agent.insert("approvals".into(), texts(approvals.named.iter().cloned()));
    }
    agent.insert("approve_writes".into(), Value::Boolean(approvals.writes));
}
