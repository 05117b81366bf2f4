use std::sync::Arc;

use plimsoll_model::{ObjectName, Pod};
use smallvec::SmallVec;

use crate::ledger::Ledger;

/// What the disruption budgets still allow while one node is looked at.
pub(super) struct Budgets<'a> {
    ledger: &'a Ledger,
    remaining: SmallVec<[(&'a ObjectName, i32); 4]>,
}

impl<'a> Budgets<'a> {
    fn new(ledger: &'a Ledger) -> Self {
        Self {
            ledger,
            remaining: SmallVec::new(),
        }
    }

    /// Which of these pods, the most important first, would go beyond some budget.
    pub(super) fn violating<'p>(ledger: &Ledger, pods: impl Iterator<Item = &'p Arc<Pod>>) -> Vec<bool> {
        let mut budgets = Budgets::new(ledger);
        pods.map(|pod| budgets.is_violated_by(pod)).collect()
    }

    /// Counts the pod as disrupted; whether that goes beyond some budget. Pods come in the order of their importance, and one
    /// that goes beyond uses its other budgets up all the same.
    fn is_violated_by(&mut self, pod: &Pod) -> bool {
        let mut violated = false;
        for budget in self.ledger.budgets_in(&pod.name.namespace) {
            if !budget.counts(pod) {
                continue;
            }
            let known = self.remaining.iter().position(|(name, _)| *name == &budget.name);
            let at = known.unwrap_or_else(|| {
                self.remaining.push((&budget.name, budget.disruptions_allowed));
                self.remaining.len() - 1
            });
            let allowed = &mut self.remaining[at].1;
            *allowed = allowed.saturating_sub(1);
            violated |= *allowed < 0;
        }
        violated
    }
}
