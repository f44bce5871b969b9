//! What an agent must not do without a person's word.

use mindset_core::turn::Approvals;
use toml::{Table, Value};

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

/// The same as it is printed.
pub(super) fn print(approvals: &Approvals, agent: &mut Table) {
    if !approvals.named.is_empty() {
        agent.insert("approvals".into(), texts(approvals.named.iter().cloned()));
    }
    agent.insert("approve_writes".into(), Value::Boolean(approvals.writes));
}
