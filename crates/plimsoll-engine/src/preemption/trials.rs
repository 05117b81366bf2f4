//! What preemption came to on single nodes for pods of one kind, kept until something there changes: the next such pod tries
//! those nodes alone that have changed. Nothing here has a say in a decision: the same comes out as from a look at all.

use plimsoll_model::columns::{NodeIndex, NodeSet};

use super::Candidate;
use crate::ledger::Ledger;

/// Candidates by the rows of their nodes.
#[derive(Debug, Default)]
pub(crate) struct Trials {
    /// How often disruption budgets had changed when they were found.
    budgets: u64,
    by_row: Vec<Option<Trial>>,
}

#[derive(Debug)]
struct Trial {
    stamp: Stamp,
    candidate: Candidate,
}

/// As of what a node and the pods on it were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The version of the columns with which its row changed last.
    pub(crate) row: u64,
    /// The number of the last change of a pod that counts there.
    pub(crate) guests: u64,
}

impl Trials {
    /// The candidate that the node was when it was last tried, if nothing has changed since that could matter.
    pub(crate) fn candidate(&self, node: NodeIndex, ledger: &Ledger) -> Option<&Candidate> {
        let trial = self.by_row.get(node.as_usize())?.as_ref()?;
        (self.heeds_budgets(ledger) && trial.stamp == ledger.stamp(node)).then_some(&trial.candidate)
    }

    /// Takes those out of which it is known that they are candidates, but for contested ones: of these it is not known.
    pub(crate) fn strike_out(&self, nodes: &mut NodeSet, contested: &NodeSet, ledger: &Ledger) {
        if self.heeds_budgets(ledger) {
            let known: NodeSet = nodes
                .iter()
                .filter(|node| self.candidate(*node, ledger).is_some() && !contested.contains(*node))
                .collect();
            nodes.subtract(&known);
        }
    }

    fn heeds_budgets(&self, ledger: &Ledger) -> bool {
        self.budgets == ledger.budget_changes()
    }

    /// Keeps what came of trying the node now.
    pub(crate) fn keep(&mut self, node: NodeIndex, candidate: &Candidate, ledger: &Ledger) {
        if !self.heeds_budgets(ledger) {
            self.by_row.clear();
            self.budgets = ledger.budget_changes();
        }
        let at = node.as_usize();
        if self.by_row.len() <= at {
            self.by_row.resize_with(at + 1, || None);
        }
        self.by_row[at] = Some(Trial {
            stamp: ledger.stamp(node),
            candidate: candidate.clone(),
        });
    }

    /// Forgets all of it.
    pub(crate) fn clear(&mut self) {
        self.by_row = Vec::new();
    }
}
